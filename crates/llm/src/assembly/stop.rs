//! Reads why a model stopped (mission M7.2-stop).
//!
//! - Asked by the assembler for each `finish_reason`, and by scripts for their `stop`.
//! - Owns nothing.

use maia_protocol::StopReason;

/// A reason as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model had said what it wanted.
    Natural,
    /// It wants tools to run.
    Tools,
    /// A limit of output was reached.
    Limit,
    /// The provider withheld the answer.
    Filter,
    /// A reason that nobody knows.
    Unknown,
}

impl Finish {
    /// Reads `reason`; an empty one is none.
    pub(crate) fn read(reason: &str) -> Option<Self> {
        Some(match reason.trim().to_ascii_lowercase().as_str() {
            "" | "null" => return None,
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" => Self::Natural,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => Self::Tools,
            "length" | "max_tokens" | "max_output_tokens" | "max_completion_tokens" => Self::Limit,
            "content_filter" | "content-filter" | "safety" => Self::Filter,
            _ => Self::Unknown,
        })
    }

    /// Returns the reason of an answer with or without calls.
    pub(crate) fn stop(finish: Option<Self>, has_calls: bool) -> StopReason {
        match finish {
            Some(Self::Limit) => StopReason::MaxTokens,
            Some(Self::Tools) => StopReason::ToolUse,
            _ if has_calls => StopReason::ToolUse,
            Some(Self::Natural) => StopReason::EndTurn,
            Some(Self::Filter) => StopReason::ContentFilter,
            Some(Self::Unknown) | None => StopReason::Other,
        }
    }
}
