//! Reads the events of a body: data into chunks, chunks into the parts of an answer (mission M7.2-sse).
//!
//! - Asked by the assembler with every line, in order, and at the end for the answer.
//! - Owns what was received so far, and the data of an event that is not whole yet.

use std::borrow::Cow;
use std::collections::HashSet;

use maia_protocol::model::{AnswerWarning, FailureKind, ModelFailure, Unusable};
use maia_protocol::{Answer, StopReason};
use serde_json::Value;

use super::calls::{Calls, Fragment};
use super::chunk::{self, Chunk, NoChunk, Text};
use super::lines::{self, Field};
use super::stop::Finish;
use super::think::{Piece, Splitter};
use super::usage::Counts;
use super::{Delta, passing};
use crate::failure;

/// The most that data without an end may hold while it waits for its next line, in bytes.
const MAX_PENDING_BYTES: usize = 32 * 1024 * 1024;

/// What the events of the body have said.
#[derive(Debug, Default)]
pub(super) struct Events {
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

impl Events {
    /// Tells whether nothing can follow any more.
    pub(super) fn is_complete(&self) -> bool {
        self.done || self.error.is_some()
    }

    /// Tells whether what has come is a whole answer or an error.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some() || self.is_complete()
    }

    /// Tells whether the usage has come with or after the reason to stop.
    pub(super) fn is_counted(&self) -> bool {
        self.counted_after_finish
    }

    /// Tells whether anything of the answer has come.
    pub(super) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.reasoning.is_empty() || !self.calls.is_empty()
    }

    /// Returns what was added since the last call.
    pub(super) fn take_deltas(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    /// Gives out what was held because it could have been a tag.
    pub(super) fn end_text(&mut self) {
        if let Some(piece) = self.splitter.finish() {
            self.piece(piece);
        }
    }

    /// Returns `failure`, or the error that the server has sent before, with the text so far.
    pub(super) fn broken(self, failure: ModelFailure) -> ModelFailure {
        ModelFailure { text: self.text, ..self.error.unwrap_or(failure) }
    }

    /// Takes a line of an event stream.
    pub(super) fn line(&mut self, line: &[u8]) {
        if self.is_complete() {
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
            return self.more_data(data);
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

    /// Takes a further line of an event whose data is not whole yet.
    fn more_data(&mut self, data: &str) {
        let mut pending = std::mem::take(&mut self.pending);
        let before = pending.len();
        pending.push('\n');
        pending.push_str(data);
        if data.ends_with('}') {
            if let Ok(chunk) = chunk::read(&pending) {
                return self.chunk(chunk, true);
            }
            // An object inside a value that is spread over lines is no chunk of its own: a chunk says something.
            if let Ok(chunk) = chunk::read(data)
                && chunk.says_something()
            {
                pending.truncate(before);
                self.no_chunk(&pending);
                return self.chunk(chunk, true);
            }
        }
        if pending.len() <= MAX_PENDING_BYTES {
            self.pending = pending;
        } else {
            self.no_chunk(&pending);
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
                self.delta(*message, true);
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
            self.fragment(Some(0), None, *function);
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

    /// Gives up an answer of more than `limit` bytes: nothing of it runs, and asking again would not shorten it.
    pub(super) fn too_long(&mut self, limit: usize) {
        let message = format!(
            "the answer was broken off: it is longer than {} MB and has not ended; ask for less, or look at the server",
            limit / (1024 * 1024)
        );
        self.error.get_or_insert(ModelFailure {
            kind: FailureKind::BadResponse,
            status: None,
            message,
            transient: false,
            retry_after_ms: None,
            text: String::new(),
        });
    }

    fn fail(&mut self, error: &Value, streaming: bool) {
        self.error = Some(failure::of_error(error, streaming));
    }

    /// Takes a body that is no event stream: one JSON value, or one a line.
    pub(super) fn whole(&mut self, body: &str, content_type: &str) {
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

    /// Returns the answer, or why there is none.
    pub(super) fn answer(
        mut self,
        taken_ids: &HashSet<String>,
        content_type: &str,
    ) -> Result<Answer, ModelFailure> {
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
