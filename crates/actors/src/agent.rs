//! One agent, main or sub: it folds its records, plans the next ones and sees to their effects.
//!
//! - Told by its supervisor (what others want of it), by the gateway, its executors and the scheduler (what came of its effects).
//! - Tells by path; appends at most one batch at a time, so every plan looks at a state that holds all before it.
//! - Owns its state machine and nothing else: calls and children run under its supervisor and outlive this worker.
//! - After a restart it folds its records on a blocking thread, then looks at what had begun (`turn::open`).

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use maia_core::permission::{Rules, judge};
use maia_core::turn::{self, Activity, Call, CallState, Context, Effect, Input, SpawnPlan, State};
use maia_protocol::event::{AgentEvent, AgentState, EventBody, WaitingFor};
use maia_protocol::permission::{Ruling, RulingAction};
use maia_protocol::{ActorPath, Body, CallId, Record};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::address::{AddressBook, supervisor_of};
use crate::agent_supervisor::{AgentSupervisorMsg, Stage};
use crate::env::SessionEnv;
use crate::journal::JournalMsg;
use crate::model_gateway::{ModelGatewayMsg, RequestKey};
use crate::scheduler::SchedulerMsg;
use crate::session::SessionMsg;
use crate::tool_executor::Given;

/// Records that are folded where they come in: a new agent has a few, and two threads cost more than they do.
const FOLDED_HERE: usize = 16;

/// What an agent can be told.
pub enum AgentMsg {
    /// All its records so far; later ones follow as `Committed`.
    History {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// The fold of its history is done.
    Folded {
        /// The state as of then.
        machine: Box<State>,
    },
    /// Records of it are durable: apply them.
    Committed {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// Something happened to it.
    Input(Input),
    /// It may work (ENGINE 6, Places).
    PlaceGranted,
    /// Its request stands in the gateway's line, or has left it (ENGINE 6).
    GatewayWaits(bool),
    /// Nobody runs a call that has begun: look at what it left (ENGINE 7).
    ExecutorMissing {
        /// The call.
        call: CallId,
    },
    /// The scheduler was restarted and knows nobody.
    PlacesRebuilt,
    /// The gateway was restarted and has forgotten every request.
    GatewayRebuilt,
}

impl AgentMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::History { .. } => "History",
            Self::Folded { .. } => "Folded",
            Self::Committed { .. } => "Committed",
            Self::Input(_) => "Input",
            Self::PlaceGranted => "PlaceGranted",
            Self::GatewayWaits(_) => "GatewayWaits",
            Self::ExecutorMissing { .. } => "ExecutorMissing",
            Self::PlacesRebuilt => "PlacesRebuilt",
            Self::GatewayRebuilt => "GatewayRebuilt",
        }
    }
}

