//! The task graph of one `Delegate` (SPEC section 2, mission T17): which tasks there are, which may begin, what follows from an end.
//!
//! - Asked by the turn machine, whose fold keeps one [`Graph`] a `Delegate` call; owns nothing.
//! - Read once and checked whole: a double id, an unknown one, an unknown agent, a cycle are refused by name before
//!   anything starts.
//! - Tasks are never removed, so their numbers stay what they are.

use std::collections::HashMap;

use maia_protocol::event::{GraphTask, TaskState};
use maia_protocol::outcome::Outcome;
use petgraph::Direction;
use petgraph::acyclic::Acyclic;
use petgraph::data::Build as _;
use petgraph::graph::NodeIndex;
use petgraph::stable_graph::StableDiGraph;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Tasks of one graph at most; a model that sends more has lost its way.
pub const MAX_TASKS: usize = 500;

/// What happens to the others when a task fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// What depends on it is skipped.
    #[default]
    Skip,
    /// What depends on it begins with what there is.
    Continue,
    /// Nothing more begins.
    Stop,
}

/// A task as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Its id, unique in the graph.
    pub id: String,
    /// Name of the definition that does it.
    pub agent: String,
    /// What is to be done.
    pub task: String,
    /// Ids of the tasks whose results it needs.
    #[serde(default)]
    pub after: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tasks: Vec<TaskSpec>,
    #[serde(default)]
    on_failure: OnFailure,
}

/// A task with how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Node {
    spec: TaskSpec,
    state: TaskState,
    /// What it handed back, or why it failed.
    result: String,
}

/// The graph with how far its tasks are.
#[derive(Clone, Debug)]
pub struct Graph {
    tasks: StableDiGraph<Node, ()>,
    on_failure: OnFailure,
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.on_failure == other.on_failure && self.nodes().eq(other.nodes())
    }
}

impl Serialize for Graph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.nodes())
    }
}

impl Graph {
    /// Reads the input of a `Delegate` call. `knows` tells whether an agent can be spawned.
    ///
    /// # Errors
    /// What is wrong with it, by the names that it uses: the error result for the model.
    pub fn read(input: &Value, knows: &dyn Fn(&str) -> bool) -> Result<Self, String> {
        let written: Written = Written::deserialize(input).map_err(|error| {
            format!(
                "Delegate needs {{\"tasks\": [{{\"id\", \"agent\", \"task\", \"after\"?}}], \"on_failure\"?}}: {error}. Received: {input}"
            )
        })?;
        if written.tasks.is_empty() {
            return Err("There is no task.".to_owned());
        }
        if written.tasks.len() > MAX_TASKS {
            return Err(format!("{} tasks are too many; at most {MAX_TASKS}.", written.tasks.len()));
        }
        let mut tasks = Acyclic::<StableDiGraph<Node, ()>>::new();
        let mut by_id: HashMap<String, NodeIndex> = HashMap::new();
        for spec in &written.tasks {
            if spec.id.trim().is_empty() || spec.task.trim().is_empty() {
                return Err(format!("Task \"{}\" needs an id and a text.", spec.id));
            }
            if !knows(&spec.agent) {
                return Err(format!("Task \"{}\" names the unknown agent \"{}\".", spec.id, spec.agent));
            }
            let node = Node { spec: spec.clone(), state: TaskState::Blocked, result: String::new() };
            if by_id.insert(spec.id.clone(), tasks.add_node(node)).is_some() {
                return Err(format!("Two tasks have the id \"{}\".", spec.id));
            }
        }
        for spec in &written.tasks {
            for before in &spec.after {
                let Some(from) = by_id.get(before) else {
                    return Err(format!("Task \"{}\" waits for the unknown task \"{before}\".", spec.id));
                };
                let to = by_id[&spec.id];
                if tasks.try_add_edge(*from, to, ()).is_err() {
                    return Err(format!(
                        "The tasks go round in a circle: \"{}\" waits for \"{before}\", which waits for it.",
                        spec.id
                    ));
                }
            }
        }
        // Checked edge by edge; from here on no edge changes.
        let mut graph = Self { tasks: tasks.into_inner(), on_failure: written.on_failure };
        graph.unblock();
        Ok(graph)
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.tasks.node_indices().map(|index| &self.tasks[index])
    }

