//! What was interrupted in this folder: looked for when maia starts plainly, and gone on with by a key (SPEC section 4).
//!
//! - Asked beside the first frame, on a blocking thread: of most sessions the ends of their files are enough.
//! - Owns nothing, opens nothing for writing; a session that somebody has open is left alone.

use std::path::Path;
use std::time::{Duration, Instant};

use maia_core::session::Session;
use maia_journal::{Holders, JournalFile, SessionSummary, read_all};
use maia_protocol::Body;
use maia_tui::Lang;

use crate::error::Failure;
use crate::print::count;

/// Sessions that are looked at, the one that was used last first.
const LOOKED_AT: usize = 20;

/// Characters of the request that are shown.
const REQUEST_CHARS: usize = 60;

/// How long a journal may take to be let go of by its writer.
const LET_GO: Duration = Duration::from_secs(2);

/// A session that was not closed and that nobody has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Its id.
    pub id: String,
    /// Its label.
    pub name: String,
    /// The request of its last turn, in some words; empty where that turn had ended.
    pub request: String,
    /// Sub-agents that were at work.
    pub agents: usize,
}

impl Interrupted {
    /// Returns it as one line that names the key.
    pub fn line(&self, lang: Lang) -> String {
        let Self { name, request, agents, .. } = self;
        match lang {
            Lang::En => {
                let what = if request.is_empty() { String::new() } else { format!("\"{request}\" in ") };
                let agents = match agents {
                    0 => String::new(),
                    n => format!(", {} at work", count(*n as u64, "agent")),
                };
                format!("interrupted: {what}{name}{agents} · r goes on with it")
            }
            Lang::Fr => {
                let what = if request.is_empty() { String::new() } else { format!("« {request} » dans ") };
                let agents = match agents {
                    0 => String::new(),
                    n => format!(", {} au travail", count(*n as u64, "agent")),
                };
                format!("interrompu : {what}{name}{agents} · r pour continuer")
            }
        }
    }
}

/// Returns the session of `project` that was interrupted last; `own` is the one that is being shown.
pub fn look(project: &Path, own: &str) -> Option<Interrupted> {
    let holders = Holders::read();
    let listing = maia_journal::sessions(project).ok()?;
    let others = listing.sessions.iter().filter(|session| session.id != own).take(LOOKED_AT);
    others.filter(|session| holders.of(&session.dir).is_none()).find_map(interrupted)
}

fn interrupted(session: &SessionSummary) -> Option<Interrupted> {
    if is_closed(&session.dir)? {
        return None;
    }
    let (records, _) = read_all(&session.dir).ok()?;
    let (mut fold, mut request) = (Session::default(), String::new());
    for record in &records {
        fold.step(record);
        if let Body::UserMessage { text, .. } = &record.body {
            request.clone_from(text);
        }
    }
    if fold.closed.is_some() || !has_work(&fold) {
        return None;
    }
    let request = if fold.in_turn { words(&request) } else { String::new() };
    Some(Interrupted { id: session.id.clone(), name: fold.name, request, agents: fold.open_agents.len() })
}

/// Tells whether the last line says that the session was closed; `None` when it cannot be read.
fn is_closed(dir: &Path) -> Option<bool> {
    let entries = maia_journal::Entries::open(dir).ok()?;
    let mut closed = false;
    let end = entries.each_from_behind(END_BYTES, |entry| {
        closed = &*entry.line.kind == "session_closed";
        std::ops::ControlFlow::Break(())
    });
    end.ok().map(|_| closed)
}

/// Bytes looked at for the last line.
const END_BYTES: usize = 64 * 1024;

/// Tells whether anything was asked in a session.
fn has_work(fold: &Session) -> bool {
    fold.turn > 0 || !fold.agents.is_empty()
}

fn words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REQUEST_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default().trim_end()),
        None => line,
    }
}

/// Returns the id of the session of `project` that was used last and holds a request (`-c`).
///
/// # Errors
/// When there is none (exit 2), or the folder cannot be read (exit 1).
pub fn last(project: &Path) -> Result<String, Failure> {
    let listing = maia_journal::sessions(project).map_err(|error| {
        let error = Failure::with_causes(&error);
        Failure::failed(format!("the sessions in {} cannot be listed: {error}", project.display()))
    })?;
    let has_request = |session: &&SessionSummary| {
        read_all(&session.dir).is_ok_and(|(records, _)| {
            records.iter().any(|record| matches!(record.body, Body::UserMessage { .. } | Body::Delegated(_)))
        })
    };
    let found = listing.sessions.iter().take(LOOKED_AT).find(has_request);
    found.map(|session| session.id.clone()).ok_or_else(|| {
        Failure::usage("this folder has no session to go on with")
            .mend("begin one: maia, or maia run REQUEST")
    })
}

