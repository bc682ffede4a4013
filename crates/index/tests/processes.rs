//! A process that follows a session is killed at any moment: every later opening works, and equals a rebuild.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use maia_index::{Follower, Poke, Reader, Shared};
use maia_journal::{Entries, Journal, JournalFile};
use support::{agent, caught_up, folder, long, now, rebuilt, record, write};

/// Names the folder for a child.
const DIR: &str = "MAIA_INDEX_TEST_DIR";

/// How long anything may take before it counts as never.
const PATIENCE: Duration = Duration::from_secs(60);

fn child(test: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

#[test]
#[ignore = "a child of other tests"]
fn indexes_for_ever() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let mut journal = JournalFile::open(&dir).expect("it opens").journal;
    for round in 0.. {
        // Opened again and again: a snapshot is written while sled opens.
        let index = caught_up(&dir);
        for n in 0..4 {
            let batch: Vec<_> =
                (0..40).map(|m| record(round * 160 + n * 40 + m, m % 14, m % 6, "some words")).collect();
            journal.append(&batch, now()).expect("appended");
            let entries = Entries::open(&dir).expect("there");
            index.catch_up(&entries, journal.len(), || false).expect("it catches up");
            println!("indexed {}", journal.len());
            std::io::stdout().flush().expect("piped");
        }
    }
}

#[test]
fn a_killed_process_leaves_an_index_that_opens() {
    let dir = folder();
    drop(write(dir.path(), "s", &long(600)));
    let mut random: u64 = 20_261_130;
    for round in 0..20_u32 {
        let mut child = child("indexes_for_ever", dir.path());
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // At once, while it opens, or after some batches, and then somewhere in the next one.
        let batches = random >> 61;
        for _ in 0..batches {
            let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("indexed ")));
            assert!(found.is_some(), "round {round}: it goes on");
        }
        thread::sleep(Duration::from_micros(random >> 40 & 0x3fff));
        child.kill().expect("it lives");
        child.wait().expect("it is ours");
        assert_eq!(caught_up(dir.path()).dump().expect("readable"), rebuilt(dir.path()), "round {round}");
    }
    assert!(JournalFile::open(dir.path()).expect("it opens").journal.len() > 700, "it had come to work");
}

/// A follower with what it said.
fn follow(dir: &Path) -> (Follower, Arc<Poke>, Shared, Arc<Mutex<Option<String>>>) {
    let (poke, shared, said) = (Arc::new(Poke::default()), Shared::default(), Arc::new(Mutex::new(None)));
    let warned = said.clone();
    let warn = move |text| *warned.lock().expect("nobody panics") = Some(text);
    let follower = Follower::start_from(dir, 0, poke.clone(), shared.clone(), warn).expect("a thread");
    (follower, poke, shared, said)
}

/// Waits until the index reaches `seq`.
fn wait_until(shared: &Shared, seq: u64) {
    let (done, reached) = mpsc::channel();
    let shared = shared.clone();
    thread::spawn(move || {
        loop {
            let head = shared.get().and_then(|index| index.head().ok().flatten());
            if head.is_some_and(|head| head.seq >= seq) {
                let _ = done.send(());
                return;
            }
            thread::yield_now();
        }
    });
    reached.recv_timeout(PATIENCE).expect("it gets there");
}

#[test]
fn a_follower_comes_after_its_journal_and_ends_with_it() {
    let dir = folder();
    let mut journal = write(dir.path(), "s", &long(700));
    let (follower, poke, shared, said) = follow(dir.path());
    poke.committed(journal.len());
    wait_until(&shared, journal.len());
    let reader = Reader::beside(dir.path(), shared.clone());
    for n in 0..20 {
        poke.committed(journal.append(&[record(n, n % 14, 1, "more")], now()).expect("appended")[0].seq);
        // However far it has come: the answer is the same.
        let found = reader.older(&agent(1), u64::MAX, 5).expect("readable");
        let bare = Reader::beside(dir.path(), Shared::default());
        assert_eq!(found, bare.older(&agent(1), u64::MAX, 5).expect("readable"));
    }
    wait_until(&shared, journal.len());
    assert!(follower.stop(PATIENCE));
    assert!(!reader.has_index(), "it is closed");
    assert_eq!(*said.lock().expect("nobody panics"), None);
    drop(journal);
    assert_eq!(caught_up(dir.path()).dump().expect("readable"), rebuilt(dir.path()));
}

#[test]
fn what_keeps_a_follower_from_its_work_is_said_once() {
    let dir = folder();
    let journal = write(dir.path(), "s", &long(50));
    // A file where the folder should be: neither an index nor one set aside can be made there.
    std::fs::write(dir.path().join("index"), "no folder").expect("written");
    let (follower, poke, shared, said) = follow(dir.path());
    poke.committed(journal.len());
    let ended = thread::spawn(move || follower.ended_by_itself(PATIENCE)).join().expect("no panic");
    assert!(ended);
    let said = said.lock().expect("nobody panics").clone().expect("a reason");
    assert!(said.starts_with("this session is not indexed any more: "), "{said}");
    assert!(shared.get().is_none());
    let reader = Reader::beside(dir.path(), shared);
    assert_eq!(reader.older(&agent(0), u64::MAX, 3).expect("the journal has it").len(), 3);
}
