//! Kills what calls have left running: the last guard behind every executor (ENGINE 4).
//!
//! - Told by executors when a helper process runs and when it has ended; by sessions when they end; by supervisors when an
//!   executor is gone and its process may not be.
//! - Owns nothing: the table of processes lies outside, so that a restarted reaper knows them all. `post_stop` of the others
//!   is never relied on.
//! - A process leaves the table when it is known to have ended, not when it was told to.

use std::sync::Arc;

use dashmap::DashMap;
use maia_protocol::ActorPath;
use maia_tools::exec::ProcessInfo;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::failpoint::Failpoints;

/// Helper processes by session and executor.
pub type Table = Arc<DashMap<(String, ActorPath), ProcessInfo>>;

/// What the reaper can be told.
pub enum ReaperMsg {
    /// A helper process runs.
    Started {
        /// The session's id.
        session: String,
        /// The executor of its call.
        executor: ActorPath,
        /// The process.
        process: ProcessInfo,
    },
    /// The process of an executor has ended with everything below it.
    Ended {
        /// The session's id.
        session: String,
        /// The executor of its call.
        executor: ActorPath,
    },
    /// A session has ended: what is left of it is killed.
    EndSession {
        /// The session's id.
        session: String,
    },
    /// An executor is gone: what it left is killed.
    Kill {
        /// The session's id.
        session: String,
        /// The executor.
        executor: ActorPath,
    },
}

impl ReaperMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Started { .. } => "Started",
            Self::Ended { .. } => "Ended",
            Self::EndSession { .. } => "EndSession",
            Self::Kill { .. } => "Kill",
        }
    }
}

/// What the reaper starts from.
pub struct ReaperArgs {
    /// The table, the same for every start.
    pub table: Table,
    /// Faults to inject, in builds for tests.
    pub failpoints: Failpoints,
}

/// What the reaper holds between messages.
pub struct ReaperState {
    table: Table,
    failpoints: Failpoints,
}

/// The actor.
pub struct Reaper;

impl Actor for Reaper {
    type Msg = ReaperMsg;
    type State = ReaperState;
    type Arguments = ReaperArgs;

    async fn pre_start(
        &self,
        _myself: ActorRef<ReaperMsg>,
        args: ReaperArgs,
    ) -> Result<ReaperState, ActorProcessingErr> {
        let ReaperArgs { table, failpoints } = args;
        Ok(ReaperState { table, failpoints })
    }

    async fn handle(
        &self,
        _myself: ActorRef<ReaperMsg>,
        message: ReaperMsg,
        state: &mut ReaperState,
    ) -> Result<(), ActorProcessingErr> {
        state.failpoints.message("@reaper", message.kind());
        let table = &state.table;
        match message {
            ReaperMsg::Started { session, executor, process } => {
                table.insert((session, executor), process);
            }
            ReaperMsg::Ended { session, executor } => {
                table.remove(&(session, executor));
            }
            ReaperMsg::EndSession { session } => kill(table, |(of, _)| *of == session),
            ReaperMsg::Kill { session, executor } => {
                kill(table, |(of, by)| *of == session && *by == executor);
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<ReaperMsg>,
        _event: SupervisionEvent,
        _state: &mut ReaperState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(()) // It supervises nobody.
    }
}

/// Kills the processes that `these` names, each on a blocking thread: waiting until a process is gone takes time.
fn kill(table: &Table, these: impl Fn(&(String, ActorPath)) -> bool) {
    let found = table.iter().filter(|entry| these(entry.key()));
    let found: Vec<_> = found.map(|entry| (entry.key().clone(), entry.value().clone())).collect();
    for (key, process) in found {
        let table = table.clone();
        tokio::task::spawn_blocking(move || {
            // False means that no such process runs any more: gone either way.
            maia_tools::kill_leftover(process.pid, process.start_time, &process.boot_id);
            table.remove_if(&key, |_, now| now.pid == process.pid && now.start_time == process.start_time);
        });
    }
}
