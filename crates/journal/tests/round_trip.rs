//! What is appended is read back: at the next opening, by number, without a lock.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use maia_journal::{AppendCause, Journal, JournalError, OpenReport, read_all};
use maia_protocol::{ActorPath, Body, NewRecord};
use serde_json::{Value, json};
use support::{folder, journal_in, now, open, some, told, with_bytes, written};

#[test]
fn a_journal_is_read_back() {
    let (dir, _, records) = written();
    let opened = open(dir.path());
    assert_eq!(opened.records, records);
    assert_eq!(opened.report, OpenReport::default());
    assert_eq!(opened.journal.len(), 5);
    assert_eq!(opened.journal.read(&[4, 1, 1]).expect("committed"), [3, 0, 0].map(|n| records[n].clone()));
    for seq in [0, 6, u64::MAX] {
        let error = opened.journal.read(&[1, seq]).expect_err("never given");
        assert!(matches!(error, JournalError::NoSuchRecord { last: 5, .. }), "{error}");
    }
    for path in [dir.path().to_owned(), journal_in(dir.path())] {
        assert_eq!(read_all(&path).expect("no lock is needed"), (records.clone(), OpenReport::default()));
    }
}

#[test]
fn a_batch_and_single_appends_give_the_same_bytes() {
    let (_dir, bytes, records) = written();
    let dir = folder();
    let mut journal = open(dir.path()).journal;
    assert!(journal.append(&[], now()).expect("nothing to do").is_empty());
    assert!(journal.is_empty());
    assert_eq!(journal.append(&some(), now()).expect("appended"), records);
    assert_eq!(fs::read(journal_in(dir.path())).expect("it is there"), bytes);
    let mode = fs::metadata(journal_in(dir.path())).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_line_has_the_fields_of_the_contract() {
    let (_dir, bytes, records) = written();
    let text = String::from_utf8(bytes).expect("JSON is text");
    for (line, record) in text.lines().zip(&records) {
        let value: Value = serde_json::from_str(line).expect("JSON");
        let fields: Vec<&str> = ["v", "seq", "time", "actor", "kind", "body", "crc"]
            .into_iter()
            .filter(|key| value.get(key).is_some())
            .collect();
        assert_eq!(fields.len(), value.as_object().map_or(0, serde_json::Map::len), "{line}");
        assert_eq!(value["kind"], record.body.kind());
        assert_eq!(value["body"], record.body.to_value().expect("plain data"));
        let head = line.rsplit_once(",\"crc\":").expect("sealed").0;
        assert_eq!(value["crc"], format!("{:08x}", crc32c::crc32c(head.as_bytes())));
    }
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn long_bodies_lie_in_blobs() {
    let dir = folder();
    let mut journal = open(dir.path()).journal;
    let long = "é\n".repeat(1_000_000);
    let batch = [told("short"), told(&long), told(&"x".repeat(32 * 1024)), told(&long)];
    let records = journal.append(&batch, now()).expect("appended");
    assert!(fs::metadata(journal_in(dir.path())).expect("it is there").len() < 1500);
    let names: Vec<_> = fs::read_dir(dir.path().join("blobs")).expect("made").collect();
    assert_eq!(names.len(), 2, "equal bodies are one blob, and nothing half written stays");
    assert_eq!(journal.read(&[2, 4]).expect("committed"), [records[1].clone(), records[3].clone()]);
    drop(journal);
    assert_eq!(open(dir.path()).records, records);
    assert_eq!(read_all(dir.path()).expect("readable").0, records);
}

#[test]
fn a_lost_blob_names_itself_and_is_never_cut() {
    for last in [true, false] {
        let dir = folder();
        let mut journal = open(dir.path()).journal;
        let mut batch = vec![told("first"), told(&"x".repeat(40_000))];
        batch.extend((!last).then(|| told("later")));
        journal.append(&batch, now()).expect("appended");
        let entry = fs::read_dir(dir.path().join("blobs")).expect("made").next().expect("one");
        let blob = entry.expect("an entry");
        fs::remove_file(blob.path()).expect("it is there");
        let name = blob.file_name().to_string_lossy().into_owned();

        let error = journal.read(&[2]).expect_err("its body is gone").to_string();
        assert!(error.contains("record 2") && error.contains(&name) && error.contains("missing"), "{error}");
        assert_eq!(journal.read(&[1]).expect("the others are good").len(), 1);
        drop(journal);

        let before = fs::read(journal_in(dir.path())).expect("it is there");
        let mut opened = open(dir.path());
        assert_eq!(opened.records.len(), 1);
        let why = opened.report.read_only.expect("damaged").to_string();
        assert!(why.contains("record 2") && why.contains(&name), "{why}");
        let error = opened.journal.append(&[told("more")], now()).expect_err("read only");
        assert!(!error.full && matches!(error.cause, AppendCause::ReadOnly(_)), "{error}");
        assert_eq!(fs::read(journal_in(dir.path())).expect("it is there"), before);
    }
}

#[test]
fn a_record_damaged_behind_our_back_is_an_error_not_another_record() {
    let (dir, mut bytes, records) = written();
    let journal = open(dir.path()).journal;
    let at = bytes.iter().position(|&byte| byte == b'\n').expect("a line") + 40;
    bytes[at] ^= 1;
    fs::write(journal_in(dir.path()), &bytes).expect("written");
    let error = journal.read(&[2]).expect_err("damaged").to_string();
    assert!(error.contains("record 2"), "{error}");
    assert_eq!(journal.read(&[3]).expect("good"), [records[2].clone()]);
}

#[test]
fn a_refused_record_leaves_no_trace_and_is_named() {
    let dir = folder();
    let mut journal = open(dir.path()).journal;
    let mut deep = json!(0);
    for _ in 0..400 {
        deep = json!([deep]);
    }
    let bad = NewRecord::new(ActorPath::main(), Body::Unknown { kind: "dreamt".to_owned(), body: deep });
    let error = journal.append(&[told("good"), bad], now()).expect_err("too deep");
    assert!(!error.full && matches!(error.cause, AppendCause::Unwritable { index: 1, .. }), "{error}");
    assert!(journal.is_empty());
    assert_eq!(journal.append(&[told("good")], now()).expect("appended")[0].seq, 1);
}

#[test]
fn what_a_model_may_nest_survives() {
    let mut input = json!(1);
    for _ in 0..126 {
        input = json!([input]);
    }
    let body = json!({"x": [{"input": input}]});
    let record = NewRecord::new(ActorPath::main(), Body::Unknown { kind: "dreamt".to_owned(), body });
    let dir = folder();
    let records = open(dir.path()).journal.append(&[record], now()).expect("appended");
    assert_eq!(open(dir.path()).records, records);
}

#[test]
fn fields_of_tomorrow_are_read_past() {
    let head = r#"{"v":1,"seq":1,"time":"2026-11-30T10:00:00Z","node":"b","actor":"maia","kind":"told","body":{"from":"person","text":"x","tone":"calm"}"#;
    let line = format!("{head},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(head.as_bytes()));
    let opened = open(with_bytes(line.as_bytes()).path());
    assert_eq!(opened.records.len(), 1);
    assert_eq!(opened.report, OpenReport::default());
}
