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
        _ => {
            let words = screen.words();
            screen.hint(format!("{} · {}", words.only_answers, words.tab_writes));
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

/// Keys of the inspector.
pub(crate) fn inspector(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    use Page::{Events, Task, Transcript};
    match key.code {
        KeyCode::Char('1') => screen.view.page = Task,
        KeyCode::Char('2') => screen.view.page = Transcript,
        KeyCode::Char('3') => screen.view.page = Events,
        KeyCode::Right | KeyCode::Char('l') => {
            screen.view.page = if screen.view.page == Task { Transcript } else { Events };
        }
        KeyCode::Left | KeyCode::Char('h') => {
            screen.view.page = if screen.view.page == Events { Transcript } else { Task };
        }
        KeyCode::Up | KeyCode::Char('k') => scroll(screen, -1),
        KeyCode::Down | KeyCode::Char('j') => scroll(screen, 1),
        KeyCode::Char(' ') => scroll_page(screen, 1),
        KeyCode::Home | KeyCode::Char('g') => jump(screen, false),
        KeyCode::End | KeyCode::Char('G') => jump(screen, true),
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

fn jump(screen: &mut Screen, to_end: bool) {
    let (at, page) = (screen.tree.selected(), screen.view.page);
    if page == Page::Task {
        screen.view.task_scroll = if to_end { usize::MAX / 2 } else { 0 };
        return;
    }
    let Some(node) = screen.tree.node_mut(at) else { return };
    let feed = if page == Page::Events { &mut node.raw } else { &mut node.feed };
    if to_end { feed.go_to_end() } else { feed.go_to_start() }
}

/// Keys that act on the selected agent.
fn on_agent(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    let Some(letter) = written(key) else { return Vec::new() };
    let selected = screen.tree.selected();
    let Some(node) = screen.tree.node(selected) else { return Vec::new() };
    let (path, is_live) = (node.path.clone(), node.life.is_live());
    if !matches!(letter, 'x' | 't') {
        return Vec::new();
    }
    if !is_live {
        screen.hint(format!("{} {}", visible_line(path.as_str()), screen.words().has_ended));
        return Vec::new();
    }
    if letter == 'x' {
        // Stopping an idle main agent would end nothing.
        let is_main = path == ActorPath::main();
        return if is_main && screen.session.turn.is_none() { Vec::new() } else { vec![stop(path)] };
    }
    screen.view.prompt = Some(Prompt { purpose: Purpose::Tell(path), editor: Default::default() });
    Vec::new()
}

/// Keys of what covers the panes.
pub(crate) fn overlay(screen: &mut Screen, overlay: Overlay, key: KeyEvent) -> Vec<Action> {
    match overlay {
        Overlay::Help { .. } => match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::F(1) | KeyCode::Char('q' | '?') => {
                screen.view.overlay = None;
            }
            KeyCode::Up | KeyCode::Char('k') => scroll(screen, -1),
            KeyCode::Down | KeyCode::Char('j') => scroll(screen, 1),
            KeyCode::PageUp => scroll_page(screen, -1),
            KeyCode::PageDown | KeyCode::Char(' ') => scroll_page(screen, 1),
            _ => {}
        },
        Overlay::Leaving => {
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
