//! Makes any text from outside fit to be drawn (SAFETY 6): the one gate between the stream and the terminal.
//!
//! - Asked by the fold for every text of an event, and by the input for what is typed or pasted.
//! - Nothing else turns foreign text into cells. Texts in the stream stay exact: only what is drawn changes.
//! - Owns the tables of what is shown by a sign, shown by its number, or dropped.

use std::borrow::Cow;

/// Combining marks kept on one base; more of them would paint over the lines above and below.
const MARKS: usize = 6;

/// Returns `text` with nothing left that a terminal obeys or that a person cannot see.
///
/// - Line feeds stay; `\r\n` becomes one; a tab becomes four spaces.
/// - Colour sequences (`ESC [ … m`) are dropped: they carry no text. Every other control byte is shown as its
///   Unicode picture (`␛`), C1 controls and bidirectional controls by number (`‹U+202E›`).
/// - Zero-width characters and tags are dropped outside emoji sequences; variation selectors only stay on emoji.
/// - At most six combining marks stay on one base.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (b' '..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut before = Before::default();
    while let Some(c) = rest.chars().next() {
        let here = rest;
        let after = here.strip_prefix(c).unwrap_or_default();
        rest = after;
        match class(c) {
            Class::Plain => {
                out.push(c);
                before = Before { emoji: is_emoji(c), marks: 0, any: true, flag: c == '\u{1f3f4}' };
            }
            Class::Tab => {
                out.push_str("    ");
                before = Before::default();
            }
            Class::Control => {
                before = Before::default();
                if c == '\r' && after.starts_with('\n') {
                    continue;
                }
                if c == '\u{1b}'
                    && let Some(after_colour) = colour_sequence(after)
                {
                    rest = after_colour;
                    continue;
                }
                out.push(picture(c));
            }
            Class::Number => {
                out.push_str(&format!("‹U+{:04X}›", u32::from(c)));
                before = Before::default();
            }
            Class::Hidden => {}
            Class::Mark => {
                if before.marks < MARKS && before.any {
                    out.push(c);
                    before.marks += 1;
                }
            }
            Class::Selector => {
                // A keycap such as 1️⃣ has an ordinary character as its base.
                if before.emoji || (before.any && after.starts_with('\u{20e3}')) {
                    out.push(c);
                }
            }
            Class::Modifier => {
                out.push(c);
                before = Before { emoji: true, marks: 0, any: true, flag: false };
            }
            Class::Joiner => {
                if before.emoji && after.chars().next().is_some_and(is_emoji) {
                    out.push(c);
                }
            }
            Class::Tag => {
                if before.flag
                    && let Some(tags) = FLAGS.iter().find(|tags| here.starts_with(**tags))
                {
                    out.push_str(tags);
                    rest = here.get(tags.len()..).unwrap_or_default();
                }
                before.flag = false;
            }
        }
    }
    Cow::Owned(out)
}

/// Returns `text` as [`visible`] does, on one line: each line feed becomes `⏎`.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\n');
    match visible(text) {
        Cow::Borrowed(line) if !line.contains('\n') => Cow::Borrowed(line),
        shown => Cow::Owned(shown.replace('\n', " ⏎ ")),
    }
}

/// Returns the longest start of `text` of at most `max` characters, and whether it is shorter than `text`.
pub fn cut(text: &str, max: usize) -> (&str, bool) {
    match text.char_indices().nth(max) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), true),
        None => (text, false),
    }
}

/// What stands before a character, as far as it matters for what may follow.
#[derive(Clone, Copy, Default)]
struct Before {
    emoji: bool,
    marks: usize,
    any: bool,
    flag: bool,
}

enum Class {
    Plain,
    Tab,
    Control,
    Number,
    Hidden,
    Mark,
    Selector,
    Modifier,
    Joiner,
    Tag,
}

