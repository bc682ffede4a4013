//! The journal as a file: open, append, read.
//!
//! - Asked by the actor `Journal` on a blocking thread, one call at a time; [`read_all`] by whoever only looks.
//! - Owns the open file, the lock, and where each record lies (16 bytes of memory a record).
//! - Never holds records: they are handed out at opening and read again by number.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maia_protocol::{NewRecord, Record, Seq};

use crate::blob::{Blob, Blobs};
use crate::dir::{JOURNAL, sync_dir};
use crate::disk::Disk;
use crate::error::{AppendCause, AppendError, JournalError, ReadOnlyWhy};
use crate::journal::Journal;
use crate::line;
use crate::lock::Lock;
use crate::mend::{Health, mend};
use crate::scan::{Place, Rest, Scan, scan};
use crate::tail;

/// Bytes that the buffer for lines keeps between batches.
const KEPT_BUFFER: usize = 256 * 1024;

/// A session's journal, open for appending by this process alone.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    disk: Disk,
    blobs: Blobs,
    places: Vec<Place>,
    end: u64,
    unterminated: bool,
    health: Health,
    read_only: Option<ReadOnlyWhy>,
    buffer: Vec<u8>,
    _lock: Lock, // Last: given back when all else is closed.
}

/// What an opening found.
#[derive(Debug)]
pub struct Opened {
    /// The journal.
    pub journal: JournalFile,
    /// Every record that is good, from number 1.
    pub records: Vec<Record>,
    /// What else is to be said.
    pub report: OpenReport,
}

/// What is to be said about an opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Bytes of a torn end, which do not count; [`JournalFile::open`] has cut them off.
    pub cut_bytes: u64,
    /// Where those bytes are kept.
    pub tail_file: Option<PathBuf>,
    /// Why nothing can be appended.
    pub read_only: Option<ReadOnlyWhy>,
}

impl JournalFile {
    /// Opens the journal in folder `dir`, which exists; the journal itself is made when it is missing.
    ///
    /// At return everything in `records` is durable, also what an earlier owner wrote and had no time to sync: what is
    /// folded may be acted on.
    ///
    /// # Errors
    /// [`JournalError::Locked`] when it is open elsewhere; [`JournalError::Io`]. Damage is no error: see [`OpenReport`].
    pub fn open(dir: &Path) -> Result<Opened, JournalError> {
        let lock = Lock::take(&dir.join("lock"))?;
        let path = dir.join(JOURNAL);
        let disk = Disk::open_or_create(&path).map_err(JournalError::io("open", &path))?;
        let blobs = Blobs::new(dir);
        blobs.sweep();
        let Scan { records, places, end, unterminated, rest } =
            scan(disk.file(), &blobs).map_err(JournalError::io("read", &path))?;
        let mut report = OpenReport::default();
        match rest {
            Rest::Nothing => {}
            Rest::Torn(bytes) => match tail::cut_off(&disk, dir, end) {
                Ok(tail_file) => {
                    report = OpenReport { cut_bytes: bytes, tail_file: Some(tail_file), read_only: None };
                }
                // Most likely the full disk that tore it: what is there can still be looked at.
                Err(error) => {
                    let why =
                        ReadOnlyWhy::TailStays { after: records.len() as Seq, problem: error.to_string() };
                    report.read_only = Some(why);
                }
            },
            Rest::Committed(why) => report.read_only = Some(why),
        }
        disk.sync().map_err(JournalError::io("sync", &path))?;
        sync_dir(dir).map_err(JournalError::io("sync", dir))?;
        let journal = Self {
            path,
            disk,
            blobs,
            places,
            end,
            unterminated,
            health: Health::Good,
            read_only: report.read_only.clone(),
            buffer: Vec::new(),
            _lock: lock,
        };
        Ok(Opened { journal, records, report })
    }

    /// Writes the lines of `batch` into the buffer; returns where they will lie and the bodies that go into blobs.
    fn encode(
        &mut self,
        batch: &[NewRecord],
        now: Timestamp,
    ) -> Result<(Vec<Place>, Vec<Blob>), AppendError> {
        self.buffer.clear();
        if self.unterminated {
            self.buffer.push(b'\n');
        }
        let (mut places, mut blobs) = (Vec::with_capacity(batch.len()), Vec::new());
        let first = self.len() + 1;
        for (index, record) in batch.iter().enumerate() {
            let start = self.buffer.len();
            let blob = line::encode(&mut self.buffer, first + index as Seq, now, record)
                .map_err(|problem| AppendError::other(AppendCause::Unwritable { index, problem }))?;
            blobs.extend(blob);
            // The cast is exact: a line is shorter than MAX_LINE.
            let len = (self.buffer.len() - start) as u32;
            places.push(Place { offset: self.end + start as u64, len });
            self.buffer.push(b'\n');
        }
        Ok((places, blobs))
    }

