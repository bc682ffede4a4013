//! The body of AGENT.md: its sections by their Markdown titles (mission M20.1-body, M20.1b-comments).

use maia_protocol::definition::Sections;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::fault::Fault;
use super::split::number;

/// A section that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Instructions,
    Missions,
    Constraints,
    Output,
}

impl Section {
    const ALL: [Self; 4] = [Self::Instructions, Self::Missions, Self::Constraints, Self::Output];

    fn key(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Missions => "missions",
            Self::Constraints => "constraints",
            Self::Output => "output",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Instructions => "Instructions system",
            Self::Missions => "Missions",
            Self::Constraints => "Constraints",
            Self::Output => "Output",
        }
    }
}

/// A line of the body, without its HTML comments.
struct Line {
    number: u32,
    text: String,
    /// Inside a code fence, or its mark.
    code: bool,
}

/// Reads the sections; `first` is the number of the body's first line.
pub(super) fn read(lines: &[&str], first: u32, warnings: &mut Vec<Fault>) -> Result<Sections, Fault> {
    let (lines, open_fence) = visible(lines, first);
    let mut found: [Option<(u32, String)>; 4] = [None, None, None, None];
    let mut current: Option<(Section, usize)> = None;
    let mut skip = false;
    for (at, line) in lines.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        let heading = if line.code { None } else { heading(&line.text) };
        let heading = heading.or_else(|| {
            let underlined = underlined(&lines, at)?;
            skip = true;
            Some(underlined)
        });
        if let Some((level, title)) = heading {
            if let Some(section) = section(&title) {
                current = Some((section, level));
                let slot = &mut found[section as usize];
                match slot {
                    Some((earlier, text)) => {
                        text.truncate(text.trim_end().len());
                        text.push_str("\n\n");
                        let message = format!(
                            "the section {} is already on line {earlier}: the texts are joined",
                            section.title()
                        );
                        warnings.push(
                            Fault::new(format!("duplicate_section:{}", section.key()), message)
                                .on_line(line.number),
                        );
                    }
                    None => *slot = Some((line.number, String::new())),
                }
                continue;
            }
            if current.is_some_and(|(_, of)| level <= of) {
                current = None;
            }
        }
        if let Some((section, _)) = current
            && let Some((_, text)) = &mut found[section as usize]
        {
            text.push_str(&line.text);
            text.push('\n');
        }
    }
    let mut texts = Vec::new();
    for (section, slot) in Section::ALL.into_iter().zip(found) {
        let line = slot.as_ref().map(|(line, _)| *line);
        let text = slot.map(|(_, text)| text.trim().to_owned()).filter(|text| !text.is_empty());
        if text.is_none() && section != Section::Constraints {
            return Err(missing(section, line, open_fence, first));
        }
        texts.push(text);
    }
    let mut texts = texts.into_iter();
    let mut next = || texts.next().flatten();
    Ok(Sections {
        instructions: next().unwrap_or_default(),
        missions: next().unwrap_or_default(),
        constraints: next(),
        output: next().unwrap_or_default(),
    })
}

fn missing(section: Section, line: Option<u32>, open_fence: Option<u32>, first: u32) -> Fault {
    let title = section.title();
    let message = match (line, open_fence) {
        (Some(_), _) => format!("the section {title} is empty: write its text below the title"),
        (None, Some(fence)) => {
            format!(
                "there is no section {title}; the code fence of line {fence} is never closed, and hides titles below it"
            )
        }
        (None, None) => format!("there is no section {title}: add a line `## {title}` and its text"),
    };
    let place = line.or(open_fence).unwrap_or(first);
    Fault::new(format!("section_missing:{}", section.key()), message).on_line(place)
}

