//! Verdicts on the cases in files, and the properties that hold for every input.

use std::path::PathBuf;

use maia_protocol::permission::{RuleSet, Verdict};
use maia_protocol::snapshot::RuleSource;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn place() -> Place {
    Place { cwd: "/srv/launch".into(), home: "/home/someone".into(), state: None }
}

/// Returns the lines of a file of cases, with the folders filled in.
fn cases(name: &str) -> Vec<String> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/permission")).join(name);
    #[expect(clippy::disallowed_methods, reason = "the cases are files")]
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.replace("{{CWD}}", "/srv/launch").replace("{{HOME}}", "/home/someone"))
        .collect()
}

fn answer_to(line: &str) -> String {
    check_line(line, &place()).unwrap_or_else(|error| error)
}

/// Returns what is wrong with the verdicts on a file of cases.
fn check(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in cases(name) {
        let case: Value = serde_json::from_str(&line).expect("a case is JSON");
        let answer: Value = serde_json::from_str(&answer_to(&line)).expect("an answer is JSON");
        let verdict = answer["verdict"].as_str().unwrap_or("none");
        let accepted = case["expect"] == verdict
            || case["accept"].as_array().is_some_and(|accept| accept.iter().any(|one| one == verdict));
        if !accepted || answer["id"] != case["id"] {
            wrong.push(format!("{} {}: {answer}\n    {}", case["id"], case["expect"], case["input"]));
        }
    }
    wrong
}

