//! Questions about changes show the change (SAFETY 3), in the names that the tools themselves have for their arguments.

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World};
use serde_json::json;

use crate::MAIA;

#[test]
fn a_question_about_an_edit_shows_what_goes_and_what_comes() {
    let world = World::new(MAIA);
    world.write("poem.txt", "roses are red\nviolets are blue\n");
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => calls(&[(
            "Edit",
            json!({"path": "poem.txt", "old_string": "violets are blue", "new_string": "tulips are too"}),
        )]),
        2 => calls(&[("Write", json!({"path": "new.txt", "content": "first line\nsecond line\n"}))]),
        _ => says("Both were asked about."),
    });
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(40, 100);
    terminal.wait_for_text("test-model");
    terminal.enter("go");
    for (shown, key) in [
        (["poem.txt", "- violets are blue", "+ tulips are too"], "y"),
        (["new.txt", "+ first line", "+ second line"], "n"),
    ] {
        let question = terminal.wait_for_text("y once");
        for part in shown {
            assert!(question.contains(part), "{part}\n{question}");
        }
        let next = if key == "y" { "new.txt" } else { "Both were asked about." };
        loop {
            // It has the keyboard when nobody types, and takes no answer in its first moments.
            let screen = terminal.wait_for("the question to have the keyboard, or its end", |screen| {
                screen.contains(next) || (screen.contains("Tab writes") && screen.contains(shown[1]))
            });
            if screen.contains(next) {
                break;
            }
            terminal.press(key);
            terminal.comes("the answer to be taken", |screen| screen.contains(next));
        }
    }
    assert_eq!(world.read("poem.txt").as_deref(), Some("roses are red\ntulips are too\n"));
    assert_eq!(world.read("new.txt"), None);
    terminal.press("\u{15}\u{4}");
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn a_turn_that_is_stopped_takes_its_questions_with_it() {
    let world = World::new(MAIA);
    let endpoint = Endpoint::start(|asked| match asked.task.contains("first") && !asked.holds("second") {
        true => calls(&[("Bash", json!({"command": "echo one"})), ("Bash", json!({"command": "echo two"}))]),
        false => says("The second one is answered."),
    });
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    terminal.wait_for_text("test-model");
    terminal.enter("first");
    terminal.wait_for_text("echo two");
    terminal.wait_for_text("y once");
    terminal.press("\u{3}");
    terminal
        .wait_for("the questions to go", |screen| !screen.contains("y once") && !screen.contains("question"));
    terminal.enter("second");
    terminal.wait_for_text("The second one is answered.");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));
}
