//! Finds where a quoted or bracketed piece of a command ends, without recursion.
//!
//! - Asked by `word.rs` (to take a word apart) and `split.rs` (to find where a word ends).
//! - Owns no meaning: it only counts what opens and closes, so nesting of any depth costs no stack.

/// What has been opened and not closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Paren,
    Brace,
    Double,
    Back,
    /// A `case` inside of brackets: the `)` after a pattern closes none of them.
    Case,
}

/// Returns the index after the `'` that closes the single quote whose text begins at `at`.
pub(super) fn after_single(chars: &[char], at: usize) -> Option<usize> {
    chars.get(at..)?.iter().position(|&c| c == '\'').map(|n| at + n + 1)
}

/// Returns the index after the `'` that closes the ANSI-C quote whose text begins at `at`.
pub(super) fn after_ansi(chars: &[char], mut at: usize) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            '\'' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the index after the `"` that closes the double quote whose text begins at `at`.
pub(super) fn after_double(chars: &[char], at: usize) -> Option<usize> {
    after(chars, at, Open::Double)
}

/// Returns the index after the backtick that closes the substitution whose text begins at `at`.
pub(super) fn after_back(chars: &[char], at: usize) -> Option<usize> {
    after(chars, at, Open::Back)
}

/// Returns the index after the `)` that closes the bracket whose text begins at `at`.
pub(super) fn after_paren(chars: &[char], at: usize) -> Option<usize> {
    after(chars, at, Open::Paren)
}

/// Returns the index after the `}` that closes the expansion whose text begins at `at`.
pub(super) fn after_brace(chars: &[char], at: usize) -> Option<usize> {
    after(chars, at, Open::Brace)
}

fn after(chars: &[char], mut at: usize, open: Open) -> Option<usize> {
    let mut stack = vec![open];
    while let Some(&top) = stack.last() {
        let c = *chars.get(at)?;
        let next = chars.get(at + 1).copied();
        at += 1;
        match (top, c) {
            (_, '\\') => at += 1,
            (Open::Paren, ')') | (Open::Brace, '}') | (Open::Double, '"') | (Open::Back, '`') => {
                stack.pop();
            }
            (Open::Back, _) => {}
            (_, '$') if next == Some('(') => {
                at += 1;
                stack.push(Open::Paren);
            }
            (_, '$') if next == Some('{') => {
                at += 1;
                stack.push(Open::Brace);
            }
            (Open::Paren | Open::Brace | Open::Case, '$') if next == Some('\'') => {
                at = after_ansi(chars, at + 1)?
            }
            (_, '`') => stack.push(Open::Back),
            (Open::Double, _) => {}
            (_, '\'') => at = after_single(chars, at)?,
            (_, '"') => stack.push(Open::Double),
            (Open::Paren | Open::Case, '(') => stack.push(Open::Paren),
            (Open::Paren | Open::Case, 'c')
                if is_word(chars, at - 1, "case") && begins_command(chars, at - 1) =>
            {
                stack.push(Open::Case);
            }
            (Open::Case, 'e') if is_word(chars, at - 1, "esac") => {
                stack.pop();
            }
            (Open::Paren | Open::Case, '#') if starts_comment(chars, at - 1) => {
                // A comment holds no quotes and no brackets; the newline after it does count.
                while chars.get(at).is_some_and(|&c| c != '\n') {
                    at += 1;
                }
            }
            _ => {}
        }
    }
    Some(at)
}

/// Returns whether `word` stands at `at`, as a whole word.
fn is_word(chars: &[char], at: usize, word: &str) -> bool {
    let parts = |c: &char| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')');
    let end = at + word.len();
    chars.get(at..end).is_some_and(|found| found.iter().copied().eq(word.chars()))
        && chars.get(end).is_none_or(parts)
        && at.checked_sub(1).and_then(|before| chars.get(before)).is_none_or(|c| parts(c) || *c == '`')
}

/// Returns whether a command begins at `at`: behind an operator, or behind a word that a command follows.
fn begins_command(chars: &[char], at: usize) -> bool {
    let before = &chars[..at];
    let Some(last) = before.iter().rposition(|c| !matches!(c, ' ' | '\t')) else { return true };
    if matches!(before[last], '\n' | ';' | '&' | '|' | '(' | ')' | '{' | '`' | '!') {
        return true;
    }
    ["do", "then", "else", "elif", "if", "while", "until", "time"]
        .iter()
        .any(|word| (last + 1).checked_sub(word.len()).is_some_and(|from| is_word(chars, from, word)))
}

/// Returns whether the `#` at `at` begins a comment: it does at the beginning of a word.
pub(super) fn starts_comment(chars: &[char], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| chars.get(before))
        .is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closers_in_quotes_and_comments_do_not_close() {
        let paren = |text: &str| after_paren(&text.chars().collect::<Vec<_>>(), 0);
        assert_eq!(paren("a ')' b) c"), Some(8));
        assert_eq!(paren("a \")\" $(x) ) c"), Some(12));
        assert_eq!(paren("a # )\n ) c"), Some(8));
        assert_eq!(paren("a `)` )"), Some(7));
        assert_eq!(paren("a"), None);
    }

    #[test]
    fn the_patterns_of_a_case_close_nothing() {
        let paren = |text: &str| after_paren(&text.chars().collect::<Vec<_>>(), 0);
        assert_eq!(paren("case a in a) b;; esac) c"), Some(22));
        assert_eq!(paren("if x; then case a in (a) b;; c) d;; esac; fi) c"), Some(45));
        assert_eq!(paren("echo case) c"), Some(10));
        assert_eq!(paren("case a in a) $(b) ;; esac) c"), Some(26));
        assert_eq!(paren("suitcase x) c"), Some(11));
    }

    #[test]
    fn nesting_of_any_depth_costs_no_stack() {
        let deep: Vec<char> = "$(".repeat(100_000).chars().collect();
        assert_eq!(after_paren(&deep, 0), None);
    }
}
