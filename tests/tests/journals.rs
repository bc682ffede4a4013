//! Journals of every version, folded to the states kept beside them, for ever (ENGINE 1).
//!
//! A journal here is never written again: sessions of that version lie on people's disks. A change that folds one of them
//! differently raises the fold version and keeps the old arm. `MAIA_BLESS=1` writes journals and states that are missing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maia_core::turn::State;
use maia_journal::{Journal, JournalFile, read_all};
use maia_protocol::{ActorPath, Body, Decision, NewRecord, Record, StopReason};
use serde_json::Value;

use driver::{Order, Tree};
use world::{World, agent, bash, by_command, calls, edit, read, script, text, write};

#[path = "../../crates/core/tests/turn/check.rs"]
mod check;
#[path = "../../crates/core/tests/turn/driver.rs"]
mod driver;
#[path = "../../crates/core/tests/turn/effects.rs"]
mod effects;
#[expect(dead_code, reason = "shared with the tests of the turn machine")]
#[path = "../../crates/core/tests/turn/world.rs"]
mod world;

fn folder() -> PathBuf {
    maia_tests::root().join("tests/journals/v1")
}

/// Every agent's state, by path.
fn states(records: &[Record]) -> BTreeMap<String, State> {
    let born = records.iter().filter(|record| matches!(record.body, Body::Delegated(_)));
    let paths = born.map(|record| record.actor.clone()).chain([ActorPath::main()]);
    paths.map(|path| (path.to_string(), check::fold(&path, records))).collect()
}

/// Tells where `now` says something else than `kept`; fields that came later are no difference.
fn difference(kept: &Value, now: &Value, at: &str) -> Option<String> {
    match (kept, now) {
        (Value::Object(kept), Value::Object(now)) => kept.iter().find_map(|(field, kept)| {
            difference(kept, now.get(field).unwrap_or(&Value::Null), &format!("{at}.{field}"))
        }),
        (Value::Array(kept), Value::Array(now)) if kept.len() == now.len() => {
            let pairs = kept.iter().zip(now).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (kept, now))| difference(kept, now, &format!("{at}[{index}]")))
        }
        _ if kept == now => None,
        _ => Some(format!("{at}: kept {kept}, now {now}")),
    }
}

#[test]
fn journals_of_every_version_fold_to_the_states_beside_them() {
    let bless = std::env::var_os("MAIA_BLESS").is_some();
    if bless {
        std::fs::create_dir_all(folder()).expect("a folder in the work tree");
        for (name, records) in written() {
            keep(&folder().join(name), &records);
        }
    }
    let files = std::fs::read_dir(folder()).expect("journals").map(|entry| entry.expect("an entry").path());
    let mut seen = 0;
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")) {
        let (records, report) = read_all(&path).expect("a readable journal");
        assert_eq!(report, Default::default(), "{}", path.display());
        let now = serde_json::to_value(states(&records)).expect("plain data");
        let beside = path.with_extension("states.json");
        if bless && !beside.exists() {
            let text = serde_json::to_string_pretty(&now).expect("plain data");
            std::fs::write(&beside, text + "\n").expect("a place for the states");
        }
        let kept = std::fs::read_to_string(&beside).expect("states beside the journal");
        let kept: Value = serde_json::from_str(&kept).expect("JSON");
        assert_eq!(difference(&kept, &now, ""), None, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} journals");
}

#[test]
fn a_difference_is_seen_and_a_new_field_is_none() {
    let kept = serde_json::json!({"a": [1, {"b": 2}], "c": null});
    assert_eq!(
        difference(&kept, &serde_json::json!({"a": [1, {"b": 2, "x": 1}], "c": null, "d": 4}), ""),
        None
    );
    for now in [
        serde_json::json!({"a": [1, {"b": 3}], "c": null}),
        serde_json::json!({"a": [1], "c": null}),
        serde_json::json!({"c": null}),
    ] {
        assert!(difference(&kept, &now, "").is_some(), "{now}");
    }
}

/// Writes a journal where there is none yet.
fn keep(path: &Path, records: &[Record]) {
    if path.exists() {
        return;
    }
    let session = tempfile::tempdir().expect("a temporary folder");
    let mut journal = JournalFile::open(session.path()).expect("a new journal").journal;
    for record in records {
        let new = NewRecord::new(record.actor.clone(), record.body.clone());
        journal.append(&[new], record.time).expect("room on the disk");
    }
    std::fs::copy(session.path().join("journal.jsonl"), path).expect("a place for the journal");
}

fn written() -> Vec<(&'static str, Vec<Record>)> {
    vec![
        ("calls-and-questions.jsonl", calls_and_questions()),
        ("children-stopped.jsonl", children_stopped()),
        ("crash-and-resume.jsonl", crash_and_resume()),
        ("asked-again.jsonl", asked_again()),
    ]
}

