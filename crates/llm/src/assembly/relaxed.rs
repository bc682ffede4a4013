//! A JSON reader that bears the faults models make, and none that needs guessing.
//!
//! - Asked by the arguments reader after strict parsing failed.
//! - Owns its place in the text.
//! - Borne: raw control characters in strings, unknown escapes (the backslash is kept), single quotes, bare keys, trailing
//!   commas, comments, Python's literals, closing brackets too many. Not borne: bare values, missing commas or
//!   colons, unescaped quotes, numbers that are none. The end inside a value is told apart from every other fault.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::{Map, Value};

/// How deep values may nest; serde_json's own limit.
const MAX_DEPTH: usize = 128;

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It ends inside a value.
    Ended,
    /// It is malformed beyond what is borne.
    Wrong,
}

/// Reads the values that stand one after another in `text`.
pub(super) fn values(text: &str) -> Result<Vec<Value>, Fault> {
    let mut reader = Reader { chars: text.chars().peekable() };
    let mut values = vec![reader.value(0)?];
    loop {
        reader.skip_space()?;
        match reader.chars.peek() {
            None => return Ok(values),
            Some('}' | ']') => drop(reader.chars.next()),
            Some('{') if values.len() < 8 => values.push(reader.value(0)?),
            Some(_) => return Err(Fault::Wrong),
        }
    }
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn peek(&mut self) -> Result<char, Fault> {
        self.chars.peek().copied().ok_or(Fault::Ended)
    }

    fn next(&mut self) -> Result<char, Fault> {
        self.chars.next().ok_or(Fault::Ended)
    }

    fn skip_space(&mut self) -> Result<(), Fault> {
        loop {
            match self.chars.peek() {
                Some(c) if c.is_whitespace() => drop(self.chars.next()),
                Some('/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), Fault> {
        self.next()?;
        match self.next()? {
            '/' => {
                while self.next()? != '\n' {}
                Ok(())
            }
            '*' => {
                let mut before = ' ';
                loop {
                    match self.next()? {
                        '/' if before == '*' => return Ok(()),
                        c => before = c,
                    }
                }
            }
            _ => Err(Fault::Wrong),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::Wrong);
        }
        self.skip_space()?;
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' | '\'' => self.string().map(Value::String),
            '-' | '0'..='9' => self.number(),
            c if c.is_ascii_alphabetic() => self.literal(),
            _ => Err(Fault::Wrong),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        self.next()?;
        let mut object = Map::new();
        loop {
            self.skip_space()?;
            let key = match self.peek()? {
                '}' => {
                    self.next()?;
                    return Ok(Value::Object(object));
                }
                '"' | '\'' => self.string()?,
                c if c.is_ascii_alphabetic() || c == '_' || c == '$' => self.word()?,
                _ => return Err(Fault::Wrong),
            };
            self.skip_space()?;
            if self.next()? != ':' {
                return Err(Fault::Wrong);
            }
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            if !self.comma('}')? {
                return Ok(Value::Object(object));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        self.next()?;
        let mut items = Vec::new();
        loop {
            self.skip_space()?;
            if self.peek()? == ']' {
                self.next()?;
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.comma(']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Takes a comma, or the bracket that ends the list; tells whether the list may go on.
    fn comma(&mut self, close: char) -> Result<bool, Fault> {
        self.skip_space()?;
        match self.next()? {
            ',' => Ok(true),
            c if c == close => Ok(false),
            _ => Err(Fault::Wrong),
        }
    }

    /// Reads letters and digits up to something else; at the end of the text nobody knows whether the word is whole.
    fn word(&mut self) -> Result<String, Fault> {
        let mut word = String::new();
        loop {
            match self.peek()? {
                c if c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-') => {
                    word.push(c);
                    self.next()?;
                }
                _ => return Ok(word),
            }
        }
    }

    fn literal(&mut self) -> Result<Value, Fault> {
        match self.word()?.as_str() {
            "true" | "True" => Ok(Value::Bool(true)),
            "false" | "False" => Ok(Value::Bool(false)),
            "null" | "None" => Ok(Value::Null),
            _ => Err(Fault::Wrong),
        }
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let mut digits = String::new();
        while matches!(self.peek()?, '0'..='9' | '-' | '+' | '.' | 'e' | 'E') {
            digits.push(self.next()?);
        }
        serde_json::from_str(&digits).map(Value::Number).map_err(|_| Fault::Wrong)
    }

    /// Reads a string in either quotes.
    ///
    /// An unknown escape says that the text was not escaped at all; where the same string also holds an escape that
    /// JSON knows (`\n`, `\\`), it has two readings and is refused.
    fn string(&mut self) -> Result<String, Fault> {
        let quote = self.next()?;
        let mut text = String::new();
        let (mut unknown, mut known) = (false, false);
        loop {
            match self.next()? {
                c if c == quote => {
                    return if unknown && known { Err(Fault::Wrong) } else { Ok(text) };
                }
                '\\' => match self.next()? {
                    c @ ('"' | '\'' | '/') => text.push(c),
                    'u' => match self.unicode()? {
                        Ok(c) => {
                            known = true;
                            text.push(c);
                        }
                        Err(as_written) => {
                            unknown = true;
                            text.push_str(&as_written);
                        }
                    },
                    c => {
                        let escaped = match c {
                            'b' => Some('\u{8}'),
                            'f' => Some('\u{c}'),
                            'n' => Some('\n'),
                            'r' => Some('\r'),
                            't' => Some('\t'),
                            '\\' => Some('\\'),
                            _ => None,
                        };
                        known |= escaped.is_some();
                        unknown |= escaped.is_none();
                        match escaped {
                            Some(c) => text.push(c),
                            None => text.extend(['\\', c]),
                        }
                    }
                },
                c => text.push(c),
            }
        }
    }

    /// Reads what follows `\u`: a character, or the text as written where it is none.
    fn unicode(&mut self) -> Result<Result<char, String>, Fault> {
        let first = match self.four_hex()? {
            Ok(unit) => unit,
            Err(as_written) => return Ok(Err(as_written)),
        };
        if let Some(c) = char::from_u32(first) {
            return Ok(Ok(c));
        }
        // Half of a pair: the other half must follow, else there is no such character.
        if (0xD800..0xDC00).contains(&first)
            && self.next()? == '\\'
            && self.next()? == 'u'
            && let Ok(second @ 0xDC00..0xE000) = self.four_hex()?
        {
            let c = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
            return c.map(Ok).ok_or(Fault::Wrong);
        }
        Err(Fault::Wrong)
    }

    fn four_hex(&mut self) -> Result<Result<u32, String>, Fault> {
        let mut unit = 0;
        let mut written = String::from("\\u");
        for _ in 0..4 {
            let c = self.peek()?;
            let Some(digit) = c.to_digit(16) else { return Ok(Err(written)) };
            self.next()?;
            written.push(c);
            unit = unit * 16 + digit;
        }
        Ok(Ok(unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strict_json_reads_as_itself() {
        for value in [
            json!({"a": [1, -2.5, true, null, "x\n\u{1F980}\"'"], "b": {}}),
            json!({"": {"deep": [[[]]]}}),
            json!([]),
        ] {
            assert_eq!(values(&value.to_string()), Ok(vec![value]));
        }
        assert_eq!(values(r#"{"a":"\ud83e\udd80\u00e9"}"#), Ok(vec![json!({"a": "🦀é"})]));
    }

    #[test]
    fn half_a_pair_is_no_character() {
        assert_eq!(values(r#"{"a":"\ud83e"}"#), Err(Fault::Wrong));
        assert_eq!(values(r#"{"a":"\ud83e\n"}"#), Err(Fault::Wrong));
        assert_eq!(values(r#"{"a":"\udd80"}"#), Err(Fault::Wrong));
    }

    #[test]
    fn comments_are_space() {
        assert_eq!(values("{/* x */\"a\":1, // y\n}"), Ok(vec![json!({"a": 1})]));
        assert_eq!(values("{\"a\":1 /"), Err(Fault::Ended));
    }
}
