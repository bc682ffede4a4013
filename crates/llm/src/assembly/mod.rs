//! Assembles an answer from the bytes of a response body, without any I/O (mission M7.2).
//!
//! - Asked by the client with the bytes as they come, and by whoever has a recorded body.
//! - Owns what was received so far. The result does not depend on where the network cut the bytes.
//! - Hands out text as it comes, calls never before the end: half a call must not run.

mod arguments;
mod calls;
mod chunk;
mod lines;
mod relaxed;
mod stop;
mod think;
mod usage;

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use maia_protocol::model::{AnswerWarning, FailureKind, ModelFailure, Unusable};
use maia_protocol::{Answer, StopReason};
use serde_json::Value;

use crate::failure;
use calls::{Calls, Fragment};
use chunk::{Chunk, NoChunk, Text};
use lines::{Field, Lines};
pub(crate) use stop::Finish;
use think::{Piece, Splitter};
use usage::Counts;

/// How long a reason to stop waits for the usage and `[DONE]`; servers send them at once or never.
const GRACE: Duration = Duration::from_secs(1);

/// The same when the usage has come. Not zero: some servers repeat reason and usage with every chunk.
const GRACE_COUNTED: Duration = Duration::from_millis(250);

/// The most that data without an end may hold while it waits for its next line, in bytes.
const MAX_PENDING_BYTES: usize = 32 * 1024 * 1024;

/// The most that is kept of a body that is no event stream, in bytes.
const MAX_WHOLE_BYTES: usize = 64 * 1024 * 1024;

/// What came in addition, to be shown at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// A piece of the answer.
    Text(String),
    /// A piece of the reasoning.
    Reasoning(String),
}

/// What the body turned out to be by its first bytes; the declared type is often wrong.
#[derive(Debug, Default)]
enum Body {
    /// Nothing but white space so far.
    #[default]
    Unknown,
    /// Lines of events.
    Events,
    /// JSON or a page, read at its end.
    Whole(Vec<u8>),
}

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Assembler {
    content_type: String,
    taken_ids: HashSet<String>,
    body: Body,
    lines: Lines,
    events: Events,
}

/// What the events of the body have said.
#[derive(Debug, Default)]
struct Events {
    /// Data that is no whole JSON yet: an event may spread it over several lines.
    pending: String,
    /// Whether the event calls itself an error.
    named_error: bool,
    /// The first thing that was no event, for the message.
    stray: Option<String>,
    /// Whether the stray thing looks like a chunk that was cut.
    cut_chunk: bool,
    splitter: Splitter,
    deltas: Vec<Delta>,
    text: String,
    reasoning: String,
    calls: Calls,
    choice: Option<i64>,
    finish: Option<Finish>,
    counts: Counts,
    counted_after_finish: bool,
    any_chunk: bool,
    done: bool,
    error: Option<ModelFailure>,
}

impl Assembler {
    /// Returns an assembler of a body of `content_type`.
    pub fn new(content_type: Option<&str>) -> Self {
        Self { content_type: content_type.unwrap_or_default().to_owned(), ..Self::default() }
    }

    /// Lets ids of calls that the conversation has already be replaced, as history needs them unique.
    pub fn avoiding(mut self, taken_ids: HashSet<String>) -> Self {
        self.taken_ids = taken_ids;
        self
    }

    /// Takes the next bytes and returns what they add.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Delta> {
        let mut bytes = bytes;
        if matches!(self.body, Body::Unknown) {
            bytes = self.recognise(bytes);
        }
        match &mut self.body {
            Body::Unknown => {}
            Body::Whole(whole) => {
                let room = MAX_WHOLE_BYTES.saturating_sub(whole.len());
                whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Body::Events => {
                let events = &mut self.events;
                self.lines.push(bytes, |line| events.line(line));
            }
        }
        std::mem::take(&mut self.events.deltas)
    }

    /// Tells whether nothing can follow any more (`[DONE]` or an error came), so that nobody needs to wait for the
    /// socket to close.
    pub fn is_complete(&self) -> bool {
        self.events.done || self.events.error.is_some()
    }

