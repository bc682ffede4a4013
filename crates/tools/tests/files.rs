//! Read, Write and what guards them, on real files (mission M8-read, M8-write, ENGINE 2, 5, 7, SAFETY 3).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use maia_protocol::tool::{Target, ToolOutput, WriteFound, WriteIntent};
use maia_tools::Workspace;
use serde_json::{Value, json};

const HOST: &str = env!("CARGO_BIN_EXE_maia-exec-host");

/// What somebody else does to a file or folder meanwhile.
type Change = fn(&Path);

struct Ground {
    _folder: tempfile::TempDir,
    root: PathBuf,
    workspace: Workspace,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it exists");
        let workspace =
            Workspace { cwd: root.clone(), home: root.clone(), env: Vec::new(), exe: PathBuf::new() };
        Self { _folder: folder, root, workspace }
    }

    fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let ground = Self::new();
        fs::write(ground.root.join(name), content).expect("a new file");
        ground
    }

    fn target(&self, tool: &str, input: &Value) -> Target {
        maia_tools::target(tool, input, &self.workspace).expect("a usable call").expect("it has a file")
    }

    fn read(&self, input: Value) -> ToolOutput {
        match maia_tools::target("Read", &input, &self.workspace) {
            Ok(target) => maia_tools::read(&input, &target.expect("it has a file"), &self.workspace),
            Err(output) => output,
        }
    }

    fn write(&self, input: Value) -> ToolOutput {
        let target = match maia_tools::target("Write", &input, &self.workspace) {
            Ok(target) => target.expect("it has a file"),
            Err(output) => return output,
        };
        self.carry_out("Write", &input, &target, None)
    }

    fn carry_out(&self, tool: &str, input: &Value, target: &Target, seen: Option<&str>) -> ToolOutput {
        match maia_tools::prepare(tool, input, target, seen, &self.workspace) {
            Ok(work) => work.commit(),
            Err(output) => output,
        }
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).expect("it is there")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn assert_kind(output: &ToolOutput, kind: &str) {
    assert!(
        output.is_error && output.text.starts_with(&format!("{kind}:")),
        "expected {kind}: {}",
        output.text
    );
}

#[test]
fn a_read_numbers_the_lines() {
    let ground = Ground::with("f", "\u{feff}one\r\ntwo\n\nfour");
    let output = ground.read(json!({"path": "f"}));
    assert_eq!(output.text, "     1\tone\n     2\ttwo\n     3\t\n     4\tfour");
    assert!(!output.is_error && !output.truncated && output.seen.is_some());
    let output = ground.read(json!({"path": "f", "offset": 2, "limit": 1}));
    assert_eq!(output.text, "     2\ttwo\n[lines 2-2 of 4; go on with offset 3]");
    assert_kind(&ground.read(json!({"path": "f", "offset": 5})), "invalid_input");
    assert_eq!(Ground::with("f", "").read(json!({"path": "f"})).text, "[the file is empty]");
}

#[test]
fn a_large_file_is_given_in_pages() {
    let content: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    let ground = Ground::with("log", &content);
    let output = ground.read(json!({"path": "log"}));
    assert!(
        output.truncated
            && output.text.ends_with("  2000\tline 2000\n[lines 1-2000 of 5000; go on with offset 2001]")
    );
    let wide = format!("{}\n", "é".repeat(1000)).repeat(100);
    let ground = Ground::with("wide", &wide);
    let output = ground.read(json!({"path": "wide"}));
    assert!(output.text.len() < 66 * 1024 && output.truncated);
    assert!(output.text.contains("of 100; go on with offset"), "{}", &output.text[output.text.len() - 80..]);
}

#[test]
fn a_long_line_is_given_in_parts() {
    let ground = Ground::with("min.js", format!("{}END\nx\n", "é".repeat(100_000)));
    let output = ground.read(json!({"path": "min.js", "limit": 1}));
    assert!(
        output.text.contains("[… 98003 more characters: offset 1, line_offset 2001]") && output.truncated
    );
    let output = ground.read(json!({"path": "min.js", "line_offset": 100_000}));
    assert_eq!(output.text, "     1\téEND\n     2\tx");
}

