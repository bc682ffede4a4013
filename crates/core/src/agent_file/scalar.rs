//! The texts of a header: comments, quotes, folding, block scalars.

use super::fault::Fault;
use super::flow::Cursor;

/// Returns `text` without its comment: a space, then `#`, outside quotes (mission M20.1b-comments).
///
/// A quote begins only where a word may begin, and only when it is closed on the line: the apostrophe of `l'agent`
/// opens nothing.
pub(super) fn without_comment(text: &str) -> &str {
    let mut before = ' ';
    let mut skip_to = 0;
    for (at, c) in text.char_indices() {
        if at < skip_to {
            continue;
        }
        if c == '#' && before.is_whitespace() {
            return text.get(..at).unwrap_or(text).trim_end();
        }
        let opens = before.is_whitespace() || matches!(before, ',' | '(' | '[' | '{' | ':');
        if matches!(c, '"' | '\'') && opens {
            let after = at + c.len_utf8();
            if let Some(length) = text.get(after..).and_then(|rest| rest.find(c)) {
                skip_to = after + length + 1;
            }
        }
        before = c;
    }
    text.trim_end()
}

/// Joins the lines of a flowing text as YAML does: one line end is a space, each blank line a line end.
pub(super) fn fold(parts: &[&str]) -> String {
    let mut text = String::new();
    let mut blanks = 0;
    for part in parts.iter().map(|part| part.trim()) {
        if part.is_empty() {
            blanks += 1;
            continue;
        }
        if !text.is_empty() {
            if blanks == 0 { text.push(' ') } else { text.extend(std::iter::repeat_n('\n', blanks)) }
        }
        blanks = 0;
        text.push_str(part);
    }
    text
}

/// Splits at line ends and at commas outside parentheses, trims, takes off quotes, drops what is empty.
pub(super) fn split_commas(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut depth = 0_usize;
    let mut item = String::new();
    // With unbalanced parentheses every comma separates: a lost one would swallow the rest.
    let balanced = text.matches('(').count() == text.matches(')').count();
    for c in text.chars() {
        match c {
            '(' if balanced => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            // A literal block gives one name a line.
            '\n' => {
                items.push(std::mem::take(&mut item));
                depth = 0;
                continue;
            }
            ',' if depth == 0 => {
                items.push(std::mem::take(&mut item));
                continue;
            }
            _ => {}
        }
        item.push(c);
    }
    items.push(item);
    items.iter().map(|item| unquote(item.trim())).filter(|item| !item.is_empty()).collect()
}

fn unquote(text: &str) -> String {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| !inner.contains(quote)) {
            return inner.trim().to_owned();
        }
    }
    text.to_owned()
}

/// Reads the quoted text that begins at `cursor`, which ends after the closing quote. Lines after the first must be
/// indented deeper than `base` columns.
pub(super) fn quoted(cursor: &mut Cursor<'_>, base: Option<usize>) -> Result<String, Fault> {
    let opened = cursor.at();
    let quote = cursor.next().unwrap_or('"');
    let unclosed = || {
        Fault::syntax(
            opened,
            format!("the quote {quote} that opens here is never closed: close it, or quote the whole value"),
        )
    };
    let mut text = String::new();
    // White space at the end of `text` that folding may drop; what an escape wrote stays.
    let mut soft = 0;
    while let Some(c) = cursor.next() {
        match c {
            '\n' => {
                text.truncate(text.len() - soft);
                soft = 0;
                let mut ends = 1;
                while cursor.rest_of_line().trim().is_empty() && !cursor.finished() {
                    cursor.next_line();
                    ends += 1;
                }
                if cursor.finished() || base.is_some_and(|base| indent(cursor.rest_of_line()) <= base) {
                    return Err(unclosed());
                }
                cursor.skip_blanks();
                if ends == 1 { text.push(' ') } else { text.extend(std::iter::repeat_n('\n', ends - 1)) }
            }
            '\'' if quote == '\'' && cursor.peek() == Some('\'') => {
                cursor.next();
                text.push('\'');
                soft = 0;
            }
            c if c == quote => return Ok(text),
            '\\' if quote == '"' => {
                let at = cursor.at();
                escape(cursor, &mut text).ok_or_else(|| {
                    Fault::syntax(at, "a quoted text has no such escape: write `\\\\` for a backslash, or use single quotes")
                })?;
                soft = 0;
            }
            ' ' | '\t' => {
                text.push(c);
                soft += 1;
            }
            c => {
                text.push(c);
                soft = 0;
            }
        }
    }
    Err(unclosed())
}

