//! Carries out one call, and owns what runs for it (ENGINE 4, ENGINE 5).
//!
//! - Told by the supervisor: how far to go, to stop, to end; by the lock table: that it holds its lock.
//! - Tells the agent by path: that it is prepared, and what came of the call. It keeps both until the agent has recorded
//!   the result, so that an agent that is rebuilt meanwhile asks once more and loses nothing.
//! - A file call takes the lock and computes first (Prepare), then changes the file (Run). Everything else just runs:
//!   commands in processes, searches on a blocking thread, what touches nothing at once.
//! - Never restarted. When it goes, however it goes, its task is aborted; a command's helper sees its pipe close and kills
//!   whatever is left of the command (SAFETY 5).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use maia_core::permission::{Rules, is_hidden};
use maia_core::turn::{Call, Input, is_file_tool};
use maia_protocol::event::{EventBody, ToolEvent};
use maia_protocol::tool::{LockMode, ToolOutput, WriteIntent};
use maia_protocol::{ActorPath, Body, NewRecord};
use maia_tools::bash::{Cancel, Limits};
use maia_tools::{FileWork, Workspace};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::task::JoinHandle;

use crate::agent::AgentMsg;
use crate::agent_supervisor::Stage;
use crate::env::SessionEnv;
use crate::journal::JournalMsg;
use crate::lock_table::{Holder, LockTableMsg};
use crate::reaper::ReaperMsg;

/// What an executor can be told.
pub enum ToolExecutorMsg {
    /// Go as far as `stage`; said again, tell again what is known.
    Proceed {
        /// How far.
        stage: Stage,
    },
    /// The lock is held.
    LockGranted,
    /// The lock table was restarted: ask again for what is waited for.
    LocksRebuilt,
    /// The file was looked at.
    Prepared(Result<Work, ToolOutput>),
    /// The call is over.
    Finished(ToolOutput),
    /// End what runs.
    Stop,
    /// The result is recorded: go.
    End,
}

impl ToolExecutorMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Proceed { .. } => "Proceed",
            Self::LockGranted => "LockGranted",
            Self::LocksRebuilt => "LocksRebuilt",
            Self::Prepared(_) => "Prepared",
            Self::Finished(_) => "Finished",
            Self::Stop => "Stop",
            Self::End => "End",
        }
    }
}

/// What a file call is ready to do.
pub enum Work {
    /// Read the file.
    Read,
    /// Change the file.
    Change(Box<FileWork>),
}

/// What an agent tells of itself with a call.
pub struct Given {
    /// Hash of the call's file as the agent last saw it.
    pub seen: Option<String>,
    /// The agent's rules of the moment: what they hide, a search leaves out (SAFETY 1).
    pub rules: Arc<Rules>,
    /// The agent's model.
    pub model: String,
}

/// What an executor is started with.
pub struct ToolExecutorArgs {
    /// The call.
    pub call: Call,
    /// The agent that made it.
    pub agent: ActorPath,
    /// What that agent tells of itself.
    pub given: Given,
    /// The session.
    pub env: Arc<SessionEnv>,
}

enum Progress {
    /// Nothing yet.
    New,
    /// It waits for its lock.
    Locking,
    /// It holds its lock and looks at the file.
    Preparing,
    /// It knows what it will do and waits for the intent to be recorded.
    Ready(Work),
    /// It is at work.
    Running,
    /// It has its result.
    Finished(ToolOutput),
}

/// State of [`ToolExecutor`].
pub struct ToolExecutorState {
    call: Call,
    agent: ActorPath,
    given: Given,
    env: Arc<SessionEnv>,
    progress: Progress,
    /// When the call itself began: waiting for a lock or a person does not count.
    began: Option<Instant>,
    cancel: Cancel,
    task: Option<AbortOnDrop>,
}

/// A task that does not outlive its owner, however that ends.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The actor.
pub struct ToolExecutor;

