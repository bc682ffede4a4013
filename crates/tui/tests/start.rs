//! The first screen as text, at each size, and as its keys change it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use maia_tui::start::{Start, StartAnswer, StartItem, StartModel, StartPage, draw};
use maia_tui::{Lang, Setup, ThemeName};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const SIZES: [(u16, u16); 3] = [(20, 5), (80, 24), (200, 60)];

fn page() -> StartPage {
    let model = |name: &str, source: &str| StartModel { name: name.to_owned(), source: source.to_owned() };
    let item = |kind: &str, path: &str, note: &str| StartItem {
        kind: kind.to_owned(),
        path: path.to_owned(),
        note: note.to_owned(),
    };
    StartPage {
        version: "0.1.0".to_owned(),
        cwd: "/home/ada/projects/parser".to_owned(),
        endpoints: vec![
            model("gpt-5", "LiteLLM_URL of ~/.maia/settings.json"),
            model("qwen3", "http://127.0.0.1:11434 (found)"),
            model("demo", "embedded: no network, no intelligence"),
        ],
        brings: vec![
            item("agent", ".maia/agents/linter/AGENT.md", "may run Bash(npm run *)"),
            item("rules", ".maia/settings.json", "3 allow rules \u{1b}[31mred\u{202e}"),
        ],
        rules: [
            "deny   Read(.env)",
            "deny   Read(.env.*)",
            "deny   Read(*.pem)",
            "allow  Read(**)",
            "allow  Glob(**)",
            "allow  Grep(**)",
            "allow  TodoWrite, CurrentModel, Skill, Agent, Delegate, AgentOutput",
        ]
        .map(str::to_owned)
        .to_vec(),
        file: "~/.maia/settings.json".to_owned(),
        ask_rules: true,
    }
}

fn start(lang: Lang, page: StartPage) -> Start {
    Start::new(&Setup { theme: ThemeName::Plain, lang, ..Setup::default() }, page)
}

fn shown(start: &mut Start, size: (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a buffer");
    terminal.draw(|frame| draw(frame, start)).expect("a buffer takes everything");
    terminal.backend().to_string()
}

fn press(start: &mut Start, codes: &[KeyCode], size: (u16, u16)) {
    for code in codes {
        let answer = start.key(KeyEvent::new(*code, KeyModifiers::NONE));
        assert_eq!(answer, None, "{code:?} decided");
        shown(start, size);
    }
}

fn check(name: &str, lang: Lang, page: &StartPage, codes: &[KeyCode]) {
    for size in SIZES {
        let mut start = start(lang, page.clone());
        shown(&mut start, size);
        press(&mut start, codes, size);
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), shown(&mut start, size));
    }
}

#[test]
fn the_first_screen() {
    check("whole", Lang::En, &page(), &[]);
    check("model", Lang::En, &page(), &[KeyCode::Down, KeyCode::Down]);
    check("trust", Lang::En, &page(), &[KeyCode::Tab, KeyCode::Down]);
    check("french", Lang::Fr, &page(), &[KeyCode::Tab]);
    let nothing = StartPage { brings: Vec::new(), ask_rules: false, ..page() };
    check("only_model", Lang::En, &nothing, &[]);
    check("no_model", Lang::En, &StartPage { endpoints: Vec::new(), ..nothing }, &[]);
}

#[test]
fn every_line_can_be_brought_into_sight() {
    for size in [(20, 5), (20, 2), (33, 7), (80, 24)] {
        let mut start = start(Lang::En, page());
        let mut seen = shown(&mut start, size);
        for _ in 0..60 {
            press(&mut start, &[KeyCode::PageDown], size);
            seen.push_str(&shown(&mut start, size));
        }
        for text in ["gpt-5", "qwen3", "demo", "agent", "rules", "never here", "deny", "Delegate"] {
            assert!(seen.contains(text), "{text} cannot be seen at {size:?}:\n{seen}");
        }
    }
}

#[test]
fn every_size_can_be_drawn_and_nothing_hostile_is() {
    for width in (1..30).chain([38, 39, 40, 41, 80, 200]) {
        for height in [1, 2, 3, 5, 11, 12, 24] {
            let mut start = start(Lang::Fr, page());
            for code in [KeyCode::Tab, KeyCode::Down, KeyCode::PageDown, KeyCode::Tab, KeyCode::Up] {
                press(&mut start, &[code], (width, height));
                let text = shown(&mut start, (width, height));
                assert!(!text.contains(['\u{1b}', '\u{202e}']), "{width}x{height}");
            }
        }
    }
}

#[test]
fn a_page_without_anything_can_be_answered() {
    let mut start = start(Lang::En, StartPage::default());
    press(&mut start, &[KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::PageUp], (80, 24));
    let answer = start.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
    assert!(matches!(answer, Some(StartAnswer::Go { model: None, .. })), "{answer:?}");
}
