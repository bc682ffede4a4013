//! Which folder a Glob or Grep searches: what is judged, and what is opened later (SAFETY 3: check = use).
//!
//! - Asked by [`crate::target`] before the call is judged.
//! - A Glob's pattern may name folders in front of its first wildcard (`src/**/*.rs`, `/etc/*`): they are part of the
//!   place, so that rules see where the call really looks.

use std::path::{Component, Path, PathBuf};

use maia_protocol::tool::Target;

use super::pattern;
use crate::args::{GlobArgs, GrepArgs};
use crate::fault::Fault;
use crate::place::{self, Workspace};

/// Returns the folder or file that a Grep searches.
///
/// # Errors
/// [`Fault::NothingToSearch`], or what the system says when a part of the path cannot be looked at.
pub(crate) fn of_grep(args: &GrepArgs, workspace: &Workspace) -> Result<Target, Fault> {
    existing(place::resolve(&args.path, workspace)?)
}

/// Returns the folder that a Glob searches; it may not exist where only the pattern names it.
///
/// # Errors
/// [`Fault::NothingToSearch`], [`Fault::NotDirectory`] for the folder of the call, [`Fault::InvalidInput`] for a pattern
/// that cannot be used, and what the system says.
pub(crate) fn of_glob(args: &GlobArgs, workspace: &Workspace) -> Result<Target, Fault> {
    let parts = pattern::parts(&args.pattern)?;
    pattern::compile(&parts.rest)?;
    let base = existing(place::resolve(&args.path, workspace)?)?;
    if !base.path.is_dir() {
        return Err(Fault::NotDirectory(base.path));
    }
    if parts.root.is_empty() {
        return Ok(base);
    }
    let start = if parts.root == "~" || parts.root.starts_with("~/") || parts.root.starts_with('/') {
        PathBuf::from(&parts.root)
    } else {
        // By its text, as rules read it: `..` takes back what was written, whatever links lead elsewhere.
        normalize(&workspace.absolute(&args.path).join(&parts.root))
    };
    match start.to_str() {
        Some(start) => match place::resolve(start, workspace) {
            Err(Fault::FileNotFound(path)) => Err(Fault::NotDirectory(path)),
            target => target,
        },
        None => Err(Fault::InvalidInput("the folder of the pattern is no text".to_owned())),
    }
}

fn existing(target: Target) -> Result<Target, Fault> {
    if target.exists { Ok(target) } else { Err(Fault::NothingToSearch(target.path)) }
}

/// Takes `..` out of an absolute path by its text alone.
fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
