//! `maia sessions list | show` on sessions of real runs: finished, failed, killed, running, torn, of a later version.

use std::path::{Path, PathBuf};

use maia_test_support::{Gate, Reply};
use maia_tests::harness::endpoint::says;
use maia_tests::harness::{Ended, Endpoint, Script, World};
use serde_json::{Value, json};

use crate::MAIA;

/// A script of a main agent that asks a reader, which reads a file.
fn reading(task: &str) -> Script {
    Script::new()
        .calls("maia", &[("Agent", json!({"agent": "reader", "task": task}))])
        .calls("maia/reader#1", &[("Read", json!({"path": "in.txt"}))])
        .text("maia/reader#1", "it says hello")
        .text("maia", "the reader is done")
}

fn world() -> World {
    let world = World::new(MAIA);
    world.write("in.txt", format!("hello\n{}", "long ".repeat(300)));
    world.agent("reader", &["Read"], &["Read(**)"]);
    world
}

fn read_through(world: &World, request: &str) {
    let model = world.script(&reading("look into in.txt"));
    world.run().arg(request).model(model).allow(&["Agent"]).end().with_code(0);
}

fn sessions(world: &World, arguments: &[&str]) -> Ended {
    world.maia().arg("sessions").args(arguments.iter().copied()).end()
}

fn listed(world: &World, arguments: &[&str]) -> Vec<Value> {
    let ended = sessions(world, &[&["list", "--json"], arguments].concat()).with_code(0);
    ended.out().lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

fn journal(dir: &Path) -> PathBuf {
    dir.join("journal.jsonl")
}

#[test]
fn sessions_are_listed_and_shown() {
    let world = world();
    let nothing = sessions(&world, &["list"]).with_code(0);
    assert_eq!(nothing.out(), "");
    assert!(nothing.err().contains("no sessions yet"), "{nothing}");

    read_through(&world, "first \u{1b}[31mrequest\nof two lines");
    let model = world.script(&Script::new().text("maia", "hm"));
    world.run().arg("the second").model(model).end().with_code(0);
    let list = listed(&world, &[]);
    let requests: Vec<_> =
        list.iter().map(|session| session["request"].as_str().unwrap_or_default()).collect();
    assert_eq!(requests, ["the second", "first \u{1b}[31mrequest of two lines"], "newest first");
    let fields =
        |of: &Value| json!([of["state"], of["turns"], of["agents"], of["input_tokens"], of["output_tokens"]]);
    assert_eq!(
        list.iter().map(fields).collect::<Vec<_>>(),
        [json!(["done", 1, 0, 10, 5]), json!(["done", 1, 1, 40, 20])]
    );
    assert_eq!(list[0]["cwd"], json!(world.cwd()));

    let text = sessions(&world, &["list"]).with_code(0);
    let lines: Vec<_> = text.out().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].contains("1 turn · 1 agent · 60 tokens · first ^[[31mrequest"), "{text}");
    assert!(!text.out().contains('\u{1b}'), "nothing raw reaches the terminal");

    let (name, id) = (list[1]["name"].as_str().expect("a name"), list[1]["id"].as_str().expect("an id"));
    // The times of two sessions may be the same up to a place: all but the end of one names it still.
    for wanted in [name, id, &id[..id.len() - 1]] {
        let shown = sessions(&world, &["show", wanted]).with_code(0);
        let text = shown.out();
        for part in [
            " · done\n",
            "  maia · done · 2 iterations · 1 call · 20 in, 10 out (with all below 40 in, 20 out)\n",
            "    maia/reader#1 · done · 2 iterations · 1 call · 20 in, 10 out\n      task: look into in.txt\n",
            "\ntranscript of maia\n> first ^[[31mrequest\n  of two lines\n→ Agent reader\n",
            "it says hello",
            "the reader is done\n",
        ] {
            assert!(text.contains(part), "{part:?} in {shown}");
        }
        assert!(!text.contains('\u{1b}') && shown.err().is_empty(), "{shown}");
    }
    let reader = sessions(&world, &["show", name, "--actor", "maia/reader#1"]).with_code(0);
    let transcript =
        reader.out().split_once("transcript of maia/reader#1\n").map(|(_, rest)| rest.to_owned());
    let transcript = transcript.expect("its own");
    assert!(transcript.starts_with("> look into in.txt\n→ Read in.txt\n  = "), "{transcript}");
    assert!(transcript.contains("hello\n") && transcript.contains(" more characters]\n"), "{transcript}");
    assert!(transcript.ends_with("it says hello\n-- done\n"), "{transcript}");

    let json = sessions(&world, &["show", name, "--json"]).with_code(0);
    let lines: Vec<Value> =
        json.out().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        (&lines[0]["type"], &lines[0]["state"], &lines[0]["agents"]),
        (&json!("session"), &json!("done"), &json!(1))
    );
    assert_eq!((&lines[1]["actor"], &lines[2]["actor"]), (&json!("maia"), &json!("maia/reader#1")));
    assert_eq!((&lines[2]["outcome"], &lines[2]["totals"]["input_tokens"]), (&json!("done"), &json!(20)));
    assert_eq!(
        (&lines[1]["subtree"]["input_tokens"], &lines[1]["totals"]["input_tokens"]),
        (&json!(40), &json!(20))
    );
    assert_eq!(lines[3]["type"], "session_started");
    assert_eq!(lines.last().map(|last| last["type"].clone()), Some(json!("session_ended")));
    assert!(std::fs::read_dir(world.cwd()).expect("a folder").count() == 1, "nothing is made in the folder");
}

