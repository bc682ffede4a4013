//! Keeps texts away from the strict grammar that it cannot take: some make it loop or panic.
//!
//! - Asked by `strict.rs` before it parses. A text that is turned away counts as not valid: it is never
//!   allowed, and `split.rs` searches it for `deny` and `ask`.
//! - Seen in brush-parser 0.4.0: a here-document whose mark is blank (`<<''`, `<<` before a carriage return)
//!   loops and takes memory without end; one inside of `${ }` panics. Found by trying random texts.

use super::nest::after_brace;

/// Returns whether the strict grammar may be given `line`.
pub(super) fn is_safe(line: &str) -> bool {
    if line.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return false;
    }
    if !line.contains("<<") && !line.contains("<\\\n") {
        return true;
    }
    // A line continuation between two `<` makes one mark of them.
    !line.contains("<\\\n") && has_plain_marks(line) && !has_document_in_expansion(line)
}

/// Returns whether each `<<` is followed by a mark of plain letters.
fn has_plain_marks(line: &str) -> bool {
    let mut rest = line;
    while let Some(at) = rest.find("<<") {
        let after = &rest[at..];
        let signs = after.bytes().take_while(|&b| b == b'<').count();
        rest = &after[signs..];
        let is_plain = match signs {
            2 => begins_with_mark(rest),
            // A here-string has no mark.
            3 => true,
            _ => false,
        };
        if !is_plain {
            return false;
        }
    }
    true
}

fn begins_with_mark(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
    let (quote, text) = match text.strip_prefix(['\'', '"']) {
        Some(rest) => (text.chars().next(), rest),
        None => (None, text.strip_prefix('\\').unwrap_or(text)),
    };
    let length = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    if length == 0 {
        return false;
    }
    let mut after = text[length..].chars();
    if let Some(quote) = quote
        && after.next() != Some(quote)
    {
        return false;
    }
    after.next().is_none_or(|c| {
        matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`' | '"' | '\'')
    })
}

/// Returns whether a `<<` stands inside of `${ }` or behind `$[`.
fn has_document_in_expansion(line: &str) -> bool {
    if line.contains("$[") {
        return true;
    }
    if !line.contains("${") {
        return false;
    }
    let chars: Vec<char> = line.chars().collect();
    let pair = |at: usize, first: char, second: char| {
        chars.get(at) == Some(&first) && chars.get(at + 1) == Some(&second)
    };
    let mut at = 0;
    while at < chars.len() {
        if pair(at, '$', '{') {
            let end = after_brace(&chars, at + 2).unwrap_or(chars.len());
            if (at..end).any(|inner| pair(inner, '<', '<')) {
                return true;
            }
            at = end;
        } else {
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_the_grammar_cannot_take_are_turned_away() {
        for line in [
            "<<\r ",
            "<<''\n",
            "<< \n",
            "<<\u{a0}\n",
            "<<'\t'\n",
            "<<",
            "<<<<E\n",
            "<\\\n<''\n",
            "${<<E\n}\nE",
            "a <<-\\\n",
            "<<E\\\n",
            "<<\"E\n\"",
            "a\rb",
            "$[<<E\n]",
        ] {
            assert!(!is_safe(line), "{line:?}");
        }
    }

    #[test]
    fn common_texts_are_not() {
        for line in [
            "cat <<E\nx\nE",
            "cat <<'EOF' > f\nx\nEOF",
            "cat <<-\"E\"\n\tE",
            "cat <<\\E | sh\nE",
            "cat <<< 'x'",
            "echo $((1<<2))",
            "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"",
            "echo ${x} <<E\nE",
            "echo 'é'",
        ] {
            assert!(is_safe(line), "{line:?}");
        }
    }
}
