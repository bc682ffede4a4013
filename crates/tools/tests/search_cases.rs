//! Every case of `tests/cases/glob` and `tests/cases/grep`: a small tree, a call, and its result (mission M8-glob, M8-grep).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use maia_protocol::tool::ToolOutput;
use maia_tools::Workspace;
use maia_tools::bash::Cancel;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases");

/// A case; paths are relative to a folder that holds the launch folder `work` and others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Content by path, relative to `work`.
    #[serde(default)]
    files: BTreeMap<String, Content>,
    /// Where links lead, by path.
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// Pipes: opening one would block for ever.
    #[serde(default)]
    pipes: Vec<String>,
    /// Beginnings of paths, relative to `work`, that the rules hide.
    #[serde(default)]
    hidden: Vec<String>,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Bytes(Vec<u8>),
    Repeat { unit: String, count: usize },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    input: Value,
    /// The lines of the result without its notes, none for "nothing found".
    lines: Option<Vec<String>>,
    /// How many of them, where they are too many to write.
    count: Option<usize>,
    /// Parts of the text.
    #[serde(default)]
    mentions: Vec<String>,
    /// Kind of the error.
    error: Option<String>,
    #[serde(default)]
    truncated: bool,
}

#[test]
fn every_case_of_glob() {
    every_case("Glob", 12);
}

#[test]
fn every_case_of_grep() {
    every_case("Grep", 15);
}

fn every_case(tool: &str, at_least: usize) {
    let folder = Path::new(CASES).join(tool.to_lowercase());
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    assert!(names.len() >= at_least, "the cases are gone");
    let faults: Vec<String> = names.iter().flat_map(|name| check(tool, name)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn check(tool: &str, name: &Path) -> Vec<String> {
    let case: Case = serde_json::from_slice(&fs::read(name).expect("a readable case")).expect("a case");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it exists").join("work");
    fs::create_dir(&root).expect("a new folder");
    set_up(&root, &case);
    let workspace =
        Workspace { cwd: root.clone(), home: root.join("home"), env: Vec::new(), exe: PathBuf::new() };
    let hidden = |path: &Path| case.hidden.iter().any(|hidden| path.starts_with(root.join(hidden)));
    let mut faults = Vec::new();
    for call in &case.calls {
        let output = run(tool, &call.input, &workspace, &hidden);
        if let Err(why) = compare(call, &output) {
            faults.push(format!("{} {}: {why}: {}", name.display(), call.input, output.text));
        }
    }
    faults
}

fn run(tool: &str, input: &Value, workspace: &Workspace, hidden: &dyn Fn(&Path) -> bool) -> ToolOutput {
    let target = match maia_tools::target(tool, input, workspace) {
        Ok(target) => target.expect("a search has a place"),
        Err(output) => return output,
    };
    match tool {
        "Glob" => maia_tools::glob(input, &target, workspace, hidden, &Cancel::new()),
        _ => maia_tools::grep(input, &target, workspace, hidden, &Cancel::new()),
    }
}

fn set_up(root: &Path, case: &Case) {
    let made = |name: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder above it")).expect("a new folder");
        path
    };
    for (name, content) in &case.files {
        let bytes = match content {
            Content::Text(text) => text.clone().into_bytes(),
            Content::Bytes(bytes) => bytes.clone(),
            Content::Repeat { unit, count } => unit.repeat(*count).into_bytes(),
        };
        match name.strip_suffix('/') {
            Some(folder) => fs::create_dir_all(made(folder)).expect("a new folder"),
            None => fs::write(made(name), bytes).expect("a new file"),
        }
    }
    for (name, to) in &case.links {
        symlink(to, made(name)).expect("a new link");
    }
    for name in &case.pipes {
        let made = std::process::Command::new("mkfifo").arg(made(name)).status().expect("mkfifo");
        assert!(made.success());
    }
}

fn compare(call: &Call, output: &ToolOutput) -> Result<(), String> {
    let kind = output.is_error.then(|| output.text.split_once(':').map_or("no kind", |(kind, _)| kind));
    if kind != call.error.as_deref() {
        return Err(format!("expected the error {:?}", call.error));
    }
    if let Some(part) = call.mentions.iter().find(|part| !output.text.contains(part.as_str())) {
        return Err(format!("{part:?} is not mentioned"));
    }
    if output.truncated != call.truncated {
        return Err(format!("truncated should be {}", call.truncated));
    }
    let found = !output.text.starts_with("no file matches ") && !output.text.starts_with("no line matches ");
    let lines: Vec<&str> = output.text.lines().filter(|line| found && !line.starts_with('[')).collect();
    if let Some(expected) = &call.lines
        && lines != *expected
    {
        return Err(format!("expected {expected:?}"));
    }
    match call.count {
        Some(count) if count != lines.len() => Err(format!("{} lines", lines.len())),
        _ => Ok(()),
    }
}

/// Texts of which some are patterns, some nearly, some name what is there.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        r"[ab/.*?~!\[\]{},^$()|+\\é\n-]{0,12}",
        Just("secrets".to_owned()),
        Just("**".to_owned()),
    ]
}

