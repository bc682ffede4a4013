//! Paints the first screen: one page of lines that scrolls where it does not fit, and the keys below it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::state::{Part, Start, TRUST};
use super::{StartItem, TrustAnswer};
use crate::visible::visible_line;
use crate::widget::{put, rule_line};
use crate::words::Words;
use crate::wrap::{Margin, Piece, columns, fit, fit_end, wrap};

/// Columns that the page takes at most: a wider line is hard to read.
const WIDEST: u16 = 110;
/// Columns from which what belongs together stands in one line.
const WIDE: usize = 40;

/// The page as lines, with the one that the keyboard is at.
#[derive(Default)]
struct Page {
    lines: Vec<Line<'static>>,
    /// First and last line that belong to what is chosen.
    chosen: (usize, usize),
}

/// Paints `start`.
pub fn draw(frame: &mut Frame<'_>, start: &mut Start) {
    let whole = frame.area();
    let area = Rect { width: whole.width.min(WIDEST), ..whole };
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    let page = page(start, width, area.height >= 12);
    let keys = keys(start, width, usize::from(area.height));
    let key_rows = u16::try_from(keys.len()).unwrap_or(1).min(area.height.saturating_sub(1));
    let place = Rect { height: area.height - key_rows, ..area };
    let rows = usize::from(place.height);
    settle(start, &page, rows);
    let buffer = frame.buffer_mut();
    for (row, line) in page.lines.iter().skip(start.scroll).take(rows).enumerate() {
        put(buffer, place, row, line);
    }
    let hidden = page.lines.len().saturating_sub(start.scroll + rows);
    if hidden > 0 && rows > 1 {
        let text = format!(" ↓ {hidden} ");
        let columns = u16::try_from(columns(&text)).unwrap_or(0).min(area.width);
        let last = Rect { x: place.right() - columns, y: place.bottom() - 1, width: columns, height: 1 };
        put(buffer, last, 0, &Line::styled(text, start.theme.selected));
    }
    // The keys follow the page where it is short, and stand at the bottom where it fills the screen.
    let used = page.lines.len().min(rows) as u16;
    let below = Rect { y: place.y + used.min(place.height), height: key_rows, ..area };
    for (row, line) in keys.iter().enumerate() {
        put(buffer, below, row, line);
    }
}

/// Settles where the page stands: within itself, with what is chosen in sight when a key has just chosen it.
fn settle(start: &mut Start, page: &Page, rows: usize) {
    let (first, last) = page.chosen;
    if start.follows {
        if last >= start.scroll + rows {
            start.scroll = last + 1 - rows.max(1);
        }
        start.scroll = start.scroll.min(first);
    }
    start.scroll = start.scroll.min(page.lines.len().saturating_sub(rows));
    (start.follows, start.rows) = (false, rows);
}

fn page(start: &Start, width: usize, airy: bool) -> Page {
    let (theme, words) = (&start.theme, start.lang.words());
    let mut page = Page::default();
    let title = format!("maia {}", visible_line(&start.page.version));
    let cwd = fit_end(&visible_line(&start.page.cwd), width.saturating_sub(columns(&title) + 2));
    page.lines.push(Line::from(vec![
        Span::styled(title, theme.title),
        Span::raw("  "),
        Span::styled(cwd, theme.dim),
    ]));
    for part in &start.parts {
        if airy {
            page.lines.push(Line::default());
        }
        let has_keys = *part == start.part();
        let name = match part {
            Part::Model => words.start_model,
            Part::Trust => words.start_brings,
            Part::Rules => words.start_rules,
        };
        let title_style = if has_keys { theme.title.patch(theme.active) } else { theme.title };
        let heading = page.lines.len();
        page.lines.push(rule_line(width, name, "", (theme.dim, title_style)));
        match part {
            Part::Model => models(start, width, &mut page),
            Part::Trust => brings(start, width, &mut page),
            Part::Rules => rules(start, width, &mut page),
        }
        // A part that is only read is brought into sight as a whole, from its heading.
        if has_keys && *part == Part::Rules {
            page.chosen = (heading, heading);
        }
    }
    if airy {
        page.lines.push(Line::default());
    }
    page
}

fn models(start: &Start, width: usize, page: &mut Page) {
    let (theme, words) = (&start.theme, start.lang.words());
    if start.page.endpoints.is_empty() {
        page.lines.extend(wrap(
            &[Piece::new(words.start_no_model, theme.warn)],
            width,
            &Margin::bar("  ", theme.text),
        ));
        return;
    }
    let names =
        start.page.endpoints.iter().map(|model| columns(&visible_line(&model.name))).max().unwrap_or(0);
    let names = names.min(width / 3).max(4);
    for (at, model) in start.page.endpoints.iter().enumerate() {
        let name = visible_line(&model.name);
        let source = visible_line(&model.source);
        let first = page.lines.len();
        let has_keys = start.part() == Part::Model;
        if width >= WIDE {
            let name = fit(&name, names);
            let pad = " ".repeat(names - columns(&name) + 2);
            let rest =
                vec![Span::raw(pad), Span::styled(fit(&source, width.saturating_sub(names + 6)), theme.dim)];
            page.lines.push(choice(&name, at == start.model, has_keys, start, width, rest));
        } else {
            page.lines.push(choice(&name, at == start.model, has_keys, start, width, Vec::new()));
            if at == start.model {
                let margin = Margin::bar("    ", theme.dim);
                page.lines.extend(wrap(&[Piece::new(source.into_owned(), theme.dim)], width, &margin));
            }
        }
        if at == start.model && has_keys {
            page.chosen = (first, page.lines.len() - 1);
        }
    }
}

