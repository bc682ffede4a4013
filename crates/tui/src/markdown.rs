//! Markdown of a finished answer as styled lines (mission M15.3).
//!
//! Asked by the transcript once a text is complete; while it streams it is shown raw. Owns nothing. Links show
//! their target, since a click cannot; raw HTML is shown as written.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use crate::theme::Theme;
use crate::visible::visible;
use crate::wrap::{Margin, Piece, columns, fit, wrap};

/// Depth of lists and quotes drawn; deeper ones are drawn at this depth.
const DEPTH: usize = 8;

/// Returns the lines of `text`, each at most `width` columns.
pub fn lines(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page {
        width,
        theme,
        lines: Vec::new(),
        pieces: Vec::new(),
        styles: vec![theme.text],
        blocks: Vec::new(),
        code: false,
        link: None,
        table: None,
        gap: false,
    };
    for event in Parser::new_ext(text, options) {
        page.event(event);
    }
    page.flush();
    page.lines
}

/// A block that indents what is in it.
enum Block {
    Quote,
    /// The next number, `None` for bullets.
    List(Option<u64>),
    /// What stands before its first line; taken by the first paragraph.
    Item {
        sign: Option<String>,
        columns: usize,
    },
}

struct Page<'a> {
    width: usize,
    theme: &'a Theme,
    lines: Vec<Line<'static>>,
    pieces: Vec<Piece>,
    styles: Vec<Style>,
    blocks: Vec<Block>,
    code: bool,
    link: Option<(String, usize)>,
    table: Option<Vec<Vec<String>>>,
    /// Whether a blank line is due before the next block.
    gap: bool,
}

