//! Masks what looks like a secret (SAFETY 6).
//!
//! - Asked for every text that leaves the journal to be kept or shown elsewhere: today the lines of the index.
//! - A guess, and a careful one: a secret of no known form, in no place that is named for secrets, is not seen; hashes,
//!   paths, identifiers and prose are left alone. The cases stand in `mask/tests.rs`.
//! - `named` looks at what stands behind a name such as `password`, `shape` at words that are secrets by their form.

mod named;
mod shape;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

/// Stands for a secret.
pub const MASK: &str = "[secret]";

/// Returns `text` with [`MASK`] in place of what looks like a secret: private keys, tokens of known services, passwords in
/// addresses, values of names such as `password` and `API_KEY`, long random words.
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut found = Vec::new();
    private_keys(text, &mut found);
    passwords_of_addresses(text, &mut found);
    let mut done = 0; // What is masked already is not looked at: each text costs its length.
    for word in words(text) {
        if word.start >= done
            && let Some(range) = shape::at(text, word.clone()).or_else(|| named::after(text, word))
        {
            done = range.end;
            found.push(range);
        }
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|range| (range.start, range.end));
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for Range { start, end } in found {
        if start >= from {
            out.push_str(&text[from..start]);
            out.push_str(MASK);
        }
        from = from.max(end);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Finds the insides of private keys in PEM form; one that is cut off reaches to the end.
fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = text[from..].find("-----BEGIN ") {
        let title = from + at + "-----BEGIN ".len();
        let Some(dashes) = text[title..].find("-----") else { return };
        let start = title + dashes + "-----".len();
        from = start;
        if text[title..start].contains("PRIVATE KEY") {
            let end = text[start..].find("-----END").map_or(text.len(), |end| start + end);
            if text[start..end].trim() != MASK && start < end {
                found.push(start..end);
            }
            from = end;
        }
    }
}

/// Finds passwords in addresses such as `https://me:hunter2@host/`.
fn passwords_of_addresses(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, scheme) in text.match_indices("://") {
        let start = at + scheme.len();
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>');
        let end = text[start..].find(ends).map_or(text.len(), |end| start + end);
        let Some(host) = text[start..end].rfind('@') else { continue };
        let Some(colon) = text[start..start + host].find(':') else { continue };
        let password = start + colon + 1..start + host;
        let is_blank = |value: &str| value.is_empty() || value.starts_with(['$', '{', '*', '[']);
        if !is_blank(&text[password.clone()]) {
            found.push(password);
        }
    }
}

/// Returns where the words of names and keys stand: letters, digits, `_` and `-`.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + bytes[from..].iter().position(|&byte| is_of_word(byte))?;
        let len = bytes[start..].iter().position(|&byte| !is_of_word(byte));
        from = len.map_or(bytes.len(), |len| start + len);
        Some(start..from)
    })
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn has_letter(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}
