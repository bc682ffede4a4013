//! The first start: what is asked, what is kept, and what is not asked again (SPEC section 3, SAFETY 4).

use maia_tests::harness::{Terminal, World, definition};

use crate::MAIA;

/// Presses Enter until the first page is accepted: it takes no answer in its first moments.
fn accept(terminal: &mut Terminal) {
    loop {
        terminal.press("\r");
        // Enter on an empty input does nothing.
        if terminal.comes("the session's screen", |screen| screen.contains("/help")) {
            return;
        }
    }
}

#[test]
fn a_new_person_accepts_one_screen_and_is_not_asked_again() {
    let world = World::new(MAIA);
    let mut terminal = world.maia().in_terminal(40, 120);
    let page = terminal.wait_for_text("~/.maia/settings.json");
    for part in ["demo", "no network", "allow  Read(**)", "deny   Read(**/.env)", "Delegate"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Bash"), "nothing of Bash is offered: {page}");
    // Letters typed ahead choose and accept nothing.
    terminal.press("what is here?");
    accept(&mut terminal);
    let settings = std::fs::read_to_string(world.home().join(".maia/settings.json")).expect("it was saved");
    assert!(settings.contains("\"Glob(**)\"") && settings.contains("id_{rsa"), "{settings}");
    assert!(!settings.contains("\"model\""), "the demo model is chosen each time: {settings}");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));

    // With a model there is nothing left to ask.
    let mut again = world.maia().model("demo").in_terminal(40, 120);
    again.wait_for_text("/help");
    again.press("\u{4}");
    assert_eq!(again.end().code, Some(0));
}

#[test]
fn leaving_the_first_screen_keeps_nothing() {
    for key in ["\u{3}", "\u{4}"] {
        let world = World::new(MAIA);
        let mut terminal = world.maia().in_terminal(24, 80);
        terminal.wait_for_text("demo");
        terminal.press(key);
        let left = terminal.end();
        assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
        assert!(!world.home().join(".maia").exists(), "nothing was saved");
        assert!(world.sessions().is_empty(), "no session was made");
    }
}

#[test]
fn what_a_folder_brings_is_inert_until_a_person_says_yes_to_what_is_shown() {
    let world = World::new(MAIA);
    let brought = definition("local", &["Read"], &[]);
    world.write(".maia/agents/local/AGENT.md", &brought);
    world.write_home(".maia/settings.json", "{}");

    // No is the default.
    let mut terminal = world.maia().model("demo").in_terminal(30, 100);
    terminal.wait_for_text(".maia/agents/local/AGENT.md");
    accept(&mut terminal);
    terminal.enter("&local look");
    terminal.wait_for("the agent to be unknown", |screen| {
        screen.contains("local") && !screen.contains("local#1")
    });
    terminal.press("\u{15}\u{4}");
    assert_eq!(terminal.end().code, Some(0));
    let list = world.maia().args(["trust", "list"]).end().with_code(0);
    assert!(list.out().contains("no folder"), "{list}");

    // Asked again; yes to what is shown.
    let mut terminal = world.maia().model("demo").in_terminal(30, 100);
    terminal.wait_for_text(".maia/agents/local/AGENT.md");
    terminal.press("\u{1b}[B");
    accept(&mut terminal);
    terminal.enter("&local look");
    terminal.wait_for_text("local#1");
    terminal.press("\u{4}");
    terminal.press("y");
    assert_eq!(terminal.end().code, Some(0));
    let list = world.maia().args(["trust", "list"]).end().with_code(0);
    assert!(list.out().starts_with("trusted"), "{list}");
    let trusted = world.maia().args(["agents", "list"]).end().with_code(0);
    assert!(trusted.out().contains("local"), "it holds without a terminal too: {trusted}");

    // What has changed since counts no more.
    world.write(".maia/agents/local/AGENT.md", format!("{brought}More.\n"));
    let mut terminal = world.maia().model("demo").in_terminal(30, 100);
    terminal.wait_for_text(".maia/agents/local/AGENT.md");
    terminal.press("\u{3}");
    assert_eq!(terminal.end().code, Some(0));

    // Nor what is revoked.
    world.write(".maia/agents/local/AGENT.md", &brought);
    world.maia().args(["trust", "revoke"]).end().with_code(0);
    world.maia().args(["trust", "revoke"]).end().with_code(2);
    let list = world.maia().args(["trust", "list"]).end().with_code(0);
    assert!(list.out().contains("no folder"), "{list}");
}

#[test]
fn a_terminal_that_knows_no_sequences_gets_none() {
    let world = World::new(MAIA);
    let left = world.maia().model("demo").env("TERM", "dumb").in_terminal(24, 80).end();
    assert_eq!(left.code, Some(2), "{left:?}");
    assert!(left.screen.contains("TERM is dumb") && left.screen.contains("maia run"), "{left:?}");
    assert!(world.sessions().is_empty(), "no session was made");
}
