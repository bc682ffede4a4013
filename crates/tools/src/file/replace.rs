//! Puts new bytes in the place of a file so that a crash leaves the old or the new ones (ENGINE 2).
//!
//! - Asked by `work` alone, with the intent already durable.
//! - Owns the temporary file from its making to the rename; it is removed on every way out but a kill, and a resume removes
//!   it then.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

use maia_protocol::tool::WriteIntent;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use super::folder::{self, Folder, Identity, Missing};
use crate::fault::Fault;

const PREFIX: &str = ".maia-";
const SUFFIX: &str = ".tmp";

/// Returns a new name for a temporary file. It is opened so that it must not exist: the name need not be secret.
pub(crate) fn temporary_name() -> OsString {
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{random:016x}{SUFFIX}").into()
}

/// Whether `name` is one that [`temporary_name`] gives: a resume removes no other.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    middle.is_some_and(|middle| middle.len() == 16 && middle.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A file as it was when the change was computed.
#[derive(Debug)]
pub(crate) struct Before {
    identity: Identity,
    pub(crate) hash: String,
    mode: Mode,
    owner: (u32, u32),
    names: u64,
}

impl Before {
    pub(crate) fn new(stat: &Stat, hash: String) -> Self {
        Self {
            identity: Identity::of(stat),
            hash,
            mode: Mode::from_raw_mode(stat.st_mode & 0o7777),
            owner: (stat.st_uid, stat.st_gid),
            // The field's width differs by platform.
            #[allow(clippy::unnecessary_cast, reason = "u32 on some platforms")]
            names: stat.st_nlink as u64,
        }
    }
}

/// Bytes on their way to their place.
pub(crate) struct Placement {
    intent: WriteIntent,
    folder: Folder,
    before: Option<Before>,
    way: Way,
}

/// How the bytes get there.
enum Way {
    /// They are in the temporary file.
    Rename(Temporary),
    /// They are written over the old ones.
    InPlace(Vec<u8>),
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placement").field("intent", &self.intent).finish_non_exhaustive()
    }
}

/// A temporary file that is removed unless it was renamed.
struct Temporary {
    folder: OwnedFd,
    name: OsString,
    bytes: Vec<u8>,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing of that name.
        if let Err(error) = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())
            && error != Errno::NOENT
        {
            tracing::warn!(%error, "a temporary file could not be removed");
        }
    }
}

impl Placement {
    /// Makes missing parent folders and writes the temporary file.
    pub(crate) fn stage(intent: WriteIntent, before: Option<Before>, bytes: Vec<u8>) -> Result<Self, Fault> {
        let path = intent.target.path.as_path();
        let (Some(parent), Some(name)) = (path.parent(), intent.temporary.file_name()) else {
            return Err(Fault::IsDirectory(path.to_owned()));
        };
        let judged = Identity { device: intent.target.device, inode: intent.target.inode };
        let folder =
            Folder::open(parent, judged, if before.is_none() { Missing::Make } else { Missing::Stop })?;
        if !folder.complete || (before.is_none() && !folder.passed) {
            let how = "a folder above it was replaced";
            return Err(Fault::TargetChanged { path: path.to_owned(), how });
        }
        let way = match &before {
            Some(before) if before.names > 1 => Way::InPlace(bytes),
            _ => temporary(&folder, name, before.as_ref(), bytes, path)?,
        };
        Ok(Self { intent, folder, before, way })
    }

    /// Compares the file with what it was, then replaces it.
    pub(crate) fn place(self) -> Result<(), Fault> {
        let Self { intent, folder, before, way } = self;
        let path = intent.target.path.as_path();
        let name = path.file_name().ok_or_else(|| Fault::IsDirectory(path.to_owned()))?;
        unchanged(&folder, name, path, before.as_ref())?;
        match (way, &before) {
            (Way::InPlace(bytes), Some(before)) => in_place(&folder, name, path, before, &bytes)?,
            (Way::InPlace(_), None) => return Err(Fault::FileNotFound(path.to_owned())),
            (Way::Rename(temporary), None) => rename_new(&folder, &temporary, name, path)?,
            (Way::Rename(temporary), Some(before)) => {
                match rustix::fs::renameat(folder.fd(), &temporary.name, folder.fd(), name) {
                    Ok(()) => {}
                    // A file that is a mount point of its own can only be written in place.
                    Err(Errno::BUSY | Errno::XDEV) => {
                        in_place(&folder, name, path, before, &temporary.bytes)?
                    }
                    Err(error) => return Err(Fault::io(path, "write", error)),
                }
            }
        }
        folder.sync();
        Ok(())
    }
}

