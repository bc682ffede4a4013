//! What git would leave out: `.gitignore` files and `.git/info/exclude` (mission M2-globs, M8-grep).
//!
//! - Asked by the walk for every name it meets.
//! - A chain of levels, one a folder: the innermost that says something decides.
//! - A folder that was named itself is searched even where a rule of a folder above leaves it out: then those rules are
//!   put aside. The same holds for a launch folder below a home folder whose `.gitignore` says `*`.
//! - The files are opened as everything else here: no link is followed, nothing that is no regular file is opened.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use maia_protocol::tool::Target;

use crate::file::folder::{Folder, Identity, Missing};
use crate::place::Workspace;

/// Bytes of an ignore file that are taken: compiling more costs more than it saves.
const FILE: u64 = 256 * 1024;

/// The rules of one folder, and those above it.
pub(super) struct Level {
    rules: Gitignore,
    above: Option<Arc<Level>>,
}

/// Rules in force in a folder; `None` where there are none.
pub(super) type Chain = Option<Arc<Level>>;

/// Tells whether the rules leave out `path`, which is absolute and lies below all of them.
pub(super) fn is_ignored(chain: &Chain, path: &Path, is_folder: bool) -> bool {
    let mut level = chain.as_deref();
    while let Some(current) = level {
        match current.rules.matched(path, is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => level = current.above.as_deref(),
        }
    }
    false
}

/// Returns the rules that hold in `path` beside its own: those of the folders above it, from the root of its repository,
/// or else from the launch folder.
pub(super) fn above(start: &Target, workspace: &Workspace) -> Chain {
    let path = start.path.as_path();
    let repository = path.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let launch = Some(workspace.cwd.as_path()).filter(|launch| path.starts_with(launch));
    let top = repository.or(launch)?;
    let mut folders: Vec<&Path> = path.ancestors().take_while(|folder| folder.starts_with(top)).collect();
    folders.reverse();
    let mut chain = None;
    for pair in folders.windows(2) {
        let [folder, next] = pair else { continue };
        let judged = Identity { device: start.device, inode: start.inode };
        if let Ok(opened) = Folder::open(folder, judged, Missing::Stop)
            && opened.complete
        {
            chain = entered(chain, &opened, folder);
        }
        if is_ignored(&chain, next, true) {
            chain = None;
        }
    }
    chain
}

/// Returns the rules in force in `folder`, which lies at `path`. A repository of its own obeys nothing from above it.
pub(super) fn entered(chain: Chain, folder: &Folder, path: &Path) -> Chain {
    let git = folder.enter(OsStr::new(".git")).ok();
    let mut chain = if git.is_some() { None } else { chain };
    let exclude = git.and_then(|git| read(&git.enter(OsStr::new("info")).ok()?, "exclude", path));
    for text in [exclude, read(folder, ".gitignore", path)].into_iter().flatten() {
        let mut builder = GitignoreBuilder::new(path);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A line that is no pattern leaves nothing out.
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build()
            && !rules.is_empty()
        {
            chain = Some(Arc::new(Level { rules, above: chain }));
        }
    }
    chain
}

fn read(folder: &Folder, name: &str, path: &Path) -> Option<String> {
    let (file, _) = folder.file(OsStr::new(name), &path.join(name)).ok()??;
    let mut bytes = Vec::new();
    file.take(FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
