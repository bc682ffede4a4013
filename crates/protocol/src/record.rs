//! Records: the lines of the journal (ENGINE 1). Folding them again rebuilds everything.
//!
//! A record that is an *input* changes a state machine; an *intent* says that an effect is about to
//! begin. Both are folded. What a later version could decide differently stands in the record.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ActorPath, CallId, Seq};
use crate::model::{Answer, ModelFailure};
use crate::outcome::{EndReason, Outcome, Totals};
use crate::permission::{AnsweredBy, Decision, Mode, RuleSet, Ruling, Sandbox};
use crate::snapshot::Snapshot;
use crate::tool::{Risk, Target, ToolOutput, WriteFound, WriteIntent};

/// Version of the line format that this build writes.
pub const VERSION: u32 = 1;

/// Version of the folds that this build writes; a change that folds an old journal differently raises it.
pub const FOLD: u32 = 1;

/// A record before it has its number and time.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRecord {
    /// Whose record it is.
    pub actor: ActorPath,
    /// What it says.
    pub body: Body,
}

/// A record as committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its number in the session.
    pub seq: Seq,
    /// When it was appended.
    pub time: Timestamp,
    /// Whose record it is.
    pub actor: ActorPath,
    /// What it says.
    pub body: Body,
}

/// What a record says. In JSON: `"kind": …, "body": {…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
pub enum Body {
    /// The session was opened, for the first time or again. Actor `maia`; folded by everybody.
    SessionOpened(SessionOpened),
    /// What agents spawned from now on are told of their place.
    SnapshotTaken(Box<Snapshot>),
    /// A person asks the main agent.
    UserMessage {
        /// Number of the turn that it begins, from 1.
        turn: u32,
        /// The text.
        text: String,
    },
    /// Somebody tells a running agent something; delivered when its next request is built.
    Told {
        /// Who tells: `person`, or an agent's path.
        from: String,
        /// The text.
        text: String,
    },
    /// Somebody asks the agent, and all below it, to stop.
    CancelAsked {
        /// Who asks: `person`, or an agent's path.
        by: String,
    },
    /// Intent: the model is about to be asked.
    ModelAsked {
        /// Number of the request in the agent's life, from 1; a retry keeps it.
        step: u32,
        /// 1, and one more with each retry.
        attempt: u32,
        /// Whether this is the closing request without tools.
        closing: bool,
    },
    /// The model answered.
    ModelAnswered(Box<ModelAnswered>),
    /// The model could not be asked, or its answer is unusable as a whole.
    ModelFailed {
        /// Number of the request.
        step: u32,
        /// Which attempt failed.
        attempt: u32,
        /// What happened.
        failure: ModelFailure,
        /// What follows from it.
        then: AfterFailure,
    },
    /// A wait that a `ModelFailed` ordered is over.
    TimerFired {
        /// Number of the request that waits.
        step: u32,
    },
    /// Rules and mode were applied to calls of one answer.
    CallsJudged {
        /// The calls with their rulings, in call order.
        rulings: Vec<(CallId, Ruling)>,
    },
    /// Intent: a person is about to be asked about a call. Its id is the call's.
    PermissionAsked(Box<PermissionAsked>),
    /// The question of a call was answered.
    PermissionAnswered {
        /// The call.
        call: CallId,
        /// The answer.
        decision: Decision,
        /// Who answered.
        by: AnsweredBy,
    },
    /// Intent: a call is about to begin; it has its permission, its place and its lock.
    ToolIntent {
        /// The call.
        call: CallId,
        /// Name of the tool.
        tool: String,
        /// What it may do, for the restart table.
        risk: Risk,
        /// For Write and Edit: what exactly will be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write: Option<WriteIntent>,
    },
    /// A helper process of a call runs. Waited for by nobody; read by the next opening.
    ProcessStarted {
        /// The call.
        call: CallId,
        /// Process id of the helper.
        pid: i32,
        /// Its start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`.
        start_time: u64,
        /// The kernel's boot id.
        boot_id: String,
    },
    /// A call has its result, whether it ran or not.
    ToolDone {
        /// The call.
        call: CallId,
        /// Name of the tool.
        tool: String,
        /// The result.
        output: ToolOutput,
        /// How long it ran, in milliseconds; 0 when it did not.
        duration_ms: u64,
    },
    /// Intent: a child is about to begin. Its first record.
    Delegated(Box<Delegated>),
    /// A child has ended. Its last record, and its parent's input.
    ChildFinished(Box<ChildFinished>),
    /// A person asks a sub-agent again that has ended. Its conversation goes on, with iterations of its own.
    AskedAgain(AskedAgain),
    /// The main agent's conversation begins anew: its next request knows nothing of what was said (mission M5.6-clear).
    ConversationCleared {},
    /// The main agent's requests from now on go to another model of the endpoint.
    ModelChosen {
        /// The model, as the endpoint knows it.
        model: String,
    },
    /// What the restart table decided about a call whose end is not recorded (ENGINE 7).
    Reconciled {
        /// The call.
        call: CallId,
        /// What the probe found of a Write or Edit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<WriteFound>,
        /// What is done.
        action: ReconcileAction,
    },
    /// The main agent's turn has ended.
    TurnFinished {
        /// Number of the turn.
        turn: u32,
        /// How.
        end: TurnEnd,
        /// The final text, or why there is none.
        text: String,
    },
    /// The session was closed in good order.
    SessionClosed {
        /// Why.
        reason: EndReason,
        /// The last final text of the main agent.
        result: String,
        /// What the whole tree used.
        totals: Totals,
        /// What the main agent used by itself.
        main: Totals,
    },
    /// A kind that this version does not know: kept and skipped (ENGINE 1).
    #[serde(skip)]
    Unknown {
        /// The kind as written.
        kind: String,
        /// The body as written.
        body: Value,
    },
}

