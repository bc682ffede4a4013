//! What each key does: keys that always count, and those of the input.
//!
//! Asked by the runner for every key; gives actions back and does nothing by itself. The other panes' keys are in
//! [`crate::key_pane`]. Time comes in as an argument, because a question may take the keyboard only from a person at
//! rest (SAFETY 3).

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use maia_protocol::{ActorPath, Op};

use crate::action::Action;
use crate::command::{COMMANDS, Unusable, mode_name, next_mode, parse};
use crate::editor::Editor;
use crate::item::Level;
use crate::key_pane;
use crate::question::INERT_MS;
use crate::screen::{Focus, Overlay, Page, Screen, TreeView};
use crate::visible::visible_line;
use crate::wrap::columns;

/// Takes one key at `now_ms`, on the clock of [`Screen::tick`], and returns what the caller has to do.
pub fn key(screen: &mut Screen, key: KeyEvent, now_ms: u64) -> Vec<Action> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    screen.clock.now_ms = screen.clock.now_ms.max(now_ms);
    // First whoever may take the keyboard by now, then the key: it counts for the next one.
    screen.settle();
    screen.pressed();
    always(screen, key).unwrap_or_else(|| match screen.view.focus {
        _ if screen.view.prompt.is_some() => key_pane::prompt(screen, key),
        Focus::Input => input(screen, key),
        Focus::Questions => key_pane::questions(screen, key),
        Focus::Tree => key_pane::tree(screen, key),
        Focus::Inspector => key_pane::inspector(screen, key),
    })
}

/// Tells whether `key` is Ctrl and `c`.
pub(crate) fn is_ctrl(key: KeyEvent, c: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(c)
}

/// Returns the character that `key` writes, if it writes one.
pub(crate) fn written(key: KeyEvent) -> Option<char> {
    let other = key.modifiers.difference(KeyModifiers::SHIFT);
    // AltGr comes as Ctrl and Alt together on some terminals.
    let plain = other.is_empty() || other == KeyModifiers::CONTROL | KeyModifiers::ALT;
    match key.code {
        KeyCode::Char(c) if plain => Some(c),
        _ => None,
    }
}

/// Keys that count whatever has the keyboard.
fn always(screen: &mut Screen, key: KeyEvent) -> Option<Vec<Action>> {
    if is_ctrl(key, 'c') {
        return Some(interrupt(screen));
    }
    if screen.view.overlay.is_some() {
        return Some(key_pane::overlay(screen, key));
    }
    if screen.view.prompt.is_some() {
        return None;
    }
    match key.code {
        KeyCode::F(1) => screen.view.overlay = Some(Overlay::Help { scroll: 0 }),
        KeyCode::BackTab => return Some(vec![Action::Mode(next_mode(screen.session.mode))]),
        KeyCode::PageUp if screen.view.focus != Focus::Questions => return Some(scroll_page(screen, -1)),
        KeyCode::PageDown if screen.view.focus != Focus::Questions => return Some(scroll_page(screen, 1)),
        KeyCode::Tab => tab(screen),
        KeyCode::Char('t') if is_ctrl(key, 't') => cycle_tree(screen),
        KeyCode::Char('d') if is_ctrl(key, 'd') && screen.editor.is_empty() => return Some(leave(screen)),
        _ => return None,
    }
    Some(Vec::new())
}

/// Ctrl+C: closes what is open over the input, else stops the turn, else a command of the person, else clears the input; the second one at rest leaves.
fn interrupt(screen: &mut Screen) -> Vec<Action> {
    if screen.view.overlay.take().is_some() {
        return Vec::new();
    }
    if screen.view.prompt.take().is_some() {
        return Vec::new();
    }
    if screen.session.turn.is_some() {
        return vec![stop(ActorPath::main())];
    }
    if screen.session.shell {
        return vec![Action::StopShell];
    }
    if !screen.editor.is_empty() {
        let text = screen.editor.take();
        screen.history.add(&text);
        return Vec::new();
    }
    if screen.leaves_again() {
        return leave(screen);
    }
    let hint = screen.words().again_leaves;
    screen.hint(hint);
    Vec::new()
}

/// Returns the order that stops `actor` and all below it.
pub(crate) fn stop(actor: ActorPath) -> Action {
    Action::Op(Op::Stop { actor })
}

/// Leaves, after a question when something is at work.
pub(crate) fn leave(screen: &mut Screen) -> Vec<Action> {
    let is_at_work = screen.session.turn.is_some() || screen.tree.at_work().next().is_some();
    if is_at_work && !screen.session.ended {
        screen.view.overlay = Some(Overlay::Leaving);
        return Vec::new();
    }
    vec![Action::Quit]
}

