//! What the tests of the journal share: folders, records, and journals made of them.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maia_journal::{Journal, JournalFile, Opened};
use maia_protocol::permission::Sandbox;
use maia_protocol::record::{FOLD, SessionOpened};
use maia_protocol::{ActorPath, Body, CallId, Mode, NewRecord, Record, ToolOutput};
use serde_json::json;
use tempfile::TempDir;

/// Makes a folder, in memory where that is possible: thousands of openings need no real disk.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// The time of everything.
pub fn now() -> Timestamp {
    "2026-11-30T10:00:00.123456789Z".parse().expect("a time")
}

/// Opens a journal.
pub fn open(dir: &Path) -> Opened {
    JournalFile::open(dir).expect("it opens")
}

/// The path of the journal in a folder.
pub fn journal_in(dir: &Path) -> PathBuf {
    dir.join("journal.jsonl")
}

/// A text for somebody.
pub fn told(text: &str) -> NewRecord {
    NewRecord::new(ActorPath::main(), Body::Told { from: "person".to_owned(), text: text.to_owned() })
}

/// The first record of a session.
pub fn opened(name: &str) -> NewRecord {
    let body = SessionOpened {
        session: "0192".to_owned(),
        name: name.to_owned(),
        cwd: "/home/é".into(),
        model: "m".to_owned(),
        agent: None,
        agent_hash: String::new(),
        tools: None,
        rules: maia_protocol::RuleSet::default(),
        iterations: 50,
        mode: Mode::default(),
        sandbox: Sandbox::default(),
        headless: false,
        version: "0.1.0".to_owned(),
        fold: FOLD,
        resumed: false,
        resumes: Vec::new(),
    };
    NewRecord::new(ActorPath::main(), Body::SessionOpened(body))
}

/// Five records of five kinds: quotes, newlines, wide characters, numbers, a kind of tomorrow.
pub fn some() -> Vec<NewRecord> {
    let reviewer = ActorPath::main().child("reviewer", 1);
    let call = CallId::new(&reviewer, 2, 1);
    vec![
        opened("session_2026"),
        told("a \"quoted\"\nline \\ é 漢字 \u{1F600} \u{0} \u{7f}"),
        NewRecord::new(
            reviewer.clone(),
            Body::ToolDone {
                call,
                tool: "Bash".to_owned(),
                output: ToolOutput::error("no"),
                duration_ms: u64::MAX,
            },
        ),
        NewRecord::new(
            reviewer,
            Body::Unknown {
                kind: "dreamt".to_owned(),
                body: json!({"f": 0.1 + 0.2, "tiny": 5e-324, "n": [null, -1, 1.0e300], "deep": [[[[]]]]}),
            },
        ),
        told(""),
    ]
}

/// Writes `some` records into a new journal, one append each; returns its folder, its bytes and the records.
pub fn written() -> (TempDir, Vec<u8>, Vec<Record>) {
    let dir = folder();
    let mut journal = open(dir.path()).journal;
    let mut records = Vec::new();
    for record in some() {
        records.extend(journal.append(&[record], now()).expect("appended"));
    }
    drop(journal);
    let bytes = fs::read(journal_in(dir.path())).expect("it is there");
    (dir, bytes, records)
}

/// Makes a folder with a journal of these bytes.
pub fn with_bytes(bytes: &[u8]) -> TempDir {
    let dir = folder();
    fs::write(journal_in(dir.path()), bytes).expect("written");
    dir
}

/// The copies of torn ends in a folder.
pub fn tails(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut tails: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().contains("journal.tail-")).collect();
    tails.sort();
    tails
}
