//! What is done with a call: the verdict of the rules, then the mode (SAFETY 1).
//!
//! - Asked by an agent for every call, and by the broker when rules or mode change.
//! - The mode replaces `NoRule` only. Doubt asks in every mode and is refused in `read-only`.
//! - Every ruling says why, for the person who is asked and for the model that is refused.

use maia_protocol::permission::{Mode, Ruling, RulingAction, Sandbox};
use maia_protocol::tool::Target;
use serde_json::Value;

use super::paths::Place;
use super::rule::{BUILT_IN, Rules};
use super::{Doubtful, Finding, calls, find};

/// What a call of a tool can do, as far as modes look at it (SAFETY 1, W-apr-risk).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskClass {
    /// Looks at files, or speaks to agents that have the same mode.
    Read,
    /// Changes one file.
    Write,
    /// Runs programs.
    Execute,
    /// Reaches what lies outside of this machine or this program.
    Network,
}

impl RiskClass {
    /// Returns the class as a person reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
        }
    }
}

/// Returns the risk class of `tool`. A tool that is not known is a custom tool, and those run programs.
pub fn risk_class(tool: &str) -> RiskClass {
    match tool {
        "Read" | "Glob" | "Grep" | "TodoWrite" | "CurrentModel" | "AgentOutput" | "Skill" | "Agent"
        | "Delegate" => RiskClass::Read,
        "Write" | "Edit" => RiskClass::Write,
        "WebFetch" => RiskClass::Network,
        _ if tool.starts_with("mcp__") => RiskClass::Network,
        _ => RiskClass::Execute,
    }
}

/// Rules on a call, once the rules in force have been asked.
///
/// `sandbox` is what confines child processes now: mode `auto` runs commands only where something does, or where the
/// person said that nothing shall.
pub fn judge(
    rules: &Rules,
    mode: Mode,
    sandbox: Sandbox,
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
) -> Ruling {
    let mut finding = find(rules, tool, input, target, place);
    if mode == Mode::Auto
        && sandbox == Sandbox::Full
        && tool == "Bash"
        && matches!(finding, Finding::Doubt(_, Doubtful::Analysis))
        && !rules.restrict_bash()
    {
        // Nothing in the rules could be evaded, and the sandbox holds whatever the line turns out to be.
        finding = Finding::NoRule(Vec::new());
    }
    match finding {
        Finding::Deny(rule) => Ruling {
            action: RulingAction::Refuse,
            why: format!("refused by the permission rules (deny rule `{rule}`); do not retry it as is"),
            rule: Some(rule),
        },
        Finding::Ask(rule) => Ruling {
            action: RulingAction::Ask,
            why: format!("the ask rule `{rule}` covers this call"),
            rule: Some(rule),
        },
        Finding::Allow(rule) => {
            Ruling { action: RulingAction::Run, why: format!("allowed by rule `{rule}`"), rule: Some(rule) }
        }
        Finding::Doubt(why, _) if mode == Mode::ReadOnly => {
            refuse(format!("refused: the mode is read-only and {why}; do not retry it as is"))
        }
        Finding::Doubt(why, _) => ask(why),
        Finding::NoRule(lacking) => by_mode(mode, sandbox, tool, input, target, place, &lacking),
    }
}

fn by_mode(
    mode: Mode,
    sandbox: Sandbox,
    tool: &str,
    input: &Value,
    target: Option<&Target>,
    place: &Place,
    lacking: &[String],
) -> Ruling {
    let opens_files = matches!(tool, "Read" | "Glob" | "Grep" | "Write" | "Edit");
    let inside = opens_files && calls::is_inside(tool, input, target, place);
    let no_rule = || match lacking {
        [] => format!("no rule covers this call of {tool}"),
        parts => format!("no rule covers {}", parts.join(", ")),
    };
    match mode {
        Mode::ReadOnly if risk_class(tool) != RiskClass::Read => refuse(format!(
            "refused: the mode is read-only and {tool} does more than read; do not retry it as is"
        )),
        Mode::ReadOnly if opens_files && !inside => {
            refuse("refused: the mode is read-only and the path lies outside the launch folder; do not retry it as is".to_owned())
        }
        Mode::ReadOnly => run("mode read-only: it only reads"),
        Mode::Confirm => ask(no_rule()),
        Mode::Edits if matches!(tool, "Write" | "Edit") && inside => run("mode edits: the file lies in the launch folder"),
        Mode::Edits => ask(no_rule()),
        Mode::Auto if opens_files && inside => run("mode auto: the path lies in the launch folder"),
        Mode::Auto if opens_files => ask("the path lies outside the launch folder".to_owned()),
        Mode::Auto if risk_class(tool) == RiskClass::Read => run("mode auto: it starts no process and opens no file"),
        Mode::Auto if risk_class(tool) == RiskClass::Execute && is_local(tool) => match sandbox {
            Sandbox::None => ask(format!("there is no sandbox, and {}", no_rule())),
            Sandbox::Off => run("mode auto: the sandbox was switched off for this run"),
            Sandbox::External => run("mode auto: what surrounds maia is the sandbox"),
            Sandbox::Partial | Sandbox::Full => run("mode auto: it runs in the sandbox, without network"),
        },
        Mode::Auto => ask(no_rule()),
    }
}

/// Returns whether `tool` is Bash or a custom tool, which run in the sandbox.
fn is_local(tool: &str) -> bool {
    tool == "Bash" || !BUILT_IN.contains(&tool)
}

fn run(why: &str) -> Ruling {
    Ruling { action: RulingAction::Run, rule: None, why: why.to_owned() }
}

fn ask(why: String) -> Ruling {
    Ruling { action: RulingAction::Ask, rule: None, why }
}

fn refuse(why: String) -> Ruling {
    Ruling { action: RulingAction::Refuse, rule: None, why }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