#[test]
fn cases_from_reports_have_their_verdicts() {
    let wrong = check("permissions.jsonl");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn own_cases_have_their_verdicts() {
    let wrong = check("more.jsonl");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn guarded_paths_among_the_words_of_a_command_have_their_verdicts() {
    let wrong = check("words.jsonl");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everyday_commands_are_not_asked_about_where_rules_cover_them() {
    let wrong = check("everyday.jsonl");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn variants_of_every_kind_have_their_verdicts() {
    let wrong = check("variants.jsonl");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_thread_gives_the_same_verdicts() {
    let lines: Vec<String> = ["permissions.jsonl", "more.jsonl", "words.jsonl", "variants.jsonl"]
        .iter()
        .flat_map(|name| cases(name))
        .collect();
    let once: Vec<String> = lines.iter().map(|line| answer_to(line)).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| lines.iter().map(|line| answer_to(line)).collect::<Vec<_>>()))
            .collect();
        for run in runs {
            assert_eq!(run.join().expect("no panic"), once);
        }
    });
}

#[test]
fn lines_that_are_no_question_get_an_error() {
    for line in ["", "{", "[]", r#"{"id": 1}"#, r#"{"id": 1, "tool": 5}"#] {
        let error = check_line(line, &place()).expect_err("it is none");
        let answer: Value = serde_json::from_str(&error).expect("an answer is JSON");
        assert!(answer["error"].is_string(), "{line}: {answer}");
    }
}

fn compiled(allow: &[String], ask: &[String], deny: &[String]) -> Rules {
    let rules = RuleSet { allow: allow.to_vec(), ask: ask.to_vec(), deny: deny.to_vec() };
    Rules::compile(&[RuleSource { source: "test".to_owned(), rules }]).0
}

#[test]
fn an_agents_own_lists_never_lift_a_deny() {
    let rules = compiled(&[], &[], &["Bash(git push *)".to_owned()]);
    let extra = RuleSet { allow: vec!["Bash".to_owned()], ..RuleSet::default() };
    let joined = rules.with(&extra);
    let input = json!({"command": "git push origin"});
    assert_eq!(
        evaluate(&joined, "Bash", &input, None, &place()),
        Verdict::Deny { rule: "Bash(git push *)".to_owned() }
    );
    assert_eq!(joined.counts(), (1, 0, 1));
    assert_eq!(rules.counts(), (0, 0, 1));
}

#[test]
fn what_a_deny_covers_is_left_out_of_searches() {
    let rules =
        compiled(&["Grep".to_owned()], &[], &["Grep(secrets/**)".to_owned(), "Read(*.key)".to_owned()]);
    for (path, expect) in [
        ("/srv/launch/secrets/a", true),
        ("/srv/launch/x.key", true),
        ("/srv/launch/.env", true),
        ("/srv/launch/src/a", false),
    ] {
        assert_eq!(is_hidden(&rules, "Grep", Path::new(path), &place()), expect, "{path}");
    }
    assert!(!is_hidden(
        &compiled(&["Grep(.env)".to_owned()], &[], &[]),
        "Grep",
        Path::new("/srv/launch/.env"),
        &place()
    ));
}

#[test]
fn settings_add_secret_and_protected_paths() {
    let rules = compiled(&["Read".to_owned(), "Write".to_owned()], &[], &[]);
    let (rules, faults) =
        rules.with_guarded(&["vault/**".to_owned(), "a[".to_owned()], &["deploy/".to_owned()]);
    assert_eq!(faults.len(), 1);
    let verdict =
        |tool, path: &str| evaluate(&rules, tool, &json!({"path": path, "content": ""}), None, &place());
    assert!(matches!(verdict("Read", "vault/a"), Verdict::Doubt { .. }));
    assert!(matches!(verdict("Write", "deploy/a"), Verdict::Doubt { .. }));
    assert!(matches!(verdict("Read", "deploy/a"), Verdict::Allow { .. }));
}

#[test]
fn suggestions_are_exact_and_none_is_made_for_what_no_rule_opens() {
    let bash = |command: &str| ("Bash", json!({ "command": command }));
    for ((tool, input), expect) in [
        (bash("cargo test --all"), Some("Bash(cargo test --all)")),
        (bash("  git   commit -m 'a  b' "), Some("Bash(git commit -m 'a  b')")),
        (bash("ls *.rs"), Some(r"Bash(ls \*.rs)")),
        (bash("echo $(x)"), None),
        (bash("make > out"), None),
        (bash("A=1 make"), None),
        (bash("a && b"), None),
        (bash("curl -H 'Authorization: x'"), None),
        (bash("$x"), None),
        (bash(""), None),
        (("Read", json!({"path": "./src/[id].ts"})), Some(r"Read(src/\[id\].ts)")),
        (("Read", json!({"path": "/etc/hosts"})), Some("Read(/etc/hosts)")),
        (("Read", json!({"path": ".maia/x"})), Some("Read(.maia/x)")),
        (("Write", json!({"path": ".maia/x"})), None),
        (("Grep", json!({"pattern": "x"})), Some("Grep(.)")),
        (("WebFetch", json!({"url": "https://Docs.rs/x"})), Some("WebFetch(domain:docs.rs)")),
        (("WebFetch", json!({"url": "http://localhost:1/"})), Some("WebFetch(domain:localhost)")),
        (("Agent", json!({"agent": "reviewer"})), Some("Agent(reviewer)")),
        (("Skill", json!({"name": "notes"})), Some("Skill(notes)")),
        (("mcp__github__get_issue", json!({})), Some("Mcp(github,get_issue)")),
        (("TodoWrite", json!({})), Some("TodoWrite")),
    ] {
        assert_eq!(suggest_allow(tool, &input, None, &place()).as_deref(), expect, "{tool} {input}");
    }
    let several = lacking_rules("Bash", &json!({"command": "make && ls > out/a"}), None, &place());
    assert_eq!(several, ["Bash(make)", "Bash(ls)", "Redirect(out/a)"]);
}

#[test]
fn the_wider_form_is_offered_for_program_and_subcommand_only() {
    for (command, expect) in [
        ("cargo test --all", Some("Bash(cargo test *)")),
        ("git log -3", Some("Bash(git log *)")),
        ("python3 x.py", None),
        ("npx cowsay hi", None),
        ("bash -c ls", None),
        ("./run test", None),
        ("sudo ls -l", None),
        ("ls -l", None),
        ("docker run x", None),
        ("npm run build", None),
        ("cargo test > out", None),
    ] {
        assert_eq!(
            suggest_wider("Bash", &json!({ "command": command }), &place()).as_deref(),
            expect,
            "{command}"
        );
    }
}

const TOOLS: &[&str] = &[
    "Bash",
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "WebFetch",
    "Agent",
    "Skill",
    "Deploy",
    "mcp__a__b",
    "TodoWrite",
    "Delegate",
];

/// Texts that look like commands, paths and rules: pieces that parsers stumble over, in any order.
fn shell_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("git "),
        Just("rm "),
        Just("'"),
        Just("\""),
        Just("$("),
        Just(")"),
        Just("`"),
        Just("\\"),
        Just("{a,b}"),
        Just(";"),
        Just("&&"),
        Just("|"),
        Just(">"),
        Just("<<E\n"),
        Just("\nE\n"),
        Just("${x:-"),
        Just("}"),
        Just("# "),
        Just("\n"),
        Just("(("),
        Just("[["),
        Just("if "),
        Just("then "),
        Just("case x in "),
        Just("esac"),
        Just("<("),
        Just("$'"),
        Just("\\x72"),
        Just("é"),
        Just("\u{202e}"),
        Just("\0"),
        Just("*"),
        Just("~/"),
        Just("../"),
        Just("env "),
        Just("xargs "),
        Just("bash -c "),
        Just("Bash("),
        Just("2>&1"),
        Just("&>"),
        Just("<<<"),
        Just("for x in "),
        Just("do "),
        Just("done"),
        Just("function "),
        Just("coproc "),
        Just("time "),
        Just("! "),
        Just("A=1 "),
        Just("$((1+"),
        Just(" x"),
        Just("[a"),
        Just("\t"),
        Just("\r"),
        Just("<<-'E'\n"),
        Just("|&"),
    ];
    prop_oneof![proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat()), any::<String>()]
}

