//! Breaks styled text into lines of a width, by what a terminal shows: grapheme clusters and their columns.
//!
//! Asked by everything that lays out text. Owns nothing; expects text that has passed [`crate::visible`].

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One piece of text with one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text, without line feeds.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

impl Piece {
    /// Returns a piece.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// What stands at the left of the lines of one paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// Before its first line.
    pub first: Vec<Piece>,
    /// Before every other line.
    pub rest: Vec<Piece>,
}

impl Margin {
    /// Returns a margin of `first`, and of as many spaces on the lines after it.
    pub fn hanging(first: &str, style: Style) -> Self {
        let rest = Piece::new(" ".repeat(columns(first)), Style::new());
        Self { first: vec![Piece::new(first, style)], rest: vec![rest] }
    }

    /// Returns a margin of the same text on all lines.
    pub fn bar(text: &str, style: Style) -> Self {
        let piece = vec![Piece::new(text, style)];
        Self { first: piece.clone(), rest: piece }
    }

    /// Returns this margin with `inner` at its right.
    pub fn and(&self, inner: &Self) -> Self {
        let join = |outer: &[Piece], inner: &[Piece]| outer.iter().chain(inner).cloned().collect();
        Self { first: join(&self.first, &inner.first), rest: join(&self.rest, &inner.rest) }
    }
}

/// Returns the columns that `text` takes.
pub fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(grapheme_columns).sum() }
}

/// Returns the columns of one grapheme cluster: never more than two, as terminals draw it.
pub fn grapheme_columns(grapheme: &str) -> usize {
    UnicodeWidthStr::width(grapheme).min(2)
}

/// Returns `text` cut to at most `max` columns, with `…` at its end when something is missing.
pub fn fit(text: &str, max: usize) -> String {
    if columns(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let width = grapheme_columns(grapheme);
        if used + width + 1 > max {
            break;
        }
        out.push_str(grapheme);
        used += width;
    }
    if max > 0 {
        out.push('…');
    }
    out
}

/// Returns `text` cut to `max` columns at its left, with `…` there when something is missing.
pub fn fit_end(text: &str, max: usize) -> String {
    if columns(text) <= max {
        return text.to_owned();
    }
    let mut kept = Vec::new();
    let mut used = 1;
    for grapheme in text.graphemes(true).rev() {
        used += grapheme_columns(grapheme);
        if used > max {
            break;
        }
        kept.push(grapheme);
    }
    let mut out = String::from(if max > 0 { "…" } else { "" });
    out.extend(kept.into_iter().rev());
    out
}

/// Returns the lines of one paragraph of `pieces`, each at most `width` columns; at least one line.
///
/// Lines break after spaces and beside wide characters; a word longer than a line is broken where the line ends.
/// A margin that leaves fewer than four columns is left out.
pub fn wrap(pieces: &[Piece], width: usize, margin: &Margin) -> Vec<Line<'static>> {
    let width = width.max(1);
    let taken = margin_columns(&margin.first).max(margin_columns(&margin.rest));
    let none = Margin::default();
    let (margin, room) = if taken + 4 > width { (&none, width) } else { (margin, width - taken) };
    let mut wrapper = Wrapper { room, margin, lines: Vec::new(), line: Vec::new(), used: 0, break_at: None };
    for piece in pieces {
        for grapheme in piece.text.graphemes(true) {
            wrapper.push(grapheme, piece.style);
        }
    }
    wrapper.end_line();
    wrapper.lines
}

/// Returns the lines of a text of several lines in one style.
pub fn wrap_text(text: &str, style: Style, width: usize, margin: &Margin) -> Vec<Line<'static>> {
    let following = Margin { first: margin.rest.clone(), rest: margin.rest.clone() };
    text.split('\n')
        .enumerate()
        .flat_map(|(at, line)| {
            wrap(&[Piece::new(line, style)], width, if at == 0 { margin } else { &following })
        })
        .collect()
}

fn margin_columns(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| columns(&piece.text)).sum()
}

