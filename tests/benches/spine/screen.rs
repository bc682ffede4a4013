//! The screen: from the start to its first full frame, and what it takes at rest.

use std::time::{Duration, Instant};

use maia_test_support::FakeEndpoint;
use maia_tests::harness::Terminal;

use crate::answers;
use crate::rows::{Bench, line, ms};
use crate::usage::middle;

/// How long a screen at rest is watched.
const REST: Duration = Duration::from_secs(10);

fn open(bench: &Bench, endpoint: &FakeEndpoint) -> Terminal {
    let mut command = bench.place.command(&bench.place.program);
    command.env("OPENAI_BASE_URL", format!("{}/v1", endpoint.url())).args(["--model", "m"]);
    Terminal::start(command, "maia".to_owned(), 40, 120)
}

/// Waits for the input, the status line and the model's name: all panes of the first frame are drawn at once.
fn shown(screen: &str) -> bool {
    screen.contains("/help") && screen.contains("folder") && screen.contains("confirm")
}

fn leave(mut terminal: Terminal) {
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0), "it ends well");
}

/// From the start of the process to the first full frame on the terminal.
pub fn first_frame(bench: &Bench) {
    let endpoint = answers::one(&bench.runtime);
    let mut times: Vec<Duration> = (0..11)
        .map(|_| {
            let began = Instant::now();
            let terminal = open(bench, &endpoint);
            terminal.wait_for("the first frame", shown);
            let took = began.elapsed();
            leave(terminal);
            took
        })
        .collect();
    let reached = format!("{:.0} ms median, `setsid` that starts it included", ms(middle(&mut times)));
    line("TUI: start", "start to first full frame, 120×40", &reached);
}

/// What a screen takes that nobody touches and in which nothing runs.
pub fn rest(bench: &Bench) {
    let endpoint = answers::one(&bench.runtime);
    let terminal = open(bench, &endpoint);
    terminal.wait_for("the first frame", shown);
    // What the start still does is over by then.
    std::thread::sleep(Duration::from_secs(2));
    let (cpu, bytes) = (terminal.cpu(), terminal.bytes());
    std::thread::sleep(REST);
    let (cpu, bytes) = (terminal.cpu().saturating_sub(cpu), terminal.bytes() - bytes);
    leave(terminal);
    let share = 100.0 * cpu.as_secs_f64() / REST.as_secs_f64();
    let reached = format!("{share:.1} % CPU, {bytes} bytes in {} s", REST.as_secs());
    line("TUI at rest", "TUI at rest", &reached);
}
