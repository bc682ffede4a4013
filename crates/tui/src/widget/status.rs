//! The last line: mode, sandbox, model, context, open questions, the way to the help (mission M13.3).
//!
//! What matters more stands further left and survives longer on a narrow screen.

use maia_protocol::permission::Sandbox;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::put;
use crate::command::mode_name;
use crate::screen::{Focus, Screen};
use crate::theme::Theme;
use crate::units;
use crate::words::Words;
use crate::wrap::{columns, fit};

/// Draws the line.
pub(crate) fn draw(screen: &Screen, area: Rect, buffer: &mut Buffer) {
    let (theme, words, session) = (&screen.theme, screen.words(), &screen.session);
    let width = usize::from(area.width);
    let mut parts: Vec<(String, Style)> = vec![(mode_name(session.mode).to_owned(), theme.title)];
    let questions = screen.questions.len();
    if questions > 0 {
        let word = if questions == 1 { words.question } else { words.questions };
        parts.push((format!("?{questions} {word}"), theme.ask));
    }
    if let Some(sandbox) = session.sandbox {
        let style = if sandbox_holds(sandbox) { theme.text } else { theme.warn };
        parts.push((format!("{} {}", words.sandbox, sandbox_name(sandbox)), style));
    }
    if !session.model.is_empty() {
        parts.push((fit(&session.model, 28), theme.text));
    }
    let keys = match screen.view.focus {
        Focus::Questions => words.tab_writes,
        Focus::Input if questions > 0 => words.tab_answers,
        _ => words.f1_help,
    };
    let mut right = vec![Span::styled(keys, theme.dim)];
    let left_columns: usize = parts.iter().map(|(text, _)| columns(text) + 3).sum();
    let room = width.saturating_sub(left_columns + columns(keys) + 5);
    if let Some(mut bar) = context(session.context_used, session.context_max, room, theme, words) {
        bar.push(Span::raw("   "));
        bar.append(&mut right);
        right = bar;
    }
    let right_columns: usize = right.iter().map(|span| columns(&span.content)).sum();
    let mut line = Vec::new();
    let mut used = 0;
    for (at, (text, style)) in parts.into_iter().enumerate() {
        let separator = if at > 0 { " · " } else { "" };
        let needed = columns(separator) + columns(&text);
        if used + needed > width && at > 0 {
            break;
        }
        line.push(Span::styled(separator, theme.dim));
        line.push(Span::styled(fit(&text, width), style));
        used += needed;
    }
    if used + right_columns + 2 <= width {
        line.push(Span::raw(" ".repeat(width - used - right_columns)));
        line.append(&mut right);
    }
    put(buffer, area, 0, &Line::from(line));
}

fn sandbox_holds(sandbox: Sandbox) -> bool {
    !matches!(sandbox, Sandbox::None | Sandbox::Off)
}

fn sandbox_name(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::None => "none",
        Sandbox::Off => "off",
        Sandbox::External => "external",
        Sandbox::Partial => "partial",
        Sandbox::Full => "full",
    }
}

/// Returns the context bar for `room` columns: squares of 10,000 tokens, more where they would not fit.
fn context(
    used: u64,
    max: Option<u64>,
    room: usize,
    theme: &Theme,
    words: &'static Words,
) -> Option<Vec<Span<'static>>> {
    let Some(max) = max.filter(|max| *max > 0) else {
        let text = format!("{} {} · {}", units::count(used), words.tokens, words.size_unknown);
        return (used > 0 && columns(&text) <= room).then(|| vec![Span::styled(text, theme.dim)]);
    };
    let percent = used.saturating_mul(100) / max;
    let style = match percent {
        0..60 => theme.good,
        60..85 => theme.warn,
        _ => theme.bad,
    };
    let label = format!("{} / {} · {percent}%", units::count(used), units::count(max));
    if columns(&label) > room {
        let short = format!("{percent}%");
        return (columns(&short) <= room).then(|| vec![Span::styled(short, style)]);
    }
    let squares_room = room.saturating_sub(columns(&label) + 1 + 11).min(24) as u64;
    if squares_room < 4 {
        return Some(vec![Span::styled(label, style)]);
    }
    let mut scale = 10_000_u64;
    if max.div_ceil(scale) > squares_room {
        scale = max.div_ceil(squares_room).div_ceil(10_000).saturating_mul(10_000).max(10_000);
    }
    let all = max.div_ceil(scale).min(squares_room);
    let least = u64::from(used > 0);
    let filled = (used / scale).clamp(least, all.max(least));
    let squares = |n: u64, sign: &str| sign.repeat(usize::try_from(n).unwrap_or(0));
    let mut spans = vec![
        Span::styled(squares(filled, "■"), style),
        Span::styled(squares(all.saturating_sub(filled), "□"), theme.dim),
        Span::styled(format!(" {label}"), style),
    ];
    if scale > 10_000 {
        spans.push(Span::styled(format!(" (1■ = {})", units::count(scale)), theme.dim));
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::ThemeName;
    use crate::words::Lang;

    #[test]
    fn the_bar_scales() {
        for (used, max, room, expected) in [
            (45_700, Some(200_000), 60, "■■■■□□□□□□□□□□□□□□□□ 45.7k / 200k · 22%"),
            (10, Some(40_000), 60, "■□□□ 10 / 40k · 0%"),
            (500_000, Some(1_000_000), 70, "■■■■■■■■■■□□□□□□□□□□ 500k / 1M · 50% (1■ = 50k)"),
            (45_700, Some(200_000), 20, "45.7k / 200k · 22%"),
            (45_700, Some(200_000), 5, "22%"),
            (45_700, Some(200_000), 1, ""),
            (300_000, Some(40_000), 60, "■■■■ 300k / 40k · 750%"),
            (1_500, None, 60, "1.5k tokens · size unknown"),
            (0, None, 60, ""),
        ] {
            let spans = context(used, max, room, &Theme::of(ThemeName::Plain), Lang::En.words());
            let text: String = spans.unwrap_or_default().iter().map(|span| span.content.as_ref()).collect();
            assert_eq!(text, expected, "{used} of {max:?} in {room}");
        }
    }
}