#[test]
fn what_is_no_text_is_refused_or_said() {
    let cases: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b"a\0b", "binary"),
        (b"%PDF-1.7\n1 0 obj", "binary"),
        (b"\xcf\xf0\xe8\xe2\xe5\xf2", "encoding"),
    ];
    for (bytes, kind) in cases {
        assert_kind(&Ground::with("f.txt", bytes).read(json!({"path": "f.txt"})), kind);
    }
    let output = Ground::with("f", b"un caf\xe9 au lait, deux fois\n").read(json!({"path": "f"}));
    assert!(output.text.contains("caf\u{fffd} au") && output.text.contains("not UTF-8"), "{}", output.text);
    let output = Ground::with("f", b"\xff\xfea\0\n\0b\0").read(json!({"path": "f"}));
    assert!(output.text.starts_with("     1\ta\n     2\tb\n[the file is UTF-16"), "{}", output.text);
}

#[test]
fn what_is_no_file_is_an_error() {
    let ground = Ground::with("f", "x");
    assert_kind(&ground.read(json!({"path": "."})), "is_directory");
    assert_kind(&ground.read(json!({"path": "/"})), "is_directory");
    assert_kind(&ground.read(json!({"path": "none/f"})), "file_not_found");
    assert_kind(&ground.read(json!({"path": "f/x"})), "file_not_found");
    assert_kind(&ground.read(json!({"path": "/dev/zero"})), "not_regular_file");
    assert_kind(&ground.write(json!({"path": "/dev/null", "content": ""})), "not_regular_file");
    assert_kind(&ground.write(json!({"path": ".", "content": ""})), "is_directory");
    assert_kind(&ground.write(json!({"path": "f/x", "content": ""})), "file_not_found");
}

#[test]
fn a_write_makes_folders_and_keeps_what_belongs_to_the_file() {
    let ground = Ground::new();
    let output = ground.write(json!({"path": "a/b/f.sh", "content": "one\ntwo\n"}));
    assert_eq!(output.text, "created a/b/f.sh (2 lines, 8 bytes)");
    let file = ground.root.join("a/b/f.sh");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).expect("a new mode");
    symlink("a/b/f.sh", ground.root.join("link")).expect("a new link");
    let output = ground.write(json!({"path": "link", "text": ["x", "y"]}));
    assert_eq!(
        (output.text.as_str(), ground.content("a/b/f.sh").as_str()),
        ("wrote a/b/f.sh (2 lines, 3 bytes)", "x\ny")
    );
    assert_eq!(fs::metadata(&file).expect("it is there").mode() & 0o777, 0o750);
    assert!(ground.root.join("link").is_symlink());
    // A link to nothing is a place for a new file.
    symlink("new/target", ground.root.join("dangling")).expect("a new link");
    assert!(!ground.write(json!({"path": "dangling", "content": "z"})).is_error);
    assert_eq!(ground.content("new/target"), "z");
    let large = "x".repeat(8 * 1024 * 1024 + 1);
    assert_kind(&ground.write(json!({"path": "large", "content": large})), "too_large");
}

#[test]
fn a_file_that_changed_since_it_was_seen_is_not_overwritten() {
    let ground = Ground::with("f", "one\n");
    let seen = ground.read(json!({"path": "f"})).seen.expect("it was read").hash;
    let input = json!({"path": "f", "content": "mine\n"});
    let target = ground.target("Write", &input);
    fs::write(ground.root.join("f"), "theirs\n").expect("it is there");
    assert_kind(&ground.carry_out("Write", &input, &target, Some(&seen)), "changed_since_read");
    assert_eq!(ground.content("f"), "theirs\n");
    // Never seen by this agent, it may be written: the verdict is bound to path, device and inode only.
    let output = ground.carry_out("Write", &input, &target, None);
    let seen = output.seen.expect("it was written").hash;
    // What the agent wrote itself voids nothing, although it is another inode now.
    let edit = json!({"path": "f", "old_string": "mine", "new_string": "ours"});
    assert!(!ground.carry_out("Edit", &edit, &target, Some(&seen)).is_error);
    fs::remove_file(ground.root.join("f")).expect("it is there");
    assert_kind(&ground.carry_out("Edit", &edit, &target, Some(&seen)), "changed_since_read");
}

