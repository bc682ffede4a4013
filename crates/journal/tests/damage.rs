//! Torn, cut, flipped, shuffled: what is read is always a beginning of what was written, and nothing is lost unseen.

mod support;

use std::fs;

use maia_journal::{Journal, ReadOnlyWhy, read_all};
use maia_protocol::Record;
use proptest::prelude::*;
use support::{journal_in, now, open, tails, told, with_bytes, written};

/// What an opening has to find after the good records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nothing.
    Whole,
    /// So many bytes that are cut off and kept.
    Cut(usize),
    /// Damage to what was committed.
    Damaged,
    /// A later format.
    Newer,
}

/// Opens a journal of these bytes, checks what is found of it, and goes on with it.
fn check(name: &str, bytes: &[u8], all: &[Record], good: usize, found: Found) {
    let dir = with_bytes(bytes);
    let path = journal_in(dir.path());
    let (records, looked) = read_all(&path).expect("readable");
    assert_eq!(fs::read(&path).expect("it is there"), bytes, "{name}: looking changes nothing");
    assert_eq!(records, all[..good], "{name}");

    let mut opened = open(dir.path());
    assert_eq!(opened.records, all[..good], "{name}");
    assert_eq!(opened.report.read_only, looked.read_only, "{name}");
    assert_eq!(opened.report.cut_bytes, looked.cut_bytes, "{name}");
    let is = match (&opened.report.read_only, opened.report.cut_bytes) {
        (None, 0) => Found::Whole,
        (None, bytes) => Found::Cut(usize::try_from(bytes).expect("it fits")),
        (Some(ReadOnlyWhy::Newer { .. }), 0) => Found::Newer,
        (Some(_), _) => Found::Damaged,
    };
    assert_eq!(is, found, "{name}: {:?}", opened.report);
    let kept: Vec<Vec<u8>> =
        tails(dir.path()).iter().map(|tail| fs::read(tail).expect("it is there")).collect();
    let cut = if let Found::Cut(len) = found { len } else { 0 };
    assert_eq!(kept.concat(), bytes[bytes.len() - cut..], "{name}: what is cut is kept");
    assert_eq!(opened.report.tail_file.iter().count(), kept.len(), "{name}: what is kept is said");

    if opened.report.read_only.is_some() {
        opened.journal.append(&[told("more")], now()).expect_err("read only");
        drop(opened);
        assert_eq!(fs::read(&path).expect("it is there"), bytes, "{name}: damage is left as it is");
        return;
    }
    let more = opened.journal.append(&[told("more"), told("and more")], now()).expect("appended");
    assert_eq!(opened.journal.read(&[more[0].seq]).expect("committed"), more[..1], "{name}");
    drop(opened);
    let again = open(dir.path());
    assert_eq!(again.records, [&all[..good], &more].concat(), "{name}");
    assert_eq!((again.report.cut_bytes, again.report.read_only), (0, None), "{name}");
}

