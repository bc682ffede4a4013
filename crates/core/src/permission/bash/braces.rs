//! Expands `{a,b}` as bash does, so that `deny` sees the words that a command gets.
//!
//! - Asked by `survey.rs`; what is expanded here is never a reason to allow.

use super::nest::{after_back, after_brace, after_double, after_paren, after_single};

/// Words that one word may become; beyond that it is left as written.
const MAX_WORDS: usize = 64;

/// Returns the raw words that the raw word `raw` becomes; `raw` itself when there is nothing to expand.
pub(super) fn expand(raw: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    while let Some(word) = open.pop() {
        match expand_once(&word) {
            Some(words) if open.len() + done.len() + words.len() <= MAX_WORDS => {
                open.extend(words.into_iter().rev());
            }
            _ => done.push(word),
        }
    }
    done
}

/// Expands the first brace that holds a comma at its own level.
fn expand_once(raw: &str) -> Option<Vec<String>> {
    let chars: Vec<char> = raw.chars().collect();
    let bounds = outermost(&chars)?;
    let text = |from: usize, to: usize| chars[from..to].iter().collect::<String>();
    let (start, end) = (*bounds.first()?, *bounds.last()?);
    let (before, after) = (text(0, start), text(end + 1, chars.len()));
    Some(bounds.windows(2).map(|pair| format!("{before}{}{after}", text(pair[0] + 1, pair[1]))).collect())
}

/// Returns where the outermost brace opens, has its commas, and closes.
fn outermost(chars: &[char]) -> Option<Vec<usize>> {
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut found: Option<Vec<usize>> = None;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1);
        match c {
            '\\' => at += 1,
            '\'' => at = after_single(chars, at + 1)? - 1,
            '"' => at = after_double(chars, at + 1)? - 1,
            '`' => at = after_back(chars, at + 1)? - 1,
            '$' if next == Some(&'{') => at = after_brace(chars, at + 2)? - 1,
            '$' if next == Some(&'(') => at = after_paren(chars, at + 2)? - 1,
            '{' => open.push(vec![at]),
            ',' => open.last_mut().into_iter().for_each(|bounds| bounds.push(at)),
            '}' => {
                if let Some(mut bounds) = open.pop().filter(|bounds| bounds.len() > 1) {
                    bounds.push(at);
                    // One that opened earlier stands around the one that was found.
                    if found.as_ref().is_none_or(|found| bounds < *found) {
                        found = Some(bounds);
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_make_words() {
        assert_eq!(expand("{rm,-rf,x}"), ["rm", "-rf", "x"]);
        assert_eq!(expand("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(expand("@{u}"), ["@{u}"]);
        assert_eq!(expand("'{a,b}'"), ["'{a,b}'"]);
        assert_eq!(expand("${x:-a,b}"), ["${x:-a,b}"]);
        assert!(expand(&"{a,b}".repeat(100)).len() <= MAX_WORDS);
    }
}
