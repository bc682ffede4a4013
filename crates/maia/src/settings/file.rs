//! Reads a small file without being held up by a pipe, a device or an endless file.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Why a file that is there could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A folder, pipe, socket or device.
    #[error("this is not a plain file")]
    NotRegular,
    /// More bytes than it may have.
    #[error("the file is larger than {limit} bytes")]
    TooLarge {
        /// The most it may have.
        limit: u64,
    },
    /// The system refused.
    #[error("the file could not be read: {0}")]
    Io(#[from] io::Error),
}

impl FileError {
    /// Returns the kind as `agents check` prints it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotRegular => "not_regular_file",
            Self::TooLarge { .. } => "too_large",
            Self::Io(_) => "unreadable",
        }
    }
}

/// Most bytes of a file that is read whole.
const SMALL: u64 = 1024 * 1024;

/// Reads a file of at most 1 MiB.
///
/// # Errors
/// [`FileError`] when it is not there, is no plain file, is too large, or is refused by the system.
pub fn read_small(path: &Path) -> Result<Vec<u8>, FileError> {
    read_if_there(path, SMALL)?.ok_or_else(|| FileError::Io(io::ErrorKind::NotFound.into()))
}

/// Reads a file of at most `limit` bytes; `None` when it is not there.
///
/// # Errors
/// [`FileError`] when it is there and is no plain file, too large, or refused by the system.
pub fn read_if_there(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    // Without NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(nonblock).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(FileError::NotRegular);
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { limit });
    }
    Ok(Some(bytes))
}
