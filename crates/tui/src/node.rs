//! One agent as told by events: what it does, waits for, has used, its transcript and its raw events.
//!
//! Changed by the fold, kept by [`crate::tree`].

use std::sync::Arc;

use jiff::Timestamp;
use maia_protocol::event::WaitingFor;
use maia_protocol::{ActorPath, CallId, Outcome, RuleSet};

use crate::feed::Feed;
use crate::graph::Graph;
use crate::item::Item;
use crate::units;
use crate::visible::visible_line;

/// Items kept of the main transcript.
const MAIN_ITEMS: usize = 20_000;
/// Items kept of a sub-agent's transcript.
const ITEMS: usize = 2_000;
/// Raw events kept of one agent.
const RAW: usize = 500;

/// Calls whose tasks are kept of one agent.
const GRAPHS: usize = 64;

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It waits for a place; 0 when the position is not known.
    Queued(u32),
    /// A model request or a call runs.
    Working,
    /// It waits.
    Waiting(Option<WaitingFor>),
    /// It has nothing to do.
    Idle,
    /// It is being stopped.
    Stopping,
    /// It ended.
    Ended(Outcome),
    /// It ended while events were left out.
    Gone,
}

impl Life {
    /// Tells whether the agent has not ended.
    pub fn is_live(self) -> bool {
        !matches!(self, Self::Ended(_) | Self::Gone)
    }

    /// Tells whether the agent ended and its task is not done.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Ended(Outcome::Failed | Outcome::TimedOut))
    }

    /// Tells whether stopping the agent would end something.
    pub fn is_at_work(self) -> bool {
        self.is_live() && self != Self::Idle
    }
}

/// What was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// USD × 10⁻⁶ of the calls whose price is known.
    pub cost_micros: u64,
}

impl Used {
    /// Returns tokens sent and received.
    pub fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
    }
}

/// How far the events from before those that are kept are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// There may be some.
    Maybe,
    /// They are asked for.
    Asked,
    /// There are none, or no more room for them.
    Nothing,
}

/// Children that ended and are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// How many.
    pub all: usize,
    /// How many of them ended badly.
    pub failed: usize,
}

/// One agent.
#[derive(Debug)]
pub struct Node {
    /// Its path.
    pub path: ActorPath,
    /// Its last part, made visible.
    pub label: String,
    /// Index of the agent above.
    pub parent: Option<usize>,
    /// Indices of the agents below.
    pub children: Vec<usize>,
    /// Agents above.
    pub depth: usize,
    /// Definition, made visible.
    pub definition: String,
    /// Task, made visible.
    pub task: String,
    /// Model, made visible.
    pub model: String,
    /// Names of tools, made visible.
    pub tools: Vec<String>,
    /// Names of skills, made visible.
    pub skills: Vec<String>,
    /// Rules beside the person's, made visible.
    pub rules: RuleSet,
    /// Iterations granted; 0 when not told.
    pub budget: u32,
    /// Iterations taken.
    pub iterations: u32,
    /// Calls made.
    pub tool_calls: u32,
    /// What it does.
    pub life: Life,
    /// Calls without a result, names made visible; the id is unknown after a snapshot.
    pub running: Vec<(Option<CallId>, String)>,
    /// What it used itself.
    pub own: Used,
    /// What it and all below it used.
    pub subtree: Used,
    /// Open questions.
    pub questions: usize,
    /// How often its worker was rebuilt.
    pub restarts: u32,
    /// When it began; `None` when that was before the first event.
    pub began: Option<Timestamp>,
    /// From spawn to end in milliseconds, once it ended.
    pub duration_ms: Option<u64>,
    /// What it handed back, made visible.
    pub summary: String,
    /// Why it did not end well, made visible.
    pub cause: Option<String>,
    /// The agent in whose transcript it is shown, and its item there, while it runs.
    pub shown_as: Option<(usize, u64)>,
    /// Whether its beginning was not heard: it began before the first event.
    pub is_partly_known: bool,
    /// What its calls have handed on, oldest first.
    pub graphs: Vec<Graph>,
    /// Whether a call of the agent above waits for it.
    pub is_awaited: bool,
    /// How far its older events are asked for.
    pub older: Older,
    /// Whether its children are shown.
    pub is_open: bool,
    /// Whether all of them are, also those that ended long ago.
    pub shows_ended: bool,
    /// Children that ended and are not shown.
    pub folded: Folded,
    /// Its transcript.
    pub feed: Feed,
    /// Its raw events, without pieces of texts and outputs.
    pub raw: Feed,
}

impl Node {
    /// Returns an agent of which only the path is known.
    pub fn new(path: ActorPath, parent: Option<usize>, depth: usize) -> Self {
        let label = path.as_str().rsplit('/').next().unwrap_or_default();
        Self {
            label: visible_line(label).into_owned(),
            definition: visible_line(path.name()).into_owned(),
            path,
            parent,
            depth,
            children: Vec::new(),
            task: String::new(),
            model: String::new(),
            tools: Vec::new(),
            skills: Vec::new(),
            rules: RuleSet::default(),
            budget: 0,
            iterations: 0,
            tool_calls: 0,
            life: Life::Idle,
            running: Vec::new(),
            own: Used::default(),
            subtree: Used::default(),
            questions: 0,
            restarts: 0,
            began: None,
            duration_ms: None,
            summary: String::new(),
            cause: None,
            shown_as: None,
            graphs: Vec::new(),
            is_awaited: false,
            is_partly_known: false,
            older: Older::Maybe,
            is_open: true,
            shows_ended: false,
            folded: Folded::default(),
            feed: Feed::new(if parent.is_none() { MAIN_ITEMS } else { ITEMS }),
            raw: Feed::new(RAW),
        }
    }

    /// Keeps a graph; the oldest closed one goes when there are too many.
    pub fn add_graph(&mut self, graph: Graph) {
        if self.graphs.len() >= GRAPHS
            && let Some(at) = self.graphs.iter().position(|graph| !graph.is_open)
        {
            self.graphs.remove(at);
        }
        self.graphs.push(graph);
    }

    /// Returns the graph of `call`.
    pub fn graph_mut(&mut self, call: &CallId) -> Option<&mut Graph> {
        self.graphs.iter_mut().rev().find(|graph| graph.call == *call)
    }

    /// Shows the graph of `call` as it is now under the call in the transcript.
    pub fn show_graph(&mut self, call: &CallId) {
        let Some(graph) = self.graphs.iter().rev().find(|graph| graph.call == *call && graph.is_graph) else {
            return;
        };
        let tasks = Arc::new(graph.tasks.clone());
        self.feed.change_call(call, false, |item| {
            if let Item::Call(call) = item {
                call.tasks = tasks;
            }
        });
    }

    /// Returns seconds from its beginning to its end or to `now`.
    pub fn seconds(&self, now: Timestamp) -> Option<u64> {
        if let Some(ms) = self.duration_ms {
            return Some(ms / 1_000);
        }
        let seconds = now.as_second().saturating_sub(self.began?.as_second());
        u64::try_from(seconds).ok()
    }

    /// Returns how long it took, or has taken until `now`, as a person reads it; nothing when its beginning is not known.
    pub fn time(&self, now: Timestamp) -> String {
        match self.duration_ms {
            Some(ms) => units::duration(ms),
            None => self.seconds(now).map(units::elapsed).unwrap_or_default(),
        }
    }
}
