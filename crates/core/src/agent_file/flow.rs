//! Lists and tables in brackets, over one or several lines, and the cursor that walks over the header.

use super::fault::{At, Fault};
use super::header::{Entry, Item, Value, begins_known_key};
use super::scalar::{indent, quoted};
use super::split::number;

/// How deep brackets may nest; a definition needs two.
const MAX_DEPTH: usize = 8;

/// A place in the lines of the header. A line end is read as `\n`.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    lines: &'a [&'a str],
    first: u32,
    pub line: usize,
    byte: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at `byte` of line `line`; `first` is the number of the first line in the file.
    pub fn new(lines: &'a [&'a str], first: u32, line: usize, byte: usize) -> Self {
        Self { lines, first, line, byte }
    }

    pub fn at(&self) -> At {
        let before = self.lines.get(self.line).and_then(|line| line.get(..self.byte)).unwrap_or_default();
        At { line: self.first.saturating_add(number(self.line)), column: number(before.chars().count() + 1) }
    }

    pub fn rest_of_line(&self) -> &'a str {
        self.lines.get(self.line).and_then(|line| line.get(self.byte..)).unwrap_or_default()
    }

    pub fn finished(&self) -> bool {
        self.line >= self.lines.len() || (self.line + 1 == self.lines.len() && self.rest_of_line().is_empty())
    }

    pub fn peek(&self) -> Option<char> {
        if self.finished() { None } else { Some(self.rest_of_line().chars().next().unwrap_or('\n')) }
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        if self.rest_of_line().is_empty() {
            self.next_line()
        } else {
            self.byte += c.len_utf8()
        }
        Some(c)
    }

    pub fn next_line(&mut self) {
        self.line += 1;
        self.byte = 0;
    }

    pub fn skip_blanks(&mut self) {
        let rest = self.rest_of_line();
        self.byte += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }
}

/// Reads the list or table whose bracket is at `cursor`; `base` is the indentation of its key.
pub(super) fn read(cursor: &mut Cursor<'_>, base: usize) -> Result<Value, Fault> {
    node(cursor, base, 0)
}

/// Moves behind the bracket that closes the one at `cursor`; `false` when there is none before the next known key.
pub(super) fn skip(cursor: &mut Cursor<'_>, base: usize) -> bool {
    let mut depth = 0_usize;
    let mut quote = None;
    while let Some(c) = cursor.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), '\\') if quote == Some('"') => drop(cursor.next()),
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, '\n') if starts_key(cursor, base) => return false,
            _ => {}
        }
        if depth == 0 {
            return true;
        }
    }
    false
}

fn node(cursor: &mut Cursor<'_>, base: usize, depth: usize) -> Result<Value, Fault> {
    let opened = cursor.at();
    if depth > MAX_DEPTH {
        return Err(Fault::syntax(opened, "brackets nest too deeply here"));
    }
    let close = match cursor.next() {
        Some('[') => ']',
        _ => '}',
    };
    let mut items = Vec::new();
    let mut entries = Vec::new();
    loop {
        space(cursor, base, opened)?;
        match cursor.peek() {
            None => return Err(unclosed(opened)),
            Some(',') => drop(cursor.next()),
            Some(c) if c == close => {
                cursor.next();
                return Ok(if close == ']' { Value::List(items) } else { Value::Table(entries) });
            }
            Some(c @ (']' | '}')) => {
                return Err(Fault::syntax(
                    cursor.at(),
                    format!("`{c}` closes nothing: `{close}` is missing before it"),
                ));
            }
            Some(c) if close == ']' => {
                let at = cursor.at();
                if matches!(c, '[' | '{') {
                    return Err(Fault::syntax(
                        at,
                        "a list holds names only, no list or table: take the inner brackets out",
                    ));
                }
                let text = text(cursor, base, opened, close)?;
                if !text.is_empty() {
                    items.push(Item { text, at });
                }
            }
            Some(_) => entries.push(entry(cursor, base, opened, depth)?),
        }
    }
}

