//! Plays a model from a file of JSON lines (ENGINE 9).
//!
//! - Asked by the gateway through [`crate::Provider`], in tests and demonstrations.
//! - Owns which lines are used. A line is used when its answer was given: a request that is broken off before gives
//!   its line back, so the used lines are exactly those whose answers the journal holds.
//! - An answer is as good as a real one: errors go through the same reading as an endpoint's.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use maia_protocol::model::{AnswerWarning, AnsweredCall, ChatRequest, FailureKind, ModelFailure, Unusable};
use maia_protocol::{ActorPath, Answer, Block, Usage};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::assembly::{Delta, Finish};
use crate::{Answered, OnDelta, elapsed_ms, failure, retry_after};

/// Pieces in which a text is streamed, at most.
const PIECES: usize = 4;

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {path} cannot be read")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line is none of a script.
    #[error("line {line} of the script is wrong: {source}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// A line as written. Unknown fields are left alone: recordings have more.
#[derive(Debug, Deserialize)]
struct Line {
    agent: String,
    answer: Scripted,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    expect: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Scripted {
    text: Option<String>,
    reasoning: Option<String>,
    tool_calls: Vec<ScriptedCall>,
    stop: Option<String>,
    usage: Option<ScriptedUsage>,
    error: Option<ScriptedError>,
}

#[derive(Debug, Deserialize)]
struct ScriptedCall {
    name: String,
    #[serde(default = "no_input")]
    input: Value,
    #[serde(default)]
    id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct ScriptedUsage {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    reasoning_tokens: u64,
}

#[derive(Debug, Deserialize)]
struct ScriptedError {
    /// HTTP status; none or 200 is an error inside the stream.
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    body: Value,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Entry {
    number: usize,
    line: Line,
}

/// A script with what is used of it.
pub struct Script {
    name: String,
    entries: Vec<Entry>,
    used: Mutex<Vec<bool>>,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({}, {} lines)", self.name, self.entries.len())
    }
}

/// A line that a request has taken; given back when it is dropped before the answer was given.
struct Taken<'a> {
    script: &'a Script,
    index: usize,
    answered: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.script.mark(self.index, false);
        }
    }
}

impl Script {
    /// Reads the script of the file `path`. Blocks while it does: scripts are read before anything runs.
    ///
    /// # Errors
    /// [`ScriptError`] when the file cannot be read or a line is wrong.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: name.clone(), source })?;
        Ok(Self { name, ..Self::parse(&text)? })
    }

    /// Reads a script from `text`; empty lines are skipped.
    ///
    /// # Errors
    /// [`ScriptError::Line`] for the first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() {
                continue;
            }
            let line =
                serde_json::from_str(line).map_err(|source| ScriptError::Line { line: number, source })?;
            entries.push(Entry { number, line });
        }
        let used = Mutex::new(vec![false; entries.len()]);
        Ok(Self { name: "script".to_owned(), entries, used })
    }

    /// Marks the first unused line that fits `agent` as used: a resumed session has its answer already. Tells whether
    /// there was one.
    pub fn skip(&self, agent: &ActorPath) -> bool {
        match self.take(agent) {
            Some(mut taken) => {
                taken.answered = true;
                true
            }
            None => false,
        }
    }

    /// Gives the answer of the first unused line that fits `agent`.
    ///
    /// # Errors
    /// [`FailureKind::Script`] when no line is left or the request does not hold what the line expects, naming file, line, agent
    /// and step; else the line's own error.
    pub async fn chat(
        &self,
        agent: &ActorPath,
        step: u32,
        request: &ChatRequest,
        on_delta: OnDelta<'_>,
    ) -> Result<Answered, ModelFailure> {
        let start = Instant::now();
        let Some(mut taken) = self.take(agent) else {
            let last = self.entries.last().map_or(0, |entry| entry.number);
            return Err(scripted(format!("{}:{last}: no line is left for {agent}, step {step}", self.name)));
        };
        let Some(Entry { number, line }) = self.entries.get(taken.index) else {
            return Err(scripted(format!("{}: a line is lost for {agent}, step {step}", self.name)));
        };
        if let Some(expected) = line.expect.as_ref().filter(|expected| !holds(request, expected)) {
            let place = format!("{}:{number}", self.name);
            return Err(scripted(format!(
                "{place}: the request of {agent}, step {step}, does not contain {expected:?}"
            )));
        }
        if line.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(line.delay_ms)).await;
        }
        let scripted = &line.answer;
        let first_token_ms = scripted.says_something().then(|| elapsed_ms(start));
        for piece in pieces(scripted.reasoning.as_deref().unwrap_or_default()) {
            on_delta(Delta::Reasoning(piece));
        }
        for piece in pieces(scripted.text.as_deref().unwrap_or_default()) {
            on_delta(Delta::Text(piece));
            tokio::task::yield_now().await;
        }
        taken.answered = true;
        let answer = scripted.outcome()?;
        Ok(Answered { answer, first_token_ms, duration_ms: elapsed_ms(start) })
    }

    /// Takes the first unused line that fits `agent`.
    fn take(&self, agent: &ActorPath) -> Option<Taken<'_>> {
        let mut used = self.used();
        let fits = |entry: &Entry| {
            let wanted = entry.line.agent.as_str();
            wanted == "*" || wanted == agent.as_str() || wanted == agent.name()
        };
        let mut candidates = self.entries.iter().zip(used.iter_mut()).enumerate();
        let (index, (_, used)) = candidates.find(|(_, (entry, used))| !**used && fits(entry))?;
        *used = true;
        Some(Taken { script: self, index, answered: false })
    }

    fn mark(&self, index: usize, used: bool) {
        if let Some(mark) = self.used().get_mut(index) {
            *mark = used;
        }
    }

    fn used(&self) -> MutexGuard<'_, Vec<bool>> {
        // Marks are single writes: a panic elsewhere leaves none half done.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scripted {
    fn says_something(&self) -> bool {
        self.text.is_some() || self.reasoning.is_some() || !self.tool_calls.is_empty()
    }

    fn outcome(&self) -> Result<Answer, ModelFailure> {
        let text = self.text.clone().unwrap_or_default();
        if let Some(error) = &self.error {
            return Err(ModelFailure { text, ..error.failure() });
        }
        let calls: Vec<AnsweredCall> =
            self.tool_calls.iter().enumerate().map(|(index, call)| call.answered(index + 1)).collect();
        let stop = match self.stop.as_deref() {
            // The names of the record that have no name on the wire.
            Some("other") => None,
            Some(reason) => Finish::read(reason),
            None => Some(Finish::Natural),
        };
        let warnings =
            if stop == Some(Finish::Limit) { vec![AnswerWarning::OutputTruncated] } else { Vec::new() };
        Ok(Answer {
            text,
            reasoning: self.reasoning.clone().unwrap_or_default(),
            stop: Finish::stop(stop, !calls.is_empty()),
            calls,
            usage: self.usage.map(Usage::from),
            warnings,
        })
    }
}

