//! Several lines, read one by one: the second grammar takes two lines for one behind a long pipe.
//!
//! - Asked by `survey.rs` where the two readings of a whole differ; `a | b | c` and `d && e` on the next line is such a
//!   text, seen in tree-sitter-bash 0.25.
//! - As good a proof as a reading of the whole: every line has to be a command of its own for both grammars, and all
//!   lines together have to be what the strict grammar reads in the whole.

use super::outline::Outline;
use super::strict::{self, Budget};
use super::tree;

/// Lines that are read one by one.
const MAX_LINES: usize = 200;

/// Returns whether both grammars read every line of `text` alike, and the lines make up `whole`.
pub(super) fn agree(text: &str, whole: &Outline, budget: &mut Budget) -> bool {
    // A here-document, or a line that goes on, is more than its lines.
    if !text.contains('\n') || text.contains("<<") || text.contains("\\\n") {
        return false;
    }
    let lines: Vec<&str> =
        text.split('\n').filter(|line| !line.trim_matches([' ', '\t']).is_empty()).collect();
    if lines.len() > MAX_LINES {
        return false;
    }
    let mut together = Outline::default();
    for line in lines {
        let Ok(first) = strict::read(line, budget) else { return false };
        if !tree::read(line).is_some_and(|second| second.agrees(&first)) {
            return false;
        }
        together.parts.extend(first.parts);
        together.goals.extend(first.goals);
    }
    together.agrees(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(text: &str) -> bool {
        let mut budget = Budget::default();
        let whole = strict::read(text, &mut budget);
        whole.is_ok_and(|whole| agree(text, &whole, &mut budget))
    }

    #[test]
    fn lines_are_read_one_by_one_where_each_is_whole() {
        for (text, expect) in [
            ("a | b | c\nd && e", true),
            ("a\n\n # b\nc", true),
            ("a", false),
            ("echo 'a\nb'", false),
            ("if a\nthen b; fi", false),
            ("a &&\nb", false),
            ("a \\\nb", false),
            ("cat <<E\na\nE", false),
            ("echo \"a\" '\nb' c", false),
        ] {
            assert_eq!(agrees(text), expect, "{text:?}");
        }
    }
}
