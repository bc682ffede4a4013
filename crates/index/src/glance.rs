//! What a list shows of a session, without reading all of it: its first lines, its last ones, and a count of bytes.
//!
//! - Asked by `maia sessions list`, for each of perhaps a thousand sessions; no database is opened for it.
//! - A session that was closed in good order says at its end what it used. Only one that was not is folded.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maia_journal::{Entries, Fault, JournalError, Position};
use maia_protocol::outcome::EndReason;
use maia_protocol::{Body, Seq};
use serde::Deserialize;

use crate::overview::{self, Overview};
use crate::reader::Reader;

/// Lines looked at for the first request: it stands in the first batch.
const FIRST_LINES: Seq = 8;

/// Bytes looked at for the end.
const END_BYTES: usize = 32 * 1024;

/// What a line of the kind `delegated` holds; in a text its quotes would be escaped.
const DELEGATED: &[u8] = b",\"kind\":\"delegated\",\"body\":{";

/// What lines of the kinds hold that name the model of the main agent.
const NAMES_MODEL: [&[u8]; 2] =
    [b",\"kind\":\"session_opened\",\"body\":{", b",\"kind\":\"model_chosen\",\"body\":{"];

/// A session as a list shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance {
    /// Its random id.
    pub session: String,
    /// Its label.
    pub name: String,
    /// Launch folder.
    pub cwd: PathBuf,
    /// Model of the main agent, the last one that it had.
    pub model: String,
    /// When it was first opened.
    pub opened: Option<Timestamp>,
    /// Number and time of its last record.
    pub last: Option<(Seq, Timestamp)>,
    /// Its first request, in one line; `&agent task` where that was a task for an agent.
    pub request: String,
    /// Turns of the main agent.
    pub turns: u32,
    /// Why it was closed; `None` while it is open, and when it was interrupted.
    pub closed: Option<EndReason>,
    /// Agents beside the main one.
    pub children: u64,
    /// Tokens of the whole tree, sent and received.
    pub tokens: (u64, u64),
    /// What is wrong with the first line that is no good record.
    pub fault: Option<Fault>,
}

