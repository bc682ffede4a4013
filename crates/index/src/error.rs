//! What can keep an index from being used. None of it ends anything: the journal is there.

use std::io;
use std::path::PathBuf;

use maia_journal::JournalError;
use thiserror::Error;

/// Why an index cannot be used.
#[derive(Debug, Error)]
pub enum IndexError {
    /// Another process, or another part of this one, has it open.
    #[error("the index is open elsewhere")]
    Busy,
    /// What it holds cannot be right: it has to be built again.
    #[error("the index is damaged: {0}")]
    Damaged(String),
    /// The system refused something.
    #[error("cannot {what} {path}: {source}", path = .path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The journal itself cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl IndexError {
    /// Returns the error of the system that came while doing `what` to `path`.
    pub(crate) fn io(what: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}
