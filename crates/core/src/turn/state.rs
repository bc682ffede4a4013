//! What an agent knows: the fold of its records.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use maia_protocol::event::{AgentState, WaitingFor};
use maia_protocol::model::Unusable;
use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::permission::RuleSet;
use maia_protocol::record::TurnEnd;
use maia_protocol::tool::{Target, ToolOutput, WriteIntent};
use maia_protocol::{ActorPath, Block, CallId, Message, Role, Seq};
use serde::Serialize;
use serde_json::Value;

use crate::graph::Graph;

/// What an agent was given when it was spawned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setup {
    /// The parent's call that waits for it; `None` for the main agent.
    pub call: Option<CallId>,
    /// Its definition; `None` = maia herself.
    pub definition: Option<String>,
    /// SHA-256 of the definition's file when it was spawned; empty for the main agent.
    pub definition_hash: String,
    /// Its task; empty for the main agent.
    pub task: String,
    /// Its model.
    pub model: String,
    /// Iterations: of its life, for the main agent of one turn.
    pub iterations: u32,
    /// Names of its tools; `None` = all of the snapshot (the main agent).
    pub tools: Option<Vec<String>>,
    /// Rules beside the person's.
    pub rules: RuleSet,
    /// The snapshot that it works from.
    pub snapshot: Seq,
    /// Names of the tools of the snapshot, for the main agent: what else its model calls is unknown (mission M6.3-unknown).
    pub offered: Vec<String>,
    /// When it began.
    pub since: Timestamp,
}

/// A text that waits for the agent's next request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pending {
    /// Who said it.
    pub from: String,
    /// The text.
    pub text: String,
    /// Whether it keeps a turn running: what somebody tells does, the result of work beside the turn waits for the person.
    pub steers: bool,
}

/// Where an agent stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Phase {
    /// Nothing to do.
    Idle,
    /// The next model request is due.
    Ready {
        /// Which attempt of the step it is, from 1.
        attempt: u32,
        /// Whether it is the closing request.
        closing: bool,
    },
    /// The model was asked.
    Asking {
        /// Which attempt of the step it is.
        attempt: u32,
        /// Whether it is the closing request.
        closing: bool,
    },
    /// A retry waits.
    Backoff {
        /// Which attempt comes next.
        attempt: u32,
        /// Whether it is the closing request.
        closing: bool,
        /// The wait, in milliseconds.
        wait_ms: u64,
    },
    /// The calls of an answer are at work.
    Acting,
    /// The end is due.
    Ending {
        /// How.
        end: End,
    },
    /// A sub-agent has ended.
    Ended,
}

/// How a turn, or a sub-agent's life, is about to end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// How, as a turn of the main agent.
    pub turn: TurnEnd,
    /// How, as a sub-agent's life.
    pub outcome: Outcome,
    /// Why, when not well.
    pub cause: Option<String>,
    /// The final text.
    pub text: String,
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum CallState {
    /// Not judged yet, or to be judged again.
    New,
    /// A person is to be asked.
    Doubtful {
        /// Why.
        why: String,
        /// The rule that says so.
        rule: Option<String>,
    },
    /// A person was asked.
    Asked,
    /// It may begin.
    Allowed {
        /// Whether a person allowed this very call.
        by_person: bool,
    },
    /// Its result is known without running it.
    Settled(ToolOutput),
    /// Its intent is recorded.
    Begun,
    /// It has its result.
    Done(ToolOutput),
}

/// A call of the answer that is being worked on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// The actor that carries it out: an executor, or a child.
    pub actor: ActorPath,
    /// The provider's id of it.
    pub provider_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments.
    pub input: Value,
    /// Why it must not run.
    pub unusable: Option<Unusable>,
    /// The file that it names.
    pub target: Option<Target>,
    /// What a Write or Edit that has begun will write.
    pub write: Option<WriteIntent>,
    /// The task graph of a `Delegate` that has begun.
    pub graph: Option<Graph>,
    /// Where it stands.
    pub state: CallState,
}

impl Call {
    /// Tells whether it has its result.
    pub fn is_done(&self) -> bool {
        matches!(self.state, CallState::Done(_))
    }

    /// Returns the key of its lock; `None` for calls that take none.
    pub fn lock_key(&self) -> Option<String> {
        self.target.as_ref().filter(|_| is_file_tool(&self.name)).map(Target::lock_key)
    }

    /// Tells whether it delegates to a child.
    pub fn is_delegation(&self) -> bool {
        matches!(self.name.as_str(), "Agent" | "Delegate")
    }
}

/// Tells whether calls of `tool` take the lock of the file they name (ENGINE 5).
pub fn is_file_tool(tool: &str) -> bool {
    matches!(tool, "Read" | "Write" | "Edit")
}

