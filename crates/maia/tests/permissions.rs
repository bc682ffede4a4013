//! `maia permissions check` and `explain` as a person calls them (SPEC section 4).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A home with rules, and a folder in it that brings some of its own.
fn world() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, value: Value| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    let own = json!({"permissions": {"allow": ["Bash(git *)", "Read(src/**)", "Bash(cat *)"], "deny": ["Bash(rm *)"]}});
    write("home/.maia/settings.json", own);
    write(
        "p/.maia/settings.json",
        json!({"permissions": {"allow": ["Bash(make *)"], "ask": ["Bash(git push *)"]}}),
    );
    fs::create_dir_all(root.path().join("p/src")).unwrap();
    fs::write(root.path().join("p/outside"), "").unwrap();
    std::os::unix::fs::symlink("../outside", root.path().join("p/src/link")).unwrap();
    root
}

fn maia(root: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maia"))
        .arg("permissions")
        .args(arguments)
        .env_clear()
        .env("HOME", root.join("home"))
        .current_dir(root.join("p"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn explained(root: &Path, arguments: &[&str]) -> Value {
    let output = maia(root, &[&["explain"], arguments, &["--json"]].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_rule_its_file_and_the_deciding_part_are_named() {
    let root = world();
    let told = explained(root.path(), &["Bash", "git log && sudo rm -rf x"]);
    assert_eq!((&told["verdict"], &told["rule"]), (&json!("deny"), &json!("Bash(rm *)")));
    assert_eq!(told["action"], "refuse");
    assert_eq!(told["parts"][0]["part"], "rm -rf x");
    assert!(told["source"].as_str().unwrap().ends_with("home/.maia/settings.json"), "{told}");

    let told = explained(root.path(), &["Bash", "git push origin"]);
    assert_eq!(told["verdict"], "ask");
    assert!(told["source"].as_str().unwrap().ends_with("p/.maia/settings.json"), "{told}");

    let told = explained(root.path(), &["Bash", "cat .env"]);
    assert_eq!((&told["verdict"], &told["would_allow"]), (&json!("doubt"), &json!(["Bash(cat .env)"])));
}

#[test]
fn a_folder_that_is_not_trusted_allows_nothing() {
    let root = world();
    assert_eq!(explained(root.path(), &["Bash", "make all"])["verdict"], "no_rule");
    assert_eq!(explained(root.path(), &["Bash", "make all", "--trust"])["verdict"], "allow");
}

#[test]
fn a_path_is_shown_resolved_and_the_mode_says_what_is_done() {
    let root = world();
    let told = explained(root.path(), &["Read", "src/link"]);
    assert_eq!(told["verdict"], "no_rule");
    assert!(told["path"].as_str().unwrap().ends_with("p/outside"), "{told}");
    assert_eq!(told["action"], "ask");
    let told = explained(root.path(), &["Read", r#"{"path": "src/a"}"#, "--mode", "read-only"]);
    assert_eq!((&told["verdict"], &told["action"]), (&json!("allow"), &json!("run")));
    let told = explained(root.path(), &["Write", "src/a", "--mode", "read-only"]);
    assert_eq!(told["action"], "refuse");
}

#[test]
fn an_agents_own_rules_count_with_its_name() {
    let root = world();
    assert_eq!(explained(root.path(), &["Grep", "src"])["verdict"], "no_rule");
    let told = explained(root.path(), &["Grep", "src", "--agent", "reviewer"]);
    assert_eq!(told["verdict"], "allow");
    assert!(told["source"].as_str().unwrap().contains("reviewer"), "{told}");
    let output = maia(root.path(), &["explain", "Grep", "src", "--agent", "nobody"], b"");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn broken_lines_end_nothing() {
    let root = world();
    let input = b"{\"id\":1,\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}\n\xff\xfe\n{\n{\"id\":2,\"tool\":\"Read\",\"input\":{\"path\":\"a\"}}";
    let output = maia(root.path(), &["check"], input);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!((&lines[0]["verdict"], &lines[3]["verdict"]), (&json!("ask"), &json!("ask")));
    assert!(lines[1]["error"].is_string() && lines[2]["error"].is_string(), "{text}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        maia(root.path(), &["check"], b"{\"tool\":\"Read\",\"input\":{\"path\":\"a\"}}\n").status.code(),
        Some(0)
    );
}