/// Returns a line that can be chosen; the sign tells it without colours.
fn choice(
    text: &str,
    chosen: bool,
    has_keys: bool,
    start: &Start,
    width: usize,
    rest: Vec<Span<'static>>,
) -> Line<'static> {
    let theme = &start.theme;
    let (sign, style) = if chosen { ("●", theme.good) } else { ("○", theme.dim) };
    let lead = if chosen && has_keys { "›" } else { " " };
    let text_style = match (chosen, has_keys) {
        (true, true) => theme.title,
        (true, false) => theme.text,
        _ => theme.dim,
    };
    let mut spans = vec![
        Span::styled(lead, theme.user),
        Span::styled(format!("{sign} "), style),
        Span::styled(fit(text, width.saturating_sub(3)), text_style),
    ];
    spans.extend(rest);
    Line::from(spans)
}

fn brings(start: &Start, width: usize, page: &mut Page) {
    let (theme, words) = (&start.theme, start.lang.words());
    let kinds = start.page.brings.iter().map(|item| columns(&visible_line(&item.kind))).max().unwrap_or(0);
    let kinds = kinds.min(12);
    for item in &start.page.brings {
        page.lines.extend(item_lines(item, kinds, width, theme.dim, theme.text));
    }
    let has_keys = start.part() == Part::Trust;
    let texts: [&'static str; 3] = [words.trust_no, words.trust_all, words.trust_never];
    for (trust, text) in TRUST.into_iter().zip(texts) {
        let style_of_all = trust == TrustAnswer::All;
        let text = if width >= WIDE { text } else { short(trust, words) };
        let line = choice(text, trust == start.trust, has_keys, start, width, Vec::new());
        if trust == start.trust && has_keys {
            page.chosen = (page.lines.len(), page.lines.len());
        }
        page.lines.push(if style_of_all && trust == start.trust {
            line.patch_style(theme.warn)
        } else {
            line
        });
    }
}

fn short(trust: TrustAnswer, words: &'static Words) -> &'static str {
    match trust {
        TrustAnswer::No => words.trust_no_short,
        TrustAnswer::All => words.trust_all_short,
        TrustAnswer::Never => words.trust_never_short,
    }
}

fn item_lines(item: &StartItem, kinds: usize, width: usize, dim: Style, text: Style) -> Vec<Line<'static>> {
    let kind = fit(&visible_line(&item.kind), kinds);
    let lead = if width >= WIDE { format!("   {kind:<kinds$}  ") } else { "   ".to_owned() };
    let mut pieces = vec![Piece::new(visible_line(&item.path).into_owned(), text)];
    if width < WIDE {
        pieces.insert(0, Piece::new(format!("{kind} "), dim));
    }
    if !item.note.is_empty() {
        pieces.push(Piece::new(format!("  {}", visible_line(&item.note)), dim));
    }
    wrap(&pieces, width, &Margin::hanging(&lead, dim))
}

fn rules(start: &Start, width: usize, page: &mut Page) {
    let theme = &start.theme;
    for rule in &start.page.rules {
        let pieces = [Piece::new(visible_line(rule).into_owned(), theme.text)];
        page.lines.extend(wrap(&pieces, width, &Margin::hanging("   ", theme.text)));
    }
    let file = format!("{} {}", start.lang.words().start_saved_in, visible_line(&start.page.file));
    page.lines.extend(wrap(&[Piece::new(file, theme.dim)], width, &Margin::hanging("   ", theme.dim)));
}

/// Returns the lines that name the keys, as many words as fit.
fn keys(start: &Start, width: usize, height: usize) -> Vec<Line<'static>> {
    let (theme, words) = (&start.theme, start.lang.words());
    let moves = if start.parts.len() > 1 { words.start_keys_parts } else { words.start_keys_one };
    if height >= 12 && width >= columns(words.start_keys) {
        return vec![Line::styled(words.start_keys, theme.ask), Line::styled(fit(moves, width), theme.dim)];
    }
    let all = [words.start_keys, words.start_keys_short, words.start_keys_shortest];
    let text = all.into_iter().find(|text| columns(text) <= width).unwrap_or(words.start_keys_shortest);
    vec![Line::styled(fit(text, width), theme.ask)]
}
