//! Locks of files for the agents of all sessions: readers share, writers exclude, in asked order (ENGINE 5).
//!
//! - Asked by the executors of calls on files; a grant is told to the executor by path, through its session's table of addresses.
//! - Owns the queues; who holds what lies outside ([`LockTableArgs::held`]), written before a grant is told.
//! - After a restart what is held is taken from there; those that waited ask again by themselves.
//! - A holder that stands nowhere any more, its release lost with an earlier table, keeps nobody waiting.

use std::collections::HashMap;
use std::sync::Arc;

use dashmap::DashMap;
use maia_core::locks::Table;
use maia_protocol::ActorPath;
use maia_protocol::tool::LockMode;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::address::AddressBook;
use crate::failpoint::Failpoints;
use crate::tool_executor::ToolExecutorMsg;

/// Who holds or waits for a lock: an executor, which has one call and so one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The session's id.
    pub session: String,
    /// The executor's path.
    pub executor: ActorPath,
}

/// What a holder holds.
#[derive(Clone)]
pub struct Held {
    /// Key of the lock.
    pub key: String,
    /// How it is held.
    pub mode: LockMode,
    /// Addresses of the holder's session.
    pub book: AddressBook,
}

/// What the table can be told.
pub enum LockTableMsg {
    /// `holder` wants `key`; it is told [`ToolExecutorMsg::LockGranted`] when it has it. Asking again changes nothing.
    Acquire {
        /// Who.
        holder: Holder,
        /// Key of the lock.
        key: String,
        /// How it is to be held.
        mode: LockMode,
        /// Addresses of the holder's session.
        book: AddressBook,
    },
    /// `holder` gives back what it holds, or waits no longer.
    Release {
        /// Who.
        holder: Holder,
    },
}

impl LockTableMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Acquire { .. } => "Acquire",
            Self::Release { .. } => "Release",
        }
    }
}

/// What the table is started with.
pub struct LockTableArgs {
    /// Who holds what, kept through restarts of the table; nobody else writes it.
    pub held: Arc<DashMap<Holder, Held>>,
    /// Faults to inject.
    pub failpoints: Failpoints,
}

/// State of [`LockTable`].
pub struct LockTableState {
    table: Table<Holder>,
    held: Arc<DashMap<Holder, Held>>,
    waiting: HashMap<Holder, Held>,
    failpoints: Failpoints,
}

/// The actor.
pub struct LockTable;

impl Actor for LockTable {
    type Msg = LockTableMsg;
    type State = LockTableState;
    type Arguments = LockTableArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let LockTableArgs { held, failpoints } = args;
        held.retain(|holder, held| held.book.has(&holder.executor));
        let mut table = Table::default();
        for entry in held.iter() {
            table.restore(&entry.key, entry.key().clone(), entry.mode);
        }
        Ok(LockTableState { table, held, waiting: HashMap::new(), failpoints })
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.failpoints.message("@locks", message.kind());
        match message {
            LockTableMsg::Acquire { holder, key, mode, book } => {
                acquire(state, holder, Held { key, mode, book });
            }
            LockTableMsg::Release { holder } => release(state, &holder),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Self::Msg>,
        _: SupervisionEvent,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // It supervises nobody.
        Ok(())
    }
}

fn acquire(state: &mut LockTableState, holder: Holder, wanted: Held) {
    if state.table.acquire(&wanted.key, holder.clone(), wanted.mode) {
        grant(state, holder, wanted);
        return;
    }
    let key = wanted.key.clone();
    state.waiting.insert(holder, wanted);
    for gone in gone(state, &key) {
        release(state, &gone);
    }
}

/// Returns holders of `key` that stand nowhere: their release was lost.
fn gone(state: &LockTableState, key: &str) -> Vec<Holder> {
    let stands =
        |holder: &&Holder| state.held.get(*holder).is_some_and(|held| held.book.has(&holder.executor));
    state.table.holders(key).filter(|holder| !stands(holder)).cloned().collect()
}

fn release(state: &mut LockTableState, holder: &Holder) {
    state.held.remove(holder);
    state.waiting.remove(holder);
    for next in state.table.release(holder) {
        if let Some(wanted) = state.waiting.remove(&next) {
            grant(state, next, wanted);
        }
    }
}

/// Writes down what `holder` holds, then tells it: a table that fails in between finds it when it is restarted.
fn grant(state: &LockTableState, holder: Holder, held: Held) {
    let (book, executor) = (held.book.clone(), holder.executor.clone());
    state.held.insert(holder, held);
    // An executor that has gone meanwhile is released by its supervisor.
    let _ = book.executor(&executor, ToolExecutorMsg::LockGranted);
}
