//! Looks through a command at the command that it runs: `sudo`, `xargs`, `find -exec`, `sh -c`, …
//!
//! - Asked by `survey.rs` for every command; what is found is searched by `deny` and `ask` as well.
//! - Where it is not known whether an option takes a value, both readings are followed.

use super::word::Word;
use super::wrappers::{self, RUNNERS, Runs, SHELLS, Wrapper};
use crate::permission::pattern::HOLE;

/// Places among the options of one wrapper that are looked at.
const MAX_READINGS: usize = 64;

/// What was found in a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Inner {
    /// Commands as words, each the index in the given words where it begins and the index after its end.
    pub words: Vec<(usize, usize)>,
    /// Lines that a shell would run.
    pub lines: Vec<String>,
    /// Whether it runs what it is fed.
    pub reads_commands: bool,
    /// Whether there is more in it than was looked at.
    pub too_much: bool,
    /// Whether it may move the shell to another folder in a way that is not seen.
    pub moves: bool,
}

impl Inner {
    /// Returns whether one more command may be noted: each may be as long as the whole, so they are few.
    fn has_room(&mut self) -> bool {
        self.too_much |= self.words.len() + self.lines.len() >= MAX_READINGS;
        !self.too_much
    }
}

/// Returns the name of the program that `word` starts: without its folder.
pub(super) fn program(word: &Word) -> &str {
    word.text.rsplit('/').next().unwrap_or(&word.text)
}

/// Returns what the command `words` runs. Assignments in front have been taken away.
pub(super) fn unwrap(words: &[Word]) -> Inner {
    let mut inner = Inner::default();
    let Some((first, rest)) = words.split_first() else { return inner };
    let name = program(first);
    let texts: Vec<&str> = rest.iter().map(|word| &*word.text).collect();
    match name {
        "command"
            if texts
                .iter()
                .take_while(|text| text.starts_with('-'))
                .any(|text| text.contains(['v', 'V'])) => {}
        "find" | "gfind" | "bfs" => find_exec(&texts, &mut inner),
        "fd" | "fdfind" => {
            for (at, text) in texts.iter().enumerate() {
                if matches!(*text, "-x" | "-X" | "--exec" | "--exec-batch") && inner.has_room() {
                    inner.words.push((at + 2, words.len()));
                }
            }
        }
        "trap" => inner.lines.extend(rest.iter().find(|word| !word.text.starts_with('-')).map(line_of)),
        "su" | "runuser" | "script" | "sg" | "pwsh" | "powershell" | "nix-shell" => {
            value_lines(rest, &["-c", "--command", "--session-command", "-Command", "--run"], &mut inner);
            with_options(words, name, &mut inner);
        }
        "at" | "batch" => inner.reads_commands = true,
        "nodemon" => value_lines(rest, &["-x", "--exec"], &mut inner),
        "git" => git(rest, &mut inner),
        "env" => env(words, &mut inner),
        "flock" => {
            value_lines(rest, &["-c", "--command"], &mut inner);
            with_options(words, "flock", &mut inner);
        }
        "sudo" | "doas" if texts.iter().any(|text| matches!(*text, "-s" | "-i" | "--shell" | "--login")) => {
            inner.reads_commands = true;
            with_options(words, name, &mut inner);
        }
        "source" | "." => {
            inner.moves = true;
            inner.reads_commands = texts.first().is_some_and(|file| matches!(*file, "/dev/stdin" | "-"));
        }
        "coproc" => inner.words.extend([(1, words.len()), (2, words.len())]),
        _ if SHELLS.contains(&name) => shell(rest, &mut inner),
        _ => {
            inner.moves = name == "eval";
            with_options(words, name, &mut inner);
        }
    }
    for (runner, subcommands, operands) in RUNNERS {
        if name == *runner
            && let Some(at) = texts.iter().position(|text| subcommands.contains(text))
        {
            let wrapper = Wrapper { operands: *operands, ..OPEN_ENDED };
            starts(&words[at + 1..], at + 1, &wrapper, &mut inner);
        }
    }
    inner.words.retain(|(from, to)| from < to && *to <= words.len());
    inner
}

