//! Explorers, and every agent that has no part of its own: looks round in the folder, or at its sources.
//!
//! - What is read next is chosen from what came back: the README and the manifest that are there, the longest sources.
//! - Where the request names something, it is looked for instead ([`super::find`]).

use serde_json::json;

use super::prose::{code, count, figure, found, lines, listed, place, plain, text_lines, why, words};
use super::survey::{self, PATH, SOURCES, Survey, counts};
use super::talk::Turn;
use super::{Next, find, lead};

/// Comments that carry a mark of unfinished work.
const MARKS: &str = r"(?://|#|--|/\*|<!--|;|%).*\b(?:TODO|FIXME|XXX|HACK)\b";
/// Lines that begin a function or a type, in most languages.
const DEFINES: &str = r"^\s*(?:(?:pub(?:\([a-z]+\))?|export|default|public|private|protected|internal|static|abstract|final|async|unsafe|const)\s+)*(?:fn|struct|enum|trait|class|interface|def|func|function|type|module|object)\s+[A-Za-z_(]";
/// Bytes of a README's beginning that two sentences may have.
const SAID: usize = 240;
/// Manifests by name, and what they are for.
const MANIFESTS: &[(&str, &str)] = &[
    ("Cargo.toml", "Rust"),
    ("package.json", "JavaScript"),
    ("pyproject.toml", "Python"),
    ("setup.py", "Python"),
    ("requirements.txt", "Python"),
    ("go.mod", "Go"),
    ("pom.xml", "Java"),
    ("build.gradle", "Java"),
    ("Gemfile", "Ruby"),
    ("composer.json", "PHP"),
    ("mix.exs", "Elixir"),
    ("CMakeLists.txt", "C or C++"),
    ("Makefile", "make"),
];

pub(super) fn next(turn: &Turn<'_>) -> Next {
    if turn.request.starts_with(lead::CODE) {
        return sources(turn);
    }
    let words = if turn.request.starts_with(lead::LAYOUT) { Vec::new() } else { words(turn.request) };
    if words.is_empty() { layout(turn) } else { find::next(turn, &words) }
}

/// Looks round: what lies at the top, how much there is, what README and manifest say.
pub(super) fn layout(turn: &Turn<'_>) -> Next {
    let end = || layout_report(turn);
    match turn.answered.len() {
        0 if !turn.has("Glob") && !turn.has("Grep") && turn.has("Bash") && !turn.has("Read") => {
            turn.act("I look at what is here.", vec![("Bash", json!({"command": "ls -A"}))], end)
        }
        0 if !turn.has("Glob") => {
            let readme = ("Read", json!({"path": "README.md", "limit": 60}));
            turn.act("I begin with the README.", vec![survey::call(None), readme], end)
        }
        0 => {
            let top = ("Glob", json!({"pattern": "*"}));
            turn.act(
                "I look at the top of the folder and count what is in it.",
                vec![top, survey::call(None)],
                end,
            )
        }
        1 => {
            let top = top(turn);
            let mut calls = Vec::new();
            if let Some(readme) = readme(&top) {
                calls.push(("Read", json!({"path": readme, "limit": 60})));
            }
            if let Some((manifest, _)) = manifest(&top) {
                calls.push(("Read", json!({"path": manifest, "limit": 60})));
            }
            if let Some((longest, _)) = surveyed(turn).longest.first().filter(|_| calls.is_empty()) {
                calls.push(("Read", json!({"path": longest, "limit": 10})));
            }
            let names: Vec<String> =
                calls.iter().filter_map(|(_, input)| Some(code(input["path"].as_str()?, PATH))).collect();
            turn.act(format!("Now I read {}.", listed(&names)), calls, end)
        }
        _ => Next::End(end()),
    }
}

fn top<'a>(turn: &Turn<'a>) -> Vec<&'a str> {
    turn.given("Glob", "pattern", "*").map(|output| lines(output).collect()).unwrap_or_default()
}

fn surveyed<'a>(turn: &Turn<'a>) -> Survey<'a> {
    turn.given("Grep", "pattern", "^").map(Survey::read).unwrap_or_default()
}

fn readme<'a>(top: &[&'a str]) -> Option<&'a str> {
    let named = |name: &&&str| name.to_lowercase().starts_with("readme");
    let exact = top.iter().find(|name| **name == "README.md");
    exact.or_else(|| top.iter().find(named)).copied()
}

/// Returns the manifest of the project, and what it is for.
pub(super) fn manifest(top: &[&str]) -> Option<(&'static str, &'static str)> {
    MANIFESTS.iter().find(|(name, _)| top.contains(name)).copied()
}

