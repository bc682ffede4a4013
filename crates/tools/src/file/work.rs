//! A Write or Edit between its preparation and its end (ENGINE 2, mission M8-write, M8-edit).
//!
//! - [`prepare`] reads and computes under the lock; its [`WriteIntent`] is made durable by the caller; then [`FileWork::commit`].
//! - What is opened is what was judged: by handles from `/` down, without links, device and inode compared (SAFETY 3).
//! - Owns the bytes of one change; nothing on disk until it is committed.

use std::path::Path;

use maia_protocol::tool::{Seen, Target, ToolOutput, WriteIntent};
use rustix::fs::{Access, AtFlags, Stat};
use serde_json::Value;

use super::edit;
use super::folder::{self, Folder, Identity, Missing};
use super::replace::{Before, Placement};
use crate::args::{self, Call};
use crate::fault::Fault;
use crate::place::Workspace;

/// Bytes that one Write may hold (W-tool-write).
const WRITE_LIMIT: usize = 8 * 1024 * 1024;
/// Bytes of a file that Edit works on: the file is held in memory twice.
const EDIT_LIMIT: u64 = 64 * 1024 * 1024;

/// A change of one file that is computed and not yet made.
#[derive(Debug)]
pub struct FileWork {
    intent: WriteIntent,
    before: Option<Before>,
    /// Content before, where it was read whole.
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    /// What the model is told when it is done.
    done: String,
}

/// A change whose bytes are durable in the temporary file, and that only has to be put in place.
#[derive(Debug)]
pub struct Staged {
    placement: Placement,
    output: ToolOutput,
}

impl FileWork {
    /// Returns what is about to be done, to be made durable before it is.
    pub fn intent(&self) -> &WriteIntent {
        &self.intent
    }

    /// Returns the change as a unified diff for a person who is asked (SAFETY 3); `None` when a side is not text.
    pub fn diff(&self) -> Option<String> {
        let old = match (&self.before, &self.old) {
            (None, _) => "",
            (Some(_), Some(bytes)) => std::str::from_utf8(bytes).ok()?,
            (Some(_), None) => return None,
        };
        let new = std::str::from_utf8(&self.new).ok()?;
        let diff = similar::TextDiff::configure()
            .timeout(std::time::Duration::from_millis(500))
            .diff_lines(old, new);
        Some(diff.unified_diff().context_radius(3).to_string())
    }

    /// Makes the change: old or new at every moment, also when the process is killed (but see below). Blocks.
    ///
    /// The bytes go to the temporary file of the intent, are synced, and take the place of the file by a rename; mode, owner
    /// and attributes are kept, and a link that led to the file still does. A file with several names (hard links), one that
    /// is mounted by itself, or one in a folder where nothing can be made is written in place instead, so that all its names
    /// stay equal: a crash in that moment can leave a part.
    pub fn commit(self) -> ToolOutput {
        match self.stage() {
            Ok(staged) => staged.place(),
            Err(output) => output,
        }
    }

    /// Does the first half of [`Self::commit`]: the temporary file is written and synced. Blocks.
    ///
    /// # Errors
    /// The error result for the model; the temporary file is gone again.
    pub fn stage(self) -> Result<Staged, ToolOutput> {
        let seen = Seen { path: self.intent.target.path.clone(), hash: self.intent.after.clone() };
        let output = ToolOutput { seen: Some(seen), ..ToolOutput::ok(self.done) };
        let placement = Placement::stage(self.intent, self.before, self.new)?;
        Ok(Staged { placement, output })
    }
}

impl Staged {
    /// Does the second half of [`FileWork::commit`]: compares once more, then puts the bytes in place. Blocks.
    pub fn place(self) -> ToolOutput {
        match self.placement.place() {
            Ok(()) => self.output,
            Err(fault) => fault.into(),
        }
    }
}

/// See [`crate::prepare`].
pub(crate) fn prepare(
    tool: &str,
    input: &Value,
    target: &Target,
    seen: Option<&str>,
    workspace: &Workspace,
) -> Result<FileWork, Fault> {
    let call = match args::parse(tool, input)? {
        Some(call @ (Call::Write(_) | Call::Edit(_))) => call,
        _ => return Err(Fault::InvalidInput(format!("{tool} changes no file"))),
    };
    let path = target.path.as_path();
    let Some((parent, name)) = path.parent().zip(path.file_name()) else {
        return Err(Fault::IsDirectory(path.to_owned()));
    };
    let judged = Identity { device: target.device, inode: target.inode };
    let folder = Folder::open(parent, judged, Missing::Stop)?;
    let found = if folder.complete { folder.file(name, path)? } else { None };
    let Some((mut file, stat)) = found else {
        absent(&call, target, seen, folder.passed)?;
        let Call::Write(args) = call else { return Err(Fault::FileNotFound(path.to_owned())) };
        let new = content(args.content)?;
        let done = format!("created {} ({})", workspace.shown(path), size(&new));
        return Ok(work(target.clone(), None, None, new, done));
    };
    writable(&folder, name, path, &stat)?;
    let (hash, old) = load(&mut file, &stat, matches!(call, Call::Edit(_)), path)?;
    known(target, &stat, &hash, seen, folder.passed)?;
    let (new, done) = match call {
        Call::Write(args) => {
            let new = content(args.content)?;
            let done = format!("wrote {} ({})", workspace.shown(path), size(&new));
            (new, done)
        }
        Call::Edit(args) => {
            let old = old.as_deref().unwrap_or_default();
            let replaced = edit::replace(path, old, &args.old_string, &args.new_string)?;
            let done = format!("edited {}: {}", workspace.shown(path), extent(&replaced));
            (replaced.bytes, done)
        }
        _ => return Err(Fault::InvalidInput(format!("{tool} changes no file"))),
    };
    // The identity of now: an earlier call of the same response may have put a new file in place.
    let target = Target { exists: true, device: stat.st_dev, inode: stat.st_ino, ..target.clone() };
    Ok(work(target, Some(Before::new(&stat, hash)), old, new, done))
}

