//! A tolerant splitter: finds commands in a line that the grammars do not take.
//!
//! - Asked by `survey.rs` for what `deny` and `ask` have to see in lines that are not valid; what it finds
//!   is never a reason to allow.
//! - Goes through the text once, keeps no stack, and rather takes too much for a command than too little.

use super::nest::{
    after_ansi, after_back, after_brace, after_double, after_paren, after_single, starts_comment,
};
use super::outline::{Outline, Part};

/// Words that stand in front of a command without being one.
const KEYWORDS: &[&str] = &[
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "select", "case",
    "esac", "{", "}", "!", "function", "coproc",
];

/// A here-document whose body has not come yet.
struct Awaited {
    mark: String,
    is_literal: bool,
    strips_tabs: bool,
}

/// Returns the words of `text`, which is one simple command; `None` when it is more than that.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let chars: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        match c {
            ' ' | '\t' => at += 1,
            '\\' if chars.get(at + 1) == Some(&'\n') => at += 2,
            '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
            _ => {
                let end = after_word(&chars, at);
                words.push(chars[at..end].iter().collect());
                at = end;
            }
        }
    }
    Some(words)
}

/// Reads `line` as well as it can be read.
pub(super) fn read(line: &str) -> Outline {
    let chars: Vec<char> = line.chars().collect();
    let mut out = Outline::default();
    let mut part = Part::default();
    let mut awaited: Vec<Awaited> = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        match c {
            ' ' | '\t' | '\r' => at += 1,
            '\\' if chars.get(at + 1) == Some(&'\n') => at += 2,
            '\n' => {
                at += 1;
                for document in awaited.drain(..) {
                    at = read_document(&chars, at, &document, &mut part, &mut out);
                }
                close(&mut part, &mut out);
            }
            ';' | '|' | '(' | ')' => {
                at += 1;
                close(&mut part, &mut out);
            }
            '&' if chars.get(at + 1) == Some(&'>') => {
                at = read_redirect(&chars, at + 1, &mut part, &mut out, &mut awaited)
            }
            '&' => {
                at += 1;
                close(&mut part, &mut out);
            }
            '#' if starts_comment(&chars, at) => {
                while chars.get(at).is_some_and(|&c| c != '\n') {
                    at += 1;
                }
            }
            '<' | '>' if chars.get(at + 1) != Some(&'(') => {
                at = read_redirect(&chars, at, &mut part, &mut out, &mut awaited);
            }
            _ => {
                let end = after_word(&chars, at);
                let raw: String = chars[at..end].iter().collect();
                let is_descriptor =
                    raw.bytes().all(|b| b.is_ascii_digit()) && matches!(chars.get(end), Some('<' | '>'));
                if raw == "{" {
                    // In a line that is not valid it may begin the body of a function.
                    close(&mut part, &mut out);
                } else if !(is_descriptor || part.words.is_empty() && KEYWORDS.contains(&raw.as_str())) {
                    out.add(&mut part, &raw);
                }
                at = end;
            }
        }
    }
    close(&mut part, &mut out);
    out.mark("a line that is not valid");
    out
}

fn close(part: &mut Part, out: &mut Outline) {
    let part = std::mem::take(part);
    if !part.words.is_empty() || !part.feeds.is_empty() {
        out.parts.push(part);
    }
}

/// Returns the index after the word that begins at `at`. An open quote takes the rest of the text.
fn after_word(chars: &[char], from: usize) -> usize {
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        let end = match c {
            '\\' => Some(at + 2),
            '\'' => after_single(chars, at + 1),
            '"' => after_double(chars, at + 1),
            '`' => after_back(chars, at + 1),
            '$' if next == Some('\'') => after_ansi(chars, at + 2),
            '$' if next == Some('(') => after_paren(chars, at + 2),
            '$' if next == Some('{') => after_brace(chars, at + 2),
            '<' | '>' if next == Some('(') => after_paren(chars, at + 2),
            ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
            _ => Some(at + 1),
        };
        at = end.unwrap_or(chars.len());
    }
    // Every caller has to move on, also from a character that is no word.
    at.max(from + 1).min(chars.len())
}