fn class(c: char) -> Class {
    match c {
        '\n' => Class::Plain,
        '\t' => Class::Tab,
        '\0'..='\u{1f}' | '\u{7f}' => Class::Control,
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Class::Number,
        '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' => Class::Number,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => Class::Hidden,
        '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' => Class::Hidden,
        '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' => Class::Hidden,
        '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => Class::Hidden,
        '\u{e0080}'..='\u{e0fff}' => Class::Hidden,
        '\u{fe00}'..='\u{fe0d}' => Class::Hidden,
        '\u{fe0e}' | '\u{fe0f}' => Class::Selector,
        '\u{1f3fb}'..='\u{1f3ff}' => Class::Modifier,
        '\u{200d}' => Class::Joiner,
        '\u{e0000}'..='\u{e007f}' => Class::Tag,
        _ if unicode_width::UnicodeWidthChar::width(c) == Some(0) => Class::Mark,
        _ => Class::Plain,
    }
}

/// Returns the picture of a C0 control or of DEL.
fn picture(c: char) -> char {
    match c {
        '\u{7f}' => '␡',
        _ => char::from_u32(0x2400 + u32::from(c)).unwrap_or('�'),
    }
}

/// Returns what follows a colour sequence whose escape byte was just read.
fn colour_sequence(after: &str) -> Option<&str> {
    let body = after.strip_prefix('[')?;
    let rest = body.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == ':');
    rest.strip_prefix('m')
}

/// The tags after a black flag that make England's, Scotland's and Wales's: all that fonts know.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Tells whether `c` can stand in an emoji sequence. Wider than Unicode's list by some arrows and signs,
/// which costs no more than a joiner between two of them.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{1f000}'..='\u{1faff}' | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{25aa}'..='\u{27bf}'
        | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '©' | '®' | '‼' | '⁉' | '™' | 'ℹ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_shown_or_dropped() {
        for (text, expected) in [
            ("plain\nlines", "plain\nlines"),
            ("a\tb\r\nc\rd", "a    b\nc␍d"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[38:5:1;4mx", "x"),
            ("\u{1b}[2J\u{1b}[Hgone", "␛[2J␛[Hgone"),
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "␛]8;;http://x␛\\link"),
            ("\u{1b}P+q\u{1b}\\", "␛P+q␛\\"),
            ("\u{1b}[31", "␛[31"),
            ("\u{9b}31mx\u{85}", "‹U+009B›31mx‹U+0085›"),
            ("\0\u{8}\u{7f}", "␀␈␡"),
            ("if \u{202e}}} \u{2066}x", "if ‹U+202E›}} ‹U+2066›x"),
            ("pay\u{200b}pal\u{feff}\u{ad}\u{2060}", "paypal"),
            ("a\u{200d}b", "ab"),
            ("👩\u{200d}💻 ❤\u{fe0f}", "👩\u{200d}💻 ❤\u{fe0f}"),
            ("👩\u{200d}", "👩"),
            ("👍🏽", "👍🏽"),
            ("1\u{fe0f}\u{20e3} a\u{fe0f}", "1\u{fe0f}\u{20e3} a"),
            ("x\u{e0068}\u{e0069}y", "xy"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!",
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!",
            ),
            ("🏴\u{e0068}\u{e0069}\u{e007f}", "🏴"),
            ("é e\u{301}", "é e\u{301}"),
            ("中文 한국어 ไทย", "中文 한국어 ไทย"),
        ] {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn heaps_of_marks_are_cut() {
        let heap = format!("z{}", "\u{301}".repeat(100));
        assert_eq!(visible(&heap).chars().count(), 1 + MARKS);
        assert_eq!(visible("\u{301}\u{301}x"), "x");
    }

    #[test]
    fn one_line_stays_one() {
        assert_eq!(visible_line("a\nb\n"), "a ⏎ b");
        assert_eq!(cut("héllo", 2), ("hé", true));
        assert_eq!(cut("hé", 2), ("hé", false));
    }
}