#[test]
fn shown_events_are_those_of_the_stream() {
    let world = World::new(MAIA);
    world.write("README.md", "# Lathe\n");
    let run =
        world.run().args(["what is here?", "--json", "--mode", "read-only"]).model("demo").end().with_code(0);
    let streamed: Vec<Value> = run.events().into_iter().filter(|event| event["live"] != true).collect();
    assert!(streamed.len() > 10 && streamed.iter().all(|event| event["demo"] == true));
    let agents: Vec<_> = listed(&world, &[]).into_iter().map(|session| session["agents"].clone()).collect();
    assert!(agents[0].as_u64() > Some(2), "{agents:?}");
    for actor in ["maia", "maia/explorer#1"] {
        let shown = sessions(&world, &["show", "session_", "--actor", actor, "--json"]).with_code(0);
        let text = shown.out();
        let shown = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let shown: Vec<Value> = shown.filter(|line: &Value| !line["seq"].is_null()).collect();
        assert!(shown.len() > 3, "{shown:?}");
        for event in &shown {
            assert!(streamed.contains(event), "{event}");
        }
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let world = world();
    read_through(&world, "go");
    read_through(&world, "go again");
    let list = listed(&world, &[]);
    let name = |at: usize| list[at]["name"].as_str().expect("a name").to_owned();
    let none = sessions(&world, &["show", "nothing"]).with_code(2);
    assert!(none.err().contains("no session \"nothing\"") && none.err().contains(&name(0)), "{none}");
    let several = sessions(&world, &["show", "session_"]).with_code(2);
    assert!(several.err().contains(&name(0)) && several.err().contains(&name(1)), "{several}");
    let actor = sessions(&world, &["show", &name(0), "--actor", "maia/nobody#1"]).with_code(2);
    assert!(actor.err().contains("there are maia, maia/reader#1"), "{actor}");

    // Another folder has its own; --all has every one.
    let other = tempfile::tempdir().expect("a folder");
    let cwd = other.path().display().to_string();
    assert_eq!(listed(&world, &["--cwd", &cwd]).len(), 0);
    assert_eq!(listed(&world, &["--all", "--cwd", &cwd]).len(), 2);
    let all = sessions(&world, &["list", "--all", "--cwd", &cwd]).with_code(0);
    assert!(all.out().contains(&world.cwd().display().to_string()), "{all}");
    let elsewhere = sessions(&world, &["show", &name(0), "--cwd", &cwd]).with_code(2);
    assert!(elsewhere.err().contains("there are none yet"), "{elsewhere}");
}

#[test]
fn a_session_is_shown_while_it_runs_and_after_it_was_killed() {
    let world = world();
    let gate = Gate::new();
    let held = gate.clone();
    let endpoint = Endpoint::start(move |asked| match asked.step {
        1 => Reply::status(200).header("content-type", "text/event-stream").hold(&held),
        _ => says("done"),
    });
    let running = world.run().args(["take your time", "--json"]).endpoint(endpoint.url()).start();
    running.wait_for("the opening", |event| event["type"] == "turn_started");
    let list = listed(&world, &[]);
    assert_eq!((list.len(), &list[0]["state"]), (1, &json!("running")));
    assert!(list[0]["open_in"].is_u64(), "{list:?}");
    let name = list[0]["name"].as_str().expect("a name").to_owned();
    let shown = sessions(&world, &["show", &name]).with_code(0);
    assert!(
        shown.out().contains(" · running in process ") && shown.out().contains("> take your time\n"),
        "{shown}"
    );
    running.signal(rustix::process::Signal::KILL);
    running.end();
    gate.open();
    let list = listed(&world, &[]);
    assert_eq!((&list[0]["state"], &list[0]["turns"]), (&json!("interrupted"), &json!(1)));
    let shown = sessions(&world, &["show", &name]).with_code(0);
    assert!(shown.out().starts_with(&format!("{name} · interrupted\n")), "{shown}");
}

#[test]
fn damage_is_said_and_what_is_good_is_shown() {
    let world = world();
    read_through(&world, "go");
    let dir = world.sessions().pop().expect("a session");
    let whole = std::fs::read(journal(&dir)).expect("there");
    let name = listed(&world, &[])[0]["name"].as_str().expect("a name").to_owned();
    let with = |bytes: &[u8]| {
        std::fs::write(journal(&dir), bytes).expect("written");
        (listed(&world, &[]), sessions(&world, &["show", &name]).with_code(0))
    };
    let (list, shown) = with(&whole[..whole.len() - 20]);
    assert_eq!(list[0]["state"], "interrupted", "its end is gone");
    assert!(shown.err().contains("not whole, and is not shown"), "{shown}");
    assert!(shown.out().contains("the reader is done"), "{shown}");

    let (list, shown) = with(&[&whole[..], b"{\"v\":7,\"seq\":99,\"what\":\"ever\"}\n"].concat());
    assert_eq!(list[0]["request"], "go");
    assert!(shown.err().contains("a later version of maia went on with this session (format 7)"), "{shown}");

    let mut flipped = whole.clone();
    flipped[whole.len() / 10 * 9] ^= 1;
    let (_, shown) = with(&flipped);
    assert!(shown.err().contains("note: "), "{shown}");
    assert!(shown.out().contains("> go\n"), "{shown}");
    assert_eq!(std::fs::read(journal(&dir)).expect("there"), flipped, "nothing is mended by a look");

    // One that is of a later version from its first line: left out of the list with a word, and said when it is named.
    std::fs::write(journal(&dir), b"{\"v\":7,\"seq\":1}\n").expect("written");
    let listing = sessions(&world, &["list"]).with_code(0);
    assert!(
        listing.out().is_empty() && listing.err().contains("a later version of maia wrote it"),
        "{listing}"
    );
    let id = dir.file_name().expect("a name").to_string_lossy().into_owned();
    let shown = sessions(&world, &["show", &id]).with_code(1);
    assert!(shown.err().contains("a later version of maia wrote it"), "{shown}");
}
