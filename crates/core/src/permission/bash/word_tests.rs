//! Tests of taking words apart.

use super::*;

fn seen(raw: &str) -> String {
    Word::read(raw).text.replace(HOLE, "□")
}

#[test]
fn quotes_and_backslashes_are_removed() {
    for (raw, expect) in [
        (r"r\m", "rm"),
        ("\"rm\"", "rm"),
        ("'a b'c", "a bc"),
        (r#""a\"b""#, "a\"b"),
        (r#""a\nb""#, r"a\nb"),
        (r"a\ b", "a b"),
        ("a\\\nb", "ab"),
        (r"$'\x72m'", "rm"),
        (r#"$"rm x""#, "rm x"),
        (r"'a\'", r"a\"),
        ("issue#12", "issue#12"),
        ("$", "$"),
        (r"\$x", "$x"),
        ("'$x'", "$x"),
    ] {
        assert_eq!(seen(raw), expect, "{raw}");
        assert!(Word::read(raw).is_fixed(), "{raw}");
    }
}

#[test]
fn what_is_expanded_becomes_a_hole() {
    for (raw, expect) in [
        ("$x", "□"),
        ("a$x.b", "a□.b"),
        ("\"$x y\"", "□ y"),
        ("${x}", "□"),
        ("${x:-a b}", "□"),
        ("${#x}", "□"),
        ("${x:0:3}", "□"),
        ("${x: -3}", "□"),
        ("$1$@$?", "□□□"),
        ("$((1 + 2))", "□"),
    ] {
        let word = Word::read(raw);
        assert_eq!(seen(raw), expect, "{raw}");
        assert!(!word.is_fixed() && !word.runs && word.odd.is_none(), "{raw}: {word:?}");
    }
}

#[test]
fn what_runs_is_found_with_its_text() {
    for (raw, bodies) in [
        ("$(rm x)", vec!["rm x"]),
        ("`rm x`", vec!["rm x"]),
        ("\"a $(rm 'x)' y) b\"", vec!["rm 'x)' y"]),
        ("<(rm x)", vec!["rm x"]),
        ("${x:-$(rm y)}", vec!["rm y"]),
        ("\"${x:-`rm y`}\"", vec!["rm y"]),
        ("a=$(b)$(c)", vec!["b", "c"]),
        ("`echo \\`rm x\\``", vec!["echo `rm x`"]),
    ] {
        let word = Word::read(raw);
        assert!(word.runs, "{raw}: {word:?}");
        assert_eq!(word.bodies, bodies, "{raw}");
    }
}

#[test]
fn what_is_not_on_the_list_is_odd() {
    for raw in [
        "${x@P}", "${!x}", "${x:y}", "${x:0:y}", "${x:=y}", "${a[0]}", "$((x))", "$[1]", "a=(b)", "!(x)",
        "'open", "\"open", "${open", "a\\", "$'\\q'",
    ] {
        assert!(Word::read(raw).odd.is_some(), "{raw}");
    }
}

#[test]
fn braces_count_when_they_make_words() {
    for (raw, expect) in [
        ("{a,b}", true),
        ("a{1..3}", true),
        ("@{u}", false),
        ("'{a,b}'", false),
        ("${x}", false),
        ("{}", false),
        ("stash@{0}", false),
    ] {
        assert_eq!(Word::read(raw).braces, expect, "{raw}");
    }
}

#[test]
fn assignments_are_told_from_words() {
    for (raw, expect) in [
        ("A=1", true),
        ("a_1+=x", true),
        ("1a=x", false),
        ("\"A\"=1", false),
        ("--a=b", false),
        ("=x", false),
    ] {
        assert_eq!(Word::read(raw).is_assignment(), expect, "{raw}");
    }
}

#[test]
fn deep_nesting_costs_no_stack() {
    for piece in ["${x:-", "$(", "\"$(", "`"] {
        let _ = Word::read(&piece.repeat(50_000));
    }
}
