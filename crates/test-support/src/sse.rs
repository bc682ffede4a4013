//! Builds the events of an answer as an OpenAI-compatible server streams them.
//!
//! - Asked by tests that want an answer of a certain shape rather than certain bytes.
//! - Owns the bytes so far.

use serde_json::{Value, json};

/// The body of a streamed answer, built from the start.
#[derive(Clone, Debug, Default)]
pub struct Sse {
    body: String,
    calls: usize,
}

impl Sse {
    /// Returns an empty body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a whole answer of `text`, with usage.
    pub fn answer(text: &str) -> Vec<u8> {
        Self::new().text(text).finish("stop").usage(10, 5).done()
    }

    /// Returns a whole answer that asks for `name` with `input`, with usage.
    pub fn call_answer(id: &str, name: &str, input: &Value) -> Vec<u8> {
        Self::new().call(id, name, input).finish("tool_calls").usage(10, 5).done()
    }

    /// Adds a piece of text.
    pub fn text(self, text: &str) -> Self {
        self.delta(&json!({"content": text}))
    }

    /// Adds a piece of reasoning.
    pub fn reasoning(self, text: &str) -> Self {
        self.delta(&json!({"reasoning_content": text}))
    }

    /// Adds a whole call, its arguments in two pieces.
    pub fn call(self, id: &str, name: &str, input: &Value) -> Self {
        let index = self.calls;
        let arguments = input.to_string();
        let middle = arguments.char_indices().nth(arguments.chars().count() / 2).map_or(0, |(at, _)| at);
        let (left, right) = arguments.split_at(middle);
        let first = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": left}});
        let second = json!({"index": index, "function": {"arguments": right}});
        let mut sse = self.delta(&json!({"tool_calls": [first]})).delta(&json!({"tool_calls": [second]}));
        sse.calls += 1;
        sse
    }

    /// Adds the reason to stop.
    pub fn finish(self, reason: &str) -> Self {
        self.data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
    }

    /// Adds what was counted.
    pub fn usage(self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        let total_tokens = prompt_tokens + completion_tokens;
        self.data(&json!({"choices": [], "usage": {"prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens, "total_tokens": total_tokens}}))
    }

    /// Adds any JSON as an event.
    pub fn data(mut self, data: &Value) -> Self {
        self.body.push_str(&format!("data: {data}\n\n"));
        self
    }

    /// Ends the stream properly.
    pub fn done(mut self) -> Vec<u8> {
        self.body.push_str("data: [DONE]\n\n");
        self.cut()
    }

    /// Ends it where it is, as a server that died.
    pub fn cut(self) -> Vec<u8> {
        self.body.into_bytes()
    }

    fn delta(self, delta: &Value) -> Self {
        self.data(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    }
}
