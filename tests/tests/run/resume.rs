//! Going on with a session: its last result, its conversation, and the errors about it (ENGINE 7).

use maia_protocol::Body;
use maia_test_support::{Gate, Reply};
use maia_tests::harness::endpoint::says;
use maia_tests::harness::{Endpoint, Script, World, check_stream, field, of_type};
use serde_json::json;

use crate::MAIA;

/// Returns the name and id of the world's last session.
fn last(world: &World) -> (String, String) {
    let opened = world.journal().into_iter().find_map(|record| match record.body {
        Body::SessionOpened(opened) => Some((opened.name, opened.session)),
        _ => None,
    });
    opened.expect("it was opened")
}

#[test]
fn a_finished_session_gives_its_result_again_and_asks_nobody() {
    let world = World::new(MAIA);
    let endpoint = Endpoint::start(|_| says("the answer"));
    world.run().arg("go").endpoint(endpoint.url()).end().with_code(0);
    let (name, id) = last(&world);
    for wanted in [&name, &id] {
        let again = world.run().args(["--resume", wanted]).endpoint(endpoint.url()).end().with_code(0);
        assert_eq!(again.out(), "the answer\n");
        let again =
            world.run().args(["--resume", wanted, "--json"]).endpoint(endpoint.url()).end().with_code(0);
        let events = again.events();
        check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{again}"));
        assert_eq!(events.first().map(|first| first["resumed"].clone()), Some(json!(true)));
        assert_eq!(events.last().map(|last| field(last, "result")), Some("the answer"));
    }
    assert_eq!(endpoint.requests().len(), 1);
}

#[test]
fn the_same_exit_code_comes_again() {
    let world = World::new(MAIA);
    world.write("in.txt", "in\n");
    let read = [("Read", json!({"path": "in.txt"}))];
    let script = Script::new().calls("maia", &read).text("maia", "so far");
    let model = world.script(&script);
    let first = world
        .run()
        .args(["go", "--max-iterations", "1"])
        .model(&model)
        .allow(&["Read(**)"])
        .end()
        .with_code(3);
    let (name, _) = last(&world);
    let again = world.run().args(["--resume", &name]).model(&model).end().with_code(3);
    assert_eq!(again.out(), first.out());
}

#[test]
fn a_new_request_goes_on_with_the_conversation() {
    let world = World::new(MAIA);
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => says("your name is noted"),
        _ if asked.holds("I am Ada") && asked.holds("your name is noted") => says("you are Ada"),
        _ => says("who are you?"),
    });
    world.run().arg("I am Ada").endpoint(endpoint.url()).end().with_code(0);
    let (name, _) = last(&world);
    let again =
        world.run().args(["who am I?", "--resume", &name]).endpoint(endpoint.url()).end().with_code(0);
    assert_eq!(again.out(), "you are Ada\n");
    let third = world
        .run()
        .args(["and now?", "--json", "--resume", &name])
        .endpoint(endpoint.url())
        .end()
        .with_code(0);
    let events = third.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{third}"));
    assert_eq!(of_type(&events, "turn_started").first().map(|turn| turn["turn"].clone()), Some(json!(3)));
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn what_was_allowed_once_is_not_allowed_after_a_resume() {
    let world = World::new(MAIA);
    let bash = [("Bash", json!({"command": "echo ran >> log"}))];
    let script =
        Script::new().calls("maia", &bash).text("maia", "one").calls("maia", &bash).text("maia", "two");
    let model = world.script(&script);
    world.run().arg("go").model(&model).allow(&["Bash(echo *)", "Redirect(log)"]).end().with_code(0);
    let (name, _) = last(&world);
    world.run().args(["again", "--resume", &name]).model(&model).end().with_code(4);
    assert_eq!(world.read("log").as_deref(), Some("ran\n"));
}

#[test]
fn an_unknown_session_is_said_with_those_that_are_there() {
    let world = World::new(MAIA);
    let model = world.script(&Script::new().text("maia", "hello"));
    let none = world.run().args(["--resume", "x"]).model(&model).end().with_code(2);
    assert!(none.err().contains("there are none"), "{none}");
    world.run().arg("go").model(&model).end().with_code(0);
    let (name, _) = last(&world);
    let unknown = world.run().args(["--resume", "x"]).model(&model).end().with_code(2);
    assert!(unknown.err().contains("no session \"x\"") && unknown.err().contains(&name), "{unknown}");
}

#[test]
fn a_second_process_on_a_session_is_told_who_has_it() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    let held = gate.clone();
    let endpoint = Endpoint::start(move |_| {
        let answer = maia_test_support::Sse::answer("hello");
        Reply::status(200).header("content-type", "text/event-stream").hold(&held).write(answer)
    });
    let running = world.run().args(["go", "--json"]).endpoint(endpoint.url()).start();
    let started = running.wait_for("the start", |event| event["type"] == "session_started");
    let name = field(&started, "name").to_owned();
    let second = world.run().args(["--resume", &name]).endpoint(endpoint.url()).end().with_code(1);
    assert!(second.err().contains("another maia") || second.err().contains("process"), "{second}");
    gate.open();
    let ended = running.end().with_code(0);
    check_stream(&ended.events()).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let again = world.run().args(["--resume", &name]).endpoint(endpoint.url()).end().with_code(0);
    assert_eq!(again.out(), "hello\n");
}

#[test]
fn an_interrupted_session_goes_on_where_it_was() {
    let (world, gate) = (World::new(MAIA), Gate::new());
    let held = gate.clone();
    let endpoint = Endpoint::start(move |asked| match asked.step {
        1 => maia_tests::harness::endpoint::calls(&[("Read", json!({"path": "in.txt"}))]),
        2 if asked.number == 2 => Reply::status(200).header("content-type", "text/event-stream").hold(&held),
        _ => says("it went on"),
    });
    world.write("in.txt", "in\n");
    let maia = || world.run().arg("--json").endpoint(endpoint.url()).allow(&["Read(**)"]);
    let running = maia().arg("go").start();
    endpoint.wait_for("the second request", |counts| counts.received == 2);
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let (name, _) = last(&world);
    let ended = maia().args(["--resume", &name]).end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert_eq!(events.last().map(|last| field(last, "result")), Some("it went on"));
    assert_eq!(
        endpoint.asked().iter().filter(|(_, step)| *step == 1).count(),
        1,
        "no answer was asked for twice"
    );
}