/// Decides about a file that does not exist now.
fn absent(call: &Call, target: &Target, seen: Option<&str>, passed: bool) -> Result<(), Fault> {
    let path = target.path.clone();
    match (target.exists, seen) {
        (true, Some(_)) => Err(Fault::ChangedSinceRead { path, how: "was removed" }),
        (true, None) => Err(Fault::TargetChanged { path, how: "it was removed" }),
        (false, _) if matches!(call, Call::Edit(_)) => Err(Fault::FileNotFound(path)),
        (false, _) if !passed => Err(Fault::TargetChanged { path, how: "a folder above it was replaced" }),
        (false, _) => Ok(()),
    }
}

/// Decides whether the file that exists now is the one that the agent knows and that was judged.
fn known(target: &Target, stat: &Stat, hash: &str, seen: Option<&str>, passed: bool) -> Result<(), Fault> {
    let path = || target.path.clone();
    match seen {
        Some(seen) if seen != hash => Err(Fault::ChangedSinceRead { path: path(), how: "has changed" }),
        // What the agent itself wrote since the verdict has another inode, and voids nothing (SAFETY 3).
        Some(_) => Ok(()),
        None if target.exists => {
            let same = Identity::of(stat) == Identity { device: target.device, inode: target.inode };
            if same { Ok(()) } else { Err(Fault::TargetChanged { path: path(), how: "it was replaced" }) }
        }
        None if passed => Err(Fault::TargetChanged { path: path(), how: "it did not exist then" }),
        None => Err(Fault::TargetChanged { path: path(), how: "a folder above it was replaced" }),
    }
}

/// Refuses a file that is marked as read-only, also when the folder would let it be replaced.
fn writable(folder: &Folder, name: &std::ffi::OsStr, path: &Path, stat: &Stat) -> Result<(), Fault> {
    let denied = || Fault::PermissionDenied { path: path.to_owned(), what: "written: it is read-only" };
    // Root may write everything; a file without any write bit is still marked as not to be written.
    if stat.st_mode & 0o222 == 0 {
        return Err(denied());
    }
    rustix::fs::accessat(folder.fd(), name, Access::WRITE_OK, AtFlags::EACCESS).map_err(|_| denied())
}

/// Returns the hash of the file, and its bytes where they are needed or small enough to be shown in a diff.
fn load(
    file: &mut std::fs::File,
    stat: &Stat,
    edit: bool,
    path: &Path,
) -> Result<(String, Option<Vec<u8>>), Fault> {
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    if bytes > EDIT_LIMIT {
        if edit {
            return Err(Fault::TooLarge { what: path.display().to_string(), bytes, limit: EDIT_LIMIT });
        }
        let hash = folder::hash_rest(file).map_err(|source| Fault::io(path, "read", source))?;
        return Ok((hash, None));
    }
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    // A file that grows meanwhile is not followed for ever.
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut *file, EDIT_LIMIT + 1), &mut content)
        .map_err(|source| Fault::io(path, "read", source))?;
    if content.len() as u64 > EDIT_LIMIT {
        return Err(Fault::TooLarge {
            what: path.display().to_string(),
            bytes: content.len() as u64,
            limit: EDIT_LIMIT,
        });
    }
    Ok((folder::hash(&content), Some(content)))
}

fn content(text: String) -> Result<Vec<u8>, Fault> {
    if text.len() > WRITE_LIMIT {
        let (bytes, limit) = (text.len() as u64, WRITE_LIMIT as u64);
        return Err(Fault::TooLarge { what: "the content".to_owned(), bytes, limit });
    }
    Ok(text.into_bytes())
}

fn work(
    target: Target,
    before: Option<Before>,
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    done: String,
) -> FileWork {
    let temporary = target.path.with_file_name(super::replace::temporary_name());
    let intent = WriteIntent {
        before: before.as_ref().map(|before| before.hash.clone()),
        after: folder::hash(&new),
        temporary,
        target,
    };
    FileWork { intent, before, old, new, done }
}

fn size(bytes: &[u8]) -> String {
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
    let lines = breaks + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
    let plural = if lines == 1 { "" } else { "s" };
    format!("{lines} line{plural}, {} bytes", bytes.len())
}

fn extent(replaced: &edit::Replaced) -> String {
    let (before, after) = replaced.breaks;
    if before == after {
        format!("replaced 1 place at line {}", replaced.line)
    } else {
        let sign = if after > before { "+" } else { "-" };
        let lines = after.abs_diff(before);
        format!("replaced 1 place at line {} ({sign}{lines} lines)", replaced.line)
    }
}
