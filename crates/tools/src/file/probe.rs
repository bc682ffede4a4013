//! Looks after a crash whether a Write or Edit was done (ENGINE 7).
//!
//! - Asked by a resume for an intent without a result; the answer decides between done, run and uncertain.
//! - Removes the temporary file that the crash may have left, and nothing else.

use maia_protocol::tool::{WriteFound, WriteIntent};
use rustix::fs::AtFlags;

use super::folder::{self, Folder, Identity, Missing};
use super::replace::is_temporary;

/// Returns what is in the place of the file now, and removes the leftover temporary file. Blocks.
///
/// A file that cannot be read, or a path that leads through a link now, is [`WriteFound::Neither`]: nobody can say.
pub fn probe(intent: &WriteIntent) -> WriteFound {
    let path = intent.target.path.as_path();
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return WriteFound::Neither };
    let judged = Identity { device: intent.target.device, inode: intent.target.inode };
    let Ok(folder) = Folder::open(parent, judged, Missing::Stop) else { return WriteFound::Neither };
    let found = if folder.complete {
        sweep(&folder, intent);
        match folder.file(name, path) {
            Ok(Some((mut file, _))) => match folder::hash_rest(&mut file) {
                Ok(hash) => Some(hash),
                Err(_) => return WriteFound::Neither,
            },
            Ok(None) => None,
            Err(_) => return WriteFound::Neither,
        }
    } else {
        None
    };
    if found.as_ref() == Some(&intent.after) {
        WriteFound::After
    } else if found == intent.before {
        WriteFound::Before
    } else {
        WriteFound::Neither
    }
}

fn sweep(folder: &Folder, intent: &WriteIntent) {
    let name = intent.temporary.file_name().filter(|name| is_temporary(name));
    let beside = intent.temporary.parent() == intent.target.path.parent();
    let Some(name) = name.filter(|_| beside) else { return };
    // Only what `file` opens, a plain file, can have been left by a write.
    if matches!(folder.file(name, &intent.temporary), Ok(Some(_)))
        && let Err(error) = rustix::fs::unlinkat(folder.fd(), name, AtFlags::empty())
    {
        tracing::warn!(%error, "a leftover temporary file could not be removed");
    }
}
