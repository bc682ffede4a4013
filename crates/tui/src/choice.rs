//! A list to choose from, such as the models of `/model`: a window of lines, arrows, Enter, Esc (mission M15.5-lists).
//!
//! Asked by the keys while it covers the panes. Owns the lines and where the person is among them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::action::Action;
use crate::item::Level;
use crate::question::INERT_MS;
use crate::screen::{Overlay, Screen};
use crate::visible::visible_line;

/// The list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The names as they came.
    pub names: Vec<String>,
    /// Index of the selected one.
    pub at: usize,
    /// When it was first drawn: Enter from before that chooses nothing.
    pub drawn_ms: Option<u64>,
}

/// Shows the models to choose from; to a person who is writing only as a text, so that no key changes its meaning.
pub(crate) fn offer_models(screen: &mut Screen, models: &[String]) {
    let words = screen.words();
    let is_free = screen.editor.is_empty() && screen.view.prompt.is_none() && screen.view.overlay.is_none();
    if models.is_empty() {
        screen.say(Level::Warn, words.no_models.to_owned());
    } else if is_free {
        let now = &screen.session.model;
        let at = models.iter().position(|name| is_same(name, now)).unwrap_or(0);
        let choice = Choice { names: models.to_vec(), at, drawn_ms: None };
        screen.view.overlay = Some(Overlay::Models(choice));
    } else {
        let list = models.iter().map(|name| visible_line(name).into_owned()).collect::<Vec<_>>().join("\n");
        screen.say(Level::Info, list);
    }
}

/// Tells whether `name` is the model `now`, which may carry its provider.
pub(crate) fn is_same(name: &str, now: &str) -> bool {
    now == name || now.strip_prefix("litellm:").is_some_and(|now| now == name)
}

/// Takes a key of the list.
pub(crate) fn key(screen: &mut Screen, key: KeyEvent) -> Vec<Action> {
    let now_ms = screen.clock.now_ms;
    let rows = isize::try_from(screen.view.page_rows).unwrap_or(1).max(2) - 1;
    let Some(Overlay::Models(choice)) = &mut screen.view.overlay else { return Vec::new() };
    let last = choice.names.len().saturating_sub(1);
    let by = match key.code {
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::PageUp => -rows,
        KeyCode::PageDown => rows,
        KeyCode::Home => isize::MIN / 2,
        KeyCode::End => isize::MAX / 2,
        KeyCode::Enter if key.kind == KeyEventKind::Press => {
            if choice.drawn_ms.is_none_or(|drawn| now_ms < drawn + INERT_MS) {
                return Vec::new();
            }
            let name = choice.names.get(choice.at).cloned();
            screen.view.overlay = None;
            return vec![Action::Model { name }];
        }
        KeyCode::Esc => {
            screen.view.overlay = None;
            return Vec::new();
        }
        _ => 0,
    };
    choice.at = choice.at.saturating_add_signed(by).min(last);
    Vec::new()
}