/// Looks at the session in folder `dir`; `None` when nothing is recorded.
///
/// # Errors
/// The journal cannot be read, or its first record cannot.
pub fn glance(dir: &Path) -> Result<Option<Glance>, JournalError> {
    let entries = Entries::open(dir)?;
    if entries.bytes()? == 0 {
        return Ok(None);
    }
    let mut glance = Glance::default();
    let stopped = entries.each(Position::default(), |entry| {
        match entry.record().map(|record| (record.time, record.body)) {
            Ok((time, Body::SessionOpened(opened))) if glance.opened.is_none() => {
                glance.opened = Some(time);
                (glance.session, glance.name) = (opened.session, opened.name);
                (glance.cwd, glance.model) = (opened.cwd, opened.model);
            }
            Ok((_, Body::UserMessage { text, .. })) => glance.request = overview::line(&text),
            Ok((_, Body::Delegated(delegated))) => glance.request = overview::beside(&delegated),
            Ok(_) => {}
            Err(fault) => glance.fault = Some(fault),
        }
        let done = !glance.request.is_empty() || entry.line.seq >= FIRST_LINES || glance.fault.is_some();
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    glance.fault = stopped.or(glance.fault);
    if glance.opened.is_none() {
        return match glance.fault.take() {
            // The very first write was cut short: nobody ever saw this session.
            None | Some(Fault::Torn) => Ok(None),
            Some(fault) => Err(JournalError::Damaged { seq: 1, fault }),
        };
    }
    if look_at_end(&entries, &mut glance)? {
        let between = between(dir).map_err(|source| JournalError::Io {
            doing: "read",
            path: dir.to_owned(),
            source,
        })?;
        glance.children = between.children;
        glance.model = between.model.unwrap_or(std::mem::take(&mut glance.model));
    } else {
        let (overview, fault) = Reader::beside(dir, Default::default()).overview()?;
        fold(&mut glance, &overview, fault);
    }
    Ok(Some(glance))
}

/// Reads what the last lines say; tells whether the session was closed and they say all of it.
fn look_at_end(entries: &Entries, glance: &mut Glance) -> Result<bool, JournalError> {
    let (mut last, mut turns) = (None, None);
    entries.each_from_behind(END_BYTES, |entry| {
        if last.is_none() {
            last = Some((entry.line.seq, entry.line.time));
            let Ok(Body::SessionClosed { reason, totals, .. }) = entry.record().map(|record| record.body)
            else {
                return ControlFlow::Break(());
            };
            glance.closed = Some(reason);
            glance.tokens = (totals.input_tokens, totals.output_tokens);
        } else if matches!(&*entry.line.kind, "turn_finished" | "user_message") {
            turns = match entry.record().map(|record| record.body) {
                Ok(Body::TurnFinished { turn, .. } | Body::UserMessage { turn, .. }) => Some(turn),
                _ => None,
            };
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    glance.last = last;
    glance.turns = turns.unwrap_or_default();
    Ok(glance.closed.is_some() && turns.is_some())
}

fn fold(glance: &mut Glance, overview: &Overview, fault: Option<Fault>) {
    glance.last = overview.last.or(glance.last);
    (glance.turns, glance.closed) = (overview.turns, overview.closed);
    glance.request.clone_from(&overview.request);
    glance.model.clone_from(&overview.model);
    glance.children = (overview.agents.len() as u64).saturating_sub(1);
    let tokens = overview.agents.iter().map(|agent| (agent.totals.input_tokens, agent.totals.output_tokens));
    glance.tokens =
        tokens.fold((0, 0), |(a, b), (more_a, more_b)| (a.saturating_add(more_a), b.saturating_add(more_b)));
    glance.fault = fault;
}

/// What stands between the first lines and the last ones.
#[derive(Default)]
struct Between {
    /// Agents that were spawned.
    children: u64,
    /// The model that was named last.
    model: Option<String>,
}

/// Looks for it by the bytes of lines, without reading them one by one.
fn between(dir: &Path) -> io::Result<Between> {
    let mut file = File::open(dir.join("journal.jsonl"))?;
    let spawned = memchr::memmem::Finder::new(DELEGATED);
    let names = NAMES_MODEL.map(memchr::memmem::Finder::new);
    let longest = NAMES_MODEL.iter().fold(DELEGATED.len(), |longest, text| longest.max(text.len()));
    let mut found = Between::default();
    // Where the buffer lies in the file, how much of it was looked at before, and where the last name's body begins.
    let (mut buffer, mut start, mut kept, mut named) = (vec![0; 256 * 1024], 0_u64, 0, None);
    loop {
        let read = match file.read(&mut buffer[kept..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = kept + read;
        // What ends in the part that was kept has been found before.
        let ends = |finder: &memchr::memmem::Finder<'_>| -> Vec<usize> {
            let len = finder.needle().len();
            finder.find_iter(&buffer[..filled]).map(|at| at + len).filter(|&end| end > kept).collect()
        };
        found.children += ends(&spawned).len() as u64;
        for name in &names {
            named = named.max(ends(name).last().map(|&end| start + end as u64 - 1));
        }
        let keep = filled.min(longest - 1);
        buffer.copy_within(filled - keep..filled, 0);
        start += (filled - keep) as u64;
        kept = keep;
    }
    if let Some(at) = named {
        file.seek(io::SeekFrom::Start(at))?;
        let bodies = serde_json::Deserializer::from_reader(io::BufReader::new(file));
        // A body that is kept apart names none here: then it is the one of before.
        found.model = bodies.into_iter::<Named>().next().and_then(Result::ok).map(|named| named.model);
    }
    Ok(found)
}

/// What is read of a body that names a model.
#[derive(Deserialize)]
struct Named {
    model: String,
}
