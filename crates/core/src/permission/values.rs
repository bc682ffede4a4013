//! The texts in the input of a tool that maia knows nothing of (mission M9.3-other).
//!
//! - Asked by the rules of custom tools and of servers' tools.

use serde_json::Value;

/// Values within the input that are looked at.
const MAX_VALUES: usize = 10_000;

/// Returns the texts of the input: those at its top, and all.
pub(super) fn values(input: &Value) -> (Vec<String>, Vec<String>) {
    let mut all = Vec::new();
    let mut top = Vec::new();
    let mut open = vec![(input, 0)];
    while let Some((value, depth)) = open.pop() {
        if all.len() >= MAX_VALUES {
            break;
        }
        let shown = match value {
            Value::Null => None,
            Value::Bool(value) => Some(value.to_string()),
            Value::Number(number) => Some(show_number(number)),
            Value::String(text) => Some(text.clone()),
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (item, depth + 1)));
                None
            }
            Value::Object(fields) => {
                open.extend(fields.values().map(|item| (item, depth + 1)));
                None
            }
        };
        if let Some(shown) = shown {
            if depth <= 1 {
                top.push(shown.clone());
            }
            all.push(shown);
        }
    }
    (top, all)
}

/// Returns a number as people write it: `5.0` is 5.
fn show_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if !number.is_i64() && !number.is_u64() && float.fract() == 0.0 && float.abs() < 1e15 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}