    /// Returns how long the next bytes may take before the answer counts as ended; `silence_limit` is what holds
    /// until the model has given its reason to stop.
    pub fn patience(&self, silence_limit: Duration) -> Duration {
        let events = &self.events;
        match (self.is_complete(), events.finish.is_some(), events.counted_after_finish) {
            (true, ..) => Duration::ZERO,
            (false, true, true) => silence_limit.min(GRACE_COUNTED),
            (false, true, false) => silence_limit.min(GRACE),
            (false, false, _) => silence_limit,
        }
    }

    /// Tells whether the model has given its reason to stop: what has come is a whole answer.
    pub fn is_finished(&self) -> bool {
        self.events.finish.is_some() || self.is_complete()
    }

    /// Tells whether anything of the answer has come: text, reasoning or a call.
    pub fn has_begun(&self) -> bool {
        let events = &self.events;
        !events.text.is_empty() || !events.reasoning.is_empty() || !events.calls.is_empty()
    }

    /// Takes the end of the body into account and returns what that adds.
    pub fn end(&mut self) -> Vec<Delta> {
        match std::mem::take(&mut self.body) {
            Body::Unknown => {}
            Body::Events => {
                let rest = self.lines.take_rest();
                if !rest.is_empty() {
                    self.events.line(&rest);
                }
                self.events.line(b"");
            }
            Body::Whole(whole) => self.events.whole(&String::from_utf8_lossy(&whole), &self.content_type),
        }
        if let Some(piece) = self.events.splitter.finish() {
            self.events.piece(piece);
        }
        std::mem::take(&mut self.events.deltas)
    }

    /// Returns the answer.
    ///
    /// # Errors
    /// An error that the server sent, or a body that is no whole answer; the text so far is in it, its calls are not.
    pub fn finish(mut self) -> Result<Answer, ModelFailure> {
        self.end();
        let content_type = std::mem::take(&mut self.content_type);
        self.events.answer(&self.taken_ids, &content_type)
    }

    /// Returns the failure of an answer that was broken off from outside, with the text so far in it.
    pub fn broken(mut self, kind: FailureKind, message: String) -> ModelFailure {
        self.end();
        if let Some(error) = self.events.error.take() {
            return ModelFailure { text: self.events.text, ..error };
        }
        ModelFailure { text: self.events.text, ..passing(kind, message) }
    }

    /// Looks for the first byte that tells what the body is; returns the bytes from there.
    fn recognise<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        // A byte order mark may be cut too; its bytes are in no other place of a well-formed body.
        let skipped = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
        let start = bytes.iter().position(|byte| !skipped(byte)).unwrap_or(bytes.len());
        let bytes = bytes.get(start..).unwrap_or_default();
        match bytes.first() {
            None => {}
            Some(b'{' | b'[' | b'<') => self.body = Body::Whole(Vec::new()),
            Some(_) => self.body = Body::Events,
        }
        bytes
    }
}

impl Events {
    fn line(&mut self, line: &[u8]) {
        if self.done || self.error.is_some() {
            return;
        }
        match lines::field(line) {
            Field::Data(data) => match std::str::from_utf8(data) {
                Ok(data) => self.data(data),
                Err(_) => self.data(&String::from_utf8_lossy(data)),
            },
            Field::Blank => {
                let pending = std::mem::take(&mut self.pending);
                if !pending.is_empty() {
                    self.no_chunk(&pending);
                }
                self.named_error = false;
            }
            Field::Event(name) => self.named_error = name == b"error",
            Field::Silent => {}
            Field::Stray(line) => {
                let line = String::from_utf8_lossy(line);
                match line.starts_with('{').then(|| chunk::read(&line)) {
                    Some(Ok(chunk)) => self.chunk(chunk, true),
                    _ => self.note_stray(&line),
                }
            }
        }
    }

