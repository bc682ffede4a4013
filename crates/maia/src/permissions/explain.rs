//! `maia permissions explain`: what the rules in force make of one call, by which rule of which file, and what would allow it.
//!
//! - Reads the same files as `maia run` and judges with the same code; opens no session and asks nobody.
//! - What it prints is what the mode would do: rules first, then protected and secret paths, then the mode.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use maia_core::permission::{Explanation, Rules, explain};
use maia_protocol::permission::{RulingAction, Sandbox, Verdict};
use maia_protocol::snapshot::RuleSource;
use maia_protocol::{Mode, RuleSet};
use maia_tools::Workspace;
use serde_json::{Value, json};

use crate::cli;
use crate::error::Failure;
use crate::run::ModeArgument;
use crate::settings::{Loaded, Places};

/// Arguments of `maia permissions explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The tool, such as Bash or Read.
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its input as JSON; for Bash a command will do, for file tools a path, for WebFetch an address.
    #[arg(value_name = "INPUT", allow_hyphen_values = true)]
    input: String,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
    /// Launch folder.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Counts what the folder brings; with a hash, only if it has that one.
    #[arg(long, value_name = "HASH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    trust: Option<String>,
    /// What happens where no rule matches.
    #[arg(long, value_name = "MODE", default_value = "confirm")]
    mode: ModeArgument,
    /// The agent whose definition counts too.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// Explains one call and returns the exit code.
///
/// # Errors
/// Settings that cannot be read, an agent that is not there, an input that says nothing to the tool.
pub fn run(arguments: &ExplainArguments) -> Result<u8, Failure> {
    let places = Places::find(arguments.cwd.as_deref(), &cli::env)?;
    let trusted = crate::trust::decide(&cli::trust(arguments.trust.as_deref()), &places, &cli::env)?.trusted;
    let Loaded { settings, warnings } = crate::settings::load(&places, trusted)?;
    let mut notes: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let mut sources = settings.rules;
    if let Some(name) = &arguments.agent {
        sources.push(of_agent(name, &places, trusted)?);
    }
    let (rules, faults) = Rules::compile(&sources);
    notes.extend(faults.iter().map(ToString::to_string));
    let tool = arguments.tool.trim();
    let input = input(tool, &arguments.input)?;
    let place = crate::run::place(&places);
    let workspace = Workspace { cwd: places.cwd, home: places.home, env: Vec::new(), exe: PathBuf::new() };
    let target = match maia_tools::target(tool, &completed(tool, &input), &workspace) {
        Ok(target) => target,
        Err(fault) => {
            notes.push(format!("the call itself cannot run: {}", fault.text));
            None
        }
    };
    let mode = Mode::from(arguments.mode);
    let explanation = explain(&rules, mode, Sandbox::None, tool, &input, target.as_ref(), &place);
    let path = target.map(|target| target.path);
    let shown =
        Shown { tool, input: &input, mode, explanation: &explanation, path, sources: &sources, notes };
    let text = if arguments.json { shown.json().to_string() } else { crate::print::plain(&shown.text()) };
    let mut out = std::io::stdout();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    Ok(u8::from(written.is_err()))
}

fn of_agent(name: &str, places: &Places, trusted: bool) -> Result<RuleSource, Failure> {
    let found = crate::agents::load(places, trusted);
    let agent = found.agents.iter().find(|agent| agent.agent.definition.name.eq_ignore_ascii_case(name));
    let Some(agent) = agent else {
        let names: Vec<_> = found.agents.iter().map(|agent| agent.agent.definition.name.as_str()).collect();
        return Err(Failure::usage(format!("there is no agent \"{name}\""))
            .mend(format!("known agents: {}", names.join(", "))));
    };
    let definition = &agent.agent.definition;
    let source = match &agent.file {
        Some(file) => file.display().to_string(),
        None => format!("agent {}, which comes with maia", definition.name),
    };
    Ok(RuleSource { source, rules: definition.permissions.clone() })
}

/// Reads INPUT: a JSON object, or the one text that the tool is about.
fn input(tool: &str, text: &str) -> Result<Value, Failure> {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
        return Ok(value);
    }
    match field(tool) {
        Some(field) => Ok(json!({ field: text })),
        None => Err(Failure::usage(format!("the input of {tool} is no JSON object"))
            .mend("give it as the model would: maia permissions explain TOOL '{\"name\": \"value\"}'")),
    }
}

/// Returns the field of a tool that a plain text stands for.
fn field(tool: &str) -> Option<&'static str> {
    match tool {
        "Bash" => Some("command"),
        "Read" | "Write" | "Edit" | "Glob" | "Grep" => Some("path"),
        "WebFetch" => Some("url"),
        "Agent" => Some("agent"),
        "Skill" => Some("name"),
        _ => None,
    }
}

/// Returns the input with what the tool needs besides the path, so that the file can be looked up.
fn completed(tool: &str, input: &Value) -> Value {
    let lacking: &[(&str, &str)] = match tool {
        "Write" => &[("content", "")],
        "Edit" => &[("old_string", "a"), ("new_string", "b")],
        "Glob" => &[("pattern", "**")],
        "Grep" => &[("pattern", "a")],
        _ => &[],
    };
    let mut input = input.clone();
    if let Value::Object(fields) = &mut input {
        for (name, value) in lacking {
            fields.entry(*name).or_insert_with(|| Value::String((*value).to_owned()));
        }
    }
    input
}

