//! The table of modes (SAFETY 1), row by row.

use maia_protocol::permission::RuleSet;
use maia_protocol::snapshot::RuleSource;
use serde_json::json;

use super::*;

const ALL: [Mode; 4] = [Mode::ReadOnly, Mode::Confirm, Mode::Edits, Mode::Auto];

fn place() -> Place {
    Place { cwd: "/w/p".into(), home: "/h".into(), state: None }
}

fn compiled(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let rules = RuleSet { allow: list(allow), ask: list(ask), deny: list(deny) };
    Rules::compile(&[RuleSource { source: "test".to_owned(), rules }]).0
}

/// Returns one letter for each mode: Run, Ask, reFuse.
fn row(rules: &Rules, sandbox: Sandbox, tool: &str, input: &Value) -> String {
    ALL.iter()
        .map(|mode| match judge(rules, *mode, sandbox, tool, input, None, &place()).action {
            RulingAction::Run => 'r',
            RulingAction::Ask => 'a',
            RulingAction::Refuse => 'f',
        })
        .collect()
}

#[test]
fn without_rules_the_mode_decides() {
    let none = Rules::default();
    for (tool, input, expect) in [
        ("Read", json!({"path": "src/a"}), "raar"),
        ("Read", json!({"path": "/etc/hosts"}), "faaa"),
        ("Read", json!({"path": ".env"}), "faaa"),
        ("Read", json!({"path": "~/.ssh/id_rsa"}), "faaa"),
        ("Grep", json!({"pattern": "x"}), "raar"),
        ("Glob", json!({"pattern": "/etc/*"}), "faaa"),
        ("Glob", json!({"pattern": "src/*"}), "raar"),
        ("Glob", json!({"pattern": "*/../../x"}), "faaa"),
        ("Write", json!({"path": "src/a", "content": ""}), "farr"),
        ("Edit", json!({"path": "/etc/hosts"}), "faaa"),
        ("Write", json!({"path": ".git/hooks/x", "content": ""}), "faaa"),
        ("Write", json!({"path": ".env", "content": ""}), "faaa"),
        ("Bash", json!({"command": "ls | head > out.txt"}), "faar"),
        ("Bash", json!({"command": "ls > /dev/null"}), "faar"),
        ("Bash", json!({"command": "ls > /tmp/x"}), "faaa"),
        ("Bash", json!({"command": "echo x > .envrc"}), "faaa"),
        ("Bash", json!({"command": "echo x > $F"}), "faaa"),
        ("Bash", json!({"command": "sort < .env"}), "faaa"),
        ("Bash", json!({"command": "cat .env"}), "faaa"),
        ("Bash", json!({"command": "cp x .git/hooks/y"}), "faaa"),
        ("Bash", json!({"command": "cat $(ls) ~/.ssh/id_rsa"}), "faaa"),
        ("Bash", json!({"command": "cat .git/config .env.example"}), "faar"),
        ("Bash", json!({"command": "echo $(ls)"}), "faar"),
        ("Bash", json!({"command": "echo 'x"}), "faar"),
        ("Bash", json!({}), "faar"),
        ("Deploy", json!({"env": "x"}), "faar"),
        ("TodoWrite", json!({"todos": []}), "raar"),
        ("Agent", json!({"agent": "x", "task": "y"}), "raar"),
        ("Delegate", json!({"tasks": [{"agent": "x"}]}), "raar"),
        ("Skill", json!({"name": "x"}), "raar"),
        ("WebFetch", json!({"url": "https://docs.rs/"}), "faaa"),
        ("mcp__github__get", json!({}), "faaa"),
    ] {
        assert_eq!(row(&none, Sandbox::Full, tool, &input), expect, "{tool} {input}");
    }
}

#[test]
fn auto_runs_commands_only_where_something_confines_them_or_the_person_said_so() {
    let input = json!({"command": "ls"});
    for (sandbox, expect) in [
        (Sandbox::None, "faaa"),
        (Sandbox::Off, "faar"),
        (Sandbox::External, "faar"),
        (Sandbox::Partial, "faar"),
        (Sandbox::Full, "faar"),
    ] {
        assert_eq!(row(&Rules::default(), sandbox, "Bash", &input), expect, "{sandbox:?}");
        assert_eq!(row(&Rules::default(), sandbox, "Deploy", &json!({})), expect, "{sandbox:?}");
    }
    let doubtful = json!({"command": "ls $(x)"});
    assert_eq!(row(&Rules::default(), Sandbox::Partial, "Bash", &doubtful), "faaa");
    assert_eq!(row(&compiled(&[], &[], &["Bash(rm *)"]), Sandbox::Full, "Bash", &doubtful), "faaa");
    assert_eq!(row(&compiled(&[], &[], &["Read(.env)"]), Sandbox::Full, "Bash", &doubtful), "faar");
}

#[test]
fn rules_come_before_the_mode() {
    let rules = compiled(&["Bash(git *)", "Read(/etc/hosts)"], &["Bash(git push *)"], &["Bash(rm *)"]);
    for (tool, input, expect) in [
        ("Bash", json!({"command": "git status"}), "rrrr"),
        ("Bash", json!({"command": "git push"}), "aaaa"),
        ("Bash", json!({"command": "rm x"}), "ffff"),
        ("Read", json!({"path": "/etc/hosts"}), "rrrr"),
    ] {
        assert_eq!(row(&rules, Sandbox::Full, tool, &input), expect, "{tool} {input}");
    }
}

#[test]
fn a_ruling_says_why_and_what_to_do() {
    let rules = compiled(&["Bash(make *)"], &[], &["Bash(rm *)"]);
    let why = |mode, command: &str| {
        judge(&rules, mode, Sandbox::None, "Bash", &json!({ "command": command }), None, &place()).why
    };
    assert!(why(Mode::Auto, "rm x").contains("refused by the permission rules (deny rule `Bash(rm *)`)"));
    assert!(why(Mode::Confirm, "make > logs/a").contains("Redirect(logs/a)"));
    assert!(why(Mode::Confirm, "make; ls -l").contains("`ls -l`"));
    assert!(why(Mode::ReadOnly, "ls").contains("read-only"));
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let target = |path: &str, inside| Target { path: path.into(), inside, exists: true, device: 1, inode: 1 };
    let at = |rules: &Rules, path: &str, target: &Target| {
        judge(
            rules,
            Mode::Edits,
            Sandbox::Full,
            "Write",
            &json!({"path": path, "content": ""}),
            Some(target),
            &place(),
        )
        .action
    };
    let wide = compiled(&["Write(src/**)"], &[], &["Write(/secret/**)"]);
    assert_eq!(at(&wide, "src/a", &target("/w/p/src/a", true)), RulingAction::Run);
    assert_eq!(at(&wide, "src/a", &target("/out/a", false)), RulingAction::Ask);
    assert_eq!(at(&wide, "src/a", &target("/secret/a", false)), RulingAction::Refuse);
    assert_eq!(at(&wide, "notes", &target("/w/p/.git/hooks/x", true)), RulingAction::Ask);
    assert_eq!(at(&wide, "notes", &target("/w/p/.env", true)), RulingAction::Ask);
}