/// What an agent is started with.
pub struct AgentArgs {
    /// Its path.
    pub path: ActorPath,
    /// The session.
    pub env: Arc<SessionEnv>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeldPlace {
    No,
    Wanted,
    Held,
}

/// State of [`Agent`]; `AgentState` is what the stream calls an agent's activity.
pub struct AgentWorkerState {
    path: ActorPath,
    env: Arc<SessionEnv>,
    /// Whether its history has come: what was committed before is in it, what comes after follows on it.
    subscribed: bool,
    /// `None` until the history is folded.
    machine: Option<State>,
    /// What came while the history was being folded; unbounded, because it is what was to be delivered anyway.
    backlog: Vec<AgentMsg>,
    /// Records that it has appended and not seen committed.
    under_way: usize,
    /// What happened since its last append.
    inbox: Vec<Input>,
    place: HeldPlace,
    /// Whether its request stands in the gateway's line: then it needs no place.
    in_line: bool,
    /// File calls whose executor was asked to prepare.
    preparing: HashSet<CallId>,
    /// Its effective rules, with the revision that they were made from.
    rules: Option<(u64, Arc<Rules>)>,
    shown: Option<Activity>,
}

/// The actor.
pub struct Agent;

impl Actor for Agent {
    type Msg = AgentMsg;
    type State = AgentWorkerState;
    type Arguments = AgentArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(AgentWorkerState {
            path: args.path,
            env: args.env,
            subscribed: false,
            machine: None,
            backlog: Vec::new(),
            under_way: 0,
            inbox: Vec::new(),
            place: HeldPlace::No,
            in_line: false,
            preparing: HashSet::new(),
            rules: None,
            shown: None,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message(state.path.as_str(), message.kind());
        match message {
            AgentMsg::History { records } => {
                if !std::mem::replace(&mut state.subscribed, true) {
                    fold(&myself, state, records);
                }
            }
            AgentMsg::Committed { .. } if !state.subscribed => {}
            AgentMsg::Folded { machine } => {
                state.machine = Some(*machine);
                recover(&myself, state);
                for message in std::mem::take(&mut state.backlog) {
                    now(&myself, state, message);
                }
                decide(state);
            }
            other if state.machine.is_none() => state.backlog.push(other),
            other => {
                now(&myself, state, other);
                decide(state);
            }
        }
        Ok(())
    }
}

/// Folds a history on a blocking thread; a fold that panics is told to the supervisor: it would panic again.
fn fold(myself: &ActorRef<AgentMsg>, state: &AgentWorkerState, records: Vec<Arc<Record>>) {
    let (myself, path, book) = (myself.clone(), state.path.clone(), state.env.book.clone());
    if records.len() <= FOLDED_HERE {
        let folded = catch_unwind(AssertUnwindSafe(|| folded(&path, &records)));
        hand_in(&myself, &path, &book, folded.map_err(|_| "a record of it makes the fold panic".to_owned()));
        return;
    }
    tokio::spawn(async move {
        let start = path.clone();
        let folded = tokio::task::spawn_blocking(move || folded(&start, &records)).await;
        hand_in(&myself, &path, &book, folded.map_err(|error| error.to_string()));
    });
}

fn folded(path: &ActorPath, records: &[Arc<Record>]) -> State {
    let mut machine = State::new(path.clone());
    for record in records {
        turn::step(&mut machine, record);
    }
    machine
}

/// Hands a folded history in, as a message like any other.
fn hand_in(myself: &ActorRef<AgentMsg>, path: &ActorPath, book: &AddressBook, folded: Result<State, String>) {
    match folded {
        Ok(machine) => {
            // An agent that has gone meanwhile has no use for it.
            let _ = myself.cast(AgentMsg::Folded { machine: Box::new(machine) });
        }
        Err(error) => {
            let cause = format!("its records could not be folded: {error}");
            book.supervisor(&supervisor_of(path), AgentSupervisorMsg::FoldFailed { cause });
        }
    }
}

/// Looks at what had begun when the history ended.
fn recover(myself: &ActorRef<AgentMsg>, state: &mut AgentWorkerState) {
    let Some(machine) = &state.machine else { return };
    let effects = turn::open(machine);
    if !machine.is_main() && !turn::wants_place(machine) {
        // The worker before this one may have held a place; its children may be waiting for it.
        state.env.book.scheduler(SchedulerMsg::GiveBack { agent: state.path.clone() });
    }
    // Who is to stop at once asks no model first: the stop finds no request, and says that it ended.
    let stops = state.backlog.iter().any(|message| matches!(message, AgentMsg::Input(Input::Cancel { .. })));
    for effect in effects {
        match effect {
            Effect::Run { call } => execute(state, &call, Stage::Run, true),
            Effect::AskModel { .. } if stops => {}
            other => carry_out(myself, state, other),
        }
    }
}

/// Handles a message of an agent whose history is folded.
fn now(myself: &ActorRef<AgentMsg>, state: &mut AgentWorkerState, message: AgentMsg) {
    match message {
        AgentMsg::Committed { records } => committed(myself, state, &records),
        AgentMsg::Input(input) => state.inbox.push(input),
        AgentMsg::PlaceGranted => {
            if state.place == HeldPlace::Wanted {
                state.place = HeldPlace::Held;
            }
        }
        AgentMsg::GatewayWaits(waits) => state.in_line = waits,
        AgentMsg::ExecutorMissing { call } => probe(myself, state, call),
        AgentMsg::PlacesRebuilt => {
            let held = state.place == HeldPlace::Held;
            if state.place != HeldPlace::No {
                state.place = HeldPlace::Wanted;
                let agent = state.path.clone();
                state.env.book.scheduler(SchedulerMsg::Want { agent, held });
            }
        }
        AgentMsg::GatewayRebuilt => {
            let Some(machine) = &state.machine else { return };
            let asking = turn::open(machine)
                .into_iter()
                .find(|effect| matches!(effect, Effect::AskModel { .. } | Effect::StopModel));
            if let Some(effect) = asking {
                carry_out(myself, state, effect);
            }
        }
        // Only before the fold, and the fold only once.
        AgentMsg::History { .. } | AgentMsg::Folded { .. } => {}
    }
}

fn committed(myself: &ActorRef<AgentMsg>, state: &mut AgentWorkerState, records: &[Arc<Record>]) {
    let Some(machine) = &mut state.machine else { return };
    let mut effects = Vec::new();
    for record in records {
        if !machine.is_main() && machine.phase == turn::Phase::Ended {
            // Asked again, it goes on as a new worker, which finds this in its history.
            break;
        }
        if is_own(record, &state.path) {
            state.under_way = state.under_way.saturating_sub(1);
        }
        if let Body::SnapshotTaken(snapshot) = &record.body {
            // The session may see it later than this agent, which acts on it.
            state.env.keep_snapshot(record.seq, snapshot);
        }
        if let Body::Delegated(delegated) = &record.body
            && record.actor != state.path
            && !delegated.call.is_beside()
        {
            state.env.spawned.fetch_add(1, Ordering::Relaxed);
        }
        effects.extend(turn::step(machine, record));
    }
    show_graphs(state, records);
    for effect in effects {
        carry_out(myself, state, effect);
    }
}

/// Shows the task graphs that these records have changed.
fn show_graphs(state: &AgentWorkerState, records: &[Arc<Record>]) {
    let Some(machine) = &state.machine else { return };
    let touched = records.iter().filter_map(|record| match &record.body {
        Body::ToolIntent { call, tool, .. } if tool == "Delegate" => Some(call.clone()),
        Body::Delegated(delegated) => delegated.call.task().map(|_| delegated.call.base()),
        Body::ChildFinished(finished) => finished.call.task().map(|_| finished.call.base()),
        _ => None,
    });
    let mut touched: Vec<_> = touched.collect();
    touched.dedup();
    for id in touched {
        if let Some(graph) = machine.call(&id).and_then(|call| call.graph.as_ref()) {
            let body = AgentEvent::Graph { call: id, tasks: graph.view() };
            state.env.live(&state.path, EventBody::Agent(body));
        }
    }
}

/// Tells whether the agent itself appended the record; others append answers, endings of children, and a session's opening.
fn is_own(record: &Record, path: &ActorPath) -> bool {
    match &record.body {
        Body::PermissionAnswered { .. }
        | Body::SessionOpened(_)
        | Body::SnapshotTaken(_)
        | Body::UserMessage { .. }
        | Body::AskedAgain(_)
        | Body::ConversationCleared {}
        | Body::ModelChosen { .. }
        | Body::SessionClosed { .. } => false,
        Body::ChildFinished(_) => record.actor == *path,
        // The parent appends it: for the child it is the beginning, not an answer to an append.
        Body::Delegated(_) => record.actor != *path,
        _ => true,
    }
}

fn carry_out(myself: &ActorRef<AgentMsg>, state: &mut AgentWorkerState, effect: Effect) {
    let env = state.env.clone();
    let supervisor = supervisor_of(&state.path);
    match effect {
        Effect::AskModel { step, attempt, .. } => {
            state.in_line = false;
            let Some(machine) = &state.machine else { return };
            let snapshot = env.snapshot(machine.setup.as_ref().map_or(0, |setup| setup.snapshot));
            let request = Box::new(turn::request(machine, &snapshot, env.max_output_tokens));
            let key = RequestKey { session: env.session.clone(), agent: state.path.clone(), step, attempt };
            // A gateway that is being restarted tells everybody when it is back.
            let _ = env.process.gateway.load().cast(ModelGatewayMsg::Ask { key, request, env: env.clone() });
        }
        Effect::StopModel => {
            let Some(machine) = &state.machine else { return };
            let turn::Phase::Asking { attempt, .. } = machine.phase else { return };
            let (session, agent, step) = (env.session.clone(), state.path.clone(), machine.step);
            let key = RequestKey { session, agent, step, attempt };
            let _ = env.process.gateway.load().cast(ModelGatewayMsg::Cancel { key, env: env.clone() });
        }
        Effect::StartTimer { step, wait_ms } => {
            let myself = myself.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                let _ = myself.cast(AgentMsg::Input(Input::TimerFired { step }));
            });
        }
        Effect::Run { call } => execute(state, &call, Stage::Run, false),
        Effect::SpawnChild { child, call } => {
            env.book.supervisor(&supervisor, AgentSupervisorMsg::SpawnChild { child, call });
        }
        Effect::SpawnBeside { child, call } => {
            env.book.session(SessionMsg::SpawnBeside { child, call });
        }
        Effect::StopChild { child } => {
            let by = state.path.to_string();
            env.book.supervisor(&supervisor, AgentSupervisorMsg::StopChild { child, by });
        }
        Effect::StopCall { call } => {
            let Some(executor) = executor_of(state, &call) else { return };
            env.book.supervisor(&supervisor, AgentSupervisorMsg::StopCall { executor, call });
        }
        Effect::CallEnded { call } => {
            state.preparing.remove(&call);
            // By its id: the call itself may have left the state with the last result of its answer.
            env.book.supervisor(&supervisor, AgentSupervisorMsg::EndCall { call });
        }
        Effect::Ended => {
            env.book.supervisor(&supervisor, AgentSupervisorMsg::AgentEnded);
        }
    }
}

