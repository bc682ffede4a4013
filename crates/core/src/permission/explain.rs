//! Why a call is judged as it is: the verdict with its parts, for `maia permissions explain` (SPEC section 4).
//!
//! - Asked by the binary for one call; decides nothing that `judge` does not decide.

use std::path::PathBuf;

use maia_protocol::permission::{Mode, RuleSet, Ruling, Sandbox, Verdict};
use maia_protocol::tool::Target;
use serde_json::Value;

use super::paths::Place;
use super::rule::Rules;
use super::{bash, calls, evaluate, judge, lacking_rules, suggest_wider};

/// One part of a call, and the rule that is about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// A command, a target or a path, as written.
    pub text: String,
    /// The rule that decides it, if any does.
    pub rule: Option<String>,
    /// The file that it means, where that is known.
    pub path: Option<PathBuf>,
}

/// What there is to say of the verdict on one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What the rules say.
    pub verdict: Verdict,
    /// What is done in the mode.
    pub ruling: Ruling,
    /// The part that a deny or ask rule catches, or all parts with the allow rules that cover them.
    pub parts: Vec<Part>,
    /// Rules that together would have allowed this call; empty when it runs, or when no rule may open it.
    pub would_allow: Vec<String>,
    /// One wider rule that may be offered.
    pub wider: Option<String>,
}

/// Explains the verdict on a call; the arguments are those of [`judge`].
pub fn explain(
    rules: &Rules,
    mode: Mode,
    sandbox: Sandbox,
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
) -> Explanation {
    let verdict = evaluate(rules, tool, input, target, place);
    let ruling = judge(rules, mode, sandbox, tool, input, target, place);
    let parts = match (tool, input.get("command").and_then(Value::as_str)) {
        ("Bash", Some(line)) => bash::decided(rules, line, place)
            .into_iter()
            .map(|part| Part { text: part.part, rule: part.rule, path: part.path })
            .collect(),
        _ => {
            let rule = match &verdict {
                Verdict::Deny { rule } | Verdict::Ask { rule } | Verdict::Allow { rule } => {
                    Some(rule.clone())
                }
                Verdict::Doubt { .. } | Verdict::NoRule => None,
            };
            calls::written_paths(tool, input, target, place)
                .into_iter()
                .map(|path| Part { text: place.show(&path), rule: rule.clone(), path: Some(path) })
                .collect()
        }
    };
    // A rule that asks or denies is lifted by no allow.
    let is_open = matches!(verdict, Verdict::NoRule | Verdict::Doubt { .. });
    let mut would_allow = if is_open { lacking_rules(tool, input, target, place) } else { Vec::new() };
    let opens = |allow: &[String]| {
        let joined = rules.with(&RuleSet { allow: allow.to_vec(), ..RuleSet::default() });
        matches!(evaluate(&joined, tool, input, target, place), Verdict::Allow { .. })
    };
    if !opens(&would_allow) {
        would_allow.clear();
    }
    // What is covered already needs no second rule.
    let mut at = 0;
    while at < would_allow.len() {
        let rest = [&would_allow[..at], &would_allow[at + 1..]].concat();
        if opens(&rest) {
            would_allow = rest;
        } else {
            at += 1;
        }
    }
    let wider = if would_allow.is_empty() { None } else { suggest_wider(tool, input, place) };
    Explanation { verdict, ruling, parts, would_allow, wider }
}

#[cfg(test)]
mod tests {
    use maia_protocol::snapshot::RuleSource;
    use serde_json::json;

    use super::*;

    fn explained(allow: &[&str], deny: &[&str], tool: &str, input: &Value) -> Explanation {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let rules = RuleSet { allow: list(allow), ask: Vec::new(), deny: list(deny) };
        let (rules, _) = Rules::compile(&[RuleSource { source: "test".to_owned(), rules }]);
        let place = Place { cwd: "/w/p".into(), home: "/h".into(), state: None };
        explain(&rules, Mode::Confirm, Sandbox::None, tool, input, None, &place)
    }

    #[test]
    fn the_part_that_decides_is_named_and_what_lacks_is_offered() {
        let bash = |command: &str| json!({ "command": command });
        let denied = explained(&["Bash"], &["Bash(rm *)"], "Bash", &bash("git log; sudo rm -rf x"));
        assert_eq!(denied.parts.len(), 1);
        assert_eq!(denied.parts[0].text, "rm -rf x");
        assert!(denied.would_allow.is_empty());

        let target = explained(&["Bash"], &["Redirect(out/**)"], "Bash", &bash("ls > out/a"));
        assert_eq!(
            (target.parts[0].text.as_str(), target.parts[0].path.as_deref()),
            ("> out/a", Some("/w/p/out/a".as_ref()))
        );

        let lacking = explained(&["Bash(git *)"], &[], "Bash", &bash("git log | tee out > a.txt"));
        let rules: Vec<Option<&str>> = lacking.parts.iter().map(|part| part.rule.as_deref()).collect();
        assert_eq!(rules, [Some("Bash(git *)"), None, None]);
        assert_eq!(lacking.would_allow, ["Bash(tee out)", "Redirect(a.txt)"]);

        let secret = explained(&["Bash(cat *)"], &[], "Bash", &bash("cat .env"));
        assert_eq!(secret.would_allow, ["Bash(cat .env)"]);
        let protected = explained(&["Bash(cp *)"], &[], "Bash", &bash("cp x .git/hooks/y"));
        assert!(protected.would_allow.is_empty());
    }

    #[test]
    fn a_path_is_shown_as_it_is_compared() {
        let read = explained(&["Read(src/**)"], &[], "Read", &json!({"path": "src/../b"}));
        assert_eq!(read.parts[0].path.as_deref(), Some("/w/p/b".as_ref()));
        assert_eq!(read.would_allow, ["Read(b)"]);
    }
}