    /// Makes the buffer durable behind what was committed.
    fn write(&mut self) -> Result<(), AppendError> {
        if let Err(error) = self.disk.write_at(&self.buffer, self.end) {
            self.health = Health::Longer;
            // What fails here is remembered in `health` and tried again before the next append.
            let _ = self.mend();
            return Err(AppendError::io("write the journal", error));
        }
        if let Err(error) = self.disk.sync() {
            self.health = Health::Unsynced;
            // Cut at once, so that nobody reads the batch; the rest of the mending waits for the next append.
            let _ = self.disk.cut(self.end);
            return Err(AppendError::io("sync the journal", error));
        }
        Ok(())
    }

    fn mend(&mut self) -> Result<(), AppendError> {
        mend(&mut self.health, &mut self.disk, &self.path, self.end, &self.places)
    }

    /// Returns the failures that a test can order.
    #[cfg(test)]
    pub(crate) fn faults(&self) -> &crate::disk::faults::Faults {
        &self.disk.faults
    }

    fn read_one(&self, seq: Seq, bytes: &mut Vec<u8>) -> Result<Record, JournalError> {
        let place = usize::try_from(seq)
            .ok()
            .and_then(|seq| self.places.get(seq.checked_sub(1)?))
            .ok_or(JournalError::NoSuchRecord { seq, last: self.len() })?;
        bytes.resize(place.len as usize, 0);
        self.disk.file().read_exact_at(bytes, place.offset).map_err(JournalError::io("read", &self.path))?;
        let damaged = |fault| JournalError::Damaged { seq, fault };
        let line = line::check(bytes).map_err(damaged)?;
        if line.seq != seq {
            return Err(damaged(crate::Fault::Number { expected: seq, found: line.seq }));
        }
        line::record(&line, &self.blobs).map_err(damaged)
    }
}

impl Journal for JournalFile {
    fn append(&mut self, batch: &[NewRecord], now: Timestamp) -> Result<Vec<Record>, AppendError> {
        if let Some(why) = &self.read_only {
            return Err(AppendError::other(AppendCause::ReadOnly(why.clone())));
        }
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        self.mend()?;
        let first = self.len() + 1;
        let (places, blobs) = self.encode(batch, now)?;
        self.blobs.store(&blobs).map_err(|error| AppendError::io("write a long body", error))?;
        self.write()?;
        self.places.extend(places);
        self.end += self.buffer.len() as u64;
        self.unterminated = false;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER);
        let records = (first..).zip(batch).map(|(seq, NewRecord { actor, body })| Record {
            seq,
            time: now,
            actor: actor.clone(),
            body: body.clone(),
        });
        Ok(records.collect())
    }

    fn read(&self, seqs: &[Seq]) -> Result<Vec<Record>, JournalError> {
        let mut bytes = Vec::new();
        seqs.iter().map(|&seq| self.read_one(seq, &mut bytes)).collect()
    }

    fn len(&self) -> Seq {
        self.places.len() as Seq
    }
}

/// Reads the good records of a journal, changing nothing and taking no lock: it may be open elsewhere, and its last
/// line be in the middle of being written.
///
/// `path` is a journal's file or a session's folder; blobs lie in `blobs/` beside the file.
///
/// # Errors
/// [`JournalError::Io`]. Damage is no error: see [`OpenReport`], whose `cut_bytes` are only counted here.
pub fn read_all(path: &Path) -> Result<(Vec<Record>, OpenReport), JournalError> {
    let path = if path.is_dir() { path.join(JOURNAL) } else { path.to_owned() };
    let file = File::open(&path).map_err(JournalError::io("open", &path))?;
    let blobs = Blobs::new(path.parent().unwrap_or(Path::new("")));
    let found = scan(&file, &blobs).map_err(JournalError::io("read", &path))?;
    let mut report = OpenReport::default();
    match found.rest {
        Rest::Nothing => {}
        Rest::Torn(bytes) => report.cut_bytes = bytes,
        Rest::Committed(why) => report.read_only = Some(why),
    }
    Ok((found.records, report))
}
