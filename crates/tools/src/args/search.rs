//! Arguments of the tools that look round and keep notes: Glob, Grep, TodoWrite (mission M8-glob, M8-grep, M8-todo).
//!
//! - Asked by `parse`, once the input is known to be an object.
//! - What is missing gets the default of the document here, so that nobody else knows it.

use serde_json::Value;

use super::{Given, kind};
use crate::fault::Fault;

/// Results of a Grep when the call names no limit (mission M8-grep).
const HEAD_LIMIT: u64 = 250;
/// Lines of context at most: a file that is searched has rarely more.
const CONTEXT: u64 = 10_000;
/// Bytes of a pattern at most: what compiling it may cost grows with it.
const PATTERN: usize = 4 * 1024;
/// Tasks of a list at most: a longer one helps nobody, and it is sent back whole.
const TODOS: usize = 200;

/// Arguments of Glob.
#[derive(Debug)]
pub(crate) struct GlobArgs {
    pub(crate) pattern: String,
    /// The folder as written; `.` when the call did not say.
    pub(crate) path: String,
}

/// Arguments of Grep.
#[derive(Debug)]
pub(crate) struct GrepArgs {
    /// Regular expression.
    pub(crate) pattern: String,
    /// The folder or file as written; `.` when the call did not say.
    pub(crate) path: String,
    /// Which files are searched.
    pub(crate) glob: Option<String>,
    pub(crate) mode: OutputMode,
    pub(crate) ignore_case: bool,
    /// Whether lines stand after their numbers.
    pub(crate) numbers: bool,
    /// Lines before and after each match.
    pub(crate) before: usize,
    pub(crate) after: usize,
    /// Results at most; `None` for all.
    pub(crate) head_limit: Option<usize>,
}

/// What a Grep gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    Files,
    Content,
    Count,
}

/// One task of a list.
#[derive(Debug)]
pub(crate) struct Todo {
    pub(crate) content: String,
    pub(crate) status: TodoStatus,
    /// How it is called while it is done.
    pub(crate) active_form: Option<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl Given<'_> {
    pub(super) fn glob(&self) -> Result<GlobArgs, Fault> {
        Ok(GlobArgs { pattern: self.pattern("pattern")?, path: self.folder()? })
    }

    pub(super) fn grep(&self) -> Result<GrepArgs, Fault> {
        let mode = match self.text("output_mode")?.as_deref() {
            None | Some("files_with_matches") => OutputMode::Files,
            Some("content") => OutputMode::Content,
            Some("count") => OutputMode::Count,
            Some(_) => {
                return Err(
                    self.fault("parameter \"output_mode\" is none of files_with_matches, content, count")
                );
            }
        };
        let around = self.lines("-C")?;
        Ok(GrepArgs {
            pattern: self.pattern("pattern")?,
            path: self.folder()?,
            glob: match self.get("glob") {
                None => None,
                Some(Value::String(glob)) if glob.is_empty() => None,
                Some(_) => Some(self.pattern("glob")?),
            },
            mode,
            ignore_case: self.flag("-i")?.unwrap_or(false),
            numbers: self.flag("-n")?.unwrap_or(true),
            before: self.lines("-B")?.or(around).unwrap_or(0),
            after: self.lines("-A")?.or(around).unwrap_or(0),
            head_limit: match self.number("head_limit")?.unwrap_or(HEAD_LIMIT) {
                0 => None,
                limit => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
            },
        })
    }

    pub(super) fn todos(&self) -> Result<Vec<Todo>, Fault> {
        let inner;
        let list = match self.get("todos") {
            None => return Err(self.fault("parameter \"todos\" is missing")),
            Some(Value::String(text)) => {
                // A list that was encoded twice is one.
                inner = serde_json::from_str::<Value>(text).unwrap_or_default();
                inner.as_array()
            }
            Some(value) => value.as_array(),
        };
        let list = list.ok_or_else(|| self.fault("parameter \"todos\" is no list"))?;
        if list.len() > TODOS {
            return Err(
                self.fault(&format!("a list of {} tasks is too long; the limit is {TODOS}", list.len()))
            );
        }
        list.iter().enumerate().map(|(at, item)| self.todo(at + 1, item)).collect()
    }

