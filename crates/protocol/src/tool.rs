//! Tools as data: what a model is told of them, what they touch, what they gave.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model is told of a tool (mission M4.3-spec).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// What a call may do to the world (W-apr-risk).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Looks only; may be run again after a crash (ENGINE 7).
    Read,
    /// Changes one known file; its hash tells after a crash whether it was done.
    Write,
    /// Anything else: its outcome is unknown after a crash.
    Execute,
}

/// How a call holds its lock: readers share, writers exclude (ENGINE 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// Shared with other readers.
    Read,
    /// Alone.
    Write,
}

/// The file that a call names, resolved before it is judged (SAFETY 3: check = use).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Absolute path with every link resolved; for a new file the canonical folder and the name.
    pub path: PathBuf,
    /// Whether `path` lies in the launch folder.
    pub inside: bool,
    /// Whether the file exists.
    pub exists: bool,
    /// Device of the file, or of the nearest existing folder above it.
    pub device: u64,
    /// Inode of the file, or of the nearest existing folder above it.
    pub inode: u64,
}

impl Target {
    /// Returns the key of the lock of this file (ENGINE 5).
    pub fn lock_key(&self) -> String {
        format!("file:{}", self.path.display())
    }
}

/// What a Write or Edit is about to do, durable before it is done (ENGINE 2, ENGINE 7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteIntent {
    /// The file as resolved.
    pub target: Target,
    /// SHA-256 of the bytes before, hexadecimal; `None` when there was no file.
    pub before: Option<String>,
    /// SHA-256 of the bytes after, hexadecimal.
    pub after: String,
    /// The temporary file beside the target; a resume removes it.
    pub temporary: PathBuf,
}

/// What a probe found of a Write or Edit whose end is not recorded (ENGINE 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteFound {
    /// The file is as it should be after: it was done.
    After,
    /// The file is as it was before: it was not done.
    Before,
    /// Neither: somebody else changed it.
    Neither,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It ended with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was stopped at its time limit.
    TimedOut,
    /// It was stopped by a person or with its agent.
    Interrupted,
    /// It never started.
    NotStarted,
}

/// What a call gave. Failure is a result, never an error of the agent (W-act-fail).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model reads, within the tool's limits.
    pub text: String,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Whether `text` was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How a command ended, when it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// File that was read or written with the SHA-256 of its bytes: what the agent now knows of it (ENGINE 5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// What an agent knows of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Resolved path.
    pub path: PathBuf,
    /// SHA-256, hexadecimal.
    pub hash: String,
}

impl ToolOutput {
    /// Returns a good result.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, truncated: false, exit: None, seen: None }
    }

    /// Returns an error result.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ok(text) }
    }
}
