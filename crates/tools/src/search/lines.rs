//! What a Grep writes down: files, counts, or lines with their surroundings, within the limit of the call.
//!
//! - Asked by `grep`, file by file.
//! - A line is shown up to 500 characters (mission M8-grep); where its match stands further on, the part around that.

use std::io;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use crate::args::{GrepArgs, OutputMode};

/// Characters of a line that are shown (mission M8-grep).
const LINE: usize = 500;
/// Characters shown before a match that stands too far on.
const LEAD: usize = 100;
/// Bytes of a result, whatever the limit of the call: more reaches no model.
const TEXT: usize = 1_000_000;

/// Whether more can be taken.
#[derive(PartialEq, Eq)]
pub(super) enum Outcome {
    GoOn,
    Full,
}

/// The result so far.
pub(super) struct Lines {
    matcher: RegexMatcher,
    searcher: Searcher,
    mode: OutputMode,
    numbers: bool,
    limit: Option<usize>,
    text: String,
    /// Results in `text`: files, counts or lines.
    count: usize,
    full: bool,
}

impl Lines {
    pub(super) fn new(args: &GrepArgs, matcher: RegexMatcher) -> Self {
        let content = args.mode == OutputMode::Content;
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .bom_sniffing(false)
            .before_context(if content { args.before } else { 0 })
            .after_context(if content { args.after } else { 0 })
            .build();
        Self {
            matcher,
            searcher,
            mode: args.mode,
            numbers: args.numbers,
            limit: args.head_limit,
            text: String::new(),
            count: 0,
            full: false,
        }
    }

    /// Searches one file, called `name` in the result.
    pub(super) fn search(&mut self, name: &str, bytes: &[u8]) -> Outcome {
        let (matcher, mut searcher) = (self.matcher.clone(), self.searcher.clone());
        let separated =
            self.mode == OutputMode::Content && searcher.before_context() + searcher.after_context() > 0;
        let mut file = File { lines: self, matcher: &matcher, name, matched: 0, apart: separated };
        // Nothing in memory can fail; a sink that has enough says so by itself.
        let searched = searcher.search_slice(&matcher, bytes, &mut file);
        debug_assert!(searched.is_ok(), "{searched:?}");
        let matched = file.matched;
        match self.mode {
            OutputMode::Files if matched > 0 => self.add(name),
            OutputMode::Count if matched > 0 => self.add(&format!("{name}:{matched}")),
            _ => {}
        }
        if self.full { Outcome::Full } else { Outcome::GoOn }
    }

    /// Returns the note on what was left out, if anything was.
    pub(super) fn cut(&self) -> Option<String> {
        let what = if self.mode == OutputMode::Content { "lines" } else { "files" };
        self.full.then(|| {
            format!(
                "cut after {} {what}; there are more: narrow the search, or set head_limit (0 = all)",
                self.count
            )
        })
    }

    /// Returns everything that was written down.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Writes one result down; returns whether there was room.
    fn add(&mut self, line: &str) {
        if self.limit.is_some_and(|limit| self.count >= limit) || self.text.len() + line.len() > TEXT {
            self.full = true;
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.count += 1;
    }
}

/// One file while it is searched.
struct File<'a> {
    lines: &'a mut Lines,
    matcher: &'a RegexMatcher,
    name: &'a str,
    /// Lines that match.
    matched: usize,
    /// Whether a line that says "something was left out" comes before the next.
    apart: bool,
}

impl File<'_> {
    /// Writes down one line; `mark` tells a match (`:`) from its surroundings (`-`).
    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8], shown: String) -> bool {
        debug_assert!(shown.len() <= bytes.len().saturating_mul(3) + 8);
        if std::mem::take(&mut self.apart) && !self.lines.text.is_empty() && !self.lines.full {
            let room = self.lines.limit.is_none_or(|limit| self.lines.count < limit);
            if room {
                self.lines.text.push_str("\n--");
            }
        }
        let line = match number.filter(|_| self.lines.numbers) {
            Some(number) => format!("{}{mark}{number}{mark}{shown}", self.name),
            None => format!("{}{mark}{shown}", self.name),
        };
        self.lines.add(&line);
        !self.lines.full
    }
}

impl Sink for File<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matched += 1;
        Ok(match self.lines.mode {
            OutputMode::Files => false,
            OutputMode::Count => true,
            OutputMode::Content => {
                let bytes = without_end(found.bytes());
                let at = self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start());
                self.line(':', found.line_number(), bytes, cut(bytes, at))
            }
        })
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let bytes = without_end(context.bytes());
        Ok(self.line('-', context.line_number(), bytes, cut(bytes, 0)))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.apart = true;
        Ok(true)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns at most [`LINE`] characters of a line, from its start or, where the match at byte `at` stands further on, from
/// shortly before it.
fn cut(line: &[u8], at: usize) -> String {
    let text = String::from_utf8_lossy(line);
    // As many bytes are at least as many characters.
    if line.len() <= LINE {
        return text.into_owned();
    }
    let before = line.get(..at).map_or(0, |before| String::from_utf8_lossy(before).chars().count());
    let from = if before < LINE { 0 } else { before - LEAD };
    let mut rest = text.chars().skip(from);
    let mut shown: String = if from > 0 { "…".to_owned() } else { String::new() };
    shown.extend(rest.by_ref().take(LINE));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_where_it_matters() {
        let line = format!("{}needle{}", "é".repeat(1000), "x".repeat(1000));
        assert_eq!(cut(line.as_bytes(), 0), format!("{}…", "é".repeat(500)));
        let shown = cut(line.as_bytes(), 2000);
        assert_eq!(shown.chars().count(), LINE + 2);
        assert!(shown.starts_with("…é") && shown.contains("needle") && shown.ends_with('…'));
        let exact = "é".repeat(500);
        assert_eq!(cut(exact.as_bytes(), 998), exact);
    }
}
