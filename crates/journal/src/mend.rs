//! Getting a journal's file back to what was committed after a write or a sync has failed.
//!
//! A failed *write* may have left a part of the batch: the file is cut back to its last good length.
//!
//! A failed *sync* is worse. Linux reports it once, marks the pages clean although they never reached the device,
//! and lets the next sync succeed, so neither another sync nor a read through the cache proves anything. The file is
//! cut back at once, so that a reader does not take the batch for committed. Before the next append it is
//! opened again (a new descriptor also hears of errors that the old one has consumed), cut, synced, its cached
//! pages are dropped, and every committed line is read again and checked. Only then the journal goes on; the batch is
//! written anew, on fresh pages, by whoever appends it again.

use std::path::Path;

use crate::disk::Disk;
use crate::error::{AppendCause, AppendError};
use crate::scan::{Place, first_damaged};

/// How the file stands to what was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// It is what was committed.
    Good,
    /// It may be longer.
    Longer,
    /// A sync has failed.
    Unsynced,
}

/// Mends the file until it is [`Health::Good`], or says why that fails; then it is tried again before the next append.
///
/// `end` is the length of what was committed, `places` where its records lie.
pub(crate) fn mend(
    health: &mut Health,
    disk: &mut Disk,
    path: &Path,
    end: u64,
    places: &[Place],
) -> Result<(), AppendError> {
    match *health {
        Health::Good => return Ok(()),
        Health::Longer => {
            disk.cut(end).map_err(|error| AppendError::io("cut the journal back", error))?;
            // Not only cut but durably so: after a power loss a batch that was refused must not be there.
            disk.sync().map_err(|error| {
                *health = Health::Unsynced;
                AppendError::io("sync the journal", error)
            })?;
        }
        Health::Unsynced => {
            let fresh =
                disk.reopen(path).map_err(|error| AppendError::io("open the journal again", error))?;
            fresh.cut(end).map_err(|error| AppendError::io("cut the journal back", error))?;
            fresh.sync().map_err(|error| AppendError::io("sync the journal", error))?;
            fresh.forget_cache().map_err(|error| AppendError::io("read the journal from the disk", error))?;
            let damaged = first_damaged(fresh.file(), places)
                .map_err(|error| AppendError::io("read the journal from the disk", error))?;
            if let Some(seq) = damaged {
                return Err(AppendError::other(AppendCause::Damaged { seq }));
            }
            *disk = fresh;
        }
    }
    *health = Health::Good;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use jiff::Timestamp;
    use maia_protocol::{ActorPath, Body, NewRecord, Record};
    use rustix::io::Errno;
    use tempfile::TempDir;

    use crate::{AppendCause, AppendError, Journal, JournalFile, read_all};

    /// A journal with two records, and what it holds.
    struct Bench {
        journal: JournalFile,
        records: Vec<Record>,
        path: PathBuf,
        bytes: Vec<u8>,
        _dir: TempDir,
    }

    fn told(text: &str) -> NewRecord {
        let body = Body::Told { from: "person".to_owned(), text: text.to_owned() };
        NewRecord::new(ActorPath::main(), body)
    }

    fn bench() -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        let mut journal = JournalFile::open(dir.path()).expect("it opens").journal;
        let records = journal.append(&[told("one"), told("two")], Timestamp::UNIX_EPOCH).expect("appended");
        let path = dir.path().join("journal.jsonl");
        let bytes = fs::read(&path).expect("it is there");
        Bench { journal, records, path, bytes, _dir: dir }
    }

    impl Bench {
        fn append(&mut self) -> Result<Vec<Record>, AppendError> {
            self.journal.append(&[told("three"), told("four")], Timestamp::UNIX_EPOCH)
        }

        fn fail(&mut self) -> AppendError {
            let error = self.append().expect_err("it was ordered to fail");
            assert_eq!(self.journal.len(), 2, "nothing of the batch counts");
            error
        }

        fn on_disk(&self) -> Vec<u8> {
            fs::read(&self.path).expect("it is there")
        }

        /// Goes on, and checks that the journal holds what it says, each batch once.
        fn goes_on(mut self) {
            let more = self.append().expect("it works again");
            assert_eq!((more[0].seq, more[1].seq), (3, 4));
            assert_eq!(self.journal.read(&[4]).expect("committed"), more[1..]);
            let (read, report) = read_all(&self.path).expect("readable");
            assert_eq!(read, [self.records, more].concat());
            assert_eq!((report.cut_bytes, report.read_only), (0, None));
        }
    }

    #[test]
    fn a_write_cut_short_anywhere_leaves_nothing() {
        let whole = {
            let mut whole = bench();
            whole.append().expect("appended");
            whole.on_disk().len() - whole.bytes.len()
        };
        for through in 0..=whole {
            let mut bench = bench();
            *bench.journal.faults().write.lock().expect("free") = Some((through, Errno::NOSPC));
            assert!(bench.fail().full);
            assert_eq!(bench.on_disk(), bench.bytes, "{through} bytes got through");
            bench.goes_on();
        }
    }

    #[test]
    fn what_cannot_be_cut_back_is_cut_before_the_next_append() {
        let mut bench = bench();
        *bench.journal.faults().write.lock().expect("free") = Some((10_000, Errno::IO));
        *bench.journal.faults().cut.lock().expect("free") = vec![Errno::NOSPC, Errno::IO];
        assert!(!bench.fail().full, "it is the write that is told");
        assert_ne!(bench.on_disk(), bench.bytes, "the whole batch lies there");
        assert!(bench.fail().full, "it is not gone on from before it is gone");
        assert_eq!(bench.journal.read(&[2]).expect("committed"), bench.records[1..]);
        bench.goes_on();
    }

    #[test]
    fn a_failed_sync_is_not_believed_the_second_time() {
        for (errno, full) in [(Errno::IO, false), (Errno::NOSPC, true), (Errno::DQUOT, true)] {
            let mut bench = bench();
            *bench.journal.faults().sync.lock().expect("free") = vec![errno];
            assert_eq!(bench.fail().full, full);
            assert_eq!(bench.on_disk(), bench.bytes, "nobody can read the batch");
            bench.goes_on();
        }
    }

    #[test]
    fn a_failed_sync_that_cannot_be_cut_back_waits_too() {
        let mut bench = bench();
        *bench.journal.faults().sync.lock().expect("free") = vec![Errno::IO, Errno::IO];
        *bench.journal.faults().cut.lock().expect("free") = vec![Errno::IO];
        bench.fail();
        assert_ne!(bench.on_disk(), bench.bytes);
        bench.fail();
        assert_eq!(bench.on_disk(), bench.bytes);
        bench.goes_on();
    }

    #[test]
    fn after_a_failed_sync_every_record_is_read_again() {
        let mut bench = bench();
        *bench.journal.faults().sync.lock().expect("free") = vec![Errno::IO];
        bench.fail();
        let mut lost = bench.bytes.clone();
        let at = lost.len() - 30;
        lost[at] ^= 1;
        fs::write(&bench.path, &lost).expect("written");
        for _ in 0..2 {
            let error = bench.fail();
            assert!(!error.full && matches!(error.cause, AppendCause::Damaged { seq: 2 }), "{error}");
        }
        fs::write(&bench.path, &bench.bytes[..bench.bytes.len() / 2]).expect("written");
        assert!(matches!(bench.fail().cause, AppendCause::Damaged { seq: 1 | 2 }), "a record is gone");
        fs::write(&bench.path, &bench.bytes).expect("written");
        bench.goes_on();
    }

    #[test]
    fn another_file_in_its_place_is_not_gone_on_with() {
        let mut bench = bench();
        *bench.journal.faults().sync.lock().expect("free") = vec![Errno::IO];
        bench.fail();
        fs::remove_file(&bench.path).expect("it is there");
        fs::write(&bench.path, &bench.bytes).expect("written");
        assert!(bench.fail().to_string().contains("another file"));
        fs::remove_file(&bench.path).expect("it is there");
        bench.fail();
    }

    #[test]
    fn a_sync_that_fails_while_cutting_back_counts_as_a_failed_sync() {
        let mut bench = bench();
        *bench.journal.faults().write.lock().expect("free") = Some((5, Errno::NOSPC));
        *bench.journal.faults().sync.lock().expect("free") = vec![Errno::IO];
        assert!(bench.fail().full);
        let mut lost = bench.bytes.clone();
        lost[20] ^= 1;
        fs::write(&bench.path, &lost).expect("written");
        assert!(matches!(bench.fail().cause, AppendCause::Damaged { seq: 1 }));
        fs::write(&bench.path, &bench.bytes).expect("written");
        bench.goes_on();
    }
}
