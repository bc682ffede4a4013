//! `/clear`, `/model`, `-c`, `a` on a node, `!command`, `@file`: what a person does beside asking (mission M5.6, SPEC section 2).

use maia_test_support::{Gate, Reply};
use maia_tests::harness::endpoint::{Asked, says};
use maia_tests::harness::{Endpoint, Terminal, World, definition};

use crate::MAIA;

/// An endpoint with a list of models, that says whose request it answers.
fn listing(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Endpoint {
    Endpoint::answering(move |request| {
        if request.path.ends_with("/models") {
            return Reply::text(200, r#"{"data":[{"id":"big-model"},{"id":"small-model"}]}"#);
        }
        answer(&Asked::read(request))
    })
}

fn leave(mut terminal: Terminal) {
    // The turn whose last words are on the screen may not have ended yet: then it asks.
    terminal.press("\u{4}y");
    assert_eq!(terminal.end().code, Some(0));
}

fn last_request(endpoint: &Endpoint) -> serde_json::Value {
    endpoint.requests().pop().expect("a request").json()
}

#[test]
fn models_are_listed_and_changed_and_the_conversation_stays() {
    let world = World::new(MAIA);
    let endpoint = listing(|asked| says(&format!("answer {}", asked.step)));
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    terminal.wait_for_text("test-model");
    terminal.enter("first");
    terminal.wait_for_text("answer 1");
    terminal.enter("/model");
    terminal.wait_for("both models", |screen| screen.contains("big-model") && screen.contains("small-model"));
    terminal.press("\u{1b}");
    terminal.wait_for("the list to go", |screen| !screen.contains("big-model"));
    terminal.enter("/model demo");
    terminal.wait_for_text("--resume keeps the conversation");
    terminal.enter("/model small-model");
    terminal.wait_for_text("model · small-model");
    terminal.enter("second");
    terminal.wait_for_text("answer 2");
    let body = last_request(&endpoint);
    assert_eq!(body["model"], "small-model");
    assert!(body["messages"].to_string().contains("first"), "{body}");
    leave(terminal);
}

#[test]
fn a_cleared_conversation_begins_with_what_is_there_now() {
    let world = World::new(MAIA);
    world.write("MAIA.md", "Speak of apples.");
    let endpoint = listing(|asked| says(&format!("answer {}", asked.step)));
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    terminal.wait_for_text("test-model");
    terminal.enter("first");
    terminal.wait_for_text("answer 1");
    assert!(last_request(&endpoint)["messages"].to_string().contains("Speak of apples."));
    world.write("MAIA.md", "Speak of pears.");
    world.agent("newcomer", &["Read"], &[]);
    terminal.enter("/clear");
    terminal.wait_for("the new conversation", |screen| !screen.contains("› /clear"));
    terminal.enter("/agents");
    terminal.wait_for_text("newcomer");
    terminal.enter("second");
    endpoint.wait_for("the request", |counts| counts.received == 2);
    let messages = last_request(&endpoint)["messages"].to_string();
    assert!(messages.contains("Speak of pears.") && !messages.contains("apples"), "{messages}");
    assert!(messages.contains("second") && !messages.contains("first"), "{messages}");
    terminal.wait_for("its answer, and no other", |screen| screen.matches("answer 1").count() == 1);
    leave(terminal);
}

#[test]
fn the_last_session_is_shown_as_it_was_and_goes_on() {
    let world = World::new(MAIA);
    world.agent("digger", &["Read"], &[]);
    let endpoint = listing(|asked| match (asked.agent.as_str(), asked.step) {
        ("digger", 1) => says("dug once"),
        ("digger", _) => says("dug twice"),
        (_, step) => says(&format!("answer {step}")),
    });
    let mut first = world.maia().endpoint(endpoint.url()).in_terminal(30, 120);
    first.wait_for_text("test-model");
    first.enter("a question of yesterday");
    first.wait_for_text("answer 1");
    first.enter("&digger dig");
    first.wait_for_text("dug once");
    leave(first);

    let url = format!("{}/v1", endpoint.url());
    let mut second = world.maia().arg("-c").env("OPENAI_BASE_URL", url).in_terminal(30, 120);
    second.wait_for("what was", |screen| {
        ["a question of yesterday", "answer 1", "dug once", "digger#1"]
            .iter()
            .all(|text| screen.contains(text))
    });
    second.enter("and today?");
    second.wait_for_text("answer 2");
    let messages = last_request(&endpoint)["messages"].to_string();
    assert!(messages.contains("yesterday") && messages.contains("dug once"), "{messages}");
    // The digger ended in another life of the session; it is asked again from its node.
    second.press("\t");
    second.press("\u{1b}[B");
    second.press("a");
    second.press("once more\r");
    second.wait_for_text("dug twice");
    second.press("\u{1b}");
    leave(second);
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn a_command_of_the_person_is_ended_by_a_key_and_told_to_the_model() {
    let world = World::new(MAIA);
    world.write("b.bin", [0xff, 0xfe]);
    let endpoint = listing(|_| says("noted"));
    let mut terminal = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    terminal.wait_for_text("test-model");
    terminal.enter("!echo begun > log; sleep 1000");
    world.wait_for_file("log", |text| text == "begun\n");
    terminal.press("\u{1b}");
    terminal.wait_for_text("$ echo begun > log; sleep 1000");
    terminal.enter("look at @b.bin");
    terminal.wait_for_text("@b.bin was not added: it is no text");
    terminal.wait_for_text("noted");
    let messages = last_request(&endpoint)["messages"].to_string();
    assert!(messages.contains("sleep 1000"), "{messages}");
    // What still runs when the person leaves ends with maia.
    terminal.enter("!sleep 1000");
    terminal.wait_for("an empty input", |screen| !screen.contains("› !sleep"));
    leave(terminal);
    world.wait_until_nothing_runs();
}

#[test]
fn a_session_without_a_request_is_not_offered_after_a_kill() {
    let world = World::new(MAIA);
    let endpoint = listing(|_| says("never asked"));
    let first = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    first.wait_for_text("test-model");
    first.signal(rustix::process::Signal::KILL);
    first.end();
    let second = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    let screen = second.wait_for_text("/help");
    assert!(!screen.contains("interrupted"), "{screen}");
    leave(second);
}

#[test]
fn a_session_with_work_of_its_own_is_not_left_by_one_key() {
    let world = World::new(MAIA);
    let gate = Gate::new();
    let endpoint = listing({
        let gate = gate.clone();
        move |asked| {
            if asked.holds("the first work") {
                Reply::status(200).header("content-type", "text/event-stream").hold(&gate)
            } else {
                says("answered here")
            }
        }
    });
    let mut first = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    first.wait_for_text("test-model");
    first.enter("the first work");
    endpoint.wait_for("the request", |counts| counts.in_flight == 1);
    first.signal(rustix::process::Signal::KILL);
    first.end();
    let mut second = world.maia().endpoint(endpoint.url()).in_terminal(30, 100);
    let notice = second.wait_for_text("interrupted: ");
    assert!(notice.contains("the first work"), "{notice}");
    second.enter("something else");
    second.wait_for_text("answered here");
    second.press("r");
    second.wait_for("a letter in the input, beside what was done here", |screen| {
        screen.contains("› r") && screen.contains("answered here") && !screen.contains("interrupted: ")
    });
    second.press("\u{15}");
    leave(second);
    assert_eq!(world.sessions().len(), 2, "both are kept");
}

#[test]
fn what_comes_into_a_trusted_folder_later_counts_for_nothing() {
    let world = World::new(MAIA);
    world.write(".maia/agents/known/AGENT.md", definition("known", &["Read"], &[]));
    let endpoint = listing(|asked| says(&format!("answer {}", asked.step)));
    let mut terminal = world.maia().arg("--trust").endpoint(endpoint.url()).in_terminal(30, 100);
    terminal.wait_for_text("test-model");
    terminal.enter("/agents");
    terminal.wait_for_text("&known ");
    // Nothing has changed: what was decided holds.
    terminal.enter("/clear");
    terminal.enter("/agents");
    let screen = terminal.wait_for("the agents of the new conversation", |screen| {
        !screen.contains("› /clear") && screen.contains("&known ")
    });
    assert!(!screen.contains("trusted for this run"), "nothing is written over the screen: {screen}");
    world.write(".maia/agents/planted/AGENT.md", definition("planted", &["Bash"], &["Bash(*)"]));
    terminal.enter("/clear");
    terminal.wait_for_text("has changed since maia started");
    terminal.enter("/agents");
    let screen = terminal.wait_for_text("&explorer ");
    assert!(!screen.contains("&planted"), "{screen}");
    assert!(!screen.contains("trusted for this run"), "{screen}");
    leave(terminal);
}
