//! An agent whose worker panics while its command, its child or its sibling is at work; one that panics too often.

use maia_protocol::Body;
use maia_protocol::outcome::Outcome;
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, Script, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;
use crate::scene::{Scene, Seen, Stage};

/// Every fault of the worker that comes while its command waits for the test.
const WORKER: &str = "maia/worker#1";

/// A world in which `worker` runs a command that waits until the test makes the file `go`.
fn waiting() -> (World, Endpoint) {
    let world = World::new(MAIA);
    for name in ["worker", "other"] {
        world.agent(name, &["Bash", "Agent", "Read"], &[]);
    }
    let command = "echo $$ >> pids; echo begun >> log; until test -e go; do sleep 0.02; done; echo ended >> log; echo result";
    let endpoint = Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[
            ("Agent", json!({"agent": "worker", "task": "w"})),
            ("Agent", json!({"agent": "other", "task": "o"})),
        ]),
        ("worker", 1) => calls(&[("Bash", json!({"command": command}))]),
        ("worker", _) if asked.holds("result") => says("the worker has the result"),
        ("worker", _) => says("the worker has no result"),
        ("other", 1) => calls(&[(
            "Bash",
            json!({"command": "echo $$ >> pids; until test -e go; do sleep 0.02; done; echo o"}),
        )]),
        ("maia", _) => says("all done"),
        (name, _) => says(&format!("{name} done")),
    });
    (world, endpoint)
}

#[test]
fn a_command_goes_on_while_its_agent_is_rebuilt_and_its_result_arrives() {
    let (world, endpoint) = waiting();
    let maia = world.run().args(["go", "--json", "--mode", "auto", "--no-sandbox", "--ops"]);
    // A message from outside comes while the command runs: the worker fails over it.
    let faults = format!("actor:{WORKER}:Input=panic@2,actor:maia:Input=panic@3");
    let mut running = maia.endpoint(endpoint.url()).fail(faults).stdin_open().start();
    both_begin(&world);
    running.say(json!({"op": "tell", "actor": WORKER, "text": "are you there?"}));
    let restarted = running.wait_for("the restart", |event| event["type"] == "agent_restarted");
    assert_eq!(restarted["actor"], WORKER);
    assert!(both_run(&world), "{:?}: {:?}", world.read("pids"), world.processes());
    world.write("go", "");
    running.wait_for("the end", |event| event["type"] == "session_ended");
    let ended = running.end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert_eq!(world.read("log").as_deref(), Some("begun\nended\n"));
    let summaries: Vec<_> =
        of_type(&events, "agent_finished").iter().map(|end| field(end, "summary")).collect();
    assert!(summaries.contains(&"the worker has the result"), "{ended}");
    assert!(summaries.contains(&"other done"), "{ended}");
    let asked = endpoint.asked();
    let mut once = asked.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), asked.len(), "nothing was asked twice: {asked:?}");
}

/// Waits until both commands run.
fn both_begin(world: &World) {
    world.wait_for_file("pids", |text| text.lines().count() == 2 && text.ends_with('\n'));
}

/// Tells whether both commands still run, and were begun once.
fn both_run(world: &World) -> bool {
    let alive: Vec<String> = world.processes().into_iter().map(|(pid, _)| pid.to_string()).collect();
    let begun = world.read("pids").unwrap_or_default();
    begun.lines().count() == 2 && begun.lines().all(|pid| alive.iter().any(|alive| alive == pid))
}

