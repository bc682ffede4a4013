//! Words that are secrets by their form: tokens of known services, signed tokens, long random words.

use std::ops::Range;

use super::{has_digit, is_of_word};

/// How tokens of services begin, and how many characters follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("whsec_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("glrt-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxr-", 16),
    ("xoxs-", 16),
    ("xapp-", 16),
    ("AIza", 30),
    ("npm_", 30),
    ("pypi-", 40),
    ("hf_", 24),
    ("gsk_", 24),
    ("xai-", 24),
    ("pplx-", 24),
    ("dop_v1_", 40),
    ("shpat_", 24),
    ("lin_api_", 24),
    ("tskey-", 20),
    ("AGE-SECRET-KEY-1", 40),
];

/// Lengths of a random word. A longer one is data, such as a picture in text form.
const RANDOM: std::ops::RangeInclusive<usize> = 32..=512;

/// Returns what is to be masked of the word at `word`, when its form says so.
pub(super) fn at(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let it = &text[word.clone()];
    if is_of_service(it) || is_amazon(it) {
        return Some(word);
    }
    if let Some(end) = signed(text, &word) {
        return Some(word.start..end);
    }
    // Base 64 has two signs more, which words of names have not.
    let bytes = text.as_bytes();
    let joins = |byte: u8| is_of_word(byte) || matches!(byte, b'+' | b'/');
    if word.start > 0 && joins(bytes[word.start - 1]) {
        return None; // Seen with its first part.
    }
    let len = bytes[word.start..].iter().position(|&byte| !joins(byte)).unwrap_or(text.len() - word.start);
    let end = word.start + len;
    let filled = end + bytes[end..].iter().take(2).take_while(|&&byte| byte == b'=').count();
    is_random(&text[word.start..end]).then_some(word.start..filled)
}

fn is_of_service(word: &str) -> bool {
    let long = |(prefix, more): &(&str, usize)| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= *more && has_digit(rest))
    };
    PREFIXES.iter().any(long)
}

/// Tells whether a word is the id of an access key.
fn is_amazon(word: &str) -> bool {
    let rest = word.strip_prefix("AKIA").or_else(|| word.strip_prefix("ASIA"));
    rest.is_some_and(|rest| {
        rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    })
}

/// Returns the end of a JSON web token that begins with `word`: two objects in base 64, and what signs them.
fn signed(text: &str, word: &Range<usize>) -> Option<usize> {
    let part = |at: usize| {
        let len = text[at..].bytes().take_while(|&byte| is_of_word(byte)).count();
        &text[at..at + len]
    };
    let is_object = |part: &str| part.starts_with("eyJ") && part.len() >= 10;
    if !is_object(&text[word.clone()]) || !text[word.end..].starts_with('.') {
        return None;
    }
    let second = part(word.end + 1);
    let end = word.end + 1 + second.len();
    if !is_object(second) {
        return None;
    }
    Some(if text[end..].starts_with('.') { end + 1 + part(end + 1).len() } else { end })
}

/// Tells whether a word looks like random letters of both cases and digits. A hash in hexadecimal digits is none.
fn is_random(word: &str) -> bool {
    if !RANDOM.contains(&word.len())
        || ["sha1-", "sha256-", "sha384-", "sha512-"].iter().any(|hash| word.starts_with(hash))
    {
        return false;
    }
    let parts = word.split(['/', '_', '+', '-']);
    let Some(part) = parts.max_by_key(|part| part.len()).filter(|part| part.len() >= 16) else {
        return false;
    };
    let classes: Vec<u8> = part.bytes().map(class).collect();
    let changes = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let digits = classes.windows(2).filter(|pair| pair[0] != 2 && pair[1] == 2).count();
    let syllables: usize = classes
        .chunk_by(|a, b| a == b)
        .filter(|run| run[0] == 0)
        .map(<[u8]>::len)
        .filter(|&len| len > 2)
        .sum();
    // Of random neighbours 62 in 100 are of different classes, and 16 in 100 letters stand in three small ones or more. In
    // a name in CamelCase it is 45 and 40.
    let is_mixed = changes * 100 >= part.len() * 45 && syllables * 100 <= part.len() * 30;
    (0..=2).all(|class| classes.contains(&class)) && digits >= 2 && is_mixed
}

fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    }
}
