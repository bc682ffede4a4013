//! Reads what a server counted, whatever types it counts in (mission M7.2-usage).
//!
//! - Asked by the assembler for every `usage` that is not null; counts may come in parts.
//! - Owns the numbers so far.

use maia_protocol::Usage;
use serde_json::Value;

/// Output lengths at which servers cut a call and announce it as whole (mission M7.2-cut).
const SUSPICIOUS: &[u64] = &[1024, 2048, 4096, 8192, 16384, 32768, 65536];

/// The counts of one answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    input: Option<u64>,
    completion: Option<u64>,
    total: Option<u64>,
    cached: Option<u64>,
    reasoning: Option<u64>,
}

impl Counts {
    /// Takes what `usage` says; a later count replaces an earlier one, a missing one leaves it.
    pub(super) fn read(&mut self, usage: &Value) {
        let part = Self {
            input: first(usage, &["/prompt_tokens", "/input_tokens"]),
            completion: first(usage, &["/completion_tokens", "/output_tokens"]),
            total: first(usage, &["/total_tokens"]),
            cached: first(
                usage,
                &[
                    "/prompt_tokens_details/cached_tokens",
                    "/input_tokens_details/cached_tokens",
                    "/cache_read_input_tokens",
                    "/prompt_cache_hit_tokens",
                ],
            ),
            reasoning: first(
                usage,
                &["/completion_tokens_details/reasoning_tokens", "/output_tokens_details/reasoning_tokens"],
            ),
        };
        // Some servers send zeros with every chunk and once more at the end: those say nothing.
        let zero = |count: Option<u64>| count.unwrap_or(0) == 0;
        if zero(part.input) && zero(part.completion) && self.is_known() {
            return;
        }
        self.input = part.input.or(self.input);
        self.completion = part.completion.or(self.completion);
        self.total = part.total.or(self.total);
        self.cached = part.cached.or(self.cached);
        self.reasoning = part.reasoning.or(self.reasoning);
    }

    /// Tells whether any count was sent.
    pub(super) fn is_known(&self) -> bool {
        self.input.is_some() || self.completion.is_some()
    }

    /// Tells whether the output has one of the lengths at which servers cut calls (mission M7.2-cut).
    pub(super) fn is_suspicious(&self) -> bool {
        self.completion.is_some_and(|tokens| SUSPICIOUS.contains(&tokens))
    }

    /// Returns the counts; reasoning is taken off the output (mission M7.2-usage).
    pub(super) fn usage(&self) -> Option<Usage> {
        if !self.is_known() {
            return None;
        }
        let (input, completion) = (self.input.unwrap_or(0), self.completion.unwrap_or(0));
        let reasoning = self.reasoning.unwrap_or(0);
        // A few servers count reasoning beside the completion: their total shows it.
        let beside = reasoning > 0
            && self.total == input.checked_add(completion).and_then(|sum| sum.checked_add(reasoning));
        Some(Usage {
            input_tokens: input,
            output_tokens: if beside { completion } else { completion.saturating_sub(reasoning) },
            cached_tokens: self.cached.unwrap_or(0),
            reasoning_tokens: reasoning,
        })
    }
}

/// Returns the first count that is there. A present null counts 0 only where its group has another number.
fn first(usage: &Value, pointers: &[&str]) -> Option<u64> {
    pointers.iter().find_map(|pointer| number(usage.pointer(pointer)?))
}

/// Reads a count from an integer, a float or a text of digits; anything below zero is 0.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(count) => Some(count),
            // A float cast saturates: below zero and NaN become 0.
            None => number.as_f64().map(|count| count as u64),
        },
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_are_read_from_any_type_and_in_parts() {
        let usage = |parts: &[Value]| {
            let mut counts = Counts::default();
            parts.iter().for_each(|part| counts.read(part));
            counts.usage().map(|usage| {
                (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
            })
        };
        assert_eq!(usage(&[]), None);
        assert_eq!(usage(&[json!({})]), None);
        assert_eq!(usage(&[json!(7)]), None);
        assert_eq!(usage(&[json!({"prompt_tokens": "12", "completion_tokens": 3.0})]), Some((12, 3, 0, 0)));
        assert_eq!(usage(&[json!({"prompt_tokens": -1, "completion_tokens": null})]), Some((0, 0, 0, 0)));
        assert_eq!(
            usage(&[json!({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 7}})]),
            Some((9, 0, 7, 0))
        );
        let reasoning = |completion: u64, total: u64| {
            json!({"prompt_tokens": 10, "completion_tokens": completion, "total_tokens": total,
                   "completion_tokens_details": {"reasoning_tokens": 6}})
        };
        assert_eq!(usage(&[reasoning(9, 19)]), Some((10, 3, 0, 6)));
        assert_eq!(usage(&[reasoning(9, 25)]), Some((10, 9, 0, 6)), "counted beside");
        assert_eq!(usage(&[reasoning(4, 14)]), Some((10, 0, 0, 6)), "never below zero");
        let parts = [json!({"input_tokens": 5}), json!({"output_tokens": 2}), json!({"input_tokens": 0})];
        assert_eq!(usage(&parts), Some((5, 2, 0, 0)));
    }
}
