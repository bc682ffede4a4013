//! Keeps the beginning and the end of an output, whatever its length (mission M8-bash, W-act-trunc).
//!
//! - Asked with every piece that comes through the pipe; gives it back as text for the screen.
//! - Memory is bounded by the limit; bytes that are not UTF-8 become U+FFFD, a character cut between two pieces stays whole.

use std::collections::VecDeque;

/// Characters that the marker of a cut takes at most.
const MARKER: usize = 60;

/// The kept part of an output.
pub(super) struct Capture {
    limit: usize,
    head: String,
    /// Characters that `head` may still take.
    head_room: usize,
    tail: VecDeque<char>,
    tail_limit: usize,
    /// Characters of the whole output.
    total: usize,
    /// Bytes of a character that has not come whole.
    pending: Vec<u8>,
}

impl Capture {
    /// Returns an empty one that keeps `limit` characters: 70 % from the beginning, 30 % from the end.
    pub(super) fn new(limit: usize) -> Self {
        let head = limit * 7 / 10;
        Self {
            limit,
            head: String::new(),
            head_room: head,
            tail: VecDeque::new(),
            tail_limit: limit - head,
            total: 0,
            pending: Vec::new(),
        }
    }

    /// Takes a piece; returns it as text, without a character at its end that has not come whole.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let whole = whole_characters(&self.pending);
        let rest = self.pending.split_off(whole);
        let piece = std::mem::replace(&mut self.pending, rest);
        self.keep(&piece)
    }

    /// Takes the end of the output: what is pending now will never be whole.
    pub(super) fn finish(&mut self) -> String {
        let piece = std::mem::take(&mut self.pending);
        self.keep(&piece)
    }

    fn keep(&mut self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let count = text.chars().count();
        self.total += count;
        let to_head = count.min(self.head_room);
        let split = text.char_indices().nth(to_head).map_or(text.len(), |(at, _)| at);
        let (head, rest) = text.split_at(split);
        self.head.push_str(head);
        self.head_room -= to_head;
        // Only the last characters of a long piece can stay.
        let skipped = (count - to_head).saturating_sub(self.tail_limit);
        self.tail.extend(rest.chars().skip(skipped));
        let over = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        text
    }

    /// Returns the text of at most `limit` characters, and whether something was left out.
    pub(super) fn into_text(self) -> (String, bool) {
        let mut text = self.head;
        if self.total <= self.limit {
            text.extend(self.tail);
            return (text, false);
        }
        let tail = self.tail_limit.saturating_sub(MARKER);
        let omitted = self.total - (self.limit - self.tail_limit) - tail;
        text.push_str(&format!("\n[… {omitted} characters left out …]\n"));
        text.extend(self.tail.iter().skip(self.tail.len().saturating_sub(tail)));
        (text, true)
    }
}

/// Returns how many bytes hold whole characters: all but an unfinished one at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    // A character has at most four bytes, so an unfinished one begins in the last three.
    for back in 1..=3.min(bytes.len()) {
        let at = bytes.len() - back;
        let Some(byte) = bytes.get(at) else { break };
        let length = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if length > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(limit: usize, pieces: &[&[u8]]) -> (String, bool, String) {
        let mut capture = Capture::new(limit);
        let mut live = String::new();
        for piece in pieces {
            live.push_str(&capture.push(piece));
        }
        live.push_str(&capture.finish());
        let (text, cut) = capture.into_text();
        (text, cut, live)
    }

    #[test]
    fn characters_cut_between_pieces_stay_whole() {
        let (text, cut, live) = captured(100, &[b"a\xc3", b"\xa9\xf0\x9f", b"\xa6", b"\x80\xff", b"\xc3"]);
        assert_eq!((text.as_str(), cut), ("aé🦀\u{fffd}\u{fffd}", false));
        assert_eq!(live, text);
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end() {
        let long: String = (0..5000).map(|n| format!("{n}\n")).collect();
        let (text, cut, live) = captured(1000, &[long.as_bytes()]);
        assert!(cut && text.starts_with("0\n1\n") && text.ends_with("4998\n4999\n"));
        assert!(text.chars().count() <= 1000, "{}", text.chars().count());
        assert_eq!(live, long);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..400), cuts in proptest::collection::vec(0usize..400, 0..8)) {
            let whole = captured(200, &[&bytes]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(&captured(200, &pieces), &whole);
            prop_assert!(whole.0.chars().count() <= 200);
        }
    }
}
