//! Puts the fragments of tool calls together (mission M7.2-assemble, M7.2-tolerant).
//!
//! - Asked by the assembler with every fragment, in order, and once at the end.
//! - Owns the calls so far. None of them is handed out before the answer has ended: half a call must never run.

use std::collections::HashSet;

use maia_protocol::model::{AnsweredCall, Unusable};
use serde_json::{Map, Value};

use super::arguments::{self, Arguments};

/// A fragment as sent; empty texts are absent.
#[derive(Debug, Default)]
pub(super) struct Fragment<'a> {
    /// Which call, when the server says so.
    pub index: Option<i64>,
    /// The provider's id.
    pub id: &'a str,
    /// The name, or a piece of it.
    pub name: &'a str,
    /// A piece of the arguments.
    pub arguments: &'a str,
}

#[derive(Debug, Default)]
struct Call {
    index: i64,
    id: String,
    name: String,
    arguments: String,
}

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Position of the call that was touched last.
    last: usize,
}

impl Calls {
    /// Tells whether no call was begun.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a fragment to the call that it belongs to, or begins one.
    pub(super) fn push(&mut self, fragment: &Fragment<'_>) {
        let position = match self.position_of(fragment) {
            Some(position) => position,
            None if fragment.id.is_empty() && fragment.name.is_empty() && fragment.arguments.is_empty() => {
                return;
            }
            None => {
                let next =
                    self.calls.iter().map(|call| call.index).max().map_or(0, |max| max.saturating_add(1));
                self.calls.push(Call { index: fragment.index.unwrap_or(next), ..Call::default() });
                self.calls.len() - 1
            }
        };
        self.last = position;
        if let Some(call) = self.calls.get_mut(position) {
            call.take(fragment);
        }
    }

    /// Finds the call that `fragment` goes on with; `None` begins a new one.
    fn position_of(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let bare = fragment.id.is_empty() && fragment.name.is_empty();
        let by_id = || {
            let same = |call: &Call| !fragment.id.is_empty() && call.id == fragment.id;
            self.calls.iter().rposition(same)
        };
        let candidate = match fragment.index {
            // An index that is used twice belongs to the call that came last on it.
            Some(index) => match self.calls.iter().rposition(|call| call.index == index) {
                Some(position) => position,
                None if bare && !self.calls.is_empty() => self.last,
                // A call that goes on under another index repeats its id, not its name.
                None if fragment.name.is_empty() => by_id()?,
                None => return None,
            },
            None => match by_id() {
                Some(position) => position,
                None if self.calls.is_empty() => return None,
                None => self.last,
            },
        };
        let call = self.calls.get(candidate)?;
        (!call.is_ended_by(fragment)).then_some(candidate)
    }

    /// Returns the calls in their order; `cut` tells that the answer was ended by an output limit, `taken` holds ids
    /// that the conversation has already.
    pub(super) fn finish(mut self, cut: bool, taken: &HashSet<String>) -> Vec<AnsweredCall> {
        // Stable: calls that share an index stay in the order of arrival.
        self.calls.sort_by_key(|call| call.index);
        let sent: HashSet<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        let mut used = taken.clone();
        let mut number = taken.len();
        let mut answered = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let mut id = call.id;
            if id.is_empty() || used.contains(&id) {
                id = loop {
                    number += 1;
                    let made_up = format!("call_{number}");
                    if !used.contains(&made_up) && !sent.contains(&made_up) {
                        break made_up;
                    }
                };
            }
            used.insert(id.clone());
            answered.push(answered_call(id, call.name, call.arguments, cut));
        }
        answered
    }
}

impl Call {
    /// Tells whether `fragment` cannot belong to this call and so begins another.
    fn is_ended_by(&self, fragment: &Fragment<'_>) -> bool {
        if !fragment.id.is_empty() && !self.id.is_empty() {
            return fragment.id != self.id;
        }
        // Without two ids to compare: a name together with arguments after a whole object is the next call.
        !fragment.name.is_empty()
            && !self.name.is_empty()
            && !fragment.arguments.trim().is_empty()
            && arguments::is_whole_object(&self.arguments)
    }

