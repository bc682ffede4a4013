//! Tests of what is bounded: size, depth and work.

use std::fmt::Write as _;

use maia_protocol::permission::RuleSet;
use maia_protocol::snapshot::RuleSource;

use super::*;

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let rules = RuleSet { allow: list(allow), ask: Vec::new(), deny: list(deny) };
    Rules::compile(&[RuleSource { source: "test".to_owned(), rules }]).0
}

fn place() -> Place {
    Place { cwd: "/w/p".into(), home: "/h".into(), state: None }
}

#[test]
fn eighty_covered_commands_are_allowed_and_the_last_of_many_is_denied() {
    let covered = vec!["git status"; 80].join(" && ");
    assert!(matches!(judge(&rules(&["Bash(git *)"], &[]), &covered, &place()), Finding::Allow(_)));
    let denied = format!("{} curl x", "true && ".repeat(60));
    assert!(matches!(judge(&rules(&["Bash"], &["Bash(curl *)"]), &denied, &place()), Finding::Deny(_)));
}

#[test]
fn what_is_too_long_is_never_allowed_and_still_searched() {
    let long = format!("echo {}; sudo rm -rf x", "a ".repeat(200_000));
    assert!(matches!(judge(&rules(&["Bash"], &[]), &long, &place()), Finding::Doubt(..)));
    assert!(matches!(judge(&rules(&["Bash"], &["Bash(rm *)"]), &long, &place()), Finding::Deny(_)));
    assert!(matches!(judge(&rules(&["Bash"], &["Bash(mv *)"]), &long, &place()), Finding::Doubt(..)));
    let many = "a;".repeat(20_000);
    assert!(matches!(judge(&rules(&["Bash"], &[]), &many, &place()), Finding::Doubt(..)));
}

#[test]
fn what_is_too_deep_is_never_allowed_and_overflows_nothing() {
    let wide_open = rules(&["Bash", "Redirect"], &["Bash(rm *)"]);
    for piece in [
        "(",
        "$(",
        "`",
        "{ ",
        "if ",
        "\"$(",
        "${x:-",
        "((",
        "[[ ! ",
        "! ",
        "case x in x) ",
        "f() { ",
        "<(",
        "while ",
        "coproc ",
        "eval ",
    ] {
        for count in [30, 300, 10_000] {
            let open = format!("echo a; {}b", piece.repeat(count));
            let finding = judge(&wide_open, &open, &place());
            assert!(
                count < 300 || piece == "eval " || piece == "! " || matches!(finding, Finding::Doubt(..)),
                "{piece} {count}: {finding:?}"
            );
            let denied = format!("{}\nrm -rf x", piece.repeat(count));
            assert!(!matches!(judge(&wide_open, &denied, &place()), Finding::Allow(_)), "{piece} {count}");
        }
    }
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(matches!(judge(&wide_open, &deep, &place()), Finding::Doubt(..)));
}

#[test]
fn wrappers_in_wrappers_are_bounded() {
    let wide_open = rules(&["Bash"], &["Bash(rm *)"]);
    let line = format!("{}rm x", "sudo ".repeat(5_000));
    assert!(!matches!(judge(&wide_open, &line, &place()), Finding::Allow(_)));
    let line = format!("{}rm x", "sudo env nice ".repeat(10));
    assert!(matches!(judge(&wide_open, &line, &place()), Finding::Deny(_)));
    let mut nested = "rm x".to_owned();
    for _ in 0..6 {
        nested = format!("bash -c '{}'", nested.replace('\'', r"'\''"));
    }
    assert!(matches!(judge(&wide_open, &nested, &place()), Finding::Deny(_)));
}

#[test]
fn many_commands_in_one_cost_no_memory() {
    let wide_open = rules(&["Bash"], &["Bash(rm *)"]);
    for (program, piece) in [
        ("find .", " -exec"),
        ("fd x", " -x"),
        ("env", " -S x"),
        ("find .", " -exec rm x"),
        ("xargs", " xargs"),
        ("git", " -C ./a"),
    ] {
        let line = format!("{program}{}", piece.repeat(4_500));
        assert!(!matches!(judge(&wide_open, &line, &place()), Finding::Allow(_)), "{program}{piece}");
    }
    let denied = format!("find . {} -exec rm x ;", "-exec true {} ; ".repeat(30).replace(';', r"\;"));
    assert!(matches!(judge(&wide_open, &denied, &place()), Finding::Deny(_)));
}

#[test]
fn many_documents_do_not_confuse_the_grammars() {
    let mut line = String::new();
    for n in 0..200 {
        let _ = write!(line, "cat <<'E{n}'\nx\nE{n}\n");
    }
    let _ = judge(&rules(&["Bash(cat *)"], &[]), &line, &place());
    line.push_str("rm x");
    assert!(matches!(judge(&rules(&["Bash"], &["Bash(rm *)"]), &line, &place()), Finding::Deny(_)));
}

#[test]
fn texts_that_make_the_strict_grammar_loop_are_never_given_to_it() {
    let wide_open = rules(&["Bash", "Redirect"], &["Bash(rm *)"]);
    for line in
        ["<<\r ", "cat <<''\nx\n", "cat <<' '\nx\n ", "cat <<\u{a0}\nx", "echo ${x<<E\n}\nE", "<\\\n<'' x"]
    {
        assert!(matches!(judge(&wide_open, line, &place()), Finding::Doubt(..)), "{line:?}");
        let denied = format!("rm x\n{line}");
        assert!(matches!(judge(&wide_open, &denied, &place()), Finding::Deny(_)), "{denied:?}");
    }
}
