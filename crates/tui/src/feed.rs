//! A list of items that is read like a page: an agent's transcript, or its raw events.
//!
//! - Filled by the fold; asked for its visible lines by the widgets.
//! - Owns the items, where the reader stands, and the wrapped lines of each item by width, so that a frame costs
//!   what is visible and not what was said.

use std::collections::{HashMap, VecDeque};

use maia_protocol::CallId;
use ratatui::text::Line;

use crate::item::{self, Item, Look};

/// One item with its wrapped lines.
#[derive(Debug)]
struct Entry {
    item: Item,
    /// Whether a blank line stands before it.
    gap: bool,
    laid: Option<item::Laid>,
}

/// Where the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scroll {
    /// At the end, whatever comes.
    Follow,
    /// The line `line` of entry `id` is the first one shown.
    At { id: u64, line: usize },
}

/// The list.
#[derive(Debug)]
pub struct Feed {
    entries: VecDeque<Entry>,
    /// Number of the first entry that is kept; entries are numbered from 0 for ever.
    first: u64,
    /// Entries kept.
    max: usize,
    scroll: Scroll,
    /// Lines to scroll at the next drawing, down positive: only then the heights are known.
    pending: isize,
    /// Entries of calls without a result.
    open: HashMap<CallId, u64>,
    /// The entry of a text that is being streamed.
    stream: Option<u64>,
}

impl Feed {
    /// Returns an empty list that keeps the newest `max` items.
    pub fn new(max: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            max,
            scroll: Scroll::Follow,
            pending: 0,
            open: HashMap::new(),
            stream: None,
        }
    }

    /// Tells whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all items.
    pub fn clear(&mut self) {
        *self = Self::new(self.max);
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: Item) -> u64 {
        let gap = self.entries.back().is_some_and(|last| !item.joins(&last.item));
        if self.entries.len() >= self.max {
            self.entries.pop_front();
            self.first += 1;
            self.open.retain(|_, id| *id >= self.first);
        }
        self.entries.push_back(Entry { item, gap, laid: None });
        self.first + self.entries.len() as u64 - 1
    }

    /// Adds the item of call `id`, to be changed until its result comes.
    pub fn push_call(&mut self, id: CallId, item: Item) {
        self.end_stream();
        let entry = self.push(item);
        self.open.insert(id, entry);
    }

    /// Changes the item of the open call `id`; `last` when nothing more comes.
    pub fn change_call(&mut self, id: &CallId, last: bool, change: impl FnOnce(&mut Item)) {
        let entry = if last { self.open.remove(id) } else { self.open.get(id).copied() };
        if let Some(entry) = entry {
            self.change(entry, change);
        }
    }

    /// Changes the item `id`, if it is still kept.
    pub fn change(&mut self, id: u64, change: impl FnOnce(&mut Item)) {
        let at = id.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
            change(&mut entry.item);
            if !matches!(entry.item, Item::Streaming { .. }) {
                entry.laid = None;
            }
        }
    }

    /// Adds a piece to the text that is being streamed, or begins one.
    pub fn stream(&mut self, piece: &str) {
        match self.stream {
            Some(id) => self.change(id, |item| {
                if let Item::Streaming { text } = item {
                    text.push_str(piece);
                }
            }),
            None => self.stream = Some(self.push(Item::Streaming { text: piece.to_owned() })),
        }
    }

    /// Ends the streamed text with its exact form, or adds the text when none was streamed.
    pub fn finish_stream(&mut self, item: Item) {
        match self.stream.take() {
            Some(id) if id >= self.first => self.change(id, |streamed| *streamed = item),
            _ => {
                self.push(item);
            }
        }
    }

    /// Ends the streamed text as far as it came.
    pub fn end_stream(&mut self) {
        if let Some(id) = self.stream.take() {
            self.change(id, |item| {
                if let Item::Streaming { text } = item {
                    *item = Item::text(text);
                }
            });
        }
    }

    /// Adds an item before the text that is being streamed: reasoning is told after its first words.
    pub fn push_before_stream(&mut self, item: Item) {
        let last = (self.first + self.entries.len() as u64).checked_sub(1);
        let streamed =
            if self.stream.is_some() && self.stream == last { self.entries.pop_back() } else { None };
        self.push(item);
        if let Some(mut entry) = streamed {
            entry.gap = true;
            self.stream = Some(self.push(entry.item));
        }
    }

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

    /// Tells whether older items are no longer kept.
    pub fn is_cut(&self) -> bool {
        self.first > 0
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{Theme, ThemeName};
    use crate::words::Lang;

    fn shown(feed: &mut Feed, width: usize, height: usize) -> Vec<String> {
        let theme = Theme::of(ThemeName::Plain);
        let look = Look { width, theme: &theme, words: Lang::En.words(), markdown: true };
        feed.visible(height, &look).iter().map(ToString::to_string).collect()
    }

    fn feed(n: usize) -> Feed {
        let mut feed = Feed::new(100);
        for at in 0..n {
            feed.push(Item::text(&format!("t{at}")));
        }
        feed
    }

    #[test]
    fn the_end_is_followed_until_the_reader_goes_up() {
        let mut feed = feed(4);
        assert_eq!(shown(&mut feed, 10, 3), ["t2", "", "t3"]);
        feed.scroll_by(-2);
        assert_eq!(shown(&mut feed, 10, 3), ["t1", "", "t2"]);
        feed.push(Item::text("new"));
        assert_eq!(shown(&mut feed, 10, 3), ["t1", "", "t2"]);
        feed.scroll_by(100);
        assert_eq!(shown(&mut feed, 10, 3), ["t3", "", "new"]);
        feed.push(Item::text("newer"));
        assert_eq!(shown(&mut feed, 10, 3), ["new", "", "newer"]);
        feed.scroll_by(-100);
        assert_eq!(shown(&mut feed, 10, 3), ["t0", "", "t1"]);
        assert!(!feed.follows());
    }

    #[test]
    fn a_short_list_does_not_scroll() {
        let mut feed = feed(1);
        feed.scroll_by(-5);
        assert_eq!(shown(&mut feed, 10, 5), ["t0"]);
        assert!(feed.follows());
    }

    #[test]
    fn old_items_go() {
        let mut feed = Feed::new(2);
        for at in 0..5 {
            feed.push(Item::text(&format!("t{at}")));
        }
        assert_eq!(shown(&mut feed, 10, 9), ["t3", "", "t4"]);
        assert!(feed.is_cut());
    }

    #[test]
    fn a_stream_is_raw_until_it_is_complete() {
        let mut feed = Feed::new(10);
        feed.stream("**a");
        assert_eq!(shown(&mut feed, 10, 9), ["**a"]);
        feed.stream("**\nb");
        assert_eq!(shown(&mut feed, 10, 9), ["**a**", "b"]);
        feed.stream("c\n");
        assert_eq!(shown(&mut feed, 10, 9), ["**a**", "bc", ""]);
        feed.push_before_stream(Item::text("first"));
        feed.finish_stream(Item::text("**a**\n\nbc"));
        assert_eq!(shown(&mut feed, 10, 9), ["first", "", "a", "", "bc"]);
    }
}
