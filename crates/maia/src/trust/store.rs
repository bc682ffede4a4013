//! What the person said of folders: kept in `<state>/trust.json`, never in the folder (SAFETY 4).
//!
//! - Asked by [`super::decide`] and by the first screen; changed by the first screen and by `maia trust revoke`.
//! - A folder is trusted as it was seen: every item by kind, path and hash. One that brings something else is asked about again.
//! - A file that cannot be read is an error: nothing that was said is lost by writing over it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Item;
use crate::error::Failure;
use crate::settings::Places;

/// What is kept of all folders, by their real paths.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    folders: BTreeMap<PathBuf, Folder>,
}

/// What was said of one folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Folder {
    /// These items count.
    Trusted {
        /// What was shown.
        items: Vec<Seen>,
    },
    /// Nothing counts, and nobody asks.
    Never,
}

/// An item as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its kind.
    pub kind: String,
    /// Its file.
    pub path: PathBuf,
    /// SHA-256 of its bytes, hexadecimal.
    pub hash: String,
}

impl From<&Item> for Seen {
    fn from(item: &Item) -> Self {
        Self { kind: item.kind.to_owned(), path: item.path.clone(), hash: item.hash.clone() }
    }
}

/// What holds for a folder now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It brings nothing but what was trusted.
    Trusted,
    /// It is not to be asked about.
    Never,
    /// Nobody said anything of what it brings now.
    Open,
}

fn file(places: &Places) -> PathBuf {
    places.state.join("trust.json")
}

/// Bytes that the file may have.
const LARGEST: u64 = 16 * 1024 * 1024;

fn read(places: &Places) -> Result<Kept, Failure> {
    let file = file(places);
    let failed = |why: String| {
        Failure::failed(format!(
            "{}, which keeps the folders that you trust, cannot be read: {why}",
            file.display()
        ))
        .mend("mend the file, or move it away: then no folder is trusted")
    };
    match crate::settings::read_if_there(&file, LARGEST) {
        Ok(None) => Ok(Kept::default()),
        Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Returns what holds for the launch folder, which brings `items`.
///
/// # Errors
/// When the file cannot be read (exit 1).
pub fn standing(places: &Places, items: &[Item]) -> Result<Standing, Failure> {
    Ok(match read(places)?.folders.get(&places.cwd) {
        Some(Folder::Never) => Standing::Never,
        Some(Folder::Trusted { items: seen })
            if items.iter().all(|item| seen.contains(&Seen::from(item))) =>
        {
            Standing::Trusted
        }
        _ => Standing::Open,
    })
}

/// Returns what was said of every folder.
///
/// # Errors
/// When the file cannot be read (exit 1).
pub fn all(places: &Places) -> Result<Vec<(PathBuf, Folder)>, Failure> {
    Ok(read(places)?.folders.into_iter().collect())
}

/// Keeps what the person said of the launch folder.
///
/// # Errors
/// When the file cannot be read or written (exit 1).
pub fn keep(places: &Places, said: Folder) -> Result<(), Failure> {
    let mut kept = read(places)?;
    kept.folders.insert(places.cwd.clone(), said);
    write(places, &kept)
}

/// Forgets what was said of `folder`; tells whether anything was.
///
/// # Errors
/// When the file cannot be read or written (exit 1).
pub fn forget(places: &Places, folder: &Path) -> Result<bool, Failure> {
    let mut kept = read(places)?;
    let known = kept.folders.remove(folder).is_some();
    if known {
        write(places, &kept)?;
    }
    Ok(known)
}

fn write(places: &Places, kept: &Kept) -> Result<(), Failure> {
    let file = file(places);
    let failed = |error: &dyn std::error::Error| {
        Failure::failed(format!("{} cannot be written: {error}", file.display()))
            .mend("make the folder writable; until then the folder counts as not trusted")
    };
    let text = serde_json::to_vec_pretty(kept).map_err(|error| failed(&error))?;
    let save = || -> std::io::Result<()> {
        // Readable by its owner alone, as the sessions in it are (ENGINE 1).
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&places.state)?;
        // Made readable by its owner alone, and never half written.
        let mut new = tempfile::NamedTempFile::new_in(&places.state)?;
        new.write_all(&text)?;
        new.as_file().sync_all()?;
        new.persist(&file).map_err(|error| error.error)?;
        Ok(())
    };
    save().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(hash: &str) -> Item {
        Item { kind: "agent", path: PathBuf::from("/w/.maia/agents/a/AGENT.md"), hash: hash.to_owned() }
    }

    #[test]
    fn what_was_seen_is_trusted_and_anything_else_is_open() {
        let state = tempfile::tempdir().expect("a folder");
        let places = Places::new(Path::new("/h"), Path::new("/w"), state.path());
        assert_eq!(standing(&places, &[item("1")]).expect("read"), Standing::Open);
        keep(&places, Folder::Trusted { items: vec![Seen::from(&item("1"))] }).expect("written");
        assert_eq!(standing(&places, &[item("1")]).expect("read"), Standing::Trusted);
        assert_eq!(standing(&places, &[item("2")]).expect("read"), Standing::Open);
        assert_eq!(standing(&places, &[item("1"), item("3")]).expect("read"), Standing::Open);
        keep(&places, Folder::Never).expect("written");
        assert_eq!(standing(&places, &[item("1")]).expect("read"), Standing::Never);
        assert!(forget(&places, Path::new("/w")).expect("written"));
        assert_eq!(standing(&places, &[item("1")]).expect("read"), Standing::Open);
    }

    #[test]
    fn a_broken_file_trusts_nobody_and_is_not_written_over() {
        let state = tempfile::tempdir().expect("a folder");
        let places = Places::new(Path::new("/h"), Path::new("/w"), state.path());
        let (file, broken) = (state.path().join("trust.json"), "{\"folders\": {\"/w\": {\"ans");
        std::fs::write(&file, broken).expect("written");
        let refused =
            |failure: Option<Failure>| failure.is_some_and(|failure| failure.message.contains("trust.json"));
        assert!(refused(standing(&places, &[]).err()));
        assert!(refused(keep(&places, Folder::Never).err()));
        assert_eq!(std::fs::read_to_string(&file).expect("still there"), broken);
    }
}
