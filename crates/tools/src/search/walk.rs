//! Goes through a folder in the order of its paths, within bounds, and hands over every file that git would not ignore.
//!
//! - Asked by Glob and Grep. Never looks into `.git` and `node_modules`, unless it begins there.
//! - By handles: each folder is opened in the one above it, links are not followed, so nothing below can lead out of the
//!   folder that was judged (SAFETY 3).
//! - Ends early when it is cancelled or has done enough; [`Walk::notes`] says so.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use maia_protocol::tool::Target;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Bounds;
use super::ignored::{self, Chain};
use crate::bash::Cancel;
use crate::fault::Fault;
use crate::file::folder::{Folder, Identity, Missing};
use crate::place::Workspace;

/// Folders within each other that are gone down: each holds a handle, and real trees end long before.
const DEPTH: usize = 100;
/// Folders that are never looked into.
const SKIPPED: [&str; 2] = [".git", "node_modules"];

/// A file or link that was met.
pub(super) struct Found<'a> {
    /// Its folder.
    pub(super) folder: &'a Folder,
    /// Its name there.
    pub(super) name: &'a OsStr,
    /// Absolute.
    pub(super) path: &'a Path,
    /// Whether it is a link; anything else is a regular file.
    pub(super) is_link: bool,
}

/// What the visitor says.
#[derive(PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    /// It has enough.
    Stop,
}

/// A walk, and what it could not do.
pub(super) struct Walk<'a> {
    bounds: Bounds,
    cancel: &'a Cancel,
    began: Instant,
    entries: usize,
    bytes: u64,
    /// What ended it early.
    ended: Option<&'static str>,
    /// Folders that could not be opened or read.
    unreadable: usize,
    /// Folders too far down.
    too_deep: usize,
}

/// A name that is still to be looked at.
struct Entry {
    folder: Rc<Folder>,
    path: PathBuf,
    name: OsString,
    kind: Kind,
    depth: usize,
    chain: Chain,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    Link,
}

impl<'a> Walk<'a> {
    pub(super) fn new(bounds: Bounds, cancel: &'a Cancel) -> Self {
        Self {
            bounds,
            cancel,
            began: Instant::now(),
            entries: 0,
            bytes: 0,
            ended: None,
            unreadable: 0,
            too_deep: 0,
        }
    }

    /// Goes through the judged folder.
    ///
    /// # Errors
    /// [`Fault::TargetChanged`] when it is not the folder that was judged, [`Fault::Interrupted`] when it was cancelled,
    /// and what the system says of the folder itself.
    pub(super) fn folder(
        &mut self,
        start: &Target,
        workspace: &Workspace,
        visit: &mut dyn FnMut(&mut Self, &Found<'_>) -> Then,
    ) -> Result<(), Fault> {
        let path = start.path.as_path();
        let judged = Identity { device: start.device, inode: start.inode };
        let folder = Folder::open(path, judged, Missing::Stop)?;
        if !folder.complete {
            return Err(Fault::NothingToSearch(path.to_owned()));
        }
        if !folder.passed {
            return Err(Fault::TargetChanged { path: path.to_owned(), how: "it is another folder now" });
        }
        let chain = ignored::above(start, workspace);
        let mut open: Vec<Entry> = Vec::new();
        self.push(&mut open, folder, path, 0, chain).map_err(|error| Fault::io(path, "read", error))?;
        while let Some(entry) = open.pop() {
            if self.enough()? {
                break;
            }
            match entry.kind {
                Kind::Folder if entry.depth >= DEPTH => self.too_deep += 1,
                Kind::Folder => {
                    let entered = entry.folder.enter(&entry.name).and_then(|folder| {
                        self.push(&mut open, folder, &entry.path, entry.depth, entry.chain)
                    });
                    if entered.is_err() {
                        self.unreadable += 1;
                    }
                }
                Kind::File | Kind::Link => {
                    let found = Found {
                        folder: &entry.folder,
                        name: &entry.name,
                        path: &entry.path,
                        is_link: entry.kind == Kind::Link,
                    };
                    if visit(self, &found) == Then::Stop {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts bytes that were read.
    pub(super) fn read(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Returns what was left out for want of time, room or rights; empty when everything was seen.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(ended) = self.ended {
            notes.push(format!("not everything was searched: {ended}; search a smaller folder"));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} could not be read", folders(self.unreadable)));
        }
        if self.too_deep > 0 {
            notes.push(format!("{} more than {DEPTH} levels down were left out", folders(self.too_deep)));
        }
        notes
    }

    /// Tells whether the walk stopped before it had seen all.
    pub(super) fn is_cut(&self) -> bool {
        self.ended.is_some()
    }

    fn enough(&mut self) -> Result<bool, Fault> {
        if self.cancel.is_cancelled() {
            return Err(Fault::Interrupted);
        }
        if self.bytes > self.bounds.bytes {
            self.ended = Some("there is too much text");
        } else if self.began.elapsed() > self.bounds.time {
            self.ended = Some("it took too long");
        }
        Ok(self.ended.is_some() && self.ended != Some(TOO_MANY))
    }

    /// Puts what is in a folder on the stack, the first name on top.
    fn push(
        &mut self,
        open: &mut Vec<Entry>,
        folder: Folder,
        path: &Path,
        depth: usize,
        chain: Chain,
    ) -> rustix::io::Result<()> {
        let mut names = self.names(&folder)?;
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        let chain = ignored::entered(chain, &folder, path);
        let folder = Rc::new(folder);
        for (name, kind) in names.into_iter().rev() {
            let path = path.join(&name);
            if ignored::is_ignored(&chain, &path, kind == Kind::Folder) {
                continue;
            }
            let (folder, chain) = (folder.clone(), chain.clone());
            open.push(Entry { folder, path, name, kind, depth: depth + 1, chain });
        }
        Ok(())
    }

    /// Reads the names in a folder, as far as the bounds allow.
    fn names(&mut self, folder: &Folder) -> rustix::io::Result<Vec<(OsString, Kind)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut names = Vec::new();
        for entry in Dir::new(rustix::fs::openat(folder.fd(), ".", flags, Mode::empty())?)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if self.entries >= self.bounds.entries {
                self.ended = Some(TOO_MANY);
                break;
            }
            self.entries += 1;
            let kind = match entry.file_type() {
                // Some file systems do not say it here.
                FileType::Unknown => match rustix::fs::statat(folder.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error),
                },
                kind => kind,
            };
            let kind = match kind {
                FileType::Directory if SKIPPED.iter().any(|skipped| name == *skipped) => continue,
                FileType::RegularFile if name == ".git" => continue,
                FileType::Directory => Kind::Folder,
                FileType::RegularFile => Kind::File,
                FileType::Symlink => Kind::Link,
                _ => continue,
            };
            names.push((name.to_owned(), kind));
        }
        Ok(names)
    }
}

/// What is on the stack by then is still handed over.
const TOO_MANY: &str = "there are too many files";

fn folders(count: usize) -> String {
    if count == 1 { "1 folder".to_owned() } else { format!("{count} folders") }
}
