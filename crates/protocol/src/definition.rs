//! An agent's definition as parsed from AGENT.md (mission M20.1). The parser is `maia_core::agent_file`.

use serde::{Deserialize, Serialize};

use crate::permission::RuleSet;

/// How many iterations an agent may take (mission M20.3-budget).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// 10 iterations.
    Low,
    /// 25 iterations.
    #[default]
    Medium,
    /// 50 iterations.
    High,
    /// An explicit number, 1 to 100.
    #[serde(untagged)]
    Iterations(u32),
}

impl Effort {
    /// Returns the iterations that this effort grants.
    pub fn iterations(self) -> u32 {
        match self {
            Self::Low => 10,
            Self::Medium => 25,
            Self::High => 50,
            Self::Iterations(n) => n.clamp(1, 100),
        }
    }
}

/// The body of AGENT.md (mission M20.1-body), each text trimmed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sections {
    /// Who the agent is.
    pub instructions: String,
    /// What it does.
    pub missions: String,
    /// What it must not do.
    pub constraints: Option<String>,
    /// What it hands back.
    pub output: String,
}

/// An agent that can be spawned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    /// Name, the same as its folder's.
    pub name: String,
    /// What it is for; the main model chooses by it.
    pub description: String,
    /// Model id or a fragment of one; `None` = the parent's.
    pub model: Option<String>,
    /// Tools as written; `None` = all but Agent, empty = none.
    pub tools: Option<Vec<String>>,
    /// The three lists; its allow counts only as SAFETY 2 says.
    pub permissions: RuleSet,
    /// Iteration budget.
    pub effort: Effort,
    /// Skills as written; `None` = all, empty = none.
    pub skills: Option<Vec<String>>,
    /// Whether MAIA.md, AGENTS.md, CLAUDE.md are left out of its prompt.
    pub omit_md: bool,
    /// Whether its conversation is exported beside the parent's.
    pub trace: bool,
    /// Its texts.
    pub sections: Sections,
}

/// Where a definition came from: it decides whether its allow rules count (SAFETY 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Shipped in the binary.
    Embedded,
    /// `~/.maia/agents`.
    User,
    /// The launch folder, which the person trusted.
    TrustedFolder,
}
