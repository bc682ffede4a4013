//! Turns the arguments of a call into typed values, or into a text that tells the model what was wrong.
//!
//! - Asked first by everything in this crate that looks at a call's input.
//! - Harmless casts are made (W-act-cast): `"5"` where a number is wanted, a number where a text is wanted.
//! - Anything else is refused with the parameters received and the schema (mission M8-invalid).

mod search;

use serde_json::{Map, Value};

pub(crate) use self::search::{GlobArgs, GrepArgs, OutputMode, Todo, TodoStatus};
use crate::fault::Fault;
use crate::spec::{READ_LIMIT, STDIN_LIMIT, TIMEOUT_CAP_S, specs};

/// Other names under which models send the content of a Write (mission M8-write-alias).
const CONTENT_ALIASES: [&str; 7] =
    ["content", "contents", "text", "file_text", "file_content", "data", "body"];

/// A usable call.
#[derive(Debug)]
pub(crate) enum Call {
    Read(ReadArgs),
    Write(WriteArgs),
    Edit(EditArgs),
    Bash(BashArgs),
    Glob(GlobArgs),
    Grep(GrepArgs),
    Todo(Vec<Todo>),
    CurrentModel,
}

/// Tools of this crate.
const TOOLS: [&str; 8] = ["Read", "Glob", "Grep", "Write", "Edit", "Bash", "TodoWrite", "CurrentModel"];

/// Arguments of Read.
#[derive(Debug)]
pub(crate) struct ReadArgs {
    pub(crate) path: String,
    /// First line, from 1.
    pub(crate) offset: u64,
    /// Lines wanted; `None` when the call did not say.
    pub(crate) limit: Option<u64>,
    /// First character of the first line, from 1.
    pub(crate) line_offset: u64,
}

/// Arguments of Write.
#[derive(Debug)]
pub(crate) struct WriteArgs {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// Arguments of Edit.
#[derive(Debug)]
pub(crate) struct EditArgs {
    pub(crate) path: String,
    pub(crate) old_string: String,
    pub(crate) new_string: String,
}

/// Arguments of Bash.
#[derive(Debug)]
pub(crate) struct BashArgs {
    pub(crate) command: String,
    /// Seconds, at most [`TIMEOUT_CAP_S`]; `None` when the call did not say.
    pub(crate) timeout_s: Option<u64>,
    pub(crate) stdin: Option<String>,
}

impl Call {
    /// Returns the path of the file as the model wrote it; searches have a place of their own.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Read(args) => Some(&args.path),
            Self::Write(args) => Some(&args.path),
            Self::Edit(args) => Some(&args.path),
            Self::Bash(_) | Self::Glob(_) | Self::Grep(_) | Self::Todo(_) | Self::CurrentModel => None,
        }
    }
}

impl ReadArgs {
    /// Returns the lines to give at most.
    pub(crate) fn lines(&self) -> u64 {
        self.limit.unwrap_or(READ_LIMIT)
    }
}

/// Reads the arguments of a call; `None` for a tool that is not of this crate.
///
/// # Errors
/// [`Fault::InvalidInput`].
pub(crate) fn parse(tool: &str, input: &Value) -> Result<Option<Call>, Fault> {
    if !TOOLS.contains(&tool) {
        return Ok(None);
    }
    if tool == "CurrentModel" {
        // It takes nothing, so nothing that is sent can be wrong.
        return Ok(Some(Call::CurrentModel));
    }
    // Some models encode the object twice; what is inside is what they meant.
    let inner = input.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let object = inner.as_ref().unwrap_or(input).as_object();
    let Some(map) = object else {
        return Err(invalid(tool, &Map::new(), &format!("the arguments are {}, not an object", kind(input))));
    };
    let given = Given { tool, map };
    Ok(Some(match tool {
        "Read" => Call::Read(ReadArgs {
            path: given.path()?,
            offset: given.number("offset")?.unwrap_or(1).max(1),
            limit: given.positive("limit")?,
            line_offset: given.number("line_offset")?.unwrap_or(1).max(1),
        }),
        "Write" => Call::Write(WriteArgs { path: given.path()?, content: given.content()? }),
        "Edit" => {
            let args = EditArgs {
                path: given.path()?,
                old_string: given.required("old_string")?,
                new_string: given.required("new_string")?,
            };
            if args.old_string.is_empty() {
                return Err(
                    given.fault("\"old_string\" is empty, which fits everywhere; use Write to create a file")
                );
            }
            Call::Edit(args)
        }
        "Glob" => Call::Glob(given.glob()?),
        "Grep" => Call::Grep(given.grep()?),
        "TodoWrite" => Call::Todo(given.todos()?),
        _ => Call::Bash(given.bash()?),
    }))
}

/// The parameters of one call.
struct Given<'a> {
    tool: &'a str,
    map: &'a Map<String, Value>,
}

