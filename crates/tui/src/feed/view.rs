//! Where the reader of a list stands, and the lines that are visible there.

use ratatui::text::Line;

use super::{Feed, Scroll};
use crate::item::{self, Look};

impl Feed {
    /// Scrolls by `lines` at the next drawing, down positive.
    pub fn scroll_by(&mut self, lines: isize) {
        self.pending = self.pending.saturating_add(lines);
    }

    /// Goes to the first item that is kept.
    pub fn go_to_start(&mut self) {
        (self.scroll, self.pending) = (Scroll::At { id: self.first, line: 0 }, 0);
    }

    /// Goes to the end and stays there.
    pub fn go_to_end(&mut self) {
        (self.scroll, self.pending) = (Scroll::Follow, 0);
    }

    /// Tells whether the end is shown.
    pub fn follows(&self) -> bool {
        self.scroll == Scroll::Follow
    }

    /// Returns the lines that are visible in `height` rows of `look.width` columns, and settles where the reader stands.
    pub fn visible(&mut self, height: usize, look: &Look<'_>) -> Vec<&Line<'static>> {
        let (mut at, mut line) = self.top(height, look);
        let pending = std::mem::take(&mut self.pending);
        if pending != 0 {
            (at, line) = self.moved(at, line, pending, look);
        }
        // A page that is not filled to its end stands at the end.
        if pending > 0 || self.scroll != Scroll::Follow {
            let end = self.last_top(height, look);
            if (at, line) >= end {
                (at, line) = end;
                self.scroll = Scroll::Follow;
            } else {
                self.scroll = Scroll::At { id: self.first + at as u64, line };
            }
        } else if pending < 0 && (at, line) != self.last_top(height, look) {
            self.scroll = Scroll::At { id: self.first + at as u64, line };
        }
        self.at_start = (at, line) == (0, 0);
        let mut left = height;
        let mut last = at;
        while left > 0 && last < self.entries.len() {
            let skip = if last == at { line } else { 0 };
            left = left.saturating_sub(self.height(last, look).saturating_sub(skip));
            last += 1;
        }
        let laid = self.entries.range(at.min(last)..last).filter_map(|entry| entry.laid.as_ref());
        laid.flat_map(|laid| laid.lines()).skip(line).take(height).collect()
    }

    /// Returns index and line of the first line to show.
    fn top(&mut self, height: usize, look: &Look<'_>) -> (usize, usize) {
        match self.scroll {
            Scroll::Follow => self.last_top(height, look),
            Scroll::At { id, line } => {
                let at = usize::try_from(id.saturating_sub(self.first)).unwrap_or(0);
                let at = at.min(self.entries.len().saturating_sub(1));
                (at, line.min(self.height(at, look).saturating_sub(1)))
            }
        }
    }

    /// Returns the first line of the page that shows the end.
    fn last_top(&mut self, height: usize, look: &Look<'_>) -> (usize, usize) {
        let mut left = height;
        for at in (0..self.entries.len()).rev() {
            let lines = self.height(at, look);
            if lines >= left {
                return (at, lines - left);
            }
            left -= lines;
        }
        (0, 0)
    }

    /// Returns the place `by` lines away, within the list.
    fn moved(&mut self, mut at: usize, line: usize, by: isize, look: &Look<'_>) -> (usize, usize) {
        let mut line = isize::try_from(line).unwrap_or(isize::MAX).saturating_add(by);
        while line < 0 {
            if at == 0 {
                return (0, 0);
            }
            at -= 1;
            line += isize::try_from(self.height(at, look)).unwrap_or(isize::MAX);
        }
        let mut line = line.unsigned_abs();
        while at + 1 < self.entries.len() && line >= self.height(at, look) {
            line -= self.height(at, look);
            at += 1;
        }
        (at, line.min(self.height(at, look).saturating_sub(1)))
    }

    /// Returns the lines of entry `at`, wrapping it when it was not for this width.
    fn height(&mut self, at: usize, look: &Look<'_>) -> usize {
        let Some(entry) = self.entries.get_mut(at) else { return 0 };
        let laid = item::laid(entry.laid.take(), &entry.item, entry.gap && at > 0, look);
        entry.laid.insert(laid).lines().len()
    }
}