/// The fold of an agent's records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// Who it is.
    pub path: ActorPath,
    /// What it was given; `None` until its first record.
    pub setup: Option<Setup>,
    /// The conversation, roles alternating.
    pub messages: Vec<Arc<Message>>,
    /// Texts told while it runs, waiting for the next request.
    pub pending: Vec<Pending>,
    /// Where it stands.
    pub phase: Phase,
    /// Number of the turn, for the main agent.
    pub turn: u32,
    /// Length of the conversation before the turn.
    pub turn_start: usize,
    /// Blocks of the user's message that the turn was joined to; 0 when it began with a message of its own.
    pub turn_start_blocks: usize,
    /// Texts told that went into requests of a turn in which no call has begun: they come back with it.
    pub delivered: Vec<Pending>,
    /// Whether a call has begun in this turn: after that a stop forgets nothing (ENGINE 5).
    pub acted: bool,
    /// Requests made in its life.
    pub step: u32,
    /// Iterations taken of the budget.
    pub iterations: u32,
    /// Nudges of this turn (W-stop-empty).
    pub nudges: u32,
    /// Cut answers in a row (W-stop-length3).
    pub cuts: u32,
    /// What the model said last in this turn, beside calls too: for an end without words of its own.
    pub last_text: Option<String>,
    /// Why the closing request comes before the iterations are spent (W-think-degrade).
    pub closing_cause: Option<String>,
    /// Calls of the answer that is being worked on.
    pub calls: Vec<Call>,
    /// Children and executors numbered so far, by name.
    pub numbered: BTreeMap<String, u32>,
    /// Children that have begun and not ended, each with the call or task that waits for it.
    pub children: Vec<(ActorPath, CallId)>,
    /// Children that a person started beside the turn and that have not ended; a stop of the turn leaves them.
    pub beside: Vec<(ActorPath, CallId)>,
    /// How many of those there ever were.
    pub begun_beside: u32,
    /// Hash of what it last read or wrote, by file (ENGINE 5).
    pub seen: BTreeMap<PathBuf, String>,
    /// Who asked it to stop.
    pub cancelled_by: Option<String>,
    /// Whether a person answered a question with stop (mission M6.2-stop).
    pub stop_answered: bool,
    /// What it used itself.
    pub totals: Totals,
    /// What its ended children and all below them used.
    pub below: Totals,
    /// The last final text.
    pub result: String,
    /// The model that was chosen while a request is under way: the next one goes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_model: Option<String>,
}

/// What an agent is doing, for its place and for the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// What it does.
    pub state: AgentState,
    /// What it waits for.
    pub waiting_for: Option<WaitingFor>,
}

impl State {
    /// Forgets how the turn, or the life, before was going; conversation, numbers and what it used stay.
    pub(super) fn begin_anew(&mut self) {
        self.turn_start = self.messages.len();
        self.acted = false;
        self.iterations = 0;
        self.nudges = 0;
        self.cuts = 0;
        self.last_text = None;
        self.closing_cause = None;
        self.cancelled_by = None;
        self.stop_answered = false;
        self.calls.clear();
    }

    /// Returns the state of an agent before its first record.
    pub fn new(path: ActorPath) -> Self {
        Self {
            path,
            setup: None,
            messages: Vec::new(),
            pending: Vec::new(),
            phase: Phase::Idle,
            turn: 0,
            turn_start: 0,
            turn_start_blocks: 0,
            delivered: Vec::new(),
            acted: false,
            step: 0,
            iterations: 0,
            nudges: 0,
            cuts: 0,
            last_text: None,
            closing_cause: None,
            calls: Vec::new(),
            numbered: BTreeMap::new(),
            children: Vec::new(),
            beside: Vec::new(),
            begun_beside: 0,
            seen: BTreeMap::new(),
            cancelled_by: None,
            stop_answered: false,
            totals: Totals::default(),
            below: Totals::default(),
            result: String::new(),
            chosen_model: None,
        }
    }

    /// Tells whether this is the main agent.
    pub fn is_main(&self) -> bool {
        self.path == ActorPath::main()
    }

    /// Returns the call called `id`, of the answer that is being worked on.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == *id)
    }

    /// Tells what the agent does, as far as its records tell.
    pub fn activity(&self) -> Activity {
        let waiting = |what| Activity { state: AgentState::Waiting, waiting_for: Some(what) };
        if self.cancelled_by.is_some() && !matches!(self.phase, Phase::Idle | Phase::Ended) {
            return Activity { state: AgentState::Stopping, waiting_for: None };
        }
        match &self.phase {
            Phase::Idle | Phase::Ended => Activity { state: AgentState::Idle, waiting_for: None },
            Phase::Backoff { .. } => waiting(WaitingFor::Retry),
            Phase::Acting => {
                let at_work = self.calls.iter().any(|call| {
                    !call.is_delegation()
                        && matches!(call.state, CallState::Begun | CallState::Allowed { .. } | CallState::New)
                });
                if at_work {
                    Activity { state: AgentState::Working, waiting_for: None }
                } else if self.calls.iter().any(|call| matches!(call.state, CallState::Asked)) {
                    waiting(WaitingFor::Person)
                } else if !self.children.is_empty() {
                    waiting(WaitingFor::Children)
                } else {
                    Activity { state: AgentState::Working, waiting_for: None }
                }
            }
            _ => Activity { state: AgentState::Working, waiting_for: None },
        }
    }

    /// Adds blocks of the user, joined to the last message where that is the user's too: roles alternate.
    pub(super) fn push_user(&mut self, blocks: Vec<Block>) {
        if blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => Arc::make_mut(last).content.extend(blocks),
            _ => self.messages.push(Arc::new(Message { role: Role::User, content: blocks })),
        }
    }

    /// Adds what an ended child used.
    pub(super) fn add_below(&mut self, totals: &Totals) {
        add(&mut self.below, totals);
    }
}

/// Adds up what was used; the price is unknown as long as no part of it is known.
pub fn add(sum: &mut Totals, more: &Totals) {
    // A server may count as it likes.
    sum.iterations = sum.iterations.saturating_add(more.iterations);
    sum.tool_calls = sum.tool_calls.saturating_add(more.tool_calls);
    sum.input_tokens = sum.input_tokens.saturating_add(more.input_tokens);
    sum.output_tokens = sum.output_tokens.saturating_add(more.output_tokens);
    sum.cost_micros = match (sum.cost_micros, more.cost_micros) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    };
}