impl ScriptedCall {
    fn answered(&self, number: usize) -> AnsweredCall {
        let usable = self.input.is_object();
        AnsweredCall {
            provider_id: self.id.clone().unwrap_or_else(|| format!("call_{number}")),
            name: self.name.clone(),
            input: if usable { self.input.clone() } else { no_input() },
            unusable: (!usable).then_some(Unusable::Invalid),
            raw: (!usable).then(|| self.input.as_str().map_or_else(|| self.input.to_string(), str::to_owned)),
        }
    }
}

impl ScriptedError {
    fn failure(&self) -> ModelFailure {
        let body = match &self.body {
            Value::Null => String::new(),
            Value::String(body) => body.clone(),
            body => body.to_string(),
        };
        match self.status {
            None | Some(0..=299) => {
                let error = self.body.get("error").unwrap_or(&self.body);
                failure::of_error(if error.is_null() { &Value::Bool(true) } else { error }, true)
            }
            Some(status) => {
                let header = |name: &str| {
                    let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
                    found.map(|(_, value)| value.as_str())
                };
                failure::of_status(status, &body, retry_after::read(header, jiff::Timestamp::now()))
            }
        }
    }
}

impl From<ScriptedUsage> for Usage {
    fn from(usage: ScriptedUsage) -> Self {
        let ScriptedUsage { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = usage;
        Self { input_tokens, output_tokens, cached_tokens, reasoning_tokens }
    }
}

fn no_input() -> Value {
    json!({})
}

/// Tells whether `request` holds `expected`, as plain text or as it is written in JSON.
fn holds(request: &ChatRequest, expected: &str) -> bool {
    let plain = |block: &Block| match block {
        Block::Text { text } => text.contains(expected),
        Block::ToolResult { content, .. } => content.contains(expected),
        Block::ToolUse { .. } => false,
    };
    request.system.contains(expected)
        || request.messages.iter().flat_map(|message| &message.content).any(plain)
        || serde_json::to_string(&request.messages).is_ok_and(|json| json.contains(expected))
}

/// Cuts `text` into a few pieces of nearly the same number of characters.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(PIECES).max(1);
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

fn scripted(message: String) -> ModelFailure {
    ModelFailure {
        kind: FailureKind::Script,
        status: None,
        message,
        transient: false,
        retry_after_ms: None,
        text: String::new(),
    }
}
