//! The header of AGENT.md, line by line: keys and their values, each with its place (mission M20.1-yaml).

use std::collections::HashMap;

use super::fault::{At, Fault};
use super::flow::{self, Cursor};
use super::scalar::{block, block_style, fold, indent, quoted, without_comment};

/// One key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key as written.
    pub key: String,
    pub at: At,
    pub value: Value,
    pub value_at: At,
}

/// One item of a list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub text: String,
    pub at: At,
}

/// What stands behind a key.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    Text(String),
    List(Vec<Item>),
    Table(Vec<Entry>),
    /// The value of a key that nobody asks for; it was not looked at.
    Skipped,
}

/// What a key wants: it decides what brackets and dashes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// All that follows the colon is the text, brackets too.
    Text,
    List,
    Table,
    /// One item of a list: a text, brackets refused.
    Item,
    Skip,
}

/// Whose keys are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Top,
    Permissions,
    /// A table where none belongs; its reader refuses it.
    Other,
}

/// Keys of the header in the order of the MAIA document, and what each wants.
const KEYS: &[(&str, Shape)] = &[
    ("name", Shape::Text),
    ("description", Shape::Text),
    ("model", Shape::Text),
    ("tools", Shape::List),
    ("permissions", Shape::Table),
    ("effort", Shape::Text),
    ("skills", Shape::List),
    ("omitMd", Shape::Text),
    ("trace", Shape::Text),
];

/// Reads the header whose first line is line `first` of the file.
pub(super) fn read(lines: &[&str], first: u32) -> Result<Vec<Entry>, Fault> {
    let mut reader = Reader { lines, first, line: 0 };
    reader.skip_blank();
    let base = reader.current().map_or(0, indent);
    let entries = reader.mapping(base, Level::Top)?;
    match reader.current() {
        None => Ok(entries),
        Some(line) => {
            Err(reader.fault(line, format!("{} stands further left than the keys above it", shown(line))))
        }
    }
}

/// Returns how the header's key that equals `key` but for case is spelled.
pub(super) fn spelling(key: &str) -> Option<&'static str> {
    KEYS.iter().map(|(known, _)| *known).find(|known| known.eq_ignore_ascii_case(key))
}

/// Tells whether `text` begins with a key of the header and a colon.
pub(super) fn begins_known_key(text: &str) -> bool {
    key_of(text).is_some_and(|(key, _)| spelling(&key).is_some())
}

struct Reader<'a> {
    lines: &'a [&'a str],
    first: u32,
    line: usize,
}

