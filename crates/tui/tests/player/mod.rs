//! Plays scripts of keys on a screen and gives the actions that come out.
//!
//! A script is words: `@900` lets time come to 900 ms and draws a frame, `paste:…` pastes, `C-x` is Ctrl and x, a
//! quoted word writes its letters, anything else is a key by its name.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use maia_protocol::Event;
use maia_tui::{Action, Fact, Lang, Screen, Setup, draw, key, update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// A screen, keys, and what came out.
pub struct Player {
    pub screen: Screen,
    pub terminal: Terminal<TestBackend>,
    now_ms: u64,
    done: Vec<String>,
}

impl Player {
    pub fn new(list: &str, lang: Lang) -> Self {
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

    pub fn fold(&mut self, list: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events").join(format!("{list}.jsonl"));
        let text = std::fs::read_to_string(path).expect("the list of events is there");
        for line in text.lines() {
            let event: Event = serde_json::from_str(line).expect(line);
            update(&mut self.screen, &Arc::new(event));
        }
    }

    pub fn tell(&mut self, event: serde_json::Value) {
        let mut whole = serde_json::json!({"seq": 99, "time": "2026-11-30T11:00:00Z", "session": "0199", "actor": "maia"});
        for (name, value) in event.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        let event: Event = serde_json::from_value(whole).expect("an event");
        update(&mut self.screen, &Arc::new(event));
    }

    pub fn frame(&mut self, now_ms: u64) {
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

    pub fn play(&mut self, script: &str) -> Vec<String> {
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

/// Plays each script on a new screen of `list`.
pub fn check(list: &str, lang: Lang, cases: &[(&str, &[&str])]) {
    for (script, expected) in cases {
        assert_eq!(Player::new(list, lang).play(script), *expected, "{list}: {script}");
    }
}
