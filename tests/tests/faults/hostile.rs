//! Bytes that were made to harm: a terminal sees none of them raw, a program gets all of them (SAFETY 6).

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World, check_stream, of_type};
use serde_json::json;

use crate::MAIA;

/// Clears a screen, sets a title, writes the clipboard; turns text round; hides; ends a line early.
const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{202e}evil\u{202c}\u{200b}\u{0}\r\u{8}";

fn hostile_world() -> (World, Endpoint) {
    let world = World::new(MAIA);
    let mut bytes = HOSTILE.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\xfe\xc3\x28 end\n");
    world.write("hostile.txt", &bytes);
    world.write("text.txt", format!("{} end\n", HOSTILE.replace('\u{0}', "")));
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => calls(&[
            ("Bash", json!({"command": "cat hostile.txt; cat hostile.txt >&2"})),
            ("Read", json!({"path": "hostile.txt"})),
            ("Read", json!({"path": "text.txt"})),
            ("Read", json!({"path": format!("{HOSTILE}.txt")})),
            (&format!("No{HOSTILE}Tool"), json!({HOSTILE: HOSTILE})),
            ("Bash", json!({"command": format!("echo '{}'", HOSTILE.replace('\u{0}', ""))})),
        ]),
        _ => says(&format!("answer {HOSTILE}")),
    });
    (world, endpoint)
}

#[test]
fn a_terminal_sees_nothing_raw() {
    let (world, endpoint) = hostile_world();
    let maia = world.run().arg(format!("go {}", HOSTILE.replace('\u{0}', ""))).endpoint(endpoint.url());
    let ended = maia.allow(&["Bash(cat *)", "Read(**)"]).arg("--mode").arg("confirm").end();
    for (name, bytes) in [("stdout", ended.out()), ("stderr", ended.err())] {
        let raw = bytes.chars().filter(|c| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(raw.collect::<Vec<_>>(), Vec::<char>::new(), "raw in {name}: {:?}", ended.err());
    }
    assert!(ended.out().starts_with("answer ^["), "{ended}");
    assert!(!ended.err().contains("panicked"), "{ended}");
}

#[test]
fn a_program_gets_the_texts_as_they_are() {
    let (world, endpoint) = hostile_world();
    let maia =
        world.run().args(["go", "--json"]).endpoint(endpoint.url()).allow(&["Bash(cat *)", "Read(**)"]);
    let ended = maia.end();
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let last = events.last().expect("it ends");
    assert_eq!(last["result"], format!("answer {HOSTILE}"));
    let results = of_type(&events, "tool_result");
    assert_eq!(results.len(), 6);
    let read = results.iter().find(|result| result["id"] == "maia:1.3").expect("the text was read");
    let text = read["output"].as_str().unwrap_or_default();
    assert!(text.contains("\u{1b}[2J") && text.contains('\u{202e}') && text.contains("end"), "{text:?}");
    let printed = results.iter().find(|result| result["id"] == "maia:1.1").expect("it was printed");
    assert!(printed["output"].as_str().is_some_and(|text| text.contains(" end")), "{printed}");
    // One event a line, whatever stands in it.
    assert_eq!(ended.out().lines().count(), events.len());
}
