//! Screens as text: event lists are folded, keys are pressed, and what is drawn is compared with what was looked at.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use maia_protocol::Event;
use maia_protocol::permission::Sandbox;
use maia_tui::{Fact, Lang, Screen, Setup, ThemeName, draw, key, update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Sizes at which every screen is looked at: the smallest, the usual, a large one.
const SIZES: [(u16, u16); 3] = [(20, 5), (80, 24), (200, 60)];

fn events(name: &str) -> Vec<Arc<Event>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events").join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(path).expect("the list of events is there");
    text.lines().map(|line| Arc::new(serde_json::from_str(line).expect(line))).collect()
}

fn screen(name: &str, lang: Lang) -> Screen {
    let mut screen = Screen::new(Setup { theme: ThemeName::Plain, lang, ..Setup::default() });
    screen.learn(Fact::Sandbox(Sandbox::Partial));
    screen.learn(Fact::ContextMax(Some(200_000)));
    screen.learn(Fact::Agents(vec![
        ("explorer".to_owned(), "finds where things are".to_owned()),
        ("reviewer".to_owned(), "looks for mistakes".to_owned()),
    ]));
    for event in events(name) {
        update(&mut screen, &event);
    }
    screen
}

/// Draws as the runner does: time, frame, and once more when time alone changed something.
fn shown(screen: &mut Screen, size: (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a buffer");
    for now_ms in [10_000, 11_000] {
        screen.tick(now_ms, Timestamp::from_second(1_796_032_860).expect("a time"));
        terminal.draw(|frame| draw(frame, screen)).expect("a buffer takes everything");
    }
    terminal.backend().to_string()
}

fn press(screen: &mut Screen, codes: &[(KeyCode, KeyModifiers)]) {
    for (code, modifiers) in codes {
        let _ = key(screen, KeyEvent::new(*code, *modifiers), 5_000);
    }
}

fn check(name: &str, list: &str, codes: &[(KeyCode, KeyModifiers)]) {
    for size in SIZES {
        let mut screen = screen(list, Lang::En);
        press(&mut screen, codes);
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), shown(&mut screen, size));
    }
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL_T: (KeyCode, KeyModifiers) = (KeyCode::Char('t'), KeyModifiers::CONTROL);

#[test]
fn fresh() {
    check("fresh", "fresh", &[]);
}

#[test]
fn streaming() {
    check("streaming", "streaming", &[]);
}

#[test]
fn writing() {
    let text = "first line\n中文 and a second line that is longer than a narrow screen";
    for size in SIZES {
        let mut screen = screen("streaming", Lang::En);
        screen.paste(text, 1_000);
        insta::assert_snapshot!(format!("writing_{}x{}", size.0, size.1), shown(&mut screen, size));
    }
}

#[test]
fn tree() {
    check("tree", "tree", &[]);
    check("tree_whole", "tree", &[CTRL_T, (KeyCode::Down, NONE)]);
}

#[test]
fn question() {
    check("question", "question", &[]);
}

#[test]
fn inspector() {
    let open = [CTRL_T, (KeyCode::Down, NONE), (KeyCode::Enter, NONE)];
    check("inspector_task", "tree", &open);
    check("inspector_transcript", "tree", &[&open[..], &[(KeyCode::Char('2'), NONE)]].concat());
    check("inspector_events", "tree", &[&open[..], &[(KeyCode::Char('3'), NONE)]].concat());
}

#[test]
fn graph() {
    check("graph", "graph", &[]);
    let open = [CTRL_T, (KeyCode::Enter, NONE), (KeyCode::Char('4'), NONE)];
    check("inspector_graph", "graph", &open);
}

/// Folds one event of the main agent.
fn tell(screen: &mut Screen, mut event: serde_json::Value) {
    for (name, value) in
        [("seq", "9"), ("time", "\"2026-11-30T10:00:00Z\""), ("session", "\"0199\""), ("actor", "\"maia\"")]
    {
        event[name] = serde_json::from_str(value).expect("JSON");
    }
    update(screen, &Arc::new(serde_json::from_value(event).expect("an event")));
}

#[test]
fn a_graph_of_many_tasks_is_cut_and_says_so() {
    let task = |n: usize| {
        let after = if n == 0 { vec![] } else { vec![format!("t{}", n / 2)] };
        serde_json::json!({"id": format!("t{n}"), "agent": "explorer", "task": "look", "after": after})
    };
    let input = serde_json::json!({"tasks": (0..500).map(task).collect::<Vec<_>>()});
    let call = serde_json::json!({"type": "tool_call", "id": "maia:1.1", "name": "Delegate", "input": input, "summary": ""});
    let told = |n: usize| {
        let state = ["done", "failed", "running", "blocked"][(n * n / 7 + usize::from(n > 3)) % 4];
        serde_json::json!({"id": format!("t{n}"), "agent": "explorer", "after": [], "state": state})
    };
    let states = serde_json::json!({"type": "graph", "call": "maia:1.1", "tasks": (0..500).map(told).collect::<Vec<_>>()});
    for size in SIZES {
        let mut screen = screen("fresh", Lang::En);
        tell(&mut screen, call.clone());
        tell(&mut screen, states.clone());
        insta::assert_snapshot!(format!("graph_of_500_{}x{}", size.0, size.1), shown(&mut screen, size));
        press(
            &mut screen,
            &[CTRL_T, (KeyCode::Enter, NONE), (KeyCode::Char('4'), NONE), (KeyCode::End, NONE)],
        );
        let text = shown(&mut screen, size);
        assert!(text.contains("t499 "), "{text}");
    }
}

#[test]
fn offers() {
    for size in SIZES {
        let mut fresh = screen("fresh", Lang::En);
        let text = "session_2026-11-30_10_00_00 was interrupted with 3 agents at work (\"What is here?\"); r goes on, \
            any other key leaves it";
        fresh.learn(Fact::Interrupted { text: text.to_owned() });
        insta::assert_snapshot!(format!("interrupted_{}x{}", size.0, size.1), shown(&mut fresh, size));
        let mut fresh = screen("fresh", Lang::En);
        let models = (1..40).map(|n| format!("model-{n}")).chain(["gpt-5-mini".to_owned()]);
        fresh.learn(Fact::Models(models.collect()));
        press(&mut fresh, &[(KeyCode::Up, NONE)]);
        insta::assert_snapshot!(format!("models_{}x{}", size.0, size.1), shown(&mut fresh, size));
    }
    let down = (KeyCode::Down, NONE);
    check("ask_again", "tree", &[(KeyCode::Tab, NONE), down, down, down, (KeyCode::Char('a'), NONE)]);
}

#[test]
fn help() {
    check("help", "tree", &[(KeyCode::F(1), NONE)]);
}

#[test]
fn leaving() {
    check("leaving", "tree", &[(KeyCode::Char('d'), KeyModifiers::CONTROL)]);
}

#[test]
fn what_has_the_keyboard_is_in_sight() {
    for size in SIZES {
        let mut screen = screen("tree", Lang::En);
        shown(&mut screen, size);
        press(&mut screen, &[(KeyCode::Tab, NONE), (KeyCode::Down, NONE)]);
        let text = shown(&mut screen, size);
        assert!(text.contains("▌  ▾◐ reviewer#1"), "{text}");
    }
}

#[test]
fn many_agents() {
    check("many", "many", &[]);
    check("many_whole", "many", &[CTRL_T, (KeyCode::End, NONE)]);
}

#[test]
fn in_french() {
    let mut screen = screen("question", Lang::Fr);
    insta::assert_snapshot!("french_80x24", shown(&mut screen, (80, 24)));
}
