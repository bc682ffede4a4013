//! Cutting off the torn end of a journal, with a copy kept: nothing that a person's disk held is thrown away unseen.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::dir::sync_dir;
use crate::disk::Disk;

/// Copies what follows byte `end` into `journal.tail-<time>` beside the journal, durably, and then cuts it off.
///
/// Killed in between, the next opening does the same again: a second copy, nothing lost.
///
/// # Errors
/// The system's; the journal then still has its tail.
pub(crate) fn cut_off(disk: &Disk, dir: &Path, end: u64) -> io::Result<PathBuf> {
    let (path, mut copy) = create_beside(dir)?;
    let copied = copy_from(disk.file(), end, &mut copy).and_then(|()| sync_dir(dir));
    if let Err(error) = copied {
        // A part of a copy would only mislead.
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    disk.cut(end)?;
    disk.sync()?;
    Ok(path)
}

/// Creates the file (0600) under a name that is not taken.
fn create_beside(dir: &Path) -> io::Result<(PathBuf, File)> {
    let time = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.f").to_string();
    let mut path = dir.join(format!("journal.tail-{time}"));
    for n in 2.. {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = dir.join(format!("journal.tail-{time}-{n}"));
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Copies everything from byte `start` on and makes it durable.
fn copy_from(mut source: &File, start: u64, copy: &mut File) -> io::Result<()> {
    io::Seek::seek(&mut source, io::SeekFrom::Start(start))?;
    io::copy(&mut source, copy)?;
    copy.sync_all()
}
