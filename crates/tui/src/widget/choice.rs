//! A list to choose from, over the panes: a window of its lines around the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{below, clear, put, rule};
use crate::choice::is_same;
use crate::screen::{Overlay, Screen};
use crate::visible::visible_line;
use crate::wrap::{columns, fit};

/// Draws the list, its keys and how much of it is out of sight.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    clear(buffer, area);
    let (theme, words, now_ms) = (screen.theme, screen.words(), screen.clock.now_ms);
    let width = usize::from(area.width);
    let keys_rows = u16::from(area.height >= 3);
    let mut place = below(area, 1);
    place.height -= keys_rows.min(place.height);
    let rows = usize::from(place.height);
    screen.view.page_rows = rows;
    let now = screen.session.model.clone();
    let Some(Overlay::Models(choice)) = &mut screen.view.overlay else { return };
    choice.drawn_ms.get_or_insert(now_ms);
    let of = format!("{}/{}", choice.at + 1, choice.names.len());
    rule(buffer, area, words.choose_model, &of, (theme.dim, theme.title));
    let top = choice.at.saturating_sub(rows / 2).min(choice.names.len().saturating_sub(rows));
    for (row, name) in choice.names.iter().enumerate().skip(top).take(rows) {
        let sign = if is_same(name, &now) { "●" } else { " " };
        let text = fit(&visible_line(name), width.saturating_sub(4));
        let pad = " ".repeat(width.saturating_sub(columns(&text) + 4));
        let (lead, style) = if row == choice.at { ("▌", theme.selected) } else { (" ", theme.text) };
        let spans =
            vec![Span::styled(format!("{lead}{sign} "), style), Span::styled(format!("{text}{pad}"), style)];
        put(buffer, place, row - top, &Line::from(spans));
    }
    if keys_rows > 0 {
        let keys = Line::styled(fit(words.choose_keys, width), theme.dim);
        put(buffer, area, usize::from(area.height - 1), &keys);
    }
}
