//! An agent that was asked again is killed at every record of its second life, and goes on from there.
//!
//! The order is the person's, so a run in which it was lost before it was durable is not looked at: it is the first life's.

use std::collections::BTreeMap;

use maia_protocol::outcome::Outcome;
use maia_protocol::record::ReconcileAction;
use maia_protocol::{Body, Record};
use maia_test_support::{Gate, Reply, Sse};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Ended, Endpoint, Maia, World, field};
use serde_json::json;

use crate::each;

const WORKER: &str = "maia/worker#1";

struct Stage {
    world: World,
    endpoint: Endpoint,
    gate: Gate,
}

/// A worker with a life, and another one with a command and a change; the main agent's turn is held meanwhile.
fn stage() -> Stage {
    let (world, gate) = (World::new(env!("CARGO_BIN_EXE_maia-faulty")), Gate::new());
    world.write("a.txt", "one\n");
    world.agent("worker", &["Read", "Edit", "Bash"], &["Read(**)", "Edit(**)", "Bash(sh mark.sh)"]);
    world.write("mark.sh", "echo again >> log\n");
    let held = gate.clone();
    let endpoint = Endpoint::start(move |asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[("Agent", json!({"agent": "worker", "task": "w"}))]),
        ("maia", _) => {
            let answer = Sse::answer("all done");
            Reply::status(200).header("content-type", "text/event-stream").hold(&held).write(answer)
        }
        ("worker", 1) => calls(&[("Read", json!({"path": "a.txt"}))]),
        ("worker", 2) => says("first life"),
        ("worker", 3) => calls(&[
            ("Edit", json!({"path": "a.txt", "old_string": "one", "new_string": "one two"})),
            ("Bash", json!({"command": "sh mark.sh"})),
        ]),
        _ => says("second life"),
    });
    Stage { world, endpoint, gate }
}

impl Stage {
    fn maia(&self) -> Maia {
        self.world
            .run()
            .args(["--json", "--ops"])
            .allow(&["Agent"])
            .endpoint(self.endpoint.url())
            .stdin_open()
    }

    /// A run in which the worker is asked again, killed at record `at` if it comes to that.
    fn killed(&self, at: u64) -> Ended {
        self.run(&format!("journal:{at}=kill"))
    }

    /// A run in which the worker is asked again.
    fn run(&self, fault: &str) -> Ended {
        let mut running = self.maia().arg("go").fail(fault).start();
        let is_end = |event: &serde_json::Value| event["type"] == "agent_finished";
        if let Some(first) = running.look_for(is_end) {
            running.say(json!({"op": "ask_again", "actor": WORKER, "text": "and now?"}));
            running.look_for(|event| is_end(event) && event["seq"].as_u64() > first["seq"].as_u64());
        }
        self.gate.open();
        running.end()
    }
}

fn was_asked_again(records: &[Record]) -> bool {
    records.iter().any(|record| matches!(record.body, Body::AskedAgain(_)))
}

/// Returns what is not as it has to be after a kill and a resume.
fn faults(stage: &Stage, before: &[Record], ended: &Ended) -> Vec<String> {
    let mut faults = Vec::new();
    let records = stage.world.journal();
    if ended.code != Some(0) || ended.events().last().map(|last| field(last, "result")) != Some("all done") {
        faults.push(format!("it ended with {:?}", ended.code));
    }
    if !records.starts_with(before) {
        faults.push("records that were there are lost".to_owned());
    }
    let ends: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::ChildFinished(end) => Some((end.call.to_string(), end.outcome, end.summary.clone())),
            _ => None,
        })
        .collect();
    let end = |call: &str, summary: &str| (call.to_owned(), Outcome::Done, summary.to_owned());
    if ends != [end("maia:1.1", "first life"), end("maia/worker#1:0.1", "second life")] {
        faults.push(format!("its ends are {ends:?}"));
    }
    let uncertain = records
        .iter()
        .any(|record| matches!(record.body, Body::Reconciled { action: ReconcileAction::Uncertain, .. }));
    let ran = stage.world.read("log").unwrap_or_default().lines().count();
    if ran > 1 || (ran == 0 && !uncertain) {
        faults.push(format!("its command ran {ran} times"));
    }
    if stage.world.read("a.txt").as_deref() != Some("one two\n") {
        faults.push(format!("its file holds {:?}", stage.world.read("a.txt")));
    }
    let mut answers: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for record in &records {
        if let Body::ModelAnswered(answered) = &record.body {
            *answers.entry((record.actor.to_string(), answered.step)).or_default() += 1;
        }
    }
    if answers.len() != 6 || answers.values().any(|times| *times != 1) {
        faults.push(format!("answers in the journal: {answers:?}"));
    }
    faults
}

#[test]
fn a_kill_at_every_record_of_a_second_life_changes_nothing() {
    // The first life is the subject of others; how long it is differs by nothing.
    let first = {
        let stage = stage();
        let ended = stage.killed(1_000);
        assert_eq!(faults(&stage, &[], &ended), Vec::<String>::new(), "{ended}");
        let records = stage.world.journal();
        let asked = records.iter().find(|record| matches!(record.body, Body::AskedAgain(_)));
        asked.expect("it was asked again").seq
    };
    let kills = each(|index| {
        let stage = stage();
        let at = first + index;
        if !stage.killed(at).was_killed() {
            return None;
        }
        stage.world.wait_until_nothing_runs();
        let before = stage.world.journal();
        if !was_asked_again(&before) {
            return Some(Vec::new());
        }
        let session = stage.world.sessions().pop().expect("a session");
        let id = session.file_name().expect("a name").to_string_lossy().into_owned();
        let mut resumed = stage.maia().arg("--resume").arg(id).start();
        resumed.close_stdin();
        let ended = resumed.end();
        let faults = faults(&stage, &before, &ended);
        let told = faults.iter().map(|fault| format!("killed at {at}: {fault}\n{ended}"));
        Some(told.collect())
    });
    assert!(kills > 12, "only {kills} kills");
}

#[test]
fn a_panic_in_a_second_life_changes_nothing() {
    let mut rows =
        vec!["actor:@session:SpawnBeside=panic@1".to_owned(), "actor:@session:Left=panic@2".to_owned()];
    // Of the worker's messages the first life has about half.
    rows.extend((4..=16).map(|n| format!("actor:maia/worker#1:Committed=panic@{n}")));
    rows.extend((1..=2).map(|n| format!("actor:maia/worker#1:History=panic@{n}")));
    for kind in ["Begin", "Execute", "EndCall", "AgentEnded"] {
        rows.push(format!("actor:maia/worker#1@supervisor:{kind}=panic@2"));
    }
    rows.extend((2..=4).map(|n| format!("actor:@scheduler:Committed=panic@{n}")));
    rows.extend((6..=12).map(|n| format!("actor:maia:Committed=panic@{n}")));
    let met = std::sync::atomic::AtomicUsize::new(0);
    each(|index| {
        let fault = rows.get(usize::try_from(index).expect("a small number"))?;
        let stage = stage();
        let ended = stage.run(fault);
        met.fetch_add(usize::from(ended.err().contains("injected: ")), std::sync::atomic::Ordering::Relaxed);
        let faults = faults(&stage, &[], &ended);
        Some(faults.iter().map(|what| format!("{fault}: {what}\n{ended}")).collect())
    });
    let met = met.into_inner();
    assert!(met > rows.len() / 2, "only {met} of {} faults were met", rows.len());
}