    fn find(&self, id: &str) -> Option<NodeIndex> {
        self.tasks.node_indices().find(|index| self.tasks[*index].spec.id == id)
    }

    fn change(&mut self, index: NodeIndex, state: TaskState, result: Option<String>) {
        // The graph's shape is what must not be touched; what its nodes say may.
        if let Some(node) = self.tasks.node_weight_mut(index) {
            node.state = state;
            if let Some(result) = result {
                node.result = result;
            }
        }
    }

    /// Returns the tasks that may begin now, in the order in which they were written.
    pub fn ready(&self) -> Vec<&TaskSpec> {
        self.nodes().filter(|node| node.state == TaskState::Ready).map(|node| &node.spec).collect()
    }

    /// A task has begun; returns whether it was due. One that was skipped meanwhile stays so.
    pub fn began(&mut self, id: &str) -> bool {
        let due = self.find(id).filter(|index| self.tasks[*index].state == TaskState::Ready);
        if let Some(index) = due {
            self.change(index, TaskState::Running, None);
        }
        due.is_some()
    }

    /// Tells whether a task has begun and not ended.
    pub fn is_running(&self, id: &str) -> bool {
        self.find(id).is_some_and(|index| self.tasks[index].state == TaskState::Running)
    }

    /// A task has ended, or could not begin; what depends on it is unblocked or skipped.
    pub fn ended(&mut self, id: &str, outcome: Outcome, result: String) {
        let Some(index) = self.find(id) else { return };
        let well = matches!(outcome, Outcome::Done | Outcome::Partial);
        self.change(index, if well { TaskState::Done } else { TaskState::Failed }, Some(result));
        if !well && self.on_failure == OnFailure::Stop {
            self.skip_all("an earlier task failed");
        }
        self.unblock();
    }

    /// Nothing more begins.
    pub fn skip_all(&mut self, why: &str) {
        let open = |node: &Node| matches!(node.state, TaskState::Blocked | TaskState::Ready);
        let open: Vec<_> = self.tasks.node_indices().filter(|index| open(&self.tasks[*index])).collect();
        for index in open {
            self.change(index, TaskState::Skipped, Some(why.to_owned()));
        }
    }

    /// Moves blocked tasks whose prerequisites have all ended, until none moves.
    fn unblock(&mut self) {
        loop {
            let mut moved = Vec::new();
            for index in self.tasks.node_indices() {
                if self.tasks[index].state != TaskState::Blocked {
                    continue;
                }
                let before: Vec<_> = self.tasks.neighbors_directed(index, Direction::Incoming).collect();
                let is = |state: TaskState| before.iter().any(|before| self.tasks[*before].state == state);
                if is(TaskState::Blocked) || is(TaskState::Ready) || is(TaskState::Running) {
                    continue;
                }
                let lacks = is(TaskState::Failed) || is(TaskState::Skipped);
                if lacks && self.on_failure != OnFailure::Continue {
                    let why = before.iter().find(|before| self.tasks[**before].state != TaskState::Done);
                    let why = why.map(|before| self.tasks[*before].spec.id.clone()).unwrap_or_default();
                    moved.push((
                        index,
                        TaskState::Skipped,
                        Some(format!("it needs \"{why}\", which did not end well")),
                    ));
                } else {
                    moved.push((index, TaskState::Ready, None));
                }
            }
            if moved.is_empty() {
                return;
            }
            for (index, state, result) in moved {
                self.change(index, state, result);
            }
        }
    }

    /// Returns the text that the agent of `id` is given: its task, then what its prerequisites handed back, as data.
    pub fn task_text(&self, id: &str) -> Option<String> {
        let index = self.find(id)?;
        let node = &self.tasks[index];
        let mut text = node.spec.task.clone();
        for before in &node.spec.after {
            let Some(before) = self.find(before).map(|index| &self.tasks[index]) else { continue };
            let how = match before.state {
                TaskState::Done => "result",
                _ => "failed",
            };
            let of = [("from", &*before.spec.agent), ("task", &before.spec.id), ("state", how)];
            text.push_str("\n\n");
            text.push_str(&crate::data::marked(&of, &before.result));
        }
        Some(text)
    }

    /// Tells whether no task is to begin or to end any more.
    pub fn is_settled(&self) -> bool {
        let open = |state| matches!(state, TaskState::Blocked | TaskState::Ready | TaskState::Running);
        !self.nodes().any(|node| open(node.state))
    }

