//! How a run ends: exit codes, interrupts, what stands on stdout (SPEC section 4).

use maia_test_support::{Gate, Reply};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, Script, World, check_stream, definition, field, of_type};
use rustix::process::Signal;
use serde_json::json;

use crate::MAIA;

#[test]
fn text_mode_has_the_answer_on_stdout_and_nothing_else() {
    let world = World::new(MAIA);
    world.agent("worker", &["Read"], &["Read(**)"]);
    world.write("in.txt", "in\n");
    let script = Script::new()
        .calls("maia", &[("Agent", json!({"agent": "worker", "task": "look"}))])
        .calls("worker", &[("Read", json!({"path": "in.txt"}))])
        .text("worker", "a summary of the worker")
        .text("maia", "the answer\n\nin two parts");
    let ended = world.run().arg("go").model(world.script(&script)).allow(&["Agent"]).end().with_code(0);
    assert_eq!(ended.out(), "the answer\n\nin two parts\n");
    for part in ["maia/worker#1", "Read in.txt", "done"] {
        assert!(ended.err().contains(part), "{part}: {ended}");
    }
}

#[test]
fn spent_iterations_end_with_3_and_what_was_found() {
    let world = World::new(MAIA);
    world.write("in.txt", "in\n");
    let read = || [("Read", json!({"path": "in.txt"}))];
    let script = Script::new().calls("maia", &read()).calls("maia", &read()).text("maia", "so far");
    let maia = world.run().args(["go", "--json", "--max-iterations", "2"]).model(world.script(&script));
    let ended = maia.allow(&["Read(**)"]).end().with_code(3);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let last = events.last().expect("it ends");
    assert_eq!((field(last, "reason"), field(last, "result")), ("budget", "so far"));
    assert_eq!(of_type(&events, "tool_result").len(), 2);
}

#[test]
fn what_is_wrong_with_the_command_line_ends_with_2_before_anything_starts() {
    let cases: &[(&[&str], &str)] = &[
        (&["go", "--no-such-flag"], "--no-such-flag"),
        (&["go", "--mode", "yolo"], "read-only"),
        (&["go", "--allow", "Bash("], "Bash("),
        (&["go", "--agent", "nobody"], "explorer"),
        (&["go", "--max-iterations", "101"], "100"),
        (&["go", "--cwd", "/no/such/folder"], "/no/such/folder"),
        (&["go", "--resume", "nothing"], "no session \"nothing\""),
        (&[], "nothing to do"),
        (&["-"], "standard input is empty"),
        (&["go", "--model", "script:/no/such/file"], "No such file"),
    ];
    for (arguments, said) in cases {
        let world = World::new(MAIA);
        let maia = world.run().args(arguments.iter().copied());
        let maia = if arguments.contains(&"--model") { maia } else { maia.model("m") };
        let ended = maia.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").end().with_code(2);
        assert!(ended.err().contains(said), "{arguments:?}: {said}: {ended}");
        assert_eq!(ended.out(), "", "{arguments:?}");
        assert!(world.sessions().is_empty(), "{arguments:?} made a session");
    }
}

#[test]
fn an_agent_of_ones_own_can_be_the_main_one() {
    let world = World::new(MAIA);
    world.write_home(".maia/agents/herald/AGENT.md", definition("herald", &["Read"], &["Read(**)"]));
    world.write("in.txt", "in\n");
    let endpoint = Endpoint::start(|asked| match (asked.agent.as_str(), asked.step) {
        ("herald", 1) => {
            calls(&[("Read", json!({"path": "in.txt"})), ("Bash", json!({"command": "echo x"}))])
        }
        (name, _) => says(name),
    });
    let ended = world.run().args(["go", "--json", "--agent", "herald"]).endpoint(endpoint.url()).end();
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert_eq!(events.last().map(|last| field(last, "result")), Some("herald"), "{ended}");
    let errors: Vec<_> =
        of_type(&events, "tool_result").iter().map(|result| result["is_error"] == true).collect();
    assert_eq!(errors.iter().filter(|error| **error).count(), 1, "only Read is its own: {ended}");
}

/// Starts a run whose command does not end, and waits until it has begun.
fn long() -> (World, Endpoint) {
    let world = World::new(MAIA);
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => calls(&[("Bash", json!({"command": "trap '' INT TERM; echo begun > log; sleep 1000"}))]),
        _ => says("never"),
    });
    (world, endpoint)
}

#[test]
fn an_interrupt_closes_the_session_and_leaves_nothing_running() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (world, endpoint) = long();
        let maia =
            world.run().args(["go", "--json", "--mode", "auto", "--no-sandbox"]).endpoint(endpoint.url());
        let running = maia.start();
        world.wait_for_file("log", |text| text.contains("begun"));
        running.signal(signal);
        let ended = running.end().with_code(130);
        let events = ended.events();
        check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
        let last = events.last().expect("it ends");
        assert_eq!((field(last, "reason"), &last["exit_code"]), ("interrupted", &json!(130)));
        let closed = world.journal().pop().map(|record| record.body.kind().to_owned());
        assert_eq!(closed.as_deref(), Some("session_closed"));
        assert_eq!(endpoint.requests().len(), 1);
        world.wait_until_nothing_runs();
    }
}

#[test]
fn an_interrupt_ends_a_request_at_once() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    let held = gate.clone();
    let endpoint = Endpoint::start(move |_| {
        let half = maia_test_support::Sse::new().text("half").cut();
        Reply::status(200).header("content-type", "text/event-stream").write(half).hold(&held)
    });
    let running = world.run().args(["go", "--json"]).endpoint(endpoint.url()).start();
    running.wait_for("the first words", |event| event["type"] == "text_delta");
    running.signal(Signal::INT);
    let ended = running.end().with_code(130);
    check_stream(&ended.events()).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    endpoint.wait_for("its socket to close", |counts| counts.gone == 1);
}

#[test]
fn a_second_interrupt_ends_at_once() {
    // The disk is full when the end is to be recorded, so the first one cannot come to its end.
    let (world, endpoint) = long();
    let maia = world.run().args(["go", "--json", "--mode", "auto", "--no-sandbox"]).endpoint(endpoint.url());
    let running = maia.fail("disk:full@9").start();
    world.wait_for_file("log", |text| text.contains("begun"));
    running.signal(Signal::INT);
    running.wait_for("the full disk", |event| field(event, "message").contains("disk is full"));
    running.signal(Signal::INT);
    running.end().with_code(130);
    world.wait_until_nothing_runs();
}
