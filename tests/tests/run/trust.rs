//! What a folder brings: inert until it is trusted, its deny excepted (SAFETY 4).

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World, definition, field, of_type};
use serde_json::json;

use crate::MAIA;

/// A folder with settings, a definition and a model.
fn folder() -> World {
    let world = World::new(MAIA);
    let rules = json!({"permissions": {"allow": ["Bash(echo *)", "Agent(guest)"], "ask": [], "deny": ["Read(secret.txt)"]}});
    world.write(".maia/settings.json", rules.to_string());
    world.write(".maia/config.json", json!({"model": "model-of-the-folder"}).to_string());
    world.write(".maia/agents/guest/AGENT.md", definition("guest", &["Read"], &["Read(**)"]));
    world.write("secret.txt", "secret\n");
    world.write("open.txt", "open\n");
    world
}

fn endpoint() -> Endpoint {
    Endpoint::start(|asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[
            ("Bash", json!({"command": "echo it counts"})),
            ("Agent", json!({"agent": "guest", "task": "look"})),
            ("Read", json!({"path": "secret.txt"})),
            ("Read", json!({"path": "open.txt"})),
        ]),
        ("guest", 1) => {
            calls(&[("Read", json!({"path": "open.txt"})), ("Read", json!({"path": "secret.txt"}))])
        }
        (name, _) => says(&format!("{name} is done")),
    })
}

/// Runs with `flags`; returns which of the main agent's four calls went well, stderr, and the exit code.
fn run(world: &World, flags: &[&str]) -> ([bool; 4], String, Option<i32>) {
    let endpoint = endpoint();
    let maia = world.run().args(["go", "--json"]).args(flags.iter().copied()).endpoint(endpoint.url());
    let ended = maia.allow(&["Read(**)"]).end();
    let events = ended.events();
    let well = |call: &str| {
        let results = of_type(&events, "tool_result");
        results.iter().any(|result| result["id"] == call && result["is_error"] == false)
    };
    // Whoever reads it, what the folder denies stays denied.
    for result in of_type(&events, "tool_result") {
        assert!(
            !field(result, "output").contains("secret\n") && !field(result, "output").ends_with("\tsecret"),
            "{result}"
        );
    }
    (["maia:1.1", "maia:1.2", "maia:1.3", "maia:1.4"].map(well), ended.err(), ended.code)
}

#[test]
fn what_a_folder_brings_is_inert_but_what_it_denies() {
    let world = folder();
    let (well, err, code) = run(&world, &[]);
    assert_eq!(well, [false, false, false, true], "{err}");
    assert_eq!(code, Some(4), "the command needed a permission: {err}");
    assert!(!err.contains("trusted for this run"), "{err}");
}

#[test]
fn with_trust_it_counts_and_is_listed() {
    let world = folder();
    let (well, err, code) = run(&world, &["--trust"]);
    assert_eq!(well, [true, true, false, true], "{err}");
    assert_eq!(code, Some(0), "{err}");
    for file in [".maia/settings.json", ".maia/config.json", ".maia/agents/guest/AGENT.md"] {
        let listed = format!("{}\n", world.cwd().join(file).display());
        assert!(err.contains("trusted for this run: ") && err.contains(&listed), "{file}: {err}");
    }
    // It was for that run only.
    assert_eq!(run(&world, &[]).0, [false, false, false, true]);
}

#[test]
fn the_hash_of_what_was_looked_at_counts_and_no_other() {
    let world = folder();
    let shown = world.maia().args(["trust", "show"]).end().with_code(0).out();
    let (_, hash) = shown.split_once("--trust=").expect("the hash is shown");
    let flag = format!("--trust={}", hash.trim());
    assert_eq!(run(&world, &[&flag]).0, [true, true, false, true]);

    world.write(".maia/agents/guest/AGENT.md", definition("guest", &["Read", "Bash"], &["Bash(*)"]));
    let maia = world.run().arg("go").arg(&flag).model("m").env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let ended = maia.end().with_code(2);
    assert!(ended.err().contains("maia trust show"), "{ended}");
}

#[test]
fn a_bare_trust_is_refused_in_a_run_for_a_strangers_pull_request() {
    let world = folder();
    let maia = world.run().args(["go", "--trust"]).model("m").env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let ended = maia.env("GITHUB_EVENT_NAME", "pull_request_target").end().with_code(2);
    assert!(ended.err().contains("--trust=HASH"), "{ended}");
}

#[test]
fn the_model_of_a_folder_counts_only_with_trust() {
    for (flags, expected) in [(vec![], "one of the person"), (vec!["--trust"], "model-of-the-folder")] {
        let world = folder();
        world.write_home(".maia/config.json", json!({"model": "one of the person"}).to_string());
        let endpoint = Endpoint::start(|_| says("hello"));
        let url = format!("{}/v1", endpoint.url());
        let ended =
            world.run().args(["go", "--json"]).args(flags).env("OPENAI_BASE_URL", url).end().with_code(0);
        assert_eq!(
            ended.events().first().map(|first| field(first, "model").to_owned()).as_deref(),
            Some(expected)
        );
    }
}
