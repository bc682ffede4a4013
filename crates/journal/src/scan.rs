//! What is good in a journal that may be torn, damaged or of another version (ENGINE 1).
//!
//! - Asked at every opening, and after a failed sync.
//! - Good is the longest beginning in which every line is whole and has the next number. What follows is one of
//!   two things: the rest of a write that was cut short, on which nobody can have acted, or damage to what was
//!   committed. The first may be cut away, the second never: a line with a good checksum and a later number proves it.
//! - Memory: the records that are good, and one line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

use maia_protocol::{Record, Seq};

use crate::blob::Blobs;
use crate::error::{Fault, ReadOnlyWhy};
use crate::line::{self, MAX_LINE};

/// Bytes asked of the system at once.
const CHUNK: usize = 256 * 1024;

/// Where a record lies in the file: 16 bytes of memory for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where its line begins, in bytes.
    pub offset: u64,
    /// Bytes of its line, without the newline.
    pub len: u32,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The good records.
    pub(crate) records: Vec<Record>,
    /// Where they lie.
    pub(crate) places: Vec<Place>,
    /// Where the good part ends.
    pub(crate) end: u64,
    /// Whether the last good line lacks its newline.
    pub(crate) unterminated: bool,
    /// What follows.
    pub(crate) rest: Rest,
}

/// What follows the good part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing.
    Nothing,
    /// So many bytes that may be cut away.
    Torn(u64),
    /// What must stay as it is.
    Committed(ReadOnlyWhy),
}

/// Reads a journal from its beginning.
///
/// # Errors
/// The system's, while reading the journal itself; a blob that cannot be read is a damaged record.
pub(crate) fn scan(file: &File, blobs: &Blobs) -> io::Result<Scan> {
    let mut lines = Lines::from(file, 0);
    let (mut records, mut places, mut end, mut unterminated) = (Vec::new(), Vec::new(), 0, false);
    let mut torn: Option<(u64, Fault)> = None;
    let mut rest = Rest::Nothing;
    while let Some(piece) = lines.next()? {
        let after: Seq = records.len() as Seq;
        let Some((offset, first)) = &torn else {
            match next_record(&piece, after + 1, blobs) {
                Ok(record) => {
                    records.push(record);
                    places.push(piece.place());
                    end = piece.offset + piece.len;
                    unterminated = !piece.terminated;
                }
                Err(fault) if fault.may_be_unfinished() => torn = Some((piece.offset, fault)),
                Err(fault) => {
                    rest = Rest::Committed(why(after, piece.offset, fault));
                    break;
                }
            }
            continue;
        };
        let proves_damage = match line::check(piece.bytes) {
            Ok(line) => line.seq > after,
            Err(fault) => !fault.may_be_unfinished(),
        };
        if proves_damage {
            rest = Rest::Committed(why(after, *offset, first.clone()));
            break;
        }
    }
    if torn.is_some() && rest == Rest::Nothing {
        rest = Rest::Torn(lines.offset - end);
    }
    Ok(Scan { records, places, end, unterminated, rest })
}

/// Tells which of `places`, if any, no longer holds its record: its number. Bodies in blobs are not looked at.
///
/// # Errors
/// The system's.
pub(crate) fn first_damaged(file: &File, places: &[Place]) -> io::Result<Option<Seq>> {
    let mut lines = Lines::from(file, 0);
    for (seq, place) in (1..).zip(places) {
        let is_good = match lines.next()? {
            Some(piece) => {
                piece.place() == *place && line::check(piece.bytes).is_ok_and(|line| line.seq == seq)
            }
            None => false,
        };
        if !is_good {
            return Ok(Some(seq));
        }
    }
    Ok(None)
}

/// Reads the record of a line, which has to be number `expected`.
fn next_record(piece: &Piece<'_>, expected: Seq, blobs: &Blobs) -> Result<Record, Fault> {
    let line = line::check(piece.bytes)?;
    if line.seq != expected {
        return Err(Fault::Number { expected, found: line.seq });
    }
    line::record(&line, blobs)
}

/// Says why a journal ends for us after record `after`.
fn why(after: Seq, offset: u64, fault: Fault) -> ReadOnlyWhy {
    match fault {
        Fault::Newer(format) => ReadOnlyWhy::Newer { after, format },
        fault => ReadOnlyWhy::Damaged { after, offset, fault },
    }
}

/// The lines of a file, one at a time, read by offset so that the file's own position is nobody's concern.
pub(crate) struct Lines<'a> {
    reader: BufReader<At<'a>>,
    bytes: Vec<u8>,
    /// Where the next line begins.
    offset: u64,
}

/// One line. Of a line that is too long for one of ours only the beginning is kept.
pub(crate) struct Piece<'a> {
    pub(crate) bytes: &'a [u8],
    offset: u64,
    /// Bytes in the file, newline included.
    len: u64,
    pub(crate) terminated: bool,
}

impl Piece<'_> {
    pub(crate) fn place(&self) -> Place {
        // The cast is exact: what is kept of a line is at most MAX_LINE + 1 bytes.
        Place { offset: self.offset, len: self.bytes.len() as u32 }
    }
}

impl<'a> Lines<'a> {
    /// Returns the lines from byte `offset` on, where one begins.
    pub(crate) fn from(file: &'a File, offset: u64) -> Self {
        let reader = BufReader::with_capacity(CHUNK, At { file, offset });
        Self { reader, bytes: Vec::new(), offset }
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        self.bytes.clear();
        let limit = MAX_LINE as u64 + 1;
        let mut len = (&mut self.reader).take(limit).read_until(b'\n', &mut self.bytes)? as u64;
        if len == 0 {
            return Ok(None);
        }
        let terminated = self.bytes.pop_if(|byte| *byte == b'\n').is_some();
        if !terminated && len == limit {
            len += self.reader.skip_until(b'\n')? as u64;
        }
        let offset = self.offset;
        self.offset += len;
        Ok(Some(Piece { bytes: &self.bytes, offset, len, terminated }))
    }
}

/// A file read by offset.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