fn layout_report(turn: &Turn<'_>) -> String {
    let (mut answer, mut places, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    let (top, survey) = (top(turn), surveyed(turn));
    let readme = readme(&top).unwrap_or("README.md");
    match turn.given("Read", "path", readme).map(opening) {
        Some((title, said)) => {
            let title = title.map(|(line, title)| {
                places.push(format!("{}:{line}: {}", plain(readme, PATH), code(title, 80)));
                format!(" is called “{}”", plain(title.trim_start_matches(['#', ' ', '=']), 80))
            });
            let said = (!said.is_empty()).then(|| format!(" says: “{said}”"));
            let both: Vec<String> = title.into_iter().chain(said).collect();
            if !both.is_empty() {
                answer.push(format!("{}{}.", code(readme, PATH), both.join(" and")));
            }
        }
        None => gaps.push("there is no README at the top".to_owned()),
    }
    if survey.files > 0 {
        answer.push(survey.kinds("text file"));
        answer.extend(survey.places());
    }
    if let Some((manifest, language)) = manifest(&top) {
        let name = turn.given("Read", "path", manifest).and_then(project);
        let named = name.map(|name| format!(", which names it “{name}”")).unwrap_or_default();
        answer.push(format!("It is built with {language}: {}{named}.", code(manifest, PATH)));
        if let Some((line, text)) = turn
            .given("Read", "path", manifest)
            .and_then(|output| text_lines(output).find(|(_, text)| !text.trim().is_empty()))
        {
            places.push(format!("{manifest}:{line}: {}", code(text, 80)));
        }
    }
    for (path, lines) in survey.longest.iter().take(2) {
        places.push(format!("{}:1: one of the longest files, {} lines", plain(path, PATH), figure(*lines)));
    }
    if let Some(listing) = turn.of("Bash").find(|seen| !seen.failed) {
        let names: Vec<String> = lines(listing.output).take(8).map(|name| code(name, 40)).collect();
        answer.push(format!("A listing begins with {}.", listed(&names)));
    }
    if answer.is_empty() {
        answer.push("There is nothing here that I can see.".to_owned());
        gaps = vec!["the folder is empty, or holds only what searches leave out".to_owned()];
    }
    gaps.extend(refused(turn));
    found(&answer, &places, &gaps)
}

/// Returns a line for each call that gave an error.
pub(super) fn refused(turn: &Turn<'_>) -> Vec<String> {
    let failed = turn.answered.iter().flatten().filter(|seen| seen.failed);
    failed.take(3).map(|seen| format!("{} gave nothing: {}", seen.name, why(seen.output))).collect()
}

/// Returns the first title of a README with its line, and the beginning of its first paragraph.
fn opening(output: &str) -> (Option<(u64, &str)>, String) {
    let (mut title, mut said) = (None, String::new());
    for (number, line) in text_lines(output) {
        let line = line.trim();
        let is_picture = line.starts_with(['<', '!']) || line.starts_with("[![") || line.starts_with(".. ");
        let is_rule = line.chars().all(|c| matches!(c, '=' | '-' | '*' | '`' | '~' | ' '));
        if title.is_none() && !line.is_empty() && !is_picture && !is_rule {
            title = Some((number, line));
        } else if line.starts_with('#') || is_picture || is_rule || line.is_empty() {
            if !said.is_empty() {
                break;
            }
        } else {
            said.push_str(line);
            said.push(' ');
        }
    }
    let said = plain(&without_links(&said), 400);
    // Two sentences where they are short, else the first, where it ends.
    let ends: Vec<usize> = said.match_indices(". ").map(|(at, _)| at).take(2).collect();
    let short = ends.get(1).copied().or(Some(said.len())).filter(|end| *end <= SAID);
    let end = short.or(ends.first().copied()).unwrap_or(said.len());
    (title, said.get(..end).unwrap_or(&said).trim_end_matches('.').to_owned())
}

/// Returns Markdown without the addresses of its links and without stress.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.replace(['[', '*'], "").replace("]", "")
}

/// Returns the name that a manifest gives its project.
fn project(output: &str) -> Option<String> {
    text_lines(output).find_map(|(_, line)| {
        let line = line.trim();
        if let Some(module) = line.strip_prefix("module ") {
            return Some(plain(module, 60));
        }
        let value = line.strip_prefix("name")?.trim_start().strip_prefix('=');
        let value = value.or_else(|| line.strip_prefix("\"name\"")?.trim_start().strip_prefix(':'))?;
        Some(plain(value.trim_matches([' ', '"', '\'', ',']), 60))
    })
}

