//! What must never happen, whatever comes: a panic, or a hostile character in a cell.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use maia_protocol::{ActorPath, Event};
use maia_tui::{Fact, Lang, Screen, Setup, draw, key, update};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

/// Something that happens to a screen.
#[derive(Clone, Debug)]
enum Step {
    Event(Value),
    Key(KeyCode, KeyModifiers, u16),
    Paste(String),
    Resize(u16, u16),
    Fact(String),
    Older(Vec<Value>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "[a-z \n]{0,200}",
        Just("\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m".to_owned()),
        Just("\u{202e}\u{2066}a\u{200b}\u{feff}\u{200d}👩\u{200d}💻🏴\u{e0067}\u{fe0f}".to_owned()),
        Just(format!("a\u{200d}b x\u{fe0f} z\u{e0068} q{}", "\u{301}".repeat(30))),
        Just("| a | b |\n|---|---|\n| c | d |\n\n> - 1. x\n```\ny".to_owned()),
        Just(format!("{}\u{301}\u{301}中文", "wide 宽 ".repeat(30))),
        Just("&reviewer x\n&y".to_owned()),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("maia".to_owned()),
        Just("maia/a#1".to_owned()),
        Just("maia/a#1/b#2".to_owned()),
        Just("maia/宽\u{1b}#1".to_owned()),
        Just("@broker".to_owned()),
        Just(String::new()),
        Just("x/y//z".to_owned()),
    ]
}

fn event() -> impl Strategy<Value = Value> {
    let body = (0..27_u8, text(), text(), path(), any::<u32>(), any::<u64>()).prop_map(|(kind, a, b, other, n, big)| {
        let call = format!("{other}:{}.{}", n % 3, n % 2);
        let states = ["queued", "working", "waiting", "idle", "stopping"];
        let state = states[n as usize % states.len()];
        match kind {
            0 => json!({"type": "session_started", "name": a, "cwd": b, "model": a, "mode": "auto", "resumed": n % 2 == 0}),
            1 => json!({"type": "turn_started", "turn": n}),
            2 => json!({"type": "turn_finished", "turn": n, "stop_reason": "failed"}),
            3 => json!({"type": "user_message", "text": a}),
            4 | 5 => json!({"type": "text_delta", "text": a}),
            6 => json!({"type": "text", "text": a}),
            7 => json!({"type": "reasoning", "text": a}),
            8 => json!({"type": "model_call", "step": n, "model": a, "input_tokens": big, "output_tokens": big,
                "cached_tokens": 0, "cost_micros": big, "first_token_ms": null, "duration_ms": big}),
            9 => json!({"type": "message_received", "from": a, "text": b}),
            10 | 11 => json!({"type": "agent_spawned", "definition": a, "task": b, "model": a, "tools": [a, b], "skills": [b],
                "rules": {"allow": [a], "ask": [], "deny": [b]}, "budget": n}),
            12 => json!({"type": "agent_state", "state": state, "waiting_for": if n % 2 == 0 { Some("person") } else { None }}),
            13 => json!({"type": "agent_queued", "position": n}),
            14 => json!({"type": "agent_restarted", "cause": a, "n": n}),
            15 => json!({"type": "agent_finished", "outcome": "partial", "cause": a, "summary": b, "iterations": n,
                "tool_calls": n, "input_tokens": big, "output_tokens": big, "cost_micros": big, "duration_ms": big}),
            16 => json!({"type": "tool_call", "id": call, "name": if n % 4 == 0 { "Delegate".to_owned() } else { a }, "input": {}, "summary": b}),
            17 => json!({"type": "tool_output", "id": call, "chunk": a}),
            18 => json!({"type": "tool_result", "id": call, "name": a, "output": b, "is_error": n % 2 == 0,
                "duration_ms": big, "truncated": false}),
            19 | 20 => json!({"type": "permission_asked", "id": call, "call": call, "tool": if n % 2 == 0 { "Bash" } else { "Edit" },
                "input": {"command": a, "path": b, a.clone(): b}, "why": b, "rule": a}),
            21 => json!({"type": "permission_answered", "id": call, "decision": "reject_once", "reason": a, "by": "person"}),
            22 => json!({"type": "snapshot", "questions": [call], "agents": [{"actor": other, "definition": a, "task": b,
                "iterations": n, "budget": n, "input_tokens": big, "output_tokens": big, "tool_calls": n, "running": [a]}]}),
            23 => json!({"type": "conversation_cleared"}),
            24 => json!({"type": "agent_asked_again", "definition": a, "text": b, "budget": n}),
            25 => json!({"type": "tool_call", "id": call, "name": "Delegate", "summary": b, "input": {"tasks": [
                {"id": a, "agent": b, "task": a}, {"id": b, "agent": a, "task": b, "after": [a, other]},
                {"id": "z", "agent": a, "task": b, "after": [a, b, "z"]}]}}),
            _ => json!({"type": "graph", "call": call, "tasks": [{"id": a, "agent": b, "after": [a], "state": "ready"}]}),
        }
    });
    (body, path(), -10_000_000_000_i64..10_000_000_000).prop_map(|(mut body, actor, second)| {
        body["seq"] = json!(1);
        body["session"] = json!("s");
        body["actor"] = json!(actor);
        body["time"] = json!(Timestamp::from_second(second).expect("within range").to_string());
        body
    })
}

