//! A call in one line, for a person who watches or is asked.
//!
//! - Asked by whoever makes the event of a call or a question about it.
//! - What the model wrote is untrusted: nothing in the line can move the cursor or reorder the text (SAFETY 6).

use serde_json::Value;

/// Characters of a summary at most.
const LIMIT: usize = 200;

/// Returns the call in one line of at most 200 characters, control characters made visible.
pub fn summary(tool: &str, input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    let detail = match tool {
        "Read" => match (input.get("offset"), input.get("limit")) {
            (None, None) => text("path").to_owned(),
            (offset, limit) => {
                let first = offset.map_or("1".to_owned(), Value::to_string);
                format!(
                    "{}, from line {first}{}",
                    text("path"),
                    limit.map_or(String::new(), |n| format!(", {n} lines"))
                )
            }
        },
        "Write" | "Edit" => text("path").to_owned(),
        "Bash" => text("command").to_owned(),
        "Glob" | "Grep" => {
            let part = |name: &str| match text(name) {
                "" => String::new(),
                part => format!(" in {part}"),
            };
            format!("{}{}{}", text("pattern"), part("path"), part("glob"))
        }
        "TodoWrite" => match input.get("todos").and_then(Value::as_array).map_or(0, Vec::len) {
            1 => "1 task".to_owned(),
            count => format!("{count} tasks"),
        },
        _ if input.as_object().is_none_or(serde_json::Map::is_empty) => String::new(),
        _ => input.to_string(),
    };
    let line = format!("{tool} {detail}");
    visible(line.trim_end())
}

/// Returns `text` cut at [`LIMIT`] characters, with everything that does not simply show itself written out.
fn visible(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for character in text.chars() {
        let shown = match character {
            '\n' => "⏎".to_owned(),
            '\t' => " ".to_owned(),
            _ if hidden(character) => character.escape_default().to_string(),
            _ => character.to_string(),
        };
        let added = shown.chars().count();
        if length + added >= LIMIT {
            line.push('…');
            break;
        }
        length += added;
        line.push_str(&shown);
    }
    line
}

/// Whether a terminal would do something else than draw this character.
fn hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_one_visible_line() {
        assert_eq!(
            summary("Bash", &json!({"command": "a\nb\u{1b}[2J\u{202e}"})),
            "Bash a⏎b\\u{1b}[2J\\u{202e}"
        );
        assert_eq!(
            summary("Read", &json!({"path": "x", "offset": 5, "limit": 2})),
            "Read x, from line 5, 2 lines"
        );
        assert_eq!(summary("CurrentModel", &json!({})), "CurrentModel");
        assert_eq!(summary("Write", &json!({"path": 3})), "Write");
        assert_eq!(summary("Grep", &json!({"pattern": "a b", "path": "src", "-i": true})), "Grep a b in src");
        assert_eq!(summary("Glob", &json!({"pattern": "*.rs"})), "Glob *.rs");
        assert_eq!(summary("TodoWrite", &json!({"todos": [{}]})), "TodoWrite 1 task");
    }

    #[test]
    fn a_long_call_is_cut() {
        let line = summary("Bash", &json!({"command": "\u{1}é".repeat(500)}));
        assert!(line.chars().count() <= LIMIT && line.ends_with('…'), "{line}");
    }
}
