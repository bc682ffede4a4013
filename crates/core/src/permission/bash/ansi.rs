//! Reads the inside of `$'…'` as bash does.
//!
//! - Asked by `word.rs`, so that a program spelled `$'\x72\x6d'` is seen as `rm` (case S027).

/// Returns the text that `chars` stands for; `None` for what is no text or not understood.
pub(super) fn decode(chars: &[char]) -> Option<String> {
    let mut text = String::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        if c != '\\' {
            text.push(c);
            continue;
        }
        let kind = *chars.get(at)?;
        at += 1;
        let decoded = match kind {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => kind,
            // Above 127 these are bytes, not characters: no text can be compared with them.
            '0'..='7' => Some(number(chars, &mut at, 8, 3, kind.to_digit(8)?, 1)?).filter(char::is_ascii)?,
            'x' => Some(number(chars, &mut at, 16, 2, 0, 0)?).filter(char::is_ascii)?,
            'u' => number(chars, &mut at, 16, 4, 0, 0)?,
            'U' => number(chars, &mut at, 16, 8, 0, 0)?,
            _ => return None,
        };
        // Bash ends the text at a NUL: what follows would be judged and never run, so it is not understood.
        if decoded == '\0' {
            return None;
        }
        text.push(decoded);
    }
    Some(text)
}

/// Reads digits of `radix` up to `max` in all, of which `read` are in `value` already.
fn number(
    chars: &[char],
    at: &mut usize,
    radix: u32,
    max: usize,
    mut value: u32,
    mut read: usize,
) -> Option<char> {
    while read < max
        && let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(radix))
    {
        value = value.checked_mul(radix)?.checked_add(digit)?;
        *at += 1;
        read += 1;
    }
    if read == 0 { None } else { char::from_u32(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        for (text, expect) in [
            (r"\x72\x6d", Some("rm")),
            (r"\162m", Some("rm")),
            (r"r\u006d", Some("rm")),
            (r"a\'b", Some("a'b")),
            (r"\n", Some("\n")),
            (r"a\0b", None),
            (r"\q", None),
            (r"\x", None),
            ("plain", Some("plain")),
        ] {
            let chars: Vec<char> = text.chars().collect();
            assert_eq!(decode(&chars).as_deref(), expect, "{text}");
        }
    }
}