/// Body of `session_opened`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// The session's random id, the same at every opening.
    pub session: String,
    /// The session's label.
    pub name: String,
    /// Launch folder, canonical.
    pub cwd: PathBuf,
    /// Model of the main agent, as its endpoint knows it.
    pub model: String,
    /// Definition of the main agent; `None` = maia herself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// SHA-256 of that definition's file; empty for maia herself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent_hash: String,
    /// Tools of that definition; `None` = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Rules of that definition.
    #[serde(default)]
    pub rules: RuleSet,
    /// Iterations of one series of the main agent (mission M7.3-maxiter).
    pub iterations: u32,
    /// Mode of this opening; never inherited (ENGINE 7).
    pub mode: Mode,
    /// Sandbox of this opening.
    pub sandbox: Sandbox,
    /// Whether nobody can answer questions.
    pub headless: bool,
    /// Version of maia.
    pub version: String,
    /// Version of the folds, see [`FOLD`].
    pub fold: u32,
    /// Whether the session existed before.
    pub resumed: bool,
    /// Agents that go on with this opening, the main one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumes: Vec<ActorPath>,
}

/// Body of `model_answered`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswered {
    /// Number of the request.
    pub step: u32,
    /// The answer.
    pub answer: Answer,
    /// For each call the file that it names, resolved when the answer came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Option<Target>>,
    /// Model that answered, as resolved at spawn.
    pub model: String,
    /// USD × 10⁻⁶; `None` when no price is known.
    #[serde(default)]
    pub cost_micros: Option<u64>,
    /// From sending to the first delta, in milliseconds.
    #[serde(default)]
    pub first_token_ms: Option<u64>,
    /// From sending to the end, in milliseconds.
    pub duration_ms: u64,
    /// Whether a stop ended it: it is kept as far as it came, and its calls never run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What follows from it.
    pub then: AfterAnswer,
}

/// What the agent does after an answer; chosen once, so that a later version folds it alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AfterAnswer {
    /// The calls of the answer are judged and run.
    Tools,
    /// The agent has finished with this text.
    Final {
        /// The final text.
        text: String,
        /// Whether an output limit cut it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// The model is asked to go on, with this text (W-stop-empty).
    Nudge {
        /// What it is told.
        text: String,
    },
    /// The closing request follows (W-think-degrade).
    Close,
}

/// What the agent does after a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AfterFailure {
    /// The same request is sent again after a wait (W-think-retry).
    Retry {
        /// The wait, in milliseconds.
        in_ms: u64,
    },
    /// The closing request follows: there are results worth telling (W-think-degrade).
    Close,
    /// The agent has failed.
    Fail,
    /// The agent was being stopped.
    Cancelled,
}

/// Body of `permission_asked`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// The call.
    pub call: CallId,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call.
    pub input: Value,
    /// The file that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Why it asks.
    pub why: String,
    /// The rule that made it ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Body of `delegated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delegated {
    /// The call of the parent that asked for it.
    pub call: CallId,
    /// Name of the definition.
    pub definition: String,
    /// SHA-256 of the definition's file.
    pub definition_hash: String,
    /// The task as the parent wrote it.
    pub task: String,
    /// Model, resolved.
    pub model: String,
    /// Iteration budget.
    pub iterations: u32,
    /// Names of the tools that it has.
    pub tools: Vec<String>,
    /// Rules beside the person's: deny and ask of all ancestors and its own, and its own allow where that counts (SAFETY 2).
    pub rules: RuleSet,
    /// The snapshot that it was spawned from.
    pub snapshot: Seq,
}

/// Body of `asked_again`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedAgain {
    /// What its new end is known by, instead of a call: `<agent>:0.<n>`, the n-th time that the agent is asked again.
    pub call: CallId,
    /// What it is asked.
    pub text: String,
    /// Iteration budget, from this request on.
    pub iterations: u32,
}

