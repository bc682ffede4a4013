//! The question that is shown: who asks, the whole call, why, how long, which keys answer (SAFETY 3).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{below, put, rule};
use crate::question::{Question, RiskClass};
use crate::screen::{Focus, Screen};
use crate::units;
use crate::visible::{cut, visible_line};
use crate::wrap::{Margin, Piece, columns, fit, wrap};

/// Characters of one call that are laid out; a longer one says so and cannot be mistaken for a short one.
const BODY: usize = 60_000;

/// Returns the rows that the whole question takes in `width` columns.
pub(crate) fn rows(screen: &Screen, width: u16) -> u16 {
    let Some((question, ..)) = screen.questions.shown() else { return 0 };
    let rows = body(question, screen, usize::from(width)).len() + 2;
    u16::try_from(rows).unwrap_or(u16::MAX)
}

/// Draws title, call and keys; a call that does not fit is scrolled.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    let Some((question, row, of)) = screen.questions.shown() else { return };
    let (theme, words) = (screen.theme, screen.words());
    let width = usize::from(area.width);
    let has_keys = screen.view.focus == Focus::Questions && screen.view.prompt.is_none();
    let line_style = if has_keys { theme.ask } else { theme.dim };
    let mut heading = title(question, screen);
    if columns(&heading) + 4 > width {
        // Who and what are kept longest.
        let asker = question.asker();
        let last = asker.as_str().rsplit('/').next().unwrap_or_default();
        let tool = question.subject.as_ref().map_or("", |subject| subject.tool.as_str());
        heading = visible_line(&format!("{tool} ? {last}")).into_owned();
    }
    rule(buffer, area, &heading, &queue(question, row, of), (line_style, theme.ask));

    let lines = body(question, screen, width);
    let place = below(area, 1);
    // On the lowest screens the keys share their row with nothing else, so the call has at least one.
    let key_rows = u16::from(area.height >= 3);
    let room = usize::from(place.height.saturating_sub(key_rows));
    let scroll = screen.questions.scroll.min(lines.len().saturating_sub(room));
    for (at, line) in lines.iter().skip(scroll).take(room).enumerate() {
        put(buffer, place, at, line);
    }
    let hidden = lines.len().saturating_sub(scroll + room);
    let live = has_keys && screen.questions.is_ripe(screen.clock.now_ms);
    if key_rows > 0 {
        let mut keys = words.answer_keys.to_owned();
        if question.ids.len() > 1 {
            keys.push_str(&format!(" · {} {}", words.answer_all, question.ids.len()));
        }
        if !has_keys {
            keys = format!("{} · {keys}", words.tab_answers);
        }
        if hidden > 0 || scroll > 0 {
            keys = format!("↓ {hidden} {} · {keys}", words.more_lines);
        }
        // The words go first when there is no room: the letters alone are enough for who has read the help.
        if columns(&keys) > width {
            let more = if hidden > 0 { format!("↓{hidden} ") } else { String::new() };
            let letters = if screen.lang == crate::words::Lang::Fr { "o n r s" } else { "y n r s" };
            keys = format!("{more}{letters}");
        }
        let style: Style = if live { theme.title } else { theme.dim };
        put(buffer, place, usize::from(place.height - 1), &Line::styled(fit(&keys, width), style));
    }
    screen.questions.scroll = scroll;
}

fn title(question: &Question, screen: &Screen) -> String {
    let words = screen.words();
    let asker = question.asker();
    let depth = asker.depth();
    let mut title = format!("? {}", visible_line(asker.as_str()));
    if depth > 1 {
        title.push_str(&format!(" ({} {depth})", words.depth));
    }
    if let Some(subject) = &question.subject {
        title.push_str(&format!(" {}: {}", words.asks, visible_line(&subject.tool)));
        let risk = match question.risk() {
            RiskClass::Read => words.risk_read,
            RiskClass::Write => words.risk_write,
            RiskClass::Execute => words.risk_execute,
            RiskClass::Delegate => words.risk_delegate,
        };
        title.push_str(&format!(" · {risk}"));
    }
    let age = screen.clock.time.as_second().saturating_sub(question.since.as_second()).max(0);
    // The age is shown in steps of ten seconds, so that an open question does not keep the terminal busy.
    if age >= 10 {
        title.push_str(&format!(" · {}", units::elapsed((age / 10 * 10).unsigned_abs())));
    }
    title
}

fn queue(question: &Question, row: usize, of: usize) -> String {
    let equal = if question.ids.len() > 1 { format!("×{} ", question.ids.len()) } else { String::new() };
    if of > 1 { format!("{equal}{row}/{of}") } else { equal.trim_end().to_owned() }
}

fn body(question: &Question, screen: &Screen, width: usize) -> Vec<Line<'static>> {
    let (theme, words) = (&screen.theme, screen.words());
    let mut lines = Vec::new();
    let mut left = BODY;
    for (sign, text) in question.body() {
        let (text, is_cut) = cut(&text, left);
        left -= text.chars().count().min(left);
        let (lead, style) = match sign {
            '+' => ("+ ", theme.good),
            '-' => ("- ", theme.bad),
            _ => ("  ", theme.text),
        };
        let text = if is_cut { format!("{text} …") } else { text.to_owned() };
        lines.extend(wrap(&[Piece::new(text, style)], width, &Margin::hanging(lead, style)));
        if left == 0 {
            break;
        }
    }
    let margin = Margin::hanging("  ", theme.dim);
    match &question.subject {
        None => lines.extend(wrap(&[Piece::new(words.unknown_call, theme.warn)], width, &margin)),
        Some(subject) => {
            let mut why = String::new();
            if !subject.why.is_empty() {
                why = format!("{}: {}", words.why, visible_line(&subject.why));
            }
            if let Some(rule) = &subject.rule {
                let separator = if why.is_empty() { "" } else { " · " };
                why.push_str(&format!("{separator}{}: {rule}", words.rule));
            }
            if !why.is_empty() {
                let pieces = [Piece::new(why, theme.dim)];
                lines.extend(wrap(&pieces, width, &margin));
            }
        }
    }
    if lines.is_empty() {
        lines.push(Line::from(vec![Span::raw("")]));
    }
    lines
}
