//! Reads the arguments of a call: strictly, else repaired where only one reading is possible (W-act-repair).
//!
//! - Asked by the call assembly when an answer has ended.
//! - Owns nothing.
//! - Cut arguments are never completed, and a value that would have to be guessed is never run: a general repairer
//!   (which closes what is open, quotes bare words and invents keys) would turn half a `Write` into a whole one.

use maia_protocol::model::Unusable;
use serde_json::{Map, Value};

use super::relaxed::{self, Fault};

/// What the arguments of a call are.
#[derive(Debug, PartialEq)]
pub(super) enum Arguments {
    /// An object as sent.
    Good(Map<String, Value>),
    /// An object after repair: the call runs with it, and the text as sent is kept.
    Repaired(Map<String, Value>),
    /// Nothing that may run.
    Unusable(Unusable),
}

/// Reads `raw`; `cut` tells that the answer was ended by an output limit.
pub(super) fn read(raw: &str, cut: bool) -> Arguments {
    let text = raw.trim();
    if text.is_empty() {
        return if cut { Arguments::Unusable(Unusable::Truncated) } else { Arguments::Good(Map::new()) };
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Arguments::Good(object),
        // Absent by another name, as servers send it for tools without parameters.
        Ok(Value::Null) => Arguments::Repaired(Map::new()),
        Ok(Value::String(inner)) => unwrap_once(&inner),
        Ok(_) => Arguments::Unusable(Unusable::Invalid),
        Err(_) => repair(text),
    }
}

