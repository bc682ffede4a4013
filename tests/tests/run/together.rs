//! Agents side by side: they overlap, so many at once and no more, and one that is stopped leaves the others (ENGINE 6).

use maia_test_support::{Gate, Reply};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;

/// Returns an endpoint whose main agent spawns `count` workers, each of them held by `gate` in its only answer.
fn held(count: usize, gate: &Gate) -> Endpoint {
    let gate = gate.clone();
    Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => {
            let tasks: Vec<_> =
                (1..=count).map(|n| json!({"agent": "worker", "task": format!("task {n}")})).collect();
            calls(&tasks.into_iter().map(|task| ("Agent", task)).collect::<Vec<_>>())
        }
        ("maia", _) => says("all done"),
        _ => {
            let answer = maia_test_support::Sse::answer(&format!("did {}", asked.task));
            Reply::status(200).header("content-type", "text/event-stream").hold(&gate).write(answer)
        }
    })
}

fn world() -> World {
    let world = World::new(MAIA);
    world.agent("worker", &["Read"], &[]);
    world
}

#[test]
fn two_agents_are_at_work_at_the_same_time() {
    let (world, gate) = (world(), Gate::new());
    let endpoint = held(2, &gate);
    let running = world.run().args(["go", "--json"]).endpoint(endpoint.url()).allow(&["Agent"]).start();
    // None of the two answers before both were asked: agents one after the other would wait here for ever.
    endpoint.wait_for("both requests", |counts| counts.in_flight == 2);
    gate.open();
    let ended = running.end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let ends = of_type(&events, "agent_finished");
    for n in [1, 2] {
        let (actor, task) = (format!("maia/worker#{n}"), format!("task {n}"));
        let end = ends.iter().find(|end| field(end, "actor") == actor).expect("each has its end");
        assert!(field(end, "summary").starts_with("did ") && field(end, "summary").ends_with(&task), "{end}");
    }
}

#[test]
fn eight_are_at_work_while_the_ninth_waits_and_is_shown() {
    let (world, gate) = (world(), Gate::new());
    let endpoint = held(9, &gate);
    let running = world.run().args(["go", "--json"]).endpoint(endpoint.url()).allow(&["Agent"]).start();
    endpoint.wait_for("eight requests", |counts| counts.in_flight == 8);
    let waits = running.wait_for("one in the queue", |event| event["type"] == "agent_queued");
    assert_eq!(waits["position"], 1, "{waits}");
    let waiting = field(&waits, "actor").to_owned();
    assert_eq!(endpoint.counts().max_in_flight, 8);
    gate.open();
    let ended = running.end().with_code(0);
    assert_eq!(endpoint.counts().max_in_flight, 8, "the ninth came after one of the eight");
    assert_eq!(endpoint.requests().len(), 11);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let done = of_type(&events, "agent_finished").into_iter().filter(|end| end["outcome"] == "done").count();
    assert_eq!(done, 10);
    assert!(of_type(&events, "agent_finished").iter().any(|end| field(end, "actor") == waiting));
}

#[test]
fn the_number_of_places_and_of_requests_can_be_set() {
    for flag in ["--max-parallel-agents", "--max-in-flight"] {
        let (world, gate) = (world(), Gate::new());
        let endpoint = held(5, &gate);
        let maia = world.run().args(["go", "--json", flag, "2"]).endpoint(endpoint.url()).allow(&["Agent"]);
        let running = maia.start();
        endpoint.wait_for("two requests", |counts| counts.in_flight == 2);
        gate.open();
        let ended = running.end().with_code(0);
        assert_eq!(endpoint.counts().max_in_flight, 2, "{flag}: {ended}");
    }
}

#[test]
fn one_that_is_stopped_leaves_the_others() {
    let (world, gate) = (world(), Gate::new());
    let endpoint = held(3, &gate);
    let maia = world.run().args(["go", "--json", "--ops"]).endpoint(endpoint.url()).allow(&["Agent"]);
    let mut running = maia.stdin_open().start();
    endpoint.wait_for("all three requests", |counts| counts.in_flight == 3);
    running.say(json!({"op": "stop", "actor": "maia/worker#2"}));
    let stopped = running.wait_for("its end", |event| event["type"] == "agent_finished");
    assert_eq!((field(&stopped, "actor"), field(&stopped, "outcome")), ("maia/worker#2", "cancelled"));
    // Its socket is closed, those of the others are not.
    endpoint.wait_for("the socket of the stopped one to close", |counts| counts.gone == 1);
    assert_eq!(endpoint.counts().in_flight, 2);
    gate.open();
    let ended = running.end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let outcome = |actor: &str| -> Value {
        let ends = of_type(&events, "agent_finished");
        ends.iter()
            .find(|end| field(end, "actor") == actor)
            .map(|end| end["outcome"].clone())
            .unwrap_or_default()
    };
    assert_eq!(outcome("maia/worker#1"), "done");
    assert_eq!(outcome("maia/worker#3"), "done");
    assert_eq!(outcome("maia"), "done");
}
