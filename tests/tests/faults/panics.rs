//! A panic in each actor at each kind of message: the session goes on, or ends as ENGINE 4 says, and nothing is done twice.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use maia_tests::harness::{Ended, Running, check_stream, field};
use rustix::process::Signal;
use serde_json::json;

use crate::kinds::{ACTORS, LEFT_OUT, kinds};
use crate::scene::{Scene, Seen, Stage};

/// Runs at once: more would only wait for each other.
const AT_ONCE: usize = 4;

/// How often a row whose message did not come is played again.
const TRIES: usize = 12;

/// A run in which one actor panics at its n-th message of a kind.
#[derive(Clone, Debug)]
struct Row {
    source: &'static str,
    actor: &'static str,
    kind: String,
    n: u32,
}

impl Row {
    /// Returns the scene in which the actor gets such a message, and faults before it that lead there.
    fn way(&self) -> (Scene, &'static str) {
        match (self.source, self.kind.as_str()) {
            ("agent", "GatewayWaits") | ("model_gateway", "Wake") => (Scene::Busy, ""),
            ("agent", "ExecutorMissing") => (Scene::Plain, "actor:maia/worker#1:Committed=panic@2,"),
            ("agent", "PlacesRebuilt") => (Scene::Plain, "actor:@scheduler:Want=panic@1,"),
            ("agent", "GatewayRebuilt") => (Scene::Plain, "actor:@gateway:Ask=panic@1,"),
            ("agent_supervisor", "StopChild") | ("model_gateway", "Cancel") => (Scene::StopAll, ""),
            ("agent_supervisor", "StopCall" | "ToAgent") | ("tool_executor", "Stop") => {
                (Scene::StopWorker, "")
            }
            ("session", "Op") | ("permission_broker", "NobodyAnswers") => (Scene::StopWorker, ""),
            ("tool_executor", "LocksRebuilt") => (Scene::Plain, "actor:@locks:Acquire=panic@1,"),
            ("session", "Interrupt") => (Scene::Interrupt, ""),
            ("session", "MainRebuilt") => (Scene::Plain, "actor:maia:Input=panic@1,"),
            ("session", "MainFailed") => {
                (Scene::Plain, "actor:maia:Input=panic@1,actor:maia:Input=panic@1,actor:maia:Input=panic@1,")
            }
            ("session", "DiskFull" | "DiskRoom") | ("journal", "Full" | "Room") => {
                (Scene::Disk, "disk:full@12,")
            }
            ("session", "SpawnBeside") => (Scene::Beside, ""),
            ("permission_broker", "Answer") => (Scene::Question, ""),
            ("event_hub", "History" | "Folded") => (Scene::Plain, "actor:@events:Batch=panic@2,"),
            ("model_gateway" | "reaper", "EndSession") => (Scene::Plain, "actor:@session:Committed=panic@2,"),
            ("reaper", "Kill") => (Scene::Plain, "actor:maia/worker#1/Bash#1:Finished=panic@1,"),
            _ => (Scene::Plain, ""),
        }
    }

    /// Returns the part of the tree whose calls may be cut off with the actor: all of it, or the worker's.
    fn spared(&self) -> &'static str {
        let (_, before) = self.way();
        let whole = matches!(self.source, "session" | "journal")
            || self.actor == "maia@supervisor"
            || before.contains("@session")
            // What a person has stopped is cut off by that.
            || matches!(self.way().0, Scene::StopAll | Scene::Interrupt);
        if whole { "maia" } else { "maia/worker#1" }
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (source, actors) in ACTORS {
        for kind in kinds(source) {
            if LEFT_OUT.iter().any(|(left, out, _)| left == source && *out == kind) {
                continue;
            }
            for actor in *actors {
                // A disk that has room again is looked at after some seconds: once is enough.
                let times =
                    if matches!(kind.as_str(), "DiskFull" | "DiskRoom" | "Full" | "Room") { 1 } else { 2 };
                rows.extend((1..=times).map(|n| Row { source, actor, kind: kind.clone(), n }));
            }
        }
    }
    rows
}

