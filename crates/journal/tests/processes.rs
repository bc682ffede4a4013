//! What needs a second process: the lock, kill -9, a full disk, memory. The child is this same test binary.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use maia_journal::{AppendCause, Journal, JournalError, JournalFile};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{folder, journal_in, now, open, told, with_bytes};

/// Names the folder for a child.
const DIR: &str = "MAIA_JOURNAL_TEST_DIR";

/// What a child says at its end: a child that was never run would say nothing.
const THROUGH: &str = "the child is through";

/// Starts `test` of this binary in a process of its own, with SIGXFSZ ignored so that a size limit is an error.
fn child(test: &str, dir: &Path) -> Child {
    Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().expect("this binary"))
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Runs `work` when this process is such a child; tells the parent when it is through.
fn as_child(work: impl FnOnce(&Path)) {
    if let Some(dir) = std::env::var_os(DIR) {
        work(&PathBuf::from(dir));
        println!("{THROUGH}");
    }
}

/// Starts `test` in a child and waits until it is through.
fn run_child(test: &str, dir: &Path) {
    let output = child(test, dir).wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(THROUGH), "{text}");
}

/// Reads the child's lines `committed <seq>` until `count` have come; returns the last number.
fn wait_for(child: &mut Child, count: usize) -> u64 {
    let lines = BufReader::new(child.stdout.as_mut().expect("piped")).lines();
    let mut committed = lines.filter_map(|line| {
        // The test harness may have begun the line.
        Some(line.ok()?.rsplit_once("committed ")?.1.parse().expect("a number"))
    });
    committed.nth(count - 1).expect("it goes on")
}

#[test]
#[ignore = "a child of other tests"]
fn appends_for_ever() {
    as_child(|dir| {
        let mut journal = open(dir).journal;
        let long = "x".repeat(40_000);
        loop {
            let batch = [told("one"), told("two"), told(&format!("{long}{}", journal.len()))];
            let seq = journal.append(&batch, now()).expect("appended")[2].seq;
            println!("committed {seq}");
            std::io::stdout().flush().expect("piped");
        }
    });
}

#[test]
fn a_killed_owner_leaves_what_it_committed_and_no_lock() {
    let dir = folder();
    let mut before = 0;
    for rounds in [1, 2, 5, 10, 20, 3] {
        let mut child = child("appends_for_ever", dir.path());
        let committed = wait_for(&mut child, rounds);
        assert!(committed >= before + 3 * rounds as u64);
        match JournalFile::open(dir.path()) {
            Err(JournalError::Locked { pid, .. }) => assert_eq!(pid, Some(child.id())),
            other => panic!("the owner lives: {other:?}"),
        }
        child.kill().expect("it lives");
        child.wait().expect("it is ours");
        let opened = open(dir.path());
        assert_eq!(opened.report.read_only, None);
        assert!(opened.journal.len() >= committed, "{} of {committed}", opened.journal.len());
        before = opened.journal.len();
        let half = fs::read_dir(dir.path().join("blobs")).expect("made").flatten();
        assert!(half.filter(|entry| entry.file_name().len() != 64).count() == 0, "half a blob is swept");
    }
}

#[test]
fn a_second_opening_names_the_owner_until_the_first_ends() {
    let dir = folder();
    let first = open(dir.path());
    let error = JournalFile::open(dir.path()).expect_err("open").to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(first);
    open(dir.path());
    assert!(JournalFile::open(&dir.path().join("missing")).is_err(), "no folder is made by opening");
}

#[test]
#[ignore = "a child of other tests"]
fn runs_into_a_size_limit() {
    as_child(|dir| {
        let limit = |bytes| {
            let hard = getrlimit(Resource::Fsize).maximum;
            setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: hard }).expect("a soft limit");
        };
        let path = journal_in(dir);
        let mut journal = open(dir).journal;
        let batch = [told(&"x".repeat(3000)), told("end")];
        let mut expected = Vec::new();
        limit(Some(20_000));
        let error = loop {
            match journal.append(&batch, now()) {
                Ok(records) => expected.extend(records),
                Err(error) => break error,
            }
        };
        assert!(error.full && matches!(error.cause, AppendCause::Io { .. }), "{error}");
        assert_eq!(expected.len(), 12);
        let good = fs::metadata(&path).expect("it is there").size();
        assert!(
            good < 20_000 && fs::read(&path).expect("it is there").ends_with(b"}\n"),
            "nothing of it stays"
        );
        let error = journal.append(&[told(&"x".repeat(40_000))], now()).expect_err("a blob needs room too");
        assert!(error.full, "{error}");
        assert_eq!(fs::read_dir(dir.join("blobs")).expect("made").count(), 0, "no half blob");
        assert!(journal.append(&batch, now()).expect_err("still full").full);
        assert_eq!(journal.len(), 12);
        limit(None);
        expected.extend(journal.append(&batch, now()).expect("there is room again"));
        assert_eq!(journal.read(&[13, 14]).expect("committed"), expected[12..]);
        drop(journal);
        assert_eq!(open(dir).records, expected);
    });
}

#[test]
fn a_full_disk_loses_nothing_and_is_gone_on_from() {
    let dir = folder();
    run_child("runs_into_a_size_limit", dir.path());
    assert_eq!(open(dir.path()).journal.len(), 14);
}

#[test]
#[ignore = "a child of other tests"]
fn cannot_keep_the_torn_end() {
    as_child(|dir| {
        let hard = getrlimit(Resource::Fsize).maximum;
        setrlimit(Resource::Fsize, Rlimit { current: Some(0), maximum: hard }).expect("a soft limit");
        let mut opened = open(dir);
        assert_eq!(opened.records.len(), 0);
        let why = opened.report.read_only.expect("it cannot be cut").to_string();
        assert!(why.contains("set aside"), "{why}");
        assert!(support::tails(dir).is_empty(), "no part of a copy");
        opened.journal.append(&[told("x")], now()).expect_err("read only");
    });
}

#[test]
fn a_torn_end_that_cannot_be_kept_stays() {
    let dir = with_bytes(b"torn");
    run_child("cannot_keep_the_torn_end", dir.path());
    assert_eq!(fs::read(journal_in(dir.path())).expect("it is there"), b"torn");
    assert_eq!(open(dir.path()).report.cut_bytes, 4, "with room it is cut");
}

#[test]
#[ignore = "a child of other tests"]
fn reads_past_a_huge_line() {
    as_child(|dir| {
        let opened = open(dir);
        assert_eq!(opened.report.cut_bytes, 100_000_000);
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is there");
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!(peak < 30_000, "{peak} KB for a line that is not kept");
    });
}

#[test]
fn a_huge_line_takes_no_memory() {
    let dir = with_bytes(&vec![b'x'; 100_000_000]);
    run_child("reads_past_a_huge_line", dir.path());
}
