//! What the agents of a session are told of their place, taken once and kept in the journal (ENGINE 6).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::definition::{AgentDefinition, Origin};
use crate::permission::RuleSet;
use crate::tool::ToolSpec;

/// Rules of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSource {
    /// The file, or `--allow` and the like for the command line.
    pub source: String,
    /// The rules that count from it.
    pub rules: RuleSet,
}

/// A definition with what decides about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownAgent {
    /// The definition.
    pub definition: AgentDefinition,
    /// Where it came from.
    pub origin: Origin,
    /// SHA-256 of the file, hexadecimal.
    pub hash: String,
}

/// The context file that was read (MAIA.md, else AGENTS.md, else CLAUDE.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// One snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Rules by source.
    pub rules: Vec<RuleSource>,
    /// Agents that can be spawned, by name.
    pub agents: Vec<KnownAgent>,
    /// The context file.
    pub context: Option<ContextFile>,
    /// Tools in the order in which a model is told of them (mission M8-order).
    pub tools: Vec<ToolSpec>,
    /// Today, `2026-11-30`, and the like: told in the first user message, so that the prefix stays cacheable.
    pub facts: String,
}

impl Snapshot {
    /// Returns the known agent called `name`, whatever the case.
    pub fn agent(&self, name: &str) -> Option<&KnownAgent> {
        self.agents.iter().find(|agent| agent.definition.name.eq_ignore_ascii_case(name))
    }
}
