//! The process: the gateway, the locks and the reaper that outlive every session, and the sessions' roots (ENGINE 4).
//!
//! - Started once by the binary; told to open sessions.
//! - Restarts what is its own and tells every session's agents and calls, which then ask again for what they wait for.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dashmap::DashMap;
use jiff::Timestamp;
use maia_core::restart::{Verdict, Window};
use maia_llm::Provider;
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use crate::agent::AgentMsg;
use crate::env::{ProcessRefs, SessionEnv};
use crate::failpoint::Failpoints;
use crate::lock_table::{LockTable, LockTableArgs};
use crate::model_gateway::{ModelGateway, ModelGatewayArgs};
use crate::reaper::{Reaper, ReaperArgs};
use crate::root::{Closed, Root, RootArgs, RootMsg};
use crate::tool_executor::ToolExecutorMsg;

/// What the process can be told.
pub enum ProcessMsg {
    /// Start what outlives the sessions; answered with the references to it.
    Begin {
        /// Where the references go.
        reply: RpcReplyPort<Arc<ProcessRefs>>,
    },
    /// Open a session; answered with its root.
    Open {
        /// The session.
        args: Box<RootArgs>,
        /// Where the root goes.
        reply: RpcReplyPort<ActorRef<RootMsg>>,
    },
}

/// What the process is started with.
pub struct ProcessArgs {
    /// The endpoint.
    pub provider: Arc<Provider>,
    /// Requests in flight at once.
    pub max_in_flight: usize,
    /// Faults to inject, in builds for tests.
    pub failpoints: Failpoints,
}

struct OpenSession {
    env: Arc<SessionEnv>,
    closed: tokio::sync::watch::Sender<Option<Closed>>,
}

/// State of [`Process`].
pub struct ProcessState {
    args: ProcessArgs,
    refs: Option<Arc<ProcessRefs>>,
    held: Arc<DashMap<crate::lock_table::Holder, crate::lock_table::Held>>,
    processes: crate::reaper::Table,
    sessions: HashMap<ActorId, OpenSession>,
    windows: [Window; 3],
}

/// The actor.
pub struct Process;

impl Actor for Process {
    type Msg = ProcessMsg;
    type State = ProcessState;
    type Arguments = ProcessArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(ProcessState {
            args,
            refs: None,
            held: Arc::default(),
            processes: Arc::default(),
            sessions: HashMap::new(),
            windows: Default::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ProcessMsg::Begin { reply } => {
                let refs = Arc::new(ProcessRefs {
                    gateway: ArcSwap::from_pointee(gateway(&myself, state).await?),
                    locks: ArcSwap::from_pointee(locks(&myself, state).await?),
                    reaper: ArcSwap::from_pointee(reaper(&myself, state).await?),
                });
                state.refs = Some(refs.clone());
                // Whoever asked and has gone needs no answer.
                let _ = reply.send(refs);
            }
            ProcessMsg::Open { args, reply } => {
                let session = OpenSession { env: args.env.clone(), closed: args.closed.clone() };
                let (root, _) = Actor::spawn_linked(None, Root, *args, myself.get_cell()).await?;
                root.cast(RootMsg::Begin)?;
                state.sessions.insert(root.get_id(), session);
                let _ = reply.send(root);
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
            SupervisionEvent::ActorTerminated(cell, ..) => {
                // A root that was ended from outside has told nobody: locks and requests of its session are let go here.
                if let Some(session) = state.sessions.remove(&cell.get_id()) {
                    crate::root::forget_tree(&session.env).await;
                }
            }
            SupervisionEvent::ActorFailed(cell, error) => {
                failed(&myself, state, cell.get_id(), &error.to_string()).await?;
            }
            #[expect(unreachable_patterns, reason = "the list of events depends on features of the library")]
            _ => {}
        }
        Ok(())
    }
}

async fn gateway(
    myself: &ActorRef<ProcessMsg>,
    state: &ProcessState,
) -> Result<ActorRef<crate::model_gateway::ModelGatewayMsg>, ActorProcessingErr> {
    let args = ModelGatewayArgs {
        provider: state.args.provider.clone(),
        max_in_flight: state.args.max_in_flight,
        failpoints: state.args.failpoints.clone(),
    };
    Ok(Actor::spawn_linked(None, ModelGateway, args, myself.get_cell()).await?.0)
}

async fn locks(
    myself: &ActorRef<ProcessMsg>,
    state: &ProcessState,
) -> Result<ActorRef<crate::lock_table::LockTableMsg>, ActorProcessingErr> {
    let args = LockTableArgs { held: state.held.clone(), failpoints: state.args.failpoints.clone() };
    Ok(Actor::spawn_linked(None, LockTable, args, myself.get_cell()).await?.0)
}

async fn reaper(
    myself: &ActorRef<ProcessMsg>,
    state: &ProcessState,
) -> Result<ActorRef<crate::reaper::ReaperMsg>, ActorProcessingErr> {
    let args = ReaperArgs { table: state.processes.clone(), failpoints: state.args.failpoints.clone() };
    Ok(Actor::spawn_linked(None, Reaper, args, myself.get_cell()).await?.0)
}

async fn failed(
    myself: &ActorRef<ProcessMsg>,
    state: &mut ProcessState,
    id: ActorId,
    cause: &str,
) -> Result<(), ActorProcessingErr> {
    if let Some(session) = state.sessions.remove(&id) {
        let result = format!("the session's root failed: {cause}");
        let closed = Closed {
            reason: maia_protocol::outcome::EndReason::Failed,
            result,
            refusals: Vec::new(),
            recorded: false,
        };
        session.closed.send_if_modified(|known| {
            known.is_none() && {
                *known = Some(closed);
                true
            }
        });
        crate::root::forget_tree(&session.env).await;
        return Ok(());
    }
    let Some(refs) = state.refs.clone() else { return Ok(()) };
    let own = [refs.gateway.load().get_id(), refs.locks.load().get_id(), refs.reaper.load().get_id()];
    let Some(which) = own.iter().position(|own| *own == id) else { return Ok(()) };
    tracing::warn!(cause, which, "an actor of the process failed");
    if state.windows.get_mut(which).is_some_and(|window| window.failed(Timestamp::now()) == Verdict::Escalate)
    {
        return Err(format!("an actor of the process failed again and again: {cause}").into());
    }
    match which {
        0 => {
            refs.gateway.store(Arc::new(gateway(myself, state).await?));
            for session in state.sessions.values() {
                for agent in session.env.book.agents() {
                    session.env.book.agent(&agent, AgentMsg::GatewayRebuilt);
                }
            }
        }
        1 => {
            refs.locks.store(Arc::new(locks(myself, state).await?));
            for session in state.sessions.values() {
                for executor in session.env.book.executors() {
                    session.env.book.executor(&executor, ToolExecutorMsg::LocksRebuilt);
                }
            }
        }
        _ => refs.reaper.store(Arc::new(reaper(myself, state).await?)),
    }
    Ok(())
}