impl Given<'_> {
    fn fault(&self, why: &str) -> Fault {
        invalid(self.tool, self.map, why)
    }

    /// Returns a parameter that is there and is not null.
    fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<String>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(other) => Err(self.fault(&format!("parameter \"{name}\" is {}, not a text", kind(other)))),
        }
    }

    fn required(&self, name: &str) -> Result<String, Fault> {
        self.text(name)?.ok_or_else(|| self.fault(&format!("parameter \"{name}\" is missing")))
    }

    fn path(&self) -> Result<String, Fault> {
        let path = self.required("path")?;
        if path.trim().is_empty() {
            return Err(self.fault("parameter \"path\" is empty"));
        }
        if path.contains('\0') {
            return Err(self.fault("parameter \"path\" holds a NUL character"));
        }
        Ok(path)
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Fault> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(self.fault(&format!("parameter \"{name}\" is not a whole number of 0 or more"))),
        }
    }

    fn positive(&self, name: &str) -> Result<Option<u64>, Fault> {
        match self.number(name)? {
            Some(0) => Err(self.fault(&format!("parameter \"{name}\" must be at least 1"))),
            number => Ok(number),
        }
    }

    fn content(&self) -> Result<String, Fault> {
        let Some(name) = CONTENT_ALIASES.into_iter().find(|name| self.get(name).is_some()) else {
            return Err(self.fault("parameter \"content\" is missing"));
        };
        let Some(Value::Array(lines)) = self.get(name) else {
            return self.required(name);
        };
        let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
        match lines {
            Some(lines) => Ok(lines.join("\n")),
            None => Err(self.fault(&format!("parameter \"{name}\" is a list that does not hold texts only"))),
        }
    }

    fn bash(&self) -> Result<BashArgs, Fault> {
        let command = self.required("command")?;
        if command.trim().is_empty() {
            return Err(self.fault("parameter \"command\" is empty"));
        }
        if command.contains('\0') {
            return Err(self.fault("parameter \"command\" holds a NUL character, which no command can"));
        }
        let stdin = self.text("stdin")?;
        if let Some(bytes) = stdin.as_ref().map(String::len).filter(|bytes| *bytes > STDIN_LIMIT) {
            return Err(
                self.fault(&format!("parameter \"stdin\" has {bytes} bytes; the limit is {STDIN_LIMIT}"))
            );
        }
        let timeout_s = self.positive("timeout")?.map(|seconds| seconds.min(TIMEOUT_CAP_S));
        Ok(BashArgs { command, timeout_s, stdin })
    }
}

/// Returns `number` as an integer when it is one that is exactly kept.
fn whole(number: f64) -> Option<u64> {
    let fits = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    // The range above makes the cast exact.
    fits.then_some(number as u64)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the refusal with what was received and what is wanted.
fn invalid(tool: &str, map: &Map<String, Value>, why: &str) -> Fault {
    let mut received: Vec<String> = map
        .iter()
        .take(20)
        .map(|(name, value)| {
            let name: String = name.chars().take(40).flat_map(char::escape_debug).collect();
            format!("{name} ({})", kind(value))
        })
        .collect();
    if map.len() > received.len() {
        received.push(format!("and {} more", map.len() - received.len()));
    }
    let received = if received.is_empty() { "none".to_owned() } else { received.join(", ") };
    let schema = specs().into_iter().find(|spec| spec.name == tool).map(|spec| spec.input_schema.to_string());
    let schema = schema.unwrap_or_default();
    Fault::InvalidInput(format!("{why}. Parameters received: {received}. {tool} takes: {schema}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(tool: &str, input: Value) -> String {
        parse(tool, &input).expect_err("unusable").to_string()
    }

    #[test]
    fn a_refusal_names_what_was_received_and_what_is_wanted() {
        let text = refusal("Edit", json!({"path": "f", "old_string": "a"}));
        for part in ["invalid_input", "new_string", "path (a text)", "old_string (a text)", "\"required\""] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(refusal("Read", json!([1])).contains("a list, not an object"));
        assert!(
            refusal("Write", json!({"path": "f", "content": {"a": 1}})).contains("an object, not a text")
        );
        assert!(refusal("Bash", json!({"command": "x", "timeout": -1})).contains("timeout"));
        assert!(refusal("Bash", json!({"command": "a\u{0}b"})).contains("NUL"));
        assert!(
            refusal("Bash", json!({"command": "cat", "stdin": "x".repeat(STDIN_LIMIT + 1)}))
                .contains("65537")
        );
        assert!(refusal("Read", json!({"path": " "})).contains("empty"));
    }

    #[test]
    fn harmless_casts_are_made() {
        let Ok(Some(Call::Read(args))) = parse("Read", &json!({"path": 5, "offset": "7", "limit": 3.0}))
        else {
            panic!("these casts are harmless");
        };
        assert_eq!((args.path.as_str(), args.offset, args.lines()), ("5", 7, 3));
        let Ok(Some(Call::Bash(args))) = parse("Bash", &json!("{\"command\": \"ls\", \"timeout\": 120000}"))
        else {
            panic!("an object encoded twice is one");
        };
        assert_eq!(args.timeout_s, Some(TIMEOUT_CAP_S));
    }

    #[test]
    fn content_goes_under_many_names() {
        for name in CONTENT_ALIASES {
            let Ok(Some(Call::Write(args))) = parse("Write", &json!({"path": "f", name: ["a", "b"]})) else {
                panic!("{name} is an alias");
            };
            assert_eq!(args.content, "a\nb");
        }
    }

    #[test]
    fn other_tools_are_left_alone() {
        assert!(parse("WebFetch", &json!(null)).expect("not ours").is_none());
    }
}
