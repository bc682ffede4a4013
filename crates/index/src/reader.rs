//! Older items of one actor, and the session at a glance: from the index where there is one, else from the journal.
//!
//! - Asked by the inspector on a blocking thread, and by `maia sessions show`.
//! - The answer is the same with and without an index, and however far that one has come: what it does not hold yet is
//!   read behind it, and one that turns out to be damaged is not asked again.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maia_journal::{Entries, Entry, Fault, JournalError, Lock, Position};
use maia_protocol::{ActorPath, Record, Seq};

use crate::error::IndexError;
use crate::open::{FOLDER, open};
use crate::overview::Overview;
use crate::shown::{is_shown_elsewhere, shown_at};
use crate::store::Index;

/// Bytes of a journal from which on a follower indexes it: a shorter one is read in the time in which a database is opened
/// (`cargo bench -p maia-index`: 4 ms for an opening, 15 ms for the items of one agent among 6 MB).
pub const WORTH_BYTES: u64 = 1024 * 1024;

/// Bytes of a journal from which on somebody who only looks builds the index that is missing: it costs as much as ten looks
/// at the journal alone (the same bench: 440 ms for 6 MB).
pub const BUILD_BYTES: u64 = 16 * 1024 * 1024;

/// The index of a session as its follower and its readers share it; empty while there is none.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Option<Index>>>);

impl Shared {
    /// Returns the index of the moment.
    pub fn get(&self) -> Option<Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another one in its place, or none, and returns the one before.
    pub(crate) fn put(&self, index: Option<Index>) -> Option<Index> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), index)
    }
}

/// Reads one session.
pub struct Reader {
    dir: PathBuf,
    shared: Shared,
    /// Held as long as this reader may write the index.
    _lock: Option<Lock>,
}

impl Reader {
    /// Returns a reader of the session in folder `dir` beside the follower that fills `shared`.
    pub fn beside(dir: &Path, shared: Shared) -> Self {
        Self { dir: dir.to_owned(), shared, _lock: None }
    }

    /// Returns a reader of the session in folder `dir` for somebody who has not got it open.
    ///
    /// When nobody has it open, an index that is there, or that a journal of `worth` bytes deserves (see [`BUILD_BYTES`]),
    /// is brought up to date and used; the session's lock is held meanwhile. Else the journal alone is read. An index that
    /// cannot be used is no error, and nothing is said: the journal has all of it.
    pub fn of_closed(dir: &Path, worth: u64) -> Self {
        let (mut lock, shared) = (None, Shared::default());
        let opened = || -> Result<(Lock, Index), IndexError> {
            let entries = Entries::open(dir)?;
            if entries.bytes()? < worth && !dir.join(FOLDER).is_dir() {
                return Err(IndexError::Busy);
            }
            let lock = Lock::take(&dir.join("lock"))?;
            let index = open(dir, &entries)?;
            index.catch_up(&entries, Seq::MAX, || false)?;
            Ok((lock, index))
        };
        if let Ok((held, index)) = opened() {
            lock = Some(held);
            shared.put(Some(index));
        }
        Self { dir: dir.to_owned(), shared, _lock: lock }
    }

    /// Tells whether there is an index to read from.
    pub fn has_index(&self) -> bool {
        self.shared.get().is_some()
    }

    /// Returns the last `limit` records before number `before` that are shown among the items of `actor` (see
    /// [`shown_at`]), ascending. Blocks on the disk.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn older(&self, actor: &ActorPath, before: Seq, limit: usize) -> Result<Vec<Record>, JournalError> {
        let entries = Entries::open(&self.dir)?;
        if let Some(index) = self.shared.get() {
            match from_index(&index, &entries, actor, before, limit) {
                Ok(records) => return Ok(records),
                Err(error) => self.give_up(&error),
            }
        }
        scan(&entries, Position::default(), actor, before, limit)
    }

    /// Returns the session at a glance, and what is wrong with the first line that is no good record.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn overview(&self) -> Result<(Overview, Option<Fault>), JournalError> {
        let entries = Entries::open(&self.dir)?;
        let keyframe = self.shared.get().map(|index| index.keyframe());
        let (mut overview, from) = match keyframe {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                self.give_up(&error);
                Default::default()
            }
            None => Default::default(),
        };
        let mut unreadable = None;
        let stopped = entries.each(from, |entry| match entry.record() {
            Ok(record) => {
                overview.step(&record);
                ControlFlow::Continue(())
            }
            Err(fault) => {
                unreadable = Some(fault);
                ControlFlow::Break(())
            }
        })?;
        Ok((overview, stopped.or(unreadable)))
    }

    /// Asks the index no more: its follower, if there is one, finds the damage itself.
    fn give_up(&self, error: &IndexError) {
        if !matches!(error, IndexError::Busy) {
            self.shared.put(None);
        }
    }
}

/// Reads what the index knows, and behind it the journal.
fn from_index(
    index: &Index,
    entries: &Entries,
    actor: &ActorPath,
    before: Seq,
    limit: usize,
) -> Result<Vec<Record>, IndexError> {
    let end = index.head()?.map(|head| head.end()).unwrap_or_default();
    let newer = if before > end.seq + 1 { scan(entries, end, actor, before, limit)? } else { Vec::new() };
    let found = index.older(actor, before.min(end.seq + 1), limit - newer.len())?;
    let mut records = Vec::with_capacity(found.len() + newer.len());
    for (seq, place) in found {
        let (record, _) = entries.at(place, seq).map_err(|error| IndexError::Damaged(error.to_string()))?;
        records.push(record);
    }
    records.extend(newer);
    Ok(records)
}

/// Reads the journal from `from` on.
fn scan(
    entries: &Entries,
    from: Position,
    actor: &ActorPath,
    before: Seq,
    limit: usize,
) -> Result<Vec<Record>, JournalError> {
    let mut last = VecDeque::new();
    entries.each(from, |entry: &Entry<'_>| {
        if entry.line.seq >= before {
            return ControlFlow::Break(());
        }
        let own = entry.line.actor == *actor;
        if own || is_shown_elsewhere(&entry.line.kind) {
            match entry.record() {
                Ok(record) if own || shown_at(&record).contains(actor) => last.push_back(record),
                Ok(_) => {}
                // Behind a record that cannot be read nothing counts, as at an opening.
                Err(_) => return ControlFlow::Break(()),
            }
            if last.len() > limit {
                last.pop_front();
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(last.into())
}
