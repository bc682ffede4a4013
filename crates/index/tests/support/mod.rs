//! What the tests of the index share: journals of every sort of record that it looks at.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::Path;

use jiff::Timestamp;
use maia_index::{Index, Pairs, open};
use maia_journal::{Entries, Journal, JournalFile};
use maia_protocol::model::{FailureKind, ModelFailure};
use maia_protocol::outcome::{EndReason, Outcome, Totals};
use maia_protocol::permission::{AnsweredBy, Decision, Mode, RuleSet, Ruling, RulingAction, Sandbox};
use maia_protocol::record::{
    AfterAnswer, AfterFailure, AskedAgain, ChildFinished, Delegated, FOLD, ModelAnswered, PermissionAsked,
    ReconcileAction, SessionOpened, TurnEnd,
};
use maia_protocol::tool::Risk;
use maia_protocol::{
    ActorPath, Answer, AnsweredCall, Body, CallId, DEMO, NewRecord, Seq, Snapshot, StopReason, ToolOutput,
    Usage,
};
use proptest::prelude::*;
use tempfile::TempDir;

/// Makes a folder, in memory where that is possible.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// The time of everything.
pub fn now() -> Timestamp {
    "2026-11-30T10:00:00.123456789Z".parse().expect("a time")
}

/// An agent: the main one for 0.
pub fn agent(n: u32) -> ActorPath {
    match n {
        0 => ActorPath::main(),
        1..=3 => ActorPath::main().child("reader", n),
        _ => ActorPath::main().child("reader", 1).child("writer", n),
    }
}

/// An opening of session `session`.
pub fn opened(session: &str, model: &str, resumes: Vec<ActorPath>) -> NewRecord {
    let body = Body::SessionOpened(SessionOpened {
        session: session.to_owned(),
        name: format!("session {session}"),
        cwd: "/home/é".into(),
        model: model.to_owned(),
        agent: None,
        agent_hash: String::new(),
        tools: None,
        rules: RuleSet::default(),
        iterations: 50,
        mode: Mode::Confirm,
        sandbox: Sandbox::Off,
        headless: true,
        version: "0.1.0".to_owned(),
        fold: FOLD,
        resumed: !resumes.is_empty(),
        resumes,
    });
    NewRecord::new(ActorPath::main(), body)
}

/// Kinds of records that there are; see [`kind_of`].
pub const KINDS: u32 = 24;

/// Returns the number by which [`record`] makes a body of this kind: a new kind has to be given one.
pub fn kind_of(body: &Body) -> u32 {
    match body {
        Body::SessionOpened(_) => 0,
        Body::UserMessage { .. } => 1,
        Body::Told { .. } => 2,
        Body::ModelAsked { .. } => 3,
        Body::ModelAnswered(_) => 4,
        Body::Delegated(_) => 5,
        Body::ChildFinished(_) => 6,
        Body::TurnFinished { .. } => 7,
        Body::Unknown { .. } => 8,
        Body::SessionClosed { .. } => 9,
        Body::ToolDone { .. } => 10,
        Body::ToolIntent { .. } => 11,
        Body::ProcessStarted { .. } => 12,
        Body::PermissionAsked(_) => 13,
        Body::PermissionAnswered { .. } => 14,
        Body::AskedAgain(_) => 15,
        Body::ModelChosen { .. } => 16,
        Body::ConversationCleared {} => 17,
        Body::ModelFailed { .. } => 18,
        Body::SnapshotTaken(_) => 19,
        Body::CancelAsked { .. } => 20,
        Body::TimerFired { .. } => 21,
        Body::CallsJudged { .. } => 22,
        Body::Reconciled { .. } => 23,
    }
}

