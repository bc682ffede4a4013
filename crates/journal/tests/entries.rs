//! A journal that is only looked at: from a place on, from behind, one line.

mod support;

use std::ops::ControlFlow;

use maia_journal::{Entries, Fault, JournalError, Place, Position};
use support::{journal_in, with_bytes, written};

#[test]
fn lines_are_handed_out_from_any_place_on() {
    let (dir, _, records) = written();
    let entries = Entries::open(dir.path()).expect("it opens");
    let mut positions = vec![Position::default()];
    let stopped = entries.each(Position::default(), |entry| {
        let record = entry.record().expect("good");
        assert_eq!(record, records[positions.len() - 1]);
        assert_eq!(entries.at(entry.place, entry.line.seq).expect("there"), (record, entry.crc));
        positions.push(entry.end());
        ControlFlow::Continue(())
    });
    assert_eq!((stopped.expect("readable"), positions.len()), (None, records.len() + 1));
    for (index, from) in positions.iter().enumerate() {
        let mut seen = Vec::new();
        let each = |entry: &maia_journal::Entry<'_>| {
            seen.push(entry.record().expect("good"));
            if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        entries.each(*from, each).expect("readable");
        assert_eq!(seen, records[index..records.len().min(index + 2)]);
    }
    let mut behind = Vec::new();
    let each = |entry: &maia_journal::Entry<'_>| {
        assert_eq!(entries.at(entry.place, entry.line.seq).expect("there").1, entry.crc);
        behind.insert(0, entry.record().expect("good"));
        ControlFlow::Continue(())
    };
    entries.each_from_behind(1 << 20, each).expect("readable");
    assert_eq!(behind, records);
}

#[test]
fn what_is_not_whole_is_not_handed_out() {
    let (_, bytes, records) = written();
    let count = |bytes: &[u8]| {
        let dir = with_bytes(bytes);
        let (mut forth, mut back) = (0, 0);
        let entries = Entries::open(dir.path()).expect("it opens");
        let next = |counter: &mut usize| {
            *counter += 1;
            ControlFlow::Continue(())
        };
        let stopped = entries.each(Position::default(), |_| next(&mut forth)).expect("readable");
        entries.each_from_behind(1 << 20, |_| next(&mut back)).expect("readable");
        (forth, back, stopped)
    };
    assert_eq!(count(&bytes), (records.len(), records.len(), None));
    let torn = count(&bytes[..bytes.len() - 3]);
    assert_eq!(torn, (records.len() - 1, records.len() - 1, Some(Fault::Torn)));
    // Whole but for its newline: it may yet be cut.
    assert_eq!(count(&bytes[..bytes.len() - 1]).0, records.len() - 1);
    assert_eq!(count(b"{\"v\":9,\"x\":1}\n").2, Some(Fault::Newer(9)));
}

#[test]
fn another_line_at_a_place_is_damage() {
    let (dir, bytes, records) = written();
    let entries = Entries::open(dir.path()).expect("it opens");
    let first = bytes.iter().position(|&byte| byte == b'\n').expect("a line") as u32;
    let place = Place { offset: 0, len: first };
    assert_eq!(entries.at(place, 1).expect("the first").0, records[0]);
    for (place, seq) in
        [(place, 2), (Place { offset: 1, len: first }, 1), (Place { offset: 1 << 40, len: 9 }, 1)]
    {
        assert!(matches!(entries.at(place, seq), Err(JournalError::Damaged { .. })));
    }
    assert!(journal_in(dir.path()).is_file());
}
