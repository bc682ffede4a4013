//! What the keys of the header mean: defaults, warnings, refusals (mission M20.1, point 11 of the open points).

use maia_protocol::RuleSet;
use maia_protocol::definition::Effort;

use super::fault::{At, Fault};
use super::header::{Entry, Item, Value, spelling};
use super::rule::is_rule;
use super::scalar::split_commas;

/// What the header says.
pub(super) struct Fields {
    pub name: String,
    pub description: String,
    pub model: Option<String>,
    pub tools: Option<Vec<String>>,
    pub permissions: RuleSet,
    pub effort: Effort,
    pub skills: Option<Vec<String>>,
    pub omit_md: bool,
    pub trace: bool,
}

/// Tells whether `name` can name an agent: ASCII letters, digits, `_`, `.`, `-`, not dots alone (mission M20.1-dirs).
pub fn valid_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
        && name.chars().any(|c| c != '.')
}

/// Reads `entries`; the header begins on line `first`.
pub(super) fn read(
    folder: &str,
    entries: Vec<Entry>,
    first: u32,
    warnings: &mut Vec<Fault>,
) -> Result<Fields, Fault> {
    let mut name = None;
    let mut description = None;
    let mut fields = Fields {
        name: String::new(),
        description: String::new(),
        model: None,
        tools: None,
        permissions: RuleSet::default(),
        effort: Effort::default(),
        skills: None,
        omit_md: false,
        trace: false,
    };
    for entry in entries {
        let at = entry.value_at;
        match spelling(&entry.key) {
            Some("name") => name = text(entry.value).map(|text| (text, at)),
            Some("description") => description = text(entry.value),
            Some("model") => fields.model = text(entry.value),
            Some(key @ "tools") => fields.tools = names(key, entry, warnings)?,
            Some(key @ "skills") => fields.skills = names(key, entry, warnings)?,
            Some("permissions") => fields.permissions = permissions(entry, warnings)?,
            Some("effort") => fields.effort = effort(entry, warnings),
            Some(key @ "omitMd") => fields.omit_md = boolean(key, entry, warnings),
            Some(key @ "trace") => fields.trace = boolean(key, entry, warnings),
            _ => warnings.push(unknown_key(&entry)),
        }
    }
    fields.name = agent_name(folder, name, first, warnings)?;
    fields.description = description.ok_or_else(|| {
        Fault::new(
            "description_missing",
            "the header has no `description`: say in one line when this agent should be used",
        )
        .on_line(first)
    })?;
    Ok(fields)
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn agent_name(
    folder: &str,
    name: Option<(String, At)>,
    first: u32,
    warnings: &mut Vec<Fault>,
) -> Result<String, Fault> {
    let place = |fault: Fault| match &name {
        Some((_, at)) => fault.at(*at),
        None => fault.on_line(first),
    };
    let written = name.as_ref().map_or(folder, |(name, _)| name.as_str());
    if !valid_name(written) {
        let message = format!(
            "`{written}` cannot name an agent: use letters, digits, `_`, `.` and `-` for the folder and `name`"
        );
        return Err(place(Fault::new("name_invalid", message)));
    }
    if written != folder {
        let message = format!("`name` is `{written}` but the folder is `{folder}`: give both the same name");
        return Err(place(Fault::new("name_mismatch", message)));
    }
    if name.is_none() {
        let message = format!("the header has no `name`: the folder's name `{folder}` is taken");
        warnings.push(Fault::new("name_missing", message).on_line(first));
    }
    Ok(written.to_owned())
}

/// Reads `tools` or `skills`; `None` is the default, an empty list is none at all.
fn names(key: &str, entry: Entry, warnings: &mut Vec<Fault>) -> Result<Option<Vec<String>>, Fault> {
    match entry.value {
        Value::Null => {
            let message =
                format!("`{key}` is empty and so as if it were not there: write `{key}: []` for none");
            warnings.push(Fault::new(format!("empty_value:{key}"), message).at(entry.at));
            Ok(None)
        }
        Value::Text(text) => Ok(Some(split_commas(&text))),
        Value::List(items) => Ok(Some(items.into_iter().map(|item| item.text).collect())),
        Value::Table(_) | Value::Skipped => {
            let message = format!("`{key}` is a table: write a list, `{key}: [a, b]`");
            Err(Fault::new(format!("{key}_not_a_list"), message).at(entry.value_at))
        }
    }
}

fn permissions(entry: Entry, warnings: &mut Vec<Fault>) -> Result<RuleSet, Fault> {
    let mut rules = RuleSet::default();
    let lists = match entry.value {
        Value::Table(lists) => lists,
        Value::Null => {
            let message = "`permissions` is empty: indent `allow`, `ask` and `deny` below it";
            warnings.push(Fault::new("empty_value:permissions", message).at(entry.at));
            return Ok(rules);
        }
        Value::Text(_) | Value::List(_) | Value::Skipped => {
            let message =
                "`permissions` is no table: indent `allow:`, `ask:` and `deny:` below it, each with a list";
            return Err(Fault::new("permissions_not_a_table", message).at(entry.value_at));
        }
    };
    let mut seen: Vec<String> = Vec::new();
    for list in lists {
        let key = list.key.to_lowercase();
        if seen.contains(&key) {
            let message = format!("`{key}` stands twice in `permissions`: join the two lists");
            return Err(Fault::new(format!("duplicate_key:{key}"), message).at(list.at));
        }
        seen.push(key.clone());
        match key.as_str() {
            "allow" => rules.allow = rules_of(&key, list, warnings)?,
            "ask" => rules.ask = rules_of(&key, list, warnings)?,
            "deny" => rules.deny = rules_of(&key, list, warnings)?,
            _ => warnings.push(unknown_key(&list)),
        }
    }
    Ok(rules)
}

fn rules_of(key: &str, list: Entry, warnings: &mut Vec<Fault>) -> Result<Vec<String>, Fault> {
    let items = match list.value {
        Value::Null => Vec::new(),
        Value::List(items) => items,
        Value::Text(text) => {
            split_commas(&text).into_iter().map(|text| Item { text, at: list.value_at }).collect()
        }
        Value::Table(_) | Value::Skipped => {
            let message = format!("`{key}` is a table: write a list of rules, `{key}: [Read, Bash(git *)]`");
            return Err(Fault::new(format!("permissions_not_a_list:{key}"), message).at(list.value_at));
        }
    };
    let mut rules = Vec::new();
    for Item { text, at } in items {
        if is_rule(&text) {
            rules.push(text);
            continue;
        }
        let message = format!("`{text}` in `{key}` is no rule: write `Tool` or `Tool(pattern)`");
        let fault = Fault::new(format!("rule_malformed:{text}"), message).at(at);
        // A lost `allow` only asks more often; a lost `ask` or `deny` takes away what its writer relies on.
        if key != "allow" {
            return Err(fault);
        }
        warnings.push(fault);
    }
    Ok(rules)
}

fn effort(entry: Entry, warnings: &mut Vec<Fault>) -> Effort {
    let at = entry.value_at;
    let Some(written) = text(entry.value) else { return Effort::default() };
    match written.to_lowercase().as_str() {
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        other => match other.parse::<u32>() {
            Ok(n @ 1..=100) => Effort::Iterations(n),
            _ => {
                let message = format!(
                    "`{written}` is no effort: write low, medium, high or a number from 1 to 100; medium is taken"
                );
                warnings.push(Fault::new(format!("unknown_effort:{written}"), message).at(at));
                Effort::default()
            }
        },
    }
}

fn boolean(key: &str, entry: Entry, warnings: &mut Vec<Fault>) -> bool {
    let at = entry.value_at;
    let Some(written) = text(entry.value) else { return false };
    match written.to_lowercase().as_str() {
        "true" => true,
        "false" => false,
        _ => {
            let message = format!("`{key}: {written}` is neither true nor false; false is taken");
            warnings.push(Fault::new(format!("unknown_boolean:{key}"), message).at(at));
            false
        }
    }
}

fn unknown_key(entry: &Entry) -> Fault {
    let key = &entry.key;
    let mend = match key.to_lowercase().as_str() {
        "allow" | "ask" | "deny" => "it belongs under `permissions:`, indented",
        _ => "check its spelling, or take it out",
    };
    Fault::new(format!("unknown_key:{key}"), format!("`{key}` means nothing here and is ignored: {mend}"))
        .at(entry.at)
}