/// Record `n` of a history, of kind `kind` and agent `who`.
pub fn record(n: u32, kind: u32, who: u32, text: &str) -> NewRecord {
    let actor = agent(who);
    let call = CallId::new(&actor, n, 1);
    let totals = Totals { iterations: n, input_tokens: 7, ..Totals::default() };
    // What an executor writes of a call is shown under its agent.
    let of_call = |body| NewRecord::new(actor.child("Grep", n), body);
    let tool = "Grep".to_owned();
    let model = if n.is_multiple_of(3) { DEMO.to_owned() } else { format!("m{n}") };
    let body = match kind {
        0 => return opened("s", &model, vec![ActorPath::main(), actor]),
        1 => Body::UserMessage { turn: n, text: text.to_owned() },
        2 => Body::Told { from: "person".to_owned(), text: text.to_owned() },
        3 => Body::ModelAsked { step: n, attempt: 1, closing: n.is_multiple_of(3) },
        4 => Body::ModelAnswered(Box::new(ModelAnswered {
            step: n,
            answer: Answer {
                text: text.to_owned(),
                calls: vec![AnsweredCall {
                    provider_id: "c".to_owned(),
                    name: "Grep".to_owned(),
                    input: serde_json::json!({"pattern": text, "in": [n]}),
                    unusable: None,
                    raw: None,
                }],
                reasoning: String::new(),
                stop: StopReason::ToolUse,
                usage: Some(Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() }),
                warnings: Vec::new(),
            },
            targets: Vec::new(),
            model: "m".to_owned(),
            cost_micros: None,
            first_token_ms: None,
            duration_ms: 1,
            interrupted: false,
            then: AfterAnswer::Tools,
        })),
        5 => Body::Delegated(Box::new(Delegated {
            call: CallId::new(&actor.parent().unwrap_or(actor.clone()), n, 1),
            definition: "reader".to_owned(),
            definition_hash: String::new(),
            task: text.to_owned(),
            model: "m".to_owned(),
            iterations: 10,
            tools: Vec::new(),
            rules: RuleSet::default(),
            snapshot: 2,
        })),
        6 => Body::ChildFinished(Box::new(ChildFinished {
            call: CallId::new(&actor.parent().unwrap_or(actor.clone()), n, 1),
            outcome: Outcome::Failed,
            cause: Some(text.to_owned()),
            summary: text.to_owned(),
            totals,
            subtree: totals,
        })),
        7 => Body::TurnFinished { turn: n, end: TurnEnd::EndTurn, text: text.to_owned() },
        8 => Body::Unknown { kind: "dreamt".to_owned(), body: serde_json::json!({"text": text}) },
        9 => {
            let (reason, result) = (EndReason::Done, text.to_owned());
            Body::SessionClosed { reason, result, totals, main: totals }
        }
        10 => {
            let output = ToolOutput::ok(text);
            return of_call(Body::ToolDone { call, tool, output, duration_ms: 3 });
        }
        11 => return of_call(Body::ToolIntent { call, tool, risk: Risk::Read, write: None }),
        12 => {
            let boot_id = "b".to_owned();
            return of_call(Body::ProcessStarted { call, pid: 7, start_time: 8, boot_id });
        }
        13 => {
            let (input, why) = (serde_json::json!({"pattern": n}), "no rule covers it".to_owned());
            let asked = PermissionAsked { call, tool, input, target: None, why, rule: None };
            return of_call(Body::PermissionAsked(Box::new(asked)));
        }
        14 => {
            let (decision, by) = (Decision::AllowOnce, AnsweredBy::Person);
            return of_call(Body::PermissionAnswered { call, decision, by });
        }
        15 => {
            let call = CallId::new(&actor, 0, n);
            Body::AskedAgain(AskedAgain { call, text: text.to_owned(), iterations: n })
        }
        16 => return NewRecord::new(ActorPath::main(), Body::ModelChosen { model }),
        17 => return NewRecord::new(ActorPath::main(), Body::ConversationCleared {}),
        18 => {
            let failure = ModelFailure {
                kind: FailureKind::IncompleteStream,
                status: None,
                message: "it broke off".to_owned(),
                transient: true,
                retry_after_ms: None,
                text: text.to_owned(),
            };
            let then = [
                AfterFailure::Cancelled,
                AfterFailure::Retry { in_ms: 9 },
                AfterFailure::Close,
                AfterFailure::Fail,
            ];
            Body::ModelFailed { step: n, attempt: 1, failure, then: then[n as usize % 4] }
        }
        19 => Body::SnapshotTaken(Box::new(Snapshot {
            rules: Vec::new(),
            agents: Vec::new(),
            context: None,
            tools: Vec::new(),
            facts: "It is Monday.".to_owned(),
        })),
        20 => Body::CancelAsked { by: "person".to_owned() },
        21 => Body::TimerFired { step: n },
        22 => {
            let why = "mode read-only: it only reads".to_owned();
            Body::CallsJudged { rulings: vec![(call, Ruling { action: RulingAction::Run, rule: None, why })] }
        }
        _ => Body::Reconciled { call, found: None, action: ReconcileAction::RunAgain },
    };
    NewRecord::new(actor, body)
}

/// Histories of up to `most` records, as batches.
pub fn histories(most: usize) -> impl Strategy<Value = Vec<Vec<NewRecord>>> {
    let text = prop_oneof![
        8 => "[a-d]{1,3}( [a-d]{1,3}){0,5}",
        1 => Just("long ".repeat(9_000)),
        1 => Just("ghp_0123456789abcdefghijklmnop \u{0} é 漢字".to_owned()),
    ];
    let one =
        (1..99_u32, 0..KINDS, 0..6_u32, text).prop_map(|(n, kind, who, text)| record(n, kind, who, &text));
    prop::collection::vec(prop::collection::vec(one, 1..12), 0..most / 6)
}

/// A history that is long enough for keyframes and several batches.
pub fn long(count: u32) -> Vec<NewRecord> {
    (0..count).map(|n| record(n, n % KINDS, n % 5, &format!("word{} and {}", n % 97, n % 5))).collect()
}

/// Makes the journal of session `session` in `dir` and appends `records`.
pub fn write(dir: &Path, session: &str, records: &[NewRecord]) -> JournalFile {
    let mut journal = JournalFile::open(dir).expect("it opens").journal;
    journal.append(&[opened(session, "m", Vec::new())], now()).expect("appended");
    journal.append(records, now()).expect("appended");
    journal
}

/// Opens the index of `dir` and lets it catch up.
pub fn caught_up(dir: &Path) -> Index {
    let entries = Entries::open(dir).expect("there is a journal");
    let index = open(dir, &entries).expect("it opens, whatever is there");
    index.catch_up(&entries, Seq::MAX, || false).expect("it catches up");
    index
}

/// What an index of this journal holds: one that is built at once, somewhere else.
pub fn rebuilt(dir: &Path) -> Pairs {
    let other = folder();
    std::fs::copy(dir.join("journal.jsonl"), other.path().join("journal.jsonl")).expect("copied");
    if dir.join("blobs").is_dir() {
        std::os::unix::fs::symlink(dir.join("blobs"), other.path().join("blobs")).expect("a link");
    }
    caught_up(other.path()).dump().expect("readable")
}