impl Actor for ToolExecutor {
    type Msg = ToolExecutorMsg;
    type State = ToolExecutorState;
    type Arguments = ToolExecutorArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(ToolExecutorState {
            call: args.call,
            agent: args.agent,
            given: args.given,
            env: args.env,
            progress: Progress::New,
            began: None,
            cancel: Cancel::new(),
            task: None,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message(state.call.actor.as_str(), message.kind());
        match message {
            ToolExecutorMsg::Proceed { stage } => proceed(&myself, state, stage),
            ToolExecutorMsg::LockGranted => {
                if matches!(state.progress, Progress::Locking) {
                    prepare(&myself, state);
                }
            }
            ToolExecutorMsg::LocksRebuilt => {
                if matches!(state.progress, Progress::Locking) {
                    acquire(state);
                }
            }
            ToolExecutorMsg::Prepared(Ok(work)) => {
                if matches!(state.progress, Progress::Preparing) {
                    state.progress = Progress::Ready(work);
                    tell_again(state);
                }
            }
            ToolExecutorMsg::Prepared(Err(output)) | ToolExecutorMsg::Finished(output) => {
                if !matches!(state.progress, Progress::Finished(_)) {
                    finished(state, output);
                }
            }
            ToolExecutorMsg::Stop => stop(state),
            ToolExecutorMsg::End => {
                state.cancel.cancel();
                myself.stop(None);
            }
        }
        Ok(())
    }
}

fn proceed(myself: &ActorRef<ToolExecutorMsg>, state: &mut ToolExecutorState, stage: Stage) {
    match (&state.progress, stage) {
        (Progress::New, Stage::Prepare) => {
            state.progress = Progress::Locking;
            acquire(state);
        }
        (Progress::New, Stage::Run) => {
            state.began = Some(Instant::now());
            if is_file_tool(&state.call.name) {
                // Its intent is recorded by a worker that prepared it with another executor, which is gone.
                finished(state, ToolOutput::error("the preparation of this call was lost; send it again"));
            } else {
                run(myself, state);
            }
        }
        (Progress::Ready(_), Stage::Run) => run_file(myself, state),
        (Progress::Ready(_), Stage::Prepare) | (Progress::Finished(_), _) => tell_again(state),
        // It will tell when it is so far.
        (Progress::Locking | Progress::Preparing | Progress::Running, _) => {}
    }
}

/// Tells the agent what is known; an agent that was rebuilt may not have heard it.
fn tell_again(state: &ToolExecutorState) {
    let call = state.call.id.clone();
    let input = match &state.progress {
        Progress::Ready(work) => Input::Prepared { call, write: intent(work) },
        Progress::Finished(output) => {
            let ran = state.began.map_or(0, |began| began.elapsed().as_millis());
            let duration_ms = u64::try_from(ran).unwrap_or(u64::MAX);
            Input::Done { call, output: output.clone(), duration_ms }
        }
        _ => return,
    };
    state.env.book.agent(&state.agent, AgentMsg::Input(input));
}

fn intent(work: &Work) -> Option<WriteIntent> {
    match work {
        Work::Read => None,
        Work::Change(work) => Some(work.intent().clone()),
    }
}

fn finished(state: &mut ToolExecutorState, output: ToolOutput) {
    state.task = None;
    state.progress = Progress::Finished(output);
    tell_again(state);
}

fn stop(state: &mut ToolExecutorState) {
    state.cancel.cancel();
    match state.progress {
        // A change that has begun is one rename away from its end: it is let go on, so that its end is known.
        Progress::Running | Progress::Finished(_) => {}
        _ => finished(state, ToolOutput::error("interrupted by the person")),
    }
}

fn holder(state: &ToolExecutorState) -> Holder {
    Holder { session: state.env.session.clone(), executor: state.call.actor.clone() }
}

fn acquire(state: &ToolExecutorState) {
    // A call whose file could not be resolved has no key; what is wrong with it comes out when it is prepared.
    let key = state.call.lock_key().unwrap_or_else(|| format!("call:{}", state.call.id));
    let mode = maia_tools::lock_mode(&state.call.name).unwrap_or(LockMode::Write);
    let acquire = LockTableMsg::Acquire { holder: holder(state), key, mode, book: state.env.book.clone() };
    // A table that is being restarted tells everybody when it is back.
    let _ = state.env.process.locks.load().cast(acquire);
}

fn prepare(myself: &ActorRef<ToolExecutorMsg>, state: &mut ToolExecutorState) {
    state.progress = Progress::Preparing;
    if state.call.name == "Read" && state.call.target.is_some() {
        // Reading changes nothing: there is nothing to compute before the intent.
        state.progress = Progress::Ready(Work::Read);
        tell_again(state);
        return;
    }
    let (myself, workspace) = (myself.clone(), state.env.workspace.clone());
    let (call, seen) = (state.call.clone(), state.given.seen.clone());
    let writer =
        call.target.as_ref().and_then(|target| state.env.writers.get(&target.path)).map(|by| by.clone());
    let writer = writer.filter(|writer| *writer != state.agent);
    let task = tokio::spawn(async move {
        let prepared = tokio::task::spawn_blocking(move || {
            let Some(target) = &call.target else { return Err(unresolved(&call, &workspace)) };
            maia_tools::prepare(&call.name, &call.input, target, seen.as_deref(), &workspace)
                .map(|work| Work::Change(Box::new(work)))
                .map_err(|output| name_writer(output, writer))
        })
        .await
        .unwrap_or_else(|error| Err(ToolOutput::error(format!("the call could not be prepared: {error}"))));
        let _ = myself.cast(ToolExecutorMsg::Prepared(prepared));
    });
    state.task = Some(AbortOnDrop(task));
}

/// Returns why a call has no file or folder: the same look again, for its error. Blocks.
fn unresolved(call: &Call, workspace: &Workspace) -> ToolOutput {
    match maia_tools::target(&call.name, &call.input, workspace) {
        Err(output) => output,
        // What can be resolved now is not what was judged.
        Ok(_) => ToolOutput::error(
            "target_changed: the path leads elsewhere now than when the call was judged; send it again",
        ),
    }
}

/// Adds who changed the file, where it was another agent (ENGINE 5).
fn name_writer(output: ToolOutput, writer: Option<ActorPath>) -> ToolOutput {
    match writer {
        Some(writer) if output.text.starts_with("changed_since_read") => {
            ToolOutput { text: format!("{} It was changed by {writer}.", output.text), ..output }
        }
        _ => output,
    }
}

fn run_file(myself: &ActorRef<ToolExecutorMsg>, state: &mut ToolExecutorState) {
    let Progress::Ready(work) = std::mem::replace(&mut state.progress, Progress::Running) else { return };
    state.began = Some(Instant::now());
    let (myself, env, call) = (myself.clone(), state.env.clone(), state.call.clone());
    let agent = state.agent.clone();
    // Not aborted with the executor: a blocking thread finishes what it has begun, and a resume looks at the file.
    tokio::spawn(async move {
        let output = tokio::task::spawn_blocking(move || match (work, &call.target) {
            (Work::Change(work), _) => {
                let output = work.commit();
                if let Some(seen) = output.seen.as_ref().filter(|_| !output.is_error) {
                    env.writers.insert(seen.path.clone(), agent);
                }
                output
            }
            (Work::Read, Some(target)) => maia_tools::read(&call.input, target, &env.workspace),
            (Work::Read, None) => ToolOutput::error("not_found: the call names no file"),
        })
        .await
        .unwrap_or_else(|error| {
            ToolOutput::error(format!("the call failed: {error}; look at the file before you go on"))
        });
        let _ = myself.cast(ToolExecutorMsg::Finished(output));
    });
}

/// Runs a call that changes no file by itself.
fn run(myself: &ActorRef<ToolExecutorMsg>, state: &mut ToolExecutorState) {
    match state.call.name.as_str() {
        "Bash" => run_command(myself, state),
        "Glob" | "Grep" => run_search(myself, state),
        "TodoWrite" => finished(state, maia_tools::todo(&state.call.input)),
        "CurrentModel" => finished(state, maia_tools::current_model(&state.given.model)),
        other => {
            let text = format!("unknown_tool: nothing carries out calls of {other}");
            finished(state, ToolOutput::error(text));
        }
    }
}

fn run_search(myself: &ActorRef<ToolExecutorMsg>, state: &mut ToolExecutorState) {
    state.progress = Progress::Running;
    let (myself, env, call) = (myself.clone(), state.env.clone(), state.call.clone());
    let (rules, cancel) = (state.given.rules.clone(), state.cancel.clone());
    // A blocking thread cannot be aborted: when this task is, the search is told to end.
    let guard = cancel.clone().drop_guard();
    let task = tokio::spawn(async move {
        let search = move || {
            let Some(target) = &call.target else { return unresolved(&call, &env.workspace) };
            let hidden = |path: &Path| is_hidden(&rules, &call.name, path, &env.place);
            let search = if call.name == "Glob" { maia_tools::glob } else { maia_tools::grep };
            search(&call.input, target, &env.workspace, &hidden, &cancel)
        };
        let output = tokio::task::spawn_blocking(search)
            .await
            .unwrap_or_else(|error| ToolOutput::error(format!("the call failed: {error}")));
        drop(guard);
        let _ = myself.cast(ToolExecutorMsg::Finished(output));
    });
    state.task = Some(AbortOnDrop(task));
}

fn run_command(myself: &ActorRef<ToolExecutorMsg>, state: &mut ToolExecutorState) {
    state.progress = Progress::Running;
    let (myself, env, call) = (myself.clone(), state.env.clone(), state.call.clone());
    let (cancel, agent) = (state.cancel.clone(), state.agent.clone());
    let task = tokio::spawn(async move {
        let (session, executor) = (env.session.clone(), call.actor.clone());
        let started = |process: maia_tools::exec::ProcessInfo| {
            let body = Body::ProcessStarted {
                call: call.id.clone(),
                pid: process.pid,
                start_time: process.start_time,
                boot_id: process.boot_id.clone(),
            };
            let records = vec![NewRecord::new(call.actor.clone(), body)];
            env.book.journal(JournalMsg::Append { records });
            let started =
                ReaperMsg::Started { session: session.clone(), executor: executor.clone(), process };
            let _ = env.process.reaper.load().cast(started);
        };
        let shown = |chunk: &str| {
            let (id, chunk) = (call.id.clone(), chunk.to_owned());
            env.live(&agent, EventBody::Tool(ToolEvent::ToolOutput { id, chunk }));
        };
        let limits = Limits::default();
        let output =
            maia_tools::bash::run(&call.input, &env.workspace, &limits, started, shown, cancel).await;
        let ended = ReaperMsg::Ended { session, executor };
        let _ = env.process.reaper.load().cast(ended);
        let _ = myself.cast(ToolExecutorMsg::Finished(output));
    });
    state.task = Some(AbortOnDrop(task));
}
