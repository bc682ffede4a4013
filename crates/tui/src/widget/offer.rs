//! What was interrupted, and that one key goes on with it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::put;
use crate::screen::Screen;
use crate::wrap::{Margin, Piece, fit, wrap};

/// Returns the rows that the offer takes in `width` columns.
pub(crate) fn rows(screen: &Screen, width: u16) -> u16 {
    u16::try_from(lines(screen, usize::from(width)).len()).unwrap_or(u16::MAX)
}

fn lines(screen: &Screen, width: usize) -> Vec<Line<'static>> {
    let Some(offer) = &screen.view.offer else { return Vec::new() };
    wrap(
        &[Piece::new(offer.text.as_str(), screen.theme.ask)],
        width,
        &Margin::hanging("◆ ", screen.theme.ask),
    )
}

/// Draws it; where it does not fit its last row still names the key.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let lines = lines(screen, width);
    let rows = usize::from(area.height);
    for (row, line) in lines.iter().take(rows).enumerate() {
        put(buffer, area, row, line);
    }
    if lines.len() > rows {
        let short = fit(screen.words().offer_short, width);
        let pad = " ".repeat(width - crate::wrap::columns(&short));
        put(buffer, area, rows - 1, &Line::styled(format!("{short}{pad}"), screen.theme.ask));
    }
    let now_ms = screen.clock.now_ms;
    if let Some(offer) = &mut screen.view.offer {
        offer.drawn_ms.get_or_insert(now_ms);
    }
}