/// Reads a redirection whose first character is at `at`; returns the index after its target.
fn read_redirect(
    chars: &[char],
    mut at: usize,
    part: &mut Part,
    out: &mut Outline,
    awaited: &mut Vec<Awaited>,
) -> usize {
    let from = at;
    while matches!(chars.get(at), Some('<' | '>' | '&' | '|' | '-')) && at - from < 3 {
        // `>&-` and `<<-` are whole marks; a `-` after `>` begins a name.
        if chars[at] == '-' && !(chars[from..at] == ['<', '<'] || chars.get(at.wrapping_sub(1)) == Some(&'&'))
        {
            break;
        }
        at += 1;
    }
    let mark: String = chars[from..at].iter().collect();
    while matches!(chars.get(at), Some(' ' | '\t')) {
        at += 1;
    }
    if chars.get(at).is_none_or(|c| matches!(c, '\n' | ';' | '&' | '|' | '(' | ')')) {
        return at;
    }
    if matches!(chars.get(at), Some('<' | '>')) && chars.get(at + 1) != Some(&'(') {
        return at;
    }
    let end = after_word(chars, at);
    let raw: String = chars[at..end].iter().collect();
    match mark.as_str() {
        "<<" | "<<-" => {
            let is_literal = raw.contains(['\'', '"', '\\']);
            let mark_text: String = raw.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
            awaited.push(Awaited { mark: mark_text, is_literal, strips_tabs: mark == "<<-" });
        }
        "<<<" => {
            let word = super::word::Word::read(&raw);
            out.note(&word);
            part.feeds.push(word.text.to_string());
        }
        "<" => out.add_goal(&raw, false),
        "<&" => out.add_copy(&raw, false),
        ">&" => out.add_copy(&raw, true),
        _ => out.add_goal(&raw, true),
    }
    end
}

fn read_document(
    chars: &[char],
    mut at: usize,
    document: &Awaited,
    part: &mut Part,
    out: &mut Outline,
) -> usize {
    let mut body = String::new();
    while at < chars.len() {
        let end = chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n);
        let line: String = chars[at..end].iter().collect();
        at = (end + 1).min(chars.len());
        let line = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
        if line == document.mark {
            break;
        }
        body.push_str(line);
        body.push('\n');
    }
    out.add_document(part, &body, !document.is_literal);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(line: &str) -> Vec<String> {
        read(line)
            .parts
            .iter()
            .map(|part| part.words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn commands_are_found_in_lines_that_are_not_valid() {
        for (line, expect) in [
            ("a b; c && d | e & f", vec!["a b", "c", "d", "e", "f"]),
            ("if a; then b; fi", vec!["a", "b"]),
            ("echo 'a ; b' c", vec!["echo a ; b c"]),
            ("a\nb 'c", vec!["a", "b "]),
            ("(a) b", vec!["a", "b"]),
            ("a # b\nc", vec!["a", "c"]),
            ("a 2>&1 >f b; > g", vec!["a b"]),
            ("cat <<E && b\nrm x\nE\nc", vec!["cat", "b", "c"]),
            ("a ) ) b", vec!["a", "b"]),
        ] {
            assert_eq!(commands(line), expect, "{line}");
        }
        assert_eq!(read("a >f 2>>g &>h <i").goals.iter().filter(|goal| goal.write).count(), 3);
        assert_eq!(read("echo `rm x` $(rm y)").bodies, ["rm x", "rm y"]);
    }

    #[test]
    fn one_command_is_split_into_words() {
        assert_eq!(words("[ -f 'a b' ]"), Some(vec!["[".into(), "-f".into(), "'a b'".into(), "]".into()]));
        assert_eq!(words("a; b"), None);
    }
}
