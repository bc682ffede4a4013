//! Standard streams: JSON lines, data piped in, readers that are slow or go away.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Asked, Endpoint, Script, World, check_stream, of_type};
use serde_json::{Value, json};

use crate::MAIA;

#[test]
fn every_line_is_an_event_and_they_keep_their_promises() {
    let world = World::new(MAIA);
    world.agent("worker", &["Read", "Bash", "Agent"], &["Read(**)"]);
    world.write("in.txt", "in\n");
    let script = Script::new()
        .calls(
            "maia",
            &[
                ("Agent", json!({"agent": "worker", "task": "a"})),
                ("Agent", json!({"agent": "worker", "task": "b"})),
                ("NoSuchTool", json!({})),
                ("Bash", json!({"command": "echo refused"})),
            ],
        )
        .calls("maia/worker#1", &[("Read", json!({"path": "in.txt"})), ("Read", json!({"path": "gone.txt"}))])
        .calls(
            "maia/worker#2",
            &[("Agent", json!({"agent": "worker", "task": "c"})), ("Read", json!({"path": 1}))],
        )
        .text("maia/worker#1", "a is done")
        .text("maia/worker#2/worker#1", "c is done")
        .text("maia/worker#2", "b is done")
        .text("maia", "all done");
    let ended =
        world.run().args(["go", "--json"]).model(world.script(&script)).allow(&["Agent", "Read(**)"]).end();
    let ended = ended.with_code(4);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert_eq!(of_type(&events, "agent_spawned").len(), 4);
    assert_eq!(of_type(&events, "tool_call").len(), 8);
    assert!(ended.out().ends_with("}\n"));
    // The checks can fail: without an end, with a number that falls, with a result too many, with a field too many.
    let without =
        |kind: &str| -> Vec<Value> { events.iter().filter(|event| event["type"] != kind).cloned().collect() };
    for kind in
        ["session_started", "session_ended", "agent_finished", "tool_result", "agent_spawned", "tool_call"]
    {
        assert!(check_stream(&without(kind)).is_err(), "{kind} was not missed");
    }
    let mut falling = events.clone();
    let middle = falling.len() / 2;
    falling[middle]["seq"] = json!(0);
    assert!(check_stream(&falling).is_err());
    let mut strange = events.clone();
    strange[middle]["strange"] = json!(1);
    assert!(check_stream(&strange).is_err());
}

#[test]
fn piped_input_is_data_beside_a_request_and_the_request_for_a_dash() {
    let answer = |asked: &Asked| says(&asked.task);
    for (arguments, input, holds, whole) in [
        (vec!["look"], "some data\n", "look\n\n<data from=\"standard input\">\nsome data\n</data>", false),
        (vec!["-"], "what is here?\n", "what is here?", true),
        (vec!["look"], "", "look", true),
    ] {
        let (world, endpoint) = (World::new(MAIA), Endpoint::start(answer));
        let ended = world.run().args(arguments).endpoint(endpoint.url()).stdin(input).end().with_code(0);
        assert!(ended.out().contains(holds), "{ended}");
        assert_eq!(ended.out().contains("<data"), !whole, "{ended}");
    }
}

#[test]
fn a_pipe_that_stays_open_and_says_nothing_holds_nobody_up() {
    let (world, endpoint) = (World::new(MAIA), Endpoint::start(|_| says("hello")));
    let running = world.run().args(["go", "--json"]).endpoint(endpoint.url()).stdin_open().start();
    running.wait_for("the end", |event| event["type"] == "session_ended");
    running.end().with_code(0);
}

/// Answers of many lines, so that more is printed than a pipe takes.
fn talkative() -> Endpoint {
    Endpoint::start(|asked| match asked.step {
        1..=40 => calls(&[("Read", json!({"path": "long.txt"}))]),
        _ => says("done"),
    })
}

#[test]
fn a_slow_reader_loses_nothing() {
    let (world, endpoint) = (World::new(MAIA), talkative());
    world.write("long.txt", "0123456789abcdef\n".repeat(1000));
    let maia = world.run().args(["go", "--json"]).endpoint(endpoint.url()).allow(&["Read(**)"]);
    let mut child = maia.command().stderr(Stdio::null()).spawn().expect("it starts");
    // Nobody reads until the model was asked for the last time; what was printed by then is more than a pipe takes.
    endpoint.wait_for("the last request", |counts| counts.received == 41 && counts.in_flight == 0);
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(out.len() > 500_000, "only {} bytes", out.len());
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(of_type(&events, "tool_result").len(), 40);
    assert_eq!(of_type(&events, "gap").len(), 0);
}

