//! Assembles an answer from the bytes of a response body, without any I/O (mission M7.2).
//!
//! - Asked by the client with the bytes as they come, and by whoever has a recorded body.
//! - Owns what was received so far. The result does not depend on where the network cut the bytes.
//! - Hands out text as it comes, calls never before the end: half a call must not run.

mod arguments;
mod calls;
mod chunk;
mod events;
mod lines;
mod relaxed;
mod stop;
mod think;
mod usage;

use std::collections::HashSet;
use std::time::Duration;

use maia_protocol::Answer;
use maia_protocol::model::{FailureKind, ModelFailure};

use events::Events;
use lines::Lines;
pub(crate) use stop::Finish;

/// How long a reason to stop waits for the usage and `[DONE]`; servers send them at once or never.
const GRACE: Duration = Duration::from_secs(1);

/// The same when the usage has come. Not zero: some servers repeat reason and usage with every chunk.
const GRACE_COUNTED: Duration = Duration::from_millis(250);

/// The most that is kept of a body that is no event stream, in bytes.
const MAX_WHOLE_BYTES: usize = 64 * 1024 * 1024;

/// The most that is read of an event stream, in bytes: some ten times the longest answer of a model of today. What goes on after
/// that is no answer, and would fill the memory.
const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;

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
    /// Bytes of the event stream so far.
    streamed: usize,
    lines: Lines,
    events: Events,
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
                self.streamed = self.streamed.saturating_add(bytes.len());
                let events = &mut self.events;
                if self.streamed > MAX_STREAM_BYTES {
                    events.too_long(MAX_STREAM_BYTES);
                } else {
                    self.lines.push(bytes, |line| events.line(line));
                }
            }
        }
        self.events.take_deltas()
    }

    /// Tells whether nothing can follow any more (`[DONE]` or an error came), so that nobody needs to wait for the
    /// socket to close.
    pub fn is_complete(&self) -> bool {
        self.events.is_complete()
    }

    /// Returns how long the next bytes may take before the answer counts as ended; `silence_limit` is what holds
    /// until the model has given its reason to stop.
    pub fn patience(&self, silence_limit: Duration) -> Duration {
        match (self.is_complete(), self.is_finished(), self.events.is_counted()) {
            (true, ..) => Duration::ZERO,
            (false, true, true) => silence_limit.min(GRACE_COUNTED),
            (false, true, false) => silence_limit.min(GRACE),
            (false, false, _) => silence_limit,
        }
    }

    /// Tells whether the model has given its reason to stop: what has come is a whole answer.
    pub fn is_finished(&self) -> bool {
        self.events.is_finished()
    }

    /// Tells whether anything of the answer has come: text, reasoning or a call.
    pub fn has_begun(&self) -> bool {
        self.events.has_begun()
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
        self.events.end_text();
        self.events.take_deltas()
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
        self.events.broken(passing(kind, message))
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

/// Returns a failure that the same request may not meet again.
fn passing(kind: FailureKind, message: String) -> ModelFailure {
    ModelFailure { kind, status: None, message, transient: true, retry_after_ms: None, text: String::new() }
}
