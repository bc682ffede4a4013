//! A line of the journal as read: the head at once, the body only when it is wanted (ENGINE 1).
//!
//! - Asked by `maia_journal`, which owns checksums, blobs and files.
//! - A body is kept as text until its place is known to be good: a body of another place (a blob) can be put in
//!   before it is read, and what is skipped is never built.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::id::{ActorPath, Seq};
use crate::record::{Body, KINDS};

/// Levels of nesting that a body may have. What comes from outside is read with a limit of 128; a body
/// puts some levels around it, so that its own limit has to be higher, or it could be written and never read.
pub const MAX_DEPTH: usize = 256;

/// The readable part of a line, without its checksum.
#[derive(Debug, Deserialize)]
pub struct Line<'a> {
    /// Format version.
    pub v: u32,
    /// Number of the record.
    pub seq: Seq,
    /// When it was appended.
    pub time: Timestamp,
    /// Whose record it is.
    pub actor: ActorPath,
    /// Kind of the body.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// The body as written.
    #[serde(borrow)]
    pub body: &'a RawValue,
}

impl Body {
    /// Reads a body of `kind` from JSON text; a kind that this version does not know becomes [`Body::Unknown`].
    ///
    /// # Errors
    /// Text that is not JSON or deeper than [`MAX_DEPTH`]; a known kind whose body has another shape.
    pub fn read_json(kind: &str, text: &str) -> Result<Self, serde_json::Error> {
        if is_deeper_than(text.as_bytes(), MAX_DEPTH) {
            return Err(serde_json::Error::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if !KINDS.contains(&kind) {
            return Ok(Self::Unknown { kind: kind.to_owned(), body: read(text)? });
        }
        // The kind is one of ours, so that it needs no escapes.
        read(&format!("{{\"kind\":\"{kind}\",\"body\":{text}}}"))
    }
}

/// Reads `text`, whose depth is known, without the reader's own limit.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Tells whether JSON text nests deeper than `limit`; for text that is not JSON the answer may be yes too often.
pub fn is_deeper_than(json: &[u8], limit: usize) -> bool {
    let opening = json.iter().filter(|&&byte| byte == b'{' || byte == b'[').count();
    if opening <= limit {
        return false; // Nearly every body: no need to look where they stand.
    }
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_borrows_its_body() {
        let text = r#"{"v":1,"seq":7,"time":"2026-11-30T10:00:00Z","actor":"maia","kind":"timer_fired","body":{"step": 3}}"#;
        let line: Line<'_> = serde_json::from_str(text).expect("a whole line");
        assert_eq!((line.v, line.seq, &*line.kind, line.body.get()), (1, 7, "timer_fired", r#"{"step": 3}"#));
        let body = Body::read_json(&line.kind, line.body.get()).expect("its own form");
        assert_eq!(body, Body::TimerFired { step: 3 });
    }

    #[test]
    fn text_and_value_are_read_alike() {
        for (kind, body) in [
            ("timer_fired", json!({"step": 3})),
            ("told", json!({"from": "person", "text": "a \"quoted\" é {[ text"})),
            ("dreamt", json!({"x": [1, null, {"y": 2.5}]})),
            ("dreamt", json!("text")),
            ("tool_done", json!({"call": 1})),
        ] {
            let from_text = Body::read_json(kind, &body.to_string());
            let from_value = Body::read(kind, body);
            assert_eq!(from_text.ok(), from_value.ok(), "{kind}");
        }
    }

    #[test]
    fn what_a_model_may_nest_can_be_read_back() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(serde_json::from_str::<Value>(&nested(127)).is_ok(), "accepted from outside");
        assert!(Body::read_json("dreamt", &format!("{{\"a\":[{{\"input\":{}}}]}}", nested(127))).is_ok());
        assert!(Body::read_json("dreamt", &nested(MAX_DEPTH)).is_ok());
        assert!(Body::read_json("dreamt", &nested(MAX_DEPTH + 1)).is_err());
        assert!(Body::read_json("dreamt", &nested(200_000)).is_err(), "refused before the stack is used");
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = json!({"a": "[".repeat(1000), "b": "\\\"{{".repeat(1000)}).to_string();
        assert!(!is_deeper_than(text.as_bytes(), 2));
        assert!(is_deeper_than(br#"{"a":[{"b":[]}]}"#, 3));
        assert!(!is_deeper_than(br#"{"a":[{"b":[]}]}"#, 4));
    }

    #[test]
    fn what_follows_a_body_is_an_error() {
        assert!(Body::read_json("dreamt", "{} {}").is_err());
        assert!(Body::read_json("timer_fired", r#"{"step":1},"kind":"told""#).is_err());
    }
}
