//! What leaving would stop, asked over the panes (SPEC section 2, scope of stop).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{clear, put, tree};
use crate::screen::Screen;
use crate::visible::visible_line;
use crate::wrap::fit;

/// Draws the list of agents at work and the two answers.
pub(crate) fn draw(screen: &Screen, area: Rect, buffer: &mut Buffer) {
    clear(buffer, area);
    let (theme, words) = (&screen.theme, screen.words());
    let width = usize::from(area.width);
    put(buffer, area, 0, &Line::styled(fit(words.leaving, width), theme.title));
    let room = usize::from(area.height.saturating_sub(2));
    let all = screen.tree.at_work().count();
    let shown = if all > room { room.saturating_sub(1) } else { all };
    for (row, node) in screen.tree.at_work().take(shown).enumerate() {
        let doing = tree::state(node, words);
        let text = format!("  {} · {doing}", visible_line(node.path.as_str()));
        put(buffer, area, row + 1, &Line::styled(fit(&text, width), theme.text));
    }
    if all > shown && room > 0 {
        let more = format!("  … +{}", all - shown);
        put(buffer, area, shown + 1, &Line::styled(fit(&more, width), theme.dim));
    }
    let keys = vec![Span::styled(fit(words.leaving_keys, width), theme.ask)];
    let row = (all.min(room) + 1).min(usize::from(area.height.saturating_sub(1)));
    put(buffer, area, row, &Line::from(keys));
}
