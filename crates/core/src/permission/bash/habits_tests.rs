//! What the habits of programs may not hide: guarded paths in every place of every option.

use std::path::PathBuf;

use super::super::programs::{GIT_NAMES, GIT_READS, READERS};
use crate::permission::check_line;
use crate::permission::paths::Place;

/// Options whose value names nothing that is opened: the program, the letter.
const TEXTS: &[(&str, char)] = &[
    ("ls", 'I'),
    ("dir", 'I'),
    ("vdir", 'I'),
    ("tree", 'I'),
    ("diff", 'x'),
    ("colordiff", 'x'),
    ("git commit", 'm'),
    ("git tag", 'm'),
    ("git log", 'S'),
    ("git log", 'G'),
    ("git show", 'S'),
    ("git show", 'G'),
    ("git diff", 'S'),
    ("git diff", 'G'),
    ("git whatchanged", 'S'),
    ("git whatchanged", 'G'),
];

fn is_allowed(command: &str) -> bool {
    let place = Place { cwd: PathBuf::from("/srv/launch"), home: PathBuf::from("/home/u"), state: None };
    let program = command.split(' ').next().unwrap_or_default();
    let line = serde_json::json!({
        "rules": { "allow": [format!("Bash({program} *)")] },
        "tool": "Bash",
        "input": { "command": command },
    });
    let answer = check_line(&line.to_string(), &place).expect("the line is a question");
    answer.contains(r#""verdict":"allow""#)
}

#[test]
fn no_option_of_a_reader_takes_a_secret_file_out_of_sight() {
    let readers = READERS.iter().map(|name| (*name).to_owned());
    let git = GIT_READS.iter().filter(|name| !GIT_NAMES.contains(name) && **name != "grep");
    let mut unasked = Vec::new();
    for program in readers.chain(git.map(|name| format!("git {name}"))) {
        assert!(is_allowed(&format!("{program} x")), "{program}");
        for letter in ('a'..='z').chain('A'..='Z') {
            if TEXTS.contains(&(program.as_str(), letter)) {
                continue;
            }
            for command in [format!("{program} -{letter} .env"), format!("{program} -{letter}.env x")] {
                if is_allowed(&command) {
                    unasked.push(command);
                }
            }
        }
    }
    assert!(unasked.is_empty(), "{}", unasked.join("\n"));
}
