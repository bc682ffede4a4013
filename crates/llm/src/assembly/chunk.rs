//! Reads one JSON chunk of an answer, whatever an endpoint makes of the format (mission M7.2).
//!
//! - Asked by the assembler for each piece of data; hands back one shape for all of them.
//! - Owns nothing; texts are borrowed from the line where they need no unescaping.
//! - Two ways: a typed one, which nearly every chunk of a well-behaved server takes and which copies nothing; and a
//!   patient one over `serde_json::Value` for fields of other types, half surrogates and errors without a name.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::Value;

/// A text that is borrowed when it can be. (serde borrows a `Cow` only outside an `Option`.)
#[derive(Debug)]
pub(super) struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}

/// One chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub choices: Vec<Choice<'a>>,
    pub usage: Option<Value>,
    pub error: Option<Value>,
}

/// One choice of a chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub index: Option<i64>,
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    /// A whole message: an answer that was not streamed, or a repetition of what was. Boxed, as it is rare and a
    /// choice is moved for every delta.
    #[serde(borrow)]
    pub message: Option<Box<Delta<'a>>>,
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
}

/// What a chunk adds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<Call<'a>>>,
    /// The older form of a single call.
    #[serde(borrow)]
    pub function_call: Option<Box<Function<'a>>>,
}

/// A fragment of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    pub index: Option<i64>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub function: Option<Function<'a>>,
}

/// Name and arguments of a fragment.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub arguments: Option<Text<'a>>,
}

impl Chunk<'_> {
    /// Tells whether the chunk holds anything of an answer or an error.
    pub(super) fn says_something(&self) -> bool {
        !self.choices.is_empty() || self.usage.is_some() || self.error.as_ref().is_some_and(is_error)
    }
}

/// Why data is no chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoChunk {
    /// It is the beginning of JSON.
    Cut,
    /// It is something else.
    Garbage,
}

/// Reads `text` as a chunk.
pub(super) fn read(text: &str) -> Result<Chunk<'_>, NoChunk> {
    // What says nothing, or only that there is an error, is looked at again for what has no name here.
    if let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(text)
        && chunk.says_something()
        && chunk.error != Some(Value::Bool(true))
    {
        return Ok(chunk);
    }
    patient(text).map(from_value)
}

/// Tells whether the `error` of a chunk says that there is one: null, false and empty ones do not.
pub(super) fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// Parses a JSON object, with half surrogates replaced where they are what stands in the way.
fn patient(text: &str) -> Result<Value, NoChunk> {
    let parsed = serde_json::from_str(text).or_else(|error| match without_half_surrogates(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    });
    match parsed {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(NoChunk::Garbage),
        Err(error) if error.is_eof() => Err(NoChunk::Cut),
        Err(_) => Err(NoChunk::Garbage),
    }
}

/// Returns `text` with every `\uD800`–`\uDFFF` that has no other half replaced by U+FFFD; `None` when there is none.
fn without_half_surrogates(text: &str) -> Option<String> {
    let unit_at = |at: usize| {
        let hex = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(hex, 16).ok()
    };
    let mut mended: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', text.as_bytes().get(at..)?) {
        at += found;
        match unit_at(at) {
            Some(0xD800..0xDC00) if matches!(unit_at(at + 6), Some(0xDC00..0xE000)) => at += 12,
            Some(0xD800..0xE000) => {
                let mended = mended.get_or_insert_default();
                mended.push_str(text.get(copied..at)?);
                mended.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // An escape of one character; the escaped one may be a backslash.
            _ => at += 2,
        }
        if at > text.len() {
            break;
        }
    }
    let mut mended = mended?;
    mended.push_str(text.get(copied..)?);
    Some(mended)
}

fn from_value(value: Value) -> Chunk<'static> {
    let Value::Object(mut fields) = value else { return Chunk::default() };
    let choices: Vec<Choice<'static>> = match fields.remove("choices") {
        Some(Value::Array(choices)) => choices.into_iter().map(choice).collect(),
        _ => Vec::new(),
    };
    let usage = fields.remove("usage").filter(Value::is_object);
    let mut error = fields.remove("error").filter(is_error);
    // Servers that name no error: {"object":"error","message":…}, {"detail":…}.
    if choices.is_empty() && usage.is_none() {
        let says_error = |name: &str| fields.get(name).is_some_and(|value| value == "error");
        if says_error("object") || says_error("type") || fields.contains_key("detail") {
            error = error.filter(|error| *error != true).or(Some(Value::Object(fields)));
        } else if error == Some(Value::Bool(true)) {
            error = Some(Value::Object(fields));
        }
    }
    Chunk { choices, usage, error }
}

fn choice(value: Value) -> Choice<'static> {
    let Value::Object(mut fields) = value else { return Choice::default() };
    Choice {
        index: fields.get("index").and_then(integer),
        delta: fields.remove("delta").map(delta),
        message: fields.remove("message").map(|message| Box::new(delta(message))),
        finish_reason: fields.remove("finish_reason").and_then(text),
    }
}

