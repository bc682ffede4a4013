//! A session of many records that has ended: real records of one turn, again and again under later numbers.

use std::path::Path;

use maia_journal::{Journal, JournalFile, SessionDir};
use maia_protocol::{ActorPath, Body, NewRecord, Record};
use serde_json::Value;

/// Id of the session that is made.
pub const ID: &str = "long";

/// Steps of the turn that is repeated.
const STEPS: u64 = 2;

/// Makes a session of at least `count` records beside the one in `pattern`, which has one turn of one call.
/// Returns how many there are.
pub fn write(pattern: &Path, count: usize) -> usize {
    let (records, _) = maia_journal::read_all(pattern).expect("a session that has ended");
    let is_turn = |record: &Record| matches!(record.body, Body::UserMessage { .. });
    let first = records.iter().position(is_turn).expect("a turn");
    let (opening, rest) = records.split_at(first);
    let end =
        rest.iter().position(|record| matches!(record.body, Body::TurnFinished { .. })).expect("its end");
    let (turn, closing) = rest.split_at(end + 1);

    let mut batch: Vec<NewRecord> = opening.iter().map(|record| again(record, 1)).collect();
    if let Some(Body::SessionOpened(opened)) = batch.first_mut().map(|record| &mut record.body) {
        ID.clone_into(&mut opened.session);
        ID.clone_into(&mut opened.name);
    }
    let mut number = 0;
    while batch.len() + closing.len() < count {
        number += 1;
        batch.extend(turn.iter().map(|record| again(record, number)));
    }
    batch.extend(closing.iter().map(|record| again(record, number)));

    let project = pattern.ancestors().nth(2).expect("sessions lie in a project");
    let dir = SessionDir::new(project, ID).expect("a good id");
    dir.create().expect("a folder");
    let mut journal = JournalFile::open(dir.path()).expect("a new journal").journal;
    journal.append(&batch, records[0].time).expect("appended");
    batch.len()
}

/// Returns `record` of the first turn as one of turn `turn`.
fn again(record: &Record, turn: u64) -> NewRecord {
    let mut body = record.body.to_value().expect("plain data");
    renumber(&mut body, turn);
    let actor = later(record.actor.as_str(), turn);
    NewRecord::new(ActorPath::new(actor), Body::read(record.body.kind(), body).expect("the same shape"))
}

fn renumber(value: &mut Value, turn: u64) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value.as_u64()) {
                    ("turn", Some(_)) => *value = turn.into(),
                    ("step", Some(step)) => *value = (step + STEPS * (turn - 1)).into(),
                    _ => renumber(value, turn),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| renumber(value, turn)),
        Value::String(text) => *text = later(text, turn),
        _ => {}
    }
}

/// Returns an id of a call, or a path of its executor, as it is in turn `turn`.
fn later(text: &str, turn: u64) -> String {
    if let Some(index) = text.strip_prefix("maia:1.") {
        return format!("maia:{}.{index}", 1 + STEPS * (turn - 1));
    }
    match text {
        "maia/Read#1" => format!("maia/Read#{turn}"),
        "call_1" => format!("call_{turn}"),
        other => other.to_owned(),
    }
}
