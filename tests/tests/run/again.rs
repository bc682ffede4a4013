//! Asked again after the end, `clear`, `model`: orders that change what a conversation is (SPEC section 2, mission M5.6).

use maia_protocol::Body;
use maia_test_support::{Gate, Reply, Sse};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, Running, Script, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;

fn ops(world: &World, endpoint: &Endpoint) -> Running {
    let maia = world.run().args(["go", "--json", "--ops"]).endpoint(endpoint.url());
    maia.allow(&["Agent", "Read(**)"]).stdin_open().start()
}

fn held(gate: &Gate, answer: Vec<u8>) -> Reply {
    Reply::status(200).header("content-type", "text/event-stream").hold(gate).write(answer)
}

/// Waits for an end of `actor` that comes after the record `after`.
fn ended(running: &Running, actor: &str, after: &Value) -> Value {
    let after = after["seq"].as_u64().unwrap_or_default();
    running.wait_for(&format!("an end of {actor}"), |event| {
        let is_it = event["type"] == "agent_finished" && field(event, "actor") == actor;
        is_it && event["seq"].as_u64().is_some_and(|seq| seq > after)
    })
}

/// A boss with a worker; the main agent's second answer waits for the gate, and reads a file, so that a third one comes.
fn bosses(gate: &Gate) -> (World, Endpoint) {
    let world = World::new(MAIA);
    world.write("in.txt", "in\n");
    world.agent("boss", &["Agent", "Read"], &["Agent(worker)"]);
    world.agent("worker", &["Read"], &["Read(**)"]);
    let gate = gate.clone();
    let endpoint = Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[("Agent", json!({"agent": "boss", "task": "all of it"}))]),
        ("maia", 2) => {
            let read = Sse::new().call("c", "Read", &json!({"path": "in.txt"}));
            held(&gate, read.finish("tool_calls").usage(1, 1).done())
        }
        ("maia", _) if asked.holds("worker once more") && asked.holds("boss once more") => says("heard both"),
        ("maia", _) => says("heard nothing"),
        ("boss", 1) => calls(&[("Agent", json!({"agent": "worker", "task": "a part"}))]),
        ("boss", 2) => says("boss done"),
        ("boss", 3) => calls(&[("Agent", json!({"agent": "worker", "task": "another part"}))]),
        ("boss", _) => says("boss once more"),
        ("worker", 1) | ("worker", 3) => calls(&[("Read", json!({"path": "in.txt"}))]),
        ("worker", 2) => says("worker done"),
        _ => says("worker once more"),
    });
    (world, endpoint)
}

#[test]
fn agents_that_have_ended_go_on_at_any_depth() {
    let gate = Gate::new();
    let (world, endpoint) = bosses(&gate);
    let mut running = ops(&world, &endpoint);
    let first = ended(&running, "maia/boss#1", &Value::Null);
    for actor in ["maia/boss#1/worker#1", "maia/boss#1"] {
        running.say(json!({"op": "ask_again", "actor": actor, "text": "and what else?"}));
    }
    let worker = ended(&running, "maia/boss#1/worker#1", &first);
    assert_eq!((field(&worker, "summary"), worker["iterations"].as_u64()), ("worker once more", Some(2)));
    assert_eq!(field(&ended(&running, "maia/boss#1", &first), "summary"), "boss once more");
    gate.open();
    let done = running.end().with_code(0);
    let events = done.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{done}"));
    assert_eq!(events.last().map(|last| field(last, "result")), Some("heard both"), "{done}");
    let again = of_type(&events, "agent_asked_again");
    assert_eq!(again.len(), 2, "{done}");
    assert_eq!((field(again[0], "definition"), field(again[0], "text")), ("worker", "and what else?"));
    // The conversation of before is what it goes on from, with the tools that it had.
    let bodies: Vec<Value> = endpoint.requests().iter().map(|request| request.json()).collect();
    let worker = bodies.iter().map(|body| (body, body["messages"].to_string())).find(|(_, messages)| {
        ["You are worker", "worker done", "and what else?"].iter().all(|words| messages.contains(words))
    });
    let (worker, _) = worker.expect("a request of the worker's second life");
    assert_eq!(worker["tools"].as_array().map(Vec::len), Some(1), "{worker}");
    // The boss' new worker has a number of its own, and the boss hears of that one only.
    assert!(events.iter().any(|event| field(event, "actor") == "maia/boss#1/worker#2"), "{done}");
    let results = of_type(&events, "tool_result");
    let of_boss = results.iter().filter(|result| field(result, "id").starts_with("maia/boss#1:"));
    assert_eq!(of_boss.count(), 2, "{done}");
}

