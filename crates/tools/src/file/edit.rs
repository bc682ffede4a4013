//! The replacement of an Edit, on bytes in memory (mission M8-edit).
//!
//! - Asked when an Edit is prepared; pure.
//! - Text is compared exactly except for line ends: LF matches CRLF, and what is put in takes the line ends of the place.
//! - Matches that overlap count one by one: two of them are never one replacement.

use std::ops::Range;
use std::path::Path;

use super::hint;
use super::sniff::{self, Kind, SAMPLE};
use crate::fault::Fault;

/// Matches that are counted exactly; beyond it the text says "more than".
const COUNTED: usize = 1000;

const BOM: &str = "\u{feff}";

/// A file after an edit.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// All bytes of the file.
    pub(crate) bytes: Vec<u8>,
    /// Line of the replaced text, from 1.
    pub(crate) line: usize,
    /// Line ends in the text before and after.
    pub(crate) breaks: (usize, usize),
}

/// Replaces the one place of `bytes` that is `old` by `new`; a byte order mark stays.
///
/// # Errors
/// [`Fault::NotFound`], [`Fault::NotUnique`], [`Fault::NoChange`], [`Fault::Binary`], [`Fault::Encoding`].
pub(crate) fn replace(path: &Path, bytes: &[u8], old: &str, new: &str) -> Result<Replaced, Fault> {
    if old == new {
        return Err(Fault::NoChange);
    }
    let whole = text(path, bytes)?;
    let (mark, content) = match whole.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", whole),
    };
    // A model may repeat the mark that it saw; it is never part of the first line.
    let old = lf(old.strip_prefix(BOM).filter(|rest| !rest.is_empty()).unwrap_or(old));
    let new = if mark.is_empty() { new } else { new.strip_prefix(BOM).unwrap_or(new) };
    let flat = lf(content);
    let at = single(path, &flat, &old)?;
    let range = original(content, &at);
    let region = content.get(range.clone()).unwrap_or_default();
    let new = with_breaks(new, region, content);
    if region == new {
        return Err(Fault::NoChange);
    }
    let before = content.get(..range.start).unwrap_or_default();
    let after = content.get(range.end..).unwrap_or_default();
    Ok(Replaced {
        bytes: [mark, before, &new, after].concat().into_bytes(),
        line: breaks(before) + 1,
        breaks: (breaks(region), breaks(&new)),
    })
}

/// Returns the bytes as text.
fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Fault> {
    let encoding = |found: &str| Fault::Encoding { path: path.to_owned(), found: found.to_owned() };
    match sniff::kind(bytes.get(..SAMPLE).unwrap_or(bytes)) {
        Kind::Utf16 { .. } => return Err(encoding("UTF-16")),
        Kind::Foreign => return Err(encoding("in an unknown encoding")),
        Kind::Binary(why) => return Err(Fault::Binary { path: path.to_owned(), why: why.to_owned() }),
        Kind::Text => {}
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes
            .get(..error.valid_up_to())
            .unwrap_or_default()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        encoding(&format!("in an unknown encoding (line {line})"))
    })
}

/// Returns `text` with LF for every CRLF; a CR alone is a character like any other.
fn lf(text: &str) -> String {
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.to_owned() }
}

/// Returns the one place of `old` in `flat`.
fn single(path: &Path, flat: &str, old: &str) -> Result<Range<usize>, Fault> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = flat.get(from..).and_then(|rest| rest.find(old)) {
        places.push(from + at);
        from += at + step;
        if places.len() > COUNTED {
            break;
        }
    }
    match places.as_slice() {
        [] => Err(Fault::NotFound { path: path.to_owned(), hint: hint::for_absent(flat, old) }),
        [at] => Ok(*at..at + old.len()),
        many => {
            let count =
                if many.len() > COUNTED { format!("more than {COUNTED}") } else { many.len().to_string() };
            let lines: Vec<String> = many
                .iter()
                .take(5)
                .map(|at| (breaks(flat.get(..*at).unwrap_or_default()) + 1).to_string())
                .collect();
            let more = if many.len() > lines.len() { ", …" } else { "" };
            let places = format!("lines {}{more}", lines.join(", "));
            Err(Fault::NotUnique { path: path.to_owned(), count, places })
        }
    }
}