fn executor_of(state: &AgentWorkerState, call: &CallId) -> Option<ActorPath> {
    state.machine.as_ref()?.call(call).map(|call| call.actor.clone())
}

fn execute(state: &mut AgentWorkerState, id: &CallId, stage: Stage, recover: bool) {
    let Some(machine) = state.machine.take() else { return };
    if let Some(call) = machine.call(id) {
        hand_over(state, &machine, call.clone(), stage, recover);
    }
    state.machine = Some(machine);
}

/// Gives a call to its executor, with what only the agent knows.
fn hand_over(state: &mut AgentWorkerState, machine: &State, call: Call, stage: Stage, recover: bool) {
    let given = Given {
        seen: call.target.as_ref().and_then(|target| machine.seen.get(&target.path).cloned()),
        rules: effective_rules(state, machine),
        model: machine.setup.as_ref().map(|setup| setup.model.clone()).unwrap_or_default(),
    };
    let message = AgentSupervisorMsg::Execute { call: Box::new(call), stage, given, recover };
    state.env.book.supervisor(&supervisor_of(&state.path), message);
}

/// Looks at what a call left that nobody runs; what came of it is an input.
fn probe(myself: &ActorRef<AgentMsg>, state: &AgentWorkerState, id: CallId) {
    let Some(call) = state.machine.as_ref().and_then(|machine| machine.call(&id)) else { return };
    if call.state != CallState::Begun {
        return;
    }
    let (myself, write) = (myself.clone(), call.write.clone());
    tokio::spawn(async move {
        let found = match write {
            // A probe that panics finds nothing certain.
            Some(write) => tokio::task::spawn_blocking(move || maia_tools::probe(&write))
                .await
                .map_or(Some(maia_protocol::tool::WriteFound::Neither), Some),
            None => None,
        };
        let _ = myself.cast(AgentMsg::Input(Input::Probed { call: id, found }));
    });
}

