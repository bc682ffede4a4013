//! Values of options that open nothing: messages, titles, what is left out.
//!
//! - Asked by `habits.rs` for every command. Each option is listed with the programs, and the subcommands, that
//!   give it a value; the same letters mean something else to others (`git diff -b`, `sort --ignore-case`).

use super::options::{Grammar, is_option, option};
use super::word::Word;
use crate::permission::pattern::HOLE;

/// Options of some programs whose value is a text.
struct Texts {
    programs: &'static [&'static str],
    /// The subcommands that have them; empty where the program has none.
    subcommands: &'static [&'static str],
    /// Letters whose value is a text.
    short: &'static str,
    /// Long options whose value is a text.
    long: &'static [&'static str],
    /// Letters without a value, which may stand before the others.
    flags: &'static str,
    /// Long options without a value.
    long_flags: &'static [&'static str],
}

const MESSAGES: &[Texts] = &[
    Texts {
        programs: &["git"],
        subcommands: &["commit"],
        short: "m",
        long: &["--message", "--author", "--date", "--trailer"],
        flags: "asnvqpei",
        long_flags: &[
            "--amend",
            "--all",
            "--signoff",
            "--no-verify",
            "--no-edit",
            "--quiet",
            "--allow-empty",
            "--no-gpg-sign",
        ],
    },
    Texts {
        programs: &["git"],
        subcommands: &["tag", "merge"],
        short: "m",
        long: &["--message"],
        flags: "",
        long_flags: &["--annotate", "--no-ff", "--squash", "--no-edit", "--ff-only", "--no-commit"],
    },
    Texts {
        programs: &["git"],
        subcommands: &["stash"],
        short: "m",
        long: &["--message"],
        flags: "ukpaq",
        long_flags: &["--include-untracked", "--keep-index", "--staged", "--all"],
    },
    Texts {
        programs: &["git"],
        subcommands: &["log", "diff", "show", "whatchanged"],
        short: "SG",
        long: &[],
        flags: "",
        long_flags: &["--all", "--oneline", "--patch", "--stat", "--name-only", "--name-status"],
    },
    Texts {
        programs: &["git"],
        subcommands: &["log", "shortlog", "whatchanged", "rev-list"],
        short: "",
        long: &["--grep", "--author", "--committer"],
        flags: "",
        long_flags: &["--all", "--oneline", "--patch", "--stat", "--name-only", "--name-status"],
    },
    Texts {
        programs: &["hg", "svn", "jj"],
        subcommands: &["commit", "ci", "describe", "desc", "new", "squash"],
        short: "m",
        long: &["--message"],
        flags: "",
        long_flags: &[],
    },
    Texts {
        programs: &["gh"],
        subcommands: &["pr", "issue", "release"],
        short: "tb",
        long: &["--title", "--body", "--notes", "--subject"],
        flags: "d",
        long_flags: &["--draft", "--fill", "--web", "--prerelease"],
    },
    Texts {
        programs: &["glab"],
        subcommands: &["mr", "issue"],
        short: "tdm",
        long: &["--title", "--description", "--message"],
        flags: "",
        long_flags: &["--draft", "--fill", "--web"],
    },
    Texts {
        programs: &["tar", "bsdtar"],
        subcommands: &[],
        short: "",
        long: &["--exclude"],
        flags: "cxtruvzjJpPkmhSO",
        long_flags: &["--create", "--extract", "--gzip", "--verbose", "--anchored", "--exclude-vcs"],
    },
    Texts {
        programs: &["rsync"],
        subcommands: &[],
        short: "",
        long: &["--exclude"],
        flags: "aAcCDEghHiIklLmnoOpPqrRStuvWxXzb",
        long_flags: &[
            "--delete",
            "--progress",
            "--dry-run",
            "--archive",
            "--verbose",
            "--compress",
            "--stats",
        ],
    },
    Texts {
        programs: &["du"],
        subcommands: &[],
        short: "",
        long: &["--exclude"],
        flags: "0abcDHhkLlmPSsx",
        long_flags: &["--all", "--human-readable", "--summarize", "--total"],
    },
    Texts {
        programs: &["ls", "dir", "vdir"],
        subcommands: &[],
        short: "I",
        long: &["--ignore", "--hide"],
        flags: "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
        long_flags: &["--all", "--almost-all", "--recursive"],
    },
    Texts {
        programs: &["tree"],
        subcommands: &[],
        short: "I",
        long: &[],
        flags: "adlfxqNQpugshDFvtcUrnCAiSJX",
        long_flags: &["--noreport", "--dirsfirst", "--gitignore", "--prune", "--du"],
    },
    Texts {
        programs: &["diff", "colordiff"],
        subcommands: &[],
        short: "x",
        long: &["--exclude"],
        flags: "abBdeEHilnNpqrstTuwyZ",
        long_flags: &["--recursive", "--brief", "--unified", "--new-file", "--color"],
    },
    Texts {
        programs: &["tokei", "black", "ruff", "flake8", "mypy", "bandit"],
        subcommands: &[],
        short: "",
        long: &["--exclude"],
        flags: "",
        long_flags: &[],
    },
    Texts {
        programs: &["cloc", "scc"],
        subcommands: &[],
        short: "",
        long: &["--exclude-dir"],
        flags: "",
        long_flags: &[],
    },
];

/// Returns the words of `name` that are values of such options; `at` is where its subcommand stands, if it has one.
pub(super) fn texts(name: &str, words: &[Word], at: Option<usize>) -> Vec<usize> {
    let subcommand = at.and_then(|at| words.get(at)).map(|word| &*word.text).unwrap_or_default();
    let fits = |texts: &&Texts| {
        texts.programs.contains(&name)
            && (texts.subcommands.is_empty() || texts.subcommands.contains(&subcommand))
    };
    let from = |texts: &Texts| if texts.subcommands.is_empty() { Some(1) } else { at.map(|at| at + 1) };
    MESSAGES
        .iter()
        .filter(fits)
        .filter_map(|texts| Some(values(words, from(texts)?, texts)))
        .flatten()
        .collect()
}

/// Finds the values from `from` on. An option counts only where it cannot be the value of the word before it.
fn values(words: &[Word], from: usize, texts: &Texts) -> Vec<usize> {
    let grammar = Grammar {
        flags: texts.flags,
        values: texts.short,
        long_flags: texts.long_flags,
        long_values: texts.long,
        long_pairs: &[],
    };
    let mut found = Vec::new();
    let mut at = from;
    // The words of an old bundle have their values behind them: `tar cf --exclude .env`.
    if texts.programs.contains(&"tar")
        && let Some(bundle) = words.get(at).map(|word| &*word.text).filter(|text| !text.starts_with('-'))
    {
        let values = bundle.chars().filter(|&c| !texts.flags.contains(c)).count();
        if values > 1 || (values == 1 && !bundle.contains('f')) {
            return found;
        }
        at += 1 + values;
    }
    // Whether the word may be the value of an option that is not known.
    let mut may_be_value = false;
    while let Some(word) = words.get(at).filter(|word| &*word.text != "--") {
        if !is_option(word) {
            may_be_value = word.text.starts_with(HOLE);
            at += 1;
            continue;
        }
        let step = option(word, at, &grammar);
        may_be_value |= !step.is_known && !word.text.contains('=');
        if may_be_value {
            at += 1;
            continue;
        }
        found.extend(step.options.iter().filter_map(|option| option.value));
        at = step.next;
    }
    found
}