/// Takes HTML comments out and marks what is code; also returns the line of a fence that is never closed.
///
/// What stands in a code fence or between backticks is text of the agent and stays, comments too. A comment that is
/// never closed is text as well: it would swallow the sections below.
fn visible(lines: &[&str], first: u32) -> (Vec<Line>, Option<u32>) {
    let mut result: Vec<Line> = Vec::new();
    let mut fence: Option<(char, usize, u32)> = None;
    let last_close = lines.iter().rposition(|line| line.contains("-->"));
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let number = first.saturating_add(number(at));
        let mark = fence_mark(line);
        if let Some((c, length, _)) = fence {
            let closes = mark.is_some_and(|(d, n, info)| d == c && n >= length && info.trim().is_empty());
            if closes {
                fence = None;
            }
            result.push(Line { number, text: (*line).to_owned(), code: true });
            at += 1;
            continue;
        }
        if let Some((c, length, _)) = mark {
            fence = Some((c, length, number));
            result.push(Line { number, text: (*line).to_owned(), code: true });
            at += 1;
            continue;
        }
        let mut text = String::new();
        let mut rest = *line;
        while let Some(start) = comment_start(rest) {
            let inside = rest.get(start + 4..).unwrap_or_default();
            if let Some(length) = inside.find("-->") {
                text.push_str(rest.get(..start).unwrap_or_default());
                rest = inside.get(length + 3..).unwrap_or_default();
                continue;
            }
            if last_close.is_none_or(|close| close <= at) {
                break;
            }
            text.push_str(rest.get(..start).unwrap_or_default());
            at += 1;
            while let Some(line) = lines.get(at) {
                if let Some(length) = line.find("-->") {
                    rest = line.get(length + 3..).unwrap_or_default();
                    break;
                }
                at += 1;
            }
        }
        text.push_str(rest);
        result.push(Line { number, text, code: false });
        at += 1;
    }
    (result, fence.map(|(_, _, line)| line))
}

/// Finds the `<!--` of a comment, not one between backticks.
fn comment_start(text: &str) -> Option<usize> {
    text.find("<!--")?;
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let comment = rest.find("<!--")?;
        let Some(tick) = rest.get(..comment).and_then(|before| before.find('`')) else {
            return Some(at + comment);
        };
        let run: String = rest.get(tick..)?.chars().take_while(|c| *c == '`').collect();
        let after = at + tick + run.len();
        at = match closing_run(text.get(after..)?, run.len()) {
            Some(end) => after + end,
            None => after,
        };
    }
    None
}

/// Returns the end of the first run of exactly `length` backticks.
fn closing_run(text: &str, length: usize) -> Option<usize> {
    let mut run = 0;
    for (at, c) in text.char_indices() {
        if c == '`' {
            run += 1;
        } else {
            if run == length {
                return Some(at);
            }
            run = 0;
        }
    }
    (run == length).then_some(text.len())
}

/// Reads the mark of a code fence: its character, its length, and what follows it.
fn fence_mark(line: &str) -> Option<(char, usize, &str)> {
    let text = unindented(line)?;
    let c = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|d| *d == c).count();
    let info = text.get(length..)?;
    (length >= 3 && !(c == '`' && info.contains('`'))).then_some((c, length, info))
}

/// Takes up to three spaces off; deeper is code in Markdown.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3 && !text.starts_with('\t')).then_some(text)
}

/// Reads `## Title`: its level and its text.
fn heading(line: &str) -> Option<(usize, String)> {
    let text = unindented(line)?;
    let level = text.chars().take_while(|c| *c == '#').count();
    let title = text.get(level..)?;
    let spaced = title.is_empty() || title.starts_with([' ', '\t']);
    if !(1..=6).contains(&level) || !spaced {
        return None;
    }
    let title = title.trim();
    let bare = title.trim_end_matches('#');
    let closed = bare.is_empty() || bare.ends_with([' ', '\t']);
    Some((level, if closed { bare.trim_end() } else { title }.to_owned()))
}

/// Reads a known title that the next line underlines. Others stay text: a rule below a paragraph is more frequent.
fn underlined(lines: &[Line], at: usize) -> Option<(usize, String)> {
    let (line, below) = (lines.get(at)?, lines.get(at + 1)?);
    let level = match below.text.trim() {
        marks if marks.len() >= 3 && marks.chars().all(|c| c == '=') => 1,
        marks if marks.len() >= 3 && marks.chars().all(|c| c == '-') => 2,
        _ => return None,
    };
    let title = unindented(&line.text).filter(|title| !line.code && section(title).is_some())?;
    let alone =
        at.checked_sub(1).and_then(|before| lines.get(before)).is_none_or(|line| line.text.trim().is_empty());
    alone.then(|| (level, title.to_owned()))
}

/// Recognises a title: case, accents, emphasis, a final colon and a final parenthesis do not count.
fn section(title: &str) -> Option<Section> {
    let plain: String = title.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect();
    let edges = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | ':');
    let mut plain = plain.trim_matches(edges);
    if plain.ends_with(')') {
        plain = plain.get(..opening(plain)?).unwrap_or_default().trim_matches(edges);
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    match words.join(" ").as_str() {
        "instructions system" | "instructions systeme" => Some(Section::Instructions),
        "missions" => Some(Section::Missions),
        "constraints" | "contraintes" => Some(Section::Constraints),
        "output" => Some(Section::Output),
        _ => None,
    }
}

/// Finds the parenthesis that the last one of `text` closes.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 1 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
    }
    None
}
