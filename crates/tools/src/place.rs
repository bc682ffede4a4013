//! Where calls work, and which file a path really names.
//!
//! - Asked before a call is judged; the answer is what is judged, locked and later opened (SAFETY 3: check = use).
//! - Links are followed here, once; everything after this refuses to follow any.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use maia_protocol::tool::Target;

use crate::fault::Fault;

/// Links that one path may lead through: the kernel's own limit.
const LINKS: usize = 40;

/// Where the calls of a session work.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Launch folder, canonical.
    pub cwd: PathBuf,
    /// Home folder, what `~` stands for.
    pub home: PathBuf,
    /// Environment of child processes; see [`crate::child_env`].
    pub env: Vec<(String, String)>,
    /// The binary that answers to `__exec`; see [`crate::exec`].
    pub exe: PathBuf,
}

impl Workspace {
    /// Returns `path` as a person would write it: relative when it lies in the launch folder.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd).unwrap_or(path).display().to_string()
    }

    /// Returns where `raw` leads by its text: `~` and relative paths as mission M8-paths.
    pub(crate) fn absolute(&self, raw: &str) -> PathBuf {
        match raw.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(raw),
        }
    }
}

/// Returns the file that `raw` names: `~` and relative paths as mission M8-paths, links resolved, missing parts kept as named.
///
/// # Errors
/// [`Fault::SymlinkLoop`], or what the system says when a part of the path cannot be looked at.
pub(crate) fn resolve(raw: &str, workspace: &Workspace) -> Result<Target, Fault> {
    let (path, missing) = follow(&workspace.absolute(raw))?;
    let nearest = path.ancestors().nth(missing).unwrap_or(Path::new("/"));
    let metadata = fs::symlink_metadata(nearest).map_err(|source| Fault::io(nearest, "look at", source))?;
    Ok(Target {
        inside: path.starts_with(&workspace.cwd),
        exists: missing == 0,
        device: metadata.dev(),
        inode: metadata.ino(),
        path,
    })
}

/// A part of a path that is still to be looked at.
enum Part {
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = Part> + '_ {
    path.components().filter_map(|component| match component {
        Component::RootDir => Some(Part::Root),
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Follows every link of `start`; returns the path and how many of its last parts do not exist.
///
/// `..` leaves the folder that a link leads to, as it does for the kernel; after a missing part it takes that part back.
fn follow(start: &Path) -> Result<(PathBuf, usize), Fault> {
    let mut pending: VecDeque<Part> = parts(start).collect();
    let mut at = PathBuf::from("/");
    let mut missing = 0_usize;
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        let name = match part {
            Part::Root => {
                at = PathBuf::from("/");
                continue;
            }
            Part::Up => {
                at.pop();
                missing = missing.saturating_sub(1);
                continue;
            }
            Part::Name(name) => name,
        };
        at.push(name);
        if missing > 0 {
            missing += 1;
            continue;
        }
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = 1;
                continue;
            }
            Err(error) => return Err(Fault::io(&at, "look at", error)),
        };
        if metadata.is_symlink() {
            links += 1;
            if links > LINKS {
                return Err(Fault::SymlinkLoop(start.to_owned()));
            }
            let to = fs::read_link(&at).map_err(|source| Fault::io(&at, "look at", source))?;
            at.pop();
            for part in parts(&to).rev() {
                pending.push_front(part);
            }
        }
    }
    Ok((at, missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Ground {
        _folder: tempfile::TempDir,
        workspace: Workspace,
    }

    fn ground() -> Ground {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it exists");
        for name in ["here/sub", "home", "outside/deep"] {
            fs::create_dir_all(root.join(name)).expect("a new folder");
        }
        fs::write(root.join("here/f"), "x").expect("a new file");
        symlink("../outside/deep", root.join("here/out")).expect("a new link");
        symlink("nowhere/new", root.join("here/dangling")).expect("a new link");
        symlink("loop", root.join("here/loop")).expect("a new link");
        let workspace = Workspace {
            cwd: root.join("here"),
            home: root.join("home"),
            env: Vec::new(),
            exe: PathBuf::new(),
        };
        Ground { _folder: folder, workspace }
    }

    #[test]
    fn paths_are_resolved_as_the_kernel_would() {
        let ground = ground();
        let root = ground.workspace.cwd.parent().expect("made above").to_owned();
        let cases = [
            ("f", "here/f", true, true),
            ("./sub//../f", "here/f", true, true),
            ("new/deeper/x", "here/new/deeper/x", true, false),
            ("new/../f", "here/f", true, true),
            ("out/x", "outside/deep/x", false, false),
            ("out/../x", "outside/x", false, false),
            ("dangling", "here/nowhere/new", true, false),
            ("~", "home", false, true),
            ("~/x", "home/x", false, false),
            ("~//x", "home/x", false, false),
            ("~x", "here/~x", true, false),
            ("../here/f", "here/f", true, true),
        ];
        for (raw, path, inside, exists) in cases {
            let target = resolve(raw, &ground.workspace).expect(raw);
            assert_eq!(
                (target.path, target.inside, target.exists),
                (root.join(path), inside, exists),
                "{raw}"
            );
        }
    }

    #[test]
    fn a_missing_file_is_known_by_the_nearest_folder() {
        let ground = ground();
        let target = resolve("sub/new/x", &ground.workspace).expect("a new file");
        let folder = fs::metadata(ground.workspace.cwd.join("sub")).expect("made above");
        assert_eq!((target.device, target.inode), (folder.dev(), folder.ino()));
    }

    #[test]
    fn loops_and_files_on_the_way_are_faults() {
        let ground = ground();
        assert!(matches!(resolve("loop", &ground.workspace), Err(Fault::SymlinkLoop(_))));
        assert!(matches!(resolve("f/x", &ground.workspace), Err(Fault::FileNotFound(_))));
        let long = "x".repeat(5000);
        assert!(matches!(resolve(&long, &ground.workspace), Err(Fault::Io { .. })));
    }
}
