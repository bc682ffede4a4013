//! Verdicts on calls of all tools but Bash: files, addresses, servers, agents, skills, values (mission M9.3).
//!
//! - Asked by `evaluate`.
//! - A deny or ask rule catches any reading of a call; an allow rule has to cover all of them.

use std::path::PathBuf;

use maia_protocol::tool::Target;
use serde_json::Value;

use super::paths::Place;
use super::rule::{Family, Matcher, Rule, Rules};
use super::values::values;
use super::web;
use super::{Doubtful, Finding, odd, protected_path, secret_path};

/// What rules compare of one call, every reading of it.
enum Subject {
    /// Files or folders; `searches` when the tool looks into a folder.
    Paths { paths: Vec<PathBuf>, searches: bool },
    /// An address.
    Address(web::Address, String),
    /// A tool of a server.
    Server { server: String, tool: String },
    /// Agents by name, lower case.
    Agents(Vec<String>),
    /// A skill by name.
    Skill(String),
    /// The text values of the input: at the top, and everywhere.
    Values { top: Vec<String>, all: Vec<String> },
}

/// Judges a call of `tool`.
pub(super) fn judge(
    rules: &Rules,
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
) -> Finding {
    let (subject, doubt) = match subject(tool, input, target, place) {
        Ok(read) => read,
        Err(why) => {
            // Nothing is known of the call but its tool: rules without a pattern still hold.
            return bare(rules, tool).unwrap_or(Finding::Doubt(why, Doubtful::Analysis));
        }
    };
    let caught =
        |family| candidates(rules, family, tool).find(|rule| catches(rule, tool, &subject, place, input));
    if let Some(rule) = caught(Family::Deny) {
        return Finding::Deny(rule.text.clone());
    }
    if let Some(rule) = caught(Family::Ask) {
        return Finding::Ask(rule.text.clone());
    }
    if let Some((why, kind)) = doubt.or_else(|| guarded(rules, tool, &subject, place)) {
        return Finding::Doubt(why, kind);
    }
    match allowed(rules, tool, &subject, place, input) {
        Some(rule) => Finding::Allow(rule.text.clone()),
        None => match &subject {
            // Whatever the wide rules say, these are reached only when they are named.
            Subject::Address(address, _) if address.is_private => Finding::Doubt(
                format!("`{}` is no public host; only a rule that names it allows it", address.host),
                Doubtful::Place,
            ),
            _ => Finding::NoRule(Vec::new()),
        },
    }
}

/// Returns the rules of `family` that are about `tool`; `Mcp` rules are about every tool of a server.
fn candidates<'a>(rules: &'a Rules, family: Family, tool: &'a str) -> impl Iterator<Item = &'a Rule> {
    let also = match tool {
        "Delegate" => Some("Agent"),
        _ if tool.starts_with("mcp__") => Some("Mcp"),
        _ => None,
    };
    rules.of(family, tool).chain(also.into_iter().flat_map(move |also| rules.of(family, also)))
}

fn bare(rules: &Rules, tool: &str) -> Option<Finding> {
    let any = |family| candidates(rules, family, tool).find(|rule| matches!(rule.matcher, Matcher::Any));
    any(Family::Deny)
        .map(|rule| Finding::Deny(rule.text.clone()))
        .or_else(|| any(Family::Ask).map(|rule| Finding::Ask(rule.text.clone())))
}