/// Scrolls what is read by `lines`, down positive; at the start of a list asks for what was before it.
pub(crate) fn scroll(screen: &mut Screen, lines: isize) -> Vec<Action> {
    if let Some(overlay) = &mut screen.view.overlay {
        if let Overlay::Help { scroll } = overlay {
            *scroll = scroll.saturating_add_signed(lines);
        }
        return Vec::new();
    }
    let (at, page) = if screen.view.inspecting {
        (screen.tree.selected(), screen.view.page)
    } else {
        (0, Page::Transcript)
    };
    let list = match (page, screen.tree.node_mut(at)) {
        (Page::Transcript, Some(node)) => &mut node.feed,
        (Page::Events, Some(node)) => &mut node.raw,
        _ => {
            screen.view.task_scroll = screen.view.task_scroll.saturating_add_signed(lines);
            return Vec::new();
        }
    };
    list.scroll_by(lines);
    if lines < 0 { crate::older::ask(screen, at, page).into_iter().collect() } else { Vec::new() }
}

/// Scrolls by a page less one line, in the direction of `sign`.
pub(crate) fn scroll_page(screen: &mut Screen, sign: isize) -> Vec<Action> {
    let rows = isize::try_from(screen.view.page_rows).unwrap_or(10).max(2) - 1;
    scroll(screen, sign * rows)
}

fn cycle_tree(screen: &mut Screen) {
    screen.view.tree = match screen.view.tree {
        TreeView::Auto => TreeView::Whole,
        TreeView::Whole => TreeView::Hidden,
        TreeView::Hidden => TreeView::Auto,
    };
    screen.view.focus = match screen.view.tree {
        TreeView::Whole => Focus::Tree,
        _ if screen.view.inspecting => Focus::Inspector,
        _ => Focus::Input,
    };
}

/// Completes a name, or goes on to the next pane: input, questions, tree.
fn tab(screen: &mut Screen) {
    if screen.view.focus == Focus::Input && complete(screen) {
        return;
    }
    let has_tree = screen.tree.nodes().len() > 1 && screen.view.tree != TreeView::Hidden;
    screen.view.focus = match screen.view.focus {
        Focus::Input if !screen.questions.is_empty() => Focus::Questions,
        Focus::Input | Focus::Questions if screen.view.inspecting => Focus::Inspector,
        Focus::Input | Focus::Questions if has_tree => Focus::Tree,
        Focus::Inspector if has_tree => Focus::Tree,
        _ => Focus::Input,
    };
    // The person asked for the input: an open question must not take it back at the next pause.
    screen.view.pinned = screen.view.focus == Focus::Input;
}

/// Completes `&na` and `/na` as far as it is certain; tells whether the text was such a name.
fn complete(screen: &mut Screen) -> bool {
    let text = screen.editor.text();
    let line = text.rsplit('\n').next().unwrap_or(text);
    let names: Vec<&str> = match line.chars().next() {
        Some('&') => screen.session.agents.iter().map(|(name, _)| name.as_str()).collect(),
        Some('/') if line.len() == text.len() => COMMANDS.to_vec(),
        _ => return false,
    };
    let written = line.get(1..).unwrap_or_default();
    if written.contains(char::is_whitespace) {
        return false;
    }
    let fitting: Vec<&str> = names.into_iter().filter(|name| name.starts_with(written)).collect();
    let Some(first) = fitting.first() else { return true };
    let common = fitting.iter().fold(first.len(), |length, name| {
        let shared = first.char_indices().zip(name.chars()).find(|((_, a), b)| a != b);
        length.min(shared.map_or(first.len().min(name.len()), |((at, _), _)| at))
    });
    let mut added = first.get(written.len()..common).unwrap_or_default().to_owned();
    if let [_] = fitting.as_slice() {
        added.push(' ');
    }
    let hint = (fitting.len() > 1).then(|| visible_line(&fitting.join("  ")).into_owned());
    screen.editor.insert(&added);
    if let Some(hint) = hint {
        screen.hint(hint);
    }
    true
}

/// Edits `editor` by `key`; tells whether it was a key that edits.
pub(crate) fn edit(editor: &mut Editor, key: KeyEvent) -> bool {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    if let Some(c) = written(key) {
        editor.insert(c.encode_utf8(&mut [0; 4]));
        return true;
    }
    match key.code {
        KeyCode::Char('a') if ctrl => editor.home(),
        KeyCode::Char('e') if ctrl => editor.end(),
        KeyCode::Char('u') if ctrl => editor.delete_to_start(),
        KeyCode::Char('k') if ctrl => editor.delete_to_end(),
        KeyCode::Char('w') if ctrl => editor.delete_word(),
        KeyCode::Char('h') if ctrl => editor.backspace(),
        KeyCode::Char('d') if ctrl => editor.delete_next(),
        KeyCode::Char('j') if ctrl => editor.insert("\n"),
        KeyCode::Char('b') if alt => editor.word_left(),
        KeyCode::Char('f') if alt => editor.word_right(),
        KeyCode::Left if ctrl || alt => editor.word_left(),
        KeyCode::Right if ctrl || alt => editor.word_right(),
        KeyCode::Backspace if ctrl || alt => editor.delete_word(),
        KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => editor.insert("\n"),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete_next(),
        _ => return false,
    }
    true
}

