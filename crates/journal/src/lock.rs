//! One owner of a session at a time. The lock is the kernel's, so it ends with its owner, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::JournalError;

/// The lock, held as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock without waiting, and writes this process's id into its file for those who come later.
    ///
    /// # Errors
    /// [`JournalError::Locked`] when somebody has it; [`JournalError::Io`].
    pub(crate) fn take(path: &Path) -> Result<Self, JournalError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false) // It may hold the owner's id.
            .mode(0o600)
            .open(path)
            .map_err(JournalError::io("open the lock", path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(JournalError::Locked { path: path.to_owned(), pid: owner(&mut file) });
            }
            Err(error) => return Err(JournalError::io("lock", path)(error.into())),
        }
        // The id only helps people: a full disk must not keep a session closed for want of it.
        let _ = name_owner(&mut file);
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Emptied first: an id of a process that is gone would be a wrong answer in the moment in which the next
        // owner has the lock and has not yet said so.
        let _ = self.file.set_len(0);
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Writes this process's id.
fn name_owner(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

/// Reads the owner's id.
fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