#[test]
fn a_reader_that_goes_away_ends_the_run() {
    let (world, endpoint) = (World::new(MAIA), talkative());
    world.write("long.txt", "0123456789abcdef\n".repeat(1000));
    let maia = world.run().args(["go", "--json"]).endpoint(endpoint.url()).allow(&["Read(**)"]);
    let mut child = maia.command().stderr(Stdio::null()).spawn().expect("it starts");
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut first).expect("a line");
    assert!(first.contains("session_started"), "{first}");
    drop(out);
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(130), "not by a signal, and not as if all were well");
    assert!(endpoint.requests().len() < 41, "it went on for nobody");
    let last = world.journal().pop().map(|record| record.body.kind().to_owned());
    assert_eq!(last.as_deref(), Some("session_closed"));
}

#[test]
fn a_closed_stderr_harms_nobody() {
    let (world, endpoint) = (World::new(MAIA), Endpoint::start(|_| says("hello")));
    let mut child = world.run().arg("go").endpoint(endpoint.url()).command().spawn().expect("it starts");
    drop(child.stderr.take());
    let mut out = Vec::new();
    child.stdout.take().expect("a pipe").read_to_end(&mut out).expect("bytes");
    assert_eq!((child.wait().expect("it ends").code(), out), (Some(0), b"hello\n".to_vec()));
}

#[test]
fn progress_that_nobody_reads_does_not_stop_the_work() {
    let world = World::new(MAIA);
    world.write("in.txt", "in\n");
    let read = |_: &Asked| calls(&[("Read", json!({"path": "in.txt"}))]);
    let endpoint = Endpoint::start(move |asked| if asked.step <= 3 { read(asked) } else { says("hello") });
    let maia = world.run().arg("go").endpoint(endpoint.url()).allow(&["Read(**)"]);
    let mut child = maia.command().spawn().expect("it starts");
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    err.read_line(&mut String::new()).expect("a line");
    drop(err);
    let mut out = Vec::new();
    child.stdout.take().expect("a pipe").read_to_end(&mut out).expect("bytes");
    assert_eq!((child.wait().expect("it ends").code(), out), (Some(0), b"hello\n".to_vec()));
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    for form in [&["go"][..], &["go", "--json"]] {
        let (world, endpoint) = (World::new(MAIA), Endpoint::start(|_| says("hello")));
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let maia = world.run().args(form.iter().copied()).endpoint(endpoint.url());
        let ended = maia.command().stdout(full).output().expect("it runs");
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{form:?}: {err}");
        assert!(err.contains("standard output cannot be written") && err.contains("--resume"), "{err}");
    }
}

#[test]
fn a_session_goes_on_with_its_own_model() {
    let world = World::new(MAIA);
    let script = world.script(&Script::new().text("maia", "one").text("maia", "two"));
    let first = world.run().args(["go", "--json"]).model(&script).end().with_code(0);
    let name = first.events()[0]["name"].as_str().expect("a name").to_owned();
    let ended = world.run().args(["more", "--resume", &name]).end().with_code(0);
    assert_eq!(ended.out(), "two\n", "{ended}");
}

#[test]
fn a_resume_with_nothing_to_do_says_so() {
    let world = World::new(MAIA);
    let script = world.script(&Script::new().text("maia", "one"));
    let first = world.run().args(["go", "--json"]).model(&script).end().with_code(0);
    let name = first.events()[0]["name"].as_str().expect("a name").to_owned();
    let ended = world.run().args(["--resume", &name]).end().with_code(0);
    assert!(ended.err().contains("nothing goes on") && ended.err().contains("\"go on\""), "{ended}");
}

#[test]
fn what_a_usage_error_quotes_is_harmless() {
    let ended = World::new(MAIA).run().args(["go", "--mode", "\u{1b}[2J"]).end().with_code(2);
    assert!(ended.err().contains("invalid value") && !ended.err().contains('\u{1b}'), "{ended}");
}

#[test]
fn too_much_input_is_refused_with_what_to_do() {
    let (world, endpoint) = (World::new(MAIA), Endpoint::start(|_| says("hello")));
    let mut input = Vec::new();
    input.write_all(&vec![b'x'; 9 * 1024 * 1024]).expect("memory");
    let ended = world.run().arg("go").endpoint(endpoint.url()).stdin(input).end().with_code(2);
    assert!(ended.err().contains("more than 8 MB"), "{ended}");
}
