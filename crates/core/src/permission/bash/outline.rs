//! What a command line consists of, in the form in which both grammars' readings are compared.
//!
//! - Made by `strict.rs`, `tree.rs` and `split.rs`; read by `survey.rs`.
//! - Owns the rule of agreement: two readings agree when they have the same commands and targets.

use super::word::Word;

/// One simple command.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Its words, assignments and the keywords `!` and `time` in front included, redirections left out.
    pub words: Vec<Word>,
    /// Texts that it gets as its input: here-documents and here-strings.
    pub feeds: Vec<String>,
}

/// A file that a redirection opens.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    /// The target as written.
    pub word: Word,
    /// Whether the file is opened for writing.
    pub write: bool,
}

/// One reading of one command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Outline {
    /// Simple commands, in no order that matters.
    pub parts: Vec<Part>,
    /// Files of redirections.
    pub goals: Vec<Goal>,
    /// Texts that bash runs as well: substitutions.
    pub bodies: Vec<String>,
    /// Whether something is substituted.
    pub runs: bool,
    /// The first thing that is not on the list of what is understood.
    pub odd: Option<&'static str>,
}

impl Outline {
    /// Notes that `what` is not on the list.
    pub fn mark(&mut self, what: &'static str) {
        self.odd.get_or_insert(what);
    }

    /// Takes over what `word` runs and what is odd about it.
    pub fn note(&mut self, word: &Word) {
        self.runs |= word.runs;
        if let Some(odd) = word.odd {
            self.mark(odd);
        }
        self.bodies.extend(word.bodies.iter().cloned());
    }

    /// Adds a word to `part`.
    pub fn add(&mut self, part: &mut Part, raw: &str) {
        let word = Word::read(raw);
        self.note(&word);
        part.words.push(word);
    }

    /// Adds the target of a redirection.
    pub fn add_goal(&mut self, raw: &str, write: bool) {
        let word = Word::read(raw);
        self.note(&word);
        self.goals.push(Goal { word, write });
    }

    /// Adds a word to `part` as written, for [`Outline::agrees`]; [`Outline::reread`] takes it apart.
    pub fn add_raw(&mut self, part: &mut Part, raw: &str) {
        part.words.push(Word::plain(raw));
    }

    /// Adds the target of `>&` or `<&`, which may be a descriptor: then no file is opened (mission M9.4-redirect).
    pub fn add_copy(&mut self, raw: &str, write: bool) {
        let digits = raw.strip_suffix('-').unwrap_or(raw);
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        if !write {
            self.mark("an input copied from a name");
        }
        self.add_goal(raw, write);
    }

    /// Adds the body of a here-document to `part`.
    pub fn add_document(&mut self, part: &mut Part, body: &str, expands: bool) {
        if expands {
            let word = Word::read_document(body);
            self.note(&word);
        }
        part.feeds.push(body.to_owned());
    }

    /// Returns whether `other` has the same commands and the same targets.
    pub fn agrees(&self, other: &Self) -> bool {
        // Both walks go through the text from left to right, but attach redirections at different places.
        fn commands(outline: &Outline) -> Vec<Vec<&str>> {
            let mut all: Vec<Vec<&str>> =
                outline.parts.iter().map(|part| part.words.iter().map(|word| &*word.raw).collect()).collect();
            all.sort_unstable();
            all
        }
        fn goals(outline: &Outline) -> Vec<(&str, bool)> {
            let mut all: Vec<(&str, bool)> =
                outline.goals.iter().map(|goal| (&*goal.word.raw, goal.write)).collect();
            all.sort_unstable();
            all
        }
        commands(self) == commands(other) && goals(self) == goals(other)
    }

    /// Takes all words apart that were only noted as written.
    pub fn reread(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        let mut goals = std::mem::take(&mut self.goals);
        let words = parts
            .iter_mut()
            .flat_map(|part| &mut part.words)
            .chain(goals.iter_mut().map(|goal| &mut goal.word));
        for word in words {
            *word = Word::read(&word.raw);
            self.note(word);
        }
        self.parts = parts;
        self.goals = goals;
    }
}
