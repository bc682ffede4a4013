//! Looks ahead: from what came in to all records of one decision (ENGINE 2).
//!
//! The caller hands in what happened; what comes back is one append. The copy of the state is dropped: the
//! records are applied when they are committed, in the journal's order.

use jiff::Timestamp;
use maia_protocol::model::{Answer, FailureKind, ModelFailure};
use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::permission::{RuleSet, Ruling};
use maia_protocol::record::{
    AfterAnswer, AfterFailure, ChildFinished, Delegated, ModelAnswered, PermissionAsked,
};
use maia_protocol::tool::{Risk, Target, ToolOutput, WriteFound, WriteIntent};
use maia_protocol::{ActorPath, Body, CallId, NewRecord, Record, Seq, Snapshot};

use super::apply::step;
use super::ask::is_steered;
use super::effect::{startable, waits_for_earlier};
use super::next::{Next, Seen, next};
use super::state::{Call, CallState, End, Phase, State, add, is_file_tool};
use crate::agent_file;
use crate::graph::Graph;

/// Something that happened to an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The model answered.
    Answered {
        /// Number of the request.
        step: u32,
        /// The answer.
        answer: Answer,
        /// For each call the file that it names, resolved now.
        targets: Vec<Option<Target>>,
        /// USD × 10⁻⁶.
        cost_micros: Option<u64>,
        /// From sending to the first delta.
        first_token_ms: Option<u64>,
        /// From sending to the end.
        duration_ms: u64,
    },
    /// The request failed, or was ended by a stop.
    Failed {
        /// Number of the request.
        step: u32,
        /// Which attempt.
        attempt: u32,
        /// What happened.
        failure: ModelFailure,
    },
    /// A retry's wait is over.
    TimerFired {
        /// Number of the request that waits.
        step: u32,
    },
    /// A file call holds its lock and knows what it will do.
    Prepared {
        /// The call.
        call: CallId,
        /// What will be written; `None` for reading.
        write: Option<WriteIntent>,
    },
    /// A call has its result.
    Done {
        /// The call.
        call: CallId,
        /// The result.
        output: ToolOutput,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
    },
    /// A call whose end is not recorded was looked at after a restart (ENGINE 7).
    Probed {
        /// The call.
        call: CallId,
        /// What a Write or Edit left.
        found: Option<WriteFound>,
    },
    /// Somebody tells the agent something.
    Told {
        /// Who.
        from: String,
        /// The text.
        text: String,
    },
    /// A person starts a child beside the turn (`&agent task`).
    Spawn {
        /// Name of the definition.
        agent: String,
        /// The task.
        task: String,
    },
    /// Somebody asks it to stop.
    Cancel {
        /// Who.
        by: String,
    },
}

/// Limits of the tree (ENGINE 6, Places).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Depth of the deepest agent; the main agent has 0.
    pub max_depth: usize,
    /// Agents that models may spawn in one session.
    pub max_spawns: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 3, max_spawns: 200 }
    }
}

/// What a decision may look at beside the state.
pub struct Context<'a> {
    /// Rules and mode of the moment.
    pub judge: &'a dyn Fn(&Call) -> Ruling,
    /// What agents can be spawned and how.
    pub spawn: SpawnPlan<'a>,
    /// Whether the agent has its place among those at work (ENGINE 6).
    pub holds_place: bool,
    /// The moment.
    pub now: Timestamp,
}

/// What a delegation is made from.
#[derive(Clone, Copy)]
pub struct SpawnPlan<'a> {
    /// The snapshot in force.
    pub snapshot: &'a Snapshot,
    /// Its number.
    pub snapshot_seq: Seq,
    /// Limits of the tree.
    pub limits: Limits,
    /// Agents that models have spawned so far in the session.
    pub spawned: u32,
}

