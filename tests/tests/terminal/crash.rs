//! `kill -9` with agents at work, then plain `maia`: one line says what was interrupted, `r` goes on, nothing runs twice.

use maia_test_support::{Gate, Reply, Sse};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World};
use rustix::process::Signal;
use serde_json::json;

use crate::MAIA;

const AGENTS: [&str; 3] = ["digger", "reader", "sorter"];

#[test]
fn after_a_kill_the_person_goes_on_with_three_agents_where_they_were() {
    let world = World::new(MAIA);
    for agent in AGENTS {
        world.agent(agent, &["Bash"], &["Bash(echo *)", "Redirect(**)"]);
    }
    let gate = Gate::new();
    let endpoint = Endpoint::start({
        let gate = gate.clone();
        move |asked| match (asked.agent.as_str(), asked.step) {
            ("maia", _) => says("I have read them."),
            (agent, 1) => calls(&[("Bash", json!({"command": format!("echo {agent} >> log")}))]),
            (agent, _) => {
                let rest = Sse::new().text(&format!("report of {agent}")).finish("stop").usage(10, 5).done();
                Reply::status(200).header("content-type", "text/event-stream").hold(&gate).write(rest)
            }
        }
    });
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(40, 120);
    terminal.wait_for_text("test-model");
    for agent in AGENTS {
        terminal.enter(&format!("&{agent} do it"));
        terminal.wait_for_text(&format!("{agent}#1"));
    }
    // Each has run its command and waits for its second answer.
    endpoint.wait_for("three second requests", |counts| counts.received == 6 && counts.in_flight == 3);
    terminal.signal(Signal::KILL);
    assert_eq!(terminal.end().signal, Some(9));
    world.wait_until_nothing_runs();
    endpoint.wait_for("its sockets to close", |counts| counts.in_flight == 0);

    let mut again = world.maia().endpoint(endpoint.url()).in_terminal(40, 120);
    let notice = again.wait_for_text("interrupted: session_");
    assert!(notice.contains("3 agents at work · r goes on"), "{notice}");
    assert_eq!(endpoint.counts().received, 6, "nothing goes on unasked");
    let all_three = |screen: &str| AGENTS.iter().all(|agent| screen.contains(&format!("{agent}#1")));
    // A key that comes with the notice is a letter of the input: then it is pressed again.
    let tree = loop {
        again.press("\u{15}r");
        let screen =
            again.wait_for("the tree, or a letter", |screen| all_three(screen) || screen.contains("› r "));
        if all_three(&screen) {
            break screen;
        }
    };
    assert!(!tree.contains("report of"), "{tree}");
    endpoint.wait_for("their second requests again", |counts| counts.in_flight == 3);
    gate.open();
    for agent in AGENTS {
        again.wait_for_text(&format!("report of {agent}"));
    }
    let mut lines: Vec<_> = world.read("log").expect("they wrote").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, AGENTS, "each command ran once");
    again.enter("what came of it?");
    again.wait_for_text("I have read them.");
    let last = endpoint.requests().pop().expect("requests").json().to_string();
    for agent in AGENTS {
        assert!(last.contains(&format!("report of {agent}")), "{last}");
    }
    again.press("\u{4}");
    assert_eq!(again.end().code, Some(0));
    assert_eq!(world.sessions().len(), 1, "the session of the second start held nothing and is gone");

    // What was closed in good order is not spoken of.
    let mut third = world.maia().endpoint(endpoint.url()).in_terminal(40, 120);
    let screen = third.wait_for_text("/help");
    assert!(!screen.contains("interrupted"), "{screen}");
    third.press("\u{4}");
    assert_eq!(third.end().code, Some(0));
}