/// Returns the arguments that a builtin evaluates once more: a subscript in them may hold a command that runs.
pub(super) fn evaluated(words: &[Word]) -> Vec<&str> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let texts = rest.iter().map(|word| &*word.text);
    match &*first.text {
        "let" => texts.collect(),
        "test" | "[" => after_option(rest, &["-v", "-R"]),
        "printf" => after_option(rest, &["-v"]),
        "read" | "unset" | "declare" | "typeset" | "local" | "export" | "readonly" | "mapfile"
        | "readarray" | "getopts" | "wait" => {
            texts.map(|text| text.split_once('=').map_or(text, |(name, _)| name)).collect()
        }
        _ => Vec::new(),
    }
}

fn after_option<'a>(rest: &'a [Word], options: &[&str]) -> Vec<&'a str> {
    let text = |word: &'a Word| &*word.text;
    let next = rest.windows(2).filter(|pair| options.contains(&&*pair[0].text)).map(|pair| text(&pair[1]));
    let attached = rest
        .iter()
        .map(text)
        .filter(|text| options.iter().any(|option| text.len() > 2 && text.starts_with(option)));
    next.chain(attached).collect()
}

/// Options of which nothing is known.
const OPEN_ENDED: Wrapper =
    Wrapper { short: "", flags: "", long: &[], operands: 0, assigns: true, runs: Runs::Words };

/// Follows the options of a wrapper from the table.
fn with_options(words: &[Word], name: &str, inner: &mut Inner) {
    let Some(wrapper) = wrappers::find(name) else { return };
    starts(words, 0, &wrapper, inner);
}

/// Finds where the command after the options of `words[0]` begins; `shift` is where `words` begins.
fn starts(words: &[Word], shift: usize, wrapper: &Wrapper, inner: &mut Inner) {
    // A place in the words is looked at once for each number of operands that may still come.
    let mut open = vec![(1_usize, wrapper.operands)];
    let mut seen = Vec::new();
    while let Some((at, operands)) = open.pop() {
        let Some(word) = words.get(at) else { continue };
        if seen.contains(&(at, operands)) {
            continue;
        }
        if seen.len() >= MAX_READINGS {
            inner.too_much = true;
            return;
        }
        seen.push((at, operands));
        let text = &*word.text;
        if text == "-" && wrapper.assigns {
            // For `env` the same as `-i`.
            open.push((at + 1, operands));
        } else if text == "--" {
            // The operands may stand on either side of it.
            if operands > 0 {
                found(words, at + 1, shift, wrapper, inner);
            }
            found(words, at + 1 + operands, shift, wrapper, inner);
        } else if let Some(long) = text.strip_prefix("--") {
            open.push((at + 1, operands));
            if wrapper.long.contains(&text) {
                open.pop();
                open.push((at + 2, operands));
            } else if !long.contains('=') {
                open.push((at + 2, operands));
            }
        } else if text.len() > 1 && text.starts_with('-') {
            let cluster = &text[1..];
            match cluster.find(|c| wrapper.short.contains(c)) {
                // The value is the rest of the word, or else the next word.
                Some(n) if n + 1 == cluster.len() => open.push((at + 2, operands)),
                Some(_) => open.push((at + 1, operands)),
                None => {
                    open.push((at + 1, operands));
                    if !cluster.chars().all(|c| wrapper.flags.contains(c)) {
                        open.push((at + 2, operands));
                    }
                }
            }
        } else if wrapper.assigns && sets_variable(word) {
            open.push((at + 1, operands));
        } else if operands > 0 {
            // After an operand some wrappers take options again.
            open.push((at + 1, operands - 1));
        } else {
            found(words, at, shift, wrapper, inner);
        }
    }
}

fn found(words: &[Word], at: usize, shift: usize, wrapper: &Wrapper, inner: &mut Inner) {
    match wrapper.runs {
        Runs::Words => inner.words.push((at + shift, words.len() + shift)),
        Runs::Line => {
            let line: Vec<String> =
                words.iter().skip(at).take_while(|word| !word.text.starts_with(":::")).map(line_of).collect();
            inner.lines.push(line.join(" "));
        }
    }
}

/// Returns whether `env` takes the word for a variable: however it is quoted, it has a name and a `=`.
fn sets_variable(word: &Word) -> bool {
    word.text.split_once('=').is_some_and(|(name, _)| !name.is_empty())
}

/// Returns `word` as a shell would read it again.
fn line_of(word: &Word) -> String {
    word.text.replace(HOLE, "${_}")
}

