//! A session at a glance and its tree of agents, as a fold of records that can be stored and gone on with.
//!
//! Asked by `maia sessions show`; stored in the index as its keyframe. Pure: no clock, no file.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use maia_core::event::Projection;
use maia_core::mask::mask;
use maia_core::turn;
use maia_protocol::outcome::{EndReason, Outcome, Totals};
use maia_protocol::record::{AfterAnswer, Delegated, SessionOpened};
use maia_protocol::{ActorPath, Body, Record, Seq};
use serde::{Deserialize, Serialize};

/// Characters that are kept of a request, a task or a cause.
const LINE_CHARS: usize = 200;

/// A session and its agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Its random id.
    pub session: String,
    /// Its label.
    pub name: String,
    /// Launch folder.
    pub cwd: PathBuf,
    /// Model of the main agent.
    pub model: String,
    /// Version of maia that opened it last.
    pub version: String,
    /// When it was first opened.
    pub opened: Option<Timestamp>,
    /// Number and time of its last record.
    pub last: Option<(Seq, Timestamp)>,
    /// How often it was opened.
    pub openings: u32,
    /// Its first request, in one line; `&agent task` where that was a task for an agent.
    pub request: String,
    /// Turns of the main agent.
    pub turns: u32,
    /// Why it was closed; `None` while it is open, and when it was interrupted.
    pub closed: Option<EndReason>,
    /// Its agents, in the order in which they began, the main one first.
    pub agents: Vec<AgentOverview>,
    /// Where the answering model became the embedded one, and where it no longer was, by turns.
    demo_turns: Vec<Seq>,
    /// Where each of them stands in that order.
    #[serde(skip)]
    places: HashMap<ActorPath, usize>,
}

/// An agent at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentOverview {
    /// Its path.
    pub actor: ActorPath,
    /// Its definition.
    pub definition: String,
    /// Its model.
    pub model: String,
    /// Its task, in one line.
    pub task: String,
    /// How it ended; `None` while it has not, and for the main agent.
    pub outcome: Option<Outcome>,
    /// Why, when it did not end well.
    pub cause: Option<String>,
    /// What it used itself, in all its lives: a failed agent's end and a second life's tell less than its answers do.
    pub totals: Totals,
    /// When it began.
    pub began: Timestamp,
    /// Whether its closing request is under way: that one is no iteration.
    closing: bool,
}

impl Overview {
    /// Applies a record.
    pub fn step(&mut self, record: &Record) {
        self.last = Some((record.seq, record.time));
        self.follow_demo(record);
        match &record.body {
            Body::SessionOpened(opened) => self.opened(record, opened),
            Body::UserMessage { turn, text } => {
                self.turns = *turn;
                self.closed = None;
                if self.request.is_empty() {
                    self.request = line(text);
                }
            }
            Body::SessionClosed { reason, main, .. } => {
                self.closed = Some(*reason);
                if let Some(agent) = self.agent(&ActorPath::main()) {
                    agent.totals.duration_ms = main.duration_ms;
                }
            }
            Body::Delegated(delegated) => {
                let definition = &delegated.definition;
                if self.request.is_empty() {
                    self.request = beside(delegated);
                }
                self.begin(record, definition, &delegated.model, line(&delegated.task));
            }
            Body::ChildFinished(finished) => {
                if let Some(agent) = self.agent(&record.actor) {
                    agent.outcome = Some(finished.outcome);
                    agent.cause = finished.cause.as_deref().map(line);
                    let duration_ms = &mut agent.totals.duration_ms;
                    *duration_ms = duration_ms.saturating_add(finished.totals.duration_ms);
                }
            }
            Body::ModelAsked { closing: true, .. } => {
                if let Some(agent) = self.agent(&record.actor) {
                    agent.closing = true;
                }
            }
            Body::ModelAnswered(answered) => {
                let usage = answered.answer.usage.unwrap_or_default();
                let calls = match answered.then {
                    AfterAnswer::Tools => answered.answer.calls.len(),
                    _ => 0,
                };
                if let Some(agent) = self.agent(&record.actor) {
                    let used = Totals {
                        iterations: u32::from(!std::mem::take(&mut agent.closing)),
                        tool_calls: u32::try_from(calls).unwrap_or(u32::MAX),
                        input_tokens: usage.input_tokens,
                        output_tokens: usage.output_tokens.saturating_add(usage.reasoning_tokens),
                        cost_micros: answered.cost_micros,
                        duration_ms: 0,
                    };
                    turn::add(&mut agent.totals, &used);
                }
            }
            // An agent that has ended works again.
            Body::AskedAgain(_) => {
                if let Some(agent) = self.agent(&record.actor) {
                    (agent.outcome, agent.cause, agent.closing) = (None, None, false);
                }
            }
            Body::ModelChosen { model } => self.answered_by(model),
            _ => {}
        }
    }