fn entry(cursor: &mut Cursor<'_>, base: usize, opened: At, depth: usize) -> Result<Entry, Fault> {
    let at = cursor.at();
    let key = match cursor.peek() {
        Some('"' | '\'') => quoted(cursor, None)?,
        _ => {
            let mut key = String::new();
            while let Some(c) = cursor.peek().filter(|c| !matches!(c, ':' | ',' | '}' | '\n' | '[' | '{')) {
                key.push(c);
                cursor.next();
            }
            key.trim().to_owned()
        }
    };
    space(cursor, base, opened)?;
    if cursor.peek() != Some(':') || key.is_empty() {
        return Err(Fault::syntax(
            at,
            format!("`{key}` in braces is not `key: value`: put a colon after the key"),
        ));
    }
    cursor.next();
    space(cursor, base, opened)?;
    let value_at = cursor.at();
    let value = match cursor.peek() {
        Some('[' | '{') => node(cursor, base, depth + 1)?,
        Some(',' | '}') => Value::Null,
        _ => Value::Text(text(cursor, base, opened, '}')?),
    };
    Ok(Entry { key, at, value, value_at })
}

/// Reads one text; a comma in parentheses belongs to it: `Bash(git log, *)` is one rule.
fn text(cursor: &mut Cursor<'_>, base: usize, opened: At, close: char) -> Result<String, Fault> {
    if matches!(cursor.peek(), Some('"' | '\'')) {
        let text = quoted(cursor, None)?;
        space(cursor, base, opened)?;
        return match cursor.peek() {
            Some(c) if c == ',' || c == close => Ok(text),
            None => Err(unclosed(opened)),
            Some(_) => {
                Err(Fault::syntax(cursor.at(), "after a closing quote comes a comma or the closing bracket"))
            }
        };
    }
    let mut text = String::new();
    let mut before = ' ';
    let mut unbalanced_line = None;
    loop {
        let Some(c) = cursor.peek() else { return Err(unclosed(opened)) };
        match c {
            ',' => break,
            c if c == close => break,
            '\n' => {
                space(cursor, base, opened)?;
                text.push(' ');
                before = ' ';
                continue;
            }
            '#' if before.is_whitespace() => {
                space(cursor, base, opened)?;
                continue;
            }
            '(' if unbalanced_line != Some(cursor.line) => match parenthesis(cursor.rest_of_line()) {
                Some(inner) => {
                    text.push_str(inner);
                    for _ in inner.chars() {
                        cursor.next();
                    }
                    before = ')';
                    continue;
                }
                None => unbalanced_line = Some(cursor.line),
            },
            _ => {}
        }
        text.push(c);
        before = c;
        cursor.next();
    }
    Ok(text.trim().to_owned())
}

/// Returns the text from the `(` that begins `rest` to the one that closes it.
fn parenthesis(rest: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return rest.get(..=at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Skips white space, line ends and comments. A line that begins with a key of the header means that the bracket
/// was never closed.
fn space(cursor: &mut Cursor<'_>, base: usize, opened: At) -> Result<(), Fault> {
    let mut before = ' ';
    loop {
        match cursor.peek() {
            Some('\n') => {
                cursor.next();
                if starts_key(cursor, base) {
                    return Err(unclosed(opened));
                }
            }
            Some(' ' | '\t') => drop(cursor.next()),
            Some('#') if before.is_whitespace() => {
                while cursor.peek().is_some_and(|c| c != '\n') {
                    cursor.next();
                }
                continue;
            }
            _ => return Ok(()),
        }
        before = ' ';
    }
}

fn starts_key(cursor: &Cursor<'_>, base: usize) -> bool {
    let line = cursor.rest_of_line();
    indent(line) <= base && begins_known_key(line.trim_start())
}

fn unclosed(opened: At) -> Fault {
    Fault::syntax(opened, "the bracket that opens here is never closed: close it before the next key")
}