/// Returns whether every file that the call names lies in the launch folder.
pub(super) fn is_inside(tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> bool {
    match paths(tool, input, target, place) {
        Ok((Subject::Paths { paths, .. }, _)) => {
            target.is_none_or(|target| target.inside) && paths.iter().all(|path| place.holds(path))
        }
        _ => false,
    }
}

/// Returns the paths that rules compare for a call of a file tool: as written, and as resolved.
pub(super) fn written_paths(
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
) -> Vec<PathBuf> {
    match tool {
        "Read" | "Write" | "Edit" | "Glob" | "Grep" => match paths(tool, input, target, place) {
            Ok((Subject::Paths { paths, .. }, _)) => paths,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

type Doubt = Option<(String, Doubtful)>;

/// Reads what rules compare out of the input.
fn subject(
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
) -> Result<(Subject, Doubt), String> {
    match tool {
        "Read" | "Write" | "Edit" | "Glob" | "Grep" => paths(tool, input, target, place),
        "WebFetch" => {
            let url = text(input, "url").ok_or("the call names no `url`")?;
            let address = web::read(url)?;
            let doubt = address.doubt.clone().map(|why| (why, Doubtful::Analysis));
            Ok((Subject::Address(address, url.to_owned()), doubt))
        }
        "Agent" => {
            let name = text(input, "agent").ok_or("the call names no `agent`")?;
            Ok((Subject::Agents(vec![name.trim().to_ascii_lowercase()]), None))
        }
        "Delegate" => {
            let tasks =
                input.get("tasks").and_then(Value::as_array).ok_or("the call has no list of `tasks`")?;
            let names: Option<Vec<String>> =
                tasks.iter().map(|task| Some(text(task, "agent")?.trim().to_ascii_lowercase())).collect();
            match names {
                Some(names) if !names.is_empty() => Ok((Subject::Agents(names), None)),
                _ => Err("a task names no `agent`".to_owned()),
            }
        }
        "Skill" => {
            let name =
                text(input, "name").or_else(|| text(input, "skill")).ok_or("the call names no skill")?;
            Ok((Subject::Skill(name.to_owned()), None))
        }
        _ => match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, of_server)) if !server.is_empty() && !of_server.is_empty() => {
                Ok((Subject::Server { server: server.to_owned(), tool: of_server.to_owned() }, None))
            }
            _ => {
                let (top, all) = values(input);
                Ok((Subject::Values { top, all }, None))
            }
        },
    }
}

fn text<'a>(input: &'a Value, field: &str) -> Option<&'a str> {
    input.get(field).and_then(Value::as_str)
}

/// Reads the paths of a file tool: as written, and as resolved where the caller resolved it.
fn paths(
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
) -> Result<(Subject, Doubt), String> {
    let searches = matches!(tool, "Glob" | "Grep");
    let mut written: Vec<&str> = Vec::new();
    for field in ["path", "file_path", "file"] {
        match input.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(path)) => written.push(path),
            Some(_) => return Err(format!("`{field}` is no text")),
        }
    }
    if written.is_empty() {
        if !searches {
            return Err("the call names no `path`".to_owned());
        }
        written.push(".");
    }
    if !searches && written.iter().any(|path| path.is_empty()) {
        return Err("the path is empty".to_owned());
    }
    let doubt = written
        .iter()
        .find_map(|path| odd::first(path))
        .map(|what| (format!("the path holds {what}"), Doubtful::Analysis));
    let mut paths: Vec<PathBuf> = written.iter().map(|path| place.resolve(path)).collect();
    if let Some(target) = target
        && !paths.contains(&target.path)
    {
        paths.push(target.path.clone());
    }
    let mut doubt = doubt;
    if tool == "Glob"
        && let Some(pattern) = text(input, "pattern")
        && let Some(root) = literal_root(pattern)
    {
        // A pattern such as `../x/*` or `/etc/*` looks elsewhere than in the folder that is named.
        let base = paths.first().cloned().unwrap_or_else(|| place.cwd.clone());
        paths.push(place.resolve_from(&base, &root));
    }
    if tool == "Glob"
        && let Some(pattern) = text(input, "pattern")
        && pattern.find(['*', '?', '[', '{']).is_some_and(|at| pattern[at..].contains(".."))
    {
        doubt.get_or_insert_with(|| {
            ("the pattern leads out of the folder that it names".to_owned(), Doubtful::Place)
        });
    }
    Ok((Subject::Paths { paths, searches }, doubt))
}

/// Returns the folders in front of the first wildcard of a search pattern.
fn literal_root(pattern: &str) -> Option<String> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let count = literal.min(parts.len() - 1);
    let root = parts[..count].join("/");
    match (count, root.is_empty()) {
        (0, _) => None,
        (_, true) => Some("/".to_owned()),
        (_, false) => Some(root),
    }
}

