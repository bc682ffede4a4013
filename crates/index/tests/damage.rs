//! Every way in which an index can be broken: it is mended or built again, and never answers wrongly.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use maia_index::{IndexError, Reader, Shared, hush_panics, open};
use maia_journal::{Entries, Journal};
use support::{agent, caught_up, folder, long, now, opened, rebuilt, record, write};
use tempfile::TempDir;

/// A session whose index reaches its end.
fn indexed() -> TempDir {
    hush_panics();
    let dir = folder();
    drop(write(dir.path(), "s", &long(1_500)));
    drop(caught_up(dir.path()));
    dir
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn aside(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).expect("a folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("index.corrupt-")).count()
}

/// Opens it, lets it catch up, and compares it with a rebuild.
fn is_whole_again(dir: &Path, what: &str) {
    assert_eq!(caught_up(dir).dump().expect("readable"), rebuilt(dir), "{what}");
    assert_eq!(caught_up(dir).dump().expect("readable"), rebuilt(dir), "{what}, the second time");
}

#[test]
fn a_torn_snapshot_is_removed() {
    let dir = indexed();
    let folder = dir.path().join("index");
    for (name, bytes) in
        [("snap.00000000FFFFFFFF.generating", &b"torn"[..]), ("snap.0000000000000001.generating", b"")]
    {
        fs::write(folder.join(name), bytes).expect("written");
    }
    is_whole_again(dir.path(), "torn snapshots");
    assert_eq!(aside(dir.path()), 0, "the database itself was whole");
    // A snapshot that has its name and is none: sled cannot open, and does without it.
    fs::write(folder.join("snap.00000000FFFFFFFF"), b"not a snapshot").expect("written");
    is_whole_again(dir.path(), "a broken snapshot");
    assert_eq!(aside(dir.path()), 0, "the database itself was whole");
}

#[test]
fn a_file_that_was_cut_is_built_again() {
    let dir = indexed();
    let len = |path: &Path| fs::metadata(path).expect("there").len();
    for name in ["db", "conf"] {
        for part in [0, 1, 3, 7] {
            let path = dir.path().join("index").join(name);
            let file = fs::OpenOptions::new().write(true).open(&path).expect("there");
            file.set_len(len(&path) * part / 8).expect("cut");
            drop(file);
            is_whole_again(dir.path(), &format!("{part}/8 of {name}"));
        }
    }
    for name in ["db", "conf"] {
        fs::remove_file(dir.path().join("index").join(name)).expect("removed");
        is_whole_again(dir.path(), &format!("without {name}"));
    }
    fs::remove_dir_all(dir.path().join("index")).expect("removed");
    is_whole_again(dir.path(), "without anything");
    assert!(aside(dir.path()) <= 1, "one is kept, not all");
}

#[test]
fn flipped_bytes_are_never_believed() {
    let dir = indexed();
    let whole: Vec<(PathBuf, Vec<u8>)> = files(&dir.path().join("index"))
        .into_iter()
        .map(|path| (path.clone(), fs::read(&path).expect("there")))
        .collect();
    let bare = Reader::beside(dir.path(), Shared::default());
    let wanted: Vec<_> = (0..6).map(|n| bare.older(&agent(n), 1_200, 30).expect("readable")).collect();
    let mut seen = 0;
    for round in 0..24_u64 {
        fs::remove_dir_all(dir.path().join("index")).expect("removed");
        fs::create_dir(dir.path().join("index")).expect("made");
        for (path, bytes) in &whole {
            fs::write(path, bytes).expect("written");
        }
        let (path, bytes) = &whole[round as usize % whole.len()];
        let mut bytes = bytes.clone();
        for n in 0..8 {
            let at = (round * 7_919 + n * 104_729) as usize % bytes.len();
            bytes[at] ^= 1 << (round % 8);
        }
        fs::write(path, bytes).expect("written");
        let reader = Reader::of_closed(dir.path(), 0);
        seen += usize::from(reader.has_index());
        for (n, wanted) in wanted.iter().enumerate() {
            let found = reader.older(&agent(n as u32), 1_200, 30).expect("readable");
            assert_eq!(&found, wanted, "round {round}, agent {n}");
        }
    }
    assert!(seen > 0, "some were opened");
}

#[test]
fn an_index_of_another_session_is_not_used() {
    let (dir, other) = (folder(), folder());
    drop(write(dir.path(), "s", &long(50)));
    // Same length, same records, another session: only its id and the checksums differ.
    drop(write(other.path(), "t", &long(50)));
    drop(caught_up(other.path()));
    fs::rename(other.path().join("index"), dir.path().join("index")).expect("moved");
    let index = open(dir.path(), &Entries::open(dir.path()).expect("there")).expect("it opens");
    assert_eq!(index.head().expect("readable"), None, "begun anew");
    drop(index);
    is_whole_again(dir.path(), "another session");
    assert_eq!(aside(dir.path()), 0, "nothing was broken");
}

#[test]
fn an_index_that_is_ahead_of_its_journal_is_not_used() {
    let dir = folder();
    let mut journal = write(dir.path(), "s", &long(40));
    let before = fs::read(dir.path().join("journal.jsonl")).expect("there");
    journal.append(&[record(1, 1, 0, "was cut off")], now()).expect("appended");
    drop(journal);
    drop(caught_up(dir.path()));
    fs::write(dir.path().join("journal.jsonl"), before).expect("as if the disk had lost it");
    is_whole_again(dir.path(), "ahead");
    // And when another record took the number of the lost one.
    let mut journal = maia_journal::JournalFile::open(dir.path()).expect("it opens").journal;
    drop(caught_up(dir.path()));
    journal.append(&[record(2, 2, 0, "another"), opened("s", "m", Vec::new())], now()).expect("appended");
    drop(journal);
    is_whole_again(dir.path(), "another record");
}

#[test]
fn an_index_has_one_user_at_a_time() {
    let dir = indexed();
    let entries = Entries::open(dir.path()).expect("there");
    let index = open(dir.path(), &entries).expect("it opens");
    assert!(matches!(open(dir.path(), &entries), Err(IndexError::Busy)));
    let clone = index.clone();
    drop(index);
    assert!(matches!(open(dir.path(), &entries), Err(IndexError::Busy)), "clones are the same one");
    drop(clone);
    drop(open(dir.path(), &entries).expect("free again"));
}
