//! The agents that come with maia, each on a real folder: what it reads unasked, what it is refused, what it hands back.

use std::process::Command;

use maia_tests::harness::{Script, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;

/// An agent of `agents/`, a call that it may not make by itself, why not, and the exit code of a run without anybody to ask.
struct Case {
    name: &'static str,
    forbidden: (&'static str, Value),
    why: &'static str,
    code: i32,
    /// Its answer, in the form of its Output section.
    answer: &'static str,
}

fn cases() -> Vec<Case> {
    let write = || ("Write", json!({"path": "new.txt", "content": "x"}));
    let bash = || ("Bash", json!({"command": "touch new.txt"}));
    let case = |name, forbidden, why, code, answer| Case { name, forbidden, why, code, answer };
    let (unknown, nobody) = ("Unknown tool", "nobody can answer");
    vec![
        case(
            "explorer",
            write(),
            unknown,
            0,
            "# Answer\nIt adds.\n\n# Places\nsrc/lib.rs:1: add\n\n# Gaps\nnone",
        ),
        case(
            "planner",
            bash(),
            unknown,
            0,
            "# add\ntasks:\n  - id: a\n    agent: explorer\n    task: look\non_failure: skip",
        ),
        case("reviewer", bash(), nobody, 4, "checked | src/lib.rs\nverdict | accept"),
        case(
            "tester",
            bash(),
            nobody,
            4,
            "result | not run\ncommand | none\ncounts | passed ? | failed ? | skipped ?",
        ),
        case("writer", write(), nobody, 4, "# Files\nnone\n\n# Open\nnone\n\n# Text\nIt adds."),
    ]
}

#[test]
fn each_reads_unasked_and_does_nothing_else_by_itself() {
    for Case { name, forbidden, why, code, answer } in cases() {
        let world = World::new(MAIA);
        world.write("src/lib.rs", "pub fn add(a: u8, b: u8) -> u8 { a + b }\n");
        let reads = [
            ("Read", json!({"path": "src/lib.rs"})),
            ("Glob", json!({"pattern": "**/*.rs"})),
            ("Grep", json!({"pattern": "fn add", "output_mode": "content"})),
        ];
        // A secret file is no matter of course for a reader either.
        world.write(".env", "KEY=1\n");
        let script = Script::new()
            .calls("maia", &[("Agent", json!({"agent": name, "task": "Say what it does."}))])
            .calls(name, &reads)
            .calls(name, &[forbidden])
            .text(name, answer)
            .text("maia", "done");
        let maia = world.run().args(["go", "--json"]).model(world.script(&script)).allow(&["Agent"]);
        let ended = maia.end().with_code(code);
        let events = ended.events();
        check_stream(&events).unwrap_or_else(|error| panic!("{name}: {error}\n{ended}"));
        let own = format!("maia/{name}#1");
        let results = of_type(&events, "tool_result");
        let result = |call: &str| {
            let id = format!("{own}:{call}");
            *results
                .iter()
                .find(|result| field(result, "id") == id)
                .unwrap_or_else(|| panic!("no {id}\n{ended}"))
        };
        for (call, part) in [("1.1", "pub fn add"), ("1.2", "src/lib.rs"), ("1.3", "src/lib.rs:1:pub fn add")]
        {
            let result = result(call);
            assert!(
                result["is_error"] == false && field(result, "output").contains(part),
                "{name}: {result}"
            );
        }
        let refused = result("2.1");
        assert!(refused["is_error"] == true && field(refused, "output").contains(why), "{name}: {refused}");
        assert_eq!(world.read("new.txt"), None, "{name}");
        let ends = of_type(&events, "agent_finished");
        let end = ends.iter().find(|end| field(end, "actor") == own).expect("it ends");
        assert_eq!((field(end, "outcome"), field(end, "summary")), ("done", answer), "{name}");
        let spawned = of_type(&events, "agent_spawned");
        let spawned = spawned.iter().find(|spawned| field(spawned, "actor") == own).expect("it began");
        assert_eq!(spawned["rules"]["allow"], json!(["Read(**)", "Glob(**)", "Grep(**)"]), "{name}");
        assert_eq!(spawned["budget"], 25, "{name}");
    }
}

#[test]
fn a_secret_file_is_read_by_none_of_them_unasked() {
    for Case { name, .. } in cases() {
        let world = World::new(MAIA);
        world.write(".env", "KEY=1\n");
        let script = Script::new()
            .calls("maia", &[("Agent", json!({"agent": name, "task": "Read it."}))])
            .calls(name, &[("Read", json!({"path": ".env"})), ("Grep", json!({"pattern": "KEY"}))])
            .text(name, "no")
            .text("maia", "done");
        let maia = world.run().args(["go", "--json"]).model(world.script(&script)).allow(&["Agent"]);
        let ended = maia.end().with_code(4);
        assert!(!ended.out().contains("KEY=1"), "{name}: {ended}");
    }
}

#[test]
fn each_passes_its_check_and_is_listed() {
    let world = World::new(MAIA);
    let mut check: Command = world.maia().args(["agents", "check", "--json"]).command();
    for Case { name, .. } in cases() {
        check.arg(maia_tests::root().join("agents").join(name).join("AGENT.md"));
    }
    let checked = check.output().expect("it runs");
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let out = String::from_utf8(checked.stdout).expect("JSON lines");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), cases().len());
    for line in lines {
        assert!(line["valid"] == true && line["warnings"] == json!([]), "{line}");
    }
    let listed = world.maia().args(["agents", "list"]).end().with_code(0);
    for Case { name, .. } in cases() {
        assert!(listed.out().contains(name), "{listed}");
    }
    // The folder and the binary hold the same ones.
    let folders = maia_tests::folders("agents").expect("it is there");
    let names: Vec<_> = folders.iter().filter_map(|folder| folder.file_name()?.to_str()).collect();
    assert_eq!(names, cases().iter().map(|case| case.name).collect::<Vec<_>>());
}