impl<'a> Reader<'a> {
    fn current(&self) -> Option<&'a str> {
        self.lines.get(self.line).copied()
    }

    fn skip_blank(&mut self) {
        while self.current().is_some_and(is_blank) {
            self.line += 1;
        }
    }

    /// Returns the place of byte `byte` of the current line.
    fn at(&self, byte: usize) -> At {
        Cursor::new(self.lines, self.first, self.line, byte).at()
    }

    fn fault(&self, line: &str, message: impl Into<String>) -> Fault {
        Fault::syntax(self.at(lead(line)), message)
    }

    fn mapping(&mut self, base: usize, level: Level) -> Result<Vec<Entry>, Fault> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut lines: HashMap<String, u32> = HashMap::new();
        loop {
            self.skip_blank();
            let Some(line) = self.current().filter(|line| indent(line) >= base) else { return Ok(entries) };
            if indent(line) > base {
                return Err(
                    self.fault(line, format!("{} is indented deeper than the keys beside it", shown(line)))
                );
            }
            if is_item(line.trim_start()) {
                return Err(
                    self.fault(line, format!("{} is a list item that belongs to no key", shown(line)))
                );
            }
            let Some((key, length)) = key_of(line.trim_start()) else {
                return Err(self.fault(
                    line,
                    format!("{} is not `key: value`: put a colon and a space after the key", shown(line)),
                ));
            };
            let at = self.at(lead(line));
            if let Some(earlier) = lines.insert(key.to_lowercase(), at.line) {
                let name = spelling(&key).or_else(|| list_of_rules(&key)).unwrap_or(&key);
                return Err(Fault::new(
                    format!("duplicate_key:{name}"),
                    format!("`{name}` is already set on line {earlier}: keep one of the two"),
                )
                .at(at));
            }
            let start = lead(line) + length;
            let rest = line.get(start..).unwrap_or_default();
            let start = start + lead(rest);
            let value_at = self.at(start);
            let value = self.value(base, shape(level, &key), start)?;
            entries.push(Entry { key, at, value, value_at });
        }
    }

    /// Reads the value that begins at byte `start` of the current line, or on the lines below.
    fn value(&mut self, base: usize, shape: Shape, start: usize) -> Result<Value, Fault> {
        let rest = self.rest(start);
        if shape == Shape::Skip {
            self.skip(base, start);
            return Ok(Value::Skipped);
        }
        if rest.is_empty() || rest.starts_with('#') {
            self.line += 1;
            return self.value_below(base, shape);
        }
        self.value_here(base, shape, start)
    }

    fn rest(&self, start: usize) -> &'a str {
        self.current().and_then(|line| line.get(start..)).unwrap_or_default()
    }

    fn value_below(&mut self, base: usize, shape: Shape) -> Result<Value, Fault> {
        let back = self.line;
        self.skip_blank();
        let Some(line) = self.current() else { return Ok(Value::Null) };
        let (depth, text) = (indent(line), line.trim_start());
        if depth >= base && is_item(text) {
            if shape == Shape::Text {
                return Err(self.fault(line, "the key above holds a text, not a list"));
            }
            return self.list(depth);
        }
        if depth <= base {
            self.line = back;
            return Ok(Value::Null);
        }
        let key = key_of(text).map(|(key, _)| key);
        match (shape, key) {
            (Shape::Table, Some(_)) => Ok(Value::Table(self.mapping(depth, Level::Permissions)?)),
            (Shape::List, Some(_)) => Ok(Value::Table(self.mapping(depth, Level::Other)?)),
            (_, Some(key)) if is_reserved(&key) => {
                Err(self.fault(line, format!("`{key}` is indented: a key of the header stands at the left")))
            }
            _ => self.value_here(base, shape, lead(line)),
        }
    }

    fn value_here(&mut self, base: usize, shape: Shape, start: usize) -> Result<Value, Fault> {
        let text = self.rest(start);
        if text.starts_with(['"', '\'']) {
            let mut cursor = Cursor::new(self.lines, self.first, self.line, start);
            let value = quoted(&mut cursor, Some(base))?;
            // `tools: "Read", "Grep"` is a list without brackets.
            if !(shape == Shape::List && cursor.rest_of_line().trim_start().starts_with(',')) {
                self.end_of_value(&cursor, "the closing quote")?;
                return Ok(Value::Text(value));
            }
        }
        if let Some(style) = block_style(without_comment(text)) {
            let below = self.lines.get(self.line + 1..).unwrap_or_default();
            let (value, taken) = block(below, base, style);
            self.line += 1 + taken;
            return Ok(Value::Text(value));
        }
        if shape != Shape::Text {
            if is_item(text) {
                return Err(Fault::syntax(
                    self.at(start),
                    "a list with dashes begins on the line below its key",
                ));
            }
            if text.starts_with(['[', '{']) {
                if shape == Shape::Item {
                    return Err(Fault::syntax(
                        self.at(start),
                        "a list holds names only: take the inner brackets out",
                    ));
                }
                let mut cursor = Cursor::new(self.lines, self.first, self.line, start);
                let value = flow::read(&mut cursor, base)?;
                self.end_of_value(&cursor, "the closing bracket")?;
                return Ok(value);
            }
        }
        self.plain(base, shape, text)
    }

    /// Goes behind the line of `cursor`, on which only a comment may follow.
    fn end_of_value(&mut self, cursor: &Cursor<'_>, what: &str) -> Result<(), Fault> {
        let tail = cursor.rest_of_line();
        let comment = tail.starts_with([' ', '\t']) && tail.trim_start().starts_with('#');
        if !tail.trim().is_empty() && !comment {
            return Err(Fault::syntax(
                cursor.at(),
                format!("text after {what}: take it out, or quote the whole value"),
            ));
        }
        self.line = cursor.line + 1;
        Ok(())
    }

    /// Reads an unquoted text; deeper lines below go on with it.
    fn plain(&mut self, base: usize, shape: Shape, first: &'a str) -> Result<Value, Fault> {
        let mut parts = vec![without_comment(first)];
        let mut ended = parts.first().is_some_and(|part| part.len() < first.trim_end().len());
        self.line += 1;
        while let Some(line) = self.current().filter(|_| !ended) {
            let text = line.trim();
            if !text.is_empty() {
                if indent(line) <= base || text.starts_with('#') {
                    break;
                }
                let key = key_of(text).map(|(key, _)| key).filter(|key| is_reserved(key));
                if let Some(key) = key {
                    return Err(self.fault(
                        line,
                        format!("`{key}` is indented under a text: a key of the header stands at the left"),
                    ));
                }
                if shape != Shape::Text && is_item(text) {
                    return Err(
                        self.fault(line, "a list below a value: put all of it on the lines below the key")
                    );
                }
            }
            let part = without_comment(text);
            ended = part.len() < text.len();
            parts.push(part);
            self.line += 1;
        }
        let text = fold(&parts);
        let null = matches!(text.as_str(), "~" | "null" | "Null" | "NULL");
        Ok(if null && shape != Shape::Item { Value::Null } else { Value::Text(text) })
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut items = Vec::new();
        loop {
            self.skip_blank();
            let here = self.current().filter(|line| indent(line) == depth && is_item(line.trim_start()));
            let Some(line) = here else { return Ok(Value::List(items)) };
            let dash = lead(line) + 1;
            let start = dash + lead(line.get(dash..).unwrap_or_default());
            let rest = self.rest(start);
            if rest.is_empty() || rest.starts_with('#') {
                self.line += 1;
                continue;
            }
            let at = self.at(start);
            if let Value::Text(text) = self.value_here(depth, Shape::Item, start)? {
                let text = text.trim().to_owned();
                if !text.is_empty() {
                    items.push(Item { text, at });
                }
            }
        }
    }

    /// Passes over the value of a key that nobody asks for: definitions made for other tools hold anything.
    fn skip(&mut self, base: usize, start: usize) {
        let rest = self.rest(start);
        let dashes = rest.is_empty() || rest.starts_with('#');
        if rest.starts_with(['[', '{']) {
            let mut cursor = Cursor::new(self.lines, self.first, self.line, start);
            if flow::skip(&mut cursor, base) {
                self.line = cursor.line;
            }
        }
        self.line += 1;
        while let Some(line) = self.current() {
            let item = dashes && indent(line) == base && is_item(line.trim_start());
            if !line.trim().is_empty() && indent(line) <= base && !item {
                break;
            }
            self.line += 1;
        }
    }
}

