//! Verdicts on calls: rules, protected and secret paths, modes (SAFETY 1 to 3; mission M9).
//!
//! - Asked by an agent for every call of an answer, by the broker when rules change, by `maia permissions`.
//! - Pure: rules, call and place in, verdict out. One input has one verdict, in every thread (case S018).
//! - Allow is a proof. Whatever is not understood is [`Verdict::Doubt`], which asks in every mode.
//! - Path rules see a path twice: as written, taken to pieces by its text, and as the caller resolved it on
//!   disk. A deny or ask rule catches the call by either; an allow rule has to cover both, so that neither a
//!   link out of a folder nor a link into it carries a permission with it. Without a resolved target, as in
//!   checks, the text alone counts.
//! - Rules on a wrapper's command: see `bash`. Work is bounded by the size of the input, never by time.

mod advise;
mod bash;
mod beside;
mod calls;
mod check;
mod explain;
mod guarded;
mod judge;
mod odd;
mod paths;
mod pattern;
mod rule;
mod shapes;
mod suggest;
mod values;
mod web;

use std::path::Path;

use maia_protocol::permission::Verdict;
use maia_protocol::tool::Target;
use serde_json::Value;

pub use self::check::check_line;
pub use self::explain::{Explanation, Part, explain};
pub use self::judge::{RiskClass, judge, risk_class};
pub use self::paths::Place;
pub use self::rule::{Family, FaultKind, RuleFault, Rules};
pub use self::suggest::{lacking_rules, suggest_allow, suggest_wider};
pub use self::web::is_public;

/// What is doubtful about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubtful {
    /// The analysis is not certain. With a full sandbox around it, mode `auto` lives with that (SAFETY 1).
    Analysis,
    /// The target is: dynamic, outside, protected or secret.
    Place,
}

/// A verdict with what the mode needs to know beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    Deny(String),
    Ask(String),
    Doubt(String, Doubtful),
    Allow(String),
    /// With the parts that no rule covers, for a person.
    NoRule(Vec<String>),
}

impl Finding {
    fn verdict(self) -> Verdict {
        match self {
            Self::Deny(rule) => Verdict::Deny { rule },
            Self::Ask(rule) => Verdict::Ask { rule },
            Self::Doubt(why, _) => Verdict::Doubt { why },
            Self::Allow(rule) => Verdict::Allow { rule },
            Self::NoRule(_) => Verdict::NoRule,
        }
    }
}

/// Returns what the rules say of a call: deny, then ask, then allow (mission M9.2-order).
///
/// `target` is the file that the call names with every link resolved; `None` where nobody looked at a disk.
/// `place.cwd` must have its links resolved too, or relative rules do not cover resolved targets.
pub fn evaluate(rules: &Rules, tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> Verdict {
    find(rules, tool, input, target, place).verdict()
}

fn find(rules: &Rules, tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> Finding {
    match tool {
        // An input without a text for the shell is judged as an empty one: never allowed.
        "Bash" => bash::judge(rules, input.get("command").and_then(Value::as_str).unwrap_or_default(), place),
        // Rules of these names are about something else: no tool may be called like them and use them.
        "Redirect" | "Mcp" => {
            Finding::Doubt(format!("`{tool}` is a name that only rules have"), Doubtful::Analysis)
        }
        _ => calls::judge(rules, tool, input, target, place),
    }
}

/// Returns why Glob and Grep have to leave `path` (absolute, links resolved) out of what they find, if they do.
///
/// A file is left out when a deny rule for `tool` or for Read covers it, or when it is secret and no rule names it
/// (case S083; SAFETY 1).
pub fn is_hidden(rules: &Rules, tool: &str, path: &Path, place: &Place) -> bool {
    let path = paths::normalize(path);
    let covers = |family, tool, literal_only: bool| {
        rules.of(family, tool).any(|rule| match &rule.matcher {
            rule::Matcher::Any => !literal_only,
            rule::Matcher::Path(pattern) => {
                (!literal_only || pattern.is_literal) && pattern.covers(&path, place, false)
            }
            _ => false,
        })
    };
    covers(Family::Deny, tool, false)
        || covers(Family::Deny, "Read", false)
        || (secret_path(rules, &path, place).is_some() && !covers(Family::Allow, tool, true))
}

/// Returns what makes a path secret: the built-in list, or a pattern of the person's settings.
fn secret_path(rules: &Rules, path: &Path, place: &Place) -> Option<&'static str> {
    guarded::secret(path, place).or_else(|| {
        rules
            .secrets
            .iter()
            .any(|pattern| pattern.covers(path, place, true))
            .then_some("your settings say so")
    })
}

/// Returns what protects a path from being written: the built-in list, or a pattern of the person's settings.
fn protected_path(rules: &Rules, path: &Path, place: &Place) -> Option<&'static str> {
    guarded::protected(path, place).or_else(|| {
        rules
            .protected
            .iter()
            .any(|pattern| pattern.covers(path, place, true))
            .then_some("your settings say so")
    })
}

#[cfg(test)]
mod tests;
