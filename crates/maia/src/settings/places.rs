//! The folders that everything is relative to: home, launch folder, state (mission M5.2-cwd, SPEC 4, ENGINE 1).

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::SettingsError;
use super::{Env, variable};

/// The folders of one run, all absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The person's home.
    pub home: PathBuf,
    /// The launch folder, links resolved.
    pub cwd: PathBuf,
    /// Where maia keeps its state.
    pub state: PathBuf,
}

impl Places {
    /// Takes the folders as they are, for tests; `cwd` must be absolute, without links.
    #[cfg(test)]
    pub fn new(home: &Path, cwd: &Path, state: &Path) -> Self {
        Self { home: home.to_owned(), cwd: cwd.to_owned(), state: state.to_owned() }
    }

    /// Finds the folders: `--cwd`, else `MAIA_CWD`, else `INIT_CWD`, else the process's; state in
    /// `$XDG_STATE_HOME/maia`, else `~/.local/state/maia`.
    ///
    /// `INIT_CWD` is set by package runners without being asked for, so one that is no folder is passed over.
    ///
    /// # Errors
    /// [`SettingsError::Folder`] when the folder asked for cannot be entered, [`SettingsError::NoHome`].
    pub fn find(flag: Option<&Path>, env: Env<'_>) -> Result<Self, SettingsError> {
        let home = match variable(env, "HOME").map(PathBuf::from).filter(|home| home.is_absolute()) {
            Some(home) => home,
            None => etcetera::home_dir().map_err(|_| SettingsError::NoHome)?,
        };
        let asked = match (flag, variable(env, "MAIA_CWD"), variable(env, "INIT_CWD")) {
            (Some(flag), _, _) => Some(("--cwd", flag.to_owned())),
            (None, Some(folder), _) => Some(("MAIA_CWD", PathBuf::from(folder))),
            (None, None, Some(folder)) if Path::new(&folder).is_dir() => {
                Some(("INIT_CWD", PathBuf::from(folder)))
            }
            _ => None,
        };
        let (source, folder) = match asked {
            Some(asked) => asked,
            None => ("the process", std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))),
        };
        let refuse = |cause: String| SettingsError::Folder {
            source_name: source.to_owned(),
            path: folder.clone(),
            cause,
        };
        let cwd = fs::canonicalize(&folder).map_err(|error| refuse(error.to_string()))?;
        if !cwd.is_dir() {
            return Err(refuse("this is not a folder".to_owned()));
        }
        if cwd.to_str().is_none() {
            return Err(refuse("its path is not UTF-8, and the journal could not hold it".to_owned()));
        }
        // The XDG rules tell to ignore a relative path.
        let state = variable(env, "XDG_STATE_HOME").map(PathBuf::from).filter(|state| state.is_absolute());
        let state = state.unwrap_or_else(|| home.join(".local/state")).join("maia");
        Ok(Self { home, cwd, state })
    }

    /// Returns `~/.maia`.
    pub fn user(&self) -> PathBuf {
        self.home.join(".maia")
    }

    /// Returns `.maia` of the launch folder.
    pub fn folder(&self) -> PathBuf {
        self.cwd.join(".maia")
    }

    /// Tells whether the launch folder's `.maia` is the person's own.
    pub fn folder_is_user(&self) -> bool {
        let (user, folder) = (self.user(), self.folder());
        user == folder
            || matches!((fs::canonicalize(user), fs::canonicalize(folder)), (Ok(a), Ok(b)) if a == b)
    }

    /// Returns the folder of this project's state: `<state>/projects/<folder name>-<hash of real path>` (ENGINE 1).
    ///
    /// The hash is the first 64 bits of SHA-256, hexadecimal. In the name everything but letters, digits, `_`, `.`
    /// and `-` becomes `_`.
    pub fn project(&self) -> PathBuf {
        let name = self.cwd.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let safe = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' };
        let name: String = name.chars().take(40).map(safe).collect();
        let digest = Sha256::digest(self.cwd.as_os_str().as_encoded_bytes());
        let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        self.state.join("projects").join(format!("{name}-{hash}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launch_folder_in_order() {
        let root = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(root.path()).unwrap();
        for name in ["flag", "maia", "init"] {
            fs::create_dir(real.join(name)).unwrap();
        }
        let path = |name: &str| real.join(name).display().to_string();
        let find = |flag: Option<&str>, maia: &str, init: &str| {
            let env = |name: &str| match name {
                "HOME" => Some("/home/x".to_owned()),
                "MAIA_CWD" => Some(maia.to_owned()),
                "INIT_CWD" => Some(init.to_owned()),
                "XDG_STATE_HOME" => Some("relative".to_owned()),
                _ => None,
            };
            Places::find(flag.map(Path::new), &env)
        };
        let all = find(Some(&path("flag")), &path("maia"), &path("init")).unwrap();
        assert_eq!(all.cwd, real.join("flag"));
        assert_eq!(all.state, Path::new("/home/x/.local/state/maia"));
        assert_eq!(find(None, &path("maia"), &path("init")).unwrap().cwd, real.join("maia"));
        assert_eq!(find(None, " ", &path("init")).unwrap().cwd, real.join("init"));
        let here = fs::canonicalize(std::env::current_dir().unwrap()).unwrap();
        assert_eq!(find(None, "", &path("gone")).unwrap().cwd, here);
        let error = find(None, &path("gone"), "").unwrap_err().to_string();
        assert!(error.contains("MAIA_CWD") && error.contains("gone"), "{error}");
    }

    #[test]
    fn a_folder_that_no_record_could_name_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let root = tempfile::tempdir().unwrap();
        let odd = root.path().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        fs::create_dir(&odd).unwrap();
        let env = |name: &str| (name == "HOME").then(|| "/home/x".to_owned());
        let error = Places::find(Some(&odd), &env).unwrap_err().to_string();
        assert!(error.contains("--cwd") && error.contains("not UTF-8"), "{error}");
    }

    #[test]
    fn projects_of_one_name_lie_apart() {
        let project = |cwd: &str| Places::new(Path::new("/h"), Path::new(cwd), Path::new("/s")).project();
        assert_ne!(project("/a/x"), project("/b/x"));
        assert!(project("/a/my app").display().to_string().starts_with("/s/projects/my_app-"));
        assert!(project("/").starts_with("/s/projects"));
    }
}
