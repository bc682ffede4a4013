//! The line above the input: what goes on, or a hint. Always there, so that nothing jumps (mission M15.5-layout).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::put;
use crate::screen::{Focus, Screen};
use crate::tree::Life;
use crate::units;
use crate::wrap::fit;

const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// Returns the present picture of the spinner.
pub(crate) fn spinner(screen: &Screen) -> &'static str {
    SPINNER.get(screen.spinner() % SPINNER.len()).copied().unwrap_or("◐")
}

/// Draws the line.
pub(crate) fn draw(screen: &Screen, area: Rect, buffer: &mut Buffer) {
    let (theme, words, width) = (&screen.theme, screen.words(), usize::from(area.width));
    if let Some(hint) = screen.hint_text() {
        put(buffer, area, 0, &Line::styled(fit(hint, width), theme.warn));
        return;
    }
    let Some(main) = screen.tree.node(0) else { return };
    let beside = screen.tree.working().saturating_sub(usize::from(main.life == Life::Working));
    let mut parts = Vec::new();
    if screen.session.turn.is_some() {
        parts.push(match (main.life, main.running.as_slice()) {
            (Life::Waiting(_) | Life::Stopping | Life::Queued(_), _) => super::tree::state(main, words),
            (_, []) => words.thinking.to_owned(),
            (_, [(_, name)]) => name.clone(),
            (_, running) => {
                let names: Vec<&str> = running.iter().take(3).map(|(_, name)| name.as_str()).collect();
                let more = running.len().saturating_sub(names.len());
                if more > 0 { format!("{} +{more}", names.join(", ")) } else { names.join(", ") }
            }
        });
    }
    if beside > 0 {
        let agents = if beside == 1 { words.agent } else { words.agents };
        parts.push(format!("{beside} {agents} {}", words.working));
    }
    if screen.session.shell {
        parts.push(words.shell_runs.to_owned());
    }
    if parts.is_empty() {
        return;
    }
    if screen.session.turn.is_some() {
        let is_esc =
            screen.view.focus == Focus::Input && screen.editor.is_empty() && screen.view.prompt.is_none();
        parts.push(if is_esc { words.esc_stops } else { words.ctrl_c_stops }.to_owned());
    }
    if main.subtree.tokens() > 0 && width >= 60 {
        parts.push(format!("{} {}", units::count(main.subtree.tokens()), words.tokens));
    }
    let text = fit(&parts.join(" · "), width.saturating_sub(2));
    let spans =
        vec![Span::styled(format!("{} ", spinner(screen)), theme.active), Span::styled(text, theme.active)];
    put(buffer, area, 0, &Line::from(spans));
}