/// Reads what follows a backslash; `None` when YAML knows no such escape.
fn escape(cursor: &mut Cursor<'_>, text: &mut String) -> Option<()> {
    let digits = match cursor.next()? {
        '\n' => {
            cursor.skip_blanks();
            return Some(());
        }
        'x' => 2,
        'u' => 4,
        'U' => 8,
        simple => {
            text.push(match simple {
                'n' => '\n',
                't' | '\t' => '\t',
                'r' => '\r',
                '0' => '\0',
                'a' => '\u{7}',
                'b' => '\u{8}',
                'v' => '\u{b}',
                'f' => '\u{c}',
                'e' => '\u{1b}',
                'N' => '\u{85}',
                '_' => '\u{a0}',
                'L' => '\u{2028}',
                'P' => '\u{2029}',
                '"' | '\\' | '/' | ' ' => simple,
                _ => return None,
            });
            return Some(());
        }
    };
    let mut value = 0_u32;
    for _ in 0..digits {
        value = value.checked_mul(16)?.checked_add(cursor.next()?.to_digit(16)?)?;
    }
    text.push(char::from_u32(value)?);
    Some(())
}

/// How a block scalar was announced: `|` or `>`, with an indentation if it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockStyle {
    folded: bool,
    indent: Option<usize>,
}

/// Reads the mark of a block scalar: `|` or `>` with `+`, `-` and one digit; anything else is plain text.
pub(super) fn block_style(text: &str) -> Option<BlockStyle> {
    let mut chars = text.chars();
    let folded = match chars.next()? {
        '>' => true,
        '|' => false,
        _ => return None,
    };
    let mut style = BlockStyle { folded, indent: None };
    let mut chomp = false;
    for c in chars {
        match c {
            '+' | '-' if !chomp => chomp = true,
            '1'..='9' if style.indent.is_none() => style.indent = c.to_digit(10).map(|digit| digit as usize),
            _ => return None,
        }
    }
    Some(style)
}

/// Reads the block scalar whose lines begin `lines`; returns its text, trimmed, and the number of lines it took.
pub(super) fn block(lines: &[&str], base: usize, style: BlockStyle) -> (String, usize) {
    let deep =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).next().unwrap_or(0);
    let margin = style.indent.map_or(deep.max(base + 1), |given| base + given);
    let taken = lines.iter().take_while(|line| line.trim().is_empty() || indent(line) > base).count();
    let content: Vec<&str> = lines.iter().take(taken).map(|line| without_margin(line, margin)).collect();
    if !style.folded {
        return (content.join("\n").trim().to_owned(), taken);
    }
    let mut text = String::new();
    let mut blanks = 0;
    let mut before_deeper = false;
    for line in content {
        if line.trim().is_empty() {
            blanks += 1;
            continue;
        }
        // Lines deeper than the margin keep their line ends: a list inside a folded text stays a list.
        let deeper = line.starts_with([' ', '\t']);
        if !text.is_empty() {
            match (deeper || before_deeper, blanks) {
                (false, 0) => text.push(' '),
                (false, _) => text.extend(std::iter::repeat_n('\n', blanks)),
                (true, _) => text.extend(std::iter::repeat_n('\n', blanks + 1)),
            }
        }
        (blanks, before_deeper) = (0, deeper);
        text.push_str(line.trim_end());
    }
    (text.trim().to_owned(), taken)
}

/// Columns of white space that begin `line`; a tab goes to the next multiple of four.
pub(super) fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns = (columns / 4 + 1) * 4,
            _ => break,
        }
    }
    columns
}

fn without_margin(line: &str, margin: usize) -> &str {
    let mut columns = 0;
    for (at, c) in line.char_indices() {
        if columns >= margin || !matches!(c, ' ' | '\t') {
            return line.get(at..).unwrap_or_default();
        }
        columns = if c == ' ' { columns + 1 } else { (columns / 4 + 1) * 4 };
    }
    ""
}