#[test]
fn what_is_opened_is_what_was_judged() {
    let replaced: [(&str, Change); 4] = [
        ("another file", |root| {
            fs::write(root.join("other"), "x")
                .and_then(|()| fs::rename(root.join("other"), root.join("d/f")))
                .expect("moved");
        }),
        ("a link", |root| {
            fs::remove_file(root.join("d/f"))
                .and_then(|()| symlink("/etc/passwd", root.join("d/f")))
                .expect("linked");
        }),
        ("a linked folder", |root| {
            fs::rename(root.join("d"), root.join("e"))
                .and_then(|()| symlink("e", root.join("d")))
                .expect("linked");
        }),
        ("nothing", |root| fs::remove_file(root.join("d/f")).expect("removed")),
    ];
    for (name, replace) in replaced {
        let ground = Ground::new();
        fs::create_dir(ground.root.join("d")).expect("a new folder");
        fs::write(ground.root.join("d/f"), "before").expect("a new file");
        let input = json!({"path": "d/f", "content": "after"});
        let target = ground.target("Write", &input);
        replace(&ground.root);
        let output = ground.carry_out("Write", &input, &target, None);
        assert!(output.text.starts_with("target_changed:"), "{name}: {}", output.text);
        if name.contains("link") {
            let output = maia_tools::read(&json!({"path": "d/f"}), &target, &ground.workspace);
            assert!(output.text.starts_with("target_changed:"), "{name}: {}", output.text);
        }
    }
}

#[test]
fn a_new_file_belongs_into_the_folder_that_was_judged() {
    let ground = Ground::new();
    fs::create_dir(ground.root.join("d")).expect("a new folder");
    let (first, second) =
        (json!({"path": "d/x/1", "content": "1"}), json!({"path": "d/x/2", "content": "2"}));
    let (target, other) = (ground.target("Write", &first), ground.target("Write", &second));
    // A folder that another call of the response made on the way is no change.
    assert!(!ground.carry_out("Write", &first, &target, None).is_error);
    assert!(!ground.carry_out("Write", &second, &other, None).is_error);
    fs::rename(ground.root.join("d"), ground.root.join("e")).expect("moved");
    fs::create_dir(ground.root.join("d")).expect("a new folder");
    assert_kind(&ground.carry_out("Write", &second, &other, None), "target_changed");
}

#[test]
fn a_change_between_preparation_and_end_is_seen() {
    let changes: [(&str, Change); 3] = [
        ("content", |file| fs::write(file, "theirs").expect("written")),
        ("removed", |file| fs::remove_file(file).expect("removed")),
        ("folder", |file| fs::remove_file(file).and_then(|()| fs::create_dir(file)).expect("replaced")),
    ];
    for (name, change) in changes {
        let ground = Ground::with("f", "before");
        let input = json!({"path": "f", "content": "after"});
        let target = ground.target("Write", &input);
        let work =
            maia_tools::prepare("Write", &input, &target, None, &ground.workspace).expect("it can be done");
        change(&ground.root.join("f"));
        assert!(work.commit().is_error, "{name}");
        assert!(ground.names().iter().all(|name| !name.ends_with(".tmp")), "{name}: {:?}", ground.names());
    }
    let ground = Ground::new();
    let input = json!({"path": "new", "content": "mine"});
    let target = ground.target("Write", &input);
    let work =
        maia_tools::prepare("Write", &input, &target, None, &ground.workspace).expect("it can be done");
    fs::write(ground.root.join("new"), "theirs").expect("a new file");
    assert_kind(&work.commit(), "target_changed");
    assert_eq!((ground.content("new").as_str(), ground.names()), ("theirs", vec!["new".to_owned()]));
}

