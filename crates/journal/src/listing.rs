//! The sessions of a project, at a glance: the first line of each journal and the last, nothing between.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maia_protocol::{Body, Seq};

use crate::blob::Blobs;
use crate::dir::JOURNAL;
use crate::entries::read_part;
use crate::error::JournalError;
use crate::line::{self, MAX_LINE};

/// Bytes looked at for the last record; a longer last line leaves it unknown.
const END_BYTES: usize = 64 * 1024;

/// What could be listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The sessions, the one that was used last first.
    pub sessions: Vec<SessionSummary>,
    /// What was left out, and why: one sentence each.
    pub warnings: Vec<String>,
}

/// A session at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// Its id, the name of its folder.
    pub id: String,
    /// Its folder.
    pub dir: PathBuf,
    /// Its label when it was first opened.
    pub name: String,
    /// When it was first opened.
    pub opened: Timestamp,
    /// Model of the main agent at its first opening.
    pub model: String,
    /// Launch folder.
    pub cwd: PathBuf,
    /// Number and time of its last record, when the end of the file shows it.
    pub last: Option<(Seq, Timestamp)>,
}

/// Lists the sessions of `project` (see [`crate::project_dir`]); a project that has none yet gives an empty list.
///
/// A folder without a record (made, and left before its first append) is passed over without a word.
///
/// # Errors
/// [`JournalError::Io`] when the project's folder cannot be listed; a session that cannot be read is a warning.
pub fn sessions(project: &Path) -> Result<Listing, JournalError> {
    let folder = project.join("sessions");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
        Err(error) => return Err(JournalError::io("list", &folder)(error)),
    };
    let mut listing = Listing::default();
    for entry in entries {
        let entry = entry.map_err(JournalError::io("list", &folder))?;
        match summary(&entry.path(), entry.file_name()) {
            Ok(found) => listing.sessions.extend(found),
            Err(problem) => {
                listing.warnings.push(format!("left out {}: {problem}", entry.path().display()));
            }
        }
    }
    let used = |session: &SessionSummary| session.last.map_or(session.opened, |(_, time)| time);
    listing.sessions.sort_by(|a, b| used(b).cmp(&used(a)).then_with(|| b.id.cmp(&a.id)));
    listing.warnings.sort();
    Ok(listing)
}

/// Reads what is shown of the session in `dir`; `None` when it has no record yet.
fn summary(dir: &Path, id: OsString) -> Result<Option<SessionSummary>, String> {
    let id = id.into_string().map_err(|_| "its name is not text".to_owned())?;
    let path = dir.join(JOURNAL);
    let found = match fs::metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound && dir.is_dir() => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !found.is_file() {
        return Err(format!("{JOURNAL} is not a file"));
    }
    if found.len() == 0 {
        return Ok(None);
    }
    let file = File::open(&path).map_err(|error| error.to_string())?;
    let start =
        read_part(&file, 0, found.len().min(MAX_LINE as u64) as usize).map_err(|error| error.to_string())?;
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let record = line::check(first)
        .and_then(|line| line::record(&line, &Blobs::new(dir)))
        .map_err(|fault| format!("its first record is damaged: {fault}"))?;
    let Body::SessionOpened(opened) = record.body else {
        return Err(format!("it begins with {} instead of session_opened", record.body.kind()));
    };
    let end = read_part(&file, found.len().saturating_sub(END_BYTES as u64), END_BYTES)
        .map_err(|error| error.to_string())?;
    // From behind: a torn end is passed over, as an opening would cut it off.
    let last = end.rsplit(|&byte| byte == b'\n').find_map(|bytes| line::check(bytes).ok());
    Ok(Some(SessionSummary {
        id,
        dir: dir.to_owned(),
        name: opened.name,
        opened: record.time,
        model: opened.model,
        cwd: opened.cwd,
        last: last.map(|line| (line.seq, line.time)),
    }))
}
