//! Patterns on commands, and the texts of a command that they are compared with.
//!
//! - Asked by the rules of family Bash (mission M9.3-bash).
//! - For allow, a blank of the pattern never matches a blank inside a word: `git *` covers the program
//!   `git`, not one called `git status`. For deny and ask every reading counts.

use std::rc::Rc;

use super::unwrap::program;
use super::word::Word;
use crate::permission::pattern::{HOLE, INNER_BLANK, Wild, may_become};

/// Blanks that a word can hold.
const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// A compiled pattern of a Bash rule.
#[derive(Clone, Debug)]
pub(in crate::permission) struct CommandPattern {
    allow: Vec<Wild>,
    deny: Vec<Wild>,
    /// Whole words before the first star, as a program would see them.
    lead: Vec<String>,
    /// Literal pieces between stars, blanks as written, for the linear scan.
    pieces: Vec<String>,
    /// Whether the pattern has no star.
    pub exact: bool,
}

impl CommandPattern {
    /// Compiles `pattern`.
    pub fn new(pattern: &str) -> Self {
        let pattern = squeeze(pattern);
        let inner = inner_blanks(&pattern);
        let unquoted = Word::read(&pattern).text.to_string();
        let mut allow = forms(&inner, Wild::escaped);
        let mut deny = forms(&pattern, Wild::new);
        deny.extend(forms(&pattern, Wild::escaped));
        if unquoted != pattern {
            deny.extend(forms(&unquoted, Wild::new));
            if let Some(words) = super::split::words(&pattern) {
                let decoded: Vec<String> =
                    words.iter().map(|raw| mark_blanks(&Word::read(raw).text)).collect();
                if !pattern.contains('*') {
                    allow.extend(forms(&decoded.join(" "), Wild::escaped));
                }
            }
        }
        deny.dedup();
        let lead = unquoted.split(' ').take_while(|word| !word.contains('*')).map(str::to_owned).collect();
        let exact = allow.first().is_some_and(Wild::is_exact);
        let pieces = unquoted
            .split('*')
            .map(|piece| piece.trim().to_owned())
            .filter(|piece| !piece.is_empty())
            .collect();
        Self { allow, deny, lead, pieces, exact }
    }

    /// Returns whether an allow rule with this pattern covers the command.
    pub fn covers(&self, texts: &Texts) -> bool {
        self.allow.iter().any(|wild| {
            wild.matches(&texts.raw_inner) || texts.seen_inner.as_ref().is_some_and(|text| wild.matches(text))
        })
    }

    /// Returns whether a deny or ask rule with this pattern catches the command.
    pub fn catches(&self, texts: &Texts) -> bool {
        let hit = |text: &str| self.deny.iter().any(|wild| wild.matches(text));
        if hit(&texts.raw) || hit(&texts.seen) || texts.based.iter().any(|text| hit(text)) {
            return true;
        }
        self.without_options(texts).is_some_and(|text| hit(&text))
    }

    /// Returns whether a deny or ask rule with this pattern catches the command written as `text`.
    pub fn catches_text(&self, text: &str) -> bool {
        self.deny.iter().any(|wild| wild.matches(text))
    }

    /// Returns whether the command may be one that this pattern catches, once it is expanded.
    pub(super) fn may_catch(&self, words: &[Word]) -> bool {
        let mut uncertain = false;
        for (at, literal) in self.lead.iter().enumerate() {
            let Some(word) = words.get(at) else { return uncertain && at > 0 };
            let text = if at == 0 { program(word) } else { &word.text };
            let shape =
                if word.glob { text.replace(['*', '?', '['], &HOLE.to_string()) } else { text.to_owned() };
            if shape == *literal {
                continue;
            }
            if !(shape.contains(HOLE) && may_become(&shape, literal)) {
                return false;
            }
            uncertain = true;
        }
        uncertain
    }