    fn take(&mut self, fragment: &Fragment<'_>) {
        if self.id.is_empty() {
            self.id.push_str(fragment.id);
        }
        // Names come in pieces from one server, whole with every fragment from another, growing from a third; none
        // of them goes on with a name once arguments have begun.
        if !fragment.name.is_empty() && fragment.name != self.name && self.arguments.is_empty() {
            if fragment.name.starts_with(&self.name) {
                self.name.clear();
            }
            self.name.push_str(fragment.name);
        } else if self.name.is_empty() {
            self.name.push_str(fragment.name);
        }
        self.arguments.push_str(fragment.arguments);
    }
}

fn answered_call(provider_id: String, name: String, raw: String, cut: bool) -> AnsweredCall {
    let bad = |unusable, raw| (Map::new(), Some(unusable), Some(raw));
    let name = name.trim().to_owned();
    let (input, unusable, raw) = match arguments::read(&raw, cut) {
        _ if name.is_empty() => bad(Unusable::NoName, raw),
        Arguments::Good(input) => (input, None, None),
        Arguments::Repaired(input) => (input, None, Some(raw)),
        Arguments::Unusable(unusable) => bad(unusable, raw),
    };
    AnsweredCall { provider_id, name, input: Value::Object(input), unusable, raw }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `id name raw-or-input` of each call made of `fragments` (index, id, name, arguments).
    fn assembled(fragments: &[(Option<i64>, &str, &str, &str)]) -> Vec<String> {
        let mut calls = Calls::default();
        for &(index, id, name, arguments) in fragments {
            calls.push(&Fragment { index, id, name, arguments });
        }
        let finished = calls.finish(false, &HashSet::new());
        finished
            .iter()
            .map(|call| {
                format!(
                    "{} {} {}",
                    call.provider_id,
                    call.name,
                    call.raw.clone().unwrap_or(call.input.to_string())
                )
            })
            .collect()
    }

    #[test]
    fn fragments_find_their_call() {
        let a = r#"{"p":1}"#;
        let b = r#"{"p":2}"#;
        // Three whole calls on index 0, by new ids (R005) and without any.
        let three = ["c1 Read {\"p\":1}", "c2 Read {\"p\":2}"];
        assert_eq!(assembled(&[(Some(0), "c1", "Read", a), (Some(0), "c2", "Read", b)]), three);
        let made_up = ["call_1 Read {\"p\":1}", "call_2 Read {\"p\":2}"];
        assert_eq!(assembled(&[(Some(0), "", "Read", a), (Some(0), "", "Read", b)]), made_up);
        assert_eq!(assembled(&[(None, "", "Read", a), (None, "", "Read", b)]), made_up);
        // A first index of 1 makes no call 0 (R007).
        assert_eq!(assembled(&[(Some(1), "c1", "Read", a)]), ["c1 Read {\"p\":1}"]);
        // Bare fragments on an unknown index go to the call before (M7.2-tolerant).
        assert_eq!(
            assembled(&[(Some(0), "c1", "Read", "{\"p\""), (Some(1), "", "", ":1}")]),
            ["c1 Read {\"p\":1}"]
        );
        // The whole name with every fragment (R037), an id that comes late, an id under another index.
        assert_eq!(
            assembled(&[(Some(0), "c1", "Read", "{\"p\""), (Some(0), "c1", "Read", ":1}")]),
            ["c1 Read {\"p\":1}"]
        );
        assert_eq!(assembled(&[(Some(0), "", "Read", ""), (Some(0), "c1", "", a)]), ["c1 Read {\"p\":1}"]);
        assert_eq!(assembled(&[(Some(0), "c1", "Read", ""), (Some(1), "c1", "", a)]), ["c1 Read {\"p\":1}"]);
        assert_eq!(
            assembled(&[(Some(0), "c1", "Todo", ""), (Some(0), "", "TodoWrite", a)]),
            ["c1 TodoWrite {\"p\":1}"]
        );
        // Nothing at all is no call.
        assert_eq!(assembled(&[(Some(0), "", "", "")]), [""; 0]);
    }

    #[test]
    fn ids_are_unique_in_the_conversation() {
        let taken = HashSet::from(["call_1".to_owned(), "x".to_owned()]);
        let mut calls = Calls::default();
        for (index, id) in [(0, "x"), (1, ""), (2, "call_3"), (3, "call_3")] {
            calls.push(&Fragment { index: Some(index), id, name: "Read", arguments: "{}" });
        }
        let ids: Vec<String> = calls.finish(false, &taken).into_iter().map(|call| call.provider_id).collect();
        assert_eq!(ids, ["call_4", "call_5", "call_3", "call_6"]);
    }
}
