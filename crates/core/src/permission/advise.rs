//! Warnings about rules that will not do what their writer believes, with what to write instead.
//!
//! - Asked when rules are compiled; a warning never changes what a rule does.

use maia_protocol::snapshot::RuleSource;

use super::rule::{BUILT_IN, Family, FaultKind, Matcher, Rule, RuleFault, Rules, split};

/// What to tell of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Advice {
    /// What is wrong, read on from "rule `X`".
    pub message: String,
    /// What to write instead.
    pub instead: Option<String>,
}

impl Advice {
    fn new(message: impl Into<String>, instead: impl Into<Option<String>>) -> Self {
        Self { message: message.into(), instead: instead.into() }
    }
}

/// Names that tools have in other products, and what they are called here.
const FOREIGN: &[(&str, &str)] = &[
    ("Shell", "Bash"),
    ("Terminal", "Bash"),
    ("Run", "Bash"),
    ("MultiEdit", "Edit"),
    ("NotebookEdit", "Edit"),
    ("LS", "Glob"),
    ("Search", "Grep"),
    ("WebSearch", "WebFetch"),
    ("Fetch", "WebFetch"),
    ("Task", "Agent"),
    ("TodoRead", "TodoWrite"),
];

/// Programs that print or copy files, which rules on Read do not bind.
const READERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "grep", "rg", "sed", "awk", "cut", "sort", "strings", "xxd", "od",
    "base64", "cp", "mv", "tar", "nl", "tac", "bat", "dd", "scp", "curl", "diff",
];

/// Returns what to tell of one well formed rule.
pub(super) fn rule(rule: &Rule, family: Family) -> Vec<Advice> {
    let mut advice = Vec::new();
    let pattern = split(&rule.text).ok().and_then(|(_, pattern)| pattern);
    advice.extend(tool_name(&rule.tool, pattern));
    match (&rule.matcher, pattern) {
        (Matcher::Command(command), Some(pattern)) => {
            advice.extend(command_pattern(pattern, command.exact, family));
        }
        (Matcher::Path(_), Some(pattern)) if family == Family::Allow && pattern.ends_with('/') => {
            advice.push(Advice::new(
                "names a folder, and so no file in it",
                format!("{}({pattern}**)", rule.tool),
            ));
        }
        (Matcher::Value(_), Some(pattern)) if rule.tool == "WebFetch" => {
            advice.push(Advice::new(
                "is compared with the whole address, as it has no `domain:`",
                domain(pattern),
            ));
        }
        (Matcher::Host(_), Some(pattern)) if family == Family::Deny => {
            let host = pattern.trim_start_matches("domain:").trim();
            if !host.contains('*') && host.contains(|c: char| c.is_ascii_alphabetic()) {
                advice.push(Advice::new(
                    "does not cover the subdomains",
                    format!("WebFetch(domain:*.{host})` beside it, not only `{}", rule.text),
                ));
            }
        }
        _ => {}
    }
    advice
}

fn tool_name(tool: &str, pattern: Option<&str>) -> Option<Advice> {
    if BUILT_IN.contains(&tool) || matches!(tool, "Redirect" | "Mcp") {
        return None;
    }
    let spell = |tool: &str| match pattern {
        Some(pattern) => format!("{tool}({pattern})"),
        None => tool.to_owned(),
    };
    if let Some(server) = tool.strip_prefix("mcp__") {
        return (!server.contains("__"))
            .then(|| Advice::new("names a server and no tool of it", format!("Mcp({server})")));
    }
    let known = BUILT_IN.iter().chain(&["Redirect", "Mcp"]);
    let near = known.copied().find(|known| known.eq_ignore_ascii_case(tool)).or_else(|| {
        FOREIGN.iter().find(|(name, _)| name.eq_ignore_ascii_case(tool)).map(|(_, known)| *known)
    });
    near.map(|near| {
        Advice::new(format!("names no tool of maia; `{tool}` would have to be a custom tool"), spell(near))
    })
}

fn command_pattern(pattern: &str, exact: bool, family: Family) -> Vec<Advice> {
    let mut advice = Vec::new();
    if let Some(program) = pattern.strip_suffix(":*") {
        advice.push(Advice::new(
            "has `:*`, which is two characters of a command here",
            format!("Bash({program} *)"),
        ));
    } else if exact && family != Family::Allow {
        advice.push(Advice::new(
            "has no `*` and covers exactly this command, without further arguments",
            format!("Bash({pattern} *)"),
        ));
    }
    let unquoted = !pattern.contains(['\'', '"', '\\']);
    if unquoted && [" && ", " || ", "; ", " | "].iter().any(|operator| pattern.contains(operator)) {
        advice.push(Advice::new(
            "joins commands, which are compared one by one: one rule for each is needed",
            None,
        ));
    } else if unquoted && pattern.contains('>') {
        advice.push(Advice::new(
            "holds a redirection, which is compared apart from the command",
            pattern.split_once('>').map(|(command, target)| {
                let target = target.trim_start_matches(['>', '|', ' ']);
                format!("Bash({})` and `Redirect({target})", command.trim_end_matches(['&', '1', '2', ' ']))
            }),
        ));
    }
    if family == Family::Allow && pattern.starts_with('*') && pattern != "*" {
        advice.push(Advice::new("begins with `*` and so covers every program", None));
    }
    if family == Family::Allow && (pattern.contains("$(") || pattern.contains('`')) {
        advice.push(Advice::new("holds a substitution, which no allow rule covers", None));
    }
    advice
}

