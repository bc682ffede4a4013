//! What a script for `sed` does with files.
//!
//! - Asked by `habits.rs`. A script of addresses, substitutions and prints opens nothing; any other one may read and
//!   write files and run commands (`w`, `W`, `r`, `R`, `e`), and so may one that is not understood.

use super::habits::{Habit, Scripts, Use};
use super::options::{Grammar, read};
use super::word::Word;
use crate::permission::pattern::HOLE;

const SED: Grammar = Grammar {
    flags: "nErsuz",
    values: "e",
    long_flags: &[
        "--quiet",
        "--silent",
        "--regexp-extended",
        "--null-data",
        "--separate",
        "--sandbox",
        "--posix",
    ],
    long_values: &["--expression"],
    long_pairs: &[],
};
/// As [`SED`], with `-i`.
const IN_PLACE: Grammar = Grammar { flags: "nErsuzi", ..SED };

/// Says what the words of `sed` are.
pub(super) fn sed(words: &[Word], habit: &mut Habit) {
    // With an ending or a letter behind it, `-i` is not understood here.
    let edits = words.iter().any(|word| &*word.text == "-i");
    habit.scripts = Scripts::Sed;
    habit.paths = Use::Writes;
    let grammar = if edits { IN_PLACE } else { SED };
    let reading = read(words, 1, &grammar);
    if !reading.is_sure() {
        return;
    }
    let mut scripts: Vec<usize> = reading.options.iter().filter_map(|option| option.value).collect();
    if scripts.is_empty() {
        scripts.extend(reading.operands.first());
    }
    let opens_nothing = |at: &usize| words.get(*at).is_some_and(|word| is_plain(value(word)));
    if scripts.iter().all(opens_nothing) {
        habit.paths = if edits { Use::Writes } else { Use::Reads };
        habit.texts.extend(scripts);
    }
}

/// Returns the script in `word`: behind `-e` or `--expression=` where it is attached.
fn value(word: &Word) -> &str {
    let text = &*word.text;
    match text.strip_prefix("--expression=") {
        Some(script) => script,
        None if text.starts_with('-') => text.split_once('e').map_or(text, |(_, script)| script),
        None => text,
    }
}

/// Returns whether `script` only selects, prints, deletes and substitutes.
pub(super) fn is_plain(script: &str) -> bool {
    let mut rest = script;
    while !rest.is_empty() {
        match command(rest) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    !script.contains(HOLE)
}

/// Takes one command from the front of `script`.
fn command(script: &str) -> Option<&str> {
    let rest = script.trim_start_matches([' ', '\t', '\n', ';', '}']);
    let mut rest = address(rest)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = address(second.trim_start_matches(['+', '~', ' ']))?;
    }
    let rest = rest.trim_start_matches([' ', '!']);
    let mut chars = rest.chars();
    let after = match chars.next() {
        None => return Some(""),
        Some('{') => return Some(chars.as_str()),
        Some('p' | 'd' | 'n' | 'N' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z') => chars.as_str(),
        Some('q' | 'Q' | 'l') => chars.as_str().trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
        Some('s') => {
            let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
            let rest = until(chars.as_str(), delimiter)?;
            until(rest, delimiter)?.trim_start_matches(|c: char| c.is_ascii_digit() || "gpIiMm".contains(c))
        }
        Some('y') => {
            let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
            until(until(chars.as_str(), delimiter)?, delimiter)?
        }
        Some(_) => return None,
    };
    let after = after.trim_start_matches([' ', '\t']);
    (after.is_empty() || after.starts_with([';', '\n', '}'])).then_some(after)
}

/// Takes an address, if there is one.
fn address(script: &str) -> Option<&str> {
    match script.chars().next() {
        Some('/') => Some(until(&script[1..], '/')?.trim_start_matches(['I', 'M'])),
        Some('$') => Some(&script[1..]),
        _ => Some(script.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~')),
    }
}

/// Returns what stands behind the next `delimiter` that no backslash takes its meaning from.
///
/// None when there is none, when the line ends before it, or when it stands in brackets, where programs differ.
fn until(text: &str, delimiter: char) -> Option<&str> {
    let (mut escaped, mut in_brackets) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            _ if c == delimiter => return (!in_brackets).then_some(&text[at + c.len_utf8()..]),
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn scripts_that_open_no_file_are_known() {
        for script in [
            "",
            "p",
            "1,5p",
            "$d",
            "/a b/p",
            "/a/,/b/d",
            "s/.env/x/g",
            "s|a|b|;s,c,d,2p",
            "/x/{s/a/b/;p}",
            "y/ab/cd/",
            "/a/!d",
            "10q",
        ] {
            assert!(is_plain(script), "{script}");
        }
    }

    #[test]
    fn scripts_that_may_open_a_file_are_not_plain() {
        for script in [
            "w.env",
            "r.env",
            "$R x",
            "s/a/b/w.env",
            "s/a/b/e",
            "1e cat .env",
            "/a/{p;w x",
            "p\nw x",
            "s/[/]/w x",
            "s/a",
            "a text",
            "\\,x,p",
            ".env",
        ] {
            assert!(!is_plain(script), "{script}");
        }
    }
}
