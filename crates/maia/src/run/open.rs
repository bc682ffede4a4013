//! Opens a session: its folder and journal, what it is to know, and what of a dead process is still there.
//!
//! - Asked by `maia run`, once; everything here blocks and happens before any agent starts.
//! - A new session gets a random id and a folder; a resumed one is found by name or id.
//! - Processes that a dead maia left are killed before anything else (ENGINE 7).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use maia_core::session::Session;
use maia_journal::{Journal, JournalFile, SessionDir};
use maia_protocol::permission::Sandbox;
use maia_protocol::record::{FOLD, SessionOpened};
use maia_protocol::snapshot::KnownAgent;
use maia_protocol::{ActorPath, Body, CallId, Mode, NewRecord, Record, Snapshot};

use crate::error::Failure;

/// A session that is open for writing.
pub struct Opened {
    /// Its folder.
    pub dir: PathBuf,
    /// Its random id.
    pub session: String,
    /// Its label.
    pub name: String,
    /// Its journal.
    pub journal: Box<dyn Journal>,
    /// What was in it.
    pub history: Vec<Record>,
    /// The fold of that.
    pub fold: Session,
    /// What is to be said of the opening.
    pub notes: Vec<String>,
}

/// Makes a new session of the project at `project`.
///
/// # Errors
/// When the folder cannot be made or its journal not opened (exit 1).
pub fn create(project: &Path) -> Result<Opened, Failure> {
    let id = uuid::Uuid::now_v7();
    let session = id.to_string();
    let dir = SessionDir::new(project, &session).map_err(|error| state_folder(project, &error))?;
    dir.create().map_err(|error| state_folder(project, &error))?;
    let others = dir.path().parent().and_then(|sessions| std::fs::read_dir(sessions).ok());
    let others = others.into_iter().flatten().flatten();
    let others = others.filter_map(|entry| uuid::Uuid::parse_str(entry.file_name().to_str()?).ok());
    let name = label(id, others);
    open(dir.path(), session, name)
}

/// Returns the label of the session `id`: its second, numbered when sessions of the same second came before it.
fn label(id: uuid::Uuid, others: impl Iterator<Item = uuid::Uuid>) -> String {
    let second = |id: uuid::Uuid| id.get_timestamp().map_or(0, |time| time.to_unix().0);
    let before = others.filter(|other| *other < id && second(*other) == second(id)).count();
    let time = i64::try_from(second(id)).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let time = time.unwrap_or_else(jiff::Timestamp::now).to_zoned(jiff::tz::TimeZone::system());
    let name = time.strftime("session_%Y-%m-%d_%H_%M_%S").to_string();
    if before == 0 { name } else { format!("{name}_{}", before + 1) }
}

fn state_folder(project: &Path, error: &dyn std::error::Error) -> Failure {
    let error = Failure::with_causes(error);
    Failure::failed(format!("the folder for sessions, {}, cannot be used: {error}", project.display())).mend(
        "make it writable, or set XDG_STATE_HOME to a folder that is: maia records every step before it takes it",
    )
}

/// Opens the session called `wanted`, by name or id. One that holds no request needs one (`has_prompt`).
///
/// # Errors
/// When there is none (exit 2), another process has it, or it cannot be written (exit 1).
pub fn find(project: &Path, wanted: &str, has_prompt: bool) -> Result<Opened, Failure> {
    let listing = maia_journal::sessions(project).map_err(|error| state_folder(project, &error))?;
    let named = |exact: bool| {
        listing.sessions.iter().find(|session| {
            let same = |text: &str| if exact { text == wanted } else { text.eq_ignore_ascii_case(wanted) };
            same(&session.id) || same(&session.name)
        })
    };
    let Some(found) = named(true).or_else(|| named(false)) else {
        let known: Vec<_> = listing.sessions.iter().take(5).map(|session| session.name.as_str()).collect();
        let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
        return Err(Failure::usage(format!("this folder has no session \"{wanted}\""))
            .mend(format!("the last ones: {known}")));
    };
    let mut opened = open(&found.dir, found.id.clone(), found.name.clone())?;
    if opened.fold.id.is_empty() || (opened.fold.turn == 0 && !has_prompt) {
        return Err(Failure::failed(format!("the session in {} holds no request", found.dir.display()))
            .mend("it was interrupted before its request was recorded: give the request again"));
    }
    opened.session.clone_from(&opened.fold.id);
    opened.name.clone_from(&opened.fold.name);
    Ok(opened)
}

/// How long a journal may take to finish what it was writing when its actor failed.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// Tells whether anything is recorded of the session in `dir`, whose actors have ended.
///
/// Blocks until the journal's writer has let go of it: what it was writing may land after its actor has failed.
pub fn is_kept(dir: &Path) -> bool {
    let begun = Instant::now();
    loop {
        match JournalFile::open(dir) {
            Ok(opened) => return !opened.records.is_empty(),
            Err(_) if begun.elapsed() < LAST_WRITE => std::thread::sleep(Duration::from_millis(10)),
            // Nobody can tell: the way on that loses nothing.
            Err(_) => return true,
        }
    }
}