impl Page<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.code_lines(&text),
            Event::Text(text) => self.text(&text, Style::new()),
            Event::Code(text) => self.text(&text, self.theme.code),
            // A block of HTML comes line by line.
            Event::Html(text) => {
                self.text(text.trim_end_matches('\n'), self.theme.dim);
                self.flush();
            }
            Event::InlineHtml(text) => self.text(&text, self.theme.dim),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, self.theme.code),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), self.theme.dim),
            // Models mean a line by a line: one item each, not a paragraph that was wrapped somewhere.
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.open();
                let margin = self.margin();
                let width = self.width.min(40);
                self.lines.extend(wrap(&[Piece::new("─".repeat(width), self.theme.dim)], width, &margin));
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }, Style::new()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.flush();
                self.styles.push(self.theme.title);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.open();
                self.code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let (margin, language) = (self.margin(), visible(&language).into_owned());
                    self.lines.extend(wrap(&[Piece::new(language, self.theme.dim)], self.width, &margin));
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.push_block(Block::Quote);
            }
            Tag::List(first) => {
                self.flush();
                if self.blocks.iter().any(|block| matches!(block, Block::Item { .. })) {
                    self.gap = false;
                }
                self.push_block(Block::List(first));
            }
            Tag::Item => {
                self.flush();
                let sign = match self.blocks.last_mut() {
                    Some(Block::List(Some(n))) => {
                        *n = n.saturating_add(1);
                        format!("{}. ", n.saturating_sub(1))
                    }
                    _ => "• ".to_owned(),
                };
                let columns = columns(&sign);
                self.push_block(Block::Item { sign: Some(sign), columns });
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Vec::new());
            }
            Tag::HtmlBlock => self.flush(),
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.push(Vec::new());
                }
            }
            Tag::Emphasis => self.emphasise(Modifier::ITALIC),
            Tag::Strong => self.emphasise(Modifier::BOLD),
            Tag::Strikethrough => self.emphasise(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let start = self.pieces.iter().map(|piece| piece.text.len()).sum();
                self.link = Some((dest_url.into_string(), start));
                self.emphasise(Modifier::UNDERLINED);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.gap = !self.in_table();
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.gap = true;
            }
            TagEnd::HtmlBlock => self.gap = true,
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                self.flush();
                self.pop_block();
                self.gap = true;
            }
            TagEnd::Item => {
                self.flush();
                self.pop_block();
                self.gap = false;
            }
            TagEnd::TableCell => {
                let text: String = self.pieces.drain(..).map(|piece| piece.text).collect();
                if let Some(row) = self.table.as_mut().and_then(|table| table.last_mut()) {
                    row.push(text);
                }
            }
            TagEnd::Table => {
                if let Some(rows) = self.table.take() {
                    self.open();
                    self.table_lines(&rows);
                    self.gap = true;
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((target, start)) = self.link.take() {
                    let all: String = self.pieces.iter().map(|piece| piece.text.as_str()).collect();
                    if all.get(start..) != Some(target.as_str()) && !target.is_empty() {
                        self.text(&format!(" <{target}>"), self.theme.dim);
                    }
                }
            }
            _ => {}
        }
    }

    fn in_table(&self) -> bool {
        self.table.is_some()
    }

    fn push_block(&mut self, block: Block) {
        self.blocks.push(block);
    }

    fn pop_block(&mut self) {
        // An item without text still shows its sign.
        if let Some(Block::Item { sign: Some(_), .. }) = self.blocks.last() {
            let margin = self.margin();
            self.lines.extend(wrap(&[], self.width, &margin));
        }
        self.blocks.pop();
    }

    fn emphasise(&mut self, modifier: Modifier) {
        let style = self.styles.last().copied().unwrap_or_default();
        self.styles.push(style.add_modifier(modifier));
    }

    fn text(&mut self, text: &str, over: Style) {
        let style = self.styles.last().copied().unwrap_or_default().patch(over);
        for (at, line) in visible(text).split('\n').enumerate() {
            if at > 0 {
                self.break_line();
            }
            self.pieces.push(Piece::new(line, style));
        }
    }

    fn break_line(&mut self) {
        if self.in_table() {
            self.pieces.push(Piece::new(" ", Style::new()));
        } else if !self.pieces.is_empty() {
            self.flush();
        }
    }

    fn code_lines(&mut self, text: &str) {
        let margin = self.margin().and(&Margin::bar("  ", Style::new()));
        for line in visible(text.strip_suffix('\n').unwrap_or(text)).split('\n') {
            self.lines.extend(wrap(&[Piece::new(line, self.theme.code)], self.width, &margin));
        }
    }

    /// Puts a blank line before a block where one is due.
    fn open(&mut self) {
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let quotes = self.blocks.iter().filter(|block| matches!(block, Block::Quote)).count().min(DEPTH);
            self.lines.push(Line::styled("│ ".repeat(quotes).trim_end().to_owned(), self.theme.dim));
        }
    }

    fn flush(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        self.open();
        let (pieces, margin) = (std::mem::take(&mut self.pieces), self.margin());
        self.lines.extend(wrap(&pieces, self.width, &margin));
    }

    /// Returns the margin of the blocks around, and takes the sign of an item that has not been shown.
    fn margin(&mut self) -> Margin {
        let mut margin = Margin::default();
        let dim = self.theme.dim;
        let deep = self.blocks.len().saturating_sub(2 * DEPTH);
        for block in self.blocks.iter_mut().skip(deep) {
            let inner = match block {
                Block::Quote => Margin::bar("│ ", dim),
                Block::List(_) => continue,
                Block::Item { sign, columns } => {
                    let rest = Piece::new(" ".repeat(*columns), Style::new());
                    let first = sign.take().map_or(rest.clone(), |sign| Piece::new(sign, dim));
                    Margin { first: vec![first], rest: vec![rest] }
                }
            };
            margin = margin.and(&inner);
        }
        margin
    }

    fn table_lines(&mut self, rows: &[Vec<String>]) {
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..count)
            .map(|at| {
                rows.iter()
                    .filter_map(|row| row.get(at))
                    .map(|cell| columns(cell))
                    .max()
                    .unwrap_or(0)
                    .min(self.width)
            })
            .collect();
        // The widest column gives way first until the table fits.
        let room = self.width.saturating_sub(3 * count.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > 3 => *widest -= 1,
                _ => break,
            }
        }
        for (at, row) in rows.iter().enumerate() {
            let mut text = String::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = fit(row.get(column).map_or("", String::as_str), *width);
                let pad = width.saturating_sub(columns(&cell));
                if column > 0 {
                    text.push_str(" │ ");
                }
                text.push_str(&cell);
                text.push_str(&" ".repeat(pad));
            }
            let style = if at == 0 { self.theme.title } else { self.theme.text };
            let margin = self.margin();
            self.lines.extend(wrap(&[Piece::new(text, style)], self.width, &margin));
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let piece = Piece::new(rule.join("─┼─"), self.theme.dim);
                self.lines.extend(wrap(&[piece], self.width, &margin));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::ThemeName;

    fn shown(text: &str, width: usize) -> String {
        let lines = lines(text, width, &Theme::of(ThemeName::Plain));
        lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks_are_laid_out() {
        for (text, expected) in [
            ("# Title\ntext *and* `code`", "Title\n\ntext and code"),
            ("- one\n- two\n  - deep\n\nend", "• one\n• two\n  • deep\n\nend"),
            ("3. c\n4. d", "3. c\n4. d"),
            ("> quoted\n> text\n>\n> more", "│ quoted\n│ text\n│\n│ more"),
            ("```rust\nfn x() {}\n\n```\nafter", "rust\n  fn x() {}\n  \n\nafter"),
            ("[name](http://a.b)", "name <http://a.b>"),
            ("<http://a.b>", "http://a.b"),
            ("- [x] done\n- [ ] open", "• [x] done\n• [ ] open"),
            ("| a | bb |\n|---|---|\n| ccc | d |", "a   │ bb\n────┼───\nccc │ d"),
            ("a<b>c</b>\n\n<div>\nx\n</div>", "a<b>c</b>\n\n<div>\nx\n</div>"),
            ("x \u{1b}[2J\u{202e}", "x ␛[2J‹U+202E›"),
            ("a  \nb", "a\nb"),
            ("a\n\n---\n\nb", "a\n\n────────────────────\n\nb"),
        ] {
            assert_eq!(shown(text, 20), expected, "{text:?}");
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let text = format!("{}x", "> ".repeat(500));
        assert!(shown(&text, 10).contains('x'));
        let text = (0..200).map(|depth| format!("{}- a\n", " ".repeat(depth * 2))).collect::<String>();
        assert!(!shown(&text, 12).is_empty());
    }
}
