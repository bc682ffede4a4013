//! What holds for every JSON stream of a session that was not killed (SPEC section 4, Events).
//!
//! - Asked by tests of whole runs about the lines of stdout; owns nothing.

use std::collections::{BTreeMap, BTreeSet};

use maia_protocol::Event;
use serde_json::Value;

/// Returns the events of one type.
pub fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Returns a field of an event as text; empty when it has none.
pub fn field<'a>(event: &'a Value, name: &str) -> &'a str {
    event[name].as_str().unwrap_or_default()
}

/// Tells what is wrong with the stream of a whole session.
///
/// # Errors
/// The first thing that is not as SPEC section 4 says.
pub fn check_stream(events: &[Value]) -> Result<(), String> {
    let first = events.first().ok_or("there are no events")?;
    if first["type"] != "session_started" {
        return Err(format!("it begins with {first}"));
    }
    if events.last().is_none_or(|last| last["type"] != "session_ended") {
        return Err(format!("it ends with {}", events.last().unwrap_or(first)));
    }
    for (kind, wanted) in [("session_started", 1), ("session_ended", 1)] {
        let found = of_type(events, kind).len();
        if found != wanted {
            return Err(format!("{found} times {kind}"));
        }
    }
    let mut before = 0;
    for event in events {
        documented(event)?;
        let seq = event["seq"].as_u64().ok_or_else(|| format!("no seq: {event}"))?;
        if seq < before {
            return Err(format!("seq falls from {before}: {event}"));
        }
        before = seq;
        if event["session"] != first["session"] {
            return Err(format!("of another session: {event}"));
        }
    }
    let mut agents: BTreeMap<&str, i32> = BTreeMap::new();
    let begins = ["agent_spawned", "agent_resumed", "agent_asked_again"];
    for event in events {
        let kind = field(event, "type");
        let change = i32::from(begins.contains(&kind)) - i32::from(kind == "agent_finished");
        *agents.entry(field(event, "actor")).or_default() += change;
    }
    if let Some((agent, more)) = agents.iter().find(|(_, more)| **more != 0) {
        return Err(format!("{agent} began {more} times more often than it finished"));
    }
    pairs(events, "tool_call", "tool_result")
}

/// Every id of `begin` has exactly one `end`, later; an end without a beginning belongs to a session that was resumed.
fn pairs(events: &[Value], begin: &str, end: &str) -> Result<(), String> {
    let mut begun = BTreeSet::new();
    let mut ended = BTreeSet::new();
    let resumed = events.first().is_some_and(|first| first["resumed"] == true);
    for event in events {
        let id = field(event, "id");
        if event["type"] == begin && !begun.insert(id) {
            return Err(format!("a second {begin} of {id}"));
        }
        if event["type"] == end {
            if !begun.contains(id) && !resumed {
                return Err(format!("{end} of {id} without {begin}"));
            }
            if !ended.insert(id) {
                return Err(format!("a second {end} of {id}"));
            }
        }
    }
    match begun.difference(&ended).next() {
        Some(id) => Err(format!("{begin} of {id} without {end}")),
        None => Ok(()),
    }
}

/// Every line is an event of the documented form: read and written again it is the same.
fn documented(line: &Value) -> Result<(), String> {
    let event: Event = serde_json::from_value(line.clone()).map_err(|error| format!("{error}: {line}"))?;
    let again = serde_json::to_value(&event).map_err(|error| format!("{error}: {line}"))?;
    if again == *line { Ok(()) } else { Err(format!("it is read as {again}: {line}")) }
}
