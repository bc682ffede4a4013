//! Events: the one typed stream that the TUI, `--json`, ACP and replay read (SPEC section 4).
//!
//! An event is a fact in the past. Those with a record behind them are a pure projection of it
//! (`maia_core::event::events`); token deltas and live output have none and carry `"live": true`.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ActorPath, CallId, Seq};
use crate::outcome::{EndReason, Outcome, Totals};
use crate::permission::{AnsweredBy, Decision, Mode, RuleSet};
use crate::record::TurnEnd;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the record behind it, or of the last one before it.
    pub seq: Seq,
    /// When.
    pub time: Timestamp,
    /// The session's id.
    pub session: String,
    /// Whose event it is.
    pub actor: ActorPath,
    /// Whether there is no record behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
    /// Whether the embedded model answers in this session ([`crate::DEMO`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
    /// What happened: `type` and its fields.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened, by subject; in JSON all are told apart by `type` alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventBody {
    /// The session as a whole.
    Session(SessionEvent),
    /// Texts of the conversation and requests to models.
    Talk(TalkEvent),
    /// The tree of agents.
    Agent(AgentEvent),
    /// Calls and questions about them.
    Tool(ToolEvent),
    /// Things to be told to a person.
    Notice(NoticeEvent),
}

/// The session as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// It was opened.
    SessionStarted {
        /// Its label.
        name: String,
        /// Launch folder.
        cwd: PathBuf,
        /// Model of the main agent.
        model: String,
        /// Mode of this opening.
        mode: Mode,
        /// Whether it existed before.
        resumed: bool,
    },
    /// It was closed.
    SessionEnded {
        /// Why.
        reason: EndReason,
        /// Exit code of the process.
        exit_code: u8,
        /// Final text.
        result: String,
        /// What the whole tree used.
        #[serde(flatten)]
        totals: Totals,
    },
    /// The main agent's conversation begins anew; what was said before is not sent any more.
    ConversationCleared,
    /// Another model answers the main agent from its next request on.
    ModelChanged {
        /// The model, as the endpoint knows it.
        model: String,
    },
    /// A turn of the main agent began.
    TurnStarted {
        /// Its number.
        turn: u32,
    },
    /// A turn of the main agent ended.
    TurnFinished {
        /// Its number.
        turn: u32,
        /// How.
        stop_reason: TurnEnd,
    },
}

/// Texts of the conversation and requests to models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TalkEvent {
    /// A person asked.
    UserMessage {
        /// The text.
        text: String,
    },
    /// A piece of an answer that is being streamed; live.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// The whole text of an answer.
    Text {
        /// The text.
        text: String,
    },
    /// The whole reasoning of an answer.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A request to a model has ended well.
    ModelCall {
        /// Number of the request in the agent's life.
        step: u32,
        /// Model that answered.
        model: String,
        /// Tokens sent.
        input_tokens: u64,
        /// Tokens received.
        output_tokens: u64,
        /// Part of `input_tokens` read from the provider's cache.
        cached_tokens: u64,
        /// USD × 10⁻⁶; null when no price is known.
        cost_micros: Option<u64>,
        /// From sending to the first delta; null when unknown.
        first_token_ms: Option<u64>,
        /// From sending to the end.
        duration_ms: u64,
    },
    /// Somebody told a running agent something; the receipt.
    MessageReceived {
        /// Who told it.
        from: String,
        /// The text.
        text: String,
    },
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It waits for a place.
    Queued,
    /// A model request or a call runs.
    Working,
    /// It waits; `waiting_for` says for what.
    Waiting,
    /// It has nothing to do.
    Idle,
    /// It is being stopped.
    Stopping,
}

/// What an agent waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// An answer of a person.
    Person,
    /// Its children.
    Children,
    /// A lock that another call holds.
    Lock,
    /// The gateway: too many requests in flight, or the endpoint asked to wait.
    Gateway,
    /// A retry after a failure.
    Retry,
    /// Room on the disk.
    Disk,
}

/// How far a task of a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits for others.
    Blocked,
    /// It may begin.
    Ready,
    /// Its agent is at work.
    Running,
    /// It ended well.
    Done,
    /// It did not end well.
    Failed,
    /// It does not begin, because of another's end.
    Skipped,
}

/// A task of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphTask {
    /// Its id.
    pub id: String,
    /// The definition that does it.
    pub agent: String,
    /// Ids of the tasks whose results it needs.
    pub after: Vec<String>,
    /// How far it is.
    pub state: TaskState,
}

