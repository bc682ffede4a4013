//! Supervisors of agents under one parent: started, ended, built again from the journal where one fails (ENGINE 4).
//!
//! Asked by an agent's supervisor for its children, and by the session for the agents that a person starts beside the
//! main agent's turn (`&agent task`): those are children of the path `maia` all the same, and get their numbers from the
//! main agent, but a stop or a restart of it does not touch them (ENGINE 5). Owns their references and restart windows.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use maia_core::restart::{Verdict, Window};
use maia_protocol::event::{AgentEvent, EventBody};
use maia_protocol::{ActorPath, CallId, NewRecord};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr};

use crate::address::{Address, supervisor_of};
use crate::agent_supervisor::{
    AgentSupervisor, AgentSupervisorArgs, AgentSupervisorMsg, failed_child, forget_executor,
};
use crate::env::SessionEnv;
use crate::journal::JournalMsg;
use crate::session::SessionMsg;

struct Child {
    path: ActorPath,
    call: CallId,
    window: Window,
}

/// The children of one parent.
#[derive(Default)]
pub struct Children {
    children: HashMap<ActorId, Child>,
}

impl Children {
    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Tells whether the agent at `path` is among them, for the sake of `call`.
    pub fn has(&self, path: &ActorPath, call: &CallId) -> bool {
        self.children.values().any(|child| child.path == *path && child.call == *call)
    }

    /// Returns their paths.
    pub fn paths(&self) -> Vec<ActorPath> {
        self.children.values().map(|child| child.path.clone()).collect()
    }

    /// Sees that an agent is at work.
    ///
    /// # Errors
    /// When the actor cannot be started.
    pub async fn start(
        &mut self,
        env: &Arc<SessionEnv>,
        parent: ActorCell,
        path: ActorPath,
        call: CallId,
    ) -> Result<(), ActorProcessingErr> {
        if env.book.has(&supervisor_of(&path)) {
            return Ok(());
        }
        self.spawn(env, parent, Child { path, call, window: Window::default() }).await
    }

    async fn spawn(
        &mut self,
        env: &Arc<SessionEnv>,
        parent: ActorCell,
        child: Child,
    ) -> Result<(), ActorProcessingErr> {
        let args = AgentSupervisorArgs {
            path: child.path.clone(),
            call: Some(child.call.clone()),
            env: env.clone(),
        };
        let (supervisor, _) = Actor::spawn_linked(None, AgentSupervisor, args, parent).await?;
        env.book.put(supervisor_of(&child.path), Address::Supervisor(supervisor.clone()));
        self.children.insert(supervisor.get_id(), child);
        supervisor.cast(AgentSupervisorMsg::Begin)?;
        Ok(())
    }

    /// An actor below the parent has ended; nothing happens where it is none of these. One that left `by_itself` has
    /// nobody below it: a look through the whole table, for each of a thousand, would be dear. Returns who it was.
    pub async fn terminated(
        &mut self,
        env: &Arc<SessionEnv>,
        id: ActorId,
        by_itself: bool,
    ) -> Option<ActorPath> {
        let child = self.children.remove(&id)?;
        if by_itself {
            env.book.bury_alone(&child.path).await;
        } else {
            forget(env, &child.path).await;
        }
        // One of those that are gone may have been asked again meanwhile.
        env.book.session(SessionMsg::Left);
        Some(child.path)
    }

    /// An actor below the parent has failed, and all under it is gone: it is built again, or has failed for good. Returns
    /// whether it was one of these.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub async fn failed(
        &mut self,
        env: &Arc<SessionEnv>,
        parent: ActorCell,
        id: ActorId,
        cause: &str,
    ) -> Result<bool, ActorProcessingErr> {
        let Some(mut child) = self.children.remove(&id) else { return Ok(false) };
        forget(env, &child.path).await;
        env.book.session(SessionMsg::Left);
        tracing::warn!(agent = %child.path, cause, "a supervisor failed");
        match child.window.failed(Timestamp::now()) {
            Verdict::Restart => {
                let (cause, n) = (cause.to_owned(), child.window.count());
                env.live(&child.path, EventBody::Agent(AgentEvent::AgentRestarted { cause, n }));
                self.spawn(env, parent, child).await?;
            }
            Verdict::Escalate => {
                let body = failed_child(child.call, format!("its supervisor failed: {cause}"));
                env.book.journal(JournalMsg::Append { records: vec![NewRecord::new(child.path, body)] });
            }
        }
        Ok(true)
    }
}

async fn forget(env: &Arc<SessionEnv>, path: &ActorPath) {
    for executor in env.book.bury(path, &[]).await {
        forget_executor(env, &executor);
    }
}
