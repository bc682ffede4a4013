//! Writes scripts of models (ENGINE 9): which agent answers what.
//!
//! - Asked by tests of whole runs; owns the lines so far.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

/// A script in the making.
#[derive(Clone, Debug, Default)]
pub struct Script {
    lines: Vec<Value>,
    number: u32,
}

impl Script {
    /// Returns a script without lines.
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self { lines: Vec::new(), number: NUMBER.fetch_add(1, Ordering::Relaxed) }
    }

    /// Lets `agent` end with `text`.
    #[must_use]
    pub fn text(self, agent: &str, text: &str) -> Self {
        self.line(json!({"agent": agent, "answer": {"text": text, "usage": usage()}}))
    }

    /// Lets `agent` make calls: name and input of each.
    #[must_use]
    pub fn calls(self, agent: &str, calls: &[(&str, Value)]) -> Self {
        let calls: Vec<Value> =
            calls.iter().map(|(name, input)| json!({"name": name, "input": input})).collect();
        self.line(json!({"agent": agent, "answer": {"tool_calls": calls, "usage": usage()}}))
    }

    /// Adds a line as it is written.
    #[must_use]
    pub fn line(mut self, line: Value) -> Self {
        self.lines.push(line);
        self
    }

    /// Lets the last line come only when the request holds `text`.
    #[must_use]
    pub fn expect(mut self, text: &str) -> Self {
        if let Some(line) = self.lines.last_mut() {
            line["expect"] = json!(text);
        }
        self
    }

    /// Lets the answer of the last line come so many milliseconds late.
    #[must_use]
    pub fn delay_ms(mut self, delay_ms: u64) -> Self {
        if let Some(line) = self.lines.last_mut() {
            line["delay_ms"] = json!(delay_ms);
        }
        self
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn lines(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn usage() -> Value {
    json!({"input_tokens": 10, "output_tokens": 5})
}

/// Returns the text of a definition with these tools and allow rules.
pub fn definition(name: &str, tools: &[&str], allow: &[&str]) -> String {
    let rules: String = allow.iter().map(|rule| format!("    - \"{rule}\"\n")).collect();
    let permissions =
        if allow.is_empty() { String::new() } else { format!("permissions:\n  allow:\n{rules}") };
    format!(
        "---\nname: {name}\ndescription: Works on what it is told.\ntools: [{}]\n{permissions}---\n\
         # Instructions system\nYou are {name}.\n# Missions\nDo it.\n# Output\nSay what was done.\n",
        tools.join(", ")
    )
}