/// Removes the session in `dir`, whose actors have ended, if nothing was asked in it. Blocks until its journal is free.
pub fn remove_unused(dir: &Path) {
    let begun = Instant::now();
    let opened = loop {
        match JournalFile::open(dir) {
            Ok(opened) => break opened,
            Err(_) if begun.elapsed() < LET_GO => std::thread::sleep(Duration::from_millis(10)),
            // Left as it is: an empty session does no harm.
            Err(_) => return,
        }
    };
    let mut fold = Session::default();
    opened.records.iter().for_each(|record| fold.step(record));
    if !has_work(&fold) {
        // While its lock is held: nobody else opens it meanwhile.
        let _ = std::fs::remove_dir_all(dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use maia_journal::{Journal as _, SessionDir};
    use maia_protocol::outcome::{EndReason, Totals};
    use maia_protocol::record::{AskedAgain, Delegated, SessionOpened};
    use maia_protocol::{ActorPath, CallId, Mode, NewRecord, RuleSet, permission::Sandbox};

    fn opened(name: &str) -> Body {
        Body::SessionOpened(SessionOpened {
            session: name.to_owned(),
            name: name.to_owned(),
            cwd: "/".into(),
            model: "m".to_owned(),
            agent: None,
            agent_hash: String::new(),
            tools: None,
            rules: RuleSet::default(),
            iterations: 50,
            mode: Mode::Confirm,
            sandbox: Sandbox::None,
            headless: false,
            version: "0".to_owned(),
            fold: 1,
            resumed: false,
            resumes: Vec::new(),
        })
    }

    fn asked(text: &str) -> Body {
        Body::UserMessage { turn: 1, text: text.to_owned() }
    }

    fn closed() -> Body {
        let (reason, totals) = (EndReason::Done, Totals::default());
        Body::SessionClosed { reason, result: String::new(), totals, main: totals }
    }

    /// Writes a session, and returns its journal, which holds its lock.
    fn write(project: &Path, name: &str, at: i64, bodies: Vec<(ActorPath, Body)>) -> JournalFile {
        let dir = SessionDir::new(project, name).expect("a name");
        dir.create().expect("a folder");
        let mut journal = JournalFile::open(dir.path()).expect("a journal").journal;
        let main = ActorPath::main();
        let all = std::iter::once((main, opened(name))).chain(bodies);
        let records: Vec<_> = all.map(|(actor, body)| NewRecord::new(actor, body)).collect();
        journal.append(&records, Timestamp::from_second(at).expect("a time")).expect("written");
        journal
    }

    fn spawned() -> (ActorPath, Body) {
        let main = ActorPath::main();
        let delegated = Delegated {
            call: CallId::new(&main, 0, 1),
            definition: "a".to_owned(),
            definition_hash: String::new(),
            task: "t".to_owned(),
            model: "m".to_owned(),
            iterations: 1,
            tools: Vec::new(),
            rules: RuleSet::default(),
            snapshot: 1,
        };
        (main.child("a", 1), Body::Delegated(Box::new(delegated)))
    }

    #[test]
    fn the_last_session_that_was_cut_off_is_found() {
        let project = tempfile::tempdir().expect("a folder");
        let (main, look) = (ActorPath::main(), || look(project.path(), "own"));
        assert_eq!(look(), None, "no session at all");
        drop(write(project.path(), "old", 1_000, vec![(main.clone(), asked("the old one"))]));
        drop(write(project.path(), "cut", 2_000, vec![(main.clone(), asked("look\n  here")), spawned()]));
        drop(write(
            project.path(),
            "whole",
            3_000,
            vec![(main.clone(), asked("x")), (main.clone(), closed())],
        ));
        drop(write(project.path(), "empty", 4_000, vec![]));
        drop(write(project.path(), "own", 5_000, vec![(main.clone(), asked("mine"))]));
        let held = write(project.path(), "held", 6_000, vec![(main.clone(), asked("elsewhere"))]);
        let found = look().expect("the one that was cut off");
        assert_eq!((found.id.as_str(), found.request.as_str(), found.agents), ("cut", "look here", 1));
        assert_eq!(
            found.line(Lang::En),
            "interrupted: \"look here\" in cut, 1 agent at work · r goes on with it"
        );
        assert!(found.line(Lang::Fr).contains("« look here »"), "{}", found.line(Lang::Fr));
        drop(held);
        assert_eq!(look().map(|found| found.id).as_deref(), Some("held"));
        assert_eq!(last(project.path()).expect("one"), "held");
    }

    #[test]
    fn an_agent_that_was_asked_again_counts_as_at_work() {
        let project = tempfile::tempdir().expect("a folder");
        let (agent, delegated) = spawned();
        let finished = maia_protocol::record::ChildFinished {
            call: CallId::new(&ActorPath::main(), 0, 1),
            outcome: maia_protocol::Outcome::Done,
            cause: None,
            summary: String::new(),
            totals: Totals::default(),
            subtree: Totals::default(),
        };
        let again = AskedAgain { call: CallId::new(&agent, 0, 1), text: "t".to_owned(), iterations: 1 };
        let bodies = [delegated, Body::ChildFinished(Box::new(finished)), Body::AskedAgain(again)];
        let bodies = bodies.map(|body| (agent.clone(), body));
        drop(write(project.path(), "cut", 1_000, bodies.into()));
        let found = look(project.path(), "own").expect("it is at work");
        assert_eq!((found.request.as_str(), found.agents), ("", 1));
        assert_eq!(found.line(Lang::En), "interrupted: cut, 1 agent at work · r goes on with it");
    }

    #[test]
    fn only_a_session_without_work_is_removed() {
        let project = tempfile::tempdir().expect("a folder");
        let dir = |name: &str| project.path().join("sessions").join(name);
        drop(write(project.path(), "empty", 1_000, vec![(ActorPath::main(), closed())]));
        drop(write(project.path(), "used", 2_000, vec![(ActorPath::main(), asked("x"))]));
        remove_unused(&dir("empty"));
        remove_unused(&dir("used"));
        assert_eq!((dir("empty").exists(), dir("used").exists()), (false, true));
        assert!(last(project.path()).is_ok_and(|id| id == "used"));
    }

    #[test]
    fn a_long_request_is_shown_in_some_words() {
        let shown = words(&"words and ".repeat(20));
        assert!(shown.chars().count() <= REQUEST_CHARS + 1 && shown.ends_with('…'), "{shown}");
    }
}