    fn todo(&self, n: usize, item: &Value) -> Result<Todo, Fault> {
        let fault = |why: &str| self.fault(&format!("task {n} {why}"));
        if !item.is_object() {
            return Err(fault(&format!("is {}, not an object", kind(item))));
        }
        let text = |name: &str| item.get(name).and_then(Value::as_str).map(one_line);
        let filled = |name: &str| text(name).filter(|text| !text.is_empty());
        let status = match text("status").as_deref() {
            Some("pending") => TodoStatus::Pending,
            Some("in_progress") => TodoStatus::InProgress,
            Some("completed") => TodoStatus::Completed,
            _ => return Err(fault("has a \"status\" that is none of pending, in_progress, completed")),
        };
        let content = filled("content").ok_or_else(|| fault("has no text as its \"content\""))?;
        Ok(Todo { content, status, active_form: filled("activeForm") })
    }

    /// Returns a pattern that is there, not empty and not too long.
    fn pattern(&self, name: &str) -> Result<String, Fault> {
        let pattern = self.required(name)?;
        if pattern.is_empty() {
            return Err(self.fault(&format!("parameter \"{name}\" is empty")));
        }
        if pattern.len() > PATTERN {
            return Err(self.fault(&format!("parameter \"{name}\" has more than {PATTERN} bytes")));
        }
        Ok(pattern)
    }

    /// Returns the path of what is searched; none and an empty one mean the launch folder.
    fn folder(&self) -> Result<String, Fault> {
        match self.text("path")? {
            Some(path) if path.contains('\0') => Err(self.fault("parameter \"path\" holds a NUL character")),
            Some(path) if !path.is_empty() => Ok(path),
            _ => Ok(".".to_owned()),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(_) => Err(self.fault(&format!("parameter \"{name}\" is neither true nor false"))),
        }
    }

    fn lines(&self, name: &str) -> Result<Option<usize>, Fault> {
        let lines = self.number(name)?.map(|lines| lines.min(CONTEXT));
        Ok(lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX)))
    }
}

/// Returns the text with every run of blanks and line breaks as one space: a task is one line of the list.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::{Call, parse};
    use super::*;
    use serde_json::json;

    fn grep(input: Value) -> GrepArgs {
        match parse("Grep", &input) {
            Ok(Some(Call::Grep(args))) => args,
            other => panic!("a usable Grep, not {other:?}"),
        }
    }

    #[test]
    fn a_grep_has_the_defaults_of_the_document() {
        let args = grep(json!({"pattern": "x"}));
        assert_eq!((args.path.as_str(), args.mode, args.head_limit), (".", OutputMode::Files, Some(250)));
        assert_eq!((args.ignore_case, args.numbers, args.before, args.after), (false, true, 0, 0));
        let args =
            grep(json!({"pattern": "x", "head_limit": 0, "-C": "2", "-A": 5, "-i": "true", "-n": false}));
        assert_eq!((args.head_limit, args.before, args.after), (None, 2, 5));
        assert_eq!((args.ignore_case, args.numbers), (true, false));
    }

    #[test]
    fn unusable_arguments_are_named() {
        for (tool, input, part) in [
            ("Grep", json!({}), "\"pattern\" is missing"),
            ("Grep", json!({"pattern": ""}), "\"pattern\" is empty"),
            ("Grep", json!({"pattern": "x", "output_mode": "lines"}), "output_mode"),
            ("Grep", json!({"pattern": "x", "-i": 2}), "\"-i\""),
            ("Grep", json!({"pattern": "x", "-A": -1}), "\"-A\""),
            ("Glob", json!({"pattern": ["*"]}), "a list, not a text"),
            ("Glob", json!({"pattern": "x".repeat(5000)}), "4096 bytes"),
            ("Glob", json!({"pattern": "*", "path": "a\u{0}"}), "NUL"),
            ("TodoWrite", json!({"todos": "none"}), "no list"),
            ("TodoWrite", json!({"todos": [{"content": "a", "status": "done"}]}), "task 1"),
            ("TodoWrite", json!({"todos": [{"content": " ", "status": "pending"}]}), "task 1"),
            ("TodoWrite", json!({"todos": [1]}), "a number, not an object"),
        ] {
            let text = parse(tool, &input).expect_err("unusable").to_string();
            assert!(text.starts_with("invalid_input: ") && text.contains(part), "{part} is not in {text}");
        }
    }
}
