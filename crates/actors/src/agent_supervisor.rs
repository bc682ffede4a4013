//! Supervises one agent: its worker, the executors of its calls, its children's supervisors (ENGINE 4).
//!
//! - Told by the worker (start, stop and end calls and children) and by whoever wants something of the agent: what is
//!   told to an agent passes here, so that it reaches the worker that lives.
//! - Runs no model and no tool code; it owns links and the restart window.
//! - A worker that fails is built again from the journal while calls and children go on; the third time in a minute
//!   the agent has failed. An executor is never restarted: its call gets an error result.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use maia_core::restart::{Verdict, Window};
use maia_core::turn::{Call, Input};
use maia_protocol::event::{AgentEvent, EventBody};
use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::record::ChildFinished;
use maia_protocol::tool::ToolOutput;
use maia_protocol::{ActorPath, Body, CallId, NewRecord};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::address::{Address, supervisor_of};
use crate::agent::{Agent, AgentArgs, AgentMsg};
use crate::children::Children;
use crate::env::SessionEnv;
use crate::journal::JournalMsg;
use crate::lock_table::{Holder, LockTableMsg};
use crate::reaper::ReaperMsg;
use crate::session::SessionMsg;
use crate::tool_executor::{Given, ToolExecutor, ToolExecutorArgs, ToolExecutorMsg};

/// How far a call is to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Take the lock and find out what will be done; nothing is changed yet.
    Prepare,
    /// Do it: the intent is recorded.
    Run,
}

/// What a supervisor can be told.
pub enum AgentSupervisorMsg {
    /// Start the worker, where there is none.
    Begin,
    /// See that a child is at work.
    SpawnChild {
        /// Its path.
        child: ActorPath,
        /// The call that waits for it.
        call: CallId,
    },
    /// Stop a child and all below it.
    StopChild {
        /// Its path.
        child: ActorPath,
        /// Who asks.
        by: String,
    },
    /// See that a call is carried out.
    Execute {
        /// The call.
        call: Box<Call>,
        /// How far.
        stage: Stage,
        /// What the agent tells of itself.
        given: Given,
        /// Whether it had begun before the worker was rebuilt: then it is not begun again, only found.
        recover: bool,
    },
    /// End what runs for a call.
    StopCall {
        /// Its executor.
        executor: ActorPath,
        /// The call.
        call: CallId,
    },
    /// A call has its result: its executor may go.
    EndCall {
        /// The call.
        call: CallId,
    },
    /// Hand this to the worker.
    ToAgent(Input),
    /// The worker's history cannot be folded: building it again would fail again.
    FoldFailed {
        /// Why.
        cause: String,
    },
    /// The worker's turn, or the sub-agent, has ended.
    AgentEnded,
}

impl AgentSupervisorMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Begin => "Begin",
            Self::SpawnChild { .. } => "SpawnChild",
            Self::StopChild { .. } => "StopChild",
            Self::Execute { .. } => "Execute",
            Self::StopCall { .. } => "StopCall",
            Self::EndCall { .. } => "EndCall",
            Self::ToAgent(_) => "ToAgent",
            Self::FoldFailed { .. } => "FoldFailed",
            Self::AgentEnded => "AgentEnded",
        }
    }
}

/// What a supervisor is started with.
pub struct AgentSupervisorArgs {
    /// The agent's path.
    pub path: ActorPath,
    /// The parent's call that waits for the agent; `None` for the main agent.
    pub call: Option<CallId>,
    /// The session.
    pub env: Arc<SessionEnv>,
}

/// State of [`AgentSupervisor`].
pub struct AgentSupervisorState {
    path: ActorPath,
    call: Option<CallId>,
    env: Arc<SessionEnv>,
    worker: Option<ActorId>,
    window: Window,
    restarts: u32,
    executors: HashMap<ActorId, (ActorPath, CallId)>,
    children: Children,
    /// Who asked the agent to stop: a rebuilt worker is told again.
    stopped_by: Option<String>,
    ended: bool,
}

/// The actor.
pub struct AgentSupervisor;