fn open(dir: &Path, session: String, name: String) -> Result<Opened, Failure> {
    let opened = JournalFile::open(dir).map_err(|error| {
        let error = Failure::with_causes(&error);
        Failure::failed(format!("the session in {} cannot be opened: {error}", dir.display()))
            .mend("if another maia has it open, end that one or wait for it")
    })?;
    let mut notes = Vec::new();
    if opened.report.cut_bytes > 0 {
        let kept = opened.report.tail_file.as_ref().map(|file| format!(", kept as {}", file.display()));
        notes.push(format!(
            "the last {} bytes of the journal were not whole and were cut{}",
            opened.report.cut_bytes,
            kept.unwrap_or_default()
        ));
    }
    if let Some(why) = &opened.report.read_only {
        return Err(Failure::failed(format!("the session in {} cannot go on: {why}", dir.display()))
            .mend("nothing was changed; give the request again, as a new session"));
    }
    let mut fold = Session::default();
    for record in &opened.records {
        fold.step(record);
    }
    notes.extend(kill_leftovers(&opened.records));
    Ok(Opened {
        dir: dir.to_owned(),
        session,
        name,
        journal: Box::new(opened.journal),
        history: opened.records,
        fold,
        notes,
    })
}

/// Kills what is left of calls that began and have no end.
fn kill_leftovers(history: &[Record]) -> Vec<String> {
    let done: HashSet<&CallId> = history
        .iter()
        .filter_map(|record| match &record.body {
            Body::ToolDone { call, .. } => Some(call),
            _ => None,
        })
        .collect();
    let mut notes = Vec::new();
    for record in history {
        if let Body::ProcessStarted { call, pid, start_time, boot_id } = &record.body
            && !done.contains(call)
            && maia_tools::kill_leftover(*pid, *start_time, boot_id)
        {
            notes.push(format!("what {} had left running was ended", record.actor));
        }
    }
    notes
}

/// What an opening says of itself.
pub struct Opening {
    /// Launch folder.
    pub cwd: PathBuf,
    /// Model of the main agent.
    pub model: String,
    /// Definition of the main agent.
    pub agent: Option<KnownAgent>,
    /// Iterations of a turn.
    pub iterations: u32,
    /// Mode.
    pub mode: Mode,
    /// Sandbox.
    pub sandbox: Sandbox,
    /// Whether nobody can answer.
    pub headless: bool,
    /// What agents are to know.
    pub snapshot: Snapshot,
    /// The person's request.
    pub prompt: Option<String>,
}

/// Returns the records of this opening: one decision, one append (ENGINE 2).
pub fn records(opened: &Opened, opening: Opening) -> Vec<NewRecord> {
    let main = ActorPath::main();
    let resumed = !opened.fold.id.is_empty();
    let resumes = if resumed {
        std::iter::once(main.clone()).chain(opened.fold.open_agents.iter().cloned()).collect()
    } else {
        Vec::new()
    };
    let built: Vec<_> = opening.snapshot.tools.iter().map(|tool| tool.name.as_str()).collect();
    let tools = opening.agent.as_ref().map(|agent| {
        let (mut tools, _) = maia_core::agent_file::resolve_tools(&agent.definition, &built);
        tools.retain(|tool| built.contains(&tool.as_str()));
        // The main agent always may delegate (SPEC section 2).
        for tool in ["Agent", "Delegate"] {
            if built.contains(&tool) && !tools.iter().any(|known| known == tool) {
                tools.push(tool.to_owned());
            }
        }
        tools
    });
    let session_opened = Body::SessionOpened(SessionOpened {
        session: opened.session.clone(),
        name: opened.name.clone(),
        cwd: opening.cwd,
        model: opening.model,
        agent: opening.agent.as_ref().map(|agent| agent.definition.name.clone()),
        agent_hash: opening.agent.as_ref().map(|agent| agent.hash.clone()).unwrap_or_default(),
        tools,
        rules: opening.agent.map(|agent| agent.definition.permissions).unwrap_or_default(),
        iterations: opening.iterations,
        mode: opening.mode,
        sandbox: opening.sandbox,
        headless: opening.headless,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        fold: FOLD,
        resumed,
        resumes,
    });
    let snapshot = Body::SnapshotTaken(Box::new(opening.snapshot));
    let mut records =
        vec![NewRecord::new(main.clone(), session_opened), NewRecord::new(main.clone(), snapshot)];
    if let Some(text) = opening.prompt {
        // What was interrupted goes on; what is said with the resume is told to it.
        let body = if opened.fold.in_turn {
            Body::Told { from: "the person".to_owned(), text }
        } else {
            Body::UserMessage { turn: opened.fold.turn + 1, text }
        };
        records.push(NewRecord::new(main, body));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_one_second_have_names_of_their_own() {
        let at = |millis| uuid::Builder::from_unix_timestamp_millis(millis, &[1; 10]).into_uuid();
        let ids = [at(1_800_000_000_000), at(1_800_000_000_999), at(1_800_000_001_000)];
        let [first, second, later] = ids.map(|id| label(id, ids.into_iter()));
        assert!(first.starts_with("session_2027-01-1"), "{first}");
        assert_eq!(second, format!("{first}_2"));
        assert_eq!((later.len(), later == first), (first.len(), false), "{later}");
    }
}
