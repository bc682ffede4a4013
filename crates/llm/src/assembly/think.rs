//! Takes a think block at the very start of an answer out of it (W-think-split).
//!
//! - Asked by the assembler with every piece of content, in order.
//! - Owns the few characters that may still turn out to be a tag.
//! - Only the start counts: a model that writes about `<think>` in its answer is quoted as it is.

/// Opening tags with their closing ones.
const TAGS: &[(&str, &str)] = &[("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// A piece of content, sorted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Part of the answer.
    Text(String),
    /// Part of the reasoning.
    Reasoning(String),
}

/// Where in the answer the next piece stands.
#[derive(Debug)]
enum Place {
    /// Nothing but white space and the beginning of a tag so far.
    Start(String),
    /// Inside the block that `close` ends; `held` may be the beginning of it.
    Inside { close: &'static str, held: String },
    /// Right after the block: white space there belongs to neither.
    After,
    /// In the answer.
    Answer,
}

/// The splitter of one answer.
#[derive(Debug)]
pub(super) struct Splitter(Place);

impl Default for Splitter {
    fn default() -> Self {
        Self(Place::Start(String::new()))
    }
}

impl Splitter {
    /// Tells whether what follows is plain answer, so that a piece need not be looked at.
    pub(super) fn is_past_start(&self) -> bool {
        matches!(self.0, Place::Answer)
    }

    /// Sorts the next piece; gives back what is certain by now.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Piece> {
        let mut sorted = Vec::new();
        let mut rest = piece.to_owned();
        while !rest.is_empty() {
            rest = self.advance(rest, &mut sorted);
        }
        sorted
    }

    /// Gives back what was held when the answer has ended.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        match std::mem::replace(&mut self.0, Place::Answer) {
            Place::Start(held) if !held.is_empty() => Some(Piece::Text(held)),
            Place::Inside { held, .. } if !held.is_empty() => Some(Piece::Reasoning(held)),
            _ => None,
        }
    }

    /// Takes one step and returns what is still to be looked at.
    fn advance(&mut self, piece: String, sorted: &mut Vec<Piece>) -> String {
        match std::mem::replace(&mut self.0, Place::Answer) {
            Place::Answer => {
                sorted.push(Piece::Text(piece));
                String::new()
            }
            Place::After => {
                let answer = piece.trim_start();
                if answer.is_empty() {
                    self.0 = Place::After;
                }
                answer.to_owned()
            }
            Place::Start(mut held) => {
                held.push_str(&piece);
                let tag = held.trim_start();
                for &(open, close) in TAGS {
                    if let Some(inside) = tag.strip_prefix(open) {
                        self.0 = Place::Inside { close, held: String::new() };
                        return inside.to_owned();
                    }
                }
                if TAGS.iter().any(|(open, _)| open.starts_with(tag)) {
                    self.0 = Place::Start(held);
                    return String::new();
                }
                held
            }
            Place::Inside { close, mut held } => {
                held.push_str(&piece);
                if let Some((inside, after)) = held.split_once(close) {
                    if !inside.is_empty() {
                        sorted.push(Piece::Reasoning(inside.to_owned()));
                    }
                    self.0 = Place::After;
                    return after.to_owned();
                }
                let kept = longest_beginning(&held, close);
                let certain = held.split_off(held.len() - kept);
                if !held.is_empty() {
                    sorted.push(Piece::Reasoning(held));
                }
                self.0 = Place::Inside { close, held: certain };
                String::new()
            }
        }
    }
}

/// Returns how many bytes at the end of `text` are a beginning of `tag`; tags are ASCII, so this is a boundary.
fn longest_beginning(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&n| tag.get(..n).is_some_and(|start| text.ends_with(start))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns (reasoning, answer) of `pieces`.
    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut both = (String::new(), String::new());
        let mut sort = |piece: Piece| match piece {
            Piece::Reasoning(text) => both.0.push_str(&text),
            Piece::Text(text) => both.1.push_str(&text),
        };
        for piece in pieces {
            splitter.push(piece).into_iter().for_each(&mut sort);
        }
        splitter.finish().into_iter().for_each(&mut sort);
        both
    }

    #[test]
    fn a_block_at_the_start_is_reasoning_and_nothing_else_is() {
        let cases: &[(&str, &str, &str)] = &[
            ("<think>x</think>y", "x", "y"),
            ("\n <think>x</think>\n\ny z", "x", "y z"),
            ("<thinking>é</thinking>y", "é", "y"),
            ("<think>never closed </thin", "never closed </thin", ""),
            ("<think></think>y", "", "y"),
            ("  plain", "", "  plain"),
            ("<thin", "", "<thin"),
            ("a<think>x</think>", "", "a<think>x</think>"),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
            ("<table>", "", "<table>"),
        ];
        for &(whole, reasoning, answer) in cases {
            let expected = (reasoning.to_owned(), answer.to_owned());
            assert_eq!(split(&[whole]), expected, "{whole}");
            let single: Vec<String> = whole.chars().map(String::from).collect();
            let single: Vec<&str> = single.iter().map(String::as_str).collect();
            assert_eq!(split(&single), expected, "{whole}, by character");
        }
        assert_eq!(split(&["<th", "ink>x</thi", "nk>y"]), ("x".to_owned(), "y".to_owned()));
    }
}
