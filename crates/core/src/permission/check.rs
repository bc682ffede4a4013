//! One line of `maia permissions check`: JSON in, JSON out (SPEC section 4).
//!
//! - Asked by the binary for each line of its input; owns the shape of both lines.

use maia_protocol::permission::{RuleSet, Verdict};
use maia_protocol::snapshot::RuleSource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::paths::Place;
use super::rule::Rules;
use super::{Finding, find};

/// What a line holds; fields that are not known are left alone.
#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    rules: RuleSet,
    tool: String,
    #[serde(default)]
    input: Value,
    cwd: Option<String>,
    home: Option<String>,
}

/// Answers one JSON line `{id?, rules, tool, input, cwd?, home?}` with `{id, verdict, rule?, why}`.
///
/// `verdict` is `allow`, `ask` or `deny`. What no rule covers and what is doubtful prints `ask`; `why` tells which.
/// `defaults` is the place where the line names none.
///
/// # Errors
/// `{id, error}` as one JSON line, when the line is no such question.
pub fn check_line(line: &str, defaults: &Place) -> Result<String, String> {
    let question: Question = match serde_json::from_str(line) {
        Ok(question) => question,
        Err(error) => {
            let id = serde_json::from_str::<Value>(line).ok().and_then(|line| line.get("id").cloned());
            return Err(json!({ "id": id, "error": format!("the line is no question: {error}") }).to_string());
        }
    };
    let place = Place {
        cwd: question.cwd.map_or_else(|| defaults.cwd.clone(), Into::into),
        home: question.home.map_or_else(|| defaults.home.clone(), Into::into),
        state: defaults.state.clone(),
    };
    let source = RuleSource { source: "rules".to_owned(), rules: question.rules };
    let (rules, faults) = Rules::compile(&[source]);
    let finding = find(&rules, &question.tool, &question.input, None, &place);
    let lacking = match &finding {
        Finding::NoRule(lacking) if !lacking.is_empty() => format!("no rule covers {}", lacking.join(", ")),
        _ => "no rule covers the call".to_owned(),
    };
    let (verdict, rule, why) = match finding.verdict() {
        Verdict::Deny { rule } => ("deny", Some(rule), "a deny rule covers it".to_owned()),
        Verdict::Ask { rule } => ("ask", Some(rule), "an ask rule covers it".to_owned()),
        Verdict::Allow { rule } => ("allow", Some(rule), "allow rules cover all of it".to_owned()),
        Verdict::Doubt { why } => ("ask", None, format!("doubt: {why}")),
        Verdict::NoRule => ("ask", None, lacking),
    };
    let mut answer = json!({ "id": question.id, "verdict": verdict, "why": why });
    if let Some(rule) = rule {
        answer["rule"] = Value::String(rule);
    }
    if !faults.is_empty() {
        answer["warnings"] = faults.iter().map(|fault| Value::String(fault.to_string())).collect();
    }
    Ok(answer.to_string())
}
