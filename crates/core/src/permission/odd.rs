//! Characters that make the text that a person reads differ from the text that is used.
//!
//! - Asked for commands, paths and addresses; a call that holds one is never allowed unasked
//!   (cases S030, S031, S040, S041).

/// Returns what is odd about `c`, or `None` for a character that shows what it is.
///
/// Newline and tab are plain: they separate, and both are seen.
pub(super) fn oddity(c: char) -> Option<&'static str> {
    match c {
        '\n' | '\t' | ' '..='~' => None,
        '\0' => Some("a NUL character"),
        '\r' => Some("a carriage return"),
        '\u{1b}' => Some("an escape character"),
        c if c.is_control() => Some("a control character"),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            Some("a blank that is no ASCII blank")
        }
        '\u{2028}' | '\u{2029}' => Some("a Unicode line separator"),
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("a character that turns the direction of writing")
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Some("an invisible character"),
        _ => None,
    }
}

/// Returns what is odd about the first odd character of `text`.
pub(super) fn first(text: &str) -> Option<&'static str> {
    // Nearly every text is plain ASCII: looking at bytes first keeps this out of the measurements.
    if text.bytes().all(|b| matches!(b, b'\n' | b'\t' | b' '..=b'~')) {
        return None;
    }
    text.chars().find_map(oddity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_odd_and_visible_ones_are_not() {
        for text in ["git status", "echo é； ok", "a\nb\tc", "日本", "🦀"] {
            assert_eq!(first(text), None, "{text:?}");
        }
        for text in ["a\0", "a\r\n", "\u{1b}[2J", "a\u{a0}b", "a\u{200b}", "\u{202e}x", "\u{e0041}", "\u{85}"]
        {
            assert!(first(text).is_some(), "{text:?}");
        }
    }
}
