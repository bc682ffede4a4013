//! An index equals its rebuild, and a reader says the same with and without one.

mod support;

use std::ops::ControlFlow;

use maia_core::event::Projection;
use maia_index::{Reader, Shared, glance, item_of, open, shown_at};
use maia_journal::{Entries, Journal, JournalError, JournalFile, read_all};
use maia_protocol::{Body, Seq};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use support::{KINDS, agent, caught_up, folder, histories, kind_of, long, now, rebuilt, record, write};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// However a history is cut into commits, catch-ups and openings, the index is that of one build.
    #[test]
    fn an_index_equals_its_rebuild(history in histories(90), cuts in prop::collection::vec(0..3_u8, 20)) {
        let dir = folder();
        let mut journal = write(dir.path(), "s", &[]);
        let entries = Entries::open(dir.path()).expect("there");
        let mut index = None;
        for (batch, cut) in history.iter().zip(cuts.iter().cycle()) {
            journal.append(batch, now()).expect("appended");
            if *cut == 0 {
                drop(index.take());
            }
            if *cut < 2 {
                let index = index.get_or_insert_with(|| open(dir.path(), &entries).expect("it opens"));
                // Never beyond what was told, whatever the file holds.
                let until = journal.len() - u64::from(*cut);
                let head = index.catch_up(&entries, until, || false).expect("it catches up");
                prop_assert!(head.is_some_and(|head| head.seq >= until.min(1)));
            }
        }
        drop(index);
        let index = caught_up(dir.path());
        prop_assert_eq!(index.head().expect("readable").map(|head| head.seq), Some(journal.len()));
        prop_assert_eq!(index.dump().expect("readable"), rebuilt(dir.path()));
    }

    /// A reader gives the same with an index that has come anywhere, and without one.
    #[test]
    fn a_reader_says_the_same(
        history in histories(90), reach in 0..90_u64, before in 0..100_u64, limit in 0..20_usize,
    ) {
        let dir = folder();
        drop(write(dir.path(), "s", &history.concat()));
        let (records, _) = read_all(dir.path()).expect("readable");
        let bare = Reader::beside(dir.path(), Shared::default());
        let entries = Entries::open(dir.path()).expect("there");
        let index = open(dir.path(), &entries).expect("it opens");
        index.catch_up(&entries, reach, || false).expect("it catches up");
        drop(index);
        let indexed = Reader::of_closed(dir.path(), 0);
        prop_assert!(indexed.has_index());
        for who in 0..6 {
            let mut wanted: Vec<_> = records.iter().filter(|record| {
                record.seq < before && shown_at(record).contains(&agent(who))
            }).cloned().collect();
            wanted.drain(..wanted.len().saturating_sub(limit));
            prop_assert_eq!(&bare.older(&agent(who), before, limit).expect("readable"), &wanted);
            prop_assert_eq!(&indexed.older(&agent(who), before, limit).expect("readable"), &wanted);
        }
        let overview = bare.overview().expect("readable");
        prop_assert_eq!(&indexed.overview().expect("readable"), &overview);
        let seen = glance(dir.path()).expect("readable").expect("recorded");
        prop_assert_eq!(seen.children as usize, records.iter().filter(|record| matches!(record.body, Body::Delegated(_))).count());
        prop_assert_eq!((seen.session, seen.last), (overview.0.session, overview.0.last));
        prop_assert_eq!(seen.model, overview.0.model);
    }

    /// Events that are made from a part of the journal are those of the whole stream.
    #[test]
    fn events_of_a_part_are_those_of_the_stream(history in histories(60)) {
        let dir = folder();
        drop(write(dir.path(), "s", &history.concat()));
        let (overview, _) = Reader::beside(dir.path(), Shared::default()).overview().expect("readable");
        let mut stream = Projection::default();
        for record in read_all(dir.path()).expect("readable").0 {
            let part = overview.projection_at(record.seq).events(&record, "s");
            prop_assert_eq!(part, stream.events(&record, "s"));
        }
    }

    /// No event of a record is missed by who asks for the items of its actor.
    #[test]
    fn every_event_is_found_under_whom_it_is_an_item_of(history in histories(60)) {
        let dir = folder();
        drop(write(dir.path(), "s", &history.concat()));
        for record in read_all(dir.path()).expect("readable").0 {
            let shown = shown_at(&record);
            prop_assert_eq!(&shown[0], &record.actor);
            for event in Projection::default().events(&record, "s") {
                prop_assert!(shown.contains(&item_of(&event)), "{} of {record}", event.actor);
            }
        }
    }
}

