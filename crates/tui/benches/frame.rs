//! One frame of 120×40 with 2,000 items of transcript and a tree of 1,000 agents (SPEC section 6): `cargo bench -p maia-tui`.
//!
//! Prints medians beside the promise. Nothing is asserted: a busy machine proves nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use maia_protocol::Event;
use maia_tui::{Screen, Setup, draw, key, update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

const FRAMES: usize = 300;

fn fold(screen: &mut Screen, actor: &str, mut body: Value) {
    body["seq"] = json!(1);
    body["time"] = json!("2026-11-30T10:00:00Z");
    body["session"] = json!("s");
    body["actor"] = json!(actor);
    let event: Event = serde_json::from_value(body).expect("an event");
    update(screen, &Arc::new(event));
}

fn filled() -> Screen {
    let mut screen = Screen::new(Setup::default());
    for n in 0..1_000 {
        let actor = if n % 5 == 0 { format!("maia/a#{n}") } else { format!("maia/a#{}/b#{n}", n / 5 * 5) };
        let rules = json!({"allow": [], "ask": [], "deny": []});
        fold(
            &mut screen,
            &actor,
            json!({"type": "agent_spawned", "definition": "a", "task": "t", "model": "m", "tools": [],
            "skills": [], "rules": rules, "budget": 25}),
        );
        fold(
            &mut screen,
            &actor,
            json!({"type": "model_call", "step": 1, "model": "m", "input_tokens": 1_000 + n,
            "output_tokens": 10, "cached_tokens": 0, "cost_micros": 10, "first_token_ms": 1, "duration_ms": 2}),
        );
    }
    for n in 0..2_000_usize {
        let words =
            (0..6 + n % 30).map(|word| ["some", "`code`", "**strong**", "plain", "text"][(n + word) % 5]);
        fold(&mut screen, "maia", json!({"type": "text", "text": words.collect::<Vec<_>>().join(" ")}));
    }
    screen
}

fn measure(name: &str, mut each: impl FnMut(usize) -> Duration) {
    let mut times: Vec<Duration> = (0..FRAMES).map(&mut each).collect();
    times.sort_unstable();
    let at = |part: usize| times.get(FRAMES * part / 100).copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!("{name:<44} median {:.3} ms   p99 {:.3} ms", at(50), at(99));
}

fn main() {
    println!("promise: frame 120x40, 2,000 lines of transcript, tree of 1,000: at most 1 ms median");
    let mut screen = filled();
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).expect("a buffer");
    let mut frame = |screen: &mut Screen, ms: usize| {
        let start = Instant::now();
        screen.tick(ms as u64, Timestamp::UNIX_EPOCH);
        terminal.draw(|frame| draw(frame, screen)).expect("a buffer takes everything");
        start.elapsed()
    };
    println!("{:<44} {:.3} ms", "first frame", frame(&mut screen, 0).as_secs_f64() * 1e3);
    measure("following the end", |n| frame(&mut screen, n * 250));
    measure("a piece of text streamed before each", |n| {
        fold(&mut screen, "maia", json!({"type": "text_delta", "text": format!("word{n} and more, ")}));
        frame(&mut screen, n * 250)
    });
    measure("a page up before each", |n| {
        let _ = key(&mut screen, KeyEvent::new(KeyCode::PageUp, KeyModifiers::NONE), n as u64);
        frame(&mut screen, n * 250)
    });
    let _ = key(&mut screen, KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE), 0);
    measure("walking down the tree", |n| {
        let _ = key(&mut screen, KeyEvent::new(KeyCode::Down, KeyModifiers::NONE), n as u64);
        frame(&mut screen, n * 250)
    });
    let tasks: Vec<Value> = (0..500)
        .map(|n: usize| {
            let after =
                if n.is_multiple_of(7) { vec![] } else { vec![format!("t{}", n / 2), format!("t{}", n / 3)] };
            json!({"id": format!("t{n}"), "agent": "a", "task": "t", "after": after})
        })
        .collect();
    let input = json!({"tasks": tasks});
    let call =
        json!({"type": "tool_call", "id": "maia:1.1", "name": "Delegate", "input": input, "summary": ""});
    fold(&mut screen, "maia", call);
    let press = |screen: &mut Screen, code: KeyCode| {
        let _ = key(screen, KeyEvent::new(code, KeyModifiers::NONE), 0);
    };
    for code in [KeyCode::Home, KeyCode::Enter, KeyCode::Char('4')] {
        press(&mut screen, code);
    }
    measure("scrolling through a graph of 500 tasks", |n| {
        press(&mut screen, KeyCode::Down);
        frame(&mut screen, n * 250)
    });
    press(&mut screen, KeyCode::Esc);
    measure("an agent spawned before each", |n| {
        let rules = json!({"allow": [], "ask": [], "deny": []});
        fold(
            &mut screen,
            &format!("maia/c#{n}"),
            json!({"type": "agent_spawned", "definition": "a", "task": "t", "model": "m",
            "tools": [], "skills": [], "rules": rules, "budget": 25}),
        );
        frame(&mut screen, n * 250)
    });
}
