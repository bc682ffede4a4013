//! The transcript of the main agent.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::put;
use crate::feed::Feed;
use crate::item::Look;
use crate::screen::Screen;

/// Draws the end of the conversation, or where the reader stands.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    screen.view.page_rows = usize::from(area.height);
    let (theme, words, markdown) = (screen.theme, screen.words(), screen.markdown);
    let look = Look { width: usize::from(area.width), theme: &theme, words, markdown };
    let is_fresh = screen.tree.nodes().first().is_none_or(|main| main.feed.is_empty());
    if is_fresh {
        super::welcome::draw(screen, area, buffer);
    } else if let Some(main) = screen.tree.main_mut() {
        feed(&mut main.feed, area, buffer, &look);
    }
}

/// Draws the visible lines of `feed`; a few lines stand at the bottom, beside what is written next.
pub(crate) fn feed(feed: &mut Feed, area: Rect, buffer: &mut Buffer, look: &Look<'_>) {
    let height = usize::from(area.height);
    let lines = feed.visible(height, look);
    let top = height - lines.len().min(height);
    for (row, line) in lines.into_iter().enumerate() {
        put(buffer, area, top + row, line);
    }
    if !feed.follows() && height > 2 {
        let text = format!(" ↓ {} ", look.words.new_below);
        let columns = crate::wrap::columns(&text).min(look.width);
        let x = area.right() - u16::try_from(columns).unwrap_or(area.width);
        let last = Rect { x, y: area.bottom() - 1, width: area.right() - x, height: 1 };
        put(buffer, last, 0, &Line::styled(text, look.theme.selected));
    } else if feed.is_cut() && top > 0 {
        put(buffer, area, 0, &Line::styled(format!("… {}", look.words.older), look.theme.dim));
    }
}
