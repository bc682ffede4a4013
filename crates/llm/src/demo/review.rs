//! Reviewers: reads again the places that others have named, or looks through files for what often goes wrong.

use serde_json::{Value, json};

use super::explore::refused;
use super::prose::{code, lines, place, plain, text_lines};
use super::survey::PATH;
use super::talk::Turn;
use super::{Call, Next};

/// Places that are read again at most.
const PLACES: usize = 6;
/// What deserves a second look in most languages, with the mend.
const SMELLS: &str = r"\b(TODO|FIXME|XXX|HACK)\b|\.unwrap\(\)|except\s*:|catch\s*(\([^)]*\))?\s*\{\s*\}|\beval\(|shell\s*=\s*True|console\.log\(";

/// A place as another agent named it.
struct Claim<'a> {
    path: &'a str,
    line: u64,
    /// What stands there, as the other one quoted it.
    quote: &'a str,
}

pub(super) fn next(turn: &Turn<'_>) -> Next {
    let claims = claims(turn);
    if claims.is_empty() && turn.data.is_empty() {
        return files(turn);
    }
    let end = || again(turn, &claims);
    match turn.answered.len() {
        0 => {
            let read =
                |claim: &Claim<'_>| ("Read", json!({"path": claim.path, "offset": claim.line, "limit": 1}));
            turn.act(
                "I read the places again that the others have named.",
                claims.iter().map(read).collect(),
                end,
            )
        }
        _ => Next::End(end()),
    }
}

/// Returns the places of the results that came with the task: lines ``path:line: `text` ``.
fn claims<'a>(turn: &Turn<'a>) -> Vec<Claim<'a>> {
    let read = |line: &'a str| {
        let (path, line, rest) = place(line)?;
        let quote = rest.trim().strip_prefix('`')?.strip_suffix('`')?;
        Some(Claim { path, line, quote })
    };
    // By turns, so that no result takes all the room.
    let mut all: Vec<Vec<Claim<'a>>> =
        turn.data.iter().map(|handed| handed.text.lines().filter_map(read).collect()).collect();
    let mut claims = Vec::new();
    while claims.len() < PLACES && all.iter().any(|rest| !rest.is_empty()) {
        for rest in &mut all {
            if !rest.is_empty() && claims.len() < PLACES {
                claims.push(rest.remove(0));
            }
        }
    }
    claims
}

fn again(turn: &Turn<'_>, claims: &[Claim<'_>]) -> String {
    let (mut report, mut checked) = (Vec::new(), Vec::new());
    for claim in claims {
        let at = format!("{}:{}", plain(claim.path, PATH), claim.line);
        let read = turn
            .of("Read")
            .find(|seen| seen.input["path"] == claim.path && seen.input["offset"] == claim.line);
        let Some(read) = read.filter(|seen| !seen.failed) else {
            let why = read.map_or_else(|| "it was not read".to_owned(), |seen| plain(seen.output, 100));
            report.push(format!(
                "low | {at} | the place cannot be read again | what was told of it is not sure | {why}"
            ));
            continue;
        };
        let line = text_lines(read.output)
            .find(|(number, _)| *number == claim.line)
            .map(|(_, text)| plain(text, 80));
        if line.as_deref() == Some(claim.quote) {
            checked.push(at);
        } else {
            let now = line.map_or_else(|| "nothing".to_owned(), |line| code(&line, 80));
            report.push(format!(
                "medium | {at} | now holds {now} | what was told of it no longer holds | look again"
            ));
        }
    }
    let verdict = if report.is_empty() { "accept" } else { "accept with changes" };
    let checked = match (claims, checked.as_slice()) {
        ([], _) => "no place was named".to_owned(),
        (_, []) => "nothing that holds".to_owned(),
        (_, checked) => checked.join(", "),
    };
    report.push(format!("checked | {checked}"));
    report.push(format!("verdict | {verdict}"));
    report.join("\n")
}

/// Looks through the files that the request names, else through all.
fn files(turn: &Turn<'_>) -> Next {
    let end = || smells(turn);
    if !turn.answered.is_empty() {
        return Next::End(end());
    }
    let named = turn.request.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '~'))
            .trim_end_matches('.')
    });
    let named: Vec<&str> =
        named.filter(|word| word.contains(['/', '.']) && !word.contains("://")).take(3).collect();
    let grep = |path: Option<&&str>| -> Call {
        let mut input = json!({"pattern": SMELLS, "output_mode": "content", "head_limit": 40});
        if let Some(path) = path {
            input["path"] = Value::from(*path);
        }
        ("Grep", input)
    };
    let mut calls: Vec<Call> =
        named.iter().map(|path| ("Read", json!({"path": path, "limit": 200}))).collect();
    if named.is_empty() {
        calls.push(grep(None));
        calls.push(("Bash", json!({"command": "git diff --stat HEAD"})));
    } else {
        calls.extend(named.iter().map(|path| grep(Some(path))));
    }
    turn.act("I look for what often goes wrong.", calls, end)
}

fn smells(turn: &Turn<'_>) -> String {
    let hits =
        turn.of("Grep").filter(|seen| !seen.failed).flat_map(|seen| lines(seen.output)).filter_map(place);
    let mut report: Vec<String> = hits
        .take(8)
        .map(|(path, line, text)| {
            let what = if text.contains("unwrap") {
                "a value is taken without asking whether it is there"
            } else if ["TODO", "FIXME", "XXX", "HACK"].iter().any(|mark| text.contains(mark)) {
                "a mark of unfinished work"
            } else {
                "a construct that hides or runs more than it shows"
            };
            let at = format!("{}:{line}", plain(path, PATH));
            format!(
                "low | {at} | {what} | not known: the demo model only matches patterns | read {}",
                code(text, 80)
            )
        })
        .collect();
    let verdict = if report.is_empty() { "accept" } else { "accept with changes" };
    let read = turn.answered.iter().flatten().filter(|seen| !seen.failed).map(|seen| match seen.name {
        "Read" => code(seen.input["path"].as_str().unwrap_or_default(), PATH),
        "Bash" => "the uncommitted change".to_owned(),
        _ => "marks and constructs by pattern".to_owned(),
    });
    let mut checked: Vec<String> = read.collect();
    checked.extend(refused(turn));
    checked.dedup();
    report.push(format!(
        "checked | {}",
        if checked.is_empty() { "nothing".to_owned() } else { checked.join(", ") }
    ));
    report.push(format!("verdict | {verdict}"));
    report.join("\n")
}
