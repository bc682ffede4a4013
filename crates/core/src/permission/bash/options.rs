//! Reads the options of a command by a grammar that is known exactly.
//!
//! - Asked by `habits.rs`, `searchers.rs` and `messages.rs`, which know what the values mean.
//! - What a grammar does not know makes the whole reading unsure: abbreviations, other versions, a variable that may
//!   be an option. Whoever asks then takes every word for a path.

use super::word::Word;
use crate::permission::pattern::HOLE;

/// The options of one program. Short ones are letters, which may stand in a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grammar {
    /// Letters without a value.
    pub flags: &'static str,
    /// Letters with a value: the rest of the word, or else the next word.
    pub values: &'static str,
    /// Long options without a value of their own word, each with its dashes.
    pub long_flags: &'static [&'static str],
    /// Long options with a value: behind `=`, or else the next word.
    pub long_values: &'static [&'static str],
    /// Long options with two values, both words of their own.
    pub long_pairs: &'static [&'static str],
}

/// An option as it stands among the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'w> {
    /// The letter, or the long name with its dashes.
    pub name: &'w str,
    /// The word that holds its value, if it has one.
    pub value: Option<usize>,
}

/// What the words of a command are.
#[derive(Debug, Default)]
pub(super) struct Reading<'w> {
    pub options: Vec<Found<'w>>,
    pub operands: Vec<usize>,
    /// Whether every option was known.
    pub knows_options: bool,
    /// Whether a word may turn out to be an option: `$x`.
    pub has_holes: bool,
}

impl Reading<'_> {
    /// Returns whether one of the options `names` is there.
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&option.name))
    }

    /// Returns whether it is certain what each word is.
    pub fn is_sure(&self) -> bool {
        self.knows_options && !self.has_holes
    }
}

/// One word read as options.
#[derive(Debug)]
pub(super) struct Step<'w> {
    pub options: Vec<Found<'w>>,
    /// The word after the last value.
    pub next: usize,
    /// Whether every option in it was known.
    pub is_known: bool,
}

/// Reads `words` from `from` on.
pub(super) fn read<'w>(words: &'w [Word], from: usize, grammar: &Grammar) -> Reading<'w> {
    let mut reading = Reading { knows_options: true, ..Reading::default() };
    let mut at = from;
    while let Some(word) = words.get(at) {
        if &*word.text == "--" {
            reading.operands.extend(at + 1..words.len());
            break;
        }
        reading.has_holes |= word.text.starts_with(HOLE);
        if is_option(word) {
            let step = option(word, at, grammar);
            reading.knows_options &= step.is_known;
            reading.options.extend(step.options);
            at = step.next;
        } else {
            reading.operands.push(at);
            at += 1;
        }
    }
    reading
}

/// Returns whether the word is one or more options, `--` left aside.
pub(super) fn is_option(word: &Word) -> bool {
    word.text.len() > 1 && word.text.starts_with('-')
}

/// Reads the options in `word`, which stands at `at`.
pub(super) fn option<'w>(word: &'w Word, at: usize, grammar: &Grammar) -> Step<'w> {
    let text = &*word.text;
    let mut step = Step { options: Vec::new(), next: at + 1, is_known: true };
    if text.starts_with("--") {
        let (name, is_attached) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
        let mut value = None;
        if grammar.long_values.contains(&name) {
            value = Some(if is_attached { at } else { at + 1 });
        } else if grammar.long_pairs.contains(&name) && !is_attached {
            value = Some(at + 2);
        } else {
            step.is_known = grammar.long_flags.contains(&name);
        }
        step.next = value.unwrap_or(at) + 1;
        step.options.push(Found { name, value });
        return step;
    }
    for (n, letter) in text.char_indices().skip(1) {
        let end = n + letter.len_utf8();
        let name = &text[n..end];
        if grammar.values.contains(letter) {
            let value = if end < text.len() { at } else { at + 1 };
            step.next = value + 1;
            step.options.push(Found { name, value: Some(value) });
            break;
        }
        step.is_known &= grammar.flags.contains(letter);
        step.options.push(Found { name, value: None });
    }
    step
}

/// Returns whether `word` is a cluster of short options with one of `letters` in it.
pub(super) fn has_letter(word: &Word, letters: &str) -> bool {
    word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(|c| letters.contains(c))
}

/// Returns whether `word` may be the long option `name`, which may be shortened: `--outp=x` for `--output`.
pub(super) fn may_be_long(word: &Word, name: &str) -> bool {
    let given = word.text.split('=').next().unwrap_or_default();
    given.len() > 2 && (name.starts_with(given) || given.starts_with(name))
}