fn inputs() -> impl Strategy<Value = Value> {
    let number = prop_oneof![Just(Value::Null), (0_u64..5).prop_map(Value::from), Just(u64::MAX.into())];
    let mode = prop_oneof![Just(Value::Null), Just("content".into()), Just("count".into())];
    let path = prop_oneof![3 => Just(".".to_owned()), 1 => texts()];
    (texts(), path, proptest::option::of(texts()), mode, number.clone(), number, any::<bool>()).prop_map(
        |(pattern, path, glob, mode, limit, around, flag)| {
            serde_json::json!({
                "pattern": pattern, "path": path, "glob": glob, "output_mode": mode, "head_limit": limit,
                "-C": around, "-i": flag, "-n": flag,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Whatever a model sends: no panic, nothing hidden is named, and the same call gives the same text.
    #[test]
    fn no_search_tells_what_is_hidden(input in inputs()) {
        static TREE: std::sync::LazyLock<tempfile::TempDir> = std::sync::LazyLock::new(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            for name in ["a", "b/a", "b/é.b", "secrets/HIDDEN", ".gitignore"] {
                let path = folder.path().join("work").join(name);
                fs::create_dir_all(path.parent().expect("a folder above it")).expect("a new folder");
                fs::write(path, "a b\r\nHIDDEN {}\n\n(.)").expect("a new file");
            }
            folder
        });
        let cwd = TREE.path().canonicalize().expect("it exists").join("work");
        let workspace = Workspace { home: cwd.clone(), cwd: cwd.clone(), env: Vec::new(), exe: PathBuf::new() };
        let hidden = |path: &Path| !path.starts_with(&cwd) || path.starts_with(cwd.join("secrets"));
        let lacks = |output: &ToolOutput| {
            !output.text.lines().any(|line| line.starts_with("secrets/HIDDEN"))
        };
        for tool in ["Glob", "Grep"] {
            // Searching all of the disk is another test's work.
            let outside = maia_tools::target(tool, &input, &workspace)
                .is_ok_and(|target| target.is_some_and(|target| !target.inside));
            if outside {
                continue;
            }
            let output = run(tool, &input, &workspace, &hidden);
            prop_assert!(lacks(&output), "{}", output.text);
            prop_assert_eq!(&output, &run(tool, &input, &workspace, &hidden));
        }
    }

    /// Whatever a model sends as a list: a text, or an error that says so.
    #[test]
    fn any_list_gets_an_answer(
        todos in proptest::collection::vec((any::<String>(), "pending|in_progress|completed|x"), 0..4),
    ) {
        let list: Vec<Value> = todos
            .iter()
            .map(|(content, status)| serde_json::json!({"content": content, "status": status}))
            .collect();
        let output = maia_tools::todo(&serde_json::json!({"todos": list}));
        prop_assert!(output.is_error == output.text.starts_with("invalid_input: "));
        prop_assert!(output.is_error || output.text.lines().count() >= todos.len());
    }
}