/// Tells whether `raw` is a whole JSON object already: what follows it belongs to another call.
pub(super) fn is_whole_object(raw: &str) -> bool {
    let text = raw.trim();
    text.starts_with('{')
        && text.ends_with('}')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Reads arguments that were encoded twice; a third layer is refused.
fn unwrap_once(inner: &str) -> Arguments {
    let inner = inner.trim();
    if inner.is_empty() {
        return Arguments::Repaired(Map::new());
    }
    match serde_json::from_str(inner) {
        Ok(Value::Object(object)) => Arguments::Repaired(object),
        Ok(_) => Arguments::Unusable(Unusable::Invalid),
        Err(_) => repair(inner),
    }
}

/// Reads text that is no strict JSON.
fn repair(text: &str) -> Arguments {
    let text = without_fence(text);
    // Prose at the start is no call, and its end says nothing about a cut.
    if !text.starts_with(['{', '[', '"', '\'']) {
        return Arguments::Unusable(Unusable::Invalid);
    }
    match relaxed::values(text) {
        Ok(values) => one_object(values).map_or(Arguments::Unusable(Unusable::Invalid), Arguments::Repaired),
        Err(Fault::Ended) => Arguments::Unusable(Unusable::Truncated),
        Err(Fault::Wrong) => Arguments::Unusable(Unusable::Invalid),
    }
}

/// Chooses among several values in a row: servers open a call with `{}`, or send the whole object twice.
fn one_object(values: Vec<Value>) -> Option<Map<String, Value>> {
    let mut chosen: Option<Map<String, Value>> = None;
    for value in values {
        let Value::Object(object) = value else { return None };
        match &chosen {
            Some(before) if !before.is_empty() && *before != object => return None,
            _ => chosen = Some(object),
        }
    }
    chosen
}

/// Removes a Markdown fence that stands around the whole text.
fn without_fence(text: &str) -> &str {
    text.strip_prefix("```")
        .and_then(|rest| rest.trim_end().strip_suffix("```"))
        .map(|inner| inner.strip_prefix("json").unwrap_or(inner).trim())
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_reading_runs_and_anything_else_does_not() {
        let cases: &[(&str, Result<Value, Unusable>)] = &[
            // As sent, or nothing sent.
            (r#"{"a":1}"#, Ok(json!({"a": 1}))),
            ("", Ok(json!({}))),
            (" \n", Ok(json!({}))),
            ("null", Ok(json!({}))),
            (r#""""#, Ok(json!({}))),
            // Encoded twice, not three times.
            (r#""{\"a\":\"b\"}""#, Ok(json!({"a": "b"}))),
            (r#""\"{}\"""#, Err(Unusable::Invalid)),
            (r#""{\"a\":\"b""#, Err(Unusable::Truncated)),
            // Not an object.
            (r#"["a"]"#, Err(Unusable::Invalid)),
            ("7", Err(Unusable::Invalid)),
            ("\"text\"", Err(Unusable::Invalid)),
            // Whole, but malformed in one obvious way.
            (r#"{"a":"b",}"#, Ok(json!({"a": "b"}))),
            (r#"{'a':'it''s'}"#, Err(Unusable::Invalid)),
            (r#"{'a':'say "x"'}"#, Ok(json!({"a": "say \"x\""}))),
            (r#"{a: True, b: None}"#, Ok(json!({"a": true, "b": null}))),
            ("{\"a\":\"line\nline\"}", Ok(json!({"a": "line\nline"}))),
            (r#"{"p":"\d+ \w"}"#, Ok(json!({"p": "\\d+ \\w"}))),
            (r#"{"p":"C:\users"}"#, Ok(json!({"p": "C:\\users"}))),
            ("```json\n{\"a\":1}\n```", Ok(json!({"a": 1}))),
            (r#"{}{"a":1}"#, Ok(json!({"a": 1}))),
            (r#"{"a":1}{"a":1}"#, Ok(json!({"a": 1}))),
            (r#"{"a":1}}"#, Ok(json!({"a": 1}))),
            // More than one reading.
            (r#"{"a":1}{"a":2}"#, Err(Unusable::Invalid)),
            (r#"{"p":"\d+\n"}"#, Err(Unusable::Invalid)),
            (r#"{"path": a}"#, Err(Unusable::Invalid)),
            (r#"{"input": "{"key": 1}""#, Err(Unusable::Invalid)),
            (r#"{"a":"b" "c":"d"}"#, Err(Unusable::Invalid)),
            (r#"{"a":"he said "no""}"#, Err(Unusable::Invalid)),
            (r#"{"a":01}"#, Err(Unusable::Invalid)),
            ("Here it is: {\"a\":1}", Err(Unusable::Invalid)),
            // Cut.
            (r#"{"command":"rm -rf target/x"#, Err(Unusable::Truncated)),
            (r#"{"a":1"#, Err(Unusable::Truncated)),
            (r#"{"a":"#, Err(Unusable::Truncated)),
            ("{", Err(Unusable::Truncated)),
            (r#"{"p":"\d"#, Err(Unusable::Truncated)),
            (r#"{}{"a":"b"#, Err(Unusable::Truncated)),
            (r#"{"a":tru"#, Err(Unusable::Truncated)),
        ];
        for (raw, expected) in cases {
            let found = match read(raw, false) {
                Arguments::Good(object) | Arguments::Repaired(object) => Ok(Value::Object(object)),
                Arguments::Unusable(why) => Err(why),
            };
            assert_eq!(found, *expected, "{raw}");
        }
        assert_eq!(read("", true), Arguments::Unusable(Unusable::Truncated));
    }

    #[test]
    fn no_beginning_of_an_object_ever_runs() {
        let whole =
            r#"{"file_path":"a\\b.txt","content":"x \"y\" {z} é\n","n":[1,2.5e3,{"k":null}],"last":true}"#;
        for (end, _) in whole.char_indices().skip(1) {
            let raw = whole.get(..end).expect("a boundary");
            assert_eq!(read(raw, false), Arguments::Unusable(Unusable::Truncated), "{raw}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{{'a':{}", "[".repeat(100_000));
        assert_eq!(read(&deep, false), Arguments::Unusable(Unusable::Invalid));
    }
}
