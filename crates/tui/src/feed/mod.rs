//! A list of items that is read like a page: an agent's transcript, or its raw events.
//!
//! - Filled by the fold; asked for its visible lines by the widgets.
//! - Owns the items, where the reader stands, and the wrapped lines of each item by width, so that a frame costs
//!   what is visible and not what was said.

mod view;

use std::collections::{HashMap, VecDeque};

use maia_protocol::{CallId, Seq};

use crate::item::{self, Item, Level};

/// Number of the first entry, so high that older ones can be put before it.
const FIRST: u64 = 1 << 40;
/// Older items that are put before those kept, at most; the journal has all.
const OLDER: usize = 50_000;

/// One item with its wrapped lines.
#[derive(Debug)]
struct Entry {
    item: Item,
    /// Number of the record that it comes from.
    seq: Seq,
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
    /// Number of the first entry that is kept; numbers are never used twice.
    first: u64,
    /// Entries kept.
    max: usize,
    /// Entries that were put before those kept.
    older: usize,
    /// Whether entries went because there were too many.
    is_cut: bool,
    /// Whether the first line was shown when it was last drawn.
    at_start: bool,
    /// Number of the record that is being folded.
    seq: Seq,
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
            first: FIRST,
            max,
            older: 0,
            is_cut: false,
            at_start: false,
            seq: 0,
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

    /// Forgets all items but the warnings at the end: they were said of what begins now.
    pub fn begin_anew(&mut self) {
        let is_warning = |entry: &Entry| matches!(entry.item, Item::Notice { level: Level::Warn, .. });
        let others = self.entries.iter().rposition(|entry| !is_warning(entry)).map_or(0, |last| last + 1);
        let warnings = self.entries.split_off(others);
        self.clear();
        for warning in warnings {
            self.push(warning.item);
        }
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: Item) -> u64 {
        let gap = self.entries.back().is_some_and(|last| !item.joins(&last.item));
        if self.entries.len() >= self.max + self.older {
            self.cut();
        }
        self.entries.push_back(Entry { item, seq: self.seq, gap, laid: None });
        self.first + self.entries.len() as u64 - 1
    }

    /// Lets the first item go, with all others of its record: what is asked for later is what comes before a record.
    fn cut(&mut self) {
        let Some(seq) = self.first_seq() else { return };
        while self.first_seq() == Some(seq) {
            self.entries.pop_front();
            self.first += 1;
            self.older = self.older.saturating_sub(1);
        }
        self.is_cut = true;
        let first = self.first;
        self.open.retain(|_, id| *id >= first);
        // The first item has no blank line before it.
        if let Some(first) = self.entries.front_mut() {
            first.laid = None;
        }
    }

    /// Tells from which record the items come that are added from now on.
    pub fn fold(&mut self, seq: Seq) {
        self.seq = seq;
    }

    /// Returns the number of the record behind the first item that is kept.
    pub fn first_seq(&self) -> Option<Seq> {
        self.entries.front().map(|entry| entry.seq)
    }

    /// Tells whether the first item that is kept was in sight when it was last drawn.
    pub fn at_start(&self) -> bool {
        self.at_start
    }

    /// Tells whether there is room for older items.
    pub fn takes_older(&self) -> bool {
        self.older < OLDER
    }

    /// Puts the items of `before` that come from records before those kept here in front; what is read stays in place.
    pub fn put_before(&mut self, before: Self) {
        let first = self.first_seq().unwrap_or(Seq::MAX);
        let mut added = before.entries.into_iter().filter(|entry| entry.seq < first).collect::<Vec<_>>();
        added.truncate(OLDER.saturating_sub(self.older));
        if let (Some(last), Some(kept)) = (added.last(), self.entries.front_mut()) {
            kept.gap = !kept.item.joins(&last.item);
            kept.laid = None;
        }
        self.older += added.len();
        self.first -= added.len() as u64;
        added.into_iter().rev().for_each(|entry| self.entries.push_front(entry));
        self.at_start = false;
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

    /// Tells whether older items are no longer kept.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Look;
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
            feed.fold(at);
            feed.push(Item::text(&format!("t{at}")));
        }
        assert_eq!(shown(&mut feed, 10, 9), ["t3", "", "t4"]);
        assert!(feed.is_cut());
        // A record goes as a whole.
        feed.push(Item::text("t4 more"));
        feed.fold(5);
        feed.push(Item::text("t5"));
        assert_eq!(shown(&mut feed, 10, 9), ["t5"]);
    }

    #[test]
    fn older_items_come_before_and_move_nothing() {
        let mut kept = Feed::new(2);
        for at in 0..5 {
            kept.fold(at);
            kept.push(Item::text(&format!("t{at}")));
        }
        kept.go_to_start();
        assert_eq!(shown(&mut kept, 10, 2), ["t3", ""]);
        assert!(kept.at_start());
        let mut older = Feed::new(10);
        for at in 1..4 {
            older.fold(at);
            older.push(Item::text(&format!("t{at}")));
        }
        assert_eq!(kept.first_seq(), Some(3));
        kept.put_before(older);
        assert_eq!(kept.first_seq(), Some(1));
        assert_eq!(shown(&mut kept, 10, 2), ["", "t3"]);
        kept.scroll_by(-9);
        assert_eq!(shown(&mut kept, 10, 4), ["t1", "", "t2", ""]);
        kept.push(Item::text("t5"));
        kept.scroll_by(9);
        assert_eq!(shown(&mut kept, 10, 9), ["t2", "", "t3", "", "t4", "", "t5"]);
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