    fn opened(&mut self, record: &Record, opened: &SessionOpened) {
        if self.openings == 0 {
            self.session.clone_from(&opened.session);
        }
        self.name.clone_from(&opened.name);
        self.cwd.clone_from(&opened.cwd);
        self.version.clone_from(&opened.version);
        self.opened.get_or_insert(record.time);
        self.openings += 1;
        self.closed = None;
        if self.agents.is_empty() {
            let definition = opened.agent.as_deref().unwrap_or("maia");
            self.begin(record, definition, &opened.model, String::new());
        }
        self.answered_by(&opened.model);
    }

    /// The main agent has this model from here on.
    fn answered_by(&mut self, model: &str) {
        model.clone_into(&mut self.model);
        if let Some(agent) = self.agent(&ActorPath::main()) {
            model.clone_into(&mut agent.model);
        }
    }

    fn follow_demo(&mut self, record: &Record) {
        let before = self.is_demo_at(record.seq);
        let mut projection = Projection::begun(before);
        projection.see(record);
        if projection.is_demo() != before {
            self.demo_turns.push(record.seq);
        }
    }

    /// Tells whether the embedded model answers once record `seq` is there.
    fn is_demo_at(&self, seq: Seq) -> bool {
        self.demo_turns.partition_point(|&turn| turn <= seq) % 2 == 1
    }

    /// Returns what gives the events of record `seq`, one of those that were folded, as the live stream gave them.
    pub fn projection_at(&self, seq: Seq) -> Projection {
        Projection::begun(self.is_demo_at(seq))
    }

    fn begin(&mut self, record: &Record, definition: &str, model: &str, task: String) {
        self.places.insert(record.actor.clone(), self.agents.len());
        self.agents.push(AgentOverview {
            actor: record.actor.clone(),
            definition: definition.to_owned(),
            model: model.to_owned(),
            task,
            outcome: None,
            cause: None,
            totals: Totals::default(),
            began: record.time,
            closing: false,
        });
    }

    fn agent(&mut self, actor: &ActorPath) -> Option<&mut AgentOverview> {
        self.agents.get_mut(*self.places.get(actor)?)
    }

    /// Reads one that was stored.
    ///
    /// # Errors
    /// Text that is no overview.
    pub(crate) fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let mut overview: Self = serde_json::from_slice(text)?;
        let actors = overview.agents.iter().map(|agent| agent.actor.clone());
        overview.places = actors.enumerate().map(|(place, actor)| (actor, place)).collect();
        Ok(overview)
    }

    /// Returns what each agent and all below it used, in the order of `agents`.
    pub fn subtrees(&self) -> Vec<Totals> {
        let mut sums: Vec<Totals> = self.agents.iter().map(|agent| agent.totals).collect();
        for agent in &self.agents {
            let mut above = agent.actor.parent();
            while let Some(path) = above {
                if let Some(sum) = self.places.get(&path).and_then(|&place| sums.get_mut(place)) {
                    let duration_ms = sum.duration_ms; // Children work beside their parent, within its time.
                    turn::add(sum, &agent.totals);
                    sum.duration_ms = duration_ms;
                }
                above = path.parent();
            }
        }
        sums
    }
}

/// Returns a task that a person gave an agent as it was typed.
pub(crate) fn beside(delegated: &Delegated) -> String {
    line(&format!("&{} {}", delegated.definition, delegated.task))
}

/// Returns the beginning of a text in one line, what looks like a secret masked (SAFETY 6): this is kept in the index.
pub(crate) fn line(text: &str) -> String {
    let text = mask(text); // Before it is cut: half a secret is not known as one.
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
        if line.len() > LINE_CHARS * 4 {
            break;
        }
    }
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
