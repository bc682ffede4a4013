//! What is offered and asked for: agents that ended, sessions that were interrupted, models, older items.

mod player;

use std::sync::Arc;

use maia_protocol::Event;
use maia_tui::{Fact, Lang};
use player::{Player, check};

#[test]
fn an_agent_that_has_ended_is_asked_again() {
    check(
        "tree",
        Lang::En,
        &[
            (
                r#"@1000 Tab Down Down Down a "and␣now?" Enter"#,
                &[r#"{"op":"ask_again","actor":"maia/tester#1","text":"and now?"}"#],
            ),
            (r#"@1000 Tab Down Down Down a "x" Esc t x Esc Esc "#, &[r#"{"op":"stop","actor":"maia"}"#]),
            (
                r#"@1000 Tab Down a Enter t "x" Enter"#,
                &[r#"{"op":"tell","actor":"maia/reviewer#1","text":"x"}"#],
            ),
            // What is asked of the main agent is a request.
            (r#"@1000 Tab a "x" Enter"#, &[r#"{"op":"ask","text":"x"}"#]),
        ],
    );
    let mut player = Player::new("tree", Lang::En);
    player.tell(
        serde_json::json!({"type": "agent_asked_again", "actor": "maia/tester#1", "definition": "tester",
        "text": "and now?", "budget": 10}),
    );
    let stop = r#"{"op":"stop","actor":"maia/tester#1"}"#;
    assert_eq!(player.play("@1000 Tab Down Down Down x"), [stop], "it is at work again");
}

#[test]
fn what_was_interrupted_goes_on_by_one_key() {
    let play = |script: &str| {
        let mut player = Player::new("fresh", Lang::En);
        player.screen.learn(Fact::Interrupted { text: "M1.1 was interrupted; r goes on".to_owned() });
        player.play(script)
    };
    assert_eq!(play("@1000 @1300 r"), ["GoOn"]);
    assert_eq!(play("@1000 @1300 Up F1 Esc r"), ["GoOn"], "no letter yet");
    for (script, sent) in [
        // Too early: it could not be read yet.
        (r#"r @1000 Enter"#, "r"),
        (r#"@1000 @1299 r Enter"#, "r"),
        // Refused, or something else was begun: r is a letter again.
        (r#"@1000 @1300 Esc "rust" Enter"#, "rust"),
        (r#"@1000 @1300 "hi" C-u "r" Enter"#, "r"),
        (r#"@1000 @1300 paste:a Back "r" Enter"#, "r"),
    ] {
        assert_eq!(play(script), [format!(r#"{{"op":"ask","text":"{sent}"}}"#)], "{script}");
    }
}

#[test]
fn an_offer_that_comes_when_something_was_asked_is_none() {
    for script in [r#"@1000 "hi" Enter"#, r#"@1000 "!ls" Enter"#] {
        let mut player = Player::new("fresh", Lang::En);
        assert_eq!(player.play(script).len(), 1, "{script}");
        player.screen.learn(Fact::Interrupted { text: "M1.1 was interrupted; r goes on".to_owned() });
        let sent = player.play(r#"@2000 @2300 r Enter"#);
        assert_eq!(sent, [r#"{"op":"ask","text":"r"}"#], "{script}");
    }
}

#[test]
fn a_model_is_chosen_from_a_list() {
    let play = |script: &str| {
        let mut player = Player::new("fresh", Lang::En);
        player.screen.learn(Fact::Models(vec!["one".to_owned(), "two".to_owned(), "three".to_owned()]));
        player.play(script)
    };
    let two = r#"Model { name: Some("two") }"#;
    assert_eq!(play("@1000 @1300 Down Enter"), [two]);
    assert_eq!(play("@1000 @1300 Up j k Down Down Down Up Enter"), [two]);
    assert_eq!(play(r#"@1000 @1300 Down Esc "x" Enter"#), [r#"{"op":"ask","text":"x"}"#]);
    // Enter was pressed for something else.
    assert!(play("@1000 @1299 Down Enter").is_empty());
    // Who writes is not disturbed.
    let mut player = Player::new("fresh", Lang::En);
    assert!(player.play(r#"@1000 "hi""#).is_empty());
    player.screen.learn(Fact::Models(vec!["one".to_owned()]));
    assert_eq!(player.play("@2000 @3000 Enter"), [r#"{"op":"ask","text":"hi"}"#]);
}

#[test]
fn a_conversation_is_cleared_between_turns_and_when_the_session_says_so() {
    check("tree", Lang::En, &[(r#"@1000 "/clear" Enter"#, &[])]);
    let mut player = Player::new("fresh", Lang::En);
    player.tell(serde_json::json!({"type": "user_message", "text": "an old request"}));
    assert_eq!(player.play(r#"@1000 "/clear" Enter @1100"#), ["Clear"]);
    let shown = |player: &Player| player.terminal.backend().to_string();
    assert!(shown(&player).contains("an old request"), "{}", shown(&player));
    player.tell(serde_json::json!({"type": "conversation_cleared"}));
    player.frame(1_200);
    assert!(!shown(&player).contains("an old request") && shown(&player).contains("a new conversation"));
}

#[test]
fn older_items_are_asked_for_at_the_start_of_a_list() {
    let mut player = Player::new("fresh", Lang::En);
    let spoken = |n: u64| serde_json::json!({"type": "text", "seq": n, "actor": "maia/old#1", "text": format!("text {n} of old")});
    // It had begun before anything was heard of it.
    player.tell(serde_json::json!({"type": "snapshot", "questions": [], "agents": [{"actor": "maia/old#1",
        "definition": "old", "task": "t", "iterations": 9, "budget": 25, "input_tokens": 1, "output_tokens": 1,
        "tool_calls": 1, "running": []}]}));
    player.tell(spoken(70));
    let asked = r#"Older { actor: maia/old#1, before: 70 }"#;
    assert_eq!(player.play("@1000 Tab Down Enter 2 @1100 Up"), [asked]);
    assert!(player.play("@1200 Up Up").is_empty(), "it is asked for once");
    let older = (50..70).map(|n| {
        let mut whole = serde_json::json!({"time": "2026-11-30T10:00:00Z", "session": "0199"});
        for (name, value) in spoken(n).as_object().expect("an object") {
            whole[name] = value.clone();
        }
        Arc::new(serde_json::from_value::<Event>(whole).expect("an event"))
    });
    let actor = maia_protocol::ActorPath::new("maia/old#1");
    player.screen.learn(Fact::Older { actor: actor.clone(), events: older.collect() });
    player.frame(1_300);
    let shown = |player: &Player| player.terminal.backend().to_string();
    assert!(shown(&player).contains("text 69 of old"), "{}", shown(&player));
    assert_eq!(player.play("g @1400 g"), [r#"Older { actor: maia/old#1, before: 50 }"#]);
    assert!(shown(&player).contains("text 50 of old"), "{}", shown(&player));
    player.screen.learn(Fact::Older { actor, events: Vec::new() });
    assert!(player.play("@1500 g Up").is_empty(), "there is nothing older");
}