#[test]
fn whoever_is_at_work_is_told_and_whoever_is_nobody_is_an_error() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    world.agent("worker", &["Read"], &[]);
    let hold = gate.clone();
    let endpoint = Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[("Agent", json!({"agent": "worker", "task": "w"}))]),
        ("maia", _) => says("done"),
        ("worker", 1) => held(&hold, Sse::answer("first")),
        _ if asked.holds("hurry") => says("hurried"),
        _ => says("not told"),
    });
    let mut running = ops(&world, &endpoint);
    endpoint.wait_for("the worker's request", |counts| counts.received == 2);
    running.say(json!({"op": "ask_again", "actor": "maia/nobody#1", "text": "x"}));
    let error = running.wait_for("an error", |event| event["type"] == "error");
    assert!(field(&error, "message").contains("maia/nobody#1"), "{error}");
    running.say(json!({"op": "ask_again", "actor": "maia/worker#1", "text": "hurry"}));
    running.wait_for("the receipt", |event| event["type"] == "message_received");
    gate.open();
    let done = running.end().with_code(0);
    let events = done.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{done}"));
    assert_eq!(of_type(&events, "agent_asked_again").len(), 0);
    let worker = of_type(&events, "agent_finished").into_iter().find(|end| field(end, "actor") != "maia");
    assert_eq!(worker.map(|end| field(end, "summary")), Some("hurried"), "{done}");
}

#[test]
fn a_stop_ends_the_second_life_and_a_third_one_begins() {
    let (world, gate, main) = (World::new(MAIA), Gate::new(), Gate::new());
    world.agent("worker", &["Read"], &[]);
    let (hold, hold_main) = (gate.clone(), main.clone());
    let endpoint = Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[("Agent", json!({"agent": "worker", "task": "w"}))]),
        ("maia", _) => held(&hold_main, Sse::answer("done")),
        ("worker", 1) => says("first"),
        _ if asked.holds("a third time") => says("third"),
        _ => held(&hold, Sse::answer("never heard")),
    });
    let mut running = ops(&world, &endpoint);
    let first = ended(&running, "maia/worker#1", &Value::Null);
    running.say(json!({"op": "ask_again", "actor": "maia/worker#1", "text": "a second time"}));
    endpoint.wait_for("the second life's request", |counts| counts.in_flight == 2);
    running.say(json!({"op": "stop", "actor": "maia/worker#1"}));
    let second = ended(&running, "maia/worker#1", &first);
    assert_eq!(field(&second, "outcome"), "cancelled");
    running.say(json!({"op": "ask_again", "actor": "maia/worker#1", "text": "a third time"}));
    assert_eq!(field(&ended(&running, "maia/worker#1", &second), "summary"), "third");
    // The turn of the main agent went on all the time, and is not waited for by those beside it.
    main.open();
    let done = running.end().with_code(0);
    check_stream(&done.events()).unwrap_or_else(|error| panic!("{error}\n{done}"));
}

