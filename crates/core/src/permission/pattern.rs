//! Patterns with `*`: what rules on text values and commands are matched with.
//!
//! - Asked by every rule family but paths (`paths.rs` has globs).
//! - `*` stands for any text, also none; every other character is itself (mission M9.3).
//! - Matching is linear in the text for each literal piece: no backtracking, so no input is slow.

/// A blank inside one word of a command, while words themselves are joined by blanks.
///
/// A control character on purpose: a command that holds it is never allowed (`bash::odd`).
pub(super) const INNER_BLANK: char = '\u{2}';
/// A piece of a word that is only known when the command runs.
pub(super) const HOLE: char = '\u{1}';

/// A text pattern: literal pieces with any text between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wild {
    /// Pieces between the stars; a star at an end leaves an empty piece there.
    pieces: Vec<String>,
}

impl Wild {
    /// Reads `text`, in which each `*` is a star.
    pub fn new(text: &str) -> Self {
        Self { pieces: text.split('*').map(str::to_owned).collect() }
    }

    /// Reads `text`, in which `\*` is a star meant as the character.
    pub fn escaped(text: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek() == Some(&'*') => {
                    chars.next();
                    push(&mut pieces, '*');
                }
                '*' => pieces.push(String::new()),
                _ => push(&mut pieces, c),
            }
        }
        Self { pieces }
    }

    /// Returns whether the pattern has no star.
    pub fn is_exact(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Returns whether all of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return false };
        let Some((last, middle)) = rest.split_last() else { return first == text };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        for piece in middle {
            match left.split_once(piece.as_str()) {
                Some((_, after)) => left = after,
                None => return false,
            }
        }
        left.ends_with(last.as_str())
    }
}

fn push(pieces: &mut [String], c: char) {
    if let Some(last) = pieces.last_mut() {
        last.push(c);
    }
}

/// Returns whether a word with holes can stand for `literal` once it is expanded.
///
/// `word` is a decoded word in which [`HOLE`] stands for any text.
pub(super) fn may_become(word: &str, literal: &str) -> bool {
    Wild { pieces: word.split(HOLE).map(str::to_owned).collect() }.matches(literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expect) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "a__b__c", true),
            ("a*a", "a", false),
            ("*é*", "aéb", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Wild::new(pattern).matches(text), expect, "{pattern} on {text}");
        }
        assert!(Wild::escaped(r"ls \*.rs").matches("ls *.rs"));
        assert!(!Wild::escaped(r"ls \*.rs").matches("ls a.rs"));
    }

    #[test]
    fn holes_stand_for_any_text() {
        assert!(may_become("\u{1}", "push"));
        assert!(may_become("pu\u{1}", "push"));
        assert!(!may_become("pull\u{1}", "push"));
    }
}
