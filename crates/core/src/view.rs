//! The tree as a fold of events: what a subscriber is given before the stream goes on (SPEC section 4, `snapshot`).
//!
//! Asked by the actor EventHub; owns nothing.

use maia_protocol::event::{
    AgentEvent, AgentView, EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent,
};
use maia_protocol::{ActorPath, CallId, Event, Seq};

/// The tree so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    seq: Seq,
    agents: Vec<AgentView>,
    /// The main agent of a session that was closed: it may be opened again.
    closed: Option<AgentView>,
    running: Vec<(ActorPath, CallId, String)>,
    questions: Vec<CallId>,
}

impl View {
    /// Applies an event.
    pub fn step(&mut self, event: &Event) {
        self.seq = self.seq.max(event.seq);
        match &event.body {
            EventBody::Agent(AgentEvent::AgentSpawned { definition, task, budget, .. }) => {
                self.agents.push(AgentView {
                    actor: event.actor.clone(),
                    definition: definition.clone(),
                    task: task.clone(),
                    iterations: 0,
                    budget: *budget,
                    input_tokens: 0,
                    output_tokens: 0,
                    tool_calls: 0,
                    running: Vec::new(),
                });
            }
            EventBody::Agent(AgentEvent::AgentFinished { .. }) => {
                let ended = self.agents.iter().position(|agent| agent.actor == event.actor);
                let ended = ended.map(|index| self.agents.remove(index));
                if event.actor == ActorPath::main() {
                    self.closed = ended;
                }
                self.running.retain(|(agent, ..)| *agent != event.actor);
            }
            EventBody::Agent(AgentEvent::AgentResumed { .. }) => {
                let closed = self.closed.take_if(|closed| closed.actor == event.actor);
                self.agents.splice(0..0, closed);
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
                self.running.push((event.actor.clone(), id.clone(), name.clone()));
                if let Some(agent) = self.agent(&event.actor) {
                    agent.tool_calls += 1;
                }
            }
            EventBody::Tool(ToolEvent::ToolResult { id, .. }) => {
                self.running.retain(|(_, call, _)| call != id);
                self.questions.retain(|call| call != id);
            }
            EventBody::Tool(ToolEvent::PermissionAsked { id, .. }) => self.questions.push(id.clone()),
            EventBody::Tool(ToolEvent::PermissionAnswered { id, .. }) => {
                self.questions.retain(|call| call != id);
            }
            _ => {}
        }
    }

    fn agent(&mut self, actor: &ActorPath) -> Option<&mut AgentView> {
        self.agents.iter_mut().find(|agent| agent.actor == *actor)
    }

    /// Returns the tree as an event's body.
    pub fn snapshot(&self) -> EventBody {
        let mut agents = self.agents.clone();
        for agent in &mut agents {
            let own = self.running.iter().filter(|(actor, ..)| *actor == agent.actor);
            agent.running = own.map(|(_, _, name)| name.clone()).collect();
        }
        EventBody::Notice(NoticeEvent::Snapshot { agents, questions: self.questions.clone() })
    }

    /// Returns the number of the last record that was applied.
    pub fn seq(&self) -> Seq {
        self.seq
    }
}
