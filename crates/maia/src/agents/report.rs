//! How faults and definitions are shown: for people with the very line, for programs as one JSON line a file.

use std::path::Path;

use maia_core::agent_file::{Fault, KNOWN_TOOLS, parse, resolve_tools};
use maia_protocol::AgentDefinition;
use serde::Serialize;

/// The outcome of checking one file. Fields and kinds: `crate::agents`, SPEC 4.
#[derive(Debug, Serialize)]
pub struct CheckedFile {
    /// The file.
    pub path: String,
    /// Whether the agent can be spawned.
    pub valid: bool,
    /// What was parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentDefinition>,
    /// Its tools among the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_resolved: Option<Vec<String>>,
    /// Kinds of the warnings.
    pub warnings: Vec<String>,
    /// The same warnings with message and place.
    pub warning_details: Vec<Fault>,
    /// Kind of the fault that refuses the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its cause and mend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Its column, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl CheckedFile {
    /// Checks the bytes of `path`, or tells why there are none.
    pub fn new(path: &Path, folder: &str, bytes: Result<&[u8], Fault>) -> Self {
        let (definition, mut details) = match bytes {
            Ok(bytes) => {
                let parsed = parse(folder, bytes);
                (parsed.definition, parsed.warnings)
            }
            Err(fault) => (Err(fault), Vec::new()),
        };
        let (agent, fault) = match definition {
            Ok(agent) => (Some(agent), None),
            Err(fault) => (None, Some(fault)),
        };
        let tools_resolved = agent.as_ref().map(|agent| {
            let (tools, unknown) = resolve_tools(agent, KNOWN_TOOLS);
            details.extend(unknown);
            tools
        });
        Self {
            path: path.display().to_string(),
            valid: agent.is_some(),
            agent,
            tools_resolved,
            warnings: details.iter().map(|fault| fault.kind.clone()).collect(),
            warning_details: details,
            line: fault.as_ref().and_then(|fault| fault.line),
            column: fault.as_ref().and_then(|fault| fault.column),
            error: fault.as_ref().map(|fault| fault.kind.clone()),
            message: fault.map(|fault| fault.message),
        }
    }

    /// Writes what a person reads: one line for the outcome, then each fault with its line of the file.
    pub fn human(&self, bytes: Option<&[u8]>) -> String {
        let mut text = String::new();
        if let (Some(kind), Some(message)) = (&self.error, &self.message) {
            let fault =
                Fault { kind: kind.clone(), message: message.clone(), line: self.line, column: self.column };
            text.push_str(&fault_text(&self.path, "error", &fault, bytes));
        }
        if let Some(agent) = &self.agent {
            let tools = self.tools_resolved.as_deref().unwrap_or_default().join(", ");
            let tools = if tools.is_empty() { "no tools".to_owned() } else { tools };
            text.push_str(&format!("{}: ok: {}, {tools}\n", plain(&self.path), agent.name));
        }
        for fault in &self.warning_details {
            text.push_str(&fault_text(&self.path, "warning", fault, bytes));
        }
        text
    }
}

/// Writes `path:line:column: what: message`, and the line itself with a mark below the column.
pub fn fault_text(path: &str, what: &str, fault: &Fault, bytes: Option<&[u8]>) -> String {
    let place = match (fault.line, fault.column) {
        (Some(line), Some(column)) => format!(":{line}:{column}"),
        (Some(line), None) => format!(":{line}"),
        (None, _) => String::new(),
    };
    let mut text = format!("{}{place}: {what}: {}\n", plain(path), plain(&fault.message));
    let source = fault.line.zip(bytes).and_then(|(line, bytes)| source_line(bytes, line));
    if let (Some(source), Some(line), Some(column)) = (source, fault.line, fault.column) {
        let margin = " ".repeat(line.to_string().len());
        let before: String = source.chars().take(column.saturating_sub(1) as usize).collect();
        let blank = " ".repeat(plain(&before).chars().count());
        text.push_str(&format!("  {line} | {}\n  {margin} | {blank}^\n", plain(&source)));
    }
    text
}

/// Returns line `line` of a UTF-8 text, when it is short enough to be shown.
fn source_line(bytes: &[u8], line: u32) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let found = text.split('\n').nth(line.saturating_sub(1) as usize)?;
    (found.chars().count() <= 160).then(|| found.to_owned())
}

/// Makes a text from outside fit for one line of a terminal (SAFETY 6).
pub fn plain(text: &str) -> String {
    crate::print::plain(&text.replace(['\t', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_shows_its_line() {
        let bytes = b"---\nname: a\ndescription: b\n\teffort\x1b high\n---\n";
        let checked = CheckedFile::new(Path::new("a/AGENT.md"), "a", Ok(bytes));
        let text = checked.human(Some(bytes));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("a/AGENT.md:"), "{text}");
        assert!(!text.contains('\x1b') && !text.contains('\t'), "{text}");
    }

    #[test]
    fn the_mark_stands_below_the_column() {
        let bytes = b"---\nname: a\ndescription: b\ntools: [Read, [x]]\n---\n";
        let checked = CheckedFile::new(Path::new("AGENT.md"), "a", Ok(bytes));
        assert_eq!(
            checked.human(Some(bytes)),
            "AGENT.md:4:15: error: a list holds names only, no list or table: take the inner brackets out\n  \
             4 | tools: [Read, [x]]\n    |               ^\n"
        );
    }
}