/// Returns where `flat`, a range of the text with LF only, lies in `content`.
fn original(content: &str, flat: &Range<usize>) -> Range<usize> {
    let position = |wanted: usize| {
        // Each CRLF before the place is one byte longer in the file; a break belongs to the place that begins with it.
        let mut removed = 0;
        for (at, _) in content.match_indices("\r\n") {
            if at - removed >= wanted {
                break;
            }
            removed += 1;
        }
        wanted + removed
    };
    position(flat.start)..position(flat.end)
}

fn breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns `new` with the line ends of the text that it replaces, else of the file, else its own.
fn with_breaks(new: &str, region: &str, content: &str) -> String {
    if !new.contains('\n') {
        return new.to_owned();
    }
    match style(region).or_else(|| style(content)) {
        Some("\r\n") => lf(new).replace('\n', "\r\n"),
        Some(_) => lf(new),
        None => new.to_owned(),
    }
}

/// Returns the line end that most lines of `text` have; the first one's where two are equally many.
fn style(text: &str) -> Option<&'static str> {
    let all = breaks(text);
    let crlf = text.matches("\r\n").count();
    let first = text.find('\n')?;
    let first_is_crlf = text.get(..first).is_some_and(|before| before.ends_with('\r'));
    Some(if crlf * 2 > all || (crlf * 2 == all && first_is_crlf) { "\r\n" } else { "\n" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(before: &str, old: &str, new: &str) -> Result<String, String> {
        let replaced =
            replace(Path::new("f"), before.as_bytes(), old, new).map_err(|fault| fault.to_string())?;
        Ok(String::from_utf8(replaced.bytes).expect("made of texts"))
    }

    #[test]
    fn a_break_at_the_edge_of_the_match_is_whole() {
        assert_eq!(edit("a\r\nb\r\nc", "\nb\n", "\n"), Ok("a\r\nc".to_owned()));
        assert_eq!(edit("a\r\nb", "a", ""), Ok("\r\nb".to_owned()));
        assert_eq!(edit("a\r\nb", "b", "x"), Ok("a\r\nx".to_owned()));
    }

    #[test]
    fn no_change_after_line_ends_are_adapted_is_no_change() {
        assert!(edit("a\nb\n", "a\nb", "a\r\nb").is_err_and(|text| text.starts_with("no_change")));
    }

    #[test]
    fn a_file_without_line_ends_takes_those_given() {
        assert_eq!(edit("abc", "b", "1\r\n2"), Ok("a1\r\n2c".to_owned()));
    }

    #[test]
    fn many_matches_are_counted_to_a_limit() {
        let text = edit(&"a".repeat(5000), "a", "b").expect_err("ambiguous");
        assert!(text.contains("more than 1000"), "{text}");
    }

    proptest! {
        #[test]
        fn whatever_is_around_the_place_stays_byte_for_byte(
            before in "[a-cé\r\n]{0,30}", region in "[a-c\n]{1,6}", after in "[a-cé\r\n]{0,30}", new in "[xy\n]{0,6}",
        ) {
            // Sentinels make the place unique and keep a CR of `before` from becoming half of a break.
            let file = format!("{before}<{region}>{after}");
            let result = edit(&file, &format!("<{region}>"), &new);
            let result = result.expect("it is there once");
            prop_assert!(result.starts_with(&before) && result.ends_with(&after));
            let inside = &result[before.len()..result.len() - after.len()];
            prop_assert_eq!(inside.replace("\r\n", "\n"), new);
        }
    }
}
