//! The tree as a fold of events: what a subscriber is given before the stream goes on (SPEC section 4, `snapshot`).
//!
//! Asked by the actor EventHub; owns nothing.

use std::collections::{BTreeMap, HashMap};

use maia_protocol::event::{
    AgentEvent, AgentView, EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent,
};
use maia_protocol::{ActorPath, CallId, Event, Seq};

/// The tree so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    seq: Seq,
    /// Agents that have begun and not ended, in order; the main agent of a session that is opened again goes first.
    agents: BTreeMap<i64, AgentView>,
    /// Where each of them stands in that order.
    places: HashMap<ActorPath, i64>,
    /// The main agent of a session that was closed: it may be opened again.
    closed: Option<AgentView>,
    /// Calls without a result, by agent, each with its place in order and its tool.
    running: HashMap<ActorPath, HashMap<CallId, (u64, String)>>,
    calls: u64,
    questions: Vec<CallId>,
}

impl View {
    /// Applies an event.
    pub fn step(&mut self, event: &Event) {
        self.seq = self.seq.max(event.seq);
        match &event.body {
            EventBody::Agent(AgentEvent::AgentSpawned { definition, task, budget, .. }) => {
                self.begin(&event.actor, definition, task, *budget);
            }
            EventBody::Agent(AgentEvent::AgentAskedAgain { definition, text, budget }) => {
                self.begin(&event.actor, definition, text, *budget);
            }
            EventBody::Agent(AgentEvent::AgentFinished { .. }) => {
                let place = self.places.remove(&event.actor);
                let ended = place.and_then(|place| self.agents.remove(&place));
                if event.actor == ActorPath::main() {
                    self.closed = ended;
                }
                self.running.remove(&event.actor);
            }
            EventBody::Agent(AgentEvent::AgentResumed { .. }) => {
                if let Some(closed) = self.closed.take_if(|closed| closed.actor == event.actor) {
                    let place = self.agents.first_key_value().map_or(0, |(place, _)| place - 1);
                    self.add(place, closed);
                }
            }
            EventBody::Session(SessionEvent::SessionStarted { resumed: true, .. }) => self.questions.clear(),
            EventBody::Talk(TalkEvent::ModelCall { input_tokens, output_tokens, .. }) => {
                if let Some(agent) = self.agent(&event.actor) {
                    agent.iterations += 1;
                    agent.input_tokens = agent.input_tokens.saturating_add(*input_tokens);
                    agent.output_tokens = agent.output_tokens.saturating_add(*output_tokens);
                }
            }
            EventBody::Tool(ToolEvent::ToolCall { id, name, .. }) => {
                self.calls += 1;
                let running = self.running.entry(id.agent()).or_default();
                running.insert(id.clone(), (self.calls, name.clone()));
                if let Some(agent) = self.agent(&event.actor) {
                    agent.tool_calls += 1;
                }
            }
            EventBody::Tool(ToolEvent::ToolResult { id, .. }) => {
                if let Some(running) = self.running.get_mut(&id.agent()) {
                    running.remove(id);
                }
                self.questions.retain(|call| call != id);
            }
            EventBody::Tool(ToolEvent::PermissionAsked { id, .. }) => self.questions.push(id.clone()),
            EventBody::Tool(ToolEvent::PermissionAnswered { id, .. }) => {
                self.questions.retain(|call| call != id);
            }
            _ => {}
        }
    }

    fn begin(&mut self, actor: &ActorPath, definition: &str, task: &str, budget: u32) {
        let place = self.agents.last_key_value().map_or(0, |(place, _)| place + 1);
        let agent = AgentView {
            actor: actor.clone(),
            definition: definition.to_owned(),
            task: task.to_owned(),
            iterations: 0,
            budget,
            input_tokens: 0,
            output_tokens: 0,
            tool_calls: 0,
            running: Vec::new(),
        };
        self.add(place, agent);
    }

    fn add(&mut self, place: i64, agent: AgentView) {
        self.places.insert(agent.actor.clone(), place);
        self.agents.insert(place, agent);
    }

    fn agent(&mut self, actor: &ActorPath) -> Option<&mut AgentView> {
        self.agents.get_mut(self.places.get(actor)?)
    }

    /// Returns the tree as an event's body.
    pub fn snapshot(&self) -> EventBody {
        let mut agents: Vec<AgentView> = self.agents.values().cloned().collect();
        for agent in &mut agents {
            let mut own: Vec<_> =
                self.running.get(&agent.actor).into_iter().flat_map(HashMap::values).collect();
            own.sort_unstable();
            agent.running = own.into_iter().map(|(_, name)| name.clone()).collect();
        }
        EventBody::Notice(NoticeEvent::Snapshot { agents, questions: self.questions.clone() })
    }

    /// Returns the number of the last record that was applied.
    pub fn seq(&self) -> Seq {
        self.seq
    }
}