/// Plans and appends what is due, as long as nothing is under way.
fn decide(state: &mut AgentWorkerState) {
    if state.under_way > 0 {
        return;
    }
    let Some(machine) = state.machine.take() else { return };
    see_to_place(state, &machine);
    let rules = effective_rules(state, &machine);
    let env = state.env.clone();
    let judged = |call: &Call| -> Ruling {
        // Nobody is asked about a call that cannot run.
        if let Some(why) = maia_tools::fault(&call.name, &call.input) {
            return Ruling { action: RulingAction::Refuse, rule: None, why };
        }
        judge(
            &rules,
            **env.mode.load(),
            env.sandbox,
            &call.name,
            &call.input,
            call.target.as_ref(),
            &env.place,
        )
    };
    let snapshot_seq = machine.setup.as_ref().map_or(0, |setup| setup.snapshot);
    let snapshot = env.snapshot(snapshot_seq);
    let context = Context {
        judge: &judged,
        spawn: SpawnPlan {
            snapshot: &snapshot,
            snapshot_seq,
            limits: env.limits,
            spawned: env.spawned.load(Ordering::Relaxed),
        },
        holds_place: machine.is_main() || state.place == HeldPlace::Held,
        now: Timestamp::now(),
    };
    let inputs = std::mem::take(&mut state.inbox);
    let records = turn::plan(&machine, &context, &inputs);
    if records.is_empty() {
        // Looking at a file is work of the agent too: without a place it waits (ENGINE 6).
        if context.holds_place {
            prepare_files(state, &machine);
        }
    } else {
        state.under_way = records.len();
        env.book.journal(JournalMsg::Append { records });
    }
    show(state, &machine);
    state.machine = Some(machine);
}

