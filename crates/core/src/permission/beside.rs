//! Warnings about rules that are fine alone and not together (SAFETY 1, issue of verdicts).
//!
//! - Asked once all rules are compiled; a warning never changes what a rule does.

use std::path::PathBuf;

use maia_protocol::snapshot::RuleSource;

use super::paths::Place;
use super::rule::{Family, FaultKind, Matcher, Rule, RuleFault, Rules, split};
use super::{guarded, shapes};

/// Programs that print or copy files, which rules on Read do not bind.
const READERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "grep", "rg", "sed", "awk", "cut", "sort", "strings", "xxd", "od",
    "base64", "cp", "mv", "tar", "nl", "tac", "bat", "dd", "scp", "curl", "diff",
];

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
                    message: if is_secret(pattern) {
                        format!("binds the tool {tool} only: a command that `{}` covers asks before it reads the same file, and is not denied", reader.text)
                    } else {
                        format!("binds the tool {tool} only: `{}` lets Bash read the same file", reader.text)
                    },
                    instead: Some(format!("Bash(*{}*)` beside it, not only `{text}", name.trim_matches('*'))),
                });
            }
        }
    }
}

/// Returns whether what the pattern names is secret anyway, so that commands ask for it.
fn is_secret(pattern: &str) -> bool {
    let place = anywhere();
    let path = place.resolve(pattern);
    guarded::secret(&path, &place).or_else(|| shapes::secret(&path, &place)).is_some()
}

/// Warns of `allow` rules that never allow anything, because a deny rule covers all that they cover.
pub(super) fn swallowed(rules: &Rules, sources: &[RuleSource], faults: &mut Vec<RuleFault>) {
    for source in sources {
        for text in &source.rules.allow {
            let Some(allow) = rules.allow.iter().find(|rule| rule.text == text.trim()) else { continue };
            let Some(deny) = rules.deny.iter().find(|deny| swallows(deny, allow)) else { continue };
            faults.push(RuleFault {
                source: source.source.clone(),
                family: Family::Allow,
                rule: text.clone(),
                kind: FaultKind::Misleading,
                message: format!(
                    "never allows anything: the deny rule `{}` covers all of it, and deny comes first; take one of the \
                     two out, or narrow the deny",
                    deny.text
                ),
                instead: None,
            });
        }
    }
}

/// Stands for whatever a star of the other pattern may be.
const ANY: &str = "\u{2}any\u{2}";

fn swallows(deny: &Rule, allow: &Rule) -> bool {
    if deny.tool != allow.tool {
        return false;
    }
    let Ok((_, Some(pattern))) = split(&allow.text) else { return matches!(deny.matcher, Matcher::Any) };
    let filled = pattern.replace("**", &format!("{ANY}/{ANY}")).replace('*', ANY);
    match &deny.matcher {
        Matcher::Any => true,
        // What is denied is compared with the words of the allowed command, a star being one word of no meaning.
        Matcher::Command(command) => command.catches_text(&filled),
        Matcher::Path(path) => {
            let place = anywhere();
            !pattern.contains(['{', '[', '?']) && path.covers(&place.resolve(&filled), &place, false)
        }
        Matcher::Value(wild) | Matcher::Skill(wild) => wild.matches(&filled),
        Matcher::Agent(wild) => wild.matches(&filled.to_ascii_lowercase()),
        Matcher::Host(_) | Matcher::Server { .. } => deny.text == allow.text,
    }
}

/// Returns a place that is as good as any other, to compare patterns in.
pub(super) fn anywhere() -> Place {
    Place { cwd: PathBuf::from("/folder/of/launch"), home: PathBuf::from("/folder/of/home"), state: None }
}
