//! Rules, modes, verdicts, answers (SAFETY 1 to 3) as data; they are decided in `maia_core::permission`.

use serde::{Deserialize, Serialize};

/// What happens to a call that no rule covers (SAFETY 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reading in the folder runs, everything else is refused.
    ReadOnly,
    /// Every call asks.
    #[default]
    Confirm,
    /// Writing in the folder runs too.
    Edits,
    /// Everything in the sandbox and the folder runs.
    Auto,
}

/// How child processes are confined (SAFETY 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// No sandbox could be had: said, and every command asks unless a rule allows it.
    #[default]
    None,
    /// The person chose none for this run (`--no-sandbox`).
    Off,
    /// A container around maia is the boundary (`--sandbox external`).
    External,
    /// Landlock and seccomp.
    Partial,
    /// Bubblewrap.
    Full,
}

/// Three lists of rules as written (mission M9.1): `Tool` or `Tool(pattern)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSet {
    /// Calls that run unasked.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Calls that ask.
    #[serde(default)]
    pub ask: Vec<String>,
    /// Calls that never run.
    #[serde(default)]
    pub deny: Vec<String>,
}

/// What the rules alone say of a call (SAFETY 1). In doubt the rules do not say `Allow`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// A deny rule matches.
    Deny {
        /// The rule as written.
        rule: String,
    },
    /// An ask rule matches.
    Ask {
        /// The rule as written.
        rule: String,
    },
    /// The analysis is uncertain, the target dynamic, protected or secret: asks in every mode.
    Doubt {
        /// What is doubtful, for a person.
        why: String,
    },
    /// Allow rules cover all of the call.
    Allow {
        /// The rule that covers it, the first where several do.
        rule: String,
    },
    /// Understood, and no rule covers it: the mode decides.
    NoRule,
}

/// What is done with a call after rules and mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulingAction {
    /// It runs.
    Run,
    /// A person is asked.
    Ask,
    /// It is refused as the tool's result.
    Refuse,
}

/// The ruling on one call, recorded before the call begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// What is done.
    pub action: RulingAction,
    /// The rule that decided, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, for a person.
    pub why: String,
}

/// A person's answer to a question (SAFETY 3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// This call runs.
    AllowOnce,
    /// This call does not run.
    RejectOnce {
        /// What the model is told of why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// This call does not run, nor the following ones; the asker's turn ends (mission M6.2-stop).
    Stop,
}

/// Who answered a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// A person.
    Person,
    /// A rule or grant that came after the question.
    Rule,
    /// Nobody can answer: headless (SAFETY 1).
    Headless,
}
