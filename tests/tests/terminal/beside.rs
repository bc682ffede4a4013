//! `&agent task` beside the input: two at once, seen in the tree, and their summaries in the next request.

use maia_test_support::{Gate, Reply, Sse};
use maia_tests::harness::endpoint::says;
use maia_tests::harness::{Endpoint, World};

use crate::MAIA;

/// Returns an answer that begins, and goes on when `gate` is opened.
fn held(gate: &Gate, begin: &str, rest: &str) -> Reply {
    let (begin, rest) = (Sse::new().text(begin), Sse::new().text(rest).finish("stop").usage(120, 30).done());
    Reply::status(200).header("content-type", "text/event-stream").write(begin.cut()).hold(gate).write(rest)
}

#[test]
fn two_agents_run_beside_the_input_and_their_summaries_reach_the_next_request() {
    let world = World::new(MAIA);
    world.agent("digger", &["Read"], &["Read(**)"]);
    world.agent("writer2", &["Read"], &["Read(**)"]);
    let gates = [Gate::new(), Gate::new()];
    let endpoint = Endpoint::start({
        let gates = gates.clone();
        move |asked| match asked.agent.as_str() {
            "digger" => held(&gates[0], "digging ", "found seven stones"),
            "writer2" => held(&gates[1], "writing ", "wrote nine lines"),
            _ => says("I have read both."),
        }
    });
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(40, 120);
    terminal.wait_for_text("test-model");

    terminal.enter("&digger dig in the garden");
    terminal.wait_for_text("digger#1");
    terminal.enter("&writer2 write it down");
    // Both requests are open at once, and the tree shows both at work.
    endpoint.wait_for("both agents' requests", |counts| counts.in_flight == 2);
    let both = terminal.wait_for("both in the tree", |screen| {
        screen.contains("digger#1") && screen.contains("writer2#1") && screen.contains("0/25")
    });
    assert!(!both.contains("seven stones") && !both.contains("nine lines"), "{both}");

    // The input is usable meanwhile.
    terminal.press("half a thought");
    terminal.wait_for_text("half a thought");
    gates[1].open();
    terminal.wait_for_text("nine lines");
    terminal.wait_for_text("half a thought");
    gates[0].open();
    terminal.wait_for_text("seven stones");
    assert_eq!(endpoint.counts().received, 2, "an agent of the person asks the main agent nothing");

    terminal.press("\u{15}");
    terminal.enter("what did they find?");
    terminal.wait_for_text("I have read both.");
    let requests = endpoint.requests();
    let last = requests.last().expect("three requests").json().to_string();
    for part in ["what did they find?", "seven stones", "nine lines", "maia/digger#1", "maia/writer2#1"] {
        assert!(last.contains(part), "{part:?} is not in the next request: {last}");
    }
    terminal.press("\u{4}");
    let left = terminal.end();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    assert!(left.screen.contains("maia --resume"), "{left:?}");
    world.wait_until_nothing_runs();
}