/// Returns all records of one decision: of what came in, and of everything that is due then.
pub fn plan(state: &State, context: &Context<'_>, inputs: &[Input]) -> Vec<NewRecord> {
    // An agent with a thousand children hears of each of them, and mostly has nothing to say: no copy is made then.
    if inputs.is_empty() && due(state, context).is_empty() {
        return Vec::new();
    }
    let mut ahead = Ahead { state: state.clone(), records: Vec::new(), now: context.now };
    for input in inputs {
        ahead.take(input, &context.spawn);
    }
    // Each round settles something, so it ends; the bound only keeps a mistake from spinning.
    for _ in 0..1_000 {
        let delegations = ahead.records.iter().filter(|record| matches!(record.body, Body::Delegated(_)));
        let spawned =
            context.spawn.spawned.saturating_add(u32::try_from(delegations.count()).unwrap_or(u32::MAX));
        let due = due(&ahead.state, &Context { spawn: SpawnPlan { spawned, ..context.spawn }, ..*context });
        if due.is_empty() {
            break;
        }
        for record in due {
            ahead.push(record.actor, record.body);
        }
    }
    ahead.records
}

/// Tells whether the agent has work that needs a place: a request, or a call of its own.
pub fn wants_place(state: &State) -> bool {
    match state.phase {
        Phase::Ready { .. } | Phase::Asking { .. } => true,
        Phase::Ending { .. } => is_steered(state),
        Phase::Acting => {
            state.calls.iter().any(|call| call.state == CallState::Begun && !call.is_delegation())
                || startable(state).iter().any(|call| !call.is_delegation())
        }
        _ => false,
    }
}

struct Ahead {
    state: State,
    records: Vec<NewRecord>,
    now: Timestamp,
}

impl Ahead {
    fn push(&mut self, actor: ActorPath, body: Body) {
        let record = Record { seq: 0, time: self.now, actor, body };
        step(&mut self.state, &record);
        self.records.push(NewRecord { actor: record.actor, body: record.body });
    }

    fn own(&mut self, body: Body) {
        self.push(self.state.path.clone(), body);
    }

    fn take(&mut self, input: &Input, spawn: &SpawnPlan<'_>) {
        match input {
            Input::Answered { step, answer, targets, cost_micros, first_token_ms, duration_ms } => {
                let Phase::Asking { closing, .. } = self.state.phase else { return };
                if *step != self.state.step {
                    return;
                }
                let then = after_answer(&self.state, answer, closing);
                let model = self.state.setup.as_ref().map(|setup| setup.model.clone()).unwrap_or_default();
                self.own(Body::ModelAnswered(Box::new(ModelAnswered {
                    step: *step,
                    answer: answer.clone(),
                    targets: targets.clone(),
                    model,
                    cost_micros: *cost_micros,
                    first_token_ms: *first_token_ms,
                    duration_ms: *duration_ms,
                    interrupted: false,
                    then,
                })));
            }
            Input::Failed { step, attempt, failure } => {
                let Phase::Asking { closing, .. } = self.state.phase else { return };
                if *step != self.state.step {
                    return;
                }
                let then = after_failure(&self.state, failure, *attempt, closing);
                let failure = failure.clone();
                self.own(Body::ModelFailed { step: *step, attempt: *attempt, failure, then });
            }
            Input::TimerFired { step } => {
                if matches!(self.state.phase, Phase::Backoff { .. }) && *step == self.state.step {
                    self.own(Body::TimerFired { step: *step });
                }
            }
            Input::Prepared { call, write } => {
                let Some(known) = self.state.call(call) else { return };
                if !matches!(known.state, CallState::Allowed { .. }) || self.state.cancelled_by.is_some() {
                    return;
                }
                let (actor, tool) = (known.actor.clone(), known.name.clone());
                let risk = if write.is_some() { Risk::Write } else { Risk::Read };
                let write = write.clone();
                self.push(actor, Body::ToolIntent { call: call.clone(), tool, risk, write });
            }
            Input::Done { call, output, duration_ms } => {
                let Some(known) = self.state.call(call).filter(|call| !call.is_done()) else { return };
                let (actor, tool) = (known.actor.clone(), known.name.clone());
                let (output, duration_ms) = (output.clone(), *duration_ms);
                self.push(actor, Body::ToolDone { call: call.clone(), tool, output, duration_ms });
            }
            Input::Probed { call, found } => {
                let Some(known) = self.state.call(call).filter(|call| call.state == CallState::Begun) else {
                    return;
                };
                let action = crate::restart::reconcile(&known.name, *found);
                self.own(Body::Reconciled { call: call.clone(), found: *found, action });
            }
            Input::Told { from, text } => {
                if self.state.phase != Phase::Ended {
                    self.own(Body::Told { from: from.clone(), text: text.clone() });
                }
            }
            Input::Spawn { agent, task } => {
                let call = CallId::new(&self.state.path, 0, self.state.begun_beside + 1);
                // Who sends this has seen that the agent exists; limits are for models, not for the person (ENGINE 6).
                if let Ok(delegated) = child(&self.state, call, agent, task.clone(), spawn) {
                    let first = first_record(&self.state, delegated);
                    self.push(first.actor, first.body);
                }
            }
            Input::Cancel { by } => {
                let idle = matches!(self.state.phase, Phase::Idle | Phase::Ended);
                if !idle && self.state.cancelled_by.is_none() {
                    self.own(Body::CancelAsked { by: by.clone() });
                }
            }
        }
    }
}

