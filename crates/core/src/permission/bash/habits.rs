//! What programs do with the paths that they are given: which of their words are paths, and whether they write them.
//!
//! - Asked by `named.rs` once a command seems to name a guarded path.
//! - A program that is not here takes every word for a path and may write it: too much rather than too little.

use super::programs::{
    DEEP, FIND_ACTIONS, GIT_NAMES, GIT_READS, GIT_VALUES, INTERPRETERS, MESSAGES, READERS, SEARCHERS, TEXTS,
    VERSIONS,
};
use super::unwrap::program;
use super::word::Word;

/// What becomes of a path among the words of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Its words are texts, or names that are only looked up.
    Nothing,
    /// It is read, or listed.
    Reads,
    /// It may be written.
    Writes,
}

/// How one command treats its words.
#[derive(Debug)]
pub(super) struct Habit {
    /// What happens to the paths.
    pub paths: Use,
    /// Words, by their index, that are no paths: patterns, messages, what is left out.
    pub texts: Vec<usize>,
    /// Whether words may hold a program, with paths in it.
    pub scripts: bool,
    /// Whether every word may be a file, so that the mere name of a key is one.
    pub files: bool,
    /// Whether it goes through whole folders.
    pub deep: bool,
}

/// Programs that take what they are fed for names of files, or for commands.
pub(super) fn takes_names(name: &str) -> bool {
    matches!(
        name,
        "xargs"
            | "gxargs"
            | "parallel"
            | "read"
            | "mapfile"
            | "readarray"
            | "cpio"
            | "pax"
            | "tar"
            | "bsdtar"
            | "rsync"
            | "entr"
            | "wc"
            | "du"
    )
}

/// Returns how the command `words` treats its words. Assignments in front have been taken away.
pub(super) fn habit(words: &[Word]) -> Habit {
    let name = words.first().map(program).unwrap_or_default();
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut habit = Habit {
        paths: Use::Writes,
        texts: Vec::new(),
        scripts: false,
        files: false,
        deep: DEEP.contains(&name),
    };
    habit.texts.extend(left_out(words));
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&&*word.text));
    match name {
        _ if TEXTS.contains(&name) => habit.paths = Use::Nothing,
        _ if READERS.contains(&name) => {
            habit.paths = Use::Reads;
            habit.files = true;
        }
        _ if SEARCHERS.contains(&name) => {
            let in_place = matches!(name, "yq") && words.iter().any(|word| word.text.starts_with("-i"));
            habit.paths = if in_place { Use::Writes } else { Use::Reads };
            habit.files = true;
            expression(words, 1, &mut habit.texts);
        }
        "sort" if !words.iter().any(|word| word.text.starts_with("-o") || word.text.starts_with("--o")) => {
            habit.paths = Use::Reads;
            habit.files = true;
        }
        "cp" | "mv" | "scp" | "rsync" | "tar" | "dd" | "tee" | "install" | "ln" | "uniq" | "xxd" => {
            habit.files = true
        }
        "find" | "gfind" | "bfs" => find(words, has(FIND_ACTIONS), &mut habit),
        "fd" | "fdfind" => {
            habit.paths = Use::Reads;
            expression(words, 1, &mut habit.texts);
        }
        "git" => git(words, &mut habit),
        _ => {}
    }
    if VERSIONS.contains(&name) {
        messages(words, &mut habit.texts);
    }
    if INTERPRETERS.contains(&base) {
        habit.scripts = true;
        let edits = |word: &Word| {
            let text = &*word.text;
            text.starts_with("--in-place")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
                || text.contains('w')
        };
        if matches!(base, "sed" | "gsed") && !words.iter().skip(1).any(edits) {
            habit.paths = Use::Reads;
        }
    }
    habit
}

/// Returns the words that say what is left out: `--exclude .env`.
fn left_out(words: &[Word]) -> Vec<usize> {
    let mut texts = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = &*word.text;
        if text.starts_with("--exclude") || text.starts_with("--ignore") {
            texts.push(at);
            if !text.contains('=') {
                texts.push(at + 1);
            }
        }
    }
    texts
}

/// Finds the expression of a search: the first operand from `from` on, or the values of `-e`.
fn expression(words: &[Word], from: usize, texts: &mut Vec<usize>) {
    let mut has_option = false;
    for (at, word) in words.iter().enumerate().skip(from) {
        match &*word.text {
            "-e" | "--regexp" => {
                has_option = true;
                texts.push(at + 1);
            }
            "-f" | "--file" | "--from-file" | "--files" | "-l" if word.text.len() > 2 => has_option = true,
            "-f" => has_option = true,
            text if text.starts_with("--regexp=") => {
                has_option = true;
                texts.push(at);
            }
            text if text.starts_with("--file=") || text.starts_with("-f") => has_option = true,
            text if text.starts_with("-e") && !text.starts_with("--") => {
                has_option = true;
                texts.push(at);
            }
            _ => {}
        }
    }
    if !has_option {
        texts.extend((from..words.len()).find(|&at| !words[at].text.starts_with('-')));
    }
}

fn find(words: &[Word], acts: bool, habit: &mut Habit) {
    habit.paths = if acts { Use::Writes } else { Use::Reads };
    // Behind the folders stands what is looked for; only an action does more with it than to print its name.
    let first = words.iter().skip(1).position(|word| {
        word.text.starts_with(['-', '(', '!']) && !matches!(&*word.text, "-L" | "-H" | "-P")
    });
    if let Some(first) = first
        && !acts
    {
        habit.texts.extend(first + 1..words.len());
    }
    for (at, word) in words.iter().enumerate() {
        if matches!(&*word.text, "-path" | "-ipath" | "-wholename" | "-prune" | "-not") {
            habit.texts.push(at + 1);
        }
    }
}

fn git(words: &[Word], habit: &mut Habit) {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = &*word.text;
        if GIT_VALUES.contains(&text) {
            // The folder of git itself, when it is named, is what git works with.
            if text == "--git-dir" {
                habit.texts.push(at + 1);
            }
            at += 2;
        } else if text.starts_with('-') {
            if text.starts_with("--git-dir=") {
                habit.texts.push(at);
            }
            at += 1;
        } else {
            break;
        }
    }
    let subcommand = words.get(at).map(|word| &*word.text).unwrap_or_default();
    let writes =
        words.iter().skip(at).any(|word| word.text.starts_with("--output") || word.text.starts_with("-o"));
    if GIT_NAMES.contains(&subcommand) {
        habit.paths = Use::Nothing;
    } else if GIT_READS.contains(&subcommand) && !writes {
        habit.paths = Use::Reads;
    }
    if subcommand == "grep" {
        expression(words, at + 1, &mut habit.texts);
    }
}

fn messages(words: &[Word], texts: &mut Vec<usize>) {
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = &*word.text;
        if MESSAGES.contains(&text) {
            texts.push(at + 1);
        } else if MESSAGES.iter().any(|name| {
            text.strip_prefix(name).is_some_and(|value| !name.starts_with("--") || value.starts_with('='))
        }) {
            texts.push(at);
        }
    }
}
