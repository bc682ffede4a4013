//! `maia sessions list`: one line a session, the one that was used last first.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maia_index::{Glance, glance};
use maia_journal::Holders;
use serde_json::json;

use super::Trouble;
use super::units::{State, age, cut, short};
use crate::error::Failure;
use crate::print::{count, plain, say};

/// Characters of a request in a list.
const REQUEST_CHARS: usize = 60;

/// A session of the list.
struct Listed {
    id: String,
    glance: Glance,
    state: State,
}

/// Lists the sessions of `projects`; `all` tells whether their folders are to be shown.
pub fn list(out: &mut impl Write, projects: &[PathBuf], json: bool, all: bool) -> Result<(), Trouble> {
    let holders = Holders::read();
    let (mut listed, mut warnings) = (Vec::new(), Vec::new());
    for project in projects {
        look(project, &holders, &mut listed, &mut warnings)?;
    }
    let used = |session: &Listed| session.glance.last.map(|(_, time)| time).or(session.glance.opened);
    listed.sort_by(|a, b| used(b).cmp(&used(a)).then_with(|| b.id.cmp(&a.id)));
    let now = Timestamp::now();
    for session in &listed {
        if json {
            writeln!(out, "{}", line_of_json(session))?;
        } else {
            writeln!(out, "{}", line(session, now, all))?;
        }
    }
    out.flush()?;
    if listed.is_empty() && !json {
        say(if all {
            "there are no sessions yet"
        } else {
            "this folder has no sessions yet (--all lists every folder's)"
        });
    }
    warnings.sort();
    for warning in warnings {
        say(&warning);
    }
    Ok(())
}

/// Looks at every session of `project`; one without a record, which nobody ever used, is passed over.
fn look(
    project: &Path,
    holders: &Holders,
    listed: &mut Vec<Listed>,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let folder = project.join("sessions");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::failed(format!("{} cannot be listed: {error}", folder.display()))),
    };
    for entry in entries.flatten() {
        let dir = entry.path();
        if !dir.join("journal.jsonl").is_file() {
            continue;
        }
        match glance(&dir) {
            Ok(Some(glance)) => {
                let state = State::new(glance.closed, holders.of(&dir));
                listed.push(Listed { id: entry.file_name().to_string_lossy().into_owned(), glance, state });
            }
            Ok(None) => {}
            Err(error) => {
                warnings.push(format!(
                    "warning: left out {}: {}",
                    dir.display(),
                    Failure::with_causes(&error)
                ));
            }
        }
    }
    Ok(())
}

fn line(session: &Listed, now: Timestamp, all: bool) -> String {
    let Listed { glance, state, .. } = session;
    let used = glance.last.map(|(_, time)| time).or(glance.opened).unwrap_or(now);
    let folder = if all { format!("{} · ", glance.cwd.display()) } else { String::new() };
    let (input, output) = glance.tokens;
    let text = format!(
        "{:<30} {:<11} {:>6} ago · {} · {} · {} tokens · {folder}{}",
        glance.name,
        state.word(),
        age(used, now),
        count(glance.turns.into(), "turn"),
        count(glance.children, "agent"),
        short(input.saturating_add(output)),
        cut(&glance.request, REQUEST_CHARS),
    );
    plain(&text.replace(['\n', '\t'], " ")).trim_end().to_owned()
}

fn line_of_json(session: &Listed) -> serde_json::Value {
    let Listed { id, glance, state } = session;
    json!({
        "id": id, "name": glance.name, "cwd": glance.cwd, "model": glance.model, "state": state.word(),
        "open_in": state.holder(), "opened": glance.opened, "last": glance.last.map(|(_, time)| time),
        "records": glance.last.map(|(seq, _)| seq), "request": glance.request, "turns": glance.turns,
        "agents": glance.children, "input_tokens": glance.tokens.0, "output_tokens": glance.tokens.1,
    })
}
