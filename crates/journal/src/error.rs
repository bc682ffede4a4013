//! What can go wrong, and the one question that a caller has to ask of each.

use std::io;
use std::path::{Path, PathBuf};

use maia_protocol::Seq;
use rustix::io::Errno;
use thiserror::Error;

/// What is wrong with one line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It ends without a checksum: torn, or not a line of a journal.
    #[error("the line is torn")]
    Torn,
    /// The checksum is another.
    #[error("the checksum does not match")]
    Checksum,
    /// It is longer than any line that maia writes.
    #[error("the line is too long")]
    TooLong,
    /// A later version of maia wrote it.
    #[error("a later version of maia wrote it (format {0})")]
    Newer(u64),
    /// The checksum is right, but this version cannot read what it says.
    #[error("it cannot be read: {0}")]
    Shape(String),
    /// Its number is not the next one.
    #[error("its number is {found} where {expected} should follow")]
    Number {
        /// The next number.
        expected: Seq,
        /// The number it has.
        found: Seq,
    },
    /// Its body lies in a blob that cannot be used.
    #[error("its body, blob {hash}, {problem}")]
    Blob {
        /// SHA-256 of the body, hexadecimal; the blob's file name.
        hash: String,
        /// What is wrong, reads on from the hash.
        problem: String,
    },
}

impl Fault {
    /// Tells whether the line may be the rest of a write that was cut short, so that nobody ever acted on it.
    ///
    /// A line with a good checksum was written whole: its batch may have been committed, so it is never cut away.
    pub(crate) fn may_be_unfinished(&self) -> bool {
        match self {
            Self::Torn | Self::Checksum | Self::TooLong => true,
            // A number that was given before: a copy of something, not something that is missing elsewhere.
            Self::Number { expected, found } => found < expected,
            Self::Newer(_) | Self::Shape(_) | Self::Blob { .. } => false,
        }
    }
}

/// Why a journal was opened for reading only, up to a record (ENGINE 1).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadOnlyWhy {
    /// A record is damaged, and it was committed or records after it were.
    #[error("record {} is damaged ({fault}); the session can be read up to record {after} and forked from there", after + 1)]
    Damaged {
        /// The last record that can be read.
        after: Seq,
        /// Where the damaged line begins, in bytes.
        offset: u64,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A later version of maia went on with this session.
    #[error(
        "a later version of maia wrote what follows record {after} (format {format}); use that version to go on"
    )]
    Newer {
        /// The last record that can be read.
        after: Seq,
        /// The format's number.
        format: u64,
    },
    /// The torn end has to be cut off, but its copy could not be written.
    #[error(
        "what follows record {after} is torn and could not be set aside ({problem}); make room and open it again"
    )]
    TailStays {
        /// The last record that can be read.
        after: Seq,
        /// What the system said.
        problem: String,
    },
}

/// A journal that could not be opened or read.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another process, or another part of this one, has the session open.
    #[error("the session is open in another maia{} ({})", pid.map(|pid| format!(", process {pid}")).unwrap_or_default(), path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The owner, when it has said so.
        pid: Option<u32>,
    },
    /// The system refused something.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// What was being done, reads on to the path.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No record has this number.
    #[error("there is no record {seq}; the last one is {last}")]
    NoSuchRecord {
        /// The number asked for.
        seq: Seq,
        /// The last number given.
        last: Seq,
    },
    /// A committed record is damaged.
    #[error("record {seq} is damaged: {fault}")]
    Damaged {
        /// Its number.
        seq: Seq,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A session's id that cannot be a folder's name.
    #[error("`{0}` is not the id of a session")]
    BadId(String),
}

impl JournalError {
    /// Returns a closure that says what was being done to `path`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

/// A batch that was not appended: nothing of it counts, and it may be appended again.
#[derive(Debug, Error)]
#[error("could not append to the journal: {cause}")]
pub struct AppendError {
    /// Whether room is missing (disk, quota or size limit): trying again later is worth it (ENGINE 2, disk full).
    pub full: bool,
    /// What happened.
    pub cause: AppendCause,
}

/// What kept a batch from being appended.
#[derive(Debug, Error)]
pub enum AppendCause {
    /// The journal was opened for reading only.
    #[error("{0}")]
    ReadOnly(ReadOnlyWhy),
    /// The system refused something.
    #[error("could not {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A record of the batch cannot be written as a line that can be read back.
    #[error("record {index} of the batch cannot be written: {problem}")]
    Unwritable {
        /// Its place in the batch, from 0.
        index: usize,
        /// Why not.
        problem: String,
    },
    /// After a failed sync the file is not what was committed.
    #[error("after a failed sync the file is damaged at record {seq}; open the session again")]
    Damaged {
        /// The first record that differs.
        seq: Seq,
    },
}

impl AppendError {
    /// Returns a failure of the system; whether room is missing follows from its code.
    pub(crate) fn io(doing: &'static str, source: io::Error) -> Self {
        Self { full: is_full(&source), cause: AppendCause::Io { doing, source } }
    }

    /// Returns a failure that has nothing to do with room.
    pub(crate) fn other(cause: AppendCause) -> Self {
        Self { full: false, cause }
    }
}

/// Tells whether `error` says that room is missing: no space, over quota, or over the limit of a file's size.
fn is_full(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG))
}
