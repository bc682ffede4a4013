//! Questions that nobody can answer, and the lines that answer them next time (SAFETY 1, Headless); modes.

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;

/// Calls that ask in mode `confirm`, and what they leave.
const CALLS: &[(&str, &str, &str)] = &[
    ("Bash", "command", "echo 'it''s' >> log"),
    ("Bash", "command", "echo \"a  b\" | tee -a log"),
    ("Write", "path", "new file.txt"),
    ("Read", "path", "in.txt"),
];

fn input(name: &str, value: &str) -> Value {
    match name {
        "path" if value.starts_with("new") => json!({"path": value, "content": "x"}),
        _ => json!({name: value}),
    }
}

fn endpoint() -> Endpoint {
    Endpoint::start(|asked| match asked.step {
        1 => {
            let inputs: Vec<_> =
                CALLS.iter().map(|(tool, name, value)| (*tool, input(name, value))).collect();
            calls(&inputs)
        }
        _ => says("that is all"),
    })
}

/// Returns the words of a line as a shell takes them apart, for quotes as maia writes them.
fn words(line: &str) -> Vec<String> {
    let out = std::process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {line}")]).output();
    let out = out.expect("a shell").stdout;
    let words = out.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut words: Vec<_> = words.collect();
    words.pop();
    words
}

#[test]
fn nobody_is_asked_about_a_call_that_cannot_run() {
    let world = World::new(MAIA);
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => calls(&[
            ("Bash", json!({"nope": 1})),
            ("Edit", json!({"path": "in.txt", "old_string": "", "new_string": "x"})),
            ("Write", json!({"content": "x"})),
        ]),
        _ => says("that is all"),
    });
    // Nobody is there: a question would end it with 4.
    let ended = world.run().args(["go", "--json"]).endpoint(endpoint.url()).end().with_code(0);
    let events = ended.events();
    assert_eq!(of_type(&events, "permission_asked").len(), 0, "{ended}");
    let results = of_type(&events, "tool_result");
    for (result, named) in results.iter().zip(["command", "old_string", "path"]) {
        assert!(result["is_error"] == true && field(result, "output").contains(named), "{named}: {ended}");
    }
    assert_eq!(results.len(), 3, "{ended}");
}

#[test]
fn a_refused_call_is_a_result_and_its_line_allows_it_next_time() {
    let (world, endpoint) = (World::new(MAIA), endpoint());
    world.write("in.txt", "in\n");
    let ended = world.run().arg("go").endpoint(endpoint.url()).end().with_code(4);
    assert_eq!(ended.out(), "that is all\n", "the turn went on");
    assert_eq!((world.read("log"), world.read("new file.txt")), (None, None));
    let err = ended.err();
    let lines: Vec<_> = err.lines().filter(|line| line.trim_start().starts_with("--allow ")).collect();
    assert!(!lines.is_empty(), "{ended}");

    let second = world.run().args(["go", "--json"]).endpoint(endpoint.url());
    let second = lines.iter().flat_map(|line| words(line)).fold(second, |maia, word| maia.arg(word));
    let ended = second.end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    for result in of_type(&events, "tool_result") {
        assert_eq!(result["is_error"], false, "{result}\n{lines:?}");
    }
    // The two commands run at the same time.
    let log = world.read("log").unwrap_or_default();
    let mut lines: Vec<_> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a  b", "its"]);
    assert_eq!(world.read("new file.txt").as_deref(), Some("x"));
}

#[test]
fn a_refusal_says_to_the_model_which_rule_would_allow_it() {
    let (world, endpoint) = (World::new(MAIA), endpoint());
    let ended = world.run().args(["go", "--json"]).endpoint(endpoint.url()).end().with_code(4);
    let events = ended.events();
    let last = events.last().expect("it ends");
    assert_eq!((field(last, "reason"), &last["exit_code"]), ("permission", &json!(4)));
    let results = of_type(&events, "tool_result");
    assert_eq!(results.len(), CALLS.len());
    for result in results {
        assert_eq!(result["is_error"], true);
        let output = field(result, "output");
        assert!(output.contains("nobody can answer"), "{output}");
    }
}

/// What a run in `mode` does with a read, a write, an edit of a protected file and a command: which of them run.
fn ran(flags: &[&str]) -> (Option<i32>, [bool; 4]) {
    let world = World::new(MAIA);
    world.write("in.txt", "in\n");
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => calls(&[
            ("Read", json!({"path": "in.txt"})),
            ("Write", json!({"path": "out.txt", "content": "x"})),
            ("Write", json!({"path": ".envrc", "content": "x"})),
            ("Bash", json!({"command": "echo x > ran"})),
        ]),
        _ => says("done"),
    });
    let ended = world.run().args(["go", "--json"]).args(flags.iter().copied()).endpoint(endpoint.url()).end();
    let events = ended.events();
    let read = of_type(&events, "tool_result")
        .iter()
        .any(|result| result["id"] == "maia:1.1" && result["is_error"] == false);
    (
        ended.code,
        [read, world.read("out.txt").is_some(), world.read(".envrc").is_some(), world.read("ran").is_some()],
    )
}

#[test]
fn each_mode_runs_what_it_says() {
    assert_eq!(ran(&["--mode", "confirm"]), (Some(4), [false, false, false, false]));
    assert_eq!(ran(&["--mode", "edits"]), (Some(4), [false, true, false, false]));
    assert_eq!(ran(&["--mode", "auto", "--no-sandbox"]), (Some(4), [true, true, false, true]));
    assert_eq!(ran(&["--mode", "auto", "--sandbox", "external"]), (Some(4), [true, true, false, true]));
    // Refused by the mode itself, not for want of a person.
    assert_eq!(ran(&["--mode", "read-only"]), (Some(0), [true, false, false, false]));
}

#[test]
fn auto_needs_a_boundary() {
    let world = World::new(MAIA);
    let ended = world.run().args(["go", "--mode", "auto", "--model", "m"]).end().with_code(2);
    assert!(ended.err().contains("--no-sandbox"), "{ended}");
    assert!(world.sessions().is_empty());
}