/// What is printed.
struct Shown<'a> {
    tool: &'a str,
    input: &'a Value,
    mode: Mode,
    explanation: &'a Explanation,
    path: Option<PathBuf>,
    sources: &'a [RuleSource],
    notes: Vec<String>,
}

impl Shown<'_> {
    /// Returns the verdict as one word, and the list that its rule stands in.
    fn verdict(&self) -> (&'static str, fn(&RuleSet) -> &Vec<String>) {
        match &self.explanation.verdict {
            Verdict::Deny { .. } => ("deny", |rules| &rules.deny),
            Verdict::Ask { .. } => ("ask", |rules| &rules.ask),
            Verdict::Doubt { .. } => ("doubt", |rules| &rules.allow),
            Verdict::Allow { .. } => ("allow", |rules| &rules.allow),
            Verdict::NoRule => ("no rule", |rules| &rules.allow),
        }
    }

    fn rule(&self) -> Option<&str> {
        match &self.explanation.verdict {
            Verdict::Deny { rule } | Verdict::Ask { rule } | Verdict::Allow { rule } => Some(rule),
            Verdict::Doubt { .. } | Verdict::NoRule => None,
        }
    }

    /// Returns where `rule` is written.
    fn source(&self, rule: &str) -> Option<&str> {
        let (_, list) = self.verdict();
        let holds = |source: &&RuleSource| list(&source.rules).iter().any(|text| text.trim() == rule);
        self.sources.iter().find(holds).map(|source| source.source.as_str())
    }

    fn why(&self) -> &str {
        match &self.explanation.verdict {
            Verdict::Doubt { why } => why,
            _ => &self.explanation.ruling.why,
        }
    }

    fn action(&self) -> &'static str {
        match self.explanation.ruling.action {
            RulingAction::Run => "run",
            RulingAction::Ask => "ask",
            RulingAction::Refuse => "refuse",
        }
    }

    fn json(&self) -> Value {
        let parts: Vec<Value> = self
            .explanation
            .parts
            .iter()
            .map(|part| {
                let source = part.rule.as_deref().and_then(|rule| self.source(rule));
                json!({ "part": part.text, "rule": part.rule, "source": source, "path": part.path })
            })
            .collect();
        json!({
            "tool": self.tool,
            "input": self.input,
            "verdict": self.verdict().0.replace(' ', "_"),
            "rule": self.rule(),
            "source": self.rule().and_then(|rule| self.source(rule)),
            "why": self.why(),
            "parts": parts,
            "path": self.path,
            "mode": self.mode,
            "action": self.action(),
            "would_allow": self.explanation.would_allow,
            "wider": self.explanation.wider,
            "warnings": self.notes,
        })
    }

    fn text(&self) -> String {
        let mut lines = vec![match self.rule() {
            Some(rule) => format!("verdict   {}, by {}", self.verdict().0, self.named(rule)),
            None => format!("verdict   {}", self.verdict().0),
        }];
        let mode = json!(self.mode);
        let done = match self.explanation.ruling.action {
            RulingAction::Run => "runs",
            RulingAction::Ask => "asks",
            RulingAction::Refuse => "is refused",
        };
        lines.push(format!("in mode   {}: it {done}", mode.as_str().unwrap_or_default()));
        lines.push(format!("why       {}", self.why()));
        for part in &self.explanation.parts {
            let by = match &part.rule {
                Some(rule) => self.named(rule),
                None => "no rule".to_owned(),
            };
            let path = part.path.as_ref().filter(|path| path.display().to_string() != part.text);
            let path = path.map(|path| format!(" ({})", path.display())).unwrap_or_default();
            lines.push(format!("part      {}{path}: {by}", part.text.replace('\n', " ")));
        }
        if let Some(path) = &self.path {
            lines.push(format!("file      {}", path.display()));
        }
        for rule in &self.explanation.would_allow {
            lines.push(format!("to allow  {rule}"));
        }
        if let Some(rule) = &self.explanation.wider {
            lines.push(format!("or wider  {rule}"));
        }
        lines.extend(self.notes.iter().map(|note| format!("note      {note}")));
        lines.join("\n")
    }

    fn named(&self, rule: &str) -> String {
        match self.source(rule) {
            Some(source) => format!("`{rule}` of {source}"),
            None => format!("`{rule}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_json_or_the_text_that_the_tool_is_about() {
        for (tool, text, expect) in [
            ("Bash", "git status", Some(json!({"command": "git status"}))),
            ("Bash", "{ ls; }", Some(json!({"command": "{ ls; }"}))),
            ("Bash", r#"{"command": "ls"}"#, Some(json!({"command": "ls"}))),
            ("Read", "src/main.rs", Some(json!({"path": "src/main.rs"}))),
            ("Write", r#"{"path": "a", "content": "x"}"#, Some(json!({"path": "a", "content": "x"}))),
            ("WebFetch", "https://docs.rs/", Some(json!({"url": "https://docs.rs/"}))),
            ("Agent", "reviewer", Some(json!({"agent": "reviewer"}))),
            ("Deploy", "prod", None),
            ("Deploy", r#"{"env": "prod"}"#, Some(json!({"env": "prod"}))),
        ] {
            assert_eq!(input(tool, text).ok(), expect, "{tool} {text}");
        }
    }
}
