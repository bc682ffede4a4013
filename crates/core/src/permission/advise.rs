//! Warnings about rules that will not do what their writer believes, with what to write instead.
//!
//! - Asked when rules are compiled; a warning never changes what a rule does.

use super::paths::PathPattern;
use super::rule::{BUILT_IN, Family, Matcher, Rule, split};
use super::{beside, guarded, shapes};

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

/// Programs that run every other one: an allow of them is an allow of all.
const RUN_ALL: &[&str] =
    &["sudo", "doas", "env", "xargs", "bash", "sh", "zsh", "dash", "eval", "command", "nohup", "timeout"];
/// Folders that people mean in their project, not at the root of the disk.
const OF_PROJECTS: &[&str] = &[
    "src", "docs", "doc", "test", "tests", "lib", "app", "apps", "crates", "packages", "scripts", "public",
    "config",
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
        (Matcher::Path(path), Some(pattern)) => {
            advice.extend(path_pattern(&rule.tool, pattern, path, family))
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
    let near = known
        .clone()
        .copied()
        .find(|known| known.eq_ignore_ascii_case(tool))
        .or_else(|| FOREIGN.iter().find(|(name, _)| name.eq_ignore_ascii_case(tool)).map(|(_, known)| *known))
        .or_else(|| known.copied().find(|known| is_slip(tool, known)));
    Some(match near {
        Some(near) => Advice::new(
            format!("names no tool of maia; `{tool}` would have to be a custom tool"),
            spell(near),
        ),
        None => Advice::new(
            format!(
                "names no tool of maia: it counts only where a custom tool is called `{tool}`; the tools are {}",
                BUILT_IN.join(", ")
            ),
            None,
        ),
    })
}

/// Returns whether `text` is `name` with one letter more, less or other, or two of them in the wrong order.
fn is_slip(text: &str, name: &str) -> bool {
    let (text, name): (Vec<u8>, Vec<u8>) =
        (text.to_ascii_lowercase().into(), name.to_ascii_lowercase().into());
    let same = text.iter().zip(&name).take_while(|(a, b)| a == b).count();
    let (text, name) = (&text[same..], &name[same..]);
    match (text, name) {
        ([_, text @ ..], [_, name @ ..]) if text == name => true,
        ([a, b, text @ ..], [c, d, name @ ..]) if a == d && b == c && text == name => true,
        ([_, text @ ..], name) if text == name => true,
        (text, [_, name @ ..]) => text == name,
        _ => false,
    }
}

/// Returns what to tell of a pattern on paths.
fn path_pattern(tool: &str, pattern: &str, path: &PathPattern, family: Family) -> Vec<Advice> {
    let mut advice = Vec::new();
    let place = beside::anywhere();
    let meant = place.resolve(pattern);
    let last = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_wild = shapes::is_wild(pattern);
    if family == Family::Allow && pattern.ends_with('/') {
        advice.push(Advice::new("names a folder, and so no file in it", format!("{tool}({pattern}**)")));
    } else if family != Family::Allow
        && !is_wild
        && !last.contains('.')
        && last.chars().all(|c| c.is_ascii_lowercase())
    {
        advice.push(Advice::new(
            "names one file and nothing below it, should that be a folder",
            format!("{tool}({}/**)", pattern.trim_end_matches('/')),
        ));
    } else if family != Family::Allow && pattern.starts_with("*.") {
        advice.push(Advice::new(
            "covers the launch folder alone, no folder in it",
            format!("{tool}(**/{pattern})"),
        ));
    }
    let first = pattern.trim_start_matches('/').split('/').next().unwrap_or_default();
    if pattern.starts_with("//") || (pattern.starts_with('/') && OF_PROJECTS.contains(&first)) {
        let instead =
            if OF_PROJECTS.contains(&first) { pattern.trim_start_matches('/') } else { &pattern[1..] };
        advice.push(Advice::new(
            "begins at the root of the disk, not of the folder",
            format!("{tool}({instead})"),
        ));
    }
    if family == Family::Allow && matches!(tool, "Write" | "Edit" | "Redirect") {
        let why = guarded::protected(&meant, &place);
        if why.is_some() && !pattern.starts_with('*') {
            advice.push(Advice::new(
                "is about a protected path, which is written after a question only, whatever the rules",
                None,
            ));
        }
    }
    if family == Family::Allow
        && !path.is_literal
        && (guarded::secret_place(&meant, &place).is_some()
            || guarded::secret_name(&last.to_ascii_lowercase()).is_some())
    {
        advice.push(Advice::new(
            "is about secret paths, which only a rule opens that names one of them without wildcards",
            format!("{tool}({})", pattern.replace("/**", "/NAME").replace('*', "NAME")),
        ));
    }
    advice
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
    if pattern.contains(".*")
        || pattern.starts_with('^')
        || (pattern.contains('|') && !pattern.contains([' ', '\'']))
    {
        let plain = pattern.replace(".*", "*");
        advice.push(Advice::new(
            "reads like a regular expression; only `*` is special here",
            format!("Bash({})", plain.trim_start_matches('^').trim_end_matches('$')),
        ));
    }
    let mut words = pattern.split(' ');
    if family == Family::Allow
        && let (Some(program), Some("*"), None) = (words.next(), words.next(), words.next())
        && RUN_ALL.contains(&program)
    {
        advice.push(Advice::new(format!("covers every command: `{program}` runs any other program"), None));
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

#[cfg(test)]
mod tests {
    use maia_protocol::permission::RuleSet;

    use maia_protocol::snapshot::RuleSource;

    use crate::permission::Rules;

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
            (&["Bash(cat *)"], &["Read(.env)"], "asks before it reads"),
            (&["Bash(cat *)"], &["Read(secrets/**)"], "lets Bash read the same file"),
            (&["Bash(a && b)"], &[], "joins commands"),
            (&["Bash(make > out.txt)"], &[], "`Redirect(out.txt)`"),
            (&["Read(src/)"], &[], "`Read(src/**)`"),
            (&["Bash(* --version)"], &[], "every program"),
            (&[], &["WebFetch(domain:evil.example)"], "domain:*.evil.example"),
            (&["Task"], &[], "`Agent`"),
            (&["Bsah(ls)"], &[], "`Bash(ls)`"),
            (&["Frobnicate(x)"], &[], "names no tool of maia"),
            (&["Bash(npm run test:*)"], &[], "`Bash(npm run test *)`"),
            (&["Bash(git push origin)"], &["Bash(git push *)"], "never allows anything"),
            (&["Bash(git push *)"], &["Bash(git *)"], "never allows anything"),
            (&["Bash(git *)"], &["Bash"], "never allows anything"),
            (&["Read(secrets/a/**)"], &["Read(secrets/**)"], "never allows anything"),
            (&["Bash(git .*)"], &[], "`Bash(git *)`"),
            (&["Bash(sudo *)"], &[], "covers every command"),
            (&["Edit(/src/**)"], &[], "`Edit(src/**)`"),
            (&["Read(//etc/**)"], &[], "`Read(/etc/**)`"),
            (&["Write(.maia/settings.json)"], &[], "protected path"),
            (&["Read(~/.ssh/**)"], &[], "without wildcards"),
            (&[], &["Read(secrets)"], "`Read(secrets/**)`"),
            (&[], &["Read(*.key)"], "`Read(**/*.key)`"),
        ] {
            let told = told(allow, deny);
            assert!(told.iter().any(|text| text.contains(expect)), "{allow:?} {deny:?}: {told:?}");
        }
    }

    #[test]
    fn good_rules_are_not_talked_about() {
        let allow = [
            "Bash(git *)",
            "Read(src/**)",
            "Read(**)",
            "Write(**)",
            "Read(.env)",
            "Bash(npm run test)",
            "Edit(*.md)",
            "Mcp(github,get_*)",
            "WebFetch(domain:docs.rs)",
        ];
        assert_eq!(
            told(&allow, &["Bash(rm *)", "Bash(git push *)", "Redirect(.git/**)"]),
            Vec::<String>::new()
        );
    }
}
