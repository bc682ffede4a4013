//! The index of the session that is open (ENGINE 1): what follows the journal beside it, and what the inspector reads.
//!
//! - Started when the opening is asked for, on a thread of its own: never on the way to the first frame.
//! - Nothing that goes wrong with it ends or slows a session: it is a warning, and then the journal alone is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use maia_actors::env::{Committed, SessionEnv};
use maia_index::{Follower, Poke, Reader, Shared, item_of};
use maia_journal::JournalError;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::{ActorPath, Event, Record, Seq};

/// Records of an actor that are read at once when its older items are asked for: some screens full.
const OLDER: usize = 200;

/// The index of one open session.
pub struct SessionIndex {
    dir: PathBuf,
    poke: Arc<Poke>,
    shared: Shared,
    /// Ends with this value.
    follower: Option<Follower>,
}

impl SessionIndex {
    /// Returns that of the session in folder `dir`; nothing follows it yet.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), poke: Arc::default(), shared: Shared::default(), follower: None }
    }

    /// Returns what the journal calls after each commit.
    pub fn committed(&self) -> Committed {
        let poke = self.poke.clone();
        Box::new(move |seq| poke.committed(seq))
    }

    /// Begins to follow.
    pub fn follow(&mut self, env: &Arc<SessionEnv>) {
        let warned = env.clone();
        let warn = move |message| warning(&warned, message);
        match Follower::start(&self.dir, self.poke.clone(), self.shared.clone(), warn) {
            Ok(follower) => self.follower = Some(follower),
            Err(error) => warning(env, format!("this session is not indexed: {error}")),
        }
    }

    /// Returns what reads the session, with and without an index.
    pub fn reader(&self) -> Reader {
        Reader::beside(&self.dir, self.shared.clone())
    }
}

/// Returns events of `actor` and of its calls from the records before number `before`, in order: the last ones of many, none when there are
/// none. `session` is the session's id. Blocks on the disk.
///
/// # Errors
/// The journal cannot be read.
pub fn older(
    reader: &Reader,
    session: &str,
    actor: &ActorPath,
    mut before: Seq,
) -> Result<Vec<Arc<Event>>, JournalError> {
    let mut folded = None;
    loop {
        let records = reader.older(actor, before, OLDER)?;
        // Once, behind the newest of them: which model answered is said by other records.
        let overview = match folded.take() {
            Some(overview) => overview,
            None => reader.overview()?.0,
        };
        let project = |record: &Record| overview.projection_at(record.seq).events(record, session);
        let events = records.iter().flat_map(project);
        let events: Vec<_> = events.filter(|event| item_of(event) == *actor).map(Arc::new).collect();
        match records.first() {
            // Records without an event say nothing about those before them.
            Some(first) if events.is_empty() => before = first.seq,
            _ => return Ok(events),
        }
        folded = Some(overview);
    }
}

fn warning(env: &SessionEnv, message: String) {
    let notice = NoticeEvent::Warning { message, mend: None };
    env.live(&ActorPath::main(), EventBody::Notice(notice));
}

#[cfg(test)]
mod tests {
    use maia_journal::{Journal as _, JournalFile};
    use maia_protocol::{Body, NewRecord};

    use super::*;

    #[test]
    fn older_events_are_those_of_the_actor_however_many_records_have_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let (main, child) = (ActorPath::main(), ActorPath::main().child("reader", 1));
        let told = |actor: &ActorPath, text: &str| {
            NewRecord::new(actor.clone(), Body::Told { from: "person".to_owned(), text: text.to_owned() })
        };
        let mut records = vec![told(&main, "one"), told(&child, "another's"), told(&main, "two")];
        let silent = Body::TimerFired { step: 1 };
        records.extend((0..2 * OLDER).map(|_| NewRecord::new(main.clone(), silent.clone())));
        let mut journal = JournalFile::open(dir.path()).expect("it opens").journal;
        journal.append(&records, jiff::Timestamp::now()).expect("appended");
        let reader = SessionIndex::new(dir.path()).reader();
        let seqs = |before| -> Vec<Seq> {
            let events = older(&reader, "s", &main, before).expect("readable");
            events.iter().map(|event| event.seq).collect()
        };
        assert_eq!(seqs(Seq::MAX), [1, 3]);
        assert_eq!(seqs(3), [1]);
        assert_eq!(seqs(1), [0; 0]);
    }

    #[test]
    fn older_events_say_that_the_embedded_model_answers() {
        let dir = tempfile::tempdir().expect("a folder");
        let (main, child) = (ActorPath::main(), ActorPath::main().child("reader", 1));
        let told = |actor: &ActorPath| {
            let (from, text) = ("person".to_owned(), "more".to_owned());
            NewRecord::new(actor.clone(), Body::Told { from, text })
        };
        let chosen =
            |model: &str| NewRecord::new(main.clone(), Body::ModelChosen { model: model.to_owned() });
        let records = [told(&child), chosen(maia_protocol::DEMO), told(&child), chosen("m"), told(&child)];
        let mut journal = JournalFile::open(dir.path()).expect("it opens").journal;
        journal.append(&records, jiff::Timestamp::now()).expect("appended");
        let events = older(&SessionIndex::new(dir.path()).reader(), "s", &child, Seq::MAX).expect("readable");
        let seen: Vec<_> = events.iter().map(|event| (event.seq, event.demo)).collect();
        assert_eq!(seen, [(1, false), (3, true), (5, false)]);
    }
}
