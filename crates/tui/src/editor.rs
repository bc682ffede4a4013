//! The text that a person is writing: several lines and a cursor on grapheme clusters.
//!
//! Asked by the input and the prompts. Pasted text is kept exactly as it came and never sent by itself; it is made
//! visible only where it is drawn. Owns the text and the cursor, a byte offset on a boundary.

use unicode_segmentation::UnicodeSegmentation;

use crate::visible::visible;
use crate::wrap::{columns, grapheme_columns};

/// A text under a cursor.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
}

/// The part of a text that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Its rows.
    pub rows: Vec<String>,
    /// Row of the cursor.
    pub row: usize,
    /// Column of the cursor.
    pub column: usize,
}

impl Editor {
    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Tells whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text; the cursor stands at its end.
    pub fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Takes the text away.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts `text` at the cursor; `\r\n` and `\r` become line feeds, as terminals paste them.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        self.align();
    }

    /// Deletes the cluster before the cursor.
    pub fn backspace(&mut self) {
        let start = self.before();
        self.delete(start, self.cursor);
    }

    /// Deletes the cluster after the cursor.
    pub fn delete_next(&mut self) {
        let end = self.after();
        self.delete(self.cursor, end);
    }

    /// Deletes from the start of the line, or the line feed before the cursor when it stands there (Ctrl+U).
    pub fn delete_to_start(&mut self) {
        let start = self.line_start();
        let start = if start == self.cursor { self.before() } else { start };
        self.delete(start, self.cursor);
    }

    /// Deletes to the end of the line, or the line feed after the cursor when it stands there (Ctrl+K).
    pub fn delete_to_end(&mut self) {
        let end = self.line_end();
        let end = if end == self.cursor { self.after() } else { end };
        self.delete(self.cursor, end);
    }

    /// Deletes the word before the cursor (Ctrl+W).
    pub fn delete_word(&mut self) {
        let start = self.word_start();
        self.delete(start, self.cursor);
    }

    /// Moves one cluster to the left.
    pub fn left(&mut self) {
        self.cursor = self.before();
    }

    /// Moves one cluster to the right.
    pub fn right(&mut self) {
        self.cursor = self.after();
    }

    /// Moves to the start of the word before the cursor.
    pub fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    /// Moves behind the word after the cursor.
    pub fn word_right(&mut self) {
        let rest = self.rest();
        let skipped = rest.len() - rest.trim_start().len();
        let word = rest.trim_start().find(char::is_whitespace).map_or(rest.len(), |at| skipped + at);
        self.cursor += word;
        self.align();
    }

    /// Moves to the start of the line (Ctrl+A).
    pub fn home(&mut self) {
        self.cursor = self.line_start();
    }

    /// Moves to the end of the line (Ctrl+E).
    pub fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// Moves one line up, keeping the column; `false` on the first line.
    pub fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = columns(self.text.get(start..self.cursor).unwrap_or_default());
        let above = self.text.get(..start - 1).unwrap_or_default().rfind('\n').map_or(0, |at| at + 1);
        self.cursor = above;
        self.move_to_column(column);
        true
    }

    /// Moves one line down, keeping the column; `false` on the last line.
    pub fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = columns(self.text.get(self.line_start()..self.cursor).unwrap_or_default());
        self.cursor = end + 1;
        self.move_to_column(column);
        true
    }

    /// Returns at most `max` rows of `width` columns around the cursor, made visible.
    pub fn rows(&self, width: usize, max: usize) -> Rows {
        let (width, max) = (width.max(1), max.max(1));
        let line_start = self.line_start();
        // Only lines that can be on the screen are laid out, so that a large paste does not slow typing down.
        let first = nth_line_back(&self.text, line_start, max);
        let mut out = Rows { rows: Vec::new(), row: 0, column: 0 };
        let mut at = first;
        for line in self.text.get(first..).unwrap_or_default().split('\n') {
            self.line_rows(line, at, width, &mut out);
            at += line.len() + 1;
            if at > self.cursor && out.rows.len() > out.row + max {
                break;
            }
        }
        let top = (out.row + 1).saturating_sub(max);
        let below = out.rows.len().saturating_sub(top).min(max);
        out.rows = out.rows.split_off(top.min(out.rows.len()));
        out.rows.truncate(below);
        out.row -= top;
        out
    }

    /// Lays out one line that begins at byte `at` of the text.
    fn line_rows(&self, line: &str, at: usize, width: usize, out: &mut Rows) {
        let mut row = String::new();
        let mut used = 0;
        for (offset, grapheme) in line.grapheme_indices(true) {
            let shown = visible(grapheme);
            for part in shown.graphemes(true) {
                let columns = grapheme_columns(part);
                if used + columns > width && used > 0 {
                    out.rows.push(std::mem::take(&mut row));
                    used = 0;
                }
                if at + offset == self.cursor && part.as_ptr() == shown.as_ptr() {
                    (out.row, out.column) = (out.rows.len(), used);
                }
                row.push_str(part);
                used += columns;
            }
            if shown.is_empty() && at + offset == self.cursor {
                (out.row, out.column) = (out.rows.len(), used);
            }
        }
        if at + line.len() == self.cursor {
            if used >= width {
                out.rows.push(std::mem::take(&mut row));
                used = 0;
            }
            (out.row, out.column) = (out.rows.len(), used);
        }
        out.rows.push(row);
    }

    fn rest(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn upto(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn before(&self) -> usize {
        self.upto().grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.cursor + self.rest().graphemes(true).next().map_or(0, str::len)
    }

    fn line_start(&self) -> usize {
        self.upto().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.cursor + self.rest().find('\n').unwrap_or(self.rest().len())
    }

    fn word_start(&self) -> usize {
        let trimmed = self.upto().trim_end();
        trimmed.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn move_to_column(&mut self, column: usize) {
        let mut used = 0;
        let mut at = self.cursor;
        for grapheme in self.rest().graphemes(true) {
            used += grapheme_columns(grapheme);
            if grapheme == "\n" || used > column {
                break;
            }
            at += grapheme.len();
        }
        self.cursor = at;
    }

    fn delete(&mut self, start: usize, end: usize) {
        if start < end && self.text.is_char_boundary(start) && self.text.is_char_boundary(end) {
            self.text.replace_range(start..end, "");
            self.cursor = start;
        }
    }

    /// Keeps the cursor on a boundary; an inserted mark can join the cluster before it.
    fn align(&mut self) {
        while !self.text.is_char_boundary(self.cursor) {
            self.cursor += 1;
        }
    }
}

/// Returns the start of the line that is `n` lines above the one that begins at `start`, or of the first.
fn nth_line_back(text: &str, start: usize, n: usize) -> usize {
    let above = text.get(..start.saturating_sub(1)).unwrap_or_default();
    if start == 0 {
        return 0;
    }
    above.rmatch_indices('\n').nth(n).map_or(0, |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an editor of `text` in which `|` marks the cursor.
    fn at(text: &str) -> Editor {
        let cursor = text.find('|').expect("a mark");
        Editor { text: text.replace('|', ""), cursor }
    }

    fn shown(editor: &Editor) -> String {
        let mut text = editor.text.clone();
        text.insert(editor.cursor, '|');
        text
    }

    #[test]
    fn keys_edit_by_what_is_seen() {
        type Edit = fn(&mut Editor);
        let cases: [(&str, Edit, &str); 21] = [
            ("ab|", Editor::backspace, "a|"),
            ("中文|", Editor::backspace, "中|"),
            ("👩\u{200d}💻|", Editor::backspace, "|"),
            ("e\u{301}|x", Editor::left, "|e\u{301}x"),
            ("|👍🏽b", Editor::right, "👍🏽|b"),
            ("a|\nb", Editor::delete_next, "a|b"),
            ("one two |", Editor::delete_word, "one |"),
            ("one  two|", Editor::delete_word, "one  |"),
            ("a\nbc|d", Editor::delete_to_start, "a\n|d"),
            ("a\n|bc", Editor::delete_to_start, "a|bc"),
            ("a|bc\nd", Editor::delete_to_end, "a|\nd"),
            ("a|\nd", Editor::delete_to_end, "a|d"),
            ("a\nb|c", Editor::home, "a\n|bc"),
            ("|ab\nc", Editor::end, "ab|\nc"),
            ("one| two", Editor::word_left, "|one two"),
            ("one| two x", Editor::word_right, "one two| x"),
            ("|", Editor::backspace, "|"),
            ("|", Editor::delete_next, "|"),
            ("abc\nde|f", |editor| assert!(editor.up()), "ab|c\ndef"),
            ("中文\nabc|", |editor| assert!(editor.up()), "中|文\nabc"),
            ("ab|c\nd", |editor| assert!(editor.down()), "abc\nd|"),
        ];
        for (before, edit, after) in cases {
            let mut editor = at(before);
            edit(&mut editor);
            assert_eq!(shown(&editor), after, "{before:?}");
        }
    }

    #[test]
    fn rows_follow_the_cursor() {
        for (text, width, max, expected) in [
            ("abc|", 5, 3, (vec!["abc"], 0, 3)),
            ("abcde|", 5, 3, (vec!["abcde", ""], 1, 0)),
            ("ab|cde", 2, 3, (vec!["ab", "cd", "e"], 1, 0)),
            ("中|文", 3, 3, (vec!["中", "文"], 1, 0)),
            ("1\n2\n3\n4|", 5, 2, (vec!["3", "4"], 1, 1)),
            ("1|\n2\n3\n4", 5, 2, (vec!["1", "2"], 0, 1)),
            ("a\u{1b}|b", 5, 1, (vec!["a␛b"], 0, 2)),
            ("|", 5, 1, (vec![""], 0, 0)),
        ] {
            let (rows, row, column) = expected;
            let rows = Rows { rows: rows.into_iter().map(str::to_owned).collect(), row, column };
            assert_eq!(at(text).rows(width, max), rows, "{text:?}");
        }
    }

    #[test]
    fn pasted_line_ends_become_line_feeds() {
        let mut editor = at("a|b");
        editor.insert("1\r\n2\r3");
        assert_eq!(shown(&editor), "a1\n2\n3|b");
    }
}