fn input_of(tool: &str, text: &str) -> Value {
    match tool {
        "Bash" => json!({ "command": text }),
        "WebFetch" => json!({ "url": text }),
        "Agent" => json!({ "agent": text, "task": "x" }),
        "Delegate" => json!({ "tasks": [{ "agent": text }] }),
        "Skill" => json!({ "name": text }),
        "Glob" => json!({ "pattern": text, "path": "src" }),
        _ => json!({ "path": text, "value": text }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_one_input_has_one_verdict(
        allow in proptest::collection::vec(shell_text(), 0..3),
        deny in proptest::collection::vec(shell_text(), 0..3),
        text in shell_text(),
        tool in proptest::sample::select(TOOLS),
    ) {
        let wrap = |rules: Vec<String>| rules.iter().map(|rule| format!("{tool}({rule})")).chain(rules.clone()).collect::<Vec<_>>();
        let rules = compiled(&wrap(allow), &[], &wrap(deny));
        let input = input_of(tool, &text);
        let verdict = evaluate(&rules, tool, &input, None, &place());
        prop_assert_eq!(evaluate(&rules, tool, &input, None, &place()), verdict);
    }

    #[test]
    fn a_suggested_rule_allows_the_very_call(text in shell_text(), tool in proptest::sample::select(TOOLS)) {
        let input = input_of(tool, &text);
        if let Some(rule) = suggest_allow(tool, &input, None, &place()) {
            let rules = compiled(&[rule], &[], &[]);
            let verdict = evaluate(&rules, tool, &input, None, &place());
            prop_assert!(matches!(verdict, Verdict::Allow { .. }), "{:?}", verdict);
        }
    }

    #[test]
    fn what_a_grammar_takes_for_a_command_is_denied_when_everything_is(text in shell_text()) {
        let rules = compiled(&["Bash".to_owned(), "Redirect".to_owned()], &[], &["Bash(*)".to_owned()]);
        let verdict = evaluate(&rules, "Bash", &json!({ "command": text }), None, &place());
        prop_assert!(!matches!(verdict, Verdict::Allow { .. }), "{:?}", verdict);
    }

    #[test]
    fn a_line_that_is_allowed_has_no_substitution(text in shell_text()) {
        let rules = compiled(&["Bash".to_owned(), "Redirect".to_owned()], &[], &[]);
        let quoted = |text: &str| text.contains(['\'', '"', '\\', '#']);
        if (text.contains("$(") && !text.contains("$((") || text.contains('`')) && !quoted(&text) {
            let verdict = evaluate(&rules, "Bash", &json!({ "command": text }), None, &place());
            prop_assert!(!matches!(verdict, Verdict::Allow { .. }), "{:?}", verdict);
        }
    }
}
