//! Everything that a command line would run and open, wherever it stands in it.
//!
//! - Asked once a call; the three families of rules are then compared with what is here.
//! - Top-level commands and targets carry an allow; the full list, with substitutions, wrappers and texts
//!   fed to shells, is what `deny` and `ask` search.
//! - Bounded by work: counts of lines, characters and words, never a clock.

use std::borrow::Cow;

use super::braces;
use super::outline::{Goal, Outline, Part};
use super::strict::{self, Budget, Unread};
use super::unwrap::{self, program};
use super::word::Word;
use super::{lines, split, tree};
use crate::permission::odd;
use crate::permission::pattern::HOLE;

/// Length of a line, in bytes, above which nothing is allowed (SAFETY 1).
const MAX_BYTES: usize = 64 * 1024;
/// Lines within the line that are read.
const MAX_LINES: usize = 400;
/// Bytes of lines within the line that are read.
const MAX_INNER_BYTES: usize = 4 * MAX_BYTES;
/// Words of all commands that are looked at.
const MAX_WORDS: usize = 100_000;
/// Lines within each other that are read.
const MAX_DEPTH: usize = 16;
/// Folders that a line may be in before its relative targets are unknown.
const MAX_FOLDERS: usize = 8;

/// Where the shell may be when a redirection opens a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// In the launch folder.
    Home,
    /// In the launch folder or, following these one after the other, elsewhere.
    Moved(Vec<String>),
    /// Nobody knows.
    Unknown,
}

/// What a line holds.
#[derive(Debug)]
pub(super) struct Survey {
    /// The commands of the line itself.
    pub parts: Vec<Part>,
    /// All commands, also those inside of others, in every reading.
    pub commands: Vec<Vec<Word>>,
    /// All files that redirections open, also inside of substitutions.
    pub goals: Vec<Goal>,
    /// Where the shell may be.
    pub whereabouts: Whereabouts,
    /// Why the line is not certain.
    pub doubt: Option<String>,
    /// What it may run that cannot be seen.
    pub hidden: Option<&'static str>,
    /// Whether it is more than the analysis takes on: `deny` and `ask` scan it instead.
    pub too_much: bool,
}

/// Reads `line`.
pub(super) fn survey(line: &str) -> Survey {
    let mut surveyor = Surveyor::default();
    let mut doubt = odd::first(line).map(|what| format!("the command holds {what}"));
    if line.len() > MAX_BYTES {
        surveyor.too_much = true;
    } else {
        // A NUL ends the text for some readers and not for others; the words around it are searched apart.
        let clean =
            if line.contains('\0') { Cow::Owned(line.replace('\0', " ")) } else { Cow::Borrowed(line) };
        match strict::read(&clean, &mut surveyor.budget) {
            Err(Unread::TooMuch) => surveyor.too_much = true,
            Err(Unread::Invalid) => {
                doubt.get_or_insert_with(|| "the command is no valid bash, or is not understood".to_owned());
                surveyor.take(split::read(&clean), 0, true);
            }
            Ok(outline) => {
                surveyor.doubt(&outline, &mut doubt);
                if doubt.is_none() {
                    let second = tree::read(&clean);
                    let agrees = second.as_ref().is_some_and(|second| second.agrees(&outline));
                    if !agrees && !lines::agree(&clean, &outline, &mut surveyor.budget) {
                        doubt = Some("two readings of the command differ".to_owned());
                        let mut second = second.unwrap_or_default();
                        second.reread();
                        surveyor.take(second, 0, false);
                        surveyor.take(split::read(&clean), 0, false);
                    }
                }
                if may_be_misread(&clean, &outline) {
                    surveyor.take(split::read(&clean), 0, false);
                }
                surveyor.take(outline, 0, true);
            }
        }
    }
    surveyor.run();
    surveyor.finish(doubt)
}

