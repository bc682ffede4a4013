//! Looks for what a request names: the lines that define it, the files that hold it, the files that are called so.

use serde_json::json;

use super::Next;
use super::explore::refused;
use super::prose::{any_of, code, count, figure, found, lines, listed, place, plain, text_lines};
use super::survey::{PATH, counts};
use super::talk::Turn;

/// Files that are counted at most.
const FILES: usize = 500;

pub(super) fn next(turn: &Turn<'_>, words: &[String]) -> Next {
    let end = || report(turn, words);
    let pattern = any_of(words);
    match turn.answered.len() {
        0 => {
            let all = json!({"pattern": pattern, "output_mode": "count", "-i": true, "head_limit": FILES});
            let defines =
                json!({"pattern": defines(&pattern), "output_mode": "content", "-i": true, "head_limit": 20});
            let mut calls = vec![("Grep", all), ("Grep", defines)];
            if let Some(name) = words.first().filter(|word| word.chars().all(char::is_alphanumeric)) {
                calls.push(("Glob", json!({"pattern": format!("**/*{name}*")})));
            }
            turn.act(format!("I look for {}.", named(words)), calls, end)
        }
        1 => {
            let defined = turn.given("Grep", "pattern", &defines(&pattern)).unwrap_or_default();
            let first = lines(defined).filter_map(place).next();
            let calls = match (first, most(turn, &pattern).first()) {
                (Some((path, line, _)), _) => {
                    let from = line.saturating_sub(3).max(1);
                    vec![("Read", json!({"path": path, "offset": from, "limit": 12}))]
                }
                (None, Some((path, _))) => {
                    let input = json!({"pattern": pattern, "path": path, "output_mode": "content", "-i": true, "head_limit": 3});
                    vec![("Grep", input)]
                }
                (None, None) => Vec::new(),
            };
            turn.act("I read round the best place.", calls, end)
        }
        _ => Next::End(end()),
    }
}

fn named(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("“{}”", plain(word, 40))).collect();
    quoted.join(" or ")
}

/// Returns an expression for lines that define something whose name holds `pattern`.
fn defines(pattern: &str) -> String {
    format!(r"\b(fn|struct|enum|trait|class|interface|def|func|function|type|const)\s+\w*({pattern})")
}

/// Returns the files that hold the words, most often first.
fn most<'a>(turn: &Turn<'a>, pattern: &str) -> Vec<(&'a str, u64)> {
    let mut files = turn.given("Grep", "pattern", pattern).map(counts).unwrap_or_default();
    files.sort_by_key(|(path, count)| (std::cmp::Reverse(*count), *path));
    files
}

fn report(turn: &Turn<'_>, words: &[String]) -> String {
    let pattern = any_of(words);
    let (files, named) = (most(turn, &pattern), named(words));
    let (mut answer, mut places, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    if files.is_empty() {
        answer.push(format!("No text file here holds {named}."));
    } else {
        let all: u64 = files.iter().map(|(_, count)| count).sum();
        let most =
            files.iter().take(3).map(|(path, count)| format!("{} ({})", code(path, PATH), figure(*count)));
        let most: Vec<String> = most.collect();
        answer.push(format!(
            "{named} stands in {} of {}, most often in {}.",
            count(usize::try_from(all).unwrap_or(usize::MAX), "line"),
            count(files.len(), "file"),
            listed(&most)
        ));
    }
    let defined = turn.given("Grep", "pattern", &defines(&pattern)).unwrap_or_default();
    let defined: Vec<_> = lines(defined).filter_map(place).collect();
    if let Some((path, line, text)) = defined.first() {
        answer.push(format!("The first definition is {}:{line}: {}.", code(path, PATH), code(text, 120)));
        // What its author says of it stands right above it, in most languages.
        let around = turn.given("Read", "path", path).unwrap_or_default();
        let before: Vec<&str> =
            text_lines(around).take_while(|(number, _)| number < line).map(|(_, text)| text.trim()).collect();
        let above = before.iter().rev().map_while(|text| {
            let said = text.strip_prefix("//").or_else(|| text.strip_prefix('#'))?;
            Some(said.trim_start_matches(['/', '!', '#', ' ']))
        });
        // The first of the comment's lines says what it is; what only marks the next line says nothing.
        if let Some(said) = above.filter(|said| said.contains(' ') && !said.starts_with('[')).last() {
            answer.push(format!("Above it stands: “{}”.", plain(said.trim_end_matches('.'), 160)));
        }
    } else if !files.is_empty() {
        gaps.push(format!("no line looks like a definition of {named}"));
    }
    let called = turn.of("Glob").filter(|seen| !seen.failed).flat_map(|seen| lines(seen.output));
    let called: Vec<&str> = called.collect();
    if !called.is_empty() {
        let first: Vec<String> = called.iter().take(3).map(|path| code(path, PATH)).collect();
        let more = called.len().saturating_sub(first.len());
        let more = if more > 0 { format!(", and {}", count(more, "more file")) } else { String::new() };
        answer.push(format!("Called so: {}{more}.", listed(&first)));
    }
    let hits = turn.of("Grep").filter(|seen| !seen.failed && seen.input["output_mode"] == "content");
    let hits = hits.flat_map(|seen| lines(seen.output)).filter_map(place);
    places.extend(
        hits.take(4).map(|(path, line, text)| format!("{}:{line}: {}", plain(path, PATH), code(text, 80))),
    );
    gaps.extend(refused(turn));
    found(&answer, &places, &gaps)
}