/// Takes a key while something interrupted is offered; the first letter decides, `None` when the key means what it does elsewhere.
fn offered(screen: &mut Screen, key: KeyEvent) -> Option<Vec<Action>> {
    let offer = screen.view.offer.as_ref()?;
    let is_ripe = offer.drawn_ms.is_some_and(|drawn| screen.clock.now_ms >= drawn + INERT_MS);
    if key.code == KeyCode::Esc {
        screen.view.offer = None;
        return Some(Vec::new());
    }
    let letter = written(key)?;
    if !is_ripe {
        // Typed before it could be read: it is a letter, and decides nothing.
        return None;
    }
    let goes_on = letter == 'r' && key.kind == KeyEventKind::Press && screen.editor.is_empty();
    screen.view.offer = None;
    goes_on.then(|| vec![Action::GoOn])
}

fn input(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    if let Some(actions) = offered(screen, key) {
        return actions;
    }
    if edit(&mut screen.editor, key) {
        return Vec::new();
    }
    match key.code {
        KeyCode::Enter => return submit(screen),
        KeyCode::Up => {
            let moved = screen.editor.up();
            if !moved {
                screen.history.older(&mut screen.editor);
            }
        }
        KeyCode::Down => {
            let moved = screen.editor.down();
            if !moved {
                screen.history.newer(&mut screen.editor);
            }
        }
        KeyCode::Esc if screen.editor.is_empty() && screen.session.turn.is_some() => {
            return vec![stop(ActorPath::main())];
        }
        KeyCode::Esc if screen.editor.is_empty() && screen.session.shell => return vec![Action::StopShell],
        _ => {}
    }
    Vec::new()
}

/// Sends what is written, or says why that cannot be and leaves it.
fn submit(screen: &mut Screen) -> Vec<Action> {
    let words = screen.words();
    let actions = match parse(screen.editor.text()) {
        Ok(actions) => actions,
        Err(Unusable::NoTask { agent }) => {
            screen.hint(format!("&{} {}", visible_line(&agent), words.needs_task));
            return Vec::new();
        }
        Err(Unusable::NoMode) => {
            screen.hint(format!("{} {}", words.unknown_mode, mode_name(screen.session.mode)));
            // A bare `/mode` has been answered; a mistyped one stays to be mended.
            if screen.editor.text().trim() == "/mode" {
                screen.editor.take();
            }
            return Vec::new();
        }
    };
    if let Some(unknown) = actions.iter().find_map(|action| unknown_agent(screen, action)) {
        screen.hint(format!("{} {}", words.unknown_agent, visible_line(&unknown)));
        return Vec::new();
    }
    let text = screen.editor.take();
    if !text.trim().is_empty() {
        screen.history.add(text.trim_end());
    }
    (screen.view.pinned, screen.view.offer) = (false, None);
    screen.view.asked |= actions.iter().any(Action::is_work);
    actions.into_iter().flat_map(|action| own(screen, action)).collect()
}

/// Returns the agent that `action` names, when the agents are known and it is none of them.
fn unknown_agent(screen: &Screen, action: &Action) -> Option<String> {
    let Action::Op(Op::Spawn { agent, .. }) = action else { return None };
    let agents = &screen.session.agents;
    let is_known = agents.is_empty() || agents.iter().any(|(name, _)| name.eq_ignore_ascii_case(agent));
    (!is_known).then(|| agent.clone())
}

/// Does what the screen can do by itself, and passes on what it cannot.
fn own(screen: &mut Screen, action: Action) -> Vec<Action> {
    match action {
        Action::Help => {
            screen.view.overlay = Some(Overlay::Help { scroll: 0 });
            Vec::new()
        }
        Action::Agents if !screen.session.agents.is_empty() => {
            let agents = &screen.session.agents;
            let width =
                agents.iter().map(|(name, _)| columns(&visible_line(name))).max().unwrap_or(0).min(24);
            let lines = agents.iter().map(|(name, description)| {
                let name = visible_line(name);
                let pad = " ".repeat(width.saturating_sub(columns(&name)));
                format!("&{name}{pad}  {}", visible_line(description))
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            screen.say(Level::Info, text);
            if let Some(main) = screen.tree.main_mut() {
                main.feed.go_to_end();
            }
            Vec::new()
        }
        // The transcript empties when the session says so: during a turn it does not.
        Action::Clear if screen.session.turn.is_some() => {
            let hint = screen.words().stop_first;
            screen.hint(hint);
            Vec::new()
        }
        Action::Quit => leave(screen),
        action => vec![action],
    }
}