/// Returns whether a deny or ask rule catches any reading of the call.
fn catches(rule: &Rule, tool: &str, subject: &Subject, place: &Place, input: &Value) -> bool {
    match (&rule.matcher, subject) {
        (Matcher::Any, _) => true,
        (Matcher::Path(pattern), Subject::Paths { paths, searches }) => {
            paths.iter().any(|path| pattern.covers(path, place, *searches))
        }
        (Matcher::Host(pattern), Subject::Address(address, _)) => pattern.catches(address),
        (Matcher::Value(wild), Subject::Address(_, url)) => wild.matches(url),
        (Matcher::Server { server, tool }, Subject::Server { server: key, tool: name }) => {
            server.matches(key) && tool.matches(name)
        }
        (Matcher::Agent(wild), Subject::Agents(names)) => names.iter().any(|name| wild.matches(name)),
        (Matcher::Skill(wild), Subject::Skill(_)) => ["name", "skill"]
            .iter()
            .filter_map(|field| text(input, field))
            .any(|name| wild.matches(name.trim())),
        (Matcher::Value(wild), Subject::Values { all, .. }) => all.iter().any(|value| wild.matches(value)),
        // The old spelling of a server's tool has a pattern on its values (mission M22-rules).
        (Matcher::Value(wild), Subject::Server { .. }) => {
            rule.tool == tool && values(input).1.iter().any(|value| wild.matches(value))
        }
        _ => false,
    }
}

/// Returns the allow rule that covers the call, the first where several parts need one each.
fn allowed<'r>(
    rules: &'r Rules,
    tool: &str,
    subject: &Subject,
    place: &Place,
    input: &Value,
) -> Option<&'r Rule> {
    let allow = |covers: &dyn Fn(&Rule) -> bool| {
        // `Mcp` rules and `Agent` rules are candidates too; each knows what it is about.
        rules.allow.iter().map(AsRef::as_ref).find(|rule: &&Rule| is_about(rule, tool) && covers(rule))
    };
    match subject {
        Subject::Paths { paths, searches } => {
            let mut first = None;
            for path in paths {
                let rule = allow(&|rule| match &rule.matcher {
                    Matcher::Any => true,
                    // A search in a folder that is covered stays in it: what lies below needs no rule of its own.
                    Matcher::Path(pattern) => {
                        pattern.covers(path, place, *searches)
                            || (*searches
                                && paths.first().is_some_and(|base| {
                                    path.starts_with(base) && pattern.covers(base, place, true)
                                }))
                    }
                    _ => false,
                })?;
                first = first.or(Some(rule));
            }
            first
        }
        Subject::Agents(names) => {
            let mut first = None;
            for name in names {
                let rule = allow(&|rule| match &rule.matcher {
                    Matcher::Any => true,
                    Matcher::Agent(wild) => wild.matches(name),
                    _ => false,
                })?;
                first = first.or(Some(rule));
            }
            first
        }
        Subject::Address(address, _) => allow(&|rule| match &rule.matcher {
            Matcher::Any => !address.is_private,
            Matcher::Host(pattern) => pattern.covers(address),
            _ => false,
        }),
        Subject::Server { server: key, tool: name } => allow(&|rule| match &rule.matcher {
            Matcher::Any => true,
            Matcher::Server { server, tool } => server.matches(key) && tool.matches(name),
            Matcher::Value(wild) => values(input).0.iter().any(|value| wild.matches(value)),
            _ => false,
        }),
        Subject::Skill(name) => allow(&|rule| match &rule.matcher {
            Matcher::Any => true,
            Matcher::Skill(wild) => wild.matches(name),
            _ => false,
        }),
        Subject::Values { top, .. } => allow(&|rule| match &rule.matcher {
            Matcher::Any => true,
            Matcher::Value(wild) => top.iter().any(|value| wild.matches(value)),
            _ => false,
        }),
    }
}

fn is_about(rule: &Rule, tool: &str) -> bool {
    rule.tool == tool
        || (rule.tool == "Mcp" && tool.starts_with("mcp__"))
        || (rule.tool == "Agent" && tool == "Delegate")
}

/// Returns why a path is opened only after a question, whatever wide rules say (SAFETY 1).
fn guarded(rules: &Rules, tool: &str, subject: &Subject, place: &Place) -> Doubt {
    let Subject::Paths { paths, .. } = subject else { return None };
    let writes = matches!(tool, "Write" | "Edit");
    for path in paths {
        let shown = place.show(path);
        if writes && let Some(why) = protected_path(rules, path, place) {
            return Some((format!("`{shown}` is protected: {why}"), Doubtful::Place));
        }
        let opened = || {
            rules.of(Family::Allow, tool).any(|rule| {
                matches!(&rule.matcher, Matcher::Path(pattern) if pattern.is_literal && pattern.covers(path, place, false))
            })
        };
        if let Some(why) = secret_path(rules, path, place)
            && !opened()
        {
            return Some((
                format!("`{shown}` is a secret path: {why}; a rule that names it without wildcards opens it"),
                Doubtful::Place,
            ));
        }
    }
    None
}