#[derive(Default)]
struct Surveyor {
    parts: Vec<Part>,
    commands: Vec<Vec<Word>>,
    goals: Vec<Goal>,
    folders: Vec<Option<String>>,
    feeds: Vec<String>,
    hidden: Option<&'static str>,
    reads_commands: bool,
    too_much: bool,
    /// Whether a builtin evaluates a text that runs something.
    twice: bool,
    /// Commands and lines that are still to be looked at, with how deep they lie.
    open_commands: Vec<(Vec<Word>, usize)>,
    open_lines: Vec<(String, usize)>,
    budget: Budget,
    lines: usize,
    bytes: usize,
    words: usize,
}

impl Surveyor {
    fn doubt(&self, outline: &Outline, doubt: &mut Option<String>) {
        if outline.runs {
            doubt.get_or_insert_with(|| {
                "the command substitutes the output of another one, which no allow rule covers".to_owned()
            });
        } else if let Some(what) = outline.odd {
            doubt.get_or_insert_with(|| format!("the command holds {what}, which no allow rule covers"));
        }
    }

    /// Takes over a reading. `is_line` tells whether its commands are those of the line itself.
    fn take(&mut self, outline: Outline, depth: usize, is_line: bool) {
        for part in &outline.parts {
            self.feeds.extend(part.feeds.iter().cloned());
            let fed = !part.feeds.is_empty();
            self.open_commands.push((part.words.clone(), depth));
            if fed && self.runs_input(&part.words) {
                self.open_lines.extend(part.feeds.iter().map(|feed| (feed.clone(), depth + 1)));
            }
        }
        self.goals.extend(outline.goals);
        self.open_lines.extend(outline.bodies.into_iter().map(|body| (body, depth + 1)));
        if is_line && depth == 0 {
            self.parts = outline.parts;
        }
    }

    fn runs_input(&self, words: &[Word]) -> bool {
        unwrap::unwrap(after_lead(words)).reads_commands
    }

    fn run(&mut self) {
        loop {
            if let Some((words, depth)) = self.open_commands.pop() {
                self.command(words, depth);
            } else if let Some((line, depth)) = self.open_lines.pop() {
                self.line(&line, depth);
            } else if self.reads_commands && !self.feeds.is_empty() {
                // A shell in the line runs what reaches it, and any of these texts may.
                let feeds = std::mem::take(&mut self.feeds);
                self.open_lines.extend(feeds.into_iter().map(|feed| (feed, MAX_DEPTH / 2)));
            } else {
                return;
            }
            if self.too_much {
                return;
            }
        }
    }

    fn line(&mut self, line: &str, depth: usize) {
        self.lines += 1;
        self.bytes += line.len();
        if self.lines > MAX_LINES || self.bytes > MAX_INNER_BYTES || depth > MAX_DEPTH {
            self.too_much = true;
            return;
        }
        match strict::read(line, &mut self.budget) {
            Ok(outline) => {
                if may_be_misread(line, &outline) {
                    self.take(split::read(line), depth, false);
                }
                self.take(outline, depth, false);
            }
            Err(Unread::Invalid) => self.take(split::read(line), depth, false),
            Err(Unread::TooMuch) => self.too_much = true,
        }
    }

    fn command(&mut self, words: Vec<Word>, depth: usize) {
        self.words += words.len() + 1;
        if self.words > MAX_WORDS {
            self.too_much = true;
            return;
        }
        let core = after_assignments(&words);
        if let Some(first) = core.first() {
            if !first.is_fixed() || first.glob {
                self.hidden.get_or_insert("a program whose name is only known when it runs");
            }
            let inner = unwrap::unwrap(core);
            self.too_much |= inner.too_much;
            for (from, to) in inner.words {
                // Counted before they are copied: a chain of wrappers has as many words as its length squared.
                self.words += to - from;
                if self.words > MAX_WORDS {
                    self.too_much = true;
                    return;
                }
                self.open_commands.push((core[from..to].to_vec(), depth));
            }
            self.open_lines.extend(inner.lines.into_iter().map(|line| (line, depth + 1)));
            self.note_place(core, inner.moves);
            if inner.reads_commands {
                self.reads_commands = true;
                self.hidden.get_or_insert("a shell that runs what it is fed");
            }
            for text in unwrap::evaluated(core) {
                if text.contains("$(") || text.contains('`') {
                    self.twice = true;
                    self.open_lines.push((text.to_owned(), depth + 1));
                } else if text.contains(HOLE) {
                    self.hidden.get_or_insert("a name that is evaluated once more");
                }
            }
            if matches!(program(first), "echo" | "printf") {
                // What these print may be piped into a shell; it is looked at when there is one.
                let text: Vec<&str> = core[1..].iter().map(|word| &*word.text).collect();
                self.feeds.push(text.join(" "));
            }
            if core.iter().any(|word| word.braces) {
                let expanded: Vec<Word> = core
                    .iter()
                    .flat_map(|word| {
                        if word.braces { braces::expand(&word.raw) } else { vec![word.raw.to_string()] }
                    })
                    .map(|raw| Word::read(&raw))
                    .map(|word| Word { braces: false, ..word })
                    .collect();
                self.open_commands.push((expanded, depth));
            }
        }
        if core.len() < words.len() && !core.is_empty() {
            self.commands.push(core.to_vec());
        }
        self.commands.push(words);
    }