#[test]
fn a_preparation_changes_nothing_and_shows_the_difference() {
    let ground = Ground::with("f", "a\nb\nc\n");
    let input = json!({"path": "f", "old_string": "b", "new_string": "B"});
    let target = ground.target("Edit", &input);
    let work = maia_tools::prepare("Edit", &input, &target, None, &ground.workspace).expect("it can be done");
    let diff = work.diff().expect("both are texts");
    assert!(diff.contains("-b\n+B\n"), "{diff}");
    assert_eq!(work.intent().target, target);
    assert_eq!(maia_tools::probe(work.intent()), WriteFound::Before);
    drop(work);
    assert_eq!((ground.content("f").as_str(), ground.names()), ("a\nb\nc\n", vec!["f".to_owned()]));
}

#[test]
fn a_probe_tells_what_a_crash_left() {
    let ground = Ground::with("f", "before");
    let input = json!({"path": "f", "content": "after"});
    let target = ground.target("Write", &input);
    let work =
        maia_tools::prepare("Write", &input, &target, None, &ground.workspace).expect("it can be done");
    let intent = work.intent().clone();
    assert!(!work.commit().is_error);
    assert_eq!(maia_tools::probe(&intent), WriteFound::After);
    fs::write(ground.root.join("f"), "theirs").expect("it is there");
    assert_eq!(maia_tools::probe(&intent), WriteFound::Neither);
    // A name that is not that of a temporary file is never removed, whatever an intent says.
    let forged = WriteIntent { temporary: ground.root.join("f"), ..intent };
    maia_tools::probe(&forged);
    assert_eq!(ground.content("f"), "theirs");
    let input = json!({"path": "no/such/folder", "content": "x"});
    let target = ground.target("Write", &input);
    let work =
        maia_tools::prepare("Write", &input, &target, None, &ground.workspace).expect("it can be done");
    assert_eq!(maia_tools::probe(work.intent()), WriteFound::Before);
}

fn host(args: &[&str]) -> (Child, std::io::Lines<BufReader<std::process::ChildStdout>>) {
    let mut host = Command::new(HOST)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the host starts");
    let lines = BufReader::new(host.stdout.take().expect("a pipe")).lines();
    (host, lines)
}

#[test]
fn a_kill_between_the_temporary_file_and_the_rename_leaves_the_old_file() {
    for file in ["old", "new"] {
        let ground = Ground::with("old", "before");
        let path = ground.root.join(file);
        let (mut host, mut lines) = host(&["stage", path.to_str().expect("text"), "after"]);
        let intent = lines.next().expect("an intent").expect("text");
        let intent: WriteIntent = serde_json::from_str(&intent).expect("an intent");
        host.kill().expect("it runs");
        host.wait().expect("it was killed");
        assert!(intent.temporary.is_file());
        assert_eq!(maia_tools::probe(&intent), WriteFound::Before);
        assert_eq!((ground.content("old").as_str(), ground.names()), ("before", vec!["old".to_owned()]));
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_whole_file() {
    const BYTES: usize = 300_000;
    for round in 1..=6 {
        let ground = Ground::with("f", "");
        let path = ground.root.join("f");
        let (mut host, mut lines) = host(&["rewrite", path.to_str().expect("text"), &BYTES.to_string()]);
        for _ in 0..round {
            lines.next().expect("a letter").expect("text");
        }
        host.kill().expect("it runs");
        host.wait().expect("it was killed");
        let content = ground.content("f");
        let first = content.chars().next().expect("it was written");
        assert!(content.len() == BYTES && content.chars().all(|letter| letter == first), "a torn file");
    }
}

#[test]
fn a_staged_write_is_put_in_place() {
    let ground = Ground::with("f", "before");
    let path = ground.root.join("f");
    let (mut host, mut lines) = host(&["stage", path.to_str().expect("text"), "after"]);
    lines.next().expect("an intent").expect("text");
    host.stdin.take().expect("a pipe").flush().expect("it runs");
    assert!(lines.next().expect("a result").expect("text").contains("(1 line, 5 bytes)"));
    assert!(host.wait().expect("it ends").success());
    assert_eq!((ground.content("f").as_str(), ground.names()), ("after", vec!["f".to_owned()]));
}