fn seen(state: &State, closing: bool, retries: u32) -> Seen {
    Seen {
        retries,
        nudges: state.nudges,
        cuts_in_a_row: state.cuts,
        last_text: state.last_text.clone(),
        has_tool_results: state.acted,
        closing,
    }
}

fn after_answer(state: &State, answer: &Answer, closing: bool) -> AfterAnswer {
    match next(&Ok(answer.clone()), &seen(state, closing, 0)) {
        Next::RunTools | Next::ToolErrorResults => AfterAnswer::Tools,
        Next::FinalAnswer { text, truncated } => AfterAnswer::Final { text, truncated },
        Next::FilteredNotice { text } => AfterAnswer::Final { text, truncated: false },
        Next::NudgeEmpty { nudge } => AfterAnswer::Nudge { text: nudge.to_owned() },
        Next::Degrade => AfterAnswer::Close,
        // An answer as such is neither retried nor failed; should that change, its text is what there is.
        Next::Retry { .. } | Next::Fail { .. } => {
            AfterAnswer::Final { text: answer.text.clone(), truncated: false }
        }
    }
}

fn after_failure(state: &State, failure: &ModelFailure, attempt: u32, closing: bool) -> AfterFailure {
    if failure.kind == FailureKind::Cancelled || state.cancelled_by.is_some() {
        return AfterFailure::Cancelled;
    }
    match next(&Err(failure.clone()), &seen(state, closing, attempt.saturating_sub(1))) {
        Next::Retry { delay_ms } => AfterFailure::Retry { in_ms: delay_ms },
        Next::Degrade if !closing => AfterFailure::Close,
        _ => AfterFailure::Fail,
    }
}

/// Returns the intents and results that are due now; empty when everything that can begin has begun.
fn due(state: &State, context: &Context<'_>) -> Vec<NewRecord> {
    match &state.phase {
        Phase::Ready { attempt, closing } if context.holds_place => {
            vec![ask(state, *attempt, *closing || state.iterations >= budget(state))]
        }
        Phase::Ending { end } => {
            if is_steered(state) {
                // Once past the budget it is answered without tools (W-stop-steer: one round more).
                let closing = state.iterations > budget(state);
                return if context.holds_place { vec![ask(state, 1, closing)] } else { Vec::new() };
            }
            if state.children.is_empty() { vec![ended(state, end, context.now)] } else { Vec::new() }
        }
        Phase::Acting => acting(state, context),
        _ => Vec::new(),
    }
}

fn budget(state: &State) -> u32 {
    state.setup.as_ref().map_or(0, |setup| setup.iterations)
}

fn ask(state: &State, attempt: u32, closing: bool) -> NewRecord {
    let step = if attempt == 1 { state.step + 1 } else { state.step };
    NewRecord::new(state.path.clone(), Body::ModelAsked { step, attempt, closing })
}

fn ended(state: &State, end: &End, now: Timestamp) -> NewRecord {
    let Some((setup, call)) =
        state.setup.as_ref().and_then(|setup| setup.call.as_ref().map(|call| (setup, call)))
    else {
        let text = match (&end.cause, end.text.is_empty()) {
            (Some(cause), _) if end.outcome == Outcome::Failed => cause.clone(),
            _ => end.text.clone(),
        };
        let body = Body::TurnFinished { turn: state.turn, end: end.turn, text };
        return NewRecord::new(state.path.clone(), body);
    };
    let duration = now.as_millisecond().saturating_sub(setup.since.as_millisecond());
    let totals = Totals { duration_ms: u64::try_from(duration).unwrap_or(0), ..state.totals };
    let mut subtree = totals;
    add(&mut subtree, &state.below);
    let finished = ChildFinished {
        call: call.clone(),
        outcome: end.outcome,
        cause: end.cause.clone(),
        summary: end.text.clone(),
        totals,
        subtree,
    };
    NewRecord::new(state.path.clone(), Body::ChildFinished(Box::new(finished)))
}