/// Starts the run, does what a person does in it, and returns what came of it; `None` when the kind never came.
fn play(row: &Row) -> Result<Option<()>, String> {
    let (scene, before) = row.way();
    let stage = Stage::new(scene);
    let faults = format!("{before}actor:{}:{}=panic@{}", row.actor, row.kind, row.n);
    let mut running = stage.maia(scene).fail(faults).start();
    act(scene, &mut running, &stage);
    let seen = Seen::of(&stage, running.end());
    let hit = format!("injected: {} at {}\n", row.actor, row.kind);
    let came = seen.ended.err().contains(&hit);
    let checked = check(row, scene, &stage, &seen).map_err(|error| format!("{error}\n{}", seen.ended));
    stage.world.wait_until_nothing_runs();
    checked.map(|()| came.then_some(()))
}

/// Does what a person does in the scene.
fn act(scene: Scene, running: &mut Running, stage: &Stage) {
    let failed = |event: &serde_json::Value| {
        field(event, "message").contains("was rebuilt") || event["type"] == "agent_restarted"
    };
    match scene {
        Scene::Plain | Scene::Busy | Scene::Disk => {}
        Scene::StopWorker => {
            wait_for_start(running);
            running.say(json!({"op": "stop", "actor": "maia/worker#1"}));
            running.wait_for("the end of the worker", |event| {
                event["actor"] == "maia/worker#1" && event["type"] == "agent_finished"
            });
        }
        Scene::StopAll | Scene::Interrupt => {
            wait_for_start(running);
            stage.endpoint.wait_for("the held request", |counts| counts.received >= 3);
            if scene == Scene::StopAll {
                running.say(json!({"op": "stop", "actor": "maia"}));
            } else {
                running.signal(Signal::INT);
            }
            running.wait_for("the end, or somebody who was rebuilt", |event| {
                event["type"] == "session_ended" || failed(event)
            });
            // Where the order was lost, the other one goes on, and ends by itself.
            stage.gate.open();
        }
        Scene::Beside => {
            stage.endpoint.wait_for("the main agent's request", |counts| counts.in_flight >= 1);
            running.say(json!({"op": "spawn", "agent": "helper", "task": "h"}));
            running.wait_for("the end of the helper", |event| {
                event["type"] == "agent_finished" && event["actor"] == "maia/helper#1"
            });
            stage.gate.open();
        }
        Scene::Question => {
            let asked = running.wait_for("a question", |event| event["type"] == "permission_asked");
            let answer = json!({"op": "answer", "id": asked["id"], "decision": "allow_once"});
            running.say(&answer);
            let open = running.wait_for("an answer, or a broker that was rebuilt", |event| {
                event["type"] == "permission_answered" || failed(event)
            });
            if open["type"] != "permission_answered" {
                running.say(&answer);
                running.wait_for("an answer", |event| event["type"] == "permission_answered");
            }
        }
    }
}

/// Waits until the worker's command has begun.
fn wait_for_start(running: &Running) {
    running.wait_for("the worker's command", |event| {
        event["type"] == "process" && field(event, "id").starts_with("maia/worker#1:")
    });
}