#[test]
fn children_go_on_while_their_parent_is_rebuilt() {
    let (world, endpoint) = waiting();
    let maia = world.run().args(["go", "--json", "--mode", "auto", "--no-sandbox", "--ops"]);
    let mut running = maia.endpoint(endpoint.url()).fail("actor:maia:Input=panic@2").stdin_open().start();
    both_begin(&world);
    running.say(json!({"op": "tell", "actor": "maia", "text": "are you there?"}));
    running.wait_for("the restart", |event| event["type"] == "agent_restarted" && event["actor"] == "maia");
    assert!(both_run(&world), "{:?}: {:?}", world.read("pids"), world.processes());
    world.write("go", "");
    running.wait_for("the end", |event| event["type"] == "session_ended");
    let ended = running.end().with_code(0);
    check_stream(&ended.events()).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let restarted: Vec<Value> =
        ended.events().into_iter().filter(|event| event["type"] == "agent_restarted").collect();
    assert_eq!(restarted.len(), 1, "only the main agent: {restarted:?}");
    assert_eq!(endpoint.asked().len(), 6, "{:?}", endpoint.asked());
}

/// Faults that let the worker of `agent` panic at each of its first three messages of `kind`.
fn three(agent: &str, kind: &str) -> String {
    vec![format!("actor:{agent}:{kind}=panic@1"); 3].join(",")
}

#[test]
fn the_third_panic_in_a_minute_ends_that_agent_alone() {
    let stage = Stage::new(Scene::Plain);
    let ended = stage.maia(Scene::Plain).fail(three(WORKER, "Input")).end().with_code(0);
    let seen = Seen::of(&stage, ended);
    let outcomes: Vec<_> = seen
        .records
        .iter()
        .filter_map(|record| match &record.body {
            Body::ChildFinished(finished) => {
                Some((record.actor.to_string(), finished.outcome, finished.cause.clone()))
            }
            _ => None,
        })
        .collect();
    for (actor, outcome, cause) in &outcomes {
        if actor == WORKER {
            assert_eq!(*outcome, Outcome::Failed);
            let cause = cause.as_deref().unwrap_or_default();
            assert!(cause.contains("3 times") && cause.contains("injected"), "{cause}");
        } else {
            assert_eq!(*outcome, Outcome::Done, "{actor}");
        }
    }
    assert_eq!(outcomes.len(), 2);
    seen.check(WORKER).unwrap_or_else(|error| panic!("{error}\n{}", seen.ended));
    check_stream(&seen.ended.events()).unwrap_or_else(|error| panic!("{error}\n{}", seen.ended));
    stage.world.wait_until_nothing_runs();
}

#[test]
fn the_third_panic_of_the_main_agent_ends_the_turn_with_its_cause() {
    let world = World::new(MAIA);
    let model = world.script(&Script::new().text("maia", "never said"));
    let ended =
        world.run().args(["go", "--json"]).model(model).fail(three("maia", "Input")).end().with_code(1);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let last = events.last().expect("it ends");
    assert!(field(last, "result").contains("injected: maia at Input"), "{last}");
}

/// The guard is off where an agent may not be rebuilt: with three panics the checks of the table must fail.
#[test]
fn the_checks_notice_an_agent_that_is_not_rebuilt() {
    let stage = Stage::new(Scene::Plain);
    let ended = stage.maia(Scene::Plain).fail(three(WORKER, "Input")).end();
    let mut seen = Seen::of(&stage, ended);
    assert!(seen.check_done().is_err(), "a failed agent was not noticed");

    let good = Stage::new(Scene::Plain);
    seen = Seen::of(&good, good.maia(Scene::Plain).end());
    assert_eq!(seen.check(WORKER).and_then(|()| seen.check_done()), Ok(()));
    seen.lines.insert("w".to_owned(), 2);
    assert!(seen.check(WORKER).is_err(), "a command that ran twice was not noticed");
    seen.lines.insert("w".to_owned(), 1);
    seen.files[1] = None;
    assert!(seen.check(WORKER).is_err(), "a write that was lost was not noticed");
    seen.files[1] = Some("o\n".to_owned());
    let done = seen.records.iter().position(|record| matches!(record.body, Body::ToolDone { .. }));
    let twice = seen.records[done.expect("calls have results")].clone();
    seen.records.push(twice);
    assert!(seen.check(WORKER).is_err(), "a second result was not noticed");
}
