//! The keys and commands, over the panes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{below, clear, put, rule};
use crate::screen::{Overlay, Screen};
use crate::wrap::{Margin, Piece, columns, wrap};

/// Draws the help; what does not fit is scrolled.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    clear(buffer, area);
    let (theme, words) = (screen.theme, screen.words());
    rule(buffer, area, words.help_title, words.esc_closes, (theme.dim, theme.title));
    let place = below(area, 1);
    let width = usize::from(area.width);
    let keys =
        words.help.lines().filter_map(|line| line.split_once('\t')).map(|(keys, _)| columns(keys)).max();
    let keys = keys.unwrap_or(0);
    let mut lines = Vec::new();
    for line in words.help.lines() {
        match line.split_once('\t') {
            Some((key, what)) if width > keys + 14 => {
                let margin = Margin::hanging(&format!(" {key:<keys$}  "), theme.code);
                lines.extend(wrap(&[Piece::new(what, theme.text)], width, &margin));
            }
            Some((key, what)) => {
                lines.push(Line::from(vec![Span::styled(key, theme.code)]));
                lines.extend(wrap(&[Piece::new(what, theme.text)], width, &Margin::bar("  ", theme.text)));
            }
            None => lines.push(Line::default()),
        }
    }
    let room = usize::from(place.height);
    screen.view.page_rows = room;
    let Some(Overlay::Help { scroll }) = &mut screen.view.overlay else { return };
    *scroll = (*scroll).min(lines.len().saturating_sub(room));
    for (row, line) in lines.iter().skip(*scroll).take(room).enumerate() {
        put(buffer, place, row, line);
    }
    let hidden = lines.len().saturating_sub(*scroll + room);
    if hidden > 0 && room > 0 {
        let text = format!(" ↓ {hidden} ");
        let columns = u16::try_from(columns(&text)).unwrap_or(0).min(area.width);
        let last = Rect { x: area.right() - columns, y: area.bottom() - 1, width: columns, height: 1 };
        put(buffer, last, 0, &Line::styled(text, theme.selected));
    }
}
