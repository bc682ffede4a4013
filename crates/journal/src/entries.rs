//! A journal as somebody reads it who only looks: from a place on, line by line, bodies only where they are wanted.
//!
//! - Asked by the index that follows a journal, and by the command line.
//! - Owns the open file. Changes nothing and takes no lock: the journal may be open elsewhere and grow meanwhile.
//! - What is handed out is whole and has a good checksum; a line that lacks its newline may be in the middle of being
//!   written and is not.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use maia_protocol::line::Line;
use maia_protocol::{Record, Seq};

use crate::blob::Blobs;
use crate::dir::JOURNAL;
use crate::error::{Fault, JournalError};
use crate::line::{self, MAX_LINE};
use crate::scan::{Lines, Place};

/// A place between two records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Byte at which the next line begins.
    pub offset: u64,
    /// Number of the record before it, 0 at the beginning.
    pub seq: Seq,
}

/// One whole line.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its head, and its body as text.
    pub line: Line<'a>,
    /// Where it lies.
    pub place: Place,
    /// Its checksum, which is good.
    pub crc: u32,
    blobs: &'a Blobs,
}

impl Entry<'_> {
    /// Returns its record.
    ///
    /// # Errors
    /// A body that cannot be read, or whose blob is missing or another.
    pub fn record(&self) -> Result<Record, Fault> {
        line::record(&self.line, self.blobs)
    }

    /// Returns the place behind it.
    pub fn end(&self) -> Position {
        Position { offset: self.place.offset + u64::from(self.place.len) + 1, seq: self.line.seq }
    }
}

/// A journal that is only looked at.
#[derive(Debug)]
pub struct Entries {
    path: PathBuf,
    file: File,
    blobs: Blobs,
}

impl Entries {
    /// Opens the journal of the session in folder `dir` for reading.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        let path = dir.join(JOURNAL);
        let file = File::open(&path).map_err(JournalError::io("open", &path))?;
        Ok(Self { path, file, blobs: Blobs::new(dir) })
    }

    /// Returns the bytes of the file as it is now.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn bytes(&self) -> Result<u64, JournalError> {
        Ok(self.file.metadata().map_err(JournalError::io("read", &self.path))?.len())
    }

    /// Hands out the lines from `from` on, in order, until `each` breaks, the file ends, or a line is not the next
    /// record; returns what was wrong with that one.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn each(
        &self,
        from: Position,
        mut each: impl FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Fault>, JournalError> {
        let mut lines = Lines::from(&self.file, from.offset);
        let mut expected = from.seq + 1;
        while let Some(piece) = lines.next().map_err(JournalError::io("read", &self.path))? {
            if !piece.terminated {
                return Ok(Some(Fault::Torn));
            }
            match line::check(piece.bytes) {
                Ok(line) if line.seq != expected => {
                    return Ok(Some(Fault::Number { expected, found: line.seq }));
                }
                Ok(line) => {
                    let (place, crc) = (piece.place(), line::seal(piece.bytes));
                    if each(&Entry { line, place, crc, blobs: &self.blobs }).is_break() {
                        return Ok(None);
                    }
                }
                Err(fault) => return Ok(Some(fault)),
            }
            expected += 1;
        }
        Ok(None)
    }

    /// Hands out the whole lines of the last `limit` bytes, the last one first, until `each` breaks; what is not good is
    /// passed over.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn each_from_behind(
        &self,
        limit: usize,
        mut each: impl FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        let start = self.bytes()?.saturating_sub(limit as u64);
        let bytes = read_part(&self.file, start, limit).map_err(JournalError::io("read", &self.path))?;
        let mut end = bytes.len();
        for bytes in bytes.rsplit(|&byte| byte == b'\n') {
            let offset = start + (end - bytes.len()) as u64;
            end = (end - bytes.len()).saturating_sub(1);
            let Ok(line) = line::check(bytes) else { continue };
            // The cast is exact: a checked line is shorter than MAX_LINE.
            let (place, crc) = (Place { offset, len: bytes.len() as u32 }, line::seal(bytes));
            if each(&Entry { line, place, crc, blobs: &self.blobs }).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Reads the record `seq`, whose line lies at `place`; returns it with its checksum.
    ///
    /// # Errors
    /// [`JournalError::Io`]; [`JournalError::Damaged`] when another line, or none, lies there.
    pub fn at(&self, place: Place, seq: Seq) -> Result<(Record, u32), JournalError> {
        let damaged = |fault| JournalError::Damaged { seq, fault };
        if place.len as usize >= MAX_LINE {
            return Err(damaged(Fault::TooLong));
        }
        let bytes = read_part(&self.file, place.offset, place.len as usize)
            .map_err(JournalError::io("read", &self.path))?;
        let line = line::check(&bytes).map_err(damaged)?;
        if line.seq != seq {
            return Err(damaged(Fault::Number { expected: seq, found: line.seq }));
        }
        let record = line::record(&line, &self.blobs).map_err(damaged)?;
        Ok((record, line::seal(&bytes)))
    }
}

/// Reads up to `limit` bytes from `offset` on.
pub(crate) fn read_part(file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let (mut bytes, mut filled) = (vec![0; limit], 0);
    while filled < limit {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
