//! Where sessions lie: `<state>/projects/<folder>-<hash>/sessions/<id>/` (ENGINE 1). Private to the person.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::JournalError;

/// Characters of the launch folder's name that the project's folder keeps, for people who look; the hash tells
/// projects apart.
const NAME_CHARS: usize = 48;

/// Name of the journal in a session's folder.
pub(crate) const JOURNAL: &str = "journal.jsonl";

/// The folder of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDir {
    path: PathBuf,
}

impl SessionDir {
    /// Returns the folder of session `id` of `project` (see [`project_dir`]); nothing is touched.
    ///
    /// # Errors
    /// [`JournalError::BadId`] for anything but 1 to 128 letters, digits, `-` and `_`: an id may come from a command line.
    pub fn new(project: &Path, id: &str) -> Result<Self, JournalError> {
        let fits = (1..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !fits {
            return Err(JournalError::BadId(id.chars().take(128).collect()));
        }
        Ok(Self { path: project.join("sessions").join(id) })
    }

    /// Creates the folder and those above it, each 0700, durably. One that exists is left as it is.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn create(&self) -> Result<(), JournalError> {
        create_private(&self.path).map_err(JournalError::io("create the folder", &self.path))
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of `journal.jsonl`.
    pub fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// Returns the path of the folder of blobs; it exists once a body was too long for a line.
    pub fn blobs(&self) -> PathBuf {
        self.path.join("blobs")
    }

    /// Returns the path of the lock file.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }
}

/// Returns the folder of the project whose launch folder is `folder`: `<state>/projects/<name>-<hash of its real path>`.
///
/// # Errors
/// `folder` does not exist or cannot be reached.
pub fn project_dir(state: &Path, folder: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(folder)?;
    let name: String = real
        .file_name()
        .map_or_else(|| "root".into(), |name| name.to_string_lossy())
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .take(NAME_CHARS)
        .collect();
    let hash = hex(&Sha256::digest(real.as_os_str().as_bytes())[..8]);
    Ok(state.join("projects").join(format!("{name}-{hash}")))
}

/// Creates `path` with mode 0700 and what is missing above it; each new entry is durable at return.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_private(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        // Somebody else was faster; what counts is that it is there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        Err(error) => return Err(error),
    }
    sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns `bytes` in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_are_private() {
        let state = tempfile::tempdir().expect("a folder");
        let project = project_dir(&state.path().join("maia"), state.path()).expect("it exists");
        let session = SessionDir::new(&project, "0192-ab").expect("an id");
        session.create().expect("it can be made");
        session.create().expect("again");
        let mut path = session.path();
        while path != state.path() {
            let mode = fs::metadata(path).expect("made").permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
            path = path.parent().expect("below the state folder");
        }
    }

    #[test]
    fn an_id_cannot_lead_elsewhere() {
        for id in ["", ".", "..", "../x", "a/b", "a\0", "é", &"x".repeat(129)] {
            assert!(SessionDir::new(Path::new("/p"), id).is_err(), "{id:?}");
        }
    }

    #[test]
    fn a_project_is_its_real_path() {
        let state = tempfile::tempdir().expect("a folder");
        let folder = state.path().join("my folder\n");
        let link = state.path().join("link");
        fs::create_dir(&folder).expect("a folder");
        std::os::unix::fs::symlink(&folder, &link).expect("a link");
        let project = project_dir(Path::new("/s"), &folder).expect("it exists");
        assert_eq!(project, project_dir(Path::new("/s"), &link).expect("it exists"));
        let name = project.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(name.starts_with("my_folder_-") && name.len() == 11 + 16, "{name}");
        assert!(
            project_dir(Path::new("/s"), Path::new("/")).is_ok_and(|path| path.starts_with("/s/projects"))
        );
        assert!(project_dir(Path::new("/s"), &state.path().join("missing")).is_err());
    }
}
