//! `permissions` of a settings file: three lists of rules as text (mission M9.1). What they mean is `core::permission`.

use maia_core::agent_file::is_rule;
use maia_protocol::RuleSet;

use super::json::Json;

/// Something in `permissions` that is passed over: the text to look for, the cause, the mend.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// A key or rule of the file, to find its line by.
    pub near: String,
    /// The cause.
    pub message: String,
    /// The mend.
    pub mend: String,
}

/// Reads the rules in `value` into `rules`: malformed ones are passed over and said (mission M9.1-sources).
///
/// Lists that stand twice add up, so that no `deny` is lost to a later one.
pub fn read(value: &Json, rules: &mut RuleSet) -> Vec<RuleFault> {
    let Json::Object(lists) = value else {
        return vec![RuleFault {
            near: "permissions".to_owned(),
            message: "`permissions` is no object, so no rule of it counts".to_owned(),
            mend: "write `\"permissions\": {\"allow\": [], \"ask\": [], \"deny\": []}`".to_owned(),
        }];
    };
    let mut faults = Vec::new();
    for (name, value) in lists {
        let list = match name.as_str() {
            "allow" => &mut rules.allow,
            "ask" => &mut rules.ask,
            "deny" => &mut rules.deny,
            _ => {
                let message = format!("`{name}` in `permissions` means nothing and is ignored");
                faults.push(fault(name, message, "the lists are `allow`, `ask` and `deny`"));
                continue;
            }
        };
        let items = match value {
            Json::List(items) => items.as_slice(),
            Json::Text(_) => std::slice::from_ref(value),
            Json::Null => &[],
            _ => {
                faults.push(fault(
                    name,
                    format!("`{name}` is no list, so no rule of it counts"),
                    "write a list of texts",
                ));
                continue;
            }
        };
        for item in items {
            match item {
                Json::Text(rule) if is_rule(rule.trim()) => list.push(rule.trim().to_owned()),
                Json::Text(rule) => faults.push(fault(
                    rule,
                    format!("`{rule}` in `{name}` is no rule and is ignored"),
                    "write `Tool` or `Tool(pattern)`",
                )),
                _ => faults.push(fault(
                    name,
                    format!("an item of `{name}` is no text and is ignored"),
                    "write each rule as a text: `\"Read\"`",
                )),
            }
        }
    }
    faults
}

fn fault(near: &str, message: String, mend: &str) -> RuleFault {
    RuleFault { near: near.to_owned(), message, mend: mend.to_owned() }
}