/// File calls whose turn has come take their lock and prepare; their intent is recorded when they are ready.
fn prepare_files(state: &mut AgentWorkerState, machine: &State) {
    let files: Vec<_> =
        turn::startable(machine).into_iter().filter(|call| turn::is_file_tool(&call.name)).cloned().collect();
    for call in files {
        if state.preparing.insert(call.id.clone()) {
            hand_over(state, machine, call, Stage::Prepare, false);
        }
    }
}

fn see_to_place(state: &mut AgentWorkerState, machine: &State) {
    if machine.is_main() {
        return;
    }
    let agent = state.path.clone();
    // A result that waits in the inbox is work too: giving the place back now would only lose it.
    let in_line = state.in_line && matches!(machine.phase, turn::Phase::Asking { .. });
    let wants = (turn::wants_place(machine) && !in_line) || !state.inbox.is_empty();
    match (wants, state.place) {
        (true, HeldPlace::No) => {
            state.place = HeldPlace::Wanted;
            state.env.book.scheduler(SchedulerMsg::Want { agent, held: false });
        }
        (false, HeldPlace::Held | HeldPlace::Wanted) => {
            state.place = HeldPlace::No;
            state.env.book.scheduler(SchedulerMsg::GiveBack { agent });
        }
        _ => {}
    }
}

/// The person's rules of the moment with the agent's own lists (SAFETY 2).
fn effective_rules(state: &mut AgentWorkerState, machine: &State) -> Arc<Rules> {
    let current = state.env.rules.load();
    if let Some((revision, rules)) = &state.rules
        && *revision == current.revision
    {
        return rules.clone();
    }
    let mut own = machine.setup.as_ref().map(|setup| setup.rules.clone()).unwrap_or_default();
    if let Some(setup) = &machine.setup
        && let Some(definition) = &setup.definition
        && !state.env.allow_counts(definition, &setup.definition_hash)
    {
        own.allow.clear();
    }
    let rules = Arc::new(current.rules.with(&own));
    state.rules = Some((current.revision, rules.clone()));
    rules
}

/// Shows what the agent does, where that has changed.
fn show(state: &mut AgentWorkerState, machine: &State) {
    let activity = match state.place {
        // A request that is under way goes on without a place; what follows on it waits for one.
        _ if matches!(machine.phase, turn::Phase::Asking { .. }) && machine.cancelled_by.is_none() => {
            if state.in_line {
                Activity { state: AgentState::Waiting, waiting_for: Some(WaitingFor::Gateway) }
            } else {
                Activity { state: AgentState::Working, waiting_for: None }
            }
        }
        HeldPlace::Wanted if turn::wants_place(machine) => {
            Activity { state: AgentState::Queued, waiting_for: None }
        }
        _ => machine.activity(),
    };
    if state.shown == Some(activity) {
        return;
    }
    state.shown = Some(activity);
    let (now, waiting_for) = (activity.state, activity.waiting_for);
    state.env.live(&state.path, EventBody::Agent(AgentEvent::AgentState { state: now, waiting_for }));
}