    fn note_place(&mut self, core: &[Word], moves: bool) {
        if moves {
            self.folders.push(None);
        }
        let Some(first) = core.first() else { return };
        if !matches!(&*first.text, "cd" | "pushd" | "popd" | "chdir") {
            return;
        }
        let target = core[1..].iter().find(|word| !word.text.starts_with('-') && !word.text.starts_with('+'));
        self.folders.push(match target {
            Some(word) if word.is_fixed() && !word.glob && &*first.text != "popd" => {
                Some(word.text.to_string())
            }
            None if &*first.text == "cd" && core.len() == 1 => Some("~".to_owned()),
            _ => None,
        });
    }

    fn finish(mut self, mut doubt: Option<String>) -> Survey {
        // Commands were taken from the end; folders are followed in the order of the line.
        self.folders.reverse();
        let whereabouts = if self.folders.is_empty() {
            Whereabouts::Home
        } else if self.folders.len() > MAX_FOLDERS {
            Whereabouts::Unknown
        } else {
            match self.folders.into_iter().collect::<Option<Vec<String>>>() {
                Some(folders) => Whereabouts::Moved(folders),
                None => Whereabouts::Unknown,
            }
        };
        if self.too_much {
            doubt = Some("the command is longer or deeper than what is looked at".to_owned());
        }
        if self.twice {
            doubt.get_or_insert_with(|| "a builtin evaluates a text that runs a command".to_owned());
        }
        if self.parts.is_empty() {
            doubt.get_or_insert_with(|| "there is no command in it".to_owned());
        }
        for part in &self.parts {
            let core = after_lead(&part.words);
            let Some(first) = core.first() else { continue };
            if !first.is_fixed() || first.glob {
                doubt.get_or_insert_with(|| "the name of a program is only known when it runs".to_owned());
            }
            let is_relative = first.text.contains('/') && !first.text.starts_with(['/', '~']);
            if is_relative && whereabouts != Whereabouts::Home {
                doubt.get_or_insert_with(|| "a program is named by a path that depends on a cd".to_owned());
            }
        }
        Survey {
            parts: self.parts,
            commands: self.commands,
            goals: self.goals,
            whereabouts,
            doubt,
            hidden: self.hidden,
            too_much: self.too_much,
        }
    }
}

/// Returns whether the strict grammar may have missed commands: here-documents within brackets, and `( (` which it takes
/// for a sum. None of these is allowed; they are searched once more.
fn may_be_misread(line: &str, outline: &Outline) -> bool {
    let mut openers =
        line.split('(').skip(1).map(|between| between.trim_matches([' ', '\t', '\n']).is_empty());
    (outline.runs && line.contains("<<")) || (outline.odd.is_some() && openers.any(|is_blank| is_blank))
}

/// Returns `words` without the assignments in front.
fn after_assignments(words: &[Word]) -> &[Word] {
    let count = words.iter().take_while(|word| word.is_assignment()).count();
    &words[count..]
}

/// Returns `words` without the assignments and the keywords in front.
fn after_lead(words: &[Word]) -> &[Word] {
    let count = words
        .iter()
        .take_while(|word| word.is_assignment() || matches!(&*word.raw, "!" | "time" | "-p"))
        .count();
    &words[count..]
}
