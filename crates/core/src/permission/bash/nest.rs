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
            (Open::Paren | Open::Brace, '$') if next == Some('\'') => at = after_ansi(chars, at + 1)?,
            (_, '`') => stack.push(Open::Back),
            (Open::Double, _) => {}
            (_, '\'') => at = after_single(chars, at)?,
            (_, '"') => stack.push(Open::Double),
            (Open::Paren, '(') => stack.push(Open::Paren),
            (Open::Paren, '#') if starts_comment(chars, at - 1) => {
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
    fn nesting_of_any_depth_costs_no_stack() {
        let deep: Vec<char> = "$(".repeat(100_000).chars().collect();
        assert_eq!(after_paren(&deep, 0), None);
    }
}