impl Actor for AgentSupervisor {
    type Msg = AgentSupervisorMsg;
    type State = AgentSupervisorState;
    type Arguments = AgentSupervisorArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(AgentSupervisorState {
            path: args.path,
            call: args.call,
            env: args.env,
            worker: None,
            window: Window::default(),
            restarts: 0,
            executors: HashMap::new(),
            children: Children::default(),
            stopped_by: None,
            ended: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let book = state.env.book.clone();
        state.env.failpoints.message(supervisor_of(&state.path).as_str(), message.kind());
        match message {
            AgentSupervisorMsg::Begin => {
                if state.worker.is_none() {
                    start_worker(&myself, state).await?;
                }
            }
            AgentSupervisorMsg::SpawnChild { child, call } => {
                state.children.start(&state.env, myself.get_cell(), child, call).await?;
            }
            AgentSupervisorMsg::StopChild { child, by } => {
                book.supervisor(&supervisor_of(&child), AgentSupervisorMsg::ToAgent(Input::Cancel { by }));
            }
            AgentSupervisorMsg::Execute { call, stage, given, recover } => {
                if book.executor(&call.actor, ToolExecutorMsg::Proceed { stage }) {
                    return Ok(());
                }
                if recover {
                    book.agent(&state.path, AgentMsg::ExecutorMissing { call: call.id.clone() });
                } else {
                    start_executor(&myself, state, *call, stage, given).await?;
                }
            }
            AgentSupervisorMsg::StopCall { executor, call } => {
                if !book.executor(&executor, ToolExecutorMsg::Stop) {
                    book.agent(&state.path, AgentMsg::ExecutorMissing { call });
                }
            }
            AgentSupervisorMsg::EndCall { call } => {
                if let Some((executor, _)) = state.executors.values().find(|(_, of)| *of == call) {
                    book.executor(executor, ToolExecutorMsg::End);
                }
            }
            AgentSupervisorMsg::ToAgent(input) => {
                if let Input::Cancel { by } = &input {
                    state.stopped_by = Some(by.clone());
                }
                book.agent(&state.path, AgentMsg::Input(input));
            }
            AgentSupervisorMsg::FoldFailed { cause } => {
                // It stands there without a state, and is told nothing any more.
                state.worker = None;
                fail(state, cause);
                leave_if_done(&myself, state);
            }
            AgentSupervisorMsg::AgentEnded => {
                state.stopped_by = None;
                state.ended = state.call.is_some();
                if state.ended {
                    // Every call has its result. A worker that failed over one has not said so of its executor.
                    for (executor, _) in state.executors.values() {
                        book.executor(executor, ToolExecutorMsg::End);
                    }
                }
                leave_if_done(&myself, state);
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
            SupervisionEvent::ActorTerminated(cell, _, reason) => {
                let id = cell.get_id();
                if let Some((executor, _)) = state.executors.remove(&id) {
                    forget_executor(&state.env, &executor);
                }
                state.children.terminated(&state.env, id, reason.is_none()).await;
                leave_if_done(&myself, state);
            }
            SupervisionEvent::ActorFailed(cell, error) => {
                let id = cell.get_id();
                if state.worker == Some(id) {
                    worker_failed(&myself, state, &error.to_string()).await?;
                } else if let Some((executor, call)) = state.executors.remove(&id) {
                    executor_failed(state, &executor, call, &error.to_string());
                } else {
                    let cause = error.to_string();
                    state.children.failed(&state.env, myself.get_cell(), id, &cause).await?;
                }
            }
            // Monitors are not used; a variant that a later version adds must be looked at.
            #[expect(unreachable_patterns, reason = "the list of events depends on features of the library")]
            _ => {}
        }
        Ok(())
    }
}

async fn start_worker(
    myself: &ActorRef<AgentSupervisorMsg>,
    state: &mut AgentSupervisorState,
) -> Result<(), ActorProcessingErr> {
    let args = AgentArgs { path: state.path.clone(), env: state.env.clone() };
    let (worker, _) = Actor::spawn_linked(None, Agent, args, myself.get_cell()).await?;
    state.worker = Some(worker.get_id());
    state.env.book.put(state.path.clone(), Address::Agent(worker));
    state.env.book.journal(JournalMsg::Subscribe { path: state.path.clone() });
    if let Some(by) = state.stopped_by.clone() {
        state.env.book.agent(&state.path, AgentMsg::Input(Input::Cancel { by }));
    }
    Ok(())
}

async fn start_executor(
    myself: &ActorRef<AgentSupervisorMsg>,
    state: &mut AgentSupervisorState,
    call: Call,
    stage: Stage,
    given: Given,
) -> Result<(), ActorProcessingErr> {
    let (path, id) = (call.actor.clone(), call.id.clone());
    let args = ToolExecutorArgs { call, agent: state.path.clone(), given, env: state.env.clone() };
    let (executor, _) = Actor::spawn_linked(None, ToolExecutor, args, myself.get_cell()).await?;
    state.executors.insert(executor.get_id(), (path.clone(), id));
    // It stands in the table before it begins: what it asks for is answered by path.
    state.env.book.put(path, Address::Executor(executor.clone()));
    executor.cast(ToolExecutorMsg::Proceed { stage })?;
    Ok(())
}

async fn worker_failed(
    myself: &ActorRef<AgentSupervisorMsg>,
    state: &mut AgentSupervisorState,
    error: &str,
) -> Result<(), ActorProcessingErr> {
    state.env.book.remove(&state.path);
    state.worker = None;
    state.restarts += 1;
    tracing::warn!(agent = %state.path, error, "a worker failed");
    match state.window.failed(Timestamp::now()) {
        Verdict::Restart => {
            let (cause, n) = (error.to_owned(), state.restarts);
            state.env.live(&state.path, EventBody::Agent(AgentEvent::AgentRestarted { cause, n }));
            start_worker(myself, state).await?;
            if state.call.is_none() {
                state.env.book.session(SessionMsg::MainRebuilt);
            }
            Ok(())
        }
        Verdict::Escalate => {
            fail(
                state,
                format!("it failed {} times within a minute, at last: {error}", state.window.count()),
            );
            leave_if_done(myself, state);
            Ok(())
        }
    }
}

/// The agent has failed: its end is recorded, what runs below it is stopped.
fn fail(state: &mut AgentSupervisorState, cause: String) {
    if state.ended {
        return;
    }
    state.ended = state.call.is_some();
    let env = &state.env;
    env.book.remove(&state.path);
    for child in state.children.paths() {
        let by = format!("{}, which failed", state.path);
        env.book.supervisor(&supervisor_of(&child), AgentSupervisorMsg::ToAgent(Input::Cancel { by }));
    }
    for (executor, _) in state.executors.values() {
        env.book.executor(executor, ToolExecutorMsg::Stop);
        env.book.executor(executor, ToolExecutorMsg::End);
    }
    match state.call.clone() {
        Some(call) => {
            let body = failed_child(call, cause);
            let records = vec![NewRecord::new(state.path.clone(), body)];
            env.book.journal(JournalMsg::Append { records });
        }
        None => {
            // What stopped this turn is not for the next one.
            state.stopped_by = None;
            env.book.session(SessionMsg::MainFailed { cause });
        }
    }
}

/// Returns the last record of a child that cannot write it itself; what it used is in its other records.
pub(crate) fn failed_child(call: CallId, cause: String) -> Body {
    Body::ChildFinished(Box::new(ChildFinished {
        call,
        outcome: Outcome::Failed,
        cause: Some(cause),
        summary: String::new(),
        totals: Totals::default(),
        subtree: Totals::default(),
    }))
}

fn executor_failed(state: &AgentSupervisorState, executor: &ActorPath, call: CallId, error: &str) {
    forget_executor(&state.env, executor);
    let session = state.env.session.clone();
    let kill = ReaperMsg::Kill { session, executor: executor.clone() };
    let _ = state.env.process.reaper.load().cast(kill);
    let output = ToolOutput::error(format!(
        "The executor of this call failed ({error}). Whether the call did its work is not known; look before you repeat it."
    ));
    let input = Input::Done { call, output, duration_ms: 0 };
    state.env.book.agent(&state.path, AgentMsg::Input(input));
}

/// Forgets an executor that has ended: nobody is sent to it, and it holds no lock.
pub(crate) fn forget_executor(env: &SessionEnv, executor: &ActorPath) {
    env.book.remove(executor);
    let holder = Holder { session: env.session.clone(), executor: executor.clone() };
    let _ = env.process.locks.load().cast(LockTableMsg::Release { holder });
}

/// A sub-agent that has ended, with nothing left under it, needs no supervisor.
fn leave_if_done(myself: &ActorRef<AgentSupervisorMsg>, state: &AgentSupervisorState) {
    if state.ended && state.children.is_empty() && state.executors.is_empty() {
        myself.stop(None);
    }
}
