//! The task list and the name of the model: two tools that touch nothing (mission M8-todo, M8-currentmodel).
//!
//! - Asked by the actor that carries out one call; pure, so they need no thread of their own.
//! - Nothing is kept: a list replaces the one before, and the conversation holds it.

use std::fmt::Write as _;

use maia_protocol::tool::ToolOutput;
use serde_json::Value;

use crate::args::{self, Call, Todo, TodoStatus};

/// Returns the list as it is shown: `☐` pending, `▶` in progress, `☑` completed (mission M8-todo).
///
/// A task in progress is called by its `activeForm` where it has one. More than one of them is worth a warning.
pub fn todo(input: &Value) -> ToolOutput {
    match args::parse("TodoWrite", input) {
        Ok(Some(Call::Todo(todos))) => ToolOutput::ok(render(&todos)),
        Ok(_) => ToolOutput::error("invalid_input: this is no TodoWrite"),
        Err(fault) => fault.into(),
    }
}

/// Returns the name of the active model, which the caller reads when the call is made (mission M8-currentmodel).
pub fn current_model(model: &str) -> ToolOutput {
    ToolOutput::ok(model)
}

fn render(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "the list is empty".to_owned();
    }
    let lines: Vec<String> = todos
        .iter()
        .map(|todo| match todo.status {
            TodoStatus::Pending => format!("☐ {}", todo.content),
            TodoStatus::InProgress => format!("▶ {}", todo.active_form.as_ref().unwrap_or(&todo.content)),
            TodoStatus::Completed => format!("☑ {}", todo.content),
        })
        .collect();
    let mut text = lines.join("\n");
    let under_way = todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
    if under_way > 1 {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[warning: {under_way} tasks are in progress; keep it to one at a time]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn task(content: &str, status: &str) -> Value {
        json!({"content": content, "status": status, "activeForm": format!("Doing {content}")})
    }

    #[test]
    fn a_list_is_shown_by_its_states() {
        let list = json!([task("a", "completed"), task("b\n  c", "in_progress"), task("d", "pending")]);
        let shown = "☑ a\n▶ Doing b c\n☐ d";
        assert_eq!(todo(&json!({"todos": list})), ToolOutput::ok(shown));
        assert_eq!(todo(&json!({"todos": list.to_string()})), ToolOutput::ok(shown));
        assert_eq!(todo(&json!({"todos": []})).text, "the list is empty");
        let plain = json!({"todos": [{"content": "a", "status": "in_progress", "activeForm": " "}]});
        assert_eq!(todo(&plain).text, "▶ a");
    }

    #[test]
    fn several_tasks_in_progress_are_worth_a_warning() {
        let output = todo(&json!({"todos": [task("a", "in_progress"), task("b", "in_progress")]}));
        assert!(output.text.contains("warning: 2 tasks") && !output.is_error, "{}", output.text);
    }

    #[test]
    fn an_unusable_list_is_an_error() {
        let output = todo(&json!({"todos": {}}));
        assert!(output.is_error && output.text.starts_with("invalid_input: "), "{}", output.text);
        assert!(todo(&json!(null)).is_error);
    }
}
