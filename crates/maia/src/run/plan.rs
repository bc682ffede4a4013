//! `maia run --plan FILE`: a task graph in YAML, with the fields of `Delegate` (SPEC section 2).
//!
//! The graph is the main agent's first answer: from there on it runs as if a model had asked for it, and the model is
//! asked for the report only.

use std::path::Path;

use maia_core::graph::Graph;
use maia_protocol::snapshot::KnownAgent;
use maia_protocol::{Answer, AnsweredCall, RuleSet, StopReason};
use serde_json::Value;

use crate::error::Failure;

/// A plan that was read and checked.
pub struct Plan {
    /// The file, as a source of rules.
    pub source: String,
    input: Value,
    agents: Vec<String>,
}

/// Reads a plan.
///
/// # Errors
/// A file that cannot be read, is no YAML of that form, or names what there is not (exit 2).
pub fn read(file: &Path, agents: &[KnownAgent]) -> Result<Plan, Failure> {
    let shown = file.display();
    let help = "tasks: a list of {id, agent, task, after: [id]}; on_failure: skip, continue or stop";
    let bytes = crate::settings::read_small(file)
        .map_err(|error| Failure::usage(format!("the plan {shown} cannot be read: {error}")))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the plan {shown} is not UTF-8")))?;
    let input: Value = serde_saphyr::from_str(&text)
        .map_err(|error| Failure::usage(format!("the plan {shown} is no YAML: {error}")).mend(help))?;
    let knows = |name: &str| agents.iter().any(|agent| agent.definition.name.eq_ignore_ascii_case(name));
    let graph = Graph::read(&input, &knows).map_err(|error| {
        let names: Vec<_> = agents.iter().map(|agent| agent.definition.name.as_str()).collect();
        Failure::usage(format!("the plan {shown}: {error}"))
            .mend(format!("{help}; known agents: {}", names.join(", ")))
    })?;
    let mut agents: Vec<_> = graph.view().into_iter().map(|task| task.agent).collect();
    agents.sort();
    agents.dedup();
    Ok(Plan { source: format!("plan {shown}"), input, agents })
}

impl Plan {
    /// Returns the rules that the person gives by running it: its agents may be spawned.
    pub fn rules(&self) -> RuleSet {
        let allow = self.agents.iter().map(|agent| format!("Agent({agent})")).collect();
        RuleSet { allow, ..RuleSet::default() }
    }

    /// Returns what the main agent is asked where nothing else was.
    pub fn request(&self) -> String {
        format!("Run the {} and report what came of it.", self.source)
    }

    /// Returns the main agent's first answer.
    pub fn answer(self) -> Answer {
        Answer {
            text: String::new(),
            reasoning: String::new(),
            calls: vec![AnsweredCall {
                provider_id: "plan".to_owned(),
                name: "Delegate".to_owned(),
                input: self.input,
                unusable: None,
                raw: None,
            }],
            stop: StopReason::ToolUse,
            usage: None,
            warnings: Vec::new(),
        }
    }
}
