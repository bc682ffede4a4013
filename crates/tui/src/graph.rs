//! The tasks that an agent has handed on: the graph of a `Delegate` call, or the one task of an `Agent` call.
//!
//! Filled by the fold; asked by the transcript and the inspector. How far a task is comes from `graph` events, and
//! from its agent's own events where those are missing: `graph` events are live, a resumed session has none.

use jiff::Timestamp;
use maia_protocol::event::{GraphTask, TaskState};
use maia_protocol::{CallId, Outcome};
use serde_json::Value;

use crate::visible::visible_line;

/// Characters of an id or a name that are kept.
const NAME: usize = 200;

/// A task, texts made visible.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The definition that does it.
    pub agent: String,
    /// Indices of the tasks that it waits for.
    pub after: Vec<usize>,
    /// How far it is.
    pub state: TaskState,
    /// When its agent began.
    pub began: Option<Timestamp>,
    /// How long its agent took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Index of its agent in the tree.
    pub child: Option<usize>,
}

/// The tasks of one call.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The call.
    pub call: CallId,
    /// Its tasks, in the order in which they were written.
    pub tasks: Vec<Task>,
    /// Whether it is a graph; else the one task of an `Agent` call.
    pub is_graph: bool,
    /// Whether the call has no result yet.
    pub is_open: bool,
    /// Exact texts of the tasks, to know their agents by; empty when not known.
    texts: Vec<String>,
}

impl Graph {
    /// Returns the tasks of a call of `Delegate` or `Agent` as its input tells them.
    pub fn of_call(call: &CallId, tool: &str, input: &Value) -> Option<Self> {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let written: Vec<&Value> = match tool {
            "Agent" => vec![input],
            "Delegate" => input.get("tasks")?.as_array()?.iter().collect(),
            _ => return None,
        };
        let after = |value: &Value| {
            let ids = value.get("after").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            ids.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let told: Vec<GraphTask> = written
            .iter()
            .map(|task| {
                let after = after(task);
                let state = if after.is_empty() { TaskState::Ready } else { TaskState::Blocked };
                GraphTask { id: text(task, "id"), agent: text(task, "agent"), after, state }
            })
            .collect();
        Some(Self {
            call: call.clone(),
            tasks: tasks(&told),
            is_graph: tool == "Delegate",
            is_open: true,
            texts: written.iter().map(|task| text(task, "task")).collect(),
        })
    }

    /// Returns the graph that an event tells of a call whose input was not heard.
    pub fn of_event(call: &CallId, told: &[GraphTask]) -> Self {
        Self { call: call.clone(), tasks: tasks(told), is_graph: true, is_open: true, texts: Vec::new() }
    }

    /// Takes how far the tasks are.
    pub fn told(&mut self, told: &[GraphTask]) {
        let mut now = tasks(told);
        for (task, before) in now.iter_mut().zip(&self.tasks).filter(|(task, before)| task.id == before.id) {
            (task.began, task.duration_ms, task.child) = (before.began, before.duration_ms, before.child);
        }
        self.tasks = now;
    }

    /// Takes that the agent `child` of `definition` begins with `text`; tells whether that is one of these tasks.
    pub fn begins(&mut self, child: usize, definition: &str, text: &str, time: Timestamp) -> bool {
        if !self.is_open {
            return false;
        }
        let fits = |at: usize, task: &Task| {
            // A task's text is followed by what its prerequisites handed back.
            let is_text = self.texts.get(at).is_none_or(|task| {
                text.strip_prefix(task.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
            });
            task.child.is_none() && task.agent.eq_ignore_ascii_case(definition) && is_text
        };
        let Some(at) = self.tasks.iter().enumerate().position(|(at, task)| fits(at, task)) else {
            return false;
        };
        if let Some(task) = self.tasks.get_mut(at) {
            (task.child, task.began, task.state) = (Some(child), Some(time), TaskState::Running);
        }
        true
    }

    /// Takes that the agent `child` has ended; tells whether it had one of these tasks.
    pub fn ends(&mut self, child: usize, outcome: Outcome, duration_ms: u64) -> bool {
        let Some(task) = self.tasks.iter_mut().find(|task| task.child == Some(child)) else { return false };
        task.duration_ms = Some(duration_ms);
        task.state = if outcome == Outcome::Done { TaskState::Done } else { TaskState::Failed };
        true
    }

    /// Takes that the call has its result: what has not begun does not begin any more.
    pub fn closes(&mut self) {
        self.is_open = false;
        for task in &mut self.tasks {
            if matches!(task.state, TaskState::Blocked | TaskState::Ready) {
                task.state = TaskState::Skipped;
            }
        }
    }
}

fn tasks(told: &[GraphTask]) -> Vec<Task> {
    let by_id: std::collections::HashMap<&str, usize> =
        told.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let name = |text: &str| visible_line(crate::visible::cut(text, NAME).0).into_owned();
    let task = |task: &GraphTask| {
        let mut after: Vec<usize> =
            task.after.iter().filter_map(|id| by_id.get(id.as_str()).copied()).collect();
        after.sort_unstable();
        after.dedup();
        Task {
            id: name(&task.id),
            agent: name(&task.agent),
            after,
            state: task.state,
            began: None,
            duration_ms: None,
            child: None,
        }
    };
    told.iter().map(task).collect()
}

#[cfg(test)]
mod tests {
    use maia_protocol::ActorPath;
    use serde_json::json;

    use super::*;

    #[test]
    fn states_come_from_agents_where_no_event_tells_them() {
        let call = CallId::new(&ActorPath::main(), 1, 1);
        let input = json!({"tasks": [
            {"id": "a", "agent": "explorer", "task": "look"},
            {"id": "b", "agent": "explorer", "task": "look around"},
            {"id": "c", "agent": "writer", "task": "write", "after": ["a", "b", "nobody"]},
        ]});
        let mut graph = Graph::of_call(&call, "Delegate", &input).expect("a graph");
        let time = Timestamp::UNIX_EPOCH;
        assert!(graph.begins(7, "explorer", "look around", time));
        assert!(graph.begins(8, "Explorer", "look", time));
        assert!(!graph.begins(9, "explorer", "look", time), "both have begun");
        assert!(!graph.begins(9, "writer", "write this", time), "another text");
        assert!(
            graph.ends(7, Outcome::Done, 5)
                && graph.ends(8, Outcome::TimedOut, 6)
                && !graph.ends(9, Outcome::Done, 7)
        );
        graph.closes();
        let told: Vec<_> = graph
            .tasks
            .iter()
            .map(|task| (task.id.as_str(), task.state, task.after.len(), task.duration_ms))
            .collect();
        let expected = [
            ("a", TaskState::Failed, 0, Some(6)),
            ("b", TaskState::Done, 0, Some(5)),
            ("c", TaskState::Skipped, 2, None),
        ];
        assert_eq!(told, expected);
    }
}
