//! The first screen: the name in pixels, where we are, how to begin (mission M15.4).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::put;
use crate::screen::Screen;
use crate::theme::{Theme, ThemeName};
use crate::wrap::{fit, fit_end};

/// The letters M, A, I, A in 5×7 pixels; a bit set is a pixel, the highest of five at the left.
const LETTERS: [[u8; 7]; 4] = [
    [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001],
    [0b00000, 0b00000, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111],
    [0b00100, 0b00000, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b00000, 0b00000, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111],
];
/// Columns of the whole name.
const NAME_COLUMNS: u16 = 4 * 5 + 3 * 2;

/// Draws the name where there is room, and the lines below it.
pub(crate) fn draw(screen: &Screen, area: Rect, buffer: &mut Buffer) {
    let (theme, words) = (&screen.theme, screen.words());
    let width = usize::from(area.width);
    let has_colour = theme.good != Theme::of(ThemeName::Plain).good;
    let green = theme.good;
    let pink = if has_colour { Style::new().fg(Color::Magenta) } else { theme.text };
    let mut lines = Vec::new();
    if area.width >= NAME_COLUMNS + 2 && area.height >= 10 {
        lines.extend((0..4).map(|row| pixels(row, has_colour)));
        lines.push(Line::default());
    } else if area.height >= 4 {
        lines.push(Line::styled("═ maia ═", theme.title));
    }
    lines.push(Line::styled(fit(words.tagline, width), green));
    lines.push(Line::styled(fit(words.tagline_hint, width), pink));
    let session = &screen.session;
    if !session.cwd.is_empty() && area.height >= 8 {
        lines.push(Line::default());
        lines.push(Line::styled(fit_end(&session.cwd, width), theme.dim));
        if !session.name.is_empty() {
            lines.push(Line::styled(fit(&session.name, width), theme.dim));
        }
    }
    let top = usize::from(area.height).saturating_sub(lines.len()) / 2;
    let left = if area.width >= 40 { 2 } else { 0 };
    let area = Rect { x: area.x + left, width: area.width - left, ..area };
    for (row, line) in lines.iter().enumerate() {
        put(buffer, area, top + row, line);
    }
}

/// Returns row `row` of four: two rows of pixels in half blocks.
fn pixels(row: usize, has_colour: bool) -> Line<'static> {
    const RAINBOW: [Color; 4] = [Color::Red, Color::Yellow, Color::Green, Color::Blue];
    let spans = LETTERS.iter().zip(RAINBOW).map(|(letter, colour)| {
        let bits = |row: usize| letter.get(row).copied().unwrap_or(0);
        let (upper, lower) = (bits(2 * row), bits(2 * row + 1));
        let cells: String = (0..5)
            .rev()
            .map(|bit| match (upper >> bit & 1, lower >> bit & 1) {
                (1, 1) => '█',
                (1, _) => '▀',
                (_, 1) => '▄',
                _ => ' ',
            })
            .collect();
        let style = if has_colour { Style::new().fg(colour) } else { Style::new() };
        Span::styled(format!("{cells}  "), style)
    });
    Line::from(spans.collect::<Vec<_>>())
}
