//! What keys do: scripts of keys at given times, and the actions that come out.

mod player;

use maia_tui::{Fact, Lang};
use player::{Player, check};

const ASKED: &str = "maia/reviewer#1:2.2";

fn answer(decision: &str) -> String {
    format!(r#"{{"op":"answer","id":"{ASKED}","decision":"{decision}"}}"#)
}

#[test]
fn the_input_writes_and_sends() {
    check(
        "fresh",
        Lang::En,
        &[
            (r#"@1000 "hi␣there" Enter"#, &[r#"{"op":"ask","text":"hi there"}"#]),
            (r#"@1000 "one" A-Enter "two" C-j "three" Enter"#, &[r#"{"op":"ask","text":"one\ntwo\nthree"}"#]),
            (r#"@1000 Enter "␣" Enter"#, &[]),
            (
                r#"@1000 "one" Enter "two" Enter Up Up Down Enter"#,
                &[
                    r#"{"op":"ask","text":"one"}"#,
                    r#"{"op":"ask","text":"two"}"#,
                    r#"{"op":"ask","text":"two"}"#,
                ],
            ),
            (r#"@1000 "draft" Up Down "s" Enter"#, &[r#"{"op":"ask","text":"drafts"}"#]),
            (r#"@1000 "b␣c" C-a "a␣" C-e "!" Enter"#, &[r#"{"op":"ask","text":"a b c!"}"#]),
            (r#"@1000 "one␣two" C-w "x" Enter"#, &[r#"{"op":"ask","text":"one x"}"#]),
            (r#"@1000 "gone" C-u "kept" Enter"#, &[r#"{"op":"ask","text":"kept"}"#]),
            (r#"@1000 "中文" Left Back "日" Enter"#, &[r#"{"op":"ask","text":"日文"}"#]),
            (r#"@1000 paste:!rm␣-rf␣x⏎y⏎"#, &[]),
            (r#"@1000 "see:␣" paste:!rm⏎y Enter"#, &[r#"{"op":"ask","text":"see: !rm\ny"}"#]),
            (r#"@1000 "!ls␣-l" Enter"#, &[r#"Shell { command: "ls -l" }"#]),
            (r#"@1000 "see␣@a.rs" Enter"#, &[r#"AskWithFiles { text: "see @a.rs" }"#]),
            (r#"@1000 "/mode␣auto" Enter"#, &["Mode(Auto)"]),
            (r#"@1000 "/mode" Enter"#, &[]),
            (r#"@1000 S-Tab"#, &["Mode(Edits)"]),
            (r#"@1000 "/mod" Tab "el" Enter"#, &[r#"Command { name: "modeel", arguments: "" }"#]),
            (r#"@1000 "/cl" Tab Enter"#, &["Clear"]),
            (r#"@1000 "/help" Enter "y" Esc "/exit" Enter"#, &["Quit"]),
            (r#"@1000 C-d"#, &["Quit"]),
            (r#"@1000 C-c"#, &[]),
            (r#"@1000 C-c @1900 C-c"#, &["Quit"]),
            (r#"@1000 C-c @9000 C-c"#, &[]),
            (r#"@1000 "text" C-c C-d"#, &["Quit"]),
        ],
    );
}

#[test]
fn agents_are_started_beside_the_input() {
    check(
        "fresh",
        Lang::En,
        &[
            (r#"@1000 "&tester␣run" Enter"#, &[r#"{"op":"spawn","agent":"tester","task":"run"}"#]),
            (r#"@1000 "&te" Tab "run" Enter"#, &[r#"{"op":"spawn","agent":"tester","task":"run"}"#]),
            (
                r#"@1000 "&r" Tab "v" Tab "look" Enter"#,
                &[r#"{"op":"spawn","agent":"reviewer","task":"look"}"#],
            ),
            (
                r#"@1000 "&tester␣a" A-Enter "&reviewer␣b" Enter"#,
                &[
                    r#"{"op":"spawn","agent":"tester","task":"a"}"#,
                    r#"{"op":"spawn","agent":"reviewer","task":"b"}"#,
                ],
            ),
            // Nothing is started when one of several cannot be, and the text stays to be mended.
            (
                r#"@1000 "&tester␣a" A-Enter "&nobody␣b" Enter C-w C-w "&reviewer␣b" Enter"#,
                &[
                    r#"{"op":"spawn","agent":"tester","task":"a"}"#,
                    r#"{"op":"spawn","agent":"reviewer","task":"b"}"#,
                ],
            ),
            (r#"@1000 "&tester" Enter "␣run" Enter"#, &[r#"{"op":"spawn","agent":"tester","task":"run"}"#]),
            (r#"@1000 "&" Enter"#, &[]),
        ],
    );
    let mut player = Player::new("fresh", Lang::En);
    player.screen.learn(Fact::Agents(Vec::new()));
    assert_eq!(
        player.play(r#"@1000 "&" Enter "&any␣x" Enter"#),
        ["Agents", r#"{"op":"spawn","agent":"any","task":"x"}"#]
    );
}

#[test]
fn a_question_is_answered_by_its_keys_alone() {
    let (yes, no, stop) = (answer("allow_once"), answer("reject_once"), answer("stop"));
    let reason = format!(r#"{{"op":"answer","id":"{ASKED}","decision":"reject_once","reason":"too wide"}}"#);
    let second = r#"{"op":"answer","id":"maia:1.3","decision":"allow_once"}"#;
    check(
        "question",
        Lang::En,
        &[
            ("@1000 @1300 y", &[&yes]),
            ("@1000 @1300 n", &[&no]),
            ("@1000 @1300 s", &[&stop]),
            (r#"@1000 @1300 r "too␣wide" Enter"#, &[&reason]),
            ("@1000 @1300 r Enter Enter Esc n", &[&no]),
            ("@1000 @1300 Y", &[&yes]),
            // Enter and Esc answer nothing; who writes anything else writes a request, whatever letters follow.
            ("@1000 @1300 Enter Esc", &[]),
            ("@1000 @1300 x y n Enter", &[r#"{"op":"ask","text":"xyn"}"#]),
            ("@1000 @1300 C-y C-n C-s", &[]),
            // Too early: it could not be read yet.
            ("@1000 @1299 y", &[]),
            ("@1000 @1299 y @1310 y", &[&yes]),
            // Another question is shown: it has to be read too.
            ("@1000 @1300 Down y", &[]),
            ("@1000 @1300 Down @1301 y @1600 y", &[]),
            ("@1000 @1300 Down @1301 @1601 y", &[second]),
            // The person goes back to the input and is not interrupted there.
            (r#"@1000 @1300 Tab Tab @9000 "yes" Enter"#, &[r#"{"op":"ask","text":"yes"}"#]),
            // Stopping the turn is no answer, and goes on to be possible.
            ("@1000 @1300 C-c", &[r#"{"op":"stop","actor":"maia"}"#]),
        ],
    );
}

#[test]
fn a_question_never_takes_the_keyboard_from_a_writer() {
    let yes = answer("allow_once");
    let mut player = Player::new("tree", Lang::En);
    assert!(player.play(r#"@1000 "d""#).is_empty());
    player.fold("question");
    // A text is being written: letters are letters, whatever time passes.
    assert!(player.play("@1100 y @9000 y @20000").is_empty());
    assert_eq!(player.screen.draft(), "dyy");
    // The input is empty, but a key was pressed just now.
    assert!(player.play("C-u @20699 y").is_empty());
    assert_eq!(player.screen.draft(), "y");
    assert_eq!(player.play("Back @21398 @21399 y"), [yes]);
}

#[test]
fn keys_of_french_answer_too() {
    let yes = answer("allow_once");
    check(
        "question",
        Lang::Fr,
        &[("@1000 @1300 o", &[&yes]), ("@1000 @1300 y", &[&yes]), ("@1000 @1300 O", &[&yes])],
    );
}

#[test]
fn a_command_of_the_person_is_ended_by_the_keys_that_stop_a_turn() {
    for stop in ["Esc", "C-c"] {
        let mut player = Player::new("fresh", Lang::En);
        player.screen.learn(Fact::Shell(true));
        assert_eq!(player.play(&format!("@1000 {stop}")), ["StopShell"]);
        player.screen.learn(Fact::Shell(false));
        assert!(!player.play("@1100 Esc").contains(&"StopShell".to_owned()));
    }
}

#[test]
fn equal_questions_are_answered_together() {
    let mut player = Player::new("question", Lang::En);
    player.tell(serde_json::json!({
        "type": "permission_asked", "actor": "maia/tester#2", "id": "maia/tester#2:1.1", "call": "maia/tester#2:1.1",
        "tool": "Bash", "why": "the redirection writes outside the folder", "rule": null, "input":
        {"command": "cargo test --test lines -- --nocapture 2>&1 | tee /tmp/out.txt", "timeout": 120000}
    }));
    let other = r#"{"op":"answer","id":"maia/tester#2:1.1","decision":"allow_once"}"#;
    assert_eq!(player.play("@1000 @1300 y"), [answer("allow_once")]);
    assert_eq!(player.play("Y"), [answer("allow_once"), other.to_owned()]);
}

#[test]
fn a_reason_for_a_closed_question_is_not_lost_and_answers_no_other() {
    let mut player = Player::new("question", Lang::En);
    assert!(player.play(r#"@1000 @1300 r "yes␣bu""#).is_empty());
    player.tell(serde_json::json!({
        "type": "permission_answered", "id": ASKED, "decision": "allow_once", "by": "rule"
    }));
    assert!(player.play(r#"@1400 "t" y @9000 y"#).is_empty());
    assert_eq!(player.screen.draft(), "yes butyy");
}

#[test]
fn a_question_ends_with_its_call() {
    let mut player = Player::new("question", Lang::En);
    for id in [ASKED, "maia:1.3"] {
        // As a turn that is stopped gives each of its calls.
        player.tell(serde_json::json!({
            "type": "tool_result", "id": id, "name": "Bash", "output": "interrupted by the person", "is_error": true,
            "duration_ms": 0, "truncated": false
        }));
    }
    assert_eq!(player.play(r#"@1000 @1300 "yes" Enter"#), [r#"{"op":"ask","text":"yes"}"#]);
}

#[test]
fn what_is_not_known_cannot_be_allowed() {
    let mut player = Player::new("tree", Lang::En);
    player.tell(serde_json::json!({"type": "snapshot", "agents": [], "questions": ["maia:7.1"]}));
    assert!(player.play("@1000 @1300 y Y").is_empty());
    assert_eq!(player.play("n"), [r#"{"op":"answer","id":"maia:7.1","decision":"reject_once"}"#]);
}

#[test]
fn agents_are_told_and_stopped_from_the_tree() {
    check(
        "tree",
        Lang::En,
        &[
            ("@1000 Tab Down x", &[r#"{"op":"stop","actor":"maia/reviewer#1"}"#]),
            ("@1000 Tab x", &[r#"{"op":"stop","actor":"maia"}"#]),
            (
                r#"@1000 Tab Down t "faster" Enter"#,
                &[r#"{"op":"tell","actor":"maia/reviewer#1","text":"faster"}"#],
            ),
            (r#"@1000 Tab Down t "faster" Esc Enter x"#, &[r#"{"op":"stop","actor":"maia/reviewer#1"}"#]),
            ("@1000 Tab Down Left Down x", &[]),
            ("@1000 Tab Down Enter ] x", &[r#"{"op":"stop","actor":"maia/reviewer#1/explorer#1"}"#]),
            ("@1000 Tab Down Enter 2 3 Left Esc Esc", &[r#"{"op":"stop","actor":"maia"}"#]),
            // Esc in the tree only goes back; with an empty input it stops the turn; with text it does nothing.
            ("@1000 Tab Esc", &[]),
            ("@1000 Esc", &[r#"{"op":"stop","actor":"maia"}"#]),
            (r#"@1000 "x" Esc"#, &[]),
            (r#"@1000 "x" C-c"#, &[r#"{"op":"stop","actor":"maia"}"#]),
            // Leaving with agents at work asks.
            ("@1000 C-d", &[]),
            ("@1000 C-d Enter Esc C-d y", &["Quit"]),
            ("@1000 C-d n F1 Esc", &[]),
        ],
    );
}

#[test]
fn ctrl_c_that_comes_after_the_turn_does_not_leave() {
    let mut player = Player::new("streaming", Lang::En);
    player.frame(5_000);
    player.tell(serde_json::json!({"type": "turn_finished", "turn": 1, "stop_reason": "end_turn"}));
    assert!(player.play("@5500 C-c").is_empty());
    assert_eq!(player.play("@5600 C-c"), ["Quit"]);
}

#[test]
fn a_resting_screen_is_not_woken() {
    let mut player = Player::new("fresh", Lang::En);
    player.frame(1_000);
    assert_eq!(player.screen.wake_ms(), None);
    let mut player = Player::new("tree", Lang::En);
    player.frame(1_000);
    assert_eq!(player.screen.wake_ms(), Some(1_250));
    // Nobody works: only the age of the question and the moment from which it can be answered are to be drawn.
    let mut player = Player::new("question", Lang::En);
    player.frame(1_000);
    assert_eq!(player.screen.wake_ms(), Some(1_300));
    player.frame(1_300);
    assert_eq!(player.screen.wake_ms(), Some(10_000));
}