/// Body of `child_finished`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildFinished {
    /// The call of the parent that waits for it.
    pub call: CallId,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What it hands back, whole.
    pub summary: String,
    /// What it used itself.
    pub totals: Totals,
    /// What it and all below it used.
    pub subtree: Totals,
}

/// What is done with a call whose end is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReconcileAction {
    /// It is judged and begun again.
    RunAgain,
    /// It was done: its result follows.
    WasDone,
    /// Nobody knows: its error result follows.
    Uncertain,
}

/// How a turn of the main agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model finished.
    EndTurn,
    /// The answer was cut by an output limit.
    MaxTokens,
    /// The iterations of the series are spent.
    MaxIterations,
    /// The person answered a question with stop (mission M6.2-stop).
    Stopped,
    /// The person stopped it.
    Cancelled,
    /// It failed; the text says why.
    Failed,
    /// It failed because the endpoint cannot be used; the text says why.
    Endpoint,
}

impl NewRecord {
    /// Returns a record of `actor`.
    pub fn new(actor: ActorPath, body: Body) -> Self {
        Self { actor, body }
    }
}

impl Body {
    /// Returns the kind as written in the journal.
    pub fn kind(&self) -> &str {
        match self {
            Self::SessionOpened(_) => "session_opened",
            Self::SnapshotTaken(_) => "snapshot_taken",
            Self::UserMessage { .. } => "user_message",
            Self::Told { .. } => "told",
            Self::CancelAsked { .. } => "cancel_asked",
            Self::ModelAsked { .. } => "model_asked",
            Self::ModelAnswered(_) => "model_answered",
            Self::ModelFailed { .. } => "model_failed",
            Self::TimerFired { .. } => "timer_fired",
            Self::CallsJudged { .. } => "calls_judged",
            Self::PermissionAsked(_) => "permission_asked",
            Self::PermissionAnswered { .. } => "permission_answered",
            Self::ToolIntent { .. } => "tool_intent",
            Self::ProcessStarted { .. } => "process_started",
            Self::ToolDone { .. } => "tool_done",
            Self::Delegated(_) => "delegated",
            Self::ChildFinished(_) => "child_finished",
            Self::AskedAgain(_) => "asked_again",
            Self::ConversationCleared {} => "conversation_cleared",
            Self::ModelChosen { .. } => "model_chosen",
            Self::Reconciled { .. } => "reconciled",
            Self::TurnFinished { .. } => "turn_finished",
            Self::SessionClosed { .. } => "session_closed",
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// Reads a body of `kind`; a kind that this version does not know becomes [`Body::Unknown`].
    ///
    /// # Errors
    /// A known kind whose body has another shape.
    pub fn read(kind: &str, body: Value) -> Result<Self, serde_json::Error> {
        if !KINDS.contains(&kind) {
            return Ok(Self::Unknown { kind: kind.to_owned(), body });
        }
        let mut tagged = serde_json::Map::new();
        tagged.insert("kind".to_owned(), Value::String(kind.to_owned()));
        tagged.insert("body".to_owned(), body);
        serde_json::from_value(Value::Object(tagged))
    }

    /// Returns the body alone as JSON.
    ///
    /// # Errors
    /// None in practice: every body is plain data.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        if let Self::Unknown { body, .. } = self {
            return Ok(body.clone());
        }
        let mut tagged = serde_json::to_value(self)?;
        tagged
            .get_mut("body")
            .map(Value::take)
            .ok_or_else(|| serde_json::Error::custom("a body without content"))
    }
}

/// Every kind that this version knows.
pub const KINDS: &[&str] = &[
    "session_opened",
    "snapshot_taken",
    "user_message",
    "told",
    "cancel_asked",
    "model_asked",
    "model_answered",
    "model_failed",
    "timer_fired",
    "calls_judged",
    "permission_asked",
    "permission_answered",
    "tool_intent",
    "process_started",
    "tool_done",
    "delegated",
    "child_finished",
    "asked_again",
    "conversation_cleared",
    "model_chosen",
    "reconciled",
    "turn_finished",
    "session_closed",
];

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.seq, self.actor, self.body.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_back_as_written() {
        let body = Body::ToolIntent {
            call: CallId::new(&ActorPath::main(), 1, 1),
            tool: "Bash".to_owned(),
            risk: Risk::Execute,
            write: None,
        };
        let value = body.to_value().expect("plain data");
        assert_eq!(Body::read(body.kind(), value).expect("its own form"), body);
    }

    #[test]
    fn an_unknown_kind_is_kept() {
        let body = serde_json::json!({"x": 1});
        let read = Body::read("dreamt", body.clone()).expect("unknown kinds are kept");
        assert_eq!(read, Body::Unknown { kind: "dreamt".to_owned(), body });
    }

    #[test]
    fn a_known_kind_of_another_shape_is_an_error() {
        assert!(Body::read("tool_done", serde_json::json!({"call": 1})).is_err());
    }
}