fn shape(level: Level, key: &str) -> Shape {
    match level {
        Level::Top => KEYS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(key))
            .map_or(Shape::Skip, |(_, shape)| *shape),
        Level::Permissions if list_of_rules(key).is_some() => Shape::List,
        Level::Permissions | Level::Other => Shape::Skip,
    }
}

/// Returns how the list of rules that equals `key` but for case is spelled.
fn list_of_rules(key: &str) -> Option<&'static str> {
    ["allow", "ask", "deny"].into_iter().find(|list| list.eq_ignore_ascii_case(key))
}

/// Keys that must never be swallowed as the text of another one.
fn is_reserved(key: &str) -> bool {
    spelling(key).is_some() || list_of_rules(key).is_some()
}

fn is_blank(line: &str) -> bool {
    let text = line.trim();
    text.is_empty() || text.starts_with('#')
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ") || text.starts_with("-\t")
}

/// Bytes of white space that begin `line`.
fn lead(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn shown(line: &str) -> String {
    let text: String = line.trim().chars().take(80).collect();
    format!("`{text}`")
}

/// Splits `key: …`; returns the key and the bytes up to behind the colon.
fn key_of(text: &str) -> Option<(String, usize)> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inner = text.get(1..)?;
        let key = inner.get(..inner.find(quote)?)?;
        let after = text.get(key.len() + 2..)?;
        let colon = key.len() + 2 + lead(after) + 1;
        let ends = text.get(colon..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        return (after.trim_start().starts_with(':') && ends).then(|| (key.to_owned(), colon));
    }
    if text.starts_with(['[', '{', '#', '&', '*', '!', '|', '>', '%', '@', '`']) {
        return None;
    }
    let spaced = text.char_indices().filter(|(_, c)| *c == ':').find(|(at, _)| {
        text.get(at + 1..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    });
    // `effort:high` has no space; it is taken for a key only when it is one, not for `http://host`.
    let tight = text.split_once(':').filter(|(key, _)| spelling(key.trim()).is_some());
    let (key, colon) = match (tight, spaced) {
        (Some((key, _)), _) => (key, key.len()),
        (None, Some((at, _))) => (text.get(..at)?, at),
        (None, None) => return None,
    };
    let key = key.trim();
    (!key.is_empty() && !key.contains(" #")).then(|| (key.to_owned(), colon + 1))
}
