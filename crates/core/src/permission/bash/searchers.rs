//! Programs whose first operand is an expression: which of their words are expressions, which are files.
//!
//! - Asked by `habits.rs`. A file that is taken for an expression is never looked at, so each option is known here
//!   or the words are all files; no version of a program takes an option away that an older one had.

use super::habits::{Habit, Use};
use super::options::{Grammar, read};
use super::word::Word;

/// How one program searches.
#[derive(Clone, Copy, Debug)]
struct Searcher {
    grammar: Grammar,
    /// Options whose value is an expression, or another text that opens nothing.
    texts: &'static [&'static str],
    /// Options after which the first operand is no expression.
    instead: &'static [&'static str],
}

const PLAIN: Grammar = Grammar { flags: "", values: "", long_flags: &[], long_values: &[], long_pairs: &[] };

const GREP: Searcher = Searcher {
    grammar: Grammar {
        flags: "EFGPivywxcLlqsobHhnTZzaIrRUu0123456789",
        values: "ABCDdefm",
        long_flags: &[
            "--extended-regexp",
            "--fixed-strings",
            "--basic-regexp",
            "--perl-regexp",
            "--ignore-case",
            "--no-ignore-case",
            "--invert-match",
            "--word-regexp",
            "--line-regexp",
            "--count",
            "--files-without-match",
            "--files-with-matches",
            "--only-matching",
            "--quiet",
            "--silent",
            "--no-messages",
            "--byte-offset",
            "--with-filename",
            "--no-filename",
            "--line-number",
            "--initial-tab",
            "--null",
            "--null-data",
            "--text",
            "--recursive",
            "--dereference-recursive",
            "--line-buffered",
            "--color",
            "--colour",
        ],
        long_values: &[
            "--regexp",
            "--file",
            "--max-count",
            "--label",
            "--after-context",
            "--before-context",
            "--context",
            "--exclude",
            "--exclude-dir",
            "--exclude-from",
            "--include",
            "--binary-files",
            "--devices",
            "--directories",
        ],
        ..PLAIN
    },
    texts: &["e", "--regexp", "--exclude", "--exclude-dir"],
    instead: &["e", "f", "--regexp", "--file"],
};

const GIT_GREP: Searcher = Searcher {
    grammar: Grammar {
        flags: "aIviwhHlLnoqcpWEFGPzr",
        values: "ABCefm",
        long_flags: &[
            "--cached",
            "--untracked",
            "--no-index",
            "--recurse-submodules",
            "--ignore-case",
            "--word-regexp",
            "--fixed-strings",
            "--extended-regexp",
            "--perl-regexp",
            "--line-number",
            "--count",
            "--files-with-matches",
            "--name-only",
            "--all-match",
            "--heading",
            "--break",
            "--color",
            "--no-color",
            "--quiet",
        ],
        ..PLAIN
    },
    texts: &["e"],
    instead: &["e", "f"],
};

const RG: Searcher = Searcher {
    grammar: Grammar {
        flags: ".0FHILNPSUVabchilnopqsuvwxz",
        values: "ABCEMdefgjmrtT",
        long_flags: &[
            "--files",
            "--hidden",
            "--no-hidden",
            "--no-ignore",
            "--no-ignore-vcs",
            "--ignore-case",
            "--smart-case",
            "--case-sensitive",
            "--fixed-strings",
            "--pcre2",
            "--multiline",
            "--multiline-dotall",
            "--word-regexp",
            "--line-regexp",
            "--invert-match",
            "--count",
            "--count-matches",
            "--files-with-matches",
            "--files-without-match",
            "--line-number",
            "--no-line-number",
            "--heading",
            "--no-heading",
            "--vimgrep",
            "--json",
            "--only-matching",
            "--quiet",
            "--stats",
            "--null",
            "--text",
            "--follow",
            "--with-filename",
            "--no-filename",
            "--trim",
            "--passthru",
            "--pretty",
            "--column",
            "--no-messages",
            "--no-config",
            "--unrestricted",
            "--type-list",
        ],
        long_values: &[
            "--regexp",
            "--file",
            "--glob",
            "--iglob",
            "--type",
            "--type-not",
            "--type-add",
            "--max-count",
            "--max-columns",
            "--max-depth",
            "--max-filesize",
            "--context",
            "--after-context",
            "--before-context",
            "--replace",
            "--encoding",
            "--engine",
            "--sort",
            "--sortr",
            "--threads",
            "--color",
            "--colors",
            "--ignore-file",
        ],
        ..PLAIN
    },
    texts: &["e", "--regexp", "r", "--replace"],
    instead: &["e", "f", "--regexp", "--file", "--files", "--type-list"],
};