    /// Takes one line of data. It counts as soon as it is whole JSON; else it waits for the event's next line.
    fn data(&mut self, data: &str) {
        let data = data.trim();
        if data == "[DONE]" {
            self.done = true;
            return;
        }
        if data.is_empty() {
            return;
        }
        if !self.pending.is_empty() {
            let joined = format!("{}\n{data}", self.pending);
            if let Some(Ok(chunk)) = data.ends_with('}').then(|| chunk::read(&joined)) {
                self.pending.clear();
                return self.chunk(chunk, true);
            }
            match chunk::read(data) {
                // An object inside a value that is spread over lines is none either: a chunk says something.
                Ok(chunk) if chunk.says_something() => {
                    let pending = std::mem::take(&mut self.pending);
                    self.no_chunk(&pending);
                    self.chunk(chunk, true);
                }
                _ if joined.len() <= MAX_PENDING_BYTES => self.pending = joined,
                _ => {
                    self.pending.clear();
                    self.no_chunk(&joined);
                }
            }
            return;
        }
        match chunk::read(data) {
            Ok(chunk) => self.chunk(chunk, true),
            Err(_) if self.named_error => self.fail(&Value::String(data.to_owned()), true),
            Err(NoChunk::Cut) => data.clone_into(&mut self.pending),
            Err(NoChunk::Garbage) => {
                // Not the beginning of JSON, but perhaps of JSON over several lines with a fault in it: only a brace counts.
                if data.starts_with('{') && !data.ends_with('}') {
                    data.clone_into(&mut self.pending);
                } else {
                    self.note_stray(data);
                }
            }
        }
    }

    /// Takes note of data that never became whole.
    fn no_chunk(&mut self, data: &str) {
        self.cut_chunk |= data.starts_with('{');
        self.note_stray(data);
    }