fn check(row: &Row, scene: Scene, stage: &Stage, seen: &Seen) -> Result<(), String> {
    if row.source == "journal" && scene != Scene::Disk || seen.ended.err().contains("the journal failed") {
        return check_resumed(stage, seen);
    }
    seen.check(row.spared())?;
    let fully = !row.way().1.contains("@events") && row.source != "event_hub";
    if fully {
        check_stream(&seen.ended.events())?;
    } else {
        let events = seen.ended.events();
        let (first, last) = (events.first().ok_or("no events")?, events.last().ok_or("no events")?);
        if first["type"] != "session_started" || last["type"] != "session_ended" {
            return Err("it does not begin with session_started and end with session_ended".to_owned());
        }
    }
    match scene {
        // The order goes with the one who failed over it, if that was no agent.
        Scene::StopAll | Scene::Interrupt => match seen.ended.code {
            Some(130) => {}
            Some(0) if row.source != "agent" && row.source != "model_gateway" => {}
            code => return Err(format!("exit code {code:?}")),
        },
        Scene::StopWorker if seen.ended.code == Some(0) => {}
        // The third failure of the main agent is the end, unless the session forgets it.
        _ if row.kind == "MainFailed" && matches!(seen.ended.code, Some(0 | 1)) => return Ok(()),
        _ => seen.check_done()?,
    }
    // Who fails in an agent is rebuilt from the journal: nothing is asked of the model a second time.
    let again = seen.asked.iter().find(|(_, times)| **times > 1);
    if let Some((who, times)) = again
        && row.source == "agent"
        && scene == Scene::Plain
        && row.way().1.is_empty()
    {
        return Err(format!("{who:?} was asked {times} times"));
    }
    Ok(())
}

/// The journal is not restarted: a clear end, and a resume that goes on.
fn check_resumed(stage: &Stage, seen: &Seen) -> Result<(), String> {
    let Ended { code, .. } = seen.ended;
    let err = seen.ended.err();
    if code == Some(0) {
        // It never came to such a message.
        return seen.check_done();
    }
    if code != Some(1) || !err.contains("the journal failed") {
        return Err(format!("exit code {code:?}"));
    }
    stage.world.wait_until_nothing_runs();
    let again = stage.world.run().arg("--json").endpoint(stage.endpoint.url());
    let again = again.allow(&["Read(**)", "Agent", "Write(**)"]);
    // The session is there as soon as anything is recorded, and then its request is too: they are one append.
    let again = match err.split_once("maia run --resume ") {
        Some((_, name)) => again.arg("--resume").arg(name.lines().next().unwrap_or_default().trim()),
        None if seen.records.is_empty() && err.contains("give the request again") => again.arg("go"),
        None => return Err("it does not say how to go on".to_owned()),
    };
    let again = Seen::of(stage, again.end());
    again.check("maia").and_then(|()| again.check_done()).map_err(|error| format!("{error}\n{}", again.ended))
}

#[test]
fn a_panic_anywhere_ends_nothing_that_it_need_not_end() {
    let (rows, next) = (rows(), AtomicUsize::new(0));
    let (faults, came) = (Mutex::new(Vec::new()), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::SeqCst)) {
                    match play(row) {
                        Ok(Some(())) => drop(came.lock().unwrap().insert((row.source, row.kind.clone()))),
                        Ok(None) => {}
                        Err(error) => faults.lock().unwrap().push(format!("{row:?}: {error}")),
                    }
                }
            });
        }
    });
    // Some kinds come only to who is overtaken by another: those rows are played again, and have to hold again.
    for _ in 0..TRIES {
        let met = came.lock().unwrap().clone();
        let missing = rows.iter().filter(|row| row.n == 1 && !met.contains(&(row.source, row.kind.clone())));
        for row in missing {
            match play(row) {
                Ok(Some(())) => drop(came.lock().unwrap().insert((row.source, row.kind.clone()))),
                Ok(None) => {}
                Err(error) => faults.lock().unwrap().push(format!("{row:?}: {error}")),
            }
        }
    }
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {} rows:\n\n{}", faults.len(), rows.len(), faults.join("\n\n"));
    let came = came.into_inner().unwrap();
    let missing = rows.iter().filter(|row| !came.contains(&(row.source, row.kind.clone())));
    let missing: BTreeSet<_> = missing.map(|row| (row.source, row.kind.as_str())).collect();
    assert_eq!(missing, BTreeSet::new(), "no run met these messages");
}