    /// Returns whether the pattern may catch something in `flat`, a line made flat by [`flatten`].
    pub fn scans(&self, flat: &str) -> bool {
        if self.lead.iter().any(|word| !word.is_empty()) {
            let literal = self.lead.join(" ");
            return flat.match_indices(&literal).any(|(at, _)| {
                let before = flat[..at].chars().next_back();
                let after = flat[at + literal.len()..].chars().next();
                before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                    && after.is_none_or(|c| c == ' ' || c == '\n')
            });
        }
        let mut rest = flat;
        self.pieces.iter().all(|piece| match rest.split_once(piece.as_str()) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }

    /// Returns the command with the options between program and subcommand left out: `git -C x push` is a
    /// push. Only for patterns that name a subcommand.
    fn without_options(&self, texts: &Texts) -> Option<String> {
        let subcommand = self.lead.get(1).filter(|word| !word.starts_with('-') && !word.is_empty())?;
        let words = &texts.words;
        let first = words.first()?;
        if first.rsplit('/').next() != self.lead.first().map(String::as_str) {
            return None;
        }
        let mut at = 1;
        while **words.get(at)? != **subcommand {
            let option = words.get(at)?;
            if !option.starts_with(['-', '+']) {
                return None;
            }
            let has_none = option.contains('=') || option.starts_with("--no-") || option.starts_with('+');
            let takes_value = !has_none
                && words
                    .get(at + 1)
                    .is_some_and(|next| !next.starts_with(['-', '+']) && **next != **subcommand);
            at += if takes_value { 2 } else { 1 };
        }
        Some(format!("{} {}", self.lead.first()?, words[at..].join(" ")))
    }
}

/// Returns the pattern's forms: `cmd *` covers `cmd` with and without arguments (mission M9.3-bash).
fn forms(pattern: &str, make: fn(&str) -> Wild) -> Vec<Wild> {
    match pattern.strip_suffix(" *") {
        Some(head) if !head.is_empty() && !head.ends_with('\\') => vec![make(pattern), make(head)],
        _ => vec![make(pattern)],
    }
}

/// Makes runs of blanks outside of quotes one blank, as the words of a command are joined.
fn squeeze(pattern: &str) -> String {
    match super::split::words(pattern) {
        Some(words) => words.join(" "),
        None => pattern.trim().to_owned(),
    }
}

/// Marks the blanks that stand inside of words of the pattern.
fn inner_blanks(pattern: &str) -> String {
    match super::split::words(pattern) {
        Some(words) => words.iter().map(|word| mark_blanks(word)).collect::<Vec<_>>().join(" "),
        None => pattern.to_owned(),
    }
}

fn mark_blanks(text: &str) -> String {
    join(std::iter::once(text), true)
}

/// The texts of one command.
#[derive(Clone, Debug)]
pub(in crate::permission) struct Texts {
    raw: Rc<str>,
    seen: Rc<str>,
    /// With the program's folder left out, where it has one.
    based: Vec<String>,
    raw_inner: Rc<str>,
    seen_inner: Option<Rc<str>>,
    words: Vec<Rc<str>>,
}

impl Texts {
    /// Makes the texts of the command `words`.
    pub(super) fn new(words: &[Word]) -> Self {
        let raw: Rc<str> = join(words.iter().map(|word| &*word.raw), false).into();
        // Words that are what they look like make one text, whoever reads it.
        let is_plain = words
            .iter()
            .all(|word| Rc::ptr_eq(&word.raw, &word.text) && word.is_fixed() && !word.raw.contains(BLANKS));
        let seen = || join(words.iter().map(|word| &*word.text), false).into();
        let seen: Rc<str> = if is_plain { Rc::clone(&raw) } else { seen() };
        let based = match words.split_first() {
            Some((first, rest)) if first.text.contains('/') => {
                let base = program(first);
                let base = || std::iter::once(base);
                vec![
                    join(base().chain(rest.iter().map(|word| &*word.raw)), false),
                    join(base().chain(rest.iter().map(|word| &*word.text)), false),
                ]
            }
            _ => Vec::new(),
        };
        let (raw_inner, seen_inner) = if is_plain {
            (Rc::clone(&raw), None)
        } else {
            let is_fixed = words.iter().all(Word::is_fixed);
            let seen = || join(words.iter().map(|word| &*word.text), true).into();
            (join(words.iter().map(|word| &*word.raw), true).into(), is_fixed.then(seen))
        };
        Self {
            raw,
            seen,
            based,
            raw_inner,
            seen_inner,
            words: words.iter().map(|word| Rc::clone(&word.text)).collect(),
        }
    }
}

/// Joins words by blanks; with `marks`, blanks inside of them become [`INNER_BLANK`].
fn join<'a>(words: impl Iterator<Item = &'a str>, marks: bool) -> String {
    let mut text = String::new();
    for (at, word) in words.enumerate() {
        if at > 0 {
            text.push(' ');
        }
        if marks && word.contains(BLANKS) {
            text.extend(word.chars().map(|c| if BLANKS.contains(&c) { INNER_BLANK } else { c }));
        } else {
            text.push_str(word);
        }
    }
    text
}

/// Makes `line` flat for the linear scan: quotes and backslashes left out, one blank between words, a
/// newline wherever a command may begin or end.
pub(in crate::permission) fn flatten(line: &str) -> String {
    let mut flat = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\'' | '"' | '\\' => {}
            ' ' | '\t' => {
                if !flat.ends_with([' ', '\n']) {
                    flat.push(' ');
                }
            }
            ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`' | '\n' | '\r' | '\0' | '<' | '>' | '$' => {
                if !flat.ends_with('\n') {
                    flat.push('\n');
                }
            }
            _ => flat.push(c),
        }
    }
    flat
}