#[test]
fn histories_hold_every_kind() {
    for kind in 0..KINDS {
        assert_eq!(kind_of(&record(1, kind, 1, "a").body), kind);
    }
}

#[test]
fn a_reader_goes_on_from_the_keyframe() {
    let dir = folder();
    drop(write(dir.path(), "s", &long(2_500)));
    let index = caught_up(dir.path());
    let (keyframe, from) = index.keyframe().expect("readable");
    assert_eq!((keyframe.last.map(|(seq, _)| seq), from.seq), (Some(2_000), 2_000));
    drop(index);
    let indexed = Reader::of_closed(dir.path(), 0);
    assert!(indexed.has_index());
    let bare = Reader::beside(dir.path(), Shared::default());
    assert_eq!(indexed.overview().expect("readable"), bare.overview().expect("readable"));
    // The reader has the session's lock: whoever comes second reads the journal.
    assert!(matches!(JournalFile::open(dir.path()), Err(JournalError::Locked { .. })));
    let second = Reader::of_closed(dir.path(), 0);
    assert!(!second.has_index());
    assert_eq!(second.overview().expect("readable"), bare.overview().expect("readable"));
}

#[test]
fn words_and_outputs_lead_to_their_records() {
    let dir = folder();
    drop(write(dir.path(), "s", &long(1_200)));
    let index = caught_up(dir.path());
    let (records, _) = read_all(dir.path()).expect("readable");
    let text = "word42 and";
    let holds = |record: &maia_protocol::Record| match &record.body {
        // Of tomorrow, or said before by the turn's end.
        Body::Unknown { .. } | Body::SessionClosed { .. } => false,
        body => body.to_value().expect("plain data").to_string().contains("word42 "),
    };
    let wanted: Vec<Seq> = records.iter().filter(|record| holds(record)).map(|record| record.seq).collect();
    assert!(wanted.len() > 1);
    let found = index.candidates(text).expect("readable");
    assert!(wanted.iter().all(|seq| found.contains(seq)), "{found:?}");
    assert!(found.len() < wanted.len() + 3, "hashes tell words apart");
    assert_eq!(index.candidates("nowhere").expect("readable"), Vec::<Seq>::new());

    let done = records.iter().find_map(|record| match &record.body {
        Body::ToolDone { call, output, .. } => Some((record.seq, call.clone(), output.text.clone())),
        _ => None,
    });
    let (seq, call, text) = done.expect("there is one");
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    assert!(index.outputs(&hash).expect("readable").contains(&(seq, call)));
    assert!(index.outputs(&[0; 32]).expect("readable").is_empty());
}

#[test]
fn nothing_is_readable_by_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = folder();
    drop(write(dir.path(), "s", &long(1_200)));
    drop(caught_up(dir.path()));
    drop(caught_up(dir.path()));
    let mut open = vec![dir.path().join(maia_index::FOLDER)];
    while let Some(path) = open.pop() {
        let found = std::fs::metadata(&path).expect("there");
        assert_eq!(found.permissions().mode() & 0o077, 0, "{}", path.display());
        if found.is_dir() {
            open.extend(
                std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
            );
        }
    }
}

#[test]
fn what_cannot_be_read_ends_an_answer_and_is_said() {
    let dir = folder();
    drop(write(dir.path(), "s", &long(40)));
    let path = dir.path().join("journal.jsonl");
    let whole = std::fs::read(&path).expect("there");
    std::fs::write(&path, [&whole[..], b"{\"v\":9,\"later\":true}\n"].concat()).expect("written");
    let reader = Reader::of_closed(dir.path(), 0);
    let (overview, fault) = reader.overview().expect("readable");
    assert_eq!((overview.last.map(|(seq, _)| seq), fault), (Some(41), Some(maia_journal::Fault::Newer(9))));
    drop(reader);
    std::fs::write(&path, &whole[..whole.len() - 9]).expect("written");
    let (overview, fault) = Reader::of_closed(dir.path(), 0).overview().expect("readable");
    assert_eq!((overview.last.map(|(seq, _)| seq), fault), (Some(40), Some(maia_journal::Fault::Torn)));

    assert_eq!(glance(folder().path()).ok().flatten(), None);
    let empty = folder();
    drop(JournalFile::open(empty.path()).expect("it opens"));
    assert_eq!(glance(empty.path()).expect("readable"), None);
    let entries = Entries::open(empty.path()).expect("there");
    assert_eq!(entries.each(Default::default(), |_| ControlFlow::Continue(())).expect("readable"), None);
}
