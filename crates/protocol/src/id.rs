//! Names of things (ENGINE 3): the paths of actors, the ids of calls, the numbers of records.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Number of a record in its session's journal: 1, 2, … without a gap.
pub type Seq = u64;

/// Where an actor stands in the tree: `maia`, `maia/reviewer#1`, `maia/reviewer#1/Bash#3`.
///
/// An agent's path is its parent's path `/` definition `#` n. The actors that every session has
/// once are named with an at sign, which no definition and no tool can carry: see [`ActorPath::broker`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActorPath(Arc<str>);

impl ActorPath {
    /// Returns the path as written.
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        Self(path.into())
    }

    /// The main agent, `maia`.
    pub fn main() -> Self {
        Self::new("maia")
    }

    /// The permission broker as an owner of records.
    pub fn broker() -> Self {
        Self::new("@broker")
    }

    /// The session actor as an owner of records.
    pub fn session() -> Self {
        Self::new("@session")
    }

    /// The scheduler as an owner of records.
    pub fn scheduler() -> Self {
        Self::new("@scheduler")
    }

    /// Returns the path of the `n`-th child called `name` (a definition or a tool).
    pub fn child(&self, name: &str, n: u32) -> Self {
        Self::new(format!("{}/{name}#{n}", self.0))
    }

    /// Returns the path of the actor above, `None` for the top.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self::new(parent))
    }

    /// Tells whether `self` is `other` or stands somewhere below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the number of agents above: 0 for the main agent.
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// Returns the last part without its number: the definition's or tool's name.
    pub fn name(&self) -> &str {
        let last = self.0.rsplit('/').next().unwrap_or(&self.0);
        last.rsplit_once('#').map_or(last, |(name, _)| name)
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call's id, `<agent path>:<step>.<index>`; unique in the session and the id of its question too.
///
/// Steps and indices count from 1. The model's own id of the call is kept beside it as `provider_id`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    /// Returns the id of call `index` of the answer to step `step` of `agent`.
    pub fn new(agent: &ActorPath, step: u32, index: u32) -> Self {
        Self(format!("{agent}:{step}.{index}").into())
    }

    /// Returns the agent that made the call.
    pub fn agent(&self) -> ActorPath {
        // A path holds no colon, a task's id may.
        ActorPath::new(self.0.split_once(':').map_or(&*self.0, |(agent, _)| agent))
    }

    /// Returns the id of a task of this `Delegate` call: `<call>/<task id>` (ENGINE 3).
    pub fn with_task(&self, task: &str) -> Self {
        Self(format!("{}/{task}", self.0).into())
    }

    /// Returns the id of the task that it names; `None` for a call.
    pub fn task(&self) -> Option<&str> {
        self.0.split_once(':').and_then(|(_, rest)| rest.split_once('/')).map(|(_, task)| task)
    }

    /// Returns the call itself, without a task.
    pub fn base(&self) -> Self {
        match self.task() {
            Some(task) => Self(self.0.get(..self.0.len() - task.len() - 1).unwrap_or(&self.0).into()),
            None => self.clone(),
        }
    }

    /// Tells whether a person started it beside the main agent's turn (`&agent task`): it belongs to no answer.
    pub fn is_beside(&self) -> bool {
        self.0.split_once(':').is_some_and(|(_, rest)| rest.starts_with("0."))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_nest_by_whole_names() {
        let reviewer = ActorPath::main().child("reviewer", 1);
        assert_eq!(reviewer.as_str(), "maia/reviewer#1");
        assert_eq!(reviewer.parent(), Some(ActorPath::main()));
        assert_eq!(reviewer.name(), "reviewer");
        assert_eq!(reviewer.depth(), 1);
        assert!(reviewer.is_within(&ActorPath::main()));
        assert!(!ActorPath::new("maia/reviewer#10").is_within(&reviewer));
        assert_eq!(CallId::new(&reviewer, 2, 1).as_str(), "maia/reviewer#1:2.1");
        assert_eq!(CallId::new(&reviewer, 2, 1).agent(), reviewer);
    }

    #[test]
    fn a_task_is_named_under_its_call() {
        let call = CallId::new(&ActorPath::main().child("reviewer", 1), 2, 1);
        let task = call.with_task("a/b:c");
        assert_eq!(task.as_str(), "maia/reviewer#1:2.1/a/b:c");
        assert_eq!((task.task(), call.task()), (Some("a/b:c"), None));
        assert_eq!((task.base(), call.base()), (call.clone(), call.clone()));
        assert_eq!(task.agent(), call.agent());
        assert!(CallId::new(&ActorPath::main(), 0, 1).is_beside());
        assert!(!call.is_beside());
    }
}
