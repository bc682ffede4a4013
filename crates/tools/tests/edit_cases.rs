//! Every case of `tests/cases/edit`: a file, Edit calls, and the file after them or the kind of error (mission M8-edit).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use base64::Engine;
use maia_protocol::tool::ToolOutput;
use maia_tools::Workspace;
use serde::Deserialize;
use serde_json::{Value, json};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/edit");

#[derive(Deserialize)]
struct Case {
    path: String,
    #[serde(default)]
    setup: Setup,
    before_b64: Option<String>,
    before_repeat: Option<Repeat>,
    old_string: Option<String>,
    new_string: Option<String>,
    params: Option<Value>,
    steps: Option<Vec<Value>>,
    expect: Expect,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Setup {
    mkdir: Vec<String>,
    symlinks: BTreeMap<String, String>,
    hardlinks: BTreeMap<String, String>,
    fifo: Vec<String>,
    mode: Option<String>,
    file: Option<String>,
    skip_if_root: bool,
}

#[derive(Deserialize)]
struct Repeat {
    unit: String,
    count: usize,
    middle: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Expect {
    after_b64: Option<String>,
    after_repeat: Option<Repeat>,
    error: Option<String>,
    message_mentions: Vec<String>,
    also_accepted: Vec<Expect>,
    still_symlink: Option<Value>,
    check_path: Option<String>,
    mode: Option<String>,
    same_content: Option<Vec<String>>,
    step_errors: Option<Vec<Option<String>>>,
}

impl Repeat {
    fn bytes(&self) -> Vec<u8> {
        let half = self.unit.repeat(self.count);
        [half.as_str(), &self.middle, &half].concat().into_bytes()
    }
}

fn base64(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).expect("base64 in a case")
}

fn octal(text: &str) -> u32 {
    u32::from_str_radix(text, 8).expect("an octal mode in a case")
}

#[test]
fn every_case_of_edit() {
    let mut names: Vec<PathBuf> = fs::read_dir(CASES)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    assert!(names.len() > 30, "the cases are gone");
    let faults: Vec<String> = names
        .iter()
        .filter_map(|name| check(name).err().map(|why| format!("{}: {why}", name.display())))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn check(name: &Path) -> Result<(), String> {
    let case: Case = serde_json::from_slice(&fs::read(name).expect("a readable case")).expect("a case");
    if case.setup.skip_if_root && rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it exists");
    let before = set_up(&root, &case);
    let workspace = Workspace { cwd: root.clone(), home: root.clone(), env: Vec::new(), exe: PathBuf::new() };

    let calls = case.steps.clone().unwrap_or_else(|| {
        vec![case.params.clone().unwrap_or_else(
            || json!({"path": case.path, "old_string": case.old_string, "new_string": case.new_string}),
        )]
    });
    let outputs = run(&calls, &workspace);

    let accepted = std::iter::once(&case.expect).chain(&case.expect.also_accepted);
    let faults: Vec<String> =
        accepted.filter_map(|expect| compare(expect, &case, &root, &before, &outputs).err()).collect();
    if faults.len() > case.expect.also_accepted.len() {
        return Err(format!(
            "{} (results: {:?})",
            faults.join("; or "),
            outputs.iter().map(|output| &output.text).collect::<Vec<_>>()
        ));
    }
    let names: Vec<_> =
        fs::read_dir(&root).expect("the folder").map(|entry| entry.expect("an entry").file_name()).collect();
    match names.iter().find(|name| name.to_string_lossy().ends_with(".tmp")) {
        Some(name) => Err(format!("{name:?} was left behind")),
        None => Ok(()),
    }
}

fn set_up(root: &Path, case: &Case) -> Option<Vec<u8>> {
    for name in &case.setup.mkdir {
        fs::create_dir_all(root.join(name)).expect("a new folder");
    }
    for name in &case.setup.fifo {
        let made = std::process::Command::new("mkfifo").arg(root.join(name)).status().expect("mkfifo");
        assert!(made.success());
    }
    let bytes =
        case.before_repeat.as_ref().map(Repeat::bytes).or_else(|| case.before_b64.as_deref().map(base64));
    if let Some(bytes) = &bytes {
        let file = root.join(case.setup.file.as_ref().unwrap_or(&case.path));
        fs::create_dir_all(file.parent().expect("a folder above it")).expect("a new folder");
        fs::write(&file, bytes).expect("a new file");
        if let Some(mode) = &case.setup.mode {
            fs::set_permissions(&file, fs::Permissions::from_mode(octal(mode))).expect("a new mode");
        }
    }
    for (link, to) in &case.setup.symlinks {
        symlink(to, root.join(link)).expect("a new link");
    }
    for (name, existing) in &case.setup.hardlinks {
        fs::hard_link(root.join(existing), root.join(name)).expect("a new name");
    }
    bytes
}

/// Runs the calls of one response as the engine does: all are judged first, then carried out one after the other.
fn run(calls: &[Value], workspace: &Workspace) -> Vec<ToolOutput> {
    let judged: Vec<_> = calls.iter().map(|input| maia_tools::target("Edit", input, workspace)).collect();
    let mut seen: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut outputs = Vec::new();
    for (input, target) in calls.iter().zip(judged) {
        let output = target.and_then(|target| {
            let target = target.expect("an Edit has a file");
            let known = seen.get(&target.path).map(String::as_str);
            Ok(maia_tools::prepare("Edit", input, &target, known, workspace)?.commit())
        });
        let output = output.unwrap_or_else(|output| output);
        if let Some(now) = &output.seen {
            seen.insert(now.path.clone(), now.hash.clone());
        }
        outputs.push(output);
    }
    outputs
}

fn error_kind(output: &ToolOutput) -> Option<&str> {
    output.is_error.then(|| output.text.split_once(':').map_or("no kind", |(kind, _)| kind))
}

fn compare(
    expect: &Expect,
    case: &Case,
    root: &Path,
    before: &Option<Vec<u8>>,
    outputs: &[ToolOutput],
) -> Result<(), String> {
    let kinds: Vec<Option<&str>> = outputs.iter().map(error_kind).collect();
    let wanted: Vec<Option<&str>> = match &expect.step_errors {
        Some(steps) => steps.iter().map(Option::as_deref).collect(),
        None => vec![expect.error.as_deref(); outputs.len()],
    };
    if kinds != wanted {
        return Err(format!("expected {wanted:?}, got {kinds:?}"));
    }
    for part in &expect.message_mentions {
        if !outputs.iter().any(|output| output.text.contains(part.as_str())) {
            return Err(format!("no result mentions {part:?}"));
        }
    }
    let checked = root.join(expect.check_path.as_ref().or(case.setup.file.as_ref()).unwrap_or(&case.path));
    let after =
        expect.after_repeat.as_ref().map(Repeat::bytes).or_else(|| expect.after_b64.as_deref().map(base64));
    let wanted = if expect.error.is_some() { before.clone() } else { after };
    // A pipe must not be read: it has no content to compare.
    let now = if case.setup.fifo.is_empty() { fs::read(&checked).ok() } else { before.clone() };
    if now != wanted {
        return Err("the file is not as expected".to_owned());
    }
    let link = match &expect.still_symlink {
        Some(Value::String(link)) => Some(link),
        Some(Value::Bool(true)) => Some(&case.path),
        _ => None,
    };
    if let Some(link) = link
        && !root.join(link).is_symlink()
    {
        return Err(format!("{link} is no link any more"));
    }
    if let Some(mode) = &expect.mode {
        let now = fs::metadata(&checked).expect("it was read").permissions().mode() & 0o7777;
        if now != octal(mode) {
            return Err(format!("mode {now:o}"));
        }
    }
    for name in expect.same_content.iter().flatten() {
        if fs::read(root.join(name)).ok() != wanted {
            return Err(format!("{name} has other content"));
        }
    }
    Ok(())
}