/// Writes the temporary file with mode, owner and attributes of the file that it will replace.
fn temporary(
    folder: &Folder,
    name: &OsStr,
    before: Option<&Before>,
    bytes: Vec<u8>,
    path: &Path,
) -> Result<Way, Fault> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A new file gets what the umask leaves; a copy is nobody else's until it has the old file's mode.
    let mode = Mode::from_raw_mode(if before.is_none() { 0o666 } else { 0o600 });
    let fd = match rustix::fs::openat(folder.fd(), name, flags, mode) {
        Ok(fd) => fd,
        Err(Errno::ACCESS | Errno::PERM) if before.is_some() => return Ok(Way::InPlace(bytes)),
        Err(error) => return Err(Fault::io(path, "write", error)),
    };
    let fault = |error: std::io::Error| Fault::io(path, "write", error);
    let handle = folder.fd().try_clone().map_err(fault)?;
    let temporary = Temporary { folder: handle, name: name.to_owned(), bytes };
    let mut file = File::from(fd);
    file.write_all(&temporary.bytes).map_err(fault)?;
    if let Some(before) = before {
        let stat = rustix::fs::fstat(&file).map_err(|error| fault(error.into()))?;
        let (uid, gid) = before.owner;
        if (stat.st_uid, stat.st_gid) != before.owner
            && rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).is_err()
        {
            // The file would change hands: written in place it stays whose it is.
            let mut temporary = temporary;
            return Ok(Way::InPlace(std::mem::take(&mut temporary.bytes)));
        }
        copy_attributes(folder, path, &file);
        // After the change of owner, which takes set-user-id bits away.
        rustix::fs::fchmod(&file, before.mode).map_err(|error| fault(error.into()))?;
    }
    file.sync_all().map_err(fault)?;
    Ok(Way::Rename(temporary))
}

/// Copies extended attributes, access lists among them, as far as the system lets.
fn copy_attributes(folder: &Folder, path: &Path, to: &File) {
    let Some((from, _)) = path.file_name().and_then(|name| folder.file(name, path).ok().flatten()) else {
        return;
    };
    let mut names = vec![0; 16 * 1024];
    let Ok(length) = rustix::fs::flistxattr(&from, names.as_mut_slice()) else { return };
    for name in
        names.get(..length).unwrap_or_default().split(|byte| *byte == 0).filter(|name| !name.is_empty())
    {
        let mut value = vec![0; 64 * 1024];
        if let Ok(length) = rustix::fs::fgetxattr(&from, name, value.as_mut_slice())
            && let Some(value) = value.get(..length)
            && let Err(error) = rustix::fs::fsetxattr(to, name, value, XattrFlags::empty())
        {
            tracing::debug!(%error, "an attribute was not copied");
        }
    }
}

/// Fails when the file is not the one that the change was computed from.
fn unchanged(folder: &Folder, name: &OsStr, path: &Path, before: Option<&Before>) -> Result<(), Fault> {
    match (folder.file(name, path)?, before) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Fault::ChangedSinceRead { path: path.to_owned(), how: "was removed" }),
        (Some(_), None) => Err(Fault::TargetChanged { path: path.to_owned(), how: "it did not exist then" }),
        (Some((mut file, stat)), Some(before)) => {
            let same = Identity::of(&stat) == before.identity
                && folder::hash_rest(&mut file).map_err(|source| Fault::io(path, "read", source))?
                    == before.hash;
            if same {
                Ok(())
            } else {
                Err(Fault::ChangedSinceRead { path: path.to_owned(), how: "has changed" })
            }
        }
    }
}

/// Gives a new file its name, but never takes another file's.
fn rename_new(folder: &Folder, temporary: &Temporary, name: &OsStr, path: &Path) -> Result<(), Fault> {
    match rustix::fs::renameat_with(folder.fd(), &temporary.name, folder.fd(), name, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => {
            Err(Fault::TargetChanged { path: path.to_owned(), how: "it did not exist then" })
        }
        // Some file systems cannot promise it; that nothing was there was seen a moment ago.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::renameat(folder.fd(), &temporary.name, folder.fd(), name)
                .map_err(|error| Fault::io(path, "write", error))
        }
        Err(error) => Err(Fault::io(path, "write", error)),
    }
}

/// Writes over the old bytes of the very file that was compared.
fn in_place(folder: &Folder, name: &OsStr, path: &Path, before: &Before, bytes: &[u8]) -> Result<(), Fault> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let write = |error: std::io::Error| Fault::io(path, "write", error);
    let fd =
        rustix::fs::openat(folder.fd(), name, flags, Mode::empty()).map_err(|error| write(error.into()))?;
    let stat = rustix::fs::fstat(&fd).map_err(|error| write(error.into()))?;
    if Identity::of(&stat) != before.identity {
        return Err(Fault::TargetChanged { path: path.to_owned(), how: "it was replaced" });
    }
    let mut file = File::from(fd);
    file.write_all(bytes).map_err(write)?;
    file.set_len(bytes.len() as u64).map_err(write)?;
    file.sync_all().map_err(write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_known_again() {
        assert!(is_temporary(&temporary_name()));
        for name in [".maia-.tmp", ".maia-0123456789abcdeg.tmp", "x", ".maia-0123456789abcdef"] {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }
}
