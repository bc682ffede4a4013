//! A model's server for checks that are no tests of this package: started by `tests/peers/*/check`.
//!
//! - Prints its address on stdout, serves until its input is closed.
//! - A sub-agent is answered `working`, then, when somebody has asked for `/release`, `report on TASK`. The main agent is
//!   answered with the names of the reports that its request holds.

use std::io::{Read as _, Write as _};

use maia_test_support::{Gate, Reply, Sse};
use maia_tests::harness::endpoint::says;
use maia_tests::harness::{Asked, Endpoint};

fn main() -> std::io::Result<()> {
    let gate = Gate::new();
    let endpoint = Endpoint::answering(move |request| {
        if request.path == "/release" {
            gate.open();
            return Reply::text(200, "released");
        }
        let asked = Asked::read(request);
        if asked.agent != "maia" {
            // The facts of the folder go before it.
            let task = asked.task.lines().next_back().unwrap_or_default();
            let rest = Sse::new().text(&format!("report on {task}")).finish("stop").usage(100, 20).done();
            let begin = Sse::new().text("working ").cut();
            let reply = Reply::status(200).header("content-type", "text/event-stream");
            return reply.write(begin).hold(&gate).write(rest);
        }
        let found: Vec<&str> =
            ["alpha", "beta"].into_iter().filter(|name| asked.holds(&format!("report on {name}"))).collect();
        says(&format!("reports read: {}", found.join(" and ")))
    });
    let mut out = std::io::stdout();
    writeln!(out, "{}", endpoint.url())?;
    out.flush()?;
    // Whoever started it holds the other end.
    std::io::stdin().read_to_end(&mut Vec::new()).map(|_| ())
}