fn acting(state: &State, context: &Context<'_>) -> Vec<NewRecord> {
    let own = |body| NewRecord::new(state.path.clone(), body);
    let settled = state.calls.iter().filter_map(|call| match &call.state {
        CallState::Settled(output) => Some(done(call, output.clone())),
        _ => None,
    });
    let settled: Vec<_> = settled.collect();
    if !settled.is_empty() {
        return settled;
    }
    let fresh = state.calls.iter().filter(|call| call.state == CallState::New);
    let rulings: Vec<_> = fresh.map(|call| (call.id.clone(), (context.judge)(call))).collect();
    if !rulings.is_empty() {
        return vec![own(Body::CallsJudged { rulings })];
    }
    let mut records = Vec::new();
    for (index, call) in state.calls.iter().enumerate() {
        if let CallState::Doubtful { why, rule } = &call.state
            && !waits_for_earlier(state, index)
        {
            records.push(own(Body::PermissionAsked(Box::new(PermissionAsked {
                call: call.id.clone(),
                tool: call.name.clone(),
                input: call.input.clone(),
                target: call.target.clone(),
                why: why.clone(),
                rule: rule.clone(),
            }))));
        }
    }
    // Children get their numbers one after the other, so one delegation a round.
    let mut delegated = false;
    for call in startable(state) {
        if call.name == "Delegate" {
            records.push(begin_graph(state, call, &context.spawn));
        } else if call.is_delegation() {
            if !delegated {
                delegated = true;
                records.push(delegate(state, call, &context.spawn));
            }
        } else if !is_file_tool(&call.name) && context.holds_place {
            let (call, tool) = (call.clone(), call.name.clone());
            let body = Body::ToolIntent { call: call.id, tool, risk: risk(&call.name), write: None };
            records.push(NewRecord::new(call.actor, body));
        }
    }
    if !delegated {
        records.extend(state.calls.iter().find_map(|call| next_task(state, call, &context.spawn)));
    }
    records
}

/// Returns the intent of a `Delegate`, or its error result: everything that it names is checked before anything starts.
fn begin_graph(state: &State, call: &Call, spawn: &SpawnPlan<'_>) -> NewRecord {
    let graph = match Graph::read(&call.input, &|agent| spawn.snapshot.agent(agent).is_some()) {
        Ok(graph) => graph,
        Err(error) => {
            let error = format!("{error} Known agents: {}.", known_agents(spawn));
            return done(call, ToolOutput::error(error));
        }
    };
    let tasks = u32::try_from(graph.view().len()).unwrap_or(u32::MAX);
    if let Err(error) = has_room(state, spawn, tasks) {
        return done(call, ToolOutput::error(error));
    }
    let (call, tool) = (call.id.clone(), call.name.clone());
    let actor = state.call(&call).map_or_else(|| state.path.clone(), |call| call.actor.clone());
    NewRecord::new(actor, Body::ToolIntent { call, tool, risk: Risk::Execute, write: None })
}

/// Returns the first record of the next child of a graph.
fn next_task(state: &State, call: &Call, spawn: &SpawnPlan<'_>) -> Option<NewRecord> {
    let graph = call.graph.as_ref().filter(|_| call.state == CallState::Begun)?;
    let spec = graph.ready().into_iter().next()?;
    let (agent, task) = (spec.agent.clone(), graph.task_text(&spec.id)?);
    let id = call.id.with_task(&spec.id);
    match child(state, id, &agent, task, spawn) {
        Ok(delegated) => Some(first_record(state, delegated)),
        // What was checked when the graph began no longer holds: the whole call says so.
        Err(error) => Some(done(call, ToolOutput::error(format!("{}\n\n{error}", graph.report())))),
    }
}

