//! What keys do: scripts of keys at given times, and the actions that come out.
//!
//! A script is words: `@900` lets time come to 900 ms and draws a frame, `paste:…` pastes, `C-x` is Ctrl and x, a
//! quoted word writes its letters, anything else is a key by its name. The number before an expectation is the step.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use maia_protocol::Event;
use maia_tui::{Action, Fact, Lang, Screen, Setup, draw, key, update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

struct Player {
    screen: Screen,
    terminal: Terminal<TestBackend>,
    now_ms: u64,
    done: Vec<String>,
}

impl Player {
    fn new(list: &str, lang: Lang) -> Self {
        let mut screen = Screen::new(Setup { lang, ..Setup::default() });
        screen.learn(Fact::Agents(vec![
            ("reviewer".to_owned(), "looks".to_owned()),
            ("researcher".to_owned(), "searches".to_owned()),
            ("tester".to_owned(), "tests".to_owned()),
        ]));
        let mut player = Self {
            screen,
            terminal: Terminal::new(TestBackend::new(80, 24)).expect("a buffer"),
            now_ms: 0,
            done: Vec::new(),
        };
        player.fold(list);
        player
    }

    fn fold(&mut self, list: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events").join(format!("{list}.jsonl"));
        let text = std::fs::read_to_string(path).expect("the list of events is there");
        for line in text.lines() {
            let event: Event = serde_json::from_str(line).expect(line);
            update(&mut self.screen, &Arc::new(event));
        }
    }

    fn tell(&mut self, event: serde_json::Value) {
        let mut whole = serde_json::json!({"seq": 99, "time": "2026-11-30T11:00:00Z", "session": "0199", "actor": "maia"});
        for (name, value) in event.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        let event: Event = serde_json::from_value(whole).expect("an event");
        update(&mut self.screen, &Arc::new(event));
    }

    fn frame(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        let Self { screen, terminal, .. } = self;
        screen.tick(now_ms, Timestamp::UNIX_EPOCH);
        terminal.draw(|frame| draw(frame, screen)).expect("a buffer takes everything");
        screen.tick(now_ms, Timestamp::UNIX_EPOCH);
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        for action in key(&mut self.screen, KeyEvent::new(code, modifiers), self.now_ms) {
            self.done.push(match action {
                Action::Op(op) => serde_json::to_string(&op).expect("an order"),
                other => format!("{other:?}"),
            });
        }
    }

    fn play(&mut self, script: &str) -> Vec<String> {
        for word in script.split(' ').filter(|word| !word.is_empty()) {
            if let Some(ms) = word.strip_prefix('@') {
                self.frame(ms.parse().expect("milliseconds"));
                continue;
            }
            if let Some(text) = word.strip_prefix("paste:") {
                self.screen.paste(&text.replace('␣', " ").replace('⏎', "\r\n"), self.now_ms);
                continue;
            }
            if let Some(text) = word.strip_prefix('"') {
                for c in text.trim_end_matches('"').chars() {
                    let c = if c == '␣' { ' ' } else { c };
                    self.press(KeyCode::Char(c), KeyModifiers::NONE);
                }
                continue;
            }
            let (code, modifiers) = match word {
                "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
                "A-Enter" => (KeyCode::Enter, KeyModifiers::ALT),
                "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
                "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
                "S-Tab" => (KeyCode::BackTab, KeyModifiers::SHIFT),
                "Up" => (KeyCode::Up, KeyModifiers::NONE),
                "Down" => (KeyCode::Down, KeyModifiers::NONE),
                "Left" => (KeyCode::Left, KeyModifiers::NONE),
                "Right" => (KeyCode::Right, KeyModifiers::NONE),
                "Back" => (KeyCode::Backspace, KeyModifiers::NONE),
                "F1" => (KeyCode::F(1), KeyModifiers::NONE),
                word if word.starts_with("C-") => {
                    (KeyCode::Char(word.chars().last().expect("a letter")), KeyModifiers::CONTROL)
                }
                word => {
                    let letter = word.chars().next().expect("a letter");
                    assert_eq!(word.chars().count(), 1, "no such key: {word}");
                    let shift = if letter.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
                    (KeyCode::Char(letter), shift)
                }
            };
            self.press(code, modifiers);
        }
        std::mem::take(&mut self.done)
    }
}

fn check(list: &str, lang: Lang, cases: &[(&str, &[&str])]) {
    for (script, expected) in cases {
        assert_eq!(Player::new(list, lang).play(script), *expected, "{list}: {script}");
    }
}

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
            (r#"@1000 C-c"#, &["Quit"]),
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
            // Enter, Esc and other letters answer nothing.
            ("@1000 @1300 Enter Esc o a e x Enter", &[]),
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
