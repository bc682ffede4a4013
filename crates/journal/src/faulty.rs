//! A journal whose disk is full on order: the failpoint `disk:full@N` (ENGINE 9). Never built into releases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use maia_protocol::{NewRecord, Record, Seq};
use rustix::io::Errno;

use crate::error::{AppendError, JournalError};
use crate::journal::Journal;

/// Says whether the disk of a [`FaultyJournal`] is full; every clone speaks of the same disk.
#[derive(Clone, Debug, Default)]
pub struct DiskFull(Arc<AtomicBool>);

impl DiskFull {
    /// Fills the disk: every append fails from now on.
    pub fn fill(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Makes room: every append works from now on.
    pub fn release(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Tells whether the disk is full.
    pub fn is_full(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A journal in front of another.
#[derive(Debug)]
pub struct FaultyJournal<J> {
    inner: J,
    disk: DiskFull,
    /// Appends until the disk is filled; `None` once it was.
    left: Option<u64>,
}

impl<J: Journal> FaultyJournal<J> {
    /// Puts a disk in front of `inner` that is full from the `nth` append on, counted from 1, until it is released.
    pub fn full_at(inner: J, nth: u64) -> (Self, DiskFull) {
        let disk = DiskFull::default();
        (Self { inner, disk: disk.clone(), left: Some(nth) }, disk)
    }
}

impl<J: Journal> Journal for FaultyJournal<J> {
    fn append(&mut self, batch: &[NewRecord], now: Timestamp) -> Result<Vec<Record>, AppendError> {
        self.left = match self.left {
            Some(0 | 1) => {
                self.disk.fill();
                None
            }
            left => left.map(|left| left - 1),
        };
        if self.disk.is_full() {
            return Err(AppendError::io("write the journal", Errno::NOSPC.into()));
        }
        self.inner.append(batch, now)
    }

    fn read(&self, seqs: &[Seq]) -> Result<Vec<Record>, JournalError> {
        self.inner.read(seqs)
    }

    fn len(&self) -> Seq {
        self.inner.len()
    }
}

#[cfg(test)]
mod tests {
    use maia_protocol::{ActorPath, Body};

    use super::*;
    use crate::JournalFile;

    #[test]
    fn the_disk_is_full_from_the_nth_append_until_it_is_released() {
        let dir = tempfile::tempdir().expect("a folder");
        let inner = JournalFile::open(dir.path()).expect("it opens").journal;
        let (mut journal, disk) = FaultyJournal::full_at(inner, 3);
        let batch = [NewRecord::new(ActorPath::main(), Body::TimerFired { step: 1 })];
        let mut append = || journal.append(&batch, Timestamp::UNIX_EPOCH).map_err(|error| error.full);
        assert!(append().is_ok() && append().is_ok());
        assert_eq!((append(), append(), disk.is_full()), (Err(true), Err(true), true));
        disk.release();
        assert!(append().is_ok_and(|records| records[0].seq == 3));
        disk.fill();
        assert_eq!(append(), Err(true));
        disk.release();
        assert!(append().is_ok());
        assert_eq!(journal.len(), 4);
        assert_eq!(journal.read(&[4]).expect("committed")[0].seq, 4);
    }
}
