//! Gives records their numbers, makes them durable, and hands them to whoever folds them (ENGINE 1, ENGINE 2).
//!
//! - Asked by every machine of a session: `Append` for what it decided, `Subscribe` when it starts.
//! - Tells the owners of each record by path, in the order of numbers, then the event hub; the session when the disk is
//!   full. Records are durable, then applied, then shown.
//! - Owns the one thread that owns the file (`writer`). No disk is touched here, so that the mailbox never waits.
//! - Never restarted: what cannot be written ends the session as Root's failure, and a resume goes on (ENGINE 4).
//!
//! **What a machine can rely on.** Records come to a path in the order of their numbers, each at most once as
//! `Committed`. A `History` holds all records of the path up to some number N; every `Committed` that came to the path
//! before it holds nothing above N, and every later one nothing up to N. So a machine that starts drops each `Committed`
//! until its first `History`, and each `History` after that, and has missed nothing and folded nothing twice, also when
//! one that stood at the same path before had asked as well.

mod deliver;
mod index;
mod writer;

use std::sync::Arc;

use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::{ActorPath, NewRecord, Record};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use thiserror::Error;

use crate::address;
use crate::env::SessionEnv;
use crate::event_hub::EventHubMsg;
use crate::session::SessionMsg;
use writer::{Order, WriterHandle};

/// What the journal can be told.
pub enum JournalMsg {
    /// Append as one batch; owners hear of it when it is durable.
    Append {
        /// What one decision consists of.
        records: Vec<NewRecord>,
    },
    /// Give `path` its records so far (as `History`, through the address book), then every later one as `Committed`.
    Subscribe {
        /// Who asks: a machine, or the event hub, which gets all records.
        path: ActorPath,
    },
    /// The writing thread has committed a batch.
    Written {
        /// Its records, in order.
        records: Vec<Arc<Record>>,
    },
    /// The writing thread has read a history.
    Read {
        /// Who had asked.
        path: ActorPath,
        /// Its records, in order.
        records: Vec<Arc<Record>>,
    },
    /// The writing thread finds no room for a batch and keeps it.
    Full {
        /// What the system said.
        message: String,
    },
    /// The writing thread has found room again.
    Room,
    /// Try again now (a person pressed a key).
    Retry,
    /// The writing thread has ended: nothing can be written any more.
    Broken {
        /// What the system said.
        message: String,
    },
}

impl JournalMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Append { .. } => "Append",
            Self::Subscribe { .. } => "Subscribe",
            Self::Written { .. } => "Written",
            Self::Read { .. } => "Read",
            Self::Full { .. } => "Full",
            Self::Room => "Room",
            Self::Retry => "Retry",
            Self::Broken { .. } => "Broken",
        }
    }
}

/// What the journal starts from.
pub struct JournalArgs {
    /// What the session's actors share.
    pub env: Arc<SessionEnv>,
    /// The store, open for this process alone.
    pub journal: Box<dyn maia_journal::Journal>,
    /// All records that the opening found.
    pub history: Vec<Record>,
}

/// What the journal holds between messages.
pub struct JournalState {
    env: Arc<SessionEnv>,
    /// Dropped with the state, also by a kill: then the thread writes what it has, and ends.
    writer: WriterHandle,
}

/// Why the journal ended itself.
#[derive(Debug, Error)]
#[error("the journal cannot be written: {0}")]
pub struct JournalBroken(String);

/// The actor.
pub struct Journal;

impl Actor for Journal {
    type Msg = JournalMsg;
    type State = JournalState;
    type Arguments = JournalArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<JournalMsg>,
        args: JournalArgs,
    ) -> Result<JournalState, ActorProcessingErr> {
        let JournalArgs { env, journal, history } = args;
        let writer = writer::start(myself, journal, history, env.failpoints.clone())?;
        Ok(JournalState { env, writer })
    }

    async fn handle(
        &self,
        _myself: ActorRef<JournalMsg>,
        message: JournalMsg,
        state: &mut JournalState,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message("@journal", message.kind());
        match message {
            JournalMsg::Append { records } => state.writer.order(Order::Append(records)),
            JournalMsg::Subscribe { path } => state.writer.order(Order::Read(path)),
            JournalMsg::Retry => state.writer.order(Order::Retry),
            JournalMsg::Written { records } => {
                deliver::committed(&state.env.book, &records);
                if let (Some(committed), Some(last)) = (&state.env.committed, records.last()) {
                    committed(last.seq);
                }
                state.env.book.events(EventHubMsg::Batch { records });
            }
            JournalMsg::Read { path, records } if path == address::event_hub() => {
                state.env.book.events(EventHubMsg::History { records });
            }
            JournalMsg::Read { path, records } => state.env.book.history(&path, records),
            JournalMsg::Full { message } => {
                state.env.live(&ActorPath::main(), disk_full(&state.env, &message));
                state.env.book.session(SessionMsg::DiskFull);
            }
            JournalMsg::Room => {
                state.env.book.session(SessionMsg::DiskRoom);
            }
            JournalMsg::Broken { message } => return Err(JournalBroken(message).into()),
        }
        Ok(())
    }

    /// Waits until the file is closed, so that a session that was stopped in good order can be opened again at once.
    async fn post_stop(
        &self,
        _myself: ActorRef<JournalMsg>,
        state: &mut JournalState,
    ) -> Result<(), ActorProcessingErr> {
        state.writer.close().await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<JournalMsg>,
        _event: SupervisionEvent,
        _state: &mut JournalState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(()) // It supervises nobody.
    }
}

/// Returns the warning of a full disk, with its mend.
fn disk_full(env: &SessionEnv, problem: &str) -> EventBody {
    let folder = env.dir.display();
    EventBody::Notice(NoticeEvent::Warning {
        message: format!("the disk is full: nothing new starts until there is room ({problem})"),
        mend: Some(format!("free room on the disk of {folder}; maia goes on by itself")),
    })
}