/// Every way that a call can end; a nudge, a message meanwhile, a stop as the answer, a turn that is taken back.
fn calls_and_questions() -> Vec<Record> {
    let first = calls(&[
        read("/projects/é"),
        write("/projects/é"),
        bash("ask yes"),
        bash("ask no"),
        bash("refuse"),
        ("Dream", Value::Null),
    ]);
    let cut = maia_protocol::Answer { text: "as far as".to_owned(), stop: StopReason::MaxTokens, ..text("") };
    let stop = calls(&[bash("ask stop"), bash("after")]);
    let world = World::new(script(&[("maia", vec![first, text(""), cut, stop, text("never")])]))
        .judge(by_command)
        .person(|asked| match asked.input["command"].as_str() {
            Some("ask yes") => Decision::AllowOnce,
            Some("ask no") => Decision::RejectOnce { reason: Some("not now".to_owned()) },
            _ => Decision::Stop,
        });
    let mut tree = Tree::new(world, 11, "look at “é”");
    tree.at(6, Order::Tell("mind the accents".to_owned()), "maia");
    tree.run();
    tree.ask("go on");
    let tick = tree.ticks + 2;
    tree.at(tick, Order::Cancel, "maia");
    tree.ask("a mistake");
    check::ended(&tree);
    tree.close();
    tree.journal
}

/// Children in parallel, one of them with a child of its own, stopped in the middle; another turn.
fn children_stopped() -> Vec<Record> {
    let share =
        calls(&[agent("boss", "all of it"), agent("helper", "a part"), agent("nobody", "x"), bash("beside")]);
    let answers = [
        ("maia", vec![share, text("done")]),
        ("boss", vec![calls(&[agent("helper", "the other part")]), text("boss done")]),
        ("helper", vec![calls(&[edit("/projects/a")]), calls(&[bash("x")]), text("helper done")]),
    ];
    let mut tree = Tree::new(World::new(script(&answers)), 4, "share it out");
    tree.run_until(|tree| tree.machines.len() == 4 && tree.running().len() > 1);
    tree.order("maia", Order::Cancel);
    tree.run();
    tree.ask("and now?");
    check::ended(&tree);
    tree.close();
    tree.journal
}

/// Asked again at two depths, killed in the second life, gone on from there; another model, and a new conversation.
fn asked_again() -> Vec<Record> {
    let again = |answers: [maia_protocol::Answer; 2]| [answers.clone(), answers].concat();
    let answers = [
        ("maia", vec![calls(&[agent("boss", "all of it")]), text("done")]),
        ("boss", again([calls(&[agent("helper", "a part"), bash("x")]), text("boss done")])),
        ("helper", again([calls(&[edit("/projects/a")]), text("helper done")])),
    ];
    let world = World::new(script(&answers));
    let mut tree = Tree::new(world.clone(), 12, "share it out");
    tree.run();
    tree.order("maia/boss#1", Order::AskAgain("and now?".to_owned()));
    tree.order("maia/boss#1/helper#1", Order::AskAgain("you too".to_owned()));
    let asked = |record: &&Record| matches!(record.body, Body::AskedAgain(_));
    tree.run_until(|tree| tree.journal.iter().filter(asked).count() == 2 && !tree.running().is_empty());
    let mut tree = Tree::resume(world, 7, &tree.journal);
    tree.append(Body::ModelChosen { model: "other".to_owned() });
    tree.run();
    tree.append(Body::ConversationCleared {});
    tree.run();
    tree.ask("what did they say?");
    tree.close();
    check::ended(&tree);
    tree.journal
}

/// Killed in the middle of calls and of a child, gone on from there, ended by the budget; with kinds that nobody knows.
fn crash_and_resume() -> Vec<Record> {
    let again = calls(&[bash("x"), read("/projects/a"), edit("/projects/b"), agent("helper", "look")]);
    let answers = [("maia", vec![again]), ("helper", vec![calls(&[bash("ask x")]), text("found")])];
    let world = World::new(script(&answers)).iterations(2).judge(by_command);
    let mut tree = Tree::new(world.clone(), 8, "go");
    tree.answers = false;
    tree.run_until(|tree| tree.running().len() == 2 && !tree.session.questions.is_empty());
    let mut tree = Tree::resume(world, 5, &tree.journal);
    tree.run();
    tree.close();
    check::ended(&tree);
    let mut records = tree.journal;
    let last = records.last().expect("records").clone();
    let unknown = Body::Unknown { kind: "dreamt".to_owned(), body: serde_json::json!({"of": ["sheep"]}) };
    records.push(Record { seq: last.seq + 1, body: unknown, ..last });
    records
}