/// Returns the `domain:` rule that `pattern` of a WebFetch rule likely means.
pub(super) fn domain(pattern: &str) -> Option<String> {
    let pattern = pattern.trim_start_matches("domain:").trim();
    let rest = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
    let host = rest.split(['/', ':', '@', ' ']).next().filter(|host| !host.is_empty())?;
    Some(format!("WebFetch(domain:{host})"))
}

/// Returns what a malformed rule likely means.
pub(super) fn repair(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some((tool, rest)) = text.strip_suffix('*').and_then(|text| text.split_once("__"))
        && tool == "mcp"
    {
        let server = rest.trim_end_matches("__");
        return (!server.is_empty() && !server.contains("__")).then(|| format!("Mcp({server})"));
    }
    if !text.contains(')')
        && let Ok((tool, Some(pattern))) = split(&format!("{text})"))
    {
        return Some(format!("{tool}({pattern})"));
    }
    if let Some(inner) = text.strip_suffix(")*")
        && let Ok((tool, Some(pattern))) = split(&format!("{inner}*)"))
    {
        return Some(format!("{tool}({pattern})"));
    }
    None
}

/// Warns of `deny` and `ask` rules on Read and Grep beside an allow of programs that read files: they do not bind
/// Bash (cases, section 3).
pub(super) fn beside_bash(rules: &Rules, sources: &[RuleSource], faults: &mut Vec<RuleFault>) {
    let reader = rules.allow.iter().find(|rule| match (&rule.matcher, split(&rule.text)) {
        (Matcher::Any, _) => rule.tool == "Bash",
        (Matcher::Command(_), Ok((_, Some(pattern)))) => {
            pattern == "*"
                || pattern.split([' ', '*']).next().is_some_and(|program| READERS.contains(&program))
        }
        _ => false,
    });
    let Some(reader) = reader else { return };
    for source in sources {
        for (family, list) in [(Family::Deny, &source.rules.deny), (Family::Ask, &source.rules.ask)] {
            for text in list {
                let Ok((tool @ ("Read" | "Grep"), Some(pattern))) = split(text) else { continue };
                let name = pattern.trim_start_matches("**/").trim_start_matches("./").trim_end_matches("/**");
                faults.push(RuleFault {
                    source: source.source.clone(),
                    family,
                    rule: text.clone(),
                    kind: FaultKind::Misleading,
                    message: format!(
                        "binds the tool {tool} only: `{}` lets Bash read the same file",
                        reader.text
                    ),
                    instead: Some(format!("Bash(*{}*)` beside it, not only `{text}", name.trim_matches('*'))),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use maia_protocol::permission::RuleSet;

    use super::*;

    fn told(allow: &[&str], deny: &[&str]) -> Vec<String> {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let rules = RuleSet { allow: list(allow), ask: Vec::new(), deny: list(deny) };
        let (_, faults) = Rules::compile(&[RuleSource { source: "settings".to_owned(), rules }]);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_warning_says_what_to_write() {
        for (allow, deny, expect) in [
            (&[][..], &["Bash(rm)"][..], "`Bash(rm *)`"),
            (&[], &["Bash(git:*)"], "`Bash(git *)`"),
            (&["bash(ls *)"], &[], "`Bash(ls *)`"),
            (&["Bash(git commit"], &[], "`Bash(git commit)`"),
            (&[], &["Bash(rm -rf /)*"], "`Bash(rm -rf /*)`"),
            (&["mcp__github__*"], &[], "`Mcp(github)`"),
            (&["mcp__github"], &[], "`Mcp(github)`"),
            (&["Mcp"], &[], "`Mcp(*)`"),
            (&["WebFetch(https://docs.rs/x)"], &[], "`WebFetch(domain:docs.rs)`"),
            (&["Bash(cat *)"], &["Read(.env)"], "`Bash(*.env*)`"),
            (&["Bash(a && b)"], &[], "joins commands"),
            (&["Bash(make > out.txt)"], &[], "`Redirect(out.txt)`"),
            (&["Read(src/)"], &[], "`Read(src/**)`"),
            (&["Bash(* --version)"], &[], "every program"),
            (&[], &["WebFetch(domain:evil.example)"], "domain:*.evil.example"),
            (&["Task"], &[], "`Agent`"),
        ] {
            let told = told(allow, deny);
            assert!(told.iter().any(|text| text.contains(expect)), "{allow:?} {deny:?}: {told:?}");
        }
    }

    #[test]
    fn good_rules_are_not_talked_about() {
        let allow =
            ["Bash(git *)", "Read(src/**)", "Deploy(prod)", "Mcp(github,get_*)", "WebFetch(domain:docs.rs)"];
        assert_eq!(told(&allow, &["Bash(rm *)", "Redirect(.git/**)"]), Vec::<String>::new());
    }
}
