//! One owner of a session at a time. The lock is the kernel's, so it ends with its owner, however that ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::JournalError;

/// The lock, held as long as it lives.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock without waiting, and writes this process's id into its file for those who come later.
    ///
    /// # Errors
    /// [`JournalError::Locked`] when somebody has it; [`JournalError::Io`].
    pub fn take(path: &Path) -> Result<Self, JournalError> {
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

/// The locks of files that processes hold, at one moment; read from the kernel's table, so that nobody who opens a
/// session in that moment is kept out, as one would be by a lock that is taken only to see whether it is free.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    /// `None` when the table cannot be read.
    held: Option<Vec<Held>>,
}

/// One lock.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    pid: u32,
    /// Major and minor number.
    device: (u32, u32),
    inode: u64,
}

impl Holders {
    /// Reads the table.
    pub fn read() -> Self {
        Self {
            held: fs::read_to_string("/proc/locks").ok().map(|text| text.lines().filter_map(held).collect()),
        }
    }

    /// Returns the process that has the session in folder `dir` open.
    ///
    /// Where the kernel's table cannot be read: the one whose id is in the lock's file, as long as it lives.
    pub fn of(&self, dir: &Path) -> Option<u32> {
        let path = dir.join("lock");
        let found = fs::metadata(&path).ok()?;
        let named = File::open(&path).ok().and_then(|mut file| owner(&mut file));
        let Some(held) = &self.held else {
            return named.filter(|pid| Path::new(&format!("/proc/{pid}")).exists());
        };
        let device = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
        // Some file systems give a file another device than the table does: then the process has to be the named one.
        let is_it =
            |lock: &&Held| lock.inode == found.ino() && (lock.device == device || Some(lock.pid) == named);
        held.iter().find(is_it).map(|lock| lock.pid)
    }
}

/// Reads a line such as `1: FLOCK  ADVISORY  WRITE 7231 fe:00:5652530 0 EOF`; `None` for what is no such lock, or waits.
fn held(line: &str) -> Option<Held> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" || words.nth(1)? != "WRITE" {
        return None;
    }
    let pid = words.next()?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let mut device = || u32::from_str_radix(file.next()?, 16).ok();
    let device = (device()?, device()?);
    Some(Held { pid, device, inode: file.next()?.parse().ok()? })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_lock_is_seen_without_taking_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        assert_eq!(Holders::read().of(dir.path()), None, "no file");
        let lock = Lock::take(&path).expect("free");
        assert_eq!(Holders::read().of(dir.path()), Some(std::process::id()));
        assert_eq!(Holders::default().of(dir.path()), Some(std::process::id()), "without the kernel's table");
        drop(lock);
        assert_eq!(Holders::read().of(dir.path()), None);
        fs::write(&path, std::process::id().to_string()).expect("as a killed owner leaves it");
        assert_eq!(Holders::read().of(dir.path()), None, "named, but not held");
    }

    #[test]
    fn lines_of_the_table_are_read() {
        let held_line = "1: FLOCK  ADVISORY  WRITE 7231 fe:0a:5652530 0 EOF";
        assert_eq!(held(held_line), Some(Held { pid: 7231, device: (0xfe, 0x0a), inode: 5_652_530 }));
        for other in [
            "",
            "3: FLOCK  ADVISORY  READ 7226 fe:00:1 0 EOF",
            "1: -> FLOCK  ADVISORY  WRITE 7231 fe:00:1 0 EOF",
            "4: POSIX  ADVISORY  WRITE 1 fe:00:1 0 EOF",
            "1: FLOCK  ADVISORY  WRITE x fe:00",
        ] {
            assert_eq!(held(other), None, "{other}");
        }
    }
}