const JQ: Searcher = Searcher {
    grammar: Grammar {
        flags: "nrjascCMSefRhV",
        values: "L",
        long_flags: &[
            "--null-input",
            "--raw-output",
            "--raw-output0",
            "--join-output",
            "--ascii-output",
            "--slurp",
            "--compact-output",
            "--color-output",
            "--monochrome-output",
            "--sort-keys",
            "--exit-status",
            "--raw-input",
            "--tab",
            "--seq",
            "--stream",
            "--unbuffered",
            "--args",
            "--jsonargs",
            "--from-file",
        ],
        long_values: &["--indent"],
        long_pairs: &["--arg", "--argjson", "--slurpfile", "--rawfile"],
    },
    texts: &["--arg", "--argjson"],
    instead: &["f", "--from-file"],
};

/// `ag`, `ack`, `ugrep`: the letters that mean the same to all of them.
const OTHERS: Searcher = Searcher {
    grammar: Grammar { flags: "chHilLnovw", long_flags: &["--hidden", "--ignore-case"], ..PLAIN },
    texts: &[],
    instead: &[],
};

const PGREP: Searcher =
    Searcher { grammar: Grammar { flags: "acflnovwxi", values: "dgGPstuUF", ..PLAIN }, ..OTHERS };

const FD: Searcher = Searcher {
    // Not `x` and `X`, which run a program on what is found.
    grammar: Grammar {
        flags: "HIusigFalLp0q1",
        values: "dtejcSEC",
        long_flags: &["--hidden", "--no-ignore", "--glob", "--fixed-strings", "--absolute-path", "--follow"],
        long_values: &["--type", "--extension", "--max-depth", "--exclude"],
        ..PLAIN
    },
    texts: &["E", "--exclude"],
    instead: &[],
};

/// What `sort` has without writing: neither `-o` nor `-T`.
pub(super) const SORT: Grammar = Grammar {
    flags: "bdfgiMhnRVrcCmsuz",
    values: "kSt",
    long_flags: &[
        "--reverse",
        "--unique",
        "--numeric-sort",
        "--human-numeric-sort",
        "--version-sort",
        "--general-numeric-sort",
        "--ignore-case",
        "--ignore-leading-blanks",
        "--dictionary-order",
        "--month-sort",
        "--check",
        "--merge",
        "--stable",
        "--zero-terminated",
    ],
    long_values: &["--key", "--field-separator", "--buffer-size", "--parallel", "--files0-from", "--sort"],
    ..PLAIN
};

/// What `yq`, in both programs of that name, has without writing: neither `-i` nor `-s`.
pub(super) const YQ: Grammar = Grammar {
    flags: "ePrMCNnjy",
    values: "opI",
    long_flags: &["--prettyPrint", "--raw-output", "--no-colors", "--colors", "--null-input"],
    long_values: &["--output-format", "--input-format", "--indent"],
    ..PLAIN
};

/// Says what the words of `name` are, from `from` on. Returns whether it is a program that searches.
pub(super) fn search(name: &str, words: &[Word], from: usize, habit: &mut Habit) -> bool {
    let searcher = match name {
        "grep" | "egrep" | "fgrep" | "zgrep" => GREP,
        "git grep" => GIT_GREP,
        "rg" | "ripgrep" => RG,
        "jq" | "gojq" | "jaq" => JQ,
        "ag" | "ack" | "ugrep" => OTHERS,
        "pgrep" => PGREP,
        "fd" | "fdfind" => FD,
        _ => return false,
    };
    let reading = read(words, from, &searcher.grammar);
    // With an option that is not known it may do anything: `jaq -i`, `ugrep --save-config`, `rg --pre tee`, `fd -x`.
    habit.paths = if reading.knows_options { Use::Reads } else { Use::Writes };
    habit.files = !matches!(name, "fd" | "fdfind" | "pgrep");
    if reading.is_sure() {
        let values = reading.options.iter().filter(|option| searcher.texts.contains(&option.name));
        habit.texts.extend(values.filter_map(|option| option.value));
        if !reading.has(searcher.instead) {
            habit.texts.extend(reading.operands.first());
        }
    }
    true
}
