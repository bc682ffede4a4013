//! How an agent's work ended, typed (mission T4), and what it took.

use serde::{Deserialize, Serialize};

/// How an agent's work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It finished by itself.
    Done,
    /// Its budget ended; what it found so far is the summary.
    Partial,
    /// It could not go on; the cause is beside.
    Failed,
    /// It was stopped.
    Cancelled,
    /// Its deadline passed.
    TimedOut,
}

/// What an agent used, its own loop only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Model requests that could use tools.
    pub iterations: u32,
    /// Calls that the model made.
    pub tool_calls: u32,
    /// Tokens sent, as the servers counted.
    pub input_tokens: u64,
    /// Tokens received, as the servers counted.
    pub output_tokens: u64,
    /// USD × 10⁻⁶; `None` when no price is known.
    pub cost_micros: Option<u64>,
    /// From spawn to end, in milliseconds.
    pub duration_ms: u64,
}

/// Why a session ended (SPEC section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The work is done.
    Done,
    /// It failed.
    Failed,
    /// The command line or settings are wrong.
    Usage,
    /// A budget ended.
    Budget,
    /// A permission was needed and nobody could answer.
    Permission,
    /// The endpoint could not be used.
    Endpoint,
    /// It was interrupted.
    Interrupted,
}

impl EndReason {
    /// Returns the exit code of the process (SPEC section 4).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed | Self::Endpoint => 1,
            Self::Usage => 2,
            Self::Budget => 3,
            Self::Permission => 4,
            Self::Interrupted => 130,
        }
    }
}
