//! Orders on standard input (`--ops`): tell, stop, answer, and what is none.

use maia_test_support::{Gate, Reply};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, Running, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;

fn ops(world: &World, endpoint: &Endpoint) -> Running {
    world.run().args(["go", "--json", "--ops"]).endpoint(endpoint.url()).stdin_open().start()
}

/// An endpoint whose main agent makes two calls that ask, then says what came of them.
fn asking() -> Endpoint {
    Endpoint::start(|asked| match asked.step {
        1 => calls(&[
            ("Bash", json!({"command": "echo one >> log"})),
            ("Bash", json!({"command": "echo two >> log"})),
        ]),
        _ => says("done"),
    })
}

fn question(running: &Running, call: &str) -> Value {
    running.wait_for("a question", |event| event["type"] == "permission_asked" && event["id"] == call)
}

#[test]
fn what_an_agent_is_told_reaches_its_next_request() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    let held = gate.clone();
    let endpoint = Endpoint::start(move |asked| match asked.step {
        1 => {
            let sse = maia_test_support::Sse::new().call("c", "Read", &json!({"path": "in.txt"}));
            let answer = sse.finish("tool_calls").usage(1, 1).done();
            Reply::status(200).header("content-type", "text/event-stream").hold(&held).write(answer)
        }
        _ if asked.holds("leave the tests out") => says("I was told"),
        _ => says("I was not told"),
    });
    world.write("in.txt", "in");
    let mut running = ops(&world, &endpoint);
    endpoint.wait_for("the first request", |counts| counts.in_flight == 1);
    running.say(json!({"op": "tell", "actor": "maia", "text": "leave the tests out"}));
    let receipt = running.wait_for("the receipt", |event| event["type"] == "message_received");
    assert_eq!((field(&receipt, "actor"), field(&receipt, "text")), ("maia", "leave the tests out"));
    gate.open();
    running.close_stdin();
    let ended = running.end();
    assert_eq!(
        ended.events().last().map(|last| last["result"].clone()),
        Some(json!("I was told")),
        "{ended}"
    );
}

#[test]
fn a_question_waits_for_its_answer() {
    let (world, endpoint) = (World::new(MAIA), asking());
    let mut running = ops(&world, &endpoint);
    let first = question(&running, "maia:1.1");
    assert_eq!(first["tool"], "Bash");
    assert_eq!(first["input"], json!({"command": "echo one >> log"}));
    question(&running, "maia:1.2");
    running
        .say(json!({"op": "answer", "id": "maia:1.2", "decision": "reject_once", "reason": "not that one"}));
    running.say(json!({"op": "answer", "id": "maia:1.1", "decision": "allow_once"}));
    // A second answer to the same question changes nothing, and says so.
    running.say(json!({"op": "answer", "id": "maia:1.1", "decision": "stop"}));
    running.wait_for("the end", |event| event["type"] == "session_ended");
    let ended = running.end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert_eq!(world.read("log").as_deref(), Some("one\n"));
    let result = of_type(&events, "tool_result").into_iter().find(|result| result["id"] == "maia:1.2");
    assert!(result.is_some_and(|result| field(result, "output").contains("not that one")), "{ended}");
    assert!(of_type(&events, "permission_answered").iter().all(|answer| answer["by"] == "person"));
}

#[test]
fn stop_as_the_answer_ends_the_turn_of_the_asker() {
    let (world, endpoint) = (World::new(MAIA), asking());
    let mut running = ops(&world, &endpoint);
    question(&running, "maia:1.1");
    running.say(json!({"op": "answer", "id": "maia:1.1", "decision": "stop"}));
    let end = running.wait_for("the end", |event| event["type"] == "turn_finished");
    assert_eq!(end["stop_reason"], "stopped");
    let ended = running.end();
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert_eq!(of_type(&events, "tool_result").len(), 2, "both calls are answered: {ended}");
    assert_eq!((world.read("log"), endpoint.requests().len()), (None, 1), "{ended}");
}

#[test]
fn the_end_of_the_input_refuses_what_is_open() {
    let (world, endpoint) = (World::new(MAIA), asking());
    let mut running = ops(&world, &endpoint);
    question(&running, "maia:1.1");
    question(&running, "maia:1.2");
    running.close_stdin();
    let ended = running.end().with_code(4);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let by: Vec<_> =
        of_type(&events, "permission_answered").iter().map(|answer| field(answer, "by")).collect();
    assert_eq!(by, ["headless", "headless"]);
    assert_eq!(events.last().map(|last| field(last, "result")), Some("done"), "the turn went on: {ended}");
    assert_eq!(world.read("log"), None);
}

#[test]
fn what_is_no_order_is_said_and_changes_nothing() {
    let (world, endpoint) = (World::new(MAIA), asking());
    let mut running = ops(&world, &endpoint);
    question(&running, "maia:1.2");
    let orders = [
        ("{", "line 1"),
        ("{\"op\":\"dance\"}", "dance"),
        ("{\"op\":\"tell\",\"actor\":\"maia/nobody#1\",\"text\":\"x\"}", "maia/nobody#1"),
        ("{\"op\":\"stop\",\"actor\":\"maia/nobody#2\"}", "maia/nobody#2"),
        ("{\"op\":\"answer\",\"id\":\"maia:9.9\",\"decision\":\"allow_once\"}", "maia:9.9"),
    ];
    for (order, said) in orders {
        running.say(order);
        let notice = running.wait_for(order, |event| {
            (event["type"] == "error" || event["type"] == "warning") && field(event, "message").contains(said)
        });
        assert_eq!(notice["live"], true);
    }
    for call in ["maia:1.1", "maia:1.2"] {
        running.say(json!({"op": "answer", "id": call, "decision": "allow_once"}));
    }
    running.wait_for("the end", |event| event["type"] == "session_ended");
    running.end().with_code(0);
    let log = world.read("log").unwrap_or_default();
    assert_eq!(log.lines().count(), 2, "{log}");
}