/// The tree of agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// An agent began.
    AgentSpawned {
        /// Its definition; `maia` for the main agent.
        definition: String,
        /// Its task; empty for the main agent.
        task: String,
        /// Model, resolved.
        model: String,
        /// Names of its tools.
        tools: Vec<String>,
        /// Names of its skills.
        skills: Vec<String>,
        /// Rules beside the person's.
        rules: RuleSet,
        /// Iterations.
        budget: u32,
    },
    /// An agent goes on after the session was opened again.
    AgentResumed {
        /// What it continues after.
        cause: String,
    },
    /// An agent that had ended was asked again and goes on from its conversation.
    AgentAskedAgain {
        /// Its definition.
        definition: String,
        /// What it was asked.
        text: String,
        /// Iterations, from this request on.
        budget: u32,
    },
    /// An agent waits for a place; live.
    AgentQueued {
        /// 1 = next.
        position: u32,
    },
    /// What an agent does has changed; live.
    AgentState {
        /// What it does.
        state: AgentState,
        /// What it waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting_for: Option<WaitingFor>,
    },
    /// The worker of an agent was rebuilt from the journal; live.
    AgentRestarted {
        /// What had happened.
        cause: String,
        /// How often by now.
        n: u32,
    },
    /// The task graph of a `Delegate` call has changed; live.
    Graph {
        /// The call.
        call: CallId,
        /// Its tasks, in the order in which they were written.
        tasks: Vec<GraphTask>,
    },
    /// An agent ended.
    AgentFinished {
        /// How.
        outcome: Outcome,
        /// Why, when not well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// What it hands back.
        summary: String,
        /// What it used itself.
        #[serde(flatten)]
        totals: Totals,
    },
}

/// Calls and questions about them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolEvent {
    /// A model asked for a call, usable or not.
    ToolCall {
        /// Its id.
        id: CallId,
        /// Name of the tool.
        name: String,
        /// Arguments; `{}` when unusable.
        input: Value,
        /// The call in one line, for a person.
        summary: String,
    },
    /// Output of a call that runs; live.
    ToolOutput {
        /// The call.
        id: CallId,
        /// The piece.
        chunk: String,
    },
    /// A call has its result.
    ToolResult {
        /// The call.
        id: CallId,
        /// Name of the tool.
        name: String,
        /// The result, exact.
        output: String,
        /// Whether it failed.
        is_error: bool,
        /// How long it ran.
        duration_ms: u64,
        /// Whether `output` was cut.
        truncated: bool,
    },
    /// A person is asked about a call.
    PermissionAsked {
        /// Id of the question, the call's.
        id: CallId,
        /// The call.
        call: CallId,
        /// Name of the tool.
        tool: String,
        /// Arguments.
        input: Value,
        /// Why it asks.
        why: String,
        /// The rule that made it ask; null for none.
        rule: Option<String>,
    },
    /// A question was answered.
    PermissionAnswered {
        /// Id of the question.
        id: CallId,
        /// The answer.
        #[serde(flatten)]
        decision: Decision,
        /// Who answered.
        by: AnsweredBy,
    },
    /// A helper process of a call runs.
    Process {
        /// The call.
        id: CallId,
        /// Process id of the helper.
        pid: i32,
    },
}

/// Things to be told to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NoticeEvent {
    /// Something is not as it should be; the work goes on.
    Warning {
        /// What and where.
        message: String,
        /// What to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mend: Option<String>,
    },
    /// Something failed.
    Error {
        /// What, where, why.
        message: String,
        /// What to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mend: Option<String>,
    },
    /// Events were left out for this subscriber; a snapshot follows.
    Gap {
        /// First sequence number left out.
        from: Seq,
        /// Last sequence number left out.
        to: Seq,
    },
    /// The tree as of `seq`.
    Snapshot {
        /// Every agent that has begun and not ended, in order of spawning.
        agents: Vec<AgentView>,
        /// Questions that are open.
        questions: Vec<CallId>,
    },
}

/// An agent in a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its path.
    pub actor: ActorPath,
    /// Its definition.
    pub definition: String,
    /// Its task.
    pub task: String,
    /// Iterations taken.
    pub iterations: u32,
    /// Iterations granted.
    pub budget: u32,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Calls made.
    pub tool_calls: u32,
    /// Calls without a result, by name.
    pub running: Vec<String>,
}