fn step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![
        4 => prop_oneof![Just('y'), Just('n'), Just('r'), Just('s'), Just('t'), Just('x'), Just('a'), Just('2'), Just('4'), Just('['), any::<char>()]
            .prop_map(KeyCode::Char),
        4 => prop_oneof![
            Just(KeyCode::Enter), Just(KeyCode::Esc), Just(KeyCode::Tab), Just(KeyCode::BackTab), Just(KeyCode::Up),
            Just(KeyCode::Down), Just(KeyCode::Left), Just(KeyCode::Right), Just(KeyCode::Home), Just(KeyCode::End),
            Just(KeyCode::PageUp), Just(KeyCode::PageDown), Just(KeyCode::Backspace), Just(KeyCode::Delete),
            Just(KeyCode::F(1)),
        ],
        2 => prop_oneof![Just('a'), Just('e'), Just('u'), Just('w'), Just('k'), Just('t'), Just('j'), Just('d')]
            .prop_map(KeyCode::Char),
    ];
    let modifiers = prop_oneof![
        3 => Just(KeyModifiers::NONE),
        1 => Just(KeyModifiers::CONTROL),
        1 => Just(KeyModifiers::ALT),
    ];
    prop_oneof![
        6 => event().prop_map(Step::Event),
        6 => (code, modifiers, 0..900_u16).prop_map(|(code, modifiers, ms)| Step::Key(code, modifiers, ms)),
        1 => text().prop_map(Step::Paste),
        1 => (1..120_u16, 1..40_u16).prop_map(|(width, height)| Step::Resize(width, height)),
        1 => text().prop_map(Step::Fact),
        1 => proptest::collection::vec(event(), 0..6).prop_map(Step::Older),
    ]
}

/// Tells whether a terminal obeys something in `symbol`, or a person cannot see it.
fn is_hostile(symbol: &str) -> bool {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    // A joiner, a tag or a selector on a letter, or a heap of marks.
    let in_emoji = |c: char| matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{e0000}'..='\u{e007f}');
    let on_letter = symbol.starts_with(char::is_alphabetic) && symbol.chars().any(in_emoji);
    symbol.chars().any(unseen) || on_letter || symbol.chars().count() > 12
}

fn play(steps: Vec<Step>, size: (u16, u16), lang: Lang) {
    let mut screen = Screen::new(Setup { lang, ..Setup::default() });
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a buffer");
    let mut now_ms = 0;
    for step in steps {
        match step {
            Step::Event(value) => {
                let event: Event = serde_json::from_value(value).expect("one of the documented events");
                update(&mut screen, &Arc::new(event));
            }
            Step::Key(code, modifiers, ms) => {
                now_ms += u64::from(ms);
                let _ = key(&mut screen, KeyEvent::new(code, modifiers), now_ms);
            }
            Step::Older(values) => {
                let events = values.into_iter().map(|value| {
                    Arc::new(serde_json::from_value(value).expect("one of the documented events"))
                });
                screen.learn(Fact::Older { actor: ActorPath::new("maia/a#1"), events: events.collect() });
            }
            Step::Paste(text) => screen.paste(&text, now_ms),
            Step::Resize(width, height) => terminal.backend_mut().resize(width, height),
            Step::Fact(text) => {
                screen.learn(Fact::Say(text.clone()));
                screen.learn(Fact::Model(text.clone()));
                screen.learn(Fact::ContextMax(Some(text.len() as u64)));
                screen.learn(Fact::Models(vec![text.clone(), text.clone()]));
                screen.learn(Fact::Interrupted { text: text.clone() });
                screen.learn(Fact::Agents(vec![(text.clone(), text)]));
            }
        }
        screen.tick(now_ms, Timestamp::UNIX_EPOCH);
        terminal.draw(|frame| draw(frame, &mut screen)).expect("a buffer takes everything");
        let cells = &terminal.backend().buffer().content;
        let hostile = cells.iter().find(|cell| is_hostile(cell.symbol()));
        assert_eq!(hostile, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_events_and_keys_break_the_screen(
        steps in proptest::collection::vec(step(), 1..60),
        size in (1..100_u16, 1..32_u16),
        french in any::<bool>(),
    ) {
        play(steps, size, if french { Lang::Fr } else { Lang::En });
    }
}

#[test]
fn every_size_can_be_drawn() {
    let asked = json!({"type": "permission_asked", "id": "maia:1.1", "call": "maia:1.1", "tool": "Bash", "why": "w",
        "rule": null, "input": {"command": "ls"}, "seq": 1, "time": "2026-11-30T10:00:00Z", "session": "s", "actor": "maia"});
    for width in 1..60 {
        for height in 1..16 {
            play(
                vec![Step::Event(asked.clone()), Step::Key(KeyCode::F(1), KeyModifiers::NONE, 0)],
                (width, height),
                Lang::En,
            );
        }
    }
}
