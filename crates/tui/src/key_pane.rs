//! The keys of questions, tree, inspector, prompts and overlays.
//!
//! Asked by [`crate::key`] for the pane that has the keyboard. A question is answered by a letter only, never by
//! Enter or Esc, and never before it could be read (SAFETY 3).

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use maia_protocol::{ActorPath, CallId, Decision, Op};

use crate::action::Action;
use crate::key::{edit, scroll, scroll_page, stop, written};
use crate::screen::{Focus, Overlay, Page, Prompt, Purpose, Screen, TreeView};
use crate::visible::visible_line;
use crate::words::Lang;

/// Keys of the question that is shown.
pub(crate) fn questions(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    match key.code {
        KeyCode::Up => screen.questions.show(-1),
        KeyCode::Down => screen.questions.show(1),
        KeyCode::PageUp => screen.questions.scroll = screen.questions.scroll.saturating_sub(5),
        KeyCode::PageDown => screen.questions.scroll = screen.questions.scroll.saturating_add(5),
        _ => {}
    }
    let KeyCode::Char(letter) = key.code else { return Vec::new() };
    // A letter with Ctrl or Alt is no answer, nor is one that is held down from before.
    let is_pressed = key.kind == KeyEventKind::Press && KeyModifiers::SHIFT.contains(key.modifiers);
    if !is_pressed || !screen.questions.is_ripe(screen.clock.now_ms) {
        return Vec::new();
    }
    let Some((question, ..)) = screen.questions.shown() else { return Vec::new() };
    let Some(id) = question.ids.first().cloned() else { return Vec::new() };
    let all = question.ids.clone();
    // What is not known must not be allowed.
    let is_known = question.subject.is_some();
    let french = screen.lang == Lang::Fr;
    match letter {
        'y' if is_known => vec![answer(id, Decision::AllowOnce)],
        'o' if is_known && french => vec![answer(id, Decision::AllowOnce)],
        'Y' if is_known => all.into_iter().map(|id| answer(id, Decision::AllowOnce)).collect(),
        'O' if is_known && french => all.into_iter().map(|id| answer(id, Decision::AllowOnce)).collect(),
        'n' => vec![answer(id, Decision::RejectOnce { reason: None })],
        's' => vec![answer(id, Decision::Stop)],
        'r' => {
            screen.view.prompt = Some(Prompt { purpose: Purpose::Reason(id), editor: Default::default() });
            Vec::new()
        }
        'y' | 'Y' => {
            let hint = screen.words().unknown_question;
            screen.hint(hint);
            Vec::new()
        }
        // Who begins to write means the input: what follows is text too, and answers nothing.
        _ => {
            screen.editor.insert(letter.encode_utf8(&mut [0; 4]));
            (screen.view.focus, screen.view.pinned) = (Focus::Input, true);
            Vec::new()
        }
    }
}

fn answer(id: CallId, decision: Decision) -> Action {
    Action::Op(Op::Answer { id, decision })
}

/// Keys of a line that is asked for in the input's place.
pub(crate) fn prompt(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    let Some(prompt) = &mut screen.view.prompt else { return Vec::new() };
    if edit(&mut prompt.editor, key) {
        return Vec::new();
    }
    match key.code {
        KeyCode::Esc => {
            screen.view.prompt = None;
            Vec::new()
        }
        // Enter alone answers nothing: a reason has to be there.
        KeyCode::Enter if prompt.editor.text().trim().is_empty() => Vec::new(),
        KeyCode::Enter => {
            let text = prompt.editor.take().trim().to_owned();
            let purpose = prompt.purpose.clone();
            screen.view.prompt = None;
            vec![match purpose {
                Purpose::Reason(id) => answer(id, Decision::RejectOnce { reason: Some(text) }),
                Purpose::Tell(actor) => Action::Op(Op::Tell { actor, text }),
                Purpose::AskAgain(actor) => Action::Op(Op::AskAgain { actor, text }),
            }]
        }
        _ => Vec::new(),
    }
}

/// Keys of the tree.
pub(crate) fn tree(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => screen.tree.select_by(-1),
        KeyCode::Down | KeyCode::Char('j') => screen.tree.select_by(1),
        KeyCode::Home | KeyCode::Char('g') => screen.tree.select_by(isize::MIN / 2),
        KeyCode::End | KeyCode::Char('G') => screen.tree.select_by(isize::MAX / 2),
        KeyCode::Left | KeyCode::Char('h') => screen.tree.fold(false),
        KeyCode::Right | KeyCode::Char('l') => screen.tree.fold(true),
        KeyCode::Enter => {
            (screen.view.inspecting, screen.view.focus) = (true, Focus::Inspector);
            screen.view.task_scroll = 0;
            if screen.view.tree == TreeView::Whole {
                screen.view.tree = TreeView::Auto;
            }
        }
        KeyCode::Esc => {
            screen.view.focus = if screen.view.inspecting { Focus::Inspector } else { Focus::Input };
            if screen.view.tree == TreeView::Whole {
                screen.view.tree = TreeView::Auto;
            }
        }
        _ => return on_agent(screen, key),
    }
    Vec::new()
}

