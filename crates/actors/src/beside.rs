//! The agents that a person starts beside the main agent's turn (`&agent task`): children of the path `maia`,
//! supervised by the session, so that a stop or a restart of the main agent does not touch them (ENGINE 5).
//!
//! Asked by the actor Session; owns their references and restart windows. Numbers and records are the main agent's:
//! it is told to spawn, so that nobody else gives numbers under its path.

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

struct Child {
    path: ActorPath,
    call: CallId,
    window: Window,
}

/// The supervisors of those agents.
#[derive(Default)]
pub struct Beside {
    children: HashMap<ActorId, Child>,
}

impl Beside {
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
        session: ActorCell,
        path: ActorPath,
        call: CallId,
    ) -> Result<(), ActorProcessingErr> {
        if env.book.has(&supervisor_of(&path)) {
            return Ok(());
        }
        self.spawn(env, session, Child { path, call, window: Window::default() }).await
    }

    async fn spawn(
        &mut self,
        env: &Arc<SessionEnv>,
        session: ActorCell,
        child: Child,
    ) -> Result<(), ActorProcessingErr> {
        let args = AgentSupervisorArgs {
            path: child.path.clone(),
            call: Some(child.call.clone()),
            env: env.clone(),
        };
        let (supervisor, _) = Actor::spawn_linked(None, AgentSupervisor, args, session).await?;
        env.book.put(supervisor_of(&child.path), Address::Supervisor(supervisor.clone()));
        self.children.insert(supervisor.get_id(), child);
        supervisor.cast(AgentSupervisorMsg::Begin)?;
        Ok(())
    }

    /// An actor of the session has ended in good order; nothing happens where it is none of these.
    pub async fn terminated(&mut self, env: &Arc<SessionEnv>, id: ActorId) {
        if let Some(child) = self.children.remove(&id) {
            forget(env, &child.path).await;
        }
    }

    /// An actor of the session has failed; returns whether it was one of these.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub async fn failed(
        &mut self,
        env: &Arc<SessionEnv>,
        session: ActorCell,
        id: ActorId,
        cause: &str,
    ) -> Result<bool, ActorProcessingErr> {
        let Some(mut child) = self.children.remove(&id) else { return Ok(false) };
        forget(env, &child.path).await;
        match child.window.failed(Timestamp::now()) {
            Verdict::Restart => {
                let (cause, n) = (cause.to_owned(), child.window.count());
                env.live(&child.path, EventBody::Agent(AgentEvent::AgentRestarted { cause, n }));
                self.spawn(env, session, child).await?;
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
