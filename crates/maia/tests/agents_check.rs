//! `maia agents check --json` says of every case what the case says, with its exit code (SPEC 4).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn maia(home: &Path, arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_maia"))
        .args(["agents", "check", "--json"])
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .output()
        .unwrap()
}

/// Returns whether the line says what `expect` wants; warnings must appear, others may.
fn meets(line: &Value, expect: &Value) -> bool {
    if line["valid"] != expect["valid"] {
        return false;
    }
    if expect["valid"] == false {
        let message = line["message"].as_str().unwrap_or_default();
        let mentions = expect["message_mentions"].as_array().cloned().unwrap_or_default();
        return line["error"] == expect["error"]
            && mentions.iter().all(|text| message.contains(text.as_str().unwrap()));
    }
    let warnings = line["warnings"].as_array().unwrap();
    line["agent"] == expect["agent"]
        && expect["warnings"].as_array().unwrap().iter().all(|kind| warnings.contains(kind))
        && (expect["tools_resolved"].is_null() || line["tools_resolved"] == expect["tools_resolved"])
}

#[test]
fn every_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/frontmatter");
    let root = tempfile::tempdir().unwrap();
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|end| end == "json"));
    cases.sort();
    assert!(cases.len() >= 41, "only {} cases", cases.len());

    let mut files = Vec::new();
    let mut expected = Vec::new();
    for (n, path) in cases.iter().enumerate() {
        let case: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let folder = match case["folder"].as_str().unwrap() {
            // No folder of this name can be made; the parser's own test tries it.
            ".." => continue,
            folder => root.path().join(n.to_string()).join(folder),
        };
        fs::create_dir_all(&folder).unwrap();
        fs::copy(path.with_extension("md"), folder.join("AGENT.md")).unwrap();
        // By file and by folder in turn.
        files.push(if n % 2 == 0 { folder.join("AGENT.md") } else { folder });
        expected.push((path, case["expect"].clone()));
    }
    let arguments: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let output = maia(root.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), files.len());
    for (line, (path, expect)) in lines.iter().zip(&expected) {
        let others = expect["also_accepted"].as_array().cloned().unwrap_or_default();
        let met = meets(line, expect) || others.iter().any(|other| meets(line, other));
        assert!(met, "{}: {line}", path.display());
        assert!(line["path"].as_str().unwrap().ends_with("AGENT.md"));
    }
}

#[test]
fn exit_codes() {
    let root = tempfile::tempdir().unwrap();
    let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents");
    let output = maia(root.path(), &[&agents]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shipped = std::fs::read_dir(&agents).unwrap().count();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), shipped);

    let output = maia(root.path(), &[Path::new("gone/AGENT.md")]);
    assert_eq!(output.status.code(), Some(1));
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((line["valid"].clone(), line["error"].as_str()), (Value::Bool(false), Some("file_not_found")));

    assert_eq!(maia(root.path(), &[]).status.code(), Some(2));
}

#[test]
fn a_relative_path_knows_its_folder() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("a");
    fs::create_dir_all(folder.join("b")).unwrap();
    let text = "---\nname: a\ndescription: x\n---\n# Instructions system\na\n# Missions\nb\n# Output\nc\n";
    fs::write(folder.join("AGENT.md"), text).unwrap();
    for path in ["AGENT.md", "./AGENT.md", ".", "b/..", "b/../AGENT.md"] {
        let output = Command::new(env!("CARGO_BIN_EXE_maia"))
            .args(["agents", "check", path])
            .env_clear()
            .env("HOME", root.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{path}: {output:?}");
    }
}
