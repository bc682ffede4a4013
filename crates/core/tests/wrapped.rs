//! Commands in every wrapping that bash knows, nested: a deny is found, and what no rule covers is never allowed.
//!
//! - Lines are made from parts whose truth is known, so that the verdict can be held against it.
//! - Bounded by counts; nothing here looks at a clock.

use maia_core::permission::{Place, Rules, evaluate};
use maia_protocol::permission::{RuleSet, Verdict};
use maia_protocol::snapshot::RuleSource;
use proptest::prelude::*;
use serde_json::json;

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let rules = RuleSet { allow: list(allow), ask: Vec::new(), deny: list(deny) };
    Rules::compile(&[RuleSource { source: "test".to_owned(), rules }]).0
}

fn verdict(rules: &Rules, line: &str) -> Verdict {
    let place = Place { cwd: "/srv/launch".into(), home: "/home/someone".into(), state: None };
    evaluate(rules, "Bash", &json!({ "command": line }), None, &place)
}

/// A line, and whether words may be put in front of it.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    is_simple: bool,
    depth: usize,
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// In double quotes, what would be expanded there is not.
fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

fn in_backticks(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Programs that run the words behind them.
const PREFIXES: &[&str] = &[
    "env ",
    "env -i A=1 ",
    "env -u B -- ",
    "/usr/bin/env ",
    "command ",
    "command -p ",
    "builtin ",
    "exec -a n ",
    "sudo ",
    "sudo -nu bob ",
    "doas -u bob ",
    "nice -n 5 ",
    "nice -19 ",
    "ionice -c 3 ",
    "nohup ",
    "setsid -w ",
    "stdbuf -oL ",
    "timeout 5 ",
    "timeout -k 1 -s KILL 5 ",
    "time ",
    "time -p ",
    "! ",
    "xargs ",
    "xargs -0 -n1 -P 4 ",
    "xargs -I {} ",
    "echo a | xargs ",
    "busybox ",
    "chroot /x ",
    "flock /tmp/l ",
    "strace -f -o t ",
    "taskset -c 0 ",
    "A=1 ",
    "A=1 B='2 3' ",
    "coproc ",
    "npx ",
    "uv run ",
    "poetry run ",
    "find . -name x -exec ",
    "fd -e rs -x ",
    "git bisect run ",
];
/// Texts around any line, which stands where `@` is.
const AROUND: &[&str] = &[
    "( @ )",
    "{ @; }",
    "if true; then @; fi",
    "if @\nthen true; fi",
    "if true; then true; else @; fi",
    "while @\ndo true; done",
    "until true; do @; done",
    "for i in a b; do @; done",
    "case a in a) @;; esac",
    "f() { @; }; f",
    "function f { @; }",
    "true && @",
    "true || @",
    "@\ntrue",
    "true\n@",
    "true; @",
    "true & @",
    "@ &",
    "true | @",
    "@ | cat",
    "true |& @",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo \"a $(@) b\"",
    "cat <(@)",
    "echo a > >(@)",
    "X=$(@)",
    "X=$(@) true",
    "echo ${x:-$(@)}",
    "echo \"${x:-$(@)}\"",
    "[[ -n $(@) ]]",
    "echo $(( 1 + $(@) ))",
    "echo 'a' \"b\"; @",
    "# a comment's quote\n@",
    "echo a # b\n@",
    "echo \\\n; @",
    "((1)); @",
    "[ -f x ] && @",
    "select i in a; do @; done",
    "time ( @ )",
    "! { @; }",
    "{ @; } > out 2>&1",
    "( @ ) < in",
    "for ((i=0;i<1;i++)); do @; done",
    "if [[ a == a ]]; then @; fi",
    "cat <<< $(@)",
    "a[$(@)]=1",
    "export X=$(@)",
    "echo $(echo $(@))",
];

/// Puts `line` into the wrapping number `kind`.
fn wrap(line: Line, kind: usize) -> Line {
    let depth = line.depth + 1;
    let of = |text: String, is_simple: bool| Line { text, is_simple, depth };
    if let Some(prefix) = PREFIXES.get(kind) {
        let inner = if line.is_simple { line.text } else { format!("bash -c {}", quoted(&line.text)) };
        let end = if prefix.contains("-exec") { " {} \\;" } else { "" };
        let is_simple = !prefix.contains('|')
            && !matches!(prefix.trim(), "!" | "time" | "time -p" | "coproc")
            && !prefix.starts_with("A=");
        return of(format!("{prefix}{inner}{end}"), is_simple);
    }
    if let Some(around) = AROUND.get(kind - PREFIXES.len()) {
        // A here-document ends at a line of its own.
        let inner = if line.text.contains("<<") { format!("{}\n", line.text) } else { line.text };
        return of(around.replacen('@', &inner, 1), false);
    }
    let text = line.text;
    match kind - PREFIXES.len() - AROUND.len() {
        0 => of(format!("bash -c {}", quoted(&text)), true),
        1 => of(format!("sh -ec {}", double_quoted(&text)), true),
        2 => of(format!("bash -o pipefail -c {}", quoted(&text)), true),
        3 => of(format!("eval {}", quoted(&text)), true),
        4 => of(format!("bash <<'E{depth}'\n{text}\nE{depth}"), false),
        5 => of(format!("bash <<< {}", quoted(&text)), false),
        6 => of(format!("echo {} | sh", quoted(&text)), false),
        7 => of(format!("printf {} | sudo bash -s", quoted(&text)), false),
        8 => of(format!("trap {} EXIT", quoted(&text)), true),
        9 => of(format!("su bob -c {}", quoted(&text)), true),
        10 => of(format!("ssh host {}", quoted(&text)), true),
        11 => of(format!("echo `{}`", in_backticks(&text)), false),
        12 => of(format!("cat <<E{depth}\n$({text}\n)\nE{depth}"), false),
        13 => of(format!("env -S {}", quoted(&format!("sh -c {}", double_quoted(&text)))), true),
        14 => of(format!("parallel {} ::: a", quoted(&text)), true),
        15 => of(format!("watch {}", quoted(&text)), true),
        16 => of(format!("git submodule foreach {}", quoted(&text)), true),
        _ => of(format!("cat <<'E{depth}' | bash\n{text}\nE{depth}"), false),
    }
}

const KINDS: usize = PREFIXES.len() + AROUND.len() + 18;

/// Ways to write `rm -rf x`.
const DENIED: &[&str] = &[
    "rm -rf x",
    "rm x",
    "r\\m -rf x",
    "\"rm\" x",
    "'r'm x",
    "$'\\x72m' x",
    "rm\t-rf x",
    "rm",
    "rm -rf \\\n x",
    "$\"rm\" x",
];

#[test]
fn a_denied_command_is_found_in_every_single_wrapping() {
    let rules = rules(&["Bash", "Redirect"], &["Bash(rm *)"]);
    let mut wrong = Vec::new();
    for denied in DENIED {
        for kind in 0..KINDS {
            let line = wrap(Line { text: (*denied).to_owned(), is_simple: true, depth: 0 }, kind);
            if !matches!(verdict(&rules, &line.text), Verdict::Deny { .. }) {
                wrong.push(format!("{:?}: {:?}", line.text, verdict(&rules, &line.text)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// Pieces of lines whose commands are all covered by [`COVERED`].
const GOOD: &[&str] = &[
    "good a",
    "good",
    "good -x 'b; evil'",
    "good \"a | evil\"",
    "good a\\;evil",
    "good --x=a,b",
    "good é",
    "good $x",
    "good \"$x\"",
    "good ~/a",
    "good *.rs",
    "good a 2>&1",
    "good # evil",
    "good a >&2",
    "true",
    "good < in.txt",
    "good '$(evil)'",
    "good \\$\\(evil\\)",
    "good 'a' \"b\" c\\ d",
];
const EVIL: &[&str] = &[
    "evil b",
    "evil",
    "./good x",
    "/tmp/good x",
    "GOOD x",
    "good-x",
    "goodx",
    "A=1 good x",
    "'good a'",
    "good$x",
    "goo\\d\\ x",
];
const JOINS: &[&str] = &[" && ", " || ", " | ", "; ", "\n"];
const COVERED: &[&str] =
    &["Bash(good *)", "Bash(true)", "Bash(echo *)", "Bash(cat *)", "Bash(test *)", "Bash([ *)"];

/// Returns the pieces joined; a comment ends its line.
fn joined(pieces: &[(&str, usize)]) -> String {
    let mut line = String::new();
    for (at, (piece, join)) in pieces.iter().enumerate() {
        if at > 0 {
            line.push_str(if line.contains('#') && !line.ends_with('\n') { "\n" } else { JOINS[*join] });
        }
        line.push_str(piece);
    }
    line
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn a_denied_command_is_found_in_wrappings_of_wrappings(
        denied in proptest::sample::select(DENIED),
        kinds in proptest::collection::vec(0..KINDS, 2..4),
    ) {
        let rules = rules(&["Bash", "Redirect"], &["Bash(rm *)"]);
        let line = kinds.iter().fold(
            Line { text: denied.to_owned(), is_simple: true, depth: 0 },
            |line, kind| wrap(line, *kind),
        );
        let verdict = verdict(&rules, &line.text);
        prop_assert!(matches!(verdict, Verdict::Deny { .. }), "{:?}: {:?}", line.text, verdict);
    }

    #[test]
    fn covered_commands_that_are_merely_joined_are_allowed(
        pieces in proptest::collection::vec((proptest::sample::select(GOOD), 0..JOINS.len()), 1..8),
    ) {
        let line = joined(&pieces);
        let verdict = verdict(&rules(COVERED, &["Bash(rm *)"]), &line);
        // A variable that may be split or a rule that a word may become is no reason to ask here.
        prop_assert!(matches!(verdict, Verdict::Allow { .. }), "{:?}: {:?}", line, verdict);
    }

    #[test]
    fn a_command_that_no_rule_covers_is_never_allowed(
        before in proptest::collection::vec((proptest::sample::select(GOOD), 0..JOINS.len()), 0..4),
        evil in proptest::sample::select(EVIL),
        kinds in proptest::collection::vec(0..KINDS, 0..3),
        after in proptest::collection::vec((proptest::sample::select(GOOD), 0..JOINS.len()), 0..4),
    ) {
        let line = kinds.iter().fold(
            Line { text: evil.to_owned(), is_simple: true, depth: 0 },
            |line, kind| wrap(line, *kind),
        );
        let mut all = before;
        all.push((&line.text, 3));
        all.extend(after.iter().map(|(piece, join)| (*piece, if line.text.contains("<<") { 4 } else { *join })));
        let line = joined(&all);
        let verdict = verdict(&rules(COVERED, &[]), &line);
        prop_assert!(!matches!(verdict, Verdict::Allow { .. }), "{:?}: {:?}", line, verdict);
    }
}
