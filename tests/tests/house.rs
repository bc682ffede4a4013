//! Rules of the house that no compiler checks: every module says what it is for, every case is read by a test, every event
//! is documented, every dependency has its reason, and what the README promises is what CI runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cargo_metadata::{MetadataCommand, Package};
use maia_protocol::event::{AgentEvent, EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent};
use maia_protocol::{Event, Op};
use maia_tests::{Block, blocks, files, folders, root, shown, text};
use serde_json::Value;

/// Comment before a block of the README that `.ci/run` carries out.
const RUN_BY_CI: &str = "<!-- run by .ci/run -->";

fn members() -> Vec<Package> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps();
    command.exec().expect("cargo reads the manifests of this workspace").packages
}

/// Every Rust file of the house, without the cases, which are data.
fn sources() -> Vec<PathBuf> {
    let all = ["crates", "tests", "xtask"].into_iter().flat_map(|folder| files(folder).expect("it is ours"));
    let rust = all.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.filter(|path| !shown(path).starts_with("tests/cases/")).collect()
}

fn is_text(path: &Path) -> bool {
    let named = path.extension().and_then(|extension| extension.to_str());
    matches!(named, Some("rs" | "toml" | "md" | "jsonl" | "json" | "yml" | "yaml" | "sh"))
        || path.ends_with("run")
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let sources = sources();
    assert!(sources.len() > 50, "only {} sources were found", sources.len());
    let silent = sources.iter().filter(|path| !text(path).expect("a source is text").starts_with("//! "));
    assert_eq!(silent.map(|path| shown(path)).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn nothing_unfinished_is_left_in_the_sources() {
    // Put together here, so that this file is not one of those that it finds.
    let marks = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    let left = sources().into_iter().flat_map(|path| {
        let text = text(&path).expect("a source is text");
        let found = marks.iter().filter(|mark| text.contains(*mark)).cloned().collect::<Vec<_>>();
        found.into_iter().map(move |mark| format!("{}: {mark}", shown(&path)))
    });
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_crate_obeys_the_lints_of_the_workspace() {
    for member in members() {
        let manifest = text(member.manifest_path.as_std_path()).expect("a manifest is text");
        let lints = manifest.lines().skip_while(|line| line.trim() != "[lints]").nth(1);
        assert_eq!(lints.map(str::trim), Some("workspace = true"), "[lints] of {}", member.name);
    }
}

#[test]
fn every_crate_and_only_those_are_told_of_in_the_architecture() {
    let page = text("ARCHITECTURE.md").expect("it is there");
    let told: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.split_once('`').map(|(name, _)| name))
        .collect();
    let members = members();
    let built: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(told, built);
}

#[test]
fn every_direct_dependency_has_its_reason_in_the_architecture() {
    let page = text("ARCHITECTURE.md").expect("it is there");
    let (_, section) =
        page.split_once("\n## Dependencies").expect("ARCHITECTURE.md has a section Dependencies");
    let section = section.split("\n## ").next().unwrap_or_default();
    // A row is `| `name` | reason |`; what belongs together shares one.
    let named = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let told: BTreeSet<String> = named
        .flat_map(|names| names.split(','))
        .map(|name| name.trim_matches(|c: char| c == '`' || c.is_whitespace()).to_owned())
        .collect();
    let members = members();
    let ours: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let dependencies = members.iter().flat_map(|member| &member.dependencies);
    let used: BTreeSet<String> = dependencies
        .filter(|dependency| !ours.contains(dependency.name.as_str()))
        .map(|dependency| dependency.name.clone())
        .collect();
    assert_eq!(used.difference(&told).collect::<Vec<_>>(), Vec::<&String>::new(), "used, without a reason");
    assert_eq!(told.difference(&used).collect::<Vec<_>>(), Vec::<&String>::new(), "a reason for nothing");
}

#[test]
fn every_test_file_is_a_test_of_the_package() {
    let members = members();
    for member in &members {
        let folder = member.manifest_path.parent().expect("a manifest lies in a folder").join("tests");
        let targets = member.targets.iter().filter(|target| target.is_test());
        let built: BTreeSet<PathBuf> =
            targets.map(|target| target.src_path.clone().into_std_path_buf()).collect();
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let there = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let rust = there.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        let forgotten: Vec<_> = rust.filter(|path| !built.contains(path)).map(|path| shown(&path)).collect();
        assert_eq!(forgotten, Vec::<String>::new(), "{} does not build them", member.name);
    }
}

#[test]
fn every_folder_of_cases_is_read_by_a_test() {
    let texts: Vec<String> = sources().iter().map(|path| text(path).expect("a source is text")).collect();
    let mut kinds = folders("tests/cases").expect("the cases can be listed");
    assert!(!kinds.is_empty(), "there are no cases");
    kinds.extend([root().join("tests/journals")].into_iter().filter(|folder| folder.is_dir()));
    let unread = kinds.iter().map(|folder| shown(folder)).filter(|folder| {
        // A test may put the name of a kind behind a common folder.
        let (_, kind) = folder.rsplit_once('/').unwrap_or(("", folder));
        let named = [folder.clone(), format!("\"{kind}\""), format!("/cases/{kind}")];
        !texts.iter().any(|text| named.iter().any(|named| text.contains(named)))
    });
    assert_eq!(unread.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    let checkout = format!("{}/", root().display());
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1).map(|home| format!("{home}/"));
    let ours = files(".").expect("the work tree can be listed");
    let left = ours.iter().filter(|path| is_text(path)).filter(|path| {
        // The homes in cases are those of people who do not exist; one of them may be called as somebody here.
        let home = home.as_ref().filter(|_| !shown(path).starts_with("tests/cases/"));
        // A case may hold bytes that are no text, and then no path of ours.
        text(path).is_ok_and(|text| {
            text.contains(&checkout) || home.is_some_and(|home| text.contains(home.as_str()))
        })
    });
    assert_eq!(left.map(|path| shown(path)).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn ci_runs_the_commands_of_the_readme() {
    let readme = text("README.md").expect("it is there");
    let script = text(".ci/run").expect("it is there");
    assert!(script.contains(RUN_BY_CI), ".ci/run no longer looks for {RUN_BY_CI}");
    let readme = blocks(&readme);
    let run: Vec<&Block<'_>> = readme.iter().filter(|block| block.before == RUN_BY_CI).collect();
    let commands: Vec<&str> = run.iter().filter_map(|block| block.lines.first().copied()).collect();
    assert!(commands.iter().any(|line| line.starts_with("cargo run --release -p maia")), "{commands:?}");
    assert!(commands.contains(&"cargo test --workspace"), "{commands:?}");
    // Whatever else the page tells people to do with cargo is tried by CI as well.
    let others = readme.iter().filter(|block| block.language == "sh" && block.before != RUN_BY_CI);
    let lines = others.flat_map(|block| &block.lines).filter(|line| line.starts_with("cargo "));
    let untried: Vec<_> = lines.filter(|line| !script.contains(**line)).collect();
    assert_eq!(untried, Vec::<&&str>::new());
}

#[test]
fn files_that_the_readme_names_are_there() {
    let readme = text("README.md").expect("it is there");
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link));
    let local = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
    let missing = local.filter(|link| !root().join(link).exists());
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Returns the types of one subject, as its own reader names them when it is given something else.
fn types_of<E: serde::de::DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_value::<E>(serde_json::json!({"type": "?"}))
        .err()
        .expect("? is no type of an event");
    let message = error.to_string();
    let (_, expected) = message.split_once("expected").expect("the reader names what it knows");
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns every type of event that there is.
fn types() -> BTreeSet<String> {
    // A new subject stops this from compiling: then its types belong in the list below.
    let subject = |body: &EventBody| match body {
        EventBody::Session(_)
        | EventBody::Talk(_)
        | EventBody::Agent(_)
        | EventBody::Tool(_)
        | EventBody::Notice(_) => {}
    };
    subject(&EventBody::Session(SessionEvent::TurnStarted { turn: 1 }));
    let subjects = [
        types_of::<SessionEvent>(),
        types_of::<TalkEvent>(),
        types_of::<AgentEvent>(),
        types_of::<ToolEvent>(),
        types_of::<NoticeEvent>(),
    ];
    subjects.into_iter().flatten().collect()
}

/// Returns the sections of `docs/events.md` that describe a type: its name and its text.
fn sections(page: &str) -> Vec<(String, &str)> {
    let sections = page.split("\n### `").skip(1);
    sections
        .filter_map(|section| section.split_once('`'))
        .map(|(name, text)| (name.to_owned(), text))
        .collect()
}

#[test]
fn every_event_is_documented_with_an_example_that_can_be_read() {
    let page = text("docs/events.md").expect("it is there");
    let sections = sections(&page);
    let told: BTreeSet<String> = sections.iter().map(|(name, _)| name.clone()).collect();
    let types = types();
    assert!(types.len() >= 26, "only {types:?} were found");
    assert_eq!(told, types);
    for (name, section) in &sections {
        // The last section ends with the page's next title.
        let section = section.split("\n## ").next().unwrap_or_default();
        let examples: Vec<&str> = blocks(section)
            .into_iter()
            .filter(|block| block.language == "json")
            .flat_map(|block| block.lines)
            .collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let value: Value =
                serde_json::from_str(example).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(value.get("type").and_then(Value::as_str), Some(name.as_str()));
            let event: Event =
                serde_json::from_str(example).unwrap_or_else(|error| panic!("{name}: {error}"));
            // Read and written again it is the same: no field is misspelt, none is missing.
            assert_eq!(serde_json::to_value(&event).expect("plain data"), value, "{name}");
            check_fields(name, section, &value);
        }
    }
}

#[test]
fn every_order_of_the_page_can_be_read() {
    let page = text("docs/events.md").expect("it is there");
    let orders =
        blocks(&page).into_iter().filter(|block| block.language == "jsonl").flat_map(|block| block.lines);
    let orders: Vec<&str> = orders.collect();
    assert!(!orders.is_empty(), "the page has no orders");
    for order in orders {
        let value: Value = serde_json::from_str(order).unwrap_or_else(|error| panic!("{order}: {error}"));
        let op: Op = serde_json::from_str(order).unwrap_or_else(|error| panic!("{order}: {error}"));
        assert_eq!(serde_json::to_value(&op).expect("plain data"), value);
    }
}

/// Every field of an example has its line in the section, and every line its field.
fn check_fields(name: &str, section: &str, example: &Value) {
    const COMMON: &[&str] = &["seq", "time", "session", "actor", "live", "demo", "type"];
    let told: BTreeSet<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.split_once('`').map(|(field, _)| field))
        .collect();
    let fields = example.as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str));
    let shown: BTreeSet<&str> = fields.filter(|field| !COMMON.contains(field)).collect();
    assert_eq!(told, shown, "fields of {name}: told, shown");
}
