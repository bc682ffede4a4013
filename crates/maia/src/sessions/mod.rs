//! `maia sessions list | show` (SPEC section 4): what is recorded, without opening it for writing.
//!
//! - Works beside a maia that has a session open, on torn ends, and on what a later version went on with; says so.
//! - Everything that is shown was written by models, tools and others: it is made harmless for the terminal (SAFETY 6).

mod find;
mod list;
mod show;
mod transcript;
mod units;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Subcommand;

use crate::error::Failure;
use crate::settings::Places;

/// What can be asked about sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// Lists the sessions of this folder, the one that was used last first.
    List {
        /// Prints one JSON line a session.
        #[arg(long)]
        json: bool,
        /// Lists those of every folder.
        #[arg(long)]
        all: bool,
    },
    /// Shows a session: its agents, and what one of them said and did.
    Show {
        /// The session: its name, its id, or the beginning of one that fits no other.
        name: String,
        /// Prints JSON lines: the session, its agents, then events as `maia run --json` does.
        #[arg(long)]
        json: bool,
        /// Shows the transcript of this agent instead of the main one's.
        #[arg(long, value_name = "PATH")]
        actor: Option<String>,
    },
}

/// Carries out `command` and returns the exit code.
///
/// # Errors
/// A session or an agent that is not there (exit 2); a folder or journal that cannot be read (exit 1).
pub fn run(command: SessionsCommand, places: &Places) -> Result<u8, Failure> {
    maia_index::hush_panics();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = match command {
        SessionsCommand::List { json, all } => {
            let projects = if all { projects(places)? } else { vec![places.project()] };
            list::list(&mut out, &projects, json, all)
        }
        SessionsCommand::Show { name, json, actor } => {
            let dir = find::find(&places.project(), &name)?;
            show::show(&mut out, &dir, actor.as_deref(), json)
        }
    };
    match written.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => Ok(0),
        Err(Trouble::Said(failure)) => Err(failure),
        // The reader went away: there is nobody left to tell.
        Err(Trouble::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(1),
        Err(Trouble::Output(error)) => {
            Err(Failure::failed(format!("the output could not be written: {error}")))
        }
    }
}

/// What can end a command: the output, or something that has to be said.
enum Trouble {
    Output(io::Error),
    Said(Failure),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Said(failure)
    }
}

/// Returns the folders of all projects.
fn projects(places: &Places) -> Result<Vec<PathBuf>, Failure> {
    let folder = places.state.join("projects");
    match std::fs::read_dir(&folder) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::failed(format!("{} cannot be listed: {error}", folder.display()))),
    }
}