fn find_exec(texts: &[&str], inner: &mut Inner) {
    for (at, text) in texts.iter().enumerate() {
        if matches!(*text, "-exec" | "-execdir" | "-ok" | "-okdir") && inner.has_room() {
            let from = at + 2;
            let ends = |text: &&str| matches!(*text, ";" | "+");
            let length = texts.get(at + 1..).unwrap_or_default().iter().position(ends);
            inner.words.push((from, length.map_or(texts.len() + 1, |length| from + length)));
        }
    }
}

/// Adds the values of the options `names`, attached or not.
fn value_lines(rest: &[Word], names: &[&str], inner: &mut Inner) {
    for (at, word) in rest.iter().enumerate() {
        for name in names {
            if *word.text == **name {
                inner.lines.extend(rest.get(at + 1).map(line_of));
            } else if let Some(value) = word.text.strip_prefix(name) {
                inner.lines.push(value.strip_prefix('=').unwrap_or(value).replace(HOLE, "${_}"));
            }
        }
        // `-qc` is `-q -c`.
        let is_cluster = word.text.len() > 2 && word.text.starts_with('-') && !word.text.starts_with("--");
        if is_cluster && names.contains(&"-c") && word.text.ends_with('c') {
            inner.lines.extend(rest.get(at + 1).map(line_of));
        }
    }
}

fn env(words: &[Word], inner: &mut Inner) {
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = &*word.text;
        let value = match text.strip_prefix("--split-string") {
            Some("") => words.get(at + 1).map(line_of),
            Some(value) => Some(value.trim_start_matches('=').replace(HOLE, "${_}")),
            None if text.starts_with('-') && !text.starts_with("--") => match text.split_once('S') {
                Some((_, "")) => words.get(at + 1).map(line_of),
                Some((_, value)) => Some(value.replace(HOLE, "${_}")),
                None => None,
            },
            None => None,
        };
        if let Some(value) = value
            && inner.has_room()
        {
            // What stands behind is added to the words of the split text.
            let rest: Vec<String> = words.iter().skip(at + 1).map(line_of).collect();
            inner.lines.push(format!("{value} {}", rest.join(" ")));
            inner.lines.push(value);
        }
        if !text.starts_with('-') && !sets_variable(word) {
            break;
        }
    }
    with_options(words, "env", inner);
}

fn shell(rest: &[Word], inner: &mut Inner) {
    let mut takes_line = false;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let text = &*word.text;
        let Some(cluster) = text.strip_prefix(['-', '+']).filter(|cluster| !cluster.is_empty()) else {
            break;
        };
        at += 1;
        if text == "--" {
            break;
        }
        if cluster.starts_with('-') {
            match cluster.split_once('=') {
                Some(("-command", line)) => inner.lines.push(line.replace(HOLE, "${_}")),
                Some(_) => {}
                None if matches!(cluster, "-rcfile" | "-init-file") => at += 1,
                None => takes_line |= cluster == "-command",
            }
            continue;
        }
        takes_line |= cluster.contains('c');
        inner.reads_commands |= cluster.contains('s');
        if cluster.ends_with(['o', 'O']) {
            at += 1;
        }
    }
    match rest.get(at) {
        Some(word) if takes_line => inner.lines.push(line_of(word)),
        Some(word) => inner.reads_commands |= matches!(&*word.text, "-" | "/dev/stdin" | "/dev/fd/0"),
        None => inner.reads_commands |= inner.lines.is_empty(),
    }
}

fn git(rest: &[Word], inner: &mut Inner) {
    let texts: Vec<&str> = rest.iter().map(|word| &*word.text).collect();
    if let Some(at) = texts.iter().position(|text| *text == "foreach")
        && texts.contains(&"submodule")
    {
        let line: Vec<String> =
            rest[at + 1..].iter().filter(|word| &*word.text != "--recursive").map(line_of).collect();
        inner.lines.push(line.join(" "));
    }
    if let Some(at) = texts.windows(2).position(|pair| pair == ["bisect", "run"]) {
        inner.words.push((at + 3, rest.len() + 1));
    }
    if texts.contains(&"rebase") {
        value_lines(rest, &["-x", "--exec"], inner);
    }
    // `-c alias.x=!command` gives a name to a command of the shell.
    for text in texts {
        if let Some((key, command)) = text.split_once("=!")
            && key.starts_with("alias.")
        {
            inner.lines.push(command.replace(HOLE, "${_}"));
        }
    }
}

#[cfg(test)]
#[path = "unwrap_tests.rs"]
mod tests;
