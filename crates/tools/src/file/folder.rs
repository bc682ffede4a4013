//! Opens exactly the folder and file that were judged, without following any link (SAFETY 3).
//!
//! - Asked by everything that touches a file after its path was resolved.
//! - Walks down from `/` by handles: a part that has become a link since, or that is no folder, is a changed target.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::fault::Fault;

/// Device and inode: which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// What is done about folders that do not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The walk ends above them.
    Stop,
    /// They are made.
    Make,
}

/// A handle of a folder, good for names below it only.
pub(crate) struct Folder {
    fd: OwnedFd,
    /// Whether the whole path was walked; otherwise the handle is that of the deepest folder that exists.
    pub(crate) complete: bool,
    /// Whether the walk went through the folder that was judged.
    pub(crate) passed: bool,
}

impl Folder {
    /// Opens the folder `path`, which is absolute and free of links.
    ///
    /// # Errors
    /// [`Fault::TargetChanged`] when a part is a link or no folder now; what the system says otherwise.
    pub(crate) fn open(path: &Path, judged: Identity, missing: Missing) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fault = |error: Errno| match error {
            Errno::LOOP | Errno::NOTDIR => Fault::TargetChanged {
                path: path.to_owned(),
                how: "a folder above it is not a folder any more",
            },
            other => Fault::io(path, if missing == Missing::Make { "write" } else { "read" }, other),
        };
        let root = rustix::fs::openat(CWD, "/", flags, Mode::empty()).map_err(fault)?;
        let mut folder = Self { fd: root, complete: true, passed: false };
        folder.note(judged).map_err(fault)?;
        for component in path.components() {
            let Component::Normal(name) = component else { continue };
            let mut opened = rustix::fs::openat(&folder.fd, name, flags, Mode::empty());
            if matches!(opened, Err(Errno::NOENT)) {
                if missing == Missing::Stop {
                    folder.complete = false;
                    return Ok(folder);
                }
                folder.make(name).map_err(fault)?;
                opened = rustix::fs::openat(&folder.fd, name, flags, Mode::empty());
            }
            folder.fd = opened.map_err(fault)?;
            folder.note(judged).map_err(fault)?;
        }
        Ok(folder)
    }

    /// Opens the folder `name` in this one; a link in its place is not followed.
    ///
    /// # Errors
    /// What the system says, a link included.
    pub(crate) fn enter(&self, name: &OsStr) -> rustix::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        Ok(Self { fd, complete: true, passed: self.passed })
    }

    fn note(&mut self, judged: Identity) -> rustix::io::Result<()> {
        let stat = rustix::fs::fstat(&self.fd)?;
        self.passed |= Identity::of(&stat) == judged;
        Ok(())
    }

    fn make(&self, name: &OsStr) -> rustix::io::Result<()> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            // Another call has just made it: the open that follows tells what it is.
            Ok(()) | Err(Errno::EXIST) => {
                self.sync();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Makes changes of names durable. What cannot be opened for it (a folder without read permission) is left to the system.
    pub(crate) fn sync(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(fd) = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())
            && let Err(error) = rustix::fs::fsync(fd)
        {
            tracing::debug!(%error, "a folder could not be synced");
        }
    }

    /// Returns the handle, to be used with a name only.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Opens the regular file `name` for reading; `None` when nothing of that name exists. Never blocks on a pipe.
    ///
    /// `path` is the whole path, for the fault only.
    ///
    /// # Errors
    /// [`Fault::IsDirectory`], [`Fault::NotRegularFile`], [`Fault::TargetChanged`] for a link, what the system says otherwise.
    pub(crate) fn file(&self, name: &OsStr, path: &Path) -> Result<Option<(File, Stat)>, Fault> {
        let stat = match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(Fault::io(path, "look at", error)),
        };
        // Looked at first, because opening a device can already do something.
        regular(&stat, path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(link(path)),
            Err(error) => return Err(Fault::io(path, "read", error)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| Fault::io(path, "look at", error))?;
        regular(&stat, path)?;
        Ok(Some((File::from(fd), stat)))
    }
}

fn regular(stat: &Stat, path: &Path) -> Result<(), Fault> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Fault::IsDirectory(path.to_owned())),
        FileType::Symlink => Err(link(path)),
        _ => Err(Fault::NotRegularFile(path.to_owned())),
    }
}

fn link(path: &Path) -> Fault {
    Fault::TargetChanged { path: path.to_owned(), how: "it is a link now" }
}

/// Returns the SHA-256 of everything that is left in `file`, hexadecimal.
///
/// # Errors
/// What the system says.
pub(crate) fn hash_rest(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(hasher)),
            Ok(n) => hasher.update(buffer.get(..n).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the SHA-256 of `bytes`, hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

/// Returns the digest as text.
pub(crate) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