/// Cuts the journal's bytes into its lines, newlines included.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Gives a line that says anything else the right checksum.
fn sealed(head: &str) -> Vec<u8> {
    format!("{head},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(head.as_bytes())).into_bytes()
}

#[test]
fn known_damage() {
    use Found::{Cut, Damaged, Newer, Whole};
    let (_dir, bytes, all) = written();
    let lines = lines(&bytes);
    let n = all.len();
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|i| lines[i].to_vec());
    let front = [a.clone(), b.clone(), c.clone()].concat();
    let with = |rest: &[u8]| [&*bytes, rest].concat();
    let long = "x".repeat(3_000_000);
    let wide = bytes.iter().position(|&byte| byte == 0xe6).expect("a wide character");
    let newer = b"{\"v\":2,\"n\":6,\"anything\":[]}\n";
    let odd = sealed(
        r#"{"v":1,"seq":6,"time":"2026-11-30T10:00:00Z","actor":"maia","kind":"told","body":{"from":7}"#,
    );
    let formless = sealed(r#"{"v":1,"dreamt":1"#);
    let unversioned =
        sealed(r#"{"v":0,"seq":6,"time":"2026-11-30T10:00:00Z","actor":"maia","kind":"told","body":{}"#);
    let sixth = |kind: &str| {
        sealed(&format!(
            r#"{{"v":1,"seq":7,"time":"2026-11-30T10:00:00Z","actor":"maia","kind":"{kind}","body":{{}}"#
        ))
    };
    let other = String::from_utf8(bytes.clone()).expect("text").replace("{\"v\":1,", "{\"v\":2,");

    for (name, bytes, good, found) in [
        ("empty", vec![], 0, Whole),
        ("a lone newline", b"\n".to_vec(), 0, Cut(1)),
        ("only garbage", b"garbage".to_vec(), 0, Cut(7)),
        ("only zeros", vec![0; 4096], 0, Cut(4096)),
        ("no final newline", bytes[..bytes.len() - 1].to_vec(), n, Whole),
        ("an empty line", with(b"\n"), n, Cut(1)),
        ("zeros", with(&[0; 10_000]), n, Cut(10_000)),
        ("zeros and a newline", with(b"\0\0\0\n"), n, Cut(4)),
        ("half a character", bytes[..=wide].to_vec(), 1, Cut(wide + 1 - a.len())),
        ("bytes that are no text", with(b"\xff\xfe\n\x80"), n, Cut(4)),
        ("half a line", with(&e[..e.len() / 2]), n, Cut(e.len() / 2)),
        ("garbage lines", with(b"one\ntwo\n{}\n"), n, Cut(11)),
        ("a long line of garbage", with(long.as_bytes()), n, Cut(3_000_000)),
        ("the last line again", with(&e), n, Cut(e.len())),
        ("an old line again", with(&b), n, Cut(b.len())),
        ("garbage and an old line again", [&*bytes, b"garbage\n", &e].concat(), n, Cut(8 + e.len())),
        ("the last two lines again", [&*bytes, &d, &e].concat(), n, Cut(d.len() + e.len())),
        ("garbage between", [&*front, b"garbage\n", &d, &e].concat(), 3, Damaged),
        ("garbage in front", [b"garbage\n", &*bytes].concat(), 0, Damaged),
        ("zeros between", [&*front, &[0; 5000], b"\n", &d, &e].concat(), 3, Damaged),
        ("a long line between", [&*front, long.as_bytes(), b"\n", &d].concat(), 3, Damaged),
        ("a line missing", [&*front, &e].concat(), 3, Damaged),
        ("the first line missing", bytes[a.len()..].to_vec(), 0, Damaged),
        ("a line doubled", [&*front, &c, &d, &e].concat(), 3, Damaged),
        ("two lines exchanged", [&*front, &e, &d].concat(), 3, Damaged),
        ("a newline lost", [&front[..front.len() - 1], &d, &e].concat(), 2, Damaged),
        ("the last newline lost", [&*front, &d[..d.len() - 1], &e].concat(), 3, Cut(d.len() + e.len() - 1)),
        ("a later format", with(newer), n, Newer),
        ("a later format, torn", with(&newer[..15]), n, Newer),
        ("a later format throughout", other.into_bytes(), 0, Newer),
        ("a later format behind garbage", [&*bytes, b"garbage\n", newer].concat(), n, Damaged),
        ("a known kind of another shape", with(&odd), n, Damaged),
        ("a line without a number", with(&formless), n, Damaged),
        ("a format that never was", with(&unversioned), n, Damaged),
        ("a gap at the end", with(&sixth("dreamt")), n, Damaged),
    ] {
        check(name, &bytes, &all, good, found);
    }
}

#[test]
fn cut_at_every_byte() {
    let (_dir, bytes, all) = written();
    let mut ends = vec![0];
    for line in lines(&bytes) {
        ends.push(ends[ends.len() - 1] + line.len());
    }
    for len in 0..=bytes.len() {
        // A line is good with its last brace; the newline only parts it from the next.
        let good = ends.iter().skip(1).filter(|&&end| end - 1 <= len).count();
        let rest = len.saturating_sub(ends[good]);
        let found = if rest == 0 { Found::Whole } else { Found::Cut(rest) };
        check(&format!("the first {len} bytes"), &bytes[..len], &all, good, found);
    }
}

#[test]
fn no_flipped_bit_gives_a_wrong_record() {
    let (_dir, bytes, all) = written();
    let dir = with_bytes(&bytes);
    let path = journal_in(dir.path());
    for at in 0..bytes.len() {
        let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&path, &flipped).expect("written");
            let (records, report) = read_all(&path).expect("readable");
            assert_eq!(records, all[..line], "byte {at}, bit {bit}");
            assert!(report.cut_bytes > 0 || report.read_only.is_some(), "byte {at}, bit {bit}: not noticed");
        }
    }
}

/// One thing that happens to a file.
#[derive(Clone, Debug)]
enum Harm {
    Cut(usize),
    Remove(usize, usize),
    Overwrite(usize, Vec<u8>),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = || 0..2000_usize;
    let junk = || {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..40),
            (1..6000_usize).prop_map(|len| vec![0; len]),
            Just(b"\n".to_vec()),
            Just(b"{\"v\":2,".to_vec()),
        ]
    };
    prop_oneof![
        at().prop_map(Harm::Cut),
        (at(), 1..600_usize).prop_map(|(at, len)| Harm::Remove(at, len)),
        (at(), junk()).prop_map(|(at, junk)| Harm::Overwrite(at, junk)),
        (at(), junk()).prop_map(|(at, junk)| Harm::Insert(at, junk)),
        (at(), 1..600_usize, at()).prop_map(|(from, len, to)| Harm::Repeat(from, len, to)),
    ]
}

fn apply(bytes: &mut Vec<u8>, harm: Harm) {
    let len = bytes.len();
    match harm {
        Harm::Cut(at) => bytes.truncate(at),
        Harm::Remove(at, count) => drop(bytes.drain(at.min(len)..(at + count).min(len))),
        Harm::Overwrite(at, junk) => {
            let at = at.min(len);
            let end = (at + junk.len()).min(len);
            bytes.splice(at..end, junk);
        }
        Harm::Insert(at, junk) => drop(bytes.splice(at.min(len)..at.min(len), junk)),
        Harm::Repeat(from, count, to) => {
            let piece = bytes[from.min(len)..(from + count).min(len)].to_vec();
            bytes.splice(to.min(len)..to.min(len), piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Whatever happens to the file: what is read was written, an opening settles it, and the next one finds it settled.
    #[test]
    fn any_harm_leaves_a_beginning(harms in proptest::collection::vec(harm(), 1..4)) {
        let (_dir, mut bytes, all) = written();
        for harm in harms {
            apply(&mut bytes, harm);
        }
        let dir = with_bytes(&bytes);
        let mut opened = open(dir.path());
        prop_assert!(all.starts_with(&opened.records));
        let appended = opened.journal.append(&[told("more")], now());
        prop_assert_eq!(appended.is_ok(), opened.report.read_only.is_none());
        let (records, read_only) = (opened.records, opened.report.read_only);
        drop(opened.journal);
        let again = open(dir.path());
        prop_assert_eq!(again.records, [records, appended.unwrap_or_default()].concat());
        prop_assert_eq!(again.report.cut_bytes, 0);
        prop_assert_eq!(again.report.read_only, read_only);
    }
}
