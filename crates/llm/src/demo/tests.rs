//! What the demo model answers, by value: which step comes next, and what it makes of results.

use std::sync::Arc;

use maia_protocol::{Block, Message, Role, ToolSpec};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const READERS: &[&str] = &["Read", "Glob", "Grep"];

fn spec(name: &str) -> ToolSpec {
    let agents = ["explorer", "planner", "reviewer", "tester", "writer"];
    let input_schema = json!({"type": "object", "properties": {"agent": {"enum": agents}}});
    ToolSpec { name: name.to_owned(), description: String::new(), input_schema }
}

fn request(tools: &[&str], messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        model: "demo".to_owned(),
        system: "You are somebody.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new(tools.iter().map(|tool| spec(tool)).collect()),
        tools_usable: true,
        max_tokens: None,
    }
}

fn user(texts: &[&str]) -> Message {
    let content = texts.iter().map(|text| Block::Text { text: (*text).to_owned() }).collect();
    Message { role: Role::User, content }
}

/// Plays an agent to its end with tools that give what `tool` says; returns its calls and its last text.
fn played(
    agent: &str,
    tools: &[&str],
    first: Message,
    tool: impl Fn(&str, &Value) -> Result<String, String>,
) -> (Vec<(String, Value)>, String) {
    let (mut messages, mut calls) = (vec![first], Vec::new());
    for _ in 0..10 {
        let request = request(tools, messages.clone());
        let answer = answer(&ActorPath::new(agent), &request);
        assert_eq!(
            answer,
            super::answer(&ActorPath::new(agent), &request),
            "the same request, the same answer"
        );
        if answer.calls.is_empty() {
            assert!(!answer.text.trim().is_empty());
            return (calls, answer.text);
        }
        let mut content = vec![Block::Text { text: answer.text }];
        let mut results = Vec::new();
        for call in answer.calls {
            assert!(tools.contains(&call.name.as_str()), "{} was not offered", call.name);
            let (content_of, is_error) = match tool(&call.name, &call.input) {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            calls.push((call.name.clone(), call.input.clone()));
            let id = call.provider_id;
            content.push(Block::ToolUse { id: id.clone(), name: call.name, input: call.input });
            results.push(Block::ToolResult { tool_use_id: id, content: content_of, is_error });
        }
        messages.push(Message { role: Role::Assistant, content });
        messages.push(Message { role: Role::User, content: results });
    }
    panic!("{agent} does not end: {calls:?}");
}

/// A small folder.
fn folder(tool: &str, input: &Value) -> Result<String, String> {
    let pattern = input["pattern"].as_str().unwrap_or_default();
    Ok(match (tool, pattern, input["path"].as_str().unwrap_or_default()) {
        ("Glob", "*", _) => "Cargo.toml\nREADME.md".to_owned(),
        ("Glob", ..) => "src/parser.rs".to_owned(),
        ("Grep", "^", _) => "Cargo.toml:3\nREADME.md:5\nsrc/main.rs:20\nsrc/parser.rs:1400".to_owned(),
        ("Grep", _, _) if input["output_mode"] == "count" => "src/parser.rs:7".to_owned(),
        ("Grep", ..) => "src/parser.rs:12:pub fn parser(text: &str) -> Tree { // TODO: speed".to_owned(),
        ("Read", _, "README.md") => {
            "     1\t# Thing\n     2\t\n     3\t[![badge](x)](y)\n     4\tIt does [things](http://x) well. And more.".to_owned()
        }
        ("Read", _, "Cargo.toml") => "     1\t[package]\n     2\tname = \"thing\"".to_owned(),
        ("Read", _, ".git/HEAD") => "     1\tref: refs/heads/main".to_owned(),
        ("Read", _, "src/parser.rs") if input["offset"] == 12 => {
            "    12\tpub fn parser(text: &str) -> Tree { // TODO: speed".to_owned()
        }
        ("Read", ..) => "     1\t//! Takes a text apart, line by line.".to_owned(),
        ("Bash", ..) => "abc123 first change\n[exit code: 0]".to_owned(),
        _ => return Err(format!("no such thing: {tool} {input}")),
    })
}

#[test]
fn an_explorer_counts_and_quotes_what_it_got() {
    let (calls, text) = played("maia/explorer#1", READERS, user(&["what is here?"]), folder);
    let read: Vec<_> =
        calls.iter().filter(|(name, _)| name == "Read").map(|(_, input)| &input["path"]).collect();
    assert_eq!(read, ["README.md", "Cargo.toml"], "it reads what the Glob showed");
    for part in [
        "`README.md` is called “Thing” and says: “It does things well. And more”.",
        "There are 4 text files with 1,428 lines: 2 Rust, 1 Markdown and 1 TOML.",
        "`src/` (2); 2 lie at the top.",
        "which names it “thing”",
        "README.md:1: `# Thing`",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn what_a_person_names_is_looked_for() {
    let (calls, text) = played("maia/explorer#1", READERS, user(&["Where is the parser?"]), folder);
    assert_eq!(calls[0].1["pattern"], "parser");
    assert!(text.contains("“parser” stands in 7 lines of 1 file"), "{text}");
    assert!(text.contains("src/parser.rs:12: `pub fn parser"), "{text}");
    assert_eq!(prose::any_of(&["a.b*(c)".to_owned()]), r"a\.b\*\(c\)");
    assert_eq!(prose::words("what is here?"), Vec::<String>::new());
    assert_eq!(prose::words("show me `fn main` please"), ["fn main"]);
}

#[test]
fn the_main_agent_hands_a_graph_out_and_tells_what_came_back() {
    let tools = &["Read", "Agent", "Delegate"];
    let first = user(&["Today is 2026-11-30. Folder: /x. System: linux.", "where is the parser?"]);
    let give = |name: &str, input: &Value| {
        assert_eq!(name, "Delegate");
        let tasks = input["tasks"].as_array().expect("tasks");
        let parts = tasks.iter().map(|task| {
            let (id, agent) = (task["id"].as_str().expect("an id"), task["agent"].as_str().expect("an agent"));
            if id == "checks" {
                return format!("## {id} ({agent}): failed\n# maia/{agent}#1: failed\nCause: it broke\n\n(nothing)");
            }
            format!("## {id} ({agent}): done\n# maia/{agent}#1: done\n\n# Answer\nAll about {id}.\n\n# Places\nnone")
        });
        Ok(parts.collect::<Vec<_>>().join("\n\n"))
    };
    let (calls, text) = played("maia", tools, first, give);
    let tasks = calls[0].1["tasks"].as_array().expect("tasks");
    let ids: Vec<_> = tasks.iter().map(|task| task["id"].as_str().unwrap_or_default()).collect();
    assert_eq!(ids, ["layout", "code", "search", "checks", "review", "report"]);
    assert!(tasks[2]["task"].to_string().contains("“parser”"));
    assert_eq!(tasks[5]["after"], json!(["search", "layout", "code", "checks", "review"]));
    assert!(text.contains("All about search.") && text.contains("`checks` failed"), "{text}");
    assert!(text.contains("I am the demo model"), "{text}");
}

#[test]
fn a_refused_graph_is_told_and_ends_the_turn() {
    let refused = |_: &str, _: &Value| Err("the person said no".to_owned());
    let (calls, text) = played("maia", &["Agent", "Delegate"], user(&["hello"]), refused);
    assert_eq!(calls.len(), 1);
    assert!(text.contains("the person said no") && text.contains("&explorer"), "{text}");
}

#[test]
fn a_second_request_begins_anew_and_what_was_told_is_kept_apart() {
    let told = "Message from maia/explorer#1 while you work:\n\n# maia/explorer#1: done\n\n# Answer\nIt is a library.";
    let messages = vec![user(&["first"]), Message::assistant("done"), user(&["where is the lexer?", told])];
    let request = request(&["Agent", "Delegate"], messages);
    let turn = Turn::read(&ActorPath::main(), &request);
    assert_eq!(turn.request, "where is the lexer?");
    assert_eq!(turn.told.len(), 1);
    let answer = answer(&ActorPath::main(), &request);
    assert!(answer.calls[0].input.to_string().contains("lexer"));
}

#[test]
fn every_part_ends_with_whatever_it_has_been_given() {
    let refuse = |_: &str, _: &Value| Err("refused: the mode is read-only".to_owned());
    let nothing = |tool: &str, _: &Value| match tool {
        "Read" => Err("file_not_found".to_owned()),
        _ => Ok("no file matches * (not searched: .git)".to_owned()),
    };
    for name in ["explorer", "tester", "reviewer", "writer", "planner", "mine"] {
        let agent = format!("maia/{name}#1");
        for tools in [
            &[][..],
            &["Bash"],
            &["Read"],
            &["Grep"],
            &["Write", "Edit"],
            READERS,
            &["Read", "Glob", "Grep", "Bash"],
        ] {
            for asked in ["what is here?", "look at src/parser.rs", "& <data from=\"x\" task=\"y\">\nz"] {
                played(&agent, tools, user(&[asked]), refuse);
                played(&agent, tools, user(&[asked]), nothing);
                played(&agent, tools, user(&[asked]), folder);
            }
        }
    }
}

#[test]
fn a_plan_is_one_that_can_be_run() {
    let (_, text) = played("maia/planner#1", READERS, user(&["tidy the parser: all of it"]), folder);
    assert!(
        text.starts_with("# by the demo model, for: tidy the parser: all of it\ntasks:\n  - id: layout\n"),
        "{text}"
    );
    assert!(text.ends_with("on_failure: continue"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_streamed_in_pieces_and_soon_over() {
    let request = request(&["Agent", "Delegate"], vec![user(&["hello"])]);
    let mut pieces = Vec::new();
    let mut take = |delta| match delta {
        Delta::Text(piece) => pieces.push(piece),
        Delta::Reasoning(_) => {}
    };
    let answered = chat(&ActorPath::main(), &request, &mut take).await;
    assert_eq!(pieces.concat(), answered.answer.text);
    assert!((10..=PIECES).contains(&pieces.len()), "{}", pieces.len());
    assert!(answered.duration_ms <= 500, "{}", answered.duration_ms);
}

proptest! {
    /// Names, lines and requests may hold anything.
    #[test]
    fn nothing_makes_it_panic(asked in any::<String>(), given in "(\\PC|[:/\\\\\"`<>|#\n\t0-9\u{1b}é漢])*") {
        for name in ["explorer", "tester", "reviewer", "writer", "planner"] {
            let first = user(&[&asked, &format!("{asked}\n\n<data from=\"a\" task=\"code\" state=\"result\">\n{given}\n</data>")]);
            let (_, text) = played(&format!("maia/{name}#1"), &["Read", "Glob", "Grep", "Bash"], first, |_, _| Ok(given.clone()));
            prop_assert!(!text.contains('\u{1b}'), "{text:?}");
        }
        played("maia", &["Agent", "Delegate"], user(&[&asked]), |_, _| Ok(given.clone()));
    }
}
