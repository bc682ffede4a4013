//! What a model is told of the tools of this crate, and what the engine must know of each.
//!
//! - Asked by whoever takes a snapshot (ENGINE 6) and by the agent before it starts a call.
//! - The texts are sent with every request, so they are short: about a hundred tokens a tool.

use maia_protocol::tool::{LockMode, Risk, ToolSpec};
use serde_json::json;

/// Lines that a Read gives when no limit is named (mission M8-read).
pub(crate) const READ_LIMIT: u64 = 2000;
/// Bytes of standard input that a command may be given (W-tool-shell).
pub(crate) const STDIN_LIMIT: usize = 64 * 1024;
/// Seconds after which a command is stopped when it names no time (mission M8-bash).
pub(crate) const TIMEOUT_S: u64 = 120;
/// The longest time that a command may ask for, in seconds (W-act-timeouts).
pub(crate) const TIMEOUT_CAP_S: u64 = 600;

/// Returns the tools of this crate in the order of mission M8-order.
pub fn specs() -> Vec<ToolSpec> {
    let path = json!({"type": "string", "description": "Absolute, or relative to the working folder; ~ is the home folder"});
    let folder = json!({"type": "string", "description": "Where (the working folder)"});
    vec![
        spec(
            "Read",
            "Reads a text file and gives its lines, each after its number and a tab. At most 2000 lines a call; a note at the \
             end says how to go on.",
            json!({
                "type": "object",
                "properties": {
                    "path": path,
                    "offset": {"type": "integer", "minimum": 1, "description": "First line (1)"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Number of lines (2000)"},
                    "line_offset": {"type": "integer", "minimum": 1, "description": "First character of the first line, for very long lines"},
                },
                "required": ["path"],
            }),
        ),
        spec(
            "Glob",
            "Finds files by name, at most 100, in order of their paths. * stays within one folder, **/ goes through all. Leaves \
             out what .gitignore names.",
            json!({
                "type": "object",
                "properties": {"pattern": {"type": "string", "description": "As src/**/*.rs"}, "path": folder},
                "required": ["pattern"],
            }),
        ),
        spec(
            "Grep",
            "Searches text files line by line with a regular expression (Rust syntax). Leaves out what .gitignore names, binaries \
             and files over 2 MB.",
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "path": folder,
                    "glob": {"type": "string", "description": "Only these files, as *.rs"},
                    "output_mode": {"enum": ["files_with_matches", "content", "count"], "description": "files_with_matches is the default"},
                    "-i": {"type": "boolean", "description": "Ignore case"},
                    "-n": {"type": "boolean", "description": "Line numbers (true)"},
                    "-A": {"type": "integer", "description": "Lines after"},
                    "-B": {"type": "integer", "description": "Lines before"},
                    "-C": {"type": "integer", "description": "Both"},
                    "head_limit": {"type": "integer", "description": "Results (250), 0 for all"},
                },
                "required": ["pattern"],
            }),
        ),
        spec(
            "Write",
            "Creates a file or replaces its whole content; makes missing parent folders. To change a part of a file use Edit.",
            json!({
                "type": "object",
                "properties": {"path": path, "content": {"type": "string", "description": "The whole new content"}},
                "required": ["path", "content"],
            }),
        ),
        spec(
            "Edit",
            "Replaces one piece of text in a file. old_string must be in it exactly once, blanks and indentation included and \
             without Read's line numbers; line ends are adapted to the file. An empty new_string deletes.",
            json!({
                "type": "object",
                "properties": {
                    "path": path,
                    "old_string": {"type": "string"},
                    "new_string": {"type": "string"},
                },
                "required": ["path", "old_string", "new_string"],
            }),
        ),
        spec(
            "Bash",
            "Runs a command with bash in the working folder, without a terminal. Gives stdout and stderr together, at most 30000 \
             characters, then the exit code. Each call is a new shell; processes left in the background are ended with the call.",
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": TIMEOUT_CAP_S, "description": "Seconds (120)"},
                    "stdin": {"type": "string", "description": "Standard input, at most 64 KiB"},
                },
                "required": ["command"],
            }),
        ),
        spec(
            "TodoWrite",
            "Keeps your task list for work of three steps or more: each call replaces it. One task at a time is in_progress.",
            json!({
                "type": "object",
                "properties": {"todos": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {"enum": ["pending", "in_progress", "completed"]},
                        "activeForm": {"type": "string", "description": "As \"Running tests\""},
                    },
                    "required": ["content", "status"],
                }}},
                "required": ["todos"],
            }),
        ),
        spec(
            "CurrentModel",
            "Gives the name of the model that you are.",
            json!({"type": "object", "properties": {}}),
        ),
    ]
}

/// Returns what a call of `tool` may do; a name that is not of this crate counts as anything.
pub fn risk(tool: &str) -> Risk {
    match tool {
        "Read" | "Glob" | "Grep" | "TodoWrite" | "CurrentModel" => Risk::Read,
        "Write" | "Edit" => Risk::Write,
        _ => Risk::Execute,
    }
}

/// Returns how a call of `tool` holds the lock of its file; `None` for a tool without one (ENGINE 5).
pub fn lock_mode(tool: &str) -> Option<LockMode> {
    match tool {
        "Read" => Some(LockMode::Read),
        "Write" | "Edit" => Some(LockMode::Write),
        _ => None,
    }
}

fn spec(name: &str, description: &str, input_schema: serde_json::Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_come_in_the_order_of_the_document_and_stay_short() {
        let specs = specs();
        let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["Read", "Glob", "Grep", "Write", "Edit", "Bash", "TodoWrite", "CurrentModel"]);
        // About four bytes a token: all together must leave the prompt its room.
        let bytes: usize =
            specs.iter().map(|spec| serde_json::to_string(spec).expect("plain data").len()).sum();
        assert!(bytes < 4800, "{bytes} bytes of specs");
    }

    #[test]
    fn only_tools_with_a_file_take_a_lock() {
        assert_eq!(lock_mode("Read"), Some(LockMode::Read));
        assert_eq!(lock_mode("Edit"), Some(LockMode::Write));
        assert_eq!(lock_mode("Bash"), None);
        for tool in ["Glob", "Grep", "TodoWrite", "CurrentModel"] {
            assert_eq!((lock_mode(tool), risk(tool)), (None, Risk::Read), "{tool}");
        }
        assert_eq!(risk("anything"), Risk::Execute);
    }
}
