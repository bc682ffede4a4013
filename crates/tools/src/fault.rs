//! Everything that can make a call on a file fail, as the model is told of it.
//!
//! - Raised by all modules of this crate; becomes an error result at the crate's edge.
//! - The text begins with the kind in snake case: the same words as in the case files.

use std::io;
use std::path::{Path, PathBuf};

use maia_protocol::tool::ToolOutput;

/// Why a call on a file did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The arguments cannot be used; the text lists what was received (mission M8-invalid).
    #[error("invalid_input: {0}")]
    InvalidInput(String),
    /// There is no such file, or a part of its path is no folder.
    #[error("file_not_found: there is no file {}", .0.display())]
    FileNotFound(PathBuf),
    /// The path names a folder.
    #[error("is_directory: {} is a folder, not a file", .0.display())]
    IsDirectory(PathBuf),
    /// There is no such folder to search.
    #[error("file_not_found: there is no file or folder {}", .0.display())]
    NothingToSearch(PathBuf),
    /// The path names a file where a folder is wanted.
    #[error("not_directory: {} is no folder", .0.display())]
    NotDirectory(PathBuf),
    /// The person stopped the call.
    #[error("interrupted: the call was stopped by the person or with its agent")]
    Interrupted,
    /// A pipe, socket or device: opening it could block for ever.
    #[error("not_regular_file: {} is not a regular file", .0.display())]
    NotRegularFile(PathBuf),
    /// Links that lead to each other.
    #[error("symlink_loop: the links at {} lead round in a loop", .0.display())]
    SymlinkLoop(PathBuf),
    /// The system, or the file's own mode, forbids it.
    #[error("permission_denied: {} may not be {what}", .path.display())]
    PermissionDenied {
        /// The file.
        path: PathBuf,
        /// What was tried: `read`, `written`.
        what: &'static str,
    },
    /// Not text.
    #[error("binary: {} is not a text file ({why})", .path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// What gave it away.
        why: String,
    },
    /// Text, but not in UTF-8.
    #[error("encoding: {} is {found}, not UTF-8; it was left unchanged", .path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// The text to replace is not there.
    #[error("not_found: old_string is not in {}{hint}", .path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
        /// What may help, beginning with its own punctuation.
        hint: String,
    },
    /// The text to replace is there more than once.
    #[error("not_unique: old_string fits at {count} places in {} ({places}); add lines around it to make it unique", .path.display())]
    NotUnique {
        /// The file.
        path: PathBuf,
        /// How many places, overlapping ones included.
        count: String,
        /// The first of them.
        places: String,
    },
    /// The call would leave the file as it is.
    #[error("no_change: old_string and new_string are the same")]
    NoChange,
    /// More than this tool works with.
    #[error("too_large: {what} has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is not as the agent last saw it (ENGINE 5).
    #[error("changed_since_read: {} {how} since you last read or wrote it; read it again before changing it", .path.display())]
    ChangedSinceRead {
        /// The file.
        path: PathBuf,
        /// What happened: `has changed`, `was removed`.
        how: &'static str,
    },
    /// The path leads to another file than the one that was judged (SAFETY 3).
    #[error("target_changed: {} is not the file that was judged ({how}); nothing was done, call again", .path.display())]
    TargetChanged {
        /// The file.
        path: PathBuf,
        /// What differs.
        how: &'static str,
    },
    /// Anything else that the system says.
    #[error("io: could not {what} {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `read`, `write`.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Fault {
    /// Returns the fault for what the system said when `what` was done to `path`.
    ///
    /// `what` is the bare verb: `read`, `write`, `look at`.
    pub(crate) fn io(path: &Path, what: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::FileNotFound(path),
            io::ErrorKind::IsADirectory => Self::IsDirectory(path),
            io::ErrorKind::PermissionDenied => {
                Self::PermissionDenied { path, what: if what == "write" { "written" } else { "read" } }
            }
            _ if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                Self::SymlinkLoop(path)
            }
            _ => Self::Io { path, what, source },
        }
    }
}

impl From<Fault> for ToolOutput {
    fn from(fault: Fault) -> Self {
        Self::error(fault.to_string())
    }
}
