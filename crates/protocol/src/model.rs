//! A model's answer as assembled, and how it failed (mission M7.2, W-think, W-stop).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the embedded model (SPEC section 4).
pub const DEMO: &str = "demo";

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// Its output was cut by a limit.
    MaxTokens,
    /// The provider withheld the answer.
    ContentFilter,
    /// Anything else, or no reason given.
    Other,
}

/// Tokens of one request as the server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answer, without reasoning.
    pub output_tokens: u64,
    /// Part of `input_tokens` that the provider read from its cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens of reasoning, not part of `output_tokens`.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

/// Why a call of an answer must never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// The arguments are no JSON object and beyond repair.
    Invalid,
    /// The arguments were cut.
    Truncated,
    /// The call never got a name.
    NoName,
}

/// A tool call of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnsweredCall {
    /// The provider's id, made up (`call_N`) when it sent none; unique in the answer.
    pub provider_id: String,
    /// Name of the tool; empty when it was never sent.
    pub name: String,
    /// Arguments, a JSON object; `{}` when unusable.
    pub input: Value,
    /// Why the call must not run; `None` for a good call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<Unusable>,
    /// The arguments as sent, kept when they were repaired or unusable (ENGINE 1: repaired arguments are in the record).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Something about an answer that the person should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerWarning {
    /// The answer was cut by an output limit (mission M7.2-cut).
    OutputTruncated,
}

/// A whole answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The visible text.
    #[serde(default)]
    pub text: String,
    /// Reasoning, shown apart and never sent back.
    #[serde(default)]
    pub reasoning: String,
    /// Calls in their order.
    #[serde(default)]
    pub calls: Vec<AnsweredCall>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What the server counted, if it said so.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// What the person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<AnswerWarning>,
}

/// The kind of a model failure. The first five are those of `tests/cases/sse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The server sent an error inside the stream or as the body.
    ServerError,
    /// The stream ended with neither a finish reason nor `[DONE]`.
    IncompleteStream,
    /// The stream ended without anything.
    EmptyStream,
    /// The body is neither a stream nor an answer.
    BadResponse,
    /// Nothing came for the limit of silence (W-think-stall).
    StallTimeout,
    /// No connection.
    Unreachable,
    /// 401 or 403: the key is missing or wrong.
    Unauthorized,
    /// 404, or the server says that it does not know the model.
    NotFound,
    /// The server says that the request is longer than the model's context.
    ContextOverflow,
    /// 429 that says that the quota is spent; waiting does not help.
    QuotaSpent,
    /// 429 or 503: wait and send again (ENGINE 6: a wait of the gateway, not a retry).
    Busy,
    /// Another status of 400 to 499.
    Refused,
    /// A script ran out or its expectation was not met (ENGINE 9).
    Script,
    /// We cancelled it.
    Cancelled,
}

/// How a model request failed. Nothing of the answer runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// What happened, to branch on.
    pub kind: FailureKind,
    /// HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What happened, for a person: short, without keys.
    pub message: String,
    /// Whether the same request may succeed later (W-think-retry).
    pub transient: bool,
    /// How long the server asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Text that was already shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What a model is asked, in neutral form (mission M4.2-request).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// Name of the model at its endpoint.
    pub model: String,
    /// System prompt.
    pub system: Arc<str>,
    /// The conversation; roles alternate.
    pub messages: Vec<Arc<crate::Message>>,
    /// Tools in their fixed order.
    pub tools: Arc<Vec<crate::ToolSpec>>,
    /// Whether tools may be called; `false` sends `tool_choice: none` (closing request).
    pub tools_usable: bool,
    /// Output limit in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}