/// Looks at the sources: the longest ones, what they define, marks of unfinished work.
fn sources(turn: &Turn<'_>) -> Next {
    let end = || sources_report(turn);
    match turn.answered.len() {
        0 => {
            let marks = json!({"pattern": MARKS, "output_mode": "content", "head_limit": 200});
            let defines =
                json!({"pattern": DEFINES, "output_mode": "count", "glob": SOURCES, "head_limit": 2000});
            let calls = vec![survey::call(Some(SOURCES)), ("Grep", defines), ("Grep", marks)];
            turn.act("I count the sources, what they define, and marks of unfinished work.", calls, end)
        }
        1 => {
            let survey = surveyed(turn);
            let longest: Vec<&str> = survey.longest.iter().take(2).map(|(path, _)| *path).collect();
            let mut calls = Vec::new();
            for path in &longest {
                calls.push(("Read", json!({"path": path, "limit": 25})));
                let defines =
                    json!({"pattern": DEFINES, "path": path, "output_mode": "content", "head_limit": 3});
                calls.push(("Grep", defines));
            }
            let names: Vec<String> = longest.iter().map(|path| code(path, PATH)).collect();
            turn.act(format!("The longest are {}: I read how they begin.", listed(&names)), calls, end)
        }
        _ => Next::End(end()),
    }
}

fn sources_report(turn: &Turn<'_>) -> String {
    let (mut answer, mut places) = (Vec::new(), Vec::new());
    let survey = surveyed(turn);
    let defined = turn.given("Grep", "pattern", DEFINES).map(counts).unwrap_or_default();
    if survey.files == 0 {
        answer.push("I found no source code of a language that I know.".to_owned());
    } else {
        let sum: u64 = defined.iter().map(|(_, count)| count).sum();
        answer.push(format!(
            "{} with {} define {}.",
            count(survey.files, "source file"),
            count(usize::try_from(survey.lines).unwrap_or(usize::MAX), "line"),
            count(usize::try_from(sum).unwrap_or(usize::MAX), "function or type")
                .replace("function or types", "functions and types")
        ));
        let longest: Vec<String> = survey
            .longest
            .iter()
            .take(3)
            .map(|(path, lines)| format!("{} ({} lines)", code(path, PATH), figure(*lines)))
            .collect();
        let one = longest.len() == 1;
        answer.push(format!("The longest {} {}.", if one { "is" } else { "are" }, listed(&longest)));
    }
    let said = survey.longest.iter().take(2).find_map(|(path, _)| {
        let says = turn.given("Read", "path", path).and_then(comment)?;
        Some(format!("{} says of itself: “{says}”.", code(path, PATH)))
    });
    answer.extend(said);
    let marks = turn.given("Grep", "pattern", MARKS).unwrap_or_default();
    let marks: Vec<_> = lines(marks).filter_map(place).collect();
    answer.push(match marks.as_slice() {
        [] => "No line carries a mark such as TODO or FIXME.".to_owned(),
        [(path, line, text)] => {
            format!(
                "One line carries a mark of unfinished work, {}:{line}: {}.",
                code(path, PATH),
                code(text, 100)
            )
        }
        [(path, line, _), ..] => {
            let many = if marks.len() >= 200 { "At least " } else { "" };
            format!(
                "{many}{} carry a mark such as TODO or FIXME, the first at {}:{line}.",
                count(marks.len(), "line"),
                code(path, PATH)
            )
        }
    });
    places.extend(
        marks
            .iter()
            .take(2)
            .map(|(path, line, text)| format!("{}:{line}: {}", plain(path, PATH), code(text, 80))),
    );
    for (path, _) in survey.longest.iter().take(2) {
        let defines = turn.given("Grep", "path", path).unwrap_or_default();
        let first = lines(defines).filter_map(place).take(2);
        places
            .extend(first.map(|(_, line, text)| format!("{}:{line}: {}", plain(path, PATH), code(text, 80))));
    }
    let gaps: Vec<String> =
        std::iter::once("what the code does is not checked: I count and quote".to_owned())
            .chain(refused(turn))
            .collect();
    found(&answer, &places, &gaps)
}

/// Returns the first comment of a source that says something.
fn comment(output: &str) -> Option<String> {
    text_lines(output).find_map(|(_, line)| {
        let line = line.trim();
        let marked = ["//!", "///", "//", "#", "--", "/**", "/*", "\"\"\"", ";;"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        let said = marked?.trim_matches([' ', '*', '/', '"', '=', '-', '#']);
        let is_code = line.starts_with("#!")
            || line.starts_with("#include")
            || line.starts_with("#[")
            || line.contains("-*-");
        let is_mark = ["TODO", "FIXME", "XXX", "HACK"].iter().any(|mark| said.contains(mark));
        let says = said.split_whitespace().count() >= 3 && !is_code && !is_mark;
        says.then(|| plain(said.trim_end_matches('.'), 160))
    })
}