struct Wrapper<'a> {
    room: usize,
    margin: &'a Margin,
    lines: Vec<Line<'static>>,
    /// Clusters of the line that is being filled, runs of one style joined.
    line: Vec<Piece>,
    used: usize,
    /// Where the line may be broken: piece, byte in it, columns up to there.
    break_at: Option<(usize, usize, usize)>,
}

impl Wrapper<'_> {
    fn push(&mut self, grapheme: &str, style: Style) {
        let width = grapheme_columns(grapheme);
        if width == 0 {
            return;
        }
        let space = grapheme == " ";
        if self.used + width > self.room && self.used > 0 {
            if space {
                // The space at which a line ends is not shown; it must not begin the next one.
                self.end_line();
                return;
            }
            self.break_line();
        }
        if width > 1 {
            self.mark_break();
        }
        match self.line.last_mut() {
            Some(last) if last.style == style => last.text.push_str(grapheme),
            _ => self.line.push(Piece::new(grapheme, style)),
        }
        self.used += width;
        if width > 1 || (space && !self.is_blank()) {
            self.mark_break();
        }
    }

    /// Tells whether the line holds only spaces: indentation is no place to break.
    fn is_blank(&self) -> bool {
        self.line.iter().all(|piece| piece.text.bytes().all(|byte| byte == b' '))
    }

    fn mark_break(&mut self) {
        if let Some(last) = self.line.last() {
            self.break_at = Some((self.line.len() - 1, last.text.len(), self.used));
        }
    }

    /// Ends the line at the last place for it, and keeps what stood after it for the next line.
    fn break_line(&mut self) {
        let Some((piece, byte, used)) = self.break_at.filter(|(.., used)| *used > 0) else {
            self.end_line();
            return;
        };
        let mut rest = self.line.split_off(piece + 1);
        if let Some(last) = self.line.last_mut() {
            let tail = last.text.split_off(byte);
            if !tail.is_empty() {
                rest.insert(0, Piece::new(tail, last.style));
            }
        }
        let carried = self.used - used;
        self.end_line();
        self.line = rest;
        self.used = carried;
    }

    fn end_line(&mut self) {
        let margin = if self.lines.is_empty() { &self.margin.first } else { &self.margin.rest };
        let mut pieces = std::mem::take(&mut self.line);
        if let Some(last) = pieces.last_mut() {
            last.text.truncate(last.text.trim_end_matches(' ').len());
        }
        let spans = margin.iter().cloned().chain(pieces).map(|piece| Span::styled(piece.text, piece.style));
        self.lines.push(Line::from(spans.collect::<Vec<_>>()));
        self.used = 0;
        self.break_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, first: &str) -> Vec<String> {
        let margin = Margin::hanging(first, Style::new());
        wrap_text(text, Style::new(), width, &margin).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_breaks_where_a_reader_expects_it() {
        for (text, width, first, expected) in [
            ("", 10, "", vec![""]),
            ("one two three", 8, "", vec!["one two", "three"]),
            ("one two three", 7, "", vec!["one two", "three"]),
            ("abcdefghij", 4, "", vec!["abcd", "efgh", "ij"]),
            ("a abcdefghij", 4, "", vec!["a", "abcd", "efgh", "ij"]),
            ("中文字符", 5, "", vec!["中文", "字符"]),
            ("ab 中文", 4, "", vec!["ab", "中文"]),
            ("    code here", 9, "", vec!["    code", "here"]),
            ("one two", 8, "> ", vec!["> one", "  two"]),
            ("x\ny", 8, "> ", vec!["> x", "  y"]),
            ("one two", 5, "=> ", vec!["one", "two"]),
            ("e\u{301}e\u{301}", 1, "", vec!["e\u{301}", "e\u{301}"]),
        ] {
            assert_eq!(lines(text, width, first), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn cuts_say_so() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello", 4), "hel…");
        assert_eq!(fit("中文字", 5), "中文…");
        assert_eq!(fit("hello", 0), "");
        assert_eq!(fit_end("/a/long/path", 6), "…/path");
    }
}
