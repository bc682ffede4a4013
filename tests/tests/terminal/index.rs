//! The index of a session in the terminal: it comes behind a long journal, and `kill -9` leaves it usable.

use maia_index::Reader;
use maia_journal::Entries;
use maia_protocol::{ActorPath, Seq};
use maia_tests::harness::{Script, World};
use rustix::process::Signal;
use serde_json::json;

use crate::MAIA;

/// Rounds of the main agent, each with eight reads of a file whose result just fits its line.
const ROUNDS: usize = 6;

#[test]
fn a_long_session_is_indexed_behind_and_a_kill_leaves_an_index_that_is_right() {
    let world = World::new(MAIA);
    world.write("in.txt", "a line of some words, of which there are many\n".repeat(560));
    let read = vec![("Read", json!({"path": "in.txt"})); 8];
    let script = (0..ROUNDS).fold(Script::new(), |script, _| script.calls("maia", &read));
    let model = world.script(&script.text("maia", "that was all of it"));
    let mut terminal = world.maia().model(model).allow(&["Read(**)"]).in_terminal(40, 120);
    terminal.wait_for_text("script:");
    terminal.enter("read it");
    terminal.wait_for_text("that was all of it");
    let dir = world.sessions().pop().expect("a session");
    let journal = dir.join("journal.jsonl");
    assert!(
        std::fs::metadata(&journal).expect("there").len() > maia_index::WORTH_BYTES,
        "it is worth an index"
    );
    world.wait_until("the session is indexed", || dir.join(maia_index::FOLDER).join("db").is_file());
    // Wherever it is by now: the journal is the truth, and the index is made right by the next one who looks.
    terminal.signal(Signal::KILL);
    assert_eq!(terminal.end().signal, Some(9));

    let entries = Entries::open(&dir).expect("there");
    let index = maia_index::open(&dir, &entries).expect("it opens");
    index.catch_up(&entries, Seq::MAX, || false).expect("it catches up");
    let found = index.dump().expect("readable");
    drop(index);
    let copy = tempfile::tempdir().expect("a folder");
    std::fs::copy(&journal, copy.path().join("journal.jsonl")).expect("copied");
    let entries = Entries::open(copy.path()).expect("there");
    let rebuilt = maia_index::open(copy.path(), &entries).expect("it opens");
    rebuilt.catch_up(&entries, Seq::MAX, || false).expect("it is built");
    assert!(found == rebuilt.dump().expect("readable"), "the index equals its rebuild");

    let older = Reader::of_closed(&dir, 0).older(&ActorPath::main(), Seq::MAX, 10).expect("readable");
    assert_eq!(older.len(), 10);
    let list = world.maia().args(["sessions", "list"]).end().with_code(0);
    assert!(list.out().contains(" interrupted ") && list.out().contains(" · read it\n"), "{list}");
}

#[test]
fn a_short_session_and_a_headless_one_have_no_index() {
    let world = World::new(MAIA);
    let model = world.script(&Script::new().text("maia", "hello there"));
    let mut terminal = world.maia().model(&model).in_terminal(30, 100);
    terminal.wait_for_text("script:");
    terminal.enter("hi");
    terminal.wait_for_text("hello there");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));
    world.run().arg("hi").model(&model).end().with_code(0);
    let sessions = world.sessions();
    assert_eq!(sessions.len(), 2);
    for dir in sessions {
        assert!(!dir.join(maia_index::FOLDER).exists(), "{}", dir.display());
        let name = dir.file_name().expect("a name").to_string_lossy().into_owned();
        let shown = world.maia().args(["sessions", "show", &name]).end().with_code(0);
        assert!(shown.out().contains("> hi\nhello there\n"), "{shown}");
        assert!(!dir.join(maia_index::FOLDER).exists(), "a look makes none either");
    }
}
