//! Opening a database that may be broken in every way that sled 0.34 knows (durability.md section 4, crates.md C.3).
//!
//! - Asked by whoever holds the session's lock: the session itself, or a command while nobody has it open.
//! - Order: own lock; remove what a killed snapshot left; open; without snapshots; set aside and begin anew.
//! - After every opening the index has to fit the journal: same session, and its last line as it stands there. Else it
//!   begins anew: an index of another journal would answer, and wrongly.
//! - sled panics on some damage; such a panic is caught and is damage ([`guarded`]).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use maia_journal::{Entries, JournalError, Lock};

use crate::error::IndexError;
use crate::store::Index;

/// Name of its folder in that of the session.
pub const FOLDER: &str = "index";

/// Name of its lock: a follower that ends with its session may outlive the session's own by a moment.
const LOCK: &str = "index.lock";

/// Beginning of the name of what was set aside; one is kept, for whoever wants to know why.
const ASIDE: &str = "index.corrupt-";

/// Bytes that sled may keep in memory (ENGINE 1).
const CACHE: u64 = 8 * 1024 * 1024;

/// Bytes of a segment of sled's file; 512 KB by default, and more than the index of a whole small session.
const SEGMENT: usize = 128 * 1024;

/// How often a database that was closed a moment ago is tried again, and how long apart: sled's threads let go late.
const TRIES: (u32, Duration) = (50, Duration::from_millis(20));

/// Opens the index of the session in folder `dir`, whose journal is `entries`; makes it when it is missing, and anew
/// when it is broken or does not fit.
///
/// The caller holds the session's lock. At return the index fits the journal as far as it reaches.
///
/// # Errors
/// [`IndexError::Busy`] when it is open elsewhere; [`IndexError::Io`] when not even a new one can be made.
pub fn open(dir: &Path, entries: &Entries) -> Result<Index, IndexError> {
    let lock = Lock::take(&dir.join(LOCK)).map_err(|error| match error {
        JournalError::Locked { .. } => IndexError::Busy,
        other => other.into(),
    })?;
    let folder = dir.join(FOLDER);
    let db = match open_mended(&folder) {
        Err(IndexError::Damaged(_)) => {
            set_aside(dir)?;
            open_database(&folder)?
        }
        other => other?,
    };
    let index = Index::new(db, lock, dir);
    match index.fits(entries) {
        Ok(true) => Ok(index),
        Ok(false) => begin_anew(index, dir, false),
        Err(IndexError::Damaged(_)) => begin_anew(index, dir, true),
        Err(error) => Err(error),
    }
}

/// Closes `index` and opens an empty one in its place, keeping what is there if it is `damaged`.
///
/// # Errors
/// As [`open`].
pub(crate) fn begin_anew(index: Index, dir: &Path, damaged: bool) -> Result<Index, IndexError> {
    let lock = index.close().ok_or(IndexError::Busy)?;
    let folder = dir.join(FOLDER);
    if damaged {
        set_aside(dir)?;
    } else {
        fs::remove_dir_all(&folder).map_err(IndexError::io("remove", &folder))?;
    }
    Ok(Index::new(open_database(&folder)?, lock, dir))
}

/// Opens the database, without its snapshots if it has to be.
fn open_mended(folder: &Path) -> Result<sled::Db, IndexError> {
    remove(folder, |name| name.starts_with("snap.") && name.ends_with(".generating"))?;
    match open_database(folder) {
        Err(IndexError::Damaged(_)) => {
            // The log itself is mostly whole: sled reads all of it again.
            remove(folder, |name| name.starts_with("snap."))?;
            open_database(folder)
        }
        other => other,
    }
}

fn open_database(folder: &Path) -> Result<sled::Db, IndexError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(IndexError::io("create", folder)(error));
        }
        _ => {}
    }
    // Nothing is flushed by a clock: at rest there is no work (SPEC section 6), and who has written flushes.
    let config = || {
        let config = sled::Config::new().path(folder).cache_capacity(CACHE).segment_size(SEGMENT);
        config.flush_every_ms(None)
    };
    let mut tries = 0;
    loop {
        match guarded(|| config().open()) {
            // Our own lock is held: it can only be a database of ours that is still being let go.
            Err(IndexError::Busy) if tries < TRIES.0 => {
                tries += 1;
                sleep(TRIES.1);
            }
            Ok(db) => {
                private(folder);
                return Ok(db);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Calls sled, and takes a panic for the damage that it is.
///
/// # Errors
/// [`IndexError`]; everything but a lock that is held is damage, also an input or output error: the index is built
/// again, and if that fails too it is off.
pub(crate) fn guarded<T>(call: impl FnOnce() -> sled::Result<T>) -> Result<T, IndexError> {
    GUARDED.set(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    match called {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(sled::Error::Io(error)))
            if error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("acquire lock") =>
        {
            Err(IndexError::Busy)
        }
        Ok(Err(error)) => Err(IndexError::Damaged(error.to_string())),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(IndexError::Damaged(said.unwrap_or_else(|| "sled panicked".to_owned())))
        }
    }
}

thread_local! {
    /// Whether this thread is in a call of sled.
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Keeps panics of sled, which are caught and mended, from being printed. For programs that own the panic hook.
pub fn hush_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let of_sled = std::thread::current().name().is_some_and(|name| name.starts_with("sled"));
        if !of_sled && !GUARDED.get() {
            before(info);
        }
    }));
}

/// Renames the folder, so that a new one can take its place; what was set aside before is let go.
fn set_aside(dir: &Path) -> Result<(), IndexError> {
    for entry in fs::read_dir(dir).map_err(IndexError::io("list", dir))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(ASIDE) {
            // What cannot be removed takes room, and nothing else.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let folder = dir.join(FOLDER);
    let time = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.f");
    match fs::rename(&folder, dir.join(format!("{ASIDE}{time}"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(IndexError::io("rename", &folder)(error))
        }
        _ => Ok(()),
    }
}

/// Removes the files of `folder` whose names fit.
fn remove(folder: &Path, fits: impl Fn(&str) -> bool) -> Result<(), IndexError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(IndexError::io("list", folder))?,
    };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&fits) {
            let path = entry.path();
            fs::remove_file(&path).map_err(IndexError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Takes from others what the process's mask may have given them; the folder is private in any case.
pub(crate) fn private(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let mode = if entry.path().is_dir() { 0o700 } else { 0o600 };
        // The folder above is 0700: nobody else gets here.
        let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode));
    }
}
