//! What the person writes, between dotted lines; or a line that is asked for in its place (mission M15.5).

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::put;
use crate::editor::Editor;
use crate::screen::{Focus, Purpose, Screen};
use crate::visible::visible_line;
use crate::wrap::{columns, fit, fit_end};

/// Columns of the sign before the text.
const SIGN: u16 = 2;

/// Returns the rows that the text takes in `width` columns, at most `max`.
pub(crate) fn rows(screen: &Screen, width: u16, max: u16) -> u16 {
    let rows = editor(screen).rows(usize::from(width.saturating_sub(SIGN)), usize::from(max));
    u16::try_from(rows.rows.len()).unwrap_or(max).clamp(1, max)
}

fn editor(screen: &Screen) -> &Editor {
    screen.view.prompt.as_ref().map_or(&screen.editor, |prompt| &prompt.editor)
}

/// Draws the input and returns where the cursor stands, when keys are written there.
pub(crate) fn draw(screen: &Screen, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let (theme, words) = (&screen.theme, screen.words());
    let has_keys = screen.view.prompt.is_some() || screen.view.focus == Focus::Input;
    let style = if has_keys { theme.good } else { theme.dim };
    // Of a long path the end tells whom.
    let whom = |label: &str, actor: &maia_protocol::ActorPath| {
        let room = usize::from(area.width).saturating_sub(columns(label) + 7).max(8);
        format!("{label} {}", fit_end(&visible_line(actor.as_str()), room))
    };
    let label = screen.view.prompt.as_ref().map(|prompt| match &prompt.purpose {
        Purpose::Reason(_) => words.reason_label.to_owned(),
        Purpose::Tell(actor) => whom(words.tell_label, actor),
        Purpose::AskAgain(actor) => whom(words.ask_again_label, actor),
    });
    let framed = area.height >= 3;
    let mut inner = area;
    if framed {
        let width = usize::from(area.width);
        let mut upper = vec![Span::styled("┈".repeat(width), style)];
        if let Some(label) = &label {
            let label = fit(label, width.saturating_sub(6));
            let rest = width.saturating_sub(columns(&label) + 4);
            upper = vec![
                Span::styled("┈┈ ", style),
                Span::styled(label, theme.ask),
                Span::styled(format!(" {}", "┈".repeat(rest)), style),
            ];
        }
        put(buffer, area, 0, &Line::from(upper));
        let last = usize::from(area.height - 1);
        put(buffer, area, last, &Line::styled("┈".repeat(width), style));
        inner = Rect { y: area.y + 1, height: area.height - 2, ..area };
    }
    let text = Rect { x: inner.x + SIGN.min(inner.width), width: inner.width.saturating_sub(SIGN), ..inner };
    let sign = if label.is_some() { "? " } else { "› " };
    put(buffer, inner, 0, &Line::styled(sign, if has_keys { theme.user } else { theme.dim }));
    let editor = editor(screen);
    if editor.is_empty() {
        let empty = match (&label, framed) {
            // Without a frame the label has no other place.
            (Some(label), false) => label.clone(),
            (Some(_), true) => String::new(),
            (None, _) => words.placeholder.to_owned(),
        };
        put(buffer, text, 0, &Line::styled(fit(&empty, usize::from(text.width)), theme.dim));
    }
    let shown = editor.rows(usize::from(text.width), usize::from(text.height));
    for (row, line) in shown.rows.iter().enumerate() {
        put(buffer, text, row, &Line::styled(line.as_str(), theme.text));
    }
    if !has_keys || text.is_empty() {
        return None;
    }
    let column = u16::try_from(shown.column).unwrap_or(0).min(text.width - 1);
    let row = u16::try_from(shown.row).unwrap_or(0).min(text.height - 1);
    Some(Position { x: text.x + column, y: text.y + row })
}