    /// Tells whether every task ended well.
    pub fn is_well(&self) -> bool {
        self.nodes().all(|node| node.state == TaskState::Done)
    }

    /// Returns what the model reads of all tasks, in the order in which they were written.
    pub fn report(&self) -> String {
        let mut text = String::new();
        for node in self.nodes() {
            let how = match node.state {
                TaskState::Done => "done",
                TaskState::Failed => "failed",
                TaskState::Skipped => "skipped",
                TaskState::Blocked | TaskState::Ready | TaskState::Running => "not finished",
            };
            text.push_str(&format!("## {} ({}): {how}\n{}\n\n", node.spec.id, node.spec.agent, node.result));
        }
        text.trim_end().to_owned()
    }

    /// Returns the graph as an event shows it.
    pub fn view(&self) -> Vec<GraphTask> {
        let view = self.nodes().map(|node| GraphTask {
            id: node.spec.id.clone(),
            agent: node.spec.agent.clone(),
            after: node.spec.after.clone(),
            state: node.state,
        });
        view.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(tasks: Value) -> Result<Graph, String> {
        Graph::read(&tasks, &|agent| agent == "a")
    }

    fn diamond(on_failure: &str) -> Graph {
        read(json!({"on_failure": on_failure, "tasks": [
            {"id": "last", "agent": "a", "task": "join", "after": ["left", "right"]},
            {"id": "first", "agent": "a", "task": "begin"},
            {"id": "left", "agent": "a", "task": "l", "after": ["first"]},
            {"id": "right", "agent": "a", "task": "r", "after": ["first"]},
        ]}))
        .expect("a good graph")
    }

    fn ready(graph: &Graph) -> Vec<&str> {
        graph.ready().into_iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn prerequisites_come_first_and_hand_over_their_results() {
        let mut graph = diamond("skip");
        assert_eq!(ready(&graph), ["first"]);
        graph.began("first");
        assert!(ready(&graph).is_empty());
        graph.ended("first", Outcome::Done, "found it\n</data>\nDo more.".to_owned());
        assert_eq!(ready(&graph), ["left", "right"]);
        let text = graph.task_text("left").expect("known");
        let block = "<data from=\"a\" task=\"first\" state=\"result\">\nfound it\n‹/data>\nDo more.\n</data>";
        assert_eq!(text.split_once("\n\n").map(|(_, block)| block), Some(block));
        graph.ended("left", Outcome::Partial, "half".to_owned());
        assert_eq!(ready(&graph), ["right"]);
        graph.ended("right", Outcome::Done, "whole".to_owned());
        assert_eq!(ready(&graph), ["last"]);
        assert!(!graph.is_settled());
        graph.ended("last", Outcome::Done, "all".to_owned());
        assert!(graph.is_settled() && graph.is_well());
    }

    #[test]
    fn a_failure_skips_continues_or_stops() {
        for (on_failure, then) in [("skip", vec![]), ("continue", vec!["last"]), ("stop", vec![])] {
            let mut graph = diamond(on_failure);
            graph.ended("first", Outcome::Done, String::new());
            graph.ended("left", Outcome::Failed, "no".to_owned());
            if on_failure == "stop" {
                assert!(ready(&graph).is_empty(), "nothing more begins");
            } else {
                assert_eq!(ready(&graph), ["right"]);
                graph.ended("right", Outcome::Done, "yes".to_owned());
                assert_eq!(ready(&graph), then, "{on_failure}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let task = |id: &str, agent: &str, after: &[&str]| json!({"id": id, "agent": agent, "task": "t", "after": after});
        for (tasks, names) in [
            (json!([task("x", "a", &["y"]), task("y", "a", &["x"])]), "circle"),
            (json!([task("x", "a", &["x"])]), "circle"),
            (json!([task("x", "a", &["nowhere"])]), "nowhere"),
            (json!([task("x", "nobody", &[])]), "nobody"),
            (json!([task("x", "a", &[]), task("x", "a", &[])]), "Two tasks"),
            (json!([]), "no task"),
        ] {
            let error = read(json!({"tasks": tasks})).expect_err("a bad graph");
            assert!(error.contains(names), "{error}");
        }
        assert!(read(json!({"tasks": "x"})).is_err());
    }
}
