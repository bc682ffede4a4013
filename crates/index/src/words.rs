//! The words of a record, as hashes: which records a search has to read, and which not.
//!
//! - No text of a record stands here: a hash of 32 bits says "maybe", and the journal is asked. (The keyframe has some: first
//!   lines of requests, tasks and causes, masked; see `overview::line`.)
//! - What is long and no word of a language (keys, hashes, data) is left out, and a search does not ask for it.

use maia_protocol::{Body, Record};
use serde_json::Value;

/// Words of one record that are kept; a record with more is looked at by every search.
pub(crate) const MAX_WORDS: usize = 4_096;

/// Bytes of the longest word that is kept.
const LONGEST: usize = 48;

/// Returns the hashes of the words of `record`, ascending, each once; `None` when there are too many to be kept.
pub(crate) fn of_record(record: &Record) -> Option<Vec<u32>> {
    let mut hashes = Vec::new();
    let mut add = |text: &str| hashes.extend(words(text).map(|word| hash(&word)));
    match &record.body {
        Body::UserMessage { text, .. } | Body::Told { text, .. } => add(text),
        Body::ModelAnswered(answered) => {
            add(&answered.answer.text);
            for call in &answered.answer.calls {
                add(&call.name);
                texts(&call.input, &mut add);
            }
        }
        Body::ModelFailed { failure, .. } => add(&failure.text),
        Body::AskedAgain(asked) => add(&asked.text),
        Body::ToolDone { output, .. } => add(&output.text),
        Body::Delegated(delegated) => add(&delegated.task),
        Body::ChildFinished(finished) => add(&finished.summary),
        Body::TurnFinished { text, .. } => add(text),
        Body::SessionOpened(opened) => add(&opened.name),
        _ => {}
    }
    hashes.sort_unstable();
    hashes.dedup();
    (hashes.len() <= MAX_WORDS).then_some(hashes)
}

/// Returns the hashes that a record must hold to hold all words of `text`.
pub(crate) fn of_query(text: &str) -> Vec<u32> {
    words(text).map(|word| hash(&word)).collect()
}

/// Gives every text of a JSON value to `add`.
fn texts(value: &Value, add: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => add(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, add)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, add)),
        _ => {}
    }
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).filter(|word| word.len() <= LONGEST && !is_key(word))
}

/// Tells whether a word looks like a key or a hash: long, of letters and digits.
fn is_key(word: &str) -> bool {
    word.len() >= 20 && word.bytes().any(|byte| byte.is_ascii_digit()) && word.is_ascii()
}

/// FNV-1a of 32 bits: the same in every build, and on every machine.
fn hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_people_search_for() {
        let found: Vec<_> = words("Rename `fn parse_line` in src/main.rs: ÉTÉ, 漢字!").collect();
        assert_eq!(found, ["rename", "fn", "parse", "line", "in", "src", "main", "rs", "été", "漢字"]);
        let key = "ghp0123456789abcdefghij0123456789";
        assert!(of_query(&format!("{key} {}", "x".repeat(49))).is_empty(), "neither kept nor asked for");
        assert_eq!(of_query("Main"), of_query("main"));
    }

    #[test]
    fn the_hash_is_fnv() {
        assert_eq!((hash(""), hash("a"), hash("foobar")), (0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968));
    }
}