fn delta(value: Value) -> Delta<'static> {
    let Value::Object(mut fields) = value else { return Delta::default() };
    let mut thought = String::new();
    let content = fields.remove("content").and_then(|content| content_text(content, &mut thought));
    let reasoning_content = fields.remove("reasoning_content").and_then(text);
    let thought = (!thought.is_empty()).then_some(Text(Cow::Owned(thought)));
    let calls = match fields.remove("tool_calls") {
        Some(Value::Array(calls)) => Some(calls.into_iter().map(call).collect()),
        Some(single @ Value::Object(_)) => Some(vec![call(single)]),
        _ => None,
    };
    Delta {
        content,
        reasoning_content: thought.or(reasoning_content),
        reasoning: fields.remove("reasoning").and_then(text),
        refusal: fields.remove("refusal").and_then(text),
        tool_calls: calls,
        function_call: fields
            .remove("function_call")
            .filter(Value::is_object)
            .map(|call| Box::new(function(call))),
    }
}

/// Reads content as a text or as a list of parts; parts that think go to `thought`.
fn content_text(content: Value, thought: &mut String) -> Option<Text<'static>> {
    let Value::Array(parts) = content else { return text(content) };
    let mut all = String::new();
    for part in parts {
        match part {
            Value::String(piece) => all.push_str(&piece),
            Value::Object(mut fields) => {
                if let Some(Value::String(piece)) = fields.remove("text") {
                    all.push_str(&piece);
                } else if let Some(inner) = fields.remove("thinking") {
                    let mut deeper = String::new();
                    if let Some(Text(piece)) = content_text(inner, &mut deeper) {
                        thought.push_str(&piece);
                    }
                }
            }
            _ => {}
        }
    }
    Some(Text(Cow::Owned(all)))
}

fn call(value: Value) -> Call<'static> {
    let Value::Object(mut fields) = value else { return Call::default() };
    let index = fields.get("index").and_then(integer);
    let id = match fields.remove("id") {
        Some(Value::Number(number)) => Some(Text(Cow::Owned(number.to_string()))),
        other => other.and_then(text),
    };
    // Some servers leave out the envelope.
    let inner = fields.remove("function").filter(Value::is_object).unwrap_or(Value::Object(fields));
    Call { index, id, function: Some(function(inner)) }
}

fn function(value: Value) -> Function<'static> {
    let Value::Object(mut fields) = value else { return Function::default() };
    let arguments = match fields.remove("arguments") {
        Some(Value::String(arguments)) => Some(arguments),
        None | Some(Value::Null) => None,
        // An object, as native servers send it: accepted as it is (R011).
        Some(other) => Some(other.to_string()),
    };
    Function {
        name: fields.remove("name").and_then(text),
        arguments: arguments.map(|arguments| Text(Cow::Owned(arguments))),
    }
}

fn text(value: Value) -> Option<Text<'static>> {
    match value {
        Value::String(text) => Some(Text(Cow::Owned(text))),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|index| index as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_borrowed() {
        let chunk = read(r#"{"choices":[{"delta":{"content":"abc"}}]}"#).expect("a chunk");
        let content = chunk.choices[0].delta.as_ref().and_then(|delta| delta.content.as_ref());
        assert!(matches!(content, Some(Text(Cow::Borrowed("abc")))));
    }

    #[test]
    fn half_surrogates_are_replaced_and_pairs_kept() {
        let mend = |text: &str| without_half_surrogates(text);
        assert_eq!(mend(r"\ud83d\ude00"), None);
        assert_eq!(mend(r"a\ud83d"), Some(r"a\ufffd".to_owned()));
        assert_eq!(mend(r"\ude00b\ud83d\ude00"), Some(r"\ufffdb\ud83d\ude00".to_owned()));
        assert_eq!(mend(r"\\ud83d"), None, "an escaped backslash");
        assert_eq!(mend(r"é\ud83d\n"), Some(r"é\ufffd\n".to_owned()));
        assert_eq!(mend("\\"), None);
    }

    #[test]
    fn errors_are_found_under_every_name() {
        let error = |text: &str| read(text).expect("a chunk").error.map(|error| error.to_string());
        assert_eq!(error(r#"{"error":null,"choices":[]}"#), None);
        assert_eq!(error(r#"{"error":""}"#), None);
        assert_eq!(error(r#"{"error":"x"}"#).as_deref(), Some("\"x\""));
        assert!(error(r#"{"object":"error","message":"m"}"#).is_some_and(|error| error.contains("\"m\"")));
        assert!(error(r#"{"error":true,"message":"m"}"#).is_some_and(|error| error.contains("\"m\"")));
        assert!(error(r#"{"detail":"Not Found"}"#).is_some_and(|error| error.contains("Not Found")));
        assert_eq!(read("{\"choices\":[{\"delta\":").err(), Some(NoChunk::Cut));
        assert_eq!(read(": PROCESSING").err(), Some(NoChunk::Garbage));
        assert_eq!(read("[1]").err(), Some(NoChunk::Garbage));
    }

    #[test]
    fn parts_and_odd_types_are_borne() {
        let chunk = read(
            r#"{"choices":[{"index":"0","delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},
            {"type":"text","text":"a"},"b"],"tool_calls":[{"id":7,"name":"Read","arguments":{"p":1}}]}}],"usage":3}"#,
        )
        .expect("a chunk");
        let delta = chunk.choices[0].delta.as_ref().expect("a delta");
        assert_eq!(delta.content.as_ref().map(|text| &*text.0), Some("ab"));
        assert_eq!(delta.reasoning_content.as_ref().map(|text| &*text.0), Some("t"));
        let call = &delta.tool_calls.as_ref().expect("calls")[0];
        let function = call.function.as_ref().expect("a function");
        assert_eq!(function.arguments.as_ref().map(|text| &*text.0), Some(r#"{"p":1}"#));
        assert!(chunk.usage.is_none());
    }
}
