//! The panes, one file each. Each draws a part of the screen into an area and decides nothing.

pub(crate) mod activity;
pub(crate) mod choice;
pub(crate) mod graph;
pub(crate) mod help;
pub(crate) mod input;
pub(crate) mod inspector;
pub(crate) mod leaving;
pub(crate) mod offer;
pub(crate) mod question;
pub(crate) mod status;
pub(crate) mod transcript;
pub(crate) mod tree;
pub(crate) mod welcome;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::wrap::{columns, fit};

/// Writes `line` in row `row` of `area`, cut at its right.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    if let Some(y) = u16::try_from(row).ok().filter(|row| *row < area.height) {
        buffer.set_line(area.x, area.y + y, line, area.width);
    }
}

/// Writes a rule with `title` in it, and `right` at its right end when there is room.
pub(crate) fn rule(buffer: &mut Buffer, area: Rect, title: &str, right: &str, styles: (Style, Style)) {
    put(buffer, area, 0, &rule_line(usize::from(area.width), title, right, styles));
}

/// Returns that rule for `width` columns; first the style of the line, then that of the title.
pub(crate) fn rule_line(width: usize, title: &str, right: &str, styles: (Style, Style)) -> Line<'static> {
    let (line_style, title_style) = styles;
    let title = fit(title, width.saturating_sub(4));
    let taken = 3 + columns(&title) + 1;
    let right = if columns(right) + taken + 4 <= width { right } else { "" };
    let right_columns = if right.is_empty() { 0 } else { columns(right) + 2 };
    let middle = width.saturating_sub(taken + right_columns + usize::from(right_columns > 0));
    let mut spans = vec![
        Span::styled("── ", line_style),
        Span::styled(title, title_style),
        Span::styled(format!(" {}", "─".repeat(middle)), line_style),
    ];
    if !right.is_empty() {
        spans.push(Span::styled(format!(" {right} "), line_style));
        spans.push(Span::styled("─", line_style));
    }
    Line::from(spans)
}

/// Returns the first of `texts` that fits into `width` columns, else the last one cut.
pub(crate) fn keys(texts: &[&str], width: usize) -> String {
    let fitting = texts.iter().find(|text| columns(text) <= width).or(texts.last());
    fit(fitting.copied().unwrap_or_default(), width)
}

/// Returns `area` without its first `rows` rows.
pub(crate) fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Fills `area` with `sign`.
pub(crate) fn fill(buffer: &mut Buffer, area: Rect, sign: &str, style: Style) {
    for row in 0..area.height {
        put(buffer, area, usize::from(row), &Line::styled(sign.repeat(usize::from(area.width)), style));
    }
}

/// Empties `area` of what was drawn there before.
pub(crate) fn clear(buffer: &mut Buffer, area: Rect) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
}