/// Returns what a call may do, for the restart table: what is not known to be harmless is not.
fn risk(tool: &str) -> Risk {
    match tool {
        "Glob" | "Grep" | "CurrentModel" | "TodoWrite" | "AgentOutput" | "Skill" => Risk::Read,
        _ => Risk::Execute,
    }
}

fn done(call: &Call, output: ToolOutput) -> NewRecord {
    let body = Body::ToolDone { call: call.id.clone(), tool: call.name.clone(), output, duration_ms: 0 };
    NewRecord::new(call.actor.clone(), body)
}

/// Returns the child's first record, or the error result of a delegation that cannot be.
fn delegate(state: &State, call: &Call, spawn: &SpawnPlan<'_>) -> NewRecord {
    let text = |name: &str| call.input.get(name).and_then(serde_json::Value::as_str).map(str::trim);
    let (Some(agent), Some(task)) = (text("agent"), text("task")) else {
        let error = format!("Agent needs \"agent\" and \"task\", both texts. Received: {}", call.input);
        return done(call, ToolOutput::error(error));
    };
    if task.is_empty() {
        return done(call, ToolOutput::error("The task is empty: say what the agent is to do."));
    }
    let delegated =
        has_room(state, spawn, 1).and_then(|()| child(state, call.id.clone(), agent, task.to_owned(), spawn));
    match delegated {
        Ok(delegated) => first_record(state, delegated),
        Err(error) => done(call, ToolOutput::error(error)),
    }
}

fn first_record(state: &State, delegated: Delegated) -> NewRecord {
    let n = state.numbered.get(&delegated.definition).copied().unwrap_or(0) + 1;
    let child = state.path.child(&delegated.definition, n);
    NewRecord::new(child, Body::Delegated(Box::new(delegated)))
}

fn known_agents(spawn: &SpawnPlan<'_>) -> String {
    let names: Vec<_> = spawn.snapshot.agents.iter().map(|agent| agent.definition.name.as_str()).collect();
    if names.is_empty() { "there are none".to_owned() } else { names.join(", ") }
}

/// Tells whether `more` children fit under the limits of the tree (ENGINE 6).
fn has_room(state: &State, spawn: &SpawnPlan<'_>, more: u32) -> Result<(), String> {
    let SpawnPlan { limits, spawned, .. } = spawn;
    if state.path.depth() >= limits.max_depth {
        return Err(format!("Agents may stand at most {} deep; do this work yourself.", limits.max_depth));
    }
    if spawned.saturating_add(more) > limits.max_spawns {
        return Err(format!(
            "This session may spawn {} agents (MaxSpawns) and has spawned {spawned}; do this work yourself.",
            limits.max_spawns
        ));
    }
    Ok(())
}

fn child(
    state: &State,
    call: CallId,
    agent: &str,
    task: String,
    spawn: &SpawnPlan<'_>,
) -> Result<Delegated, String> {
    let setup = state.setup.as_ref().ok_or("an agent without a beginning cannot delegate")?;
    let known = spawn
        .snapshot
        .agent(agent)
        .ok_or_else(|| format!("There is no agent \"{agent}\". Known agents: {}.", known_agents(spawn)))?;
    let definition = &known.definition;
    let built: Vec<&str> = spawn.snapshot.tools.iter().map(|tool| tool.name.as_str()).collect();
    let (mut tools, _) = agent_file::resolve_tools(definition, &built);
    tools.retain(|tool| built.contains(&tool.as_str()));
    if let Some(has) = &setup.tools {
        tools.retain(|tool| has.contains(tool));
    }
    let join = |parent: &[String], own: &[String]| parent.iter().chain(own).cloned().collect();
    let model = definition.model.as_deref().map(|model| model.strip_prefix("litellm:").unwrap_or(model));
    Ok(Delegated {
        call,
        definition: definition.name.clone(),
        definition_hash: known.hash.clone(),
        task,
        model: model.or(state.chosen_model.as_deref()).unwrap_or(&setup.model).to_owned(),
        iterations: definition.effort.iterations(),
        tools,
        // Deny and ask are inherited, allow is not (SAFETY 2).
        rules: RuleSet {
            allow: definition.permissions.allow.clone(),
            ask: join(&setup.rules.ask, &definition.permissions.ask),
            deny: join(&setup.rules.deny, &definition.permissions.deny),
        },
        snapshot: spawn.snapshot_seq,
    })
}
