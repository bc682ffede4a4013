//! What programs do with the paths that they are given: which of their words are paths, and whether they write them.
//!
//! - Asked by `named.rs` once a command seems to name a guarded path.
//! - A program that is not here takes every word for a path and may write it: too much rather than too little.

use super::messages;
use super::options::{has_letter, is_option, may_be_long, read};
use super::programs::{
    DEEP, FIND_ACTIONS, GIT_FLAGS, GIT_NAMES, GIT_READS, GIT_VALUES, INTERPRETERS, READERS, TEXTS, WRITING,
};
use super::searchers::{SORT, YQ, search};
use super::sed::sed;
use super::unwrap::program;
use super::word::Word;
use crate::permission::pattern::HOLE;

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

/// Whether a program may stand among the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scripts {
    /// There is none.
    None,
    /// One with names in quotes or between brackets.
    Code,
    /// One for `sed`, where a name follows a letter: `r.env`.
    Sed,
}

/// How one command treats its words.
#[derive(Debug)]
pub(super) struct Habit {
    /// What happens to the paths.
    pub paths: Use,
    /// Words, by their index, that are no paths: patterns, messages, what is left out.
    pub texts: Vec<usize>,
    /// Whether words may hold a program, with paths in it.
    pub scripts: Scripts,
    /// Whether every word may be a file, so that the mere name of a key is one.
    pub files: bool,
    /// Whether it goes through whole folders.
    pub deep: bool,
}

/// Returns whether the command takes what it is fed for names of files, or for commands.
pub(super) fn takes_names(words: &[Word]) -> bool {
    let name = words.first().map(program).unwrap_or_default();
    let has = |beginning: &str| words.iter().any(|word| word.text.starts_with(beginning));
    match name {
        "xargs" | "gxargs" | "parallel" | "read" | "mapfile" | "readarray" | "cpio" | "pax" | "tar"
        | "bsdtar" | "rsync" | "entr" => true,
        "wc" | "du" | "sort" => has("--f"),
        "find" | "gfind" | "bfs" => has("-f"),
        "zip" => words.iter().any(|word| has_letter(word, "@")),
        "git" => has("--stdin") || has("--path") || has("update-index"),
        _ => false,
    }
}

/// Returns how the command `words` treats its words. Assignments in front have been taken away.
pub(super) fn habit(words: &[Word]) -> Habit {
    let name = words.first().map(program).unwrap_or_default();
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut habit = Habit {
        paths: Use::Writes,
        texts: Vec::new(),
        scripts: Scripts::None,
        files: false,
        deep: DEEP.contains(&name),
    };
    if name != "git" {
        let subcommand = words.get(1).filter(|word| !is_option(word)).map(|_| 1);
        habit.texts.extend(messages::texts(name, words, subcommand));
    }
    match name {
        _ if TEXTS.contains(&name) => habit.paths = Use::Nothing,
        _ if READERS.contains(&name) => {
            habit.paths = if writes(name, words) { Use::Writes } else { Use::Reads };
            habit.files = true;
        }
        "sort" => {
            let reading = read(words, 1, &SORT);
            habit.paths = if reading.knows_options { Use::Reads } else { Use::Writes };
            habit.files = true;
        }
        // An expression that is the name of a file is read as that file; `load` opens one by name.
        "yq" => {
            let reading = read(words, 1, &YQ);
            habit.paths = if reading.knows_options { Use::Reads } else { Use::Writes };
            habit.scripts = Scripts::Code;
            habit.files = true;
        }
        "cp" | "mv" | "scp" | "rsync" | "tar" | "dd" | "tee" | "install" | "ln" | "uniq" | "xxd" => {
            habit.files = true
        }
        "find" | "gfind" | "bfs" => find(words, &mut habit),
        "git" => git(words, &mut habit),
        "sed" | "gsed" => sed(words, &mut habit),
        _ if search(name, words, 1, &mut habit) => {}
        _ if INTERPRETERS.contains(&base) => habit.scripts = Scripts::Code,
        _ => {}
    }
    habit
}

/// Returns whether a reader has an option by which it writes.
fn writes(name: &str, words: &[Word]) -> bool {
    WRITING.iter().filter(|(programs, _, _)| programs.contains(&name)).any(|(_, letters, beginnings)| {
        words.iter().skip(1).any(|word| {
            has_letter(word, letters) || beginnings.iter().any(|beginning| word.text.starts_with(beginning))
        })
    })
}

fn find(words: &[Word], habit: &mut Habit) {
    let acts = words.iter().any(|word| FIND_ACTIONS.contains(&&*word.text));
    habit.paths = if acts { Use::Writes } else { Use::Reads };
    // Behind the folders stands what is looked for; only an action does more with it than to print its name.
    let is_test = |word: &Word| {
        let text = &*word.text;
        let is_option = text.len() == 2 && !matches!(text, "-a" | "-o") || text.starts_with("-O");
        text.starts_with(['-', '(', '!']) && !is_option
    };
    let first = words.iter().skip(1).position(is_test);
    // `$x` may be an action, where it is not the value of a test.
    let behind = words.get(first.unwrap_or_default() + 1..).unwrap_or_default();
    let may_act =
        behind.windows(2).any(|pair| pair[1].text.starts_with(HOLE) && !pair[0].text.starts_with('-'));
    if let Some(first) = first
        && !acts
        && !may_act
    {
        habit.texts.extend(first + 1..words.len());
    }
    for (at, word) in words.iter().enumerate() {
        if matches!(&*word.text, "-path" | "-ipath" | "-wholename") {
            habit.texts.push(at + 1);
        }
    }
}

fn git(words: &[Word], habit: &mut Habit) {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| is_option(word)) {
        let text = &*word.text;
        // A setting may hold a command: `-c core.pager='cat x'`.
        if text == "-c" || text.starts_with("--config-env") {
            habit.scripts = Scripts::Code;
        }
        if GIT_VALUES.contains(&text) {
            // The folder of git itself, when it is named, is what git works with.
            if text == "--git-dir" && words.get(at + 1).is_some_and(|value| value.text.ends_with(".git")) {
                habit.texts.push(at + 1);
            }
            at += 2;
        } else if GIT_FLAGS.contains(&text) || text.contains('=') {
            if text.starts_with("--git-dir=") && text.ends_with(".git") {
                habit.texts.push(at);
            }
            at += 1;
        } else {
            // Whether the next word is its value is not known, so it is not known what is done.
            return;
        }
    }
    let Some(subcommand) = words.get(at).map(|word| &*word.text) else { return };
    let rest = &words[at + 1..];
    habit.texts.extend(messages::texts("git", words, Some(at)));
    if subcommand == "grep" {
        search("git grep", words, at + 1, habit);
        habit.files = false;
        return;
    }
    let writes = rest.iter().any(|word| may_be_long(word, "--output") || has_letter(word, "o"));
    // `ls-files -X FILE` opens it.
    let opens = subcommand == "ls-files"
        && rest.iter().any(|word| has_letter(word, "X") || may_be_long(word, "--exclude"));
    if GIT_NAMES.contains(&subcommand) && !opens {
        habit.paths = Use::Nothing;
    } else if GIT_READS.contains(&subcommand) && !writes {
        habit.paths = Use::Reads;
    }
}

#[cfg(test)]
#[path = "habits_tests.rs"]
mod tests;