    fn note_stray(&mut self, text: &str) {
        if self.stray.is_none() {
            self.stray = Some(failure::quote(text));
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, streaming: bool) {
        if let Some(error) = chunk.error.filter(chunk::is_error) {
            return self.fail(&error, streaming);
        }
        if let Some(usage) = &chunk.usage {
            self.counts.read(usage);
            self.any_chunk = true;
        }
        for choice in chunk.choices {
            self.any_chunk = true;
            // One choice was asked for; others are another answer.
            let index = choice.index.unwrap_or_default();
            if *self.choice.get_or_insert(index) != index {
                continue;
            }
            if let Some(delta) = choice.delta {
                self.delta(delta, false);
            }
            if let Some(message) = choice.message {
                self.delta(message, true);
            }
            if let Some(finish) = choice.finish_reason.and_then(|Text(reason)| Finish::read(&reason)) {
                // A limit that was told once stays told.
                if self.finish != Some(Finish::Limit) {
                    self.finish = Some(finish);
                }
            }
        }
        if chunk.usage.is_some() && self.finish.is_some() {
            self.counted_after_finish = true;
        }
    }

    /// Takes what a chunk adds; a whole message adds only what was not streamed before.
    fn delta(&mut self, delta: chunk::Delta<'_>, whole: bool) {
        let thought = [delta.reasoning_content, delta.reasoning]
            .into_iter()
            .flatten()
            .find(|Text(thought)| !thought.is_empty());
        if let Some(Text(thought)) = thought
            && (!whole || self.reasoning.is_empty())
        {
            self.piece(Piece::Reasoning(thought.into_owned()));
        }
        let said_before = whole && !self.text.is_empty();
        for Text(text) in [delta.content, delta.refusal].into_iter().flatten() {
            if !said_before {
                self.content(&text);
            }
        }
        if whole && !self.calls.is_empty() {
            return;
        }
        for (position, call) in delta.tool_calls.into_iter().flatten().enumerate() {
            let function = call.function.unwrap_or_default();
            // Whole calls without an index are told apart by their place.
            let index = call.index.or_else(|| whole.then(|| i64::try_from(position).unwrap_or(i64::MAX)));
            self.fragment(index, call.id, function);
        }
        if let Some(function) = delta.function_call {
            self.fragment(Some(0), None, function);
        }
    }

    fn fragment(&mut self, index: Option<i64>, id: Option<Text<'_>>, function: chunk::Function<'_>) {
        let text = |text: Option<Text<'_>>| text.map_or_else(String::new, |Text(text)| text.into_owned());
        let (id, name, arguments) = (text(id), text(function.name), text(function.arguments));
        self.calls.push(&Fragment { index, id: &id, name: &name, arguments: &arguments });
    }

    fn content(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.splitter.is_past_start() {
            self.piece(Piece::Text(text.to_owned()));
            return;
        }
        for piece in self.splitter.push(text) {
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: Piece) {
        self.deltas.push(match piece {
            Piece::Text(text) => {
                self.text.push_str(&text);
                Delta::Text(text)
            }
            Piece::Reasoning(text) => {
                self.reasoning.push_str(&text);
                Delta::Reasoning(text)
            }
        });
    }

    fn fail(&mut self, error: &Value, streaming: bool) {
        self.error = Some(failure::of_error(error, streaming));
    }

    /// Takes a body that is no event stream: one JSON value, or one a line.
    fn whole(&mut self, body: &str, content_type: &str) {
        if let Ok(chunk) = chunk::read(body) {
            self.chunk(chunk, false);
            // A body with an answer is whole by its own end, with or without a reason.
            self.done |= self.any_chunk;
            if !self.any_chunk && self.error.is_none() {
                self.note_stray(body);
            }
            return;
        }
        for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match lines::field(line.as_bytes()) {
                Field::Data(_) => self.line(line.as_bytes()),
                _ => match chunk::read(line) {
                    Ok(chunk) => self.chunk(chunk, true),
                    Err(NoChunk::Cut) if line.starts_with('{') => self.no_chunk(line),
                    Err(_) => self.note_stray(line),
                },
            }
        }
        if content_type.contains("html") || body.starts_with('<') {
            self.cut_chunk = false;
            self.stray = Some(failure::quote(body));
        }
    }

    fn answer(mut self, taken_ids: &HashSet<String>, content_type: &str) -> Result<Answer, ModelFailure> {
        if let Some(error) = self.error.take() {
            return Err(ModelFailure { text: self.text, ..error });
        }
        if !self.done && self.finish.is_none() {
            return Err(self.no_answer(content_type));
        }
        let cut = self.finish == Some(Finish::Limit);
        let suspicious = !self.calls.is_empty() && self.counts.is_suspicious();
        let calls = self.calls.finish(cut, taken_ids);
        let stop = Finish::stop(self.finish, !calls.is_empty());
        let truncated = calls.iter().any(|call| call.unusable == Some(Unusable::Truncated));
        let warnings = if stop == StopReason::MaxTokens || truncated || suspicious {
            vec![AnswerWarning::OutputTruncated]
        } else {
            Vec::new()
        };
        Ok(Answer {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            stop,
            usage: self.counts.usage(),
            warnings,
        })
    }

    /// Says why the body is no answer.
    fn no_answer(self, content_type: &str) -> ModelFailure {
        let failure = match (self.any_chunk || self.cut_chunk, self.stray) {
            (true, _) => passing(
                FailureKind::IncompleteStream,
                "the answer was cut: the stream ended without a reason to stop".to_owned(),
            ),
            (false, None) => passing(FailureKind::EmptyStream, "the server sent an empty answer".to_owned()),
            (false, Some(stray)) => {
                let kind: Cow<'_, str> = match content_type {
                    "" => Cow::Borrowed("no content type"),
                    content_type => Cow::Owned(failure::quote(content_type)),
                };
                passing(
                    FailureKind::BadResponse,
                    format!("the server sent something else than an answer ({kind}): {stray}"),
                )
            }
        };
        ModelFailure { text: self.text, ..failure }
    }
}

/// Returns a failure that the same request may not meet again.
fn passing(kind: FailureKind, message: String) -> ModelFailure {
    ModelFailure { kind, status: None, message, transient: true, retry_after_ms: None, text: String::new() }
}