/// Pages of the inspector in the order of their tabs.
pub(crate) const PAGES: [Page; 4] = [Page::Task, Page::Transcript, Page::Events, Page::Graph];

/// Keys of the inspector.
pub(crate) fn inspector(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    let at = PAGES.iter().position(|page| *page == screen.view.page).unwrap_or(0);
    match key.code {
        KeyCode::Char(digit @ '1'..='4') => open(screen, digit as usize - '1' as usize),
        KeyCode::Right | KeyCode::Char('l') => open(screen, (at + 1).min(PAGES.len() - 1)),
        KeyCode::Left | KeyCode::Char('h') => open(screen, at.saturating_sub(1)),
        KeyCode::Up | KeyCode::Char('k') => return scroll(screen, -1),
        KeyCode::Down | KeyCode::Char('j') => return scroll(screen, 1),
        KeyCode::Char(' ') => return scroll_page(screen, 1),
        KeyCode::Home | KeyCode::Char('g') => return jump(screen, false),
        KeyCode::End | KeyCode::Char('G') => return jump(screen, true),
        KeyCode::Char(c @ ('[' | ']')) => {
            screen.tree.select_by(if c == '[' { -1 } else { 1 });
            screen.view.task_scroll = 0;
        }
        KeyCode::Esc | KeyCode::Char('q') => {
            (screen.view.inspecting, screen.view.focus) = (false, Focus::Input);
        }
        _ => return on_agent(screen, key),
    }
    Vec::new()
}

fn open(screen: &mut Screen, at: usize) {
    let page = PAGES.get(at).copied().unwrap_or_default();
    if page != screen.view.page {
        (screen.view.page, screen.view.task_scroll) = (page, 0);
    }
}

fn jump(screen: &mut Screen, to_end: bool) -> Vec<Action> {
    let (at, page) = (screen.tree.selected(), screen.view.page);
    let list = match (page, screen.tree.node_mut(at)) {
        (Page::Transcript, Some(node)) => &mut node.feed,
        (Page::Events, Some(node)) => &mut node.raw,
        _ => {
            screen.view.task_scroll = if to_end { usize::MAX / 2 } else { 0 };
            return Vec::new();
        }
    };
    if to_end {
        list.go_to_end();
        return Vec::new();
    }
    list.go_to_start();
    crate::older::ask(screen, at, page).into_iter().collect()
}

/// Keys that act on the selected agent.
fn on_agent(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    let Some(letter) = written(key) else { return Vec::new() };
    let selected = screen.tree.selected();
    let Some(node) = screen.tree.node(selected) else { return Vec::new() };
    let (path, is_live) = (node.path.clone(), node.life.is_live());
    let is_main = path == ActorPath::main();
    let purpose = match letter {
        // Stopping an idle main agent would end nothing.
        'x' if is_live && is_main && screen.session.turn.is_none() => return Vec::new(),
        'x' if is_live => return vec![stop(path)],
        't' if is_live => Purpose::Tell(path),
        // What a person asks of the main agent is a request like any other.
        'a' if is_main => {
            screen.view.focus = Focus::Input;
            return Vec::new();
        }
        'a' if !is_live => Purpose::AskAgain(path),
        'x' | 't' | 'a' => {
            let words = screen.words();
            let why = match (is_live, letter) {
                (true, _) => words.is_at_work,
                (false, 't') => words.has_ended_ask,
                (false, _) => words.has_ended,
            };
            screen.hint(format!("{} {why}", visible_line(path.as_str())));
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    screen.view.prompt = Some(Prompt { purpose, editor: Default::default() });
    Vec::new()
}

/// Keys of what covers the panes.
pub(crate) fn overlay(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    match &screen.view.overlay {
        None => {}
        Some(Overlay::Models(_)) => return crate::choice::key(screen, key),
        Some(Overlay::Help { .. }) => match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::F(1) | KeyCode::Char('q' | '?') => {
                screen.view.overlay = None;
            }
            KeyCode::Up | KeyCode::Char('k') => return scroll(screen, -1),
            KeyCode::Down | KeyCode::Char('j') => return scroll(screen, 1),
            KeyCode::PageUp => return scroll_page(screen, -1),
            KeyCode::PageDown | KeyCode::Char(' ') => return scroll_page(screen, 1),
            _ => {}
        },
        Some(Overlay::Leaving) => {
            let plain = key.modifiers.is_empty();
            match key.code {
                KeyCode::Char('y') if plain => {
                    screen.view.overlay = None;
                    return vec![Action::Quit];
                }
                KeyCode::Char('o') if plain && screen.lang == Lang::Fr => {
                    screen.view.overlay = None;
                    return vec![Action::Quit];
                }
                KeyCode::Esc | KeyCode::Char('n') => screen.view.overlay = None,
                _ => {}
            }
        }
    }
    Vec::new()
}
