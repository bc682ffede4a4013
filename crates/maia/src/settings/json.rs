//! JSON that keeps what `serde_json::Value` loses: keys that stand twice, and about where a key stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value; an object keeps all its keys in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Keys and values as written.
    Object(Vec<(String, Json)>),
}

/// Why a text is no JSON.
#[derive(Debug)]
pub struct JsonFault {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong; never a part of the text, which may hold a key.
    pub cause: String,
}

/// Parses the bytes of a file; a mark at the start is passed over.
///
/// # Errors
/// [`JsonFault`] with the place.
pub fn parse(bytes: &[u8]) -> Result<Json, JsonFault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        JsonFault { line, column: 1, cause: "this is not UTF-8".to_owned() }
    })?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let text = error.to_string();
        let cause = text.split(" at line ").next().unwrap_or_default().to_owned();
        JsonFault { line: error.line().max(1), column: error.column().max(1), cause }
    })
}

/// Returns the line and column of the first `"key"` in the file, from 1; `None` when it is written otherwise.
pub fn place_of(bytes: &[u8], key: &str) -> Option<(usize, usize)> {
    let text = String::from_utf8_lossy(bytes);
    let before = text.find(&format!("\"{key}\"")).and_then(|at| text.get(..at))?;
    let last = before.rsplit('\n').next().unwrap_or_default();
    Some((1 + before.matches('\n').count(), 1 + last.chars().count()))
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(Json::Object(object))
    }
}