#[test]
fn a_cleared_conversation_is_forgotten_and_agents_beside_it_go_on() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    world.agent("worker", &["Read"], &[]);
    let hold = gate.clone();
    let endpoint = Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("worker", _) => held(&hold, Sse::answer("worker done")),
        _ if asked.holds("what was it") && !asked.holds("\"go\"") => says("I do not know"),
        _ if asked.holds("what was it") => says("it was go"),
        _ => says("noted"),
    });
    let mut running = ops(&world, &endpoint);
    running.say(json!({"op": "spawn", "agent": "worker", "task": "w"}));
    endpoint.wait_for("the worker's request", |counts| counts.in_flight >= 1 && counts.received >= 2);
    running.wait_for("the end of the turn", |event| event["type"] == "turn_finished");
    running.say(json!({"op": "clear"}));
    running.wait_for("the new conversation", |event| event["type"] == "conversation_cleared");
    running.say(json!({"op": "ask", "text": "what was it?"}));
    running.wait_for("the second turn's end", |event| event["type"] == "turn_finished" && event["turn"] == 2);
    gate.open();
    let done = running.end().with_code(0);
    let events = done.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{done}"));
    assert_eq!(events.last().map(|last| field(last, "result")), Some("I do not know"), "{done}");
    let worker = of_type(&events, "agent_finished").into_iter().find(|end| field(end, "actor") != "maia");
    assert_eq!(worker.map(|end| field(end, "summary")), Some("worker done"), "{done}");
}

#[test]
fn nothing_is_cleared_while_a_turn_is_under_way() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    let hold = gate.clone();
    let endpoint = Endpoint::start(move |_| held(&hold, Sse::answer("done")));
    let mut running = ops(&world, &endpoint);
    endpoint.wait_for("the request", |counts| counts.in_flight == 1);
    running.say(json!({"op": "clear"}));
    let error = running.wait_for("an error", |event| event["type"] == "error");
    assert!(field(&error, "mend").contains("stop the turn first"), "{error}");
    gate.open();
    let done = running.end().with_code(0);
    assert_eq!(of_type(&done.events(), "conversation_cleared").len(), 0);
    assert!(!world.journal().iter().any(|record| matches!(record.body, Body::ConversationCleared {})));
}

#[test]
fn another_model_answers_from_the_next_request_on_and_after_a_resume() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    world.write("in.txt", "in\n");
    let hold = gate.clone();
    let endpoint = Endpoint::start(move |asked| match asked.step {
        1 => {
            let read = Sse::new().call("c", "Read", &json!({"path": "in.txt"}));
            held(&hold, read.finish("tool_calls").usage(1, 1).done())
        }
        _ => says("done"),
    });
    let mut running = ops(&world, &endpoint);
    endpoint.wait_for("the request", |counts| counts.in_flight == 1);
    running.say(json!({"op": "model", "model": "other-model"}));
    let changed = running.wait_for("the change", |event| event["type"] == "model_changed");
    assert_eq!(field(&changed, "model"), "other-model");
    running.say(json!({"op": "model", "model": "demo"}));
    let error = running.wait_for("an error", |event| event["type"] == "error");
    assert!(field(&error, "mend").contains("--model"), "{error}");
    gate.open();
    let done = running.end().with_code(0);
    let called: Vec<_> =
        of_type(&done.events(), "model_call").iter().map(|call| call["model"].clone()).collect();
    assert_eq!(called, ["test-model", "other-model"], "{done}");
    // The last session of the folder, with the model that it had.
    let maia =
        world.run().args(["-c", "go on", "--json"]).env("OPENAI_BASE_URL", format!("{}/v1", endpoint.url()));
    let resumed = maia.allow(&["Read(**)"]).end().with_code(0);
    let models: Vec<Value> =
        endpoint.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, ["test-model", "other-model", "other-model"], "{resumed}");
}

#[test]
fn a_script_is_left_for_no_other_model() {
    let world = World::new(MAIA);
    let script = Script::new().text("maia", "done");
    let mut running =
        world.run().args(["go", "--json", "--ops"]).model(world.script(&script)).stdin_open().start();
    running.say(json!({"op": "model", "model": "gpt-5"}));
    running.wait_for("an error, or the end", |event| {
        event["type"] == "error" || event["type"] == "session_ended"
    });
    let done = running.end().with_code(0);
    assert_eq!(of_type(&done.events(), "model_changed").len(), 0, "{done}");
}

#[test]
fn there_is_no_last_session_in_a_new_folder() {
    let world = World::new(MAIA);
    let ended = world.run().args(["-c"]).model("test-model").end().with_code(2);
    assert!(ended.err().contains("no session to go on with"), "{ended}");
}
