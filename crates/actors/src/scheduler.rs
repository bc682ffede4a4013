//! Gives places to agents: so many work at once, the others wait in order (ENGINE 6, Places).
//!
//! - Asked by agents that have work; a place is granted by path. Agents that wait are shown with their position.
//! - Owns who has a place and who waits. A cap is a wait, never an error.
//! - After a restart it knows from the records which agents held a place before; all that want or hold one say so again.
//! - The main agent needs no place: it is told at once.

use std::sync::Arc;

use maia_core::apart::Apart;
use maia_core::schedule::Places;
use maia_protocol::event::{AgentEvent, EventBody};
use maia_protocol::{ActorPath, Body, Record};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::agent::AgentMsg;
use crate::env::SessionEnv;

/// What the scheduler can be told.
pub enum SchedulerMsg {
    /// `agent` has work; it is told [`AgentMsg::PlaceGranted`] when it has a place. Asking again changes nothing.
    Want {
        /// Who.
        agent: ActorPath,
        /// Whether it held a place of an earlier scheduler: it has work under way and keeps it, above the cap too.
        held: bool,
    },
    /// `agent` waits for something else, or has nothing to do.
    GiveBack {
        /// Who.
        agent: ActorPath,
    },
    /// All its records so far; later ones follow as `Committed`.
    History {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// Records of it are durable: apply them.
    Committed {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
}

impl SchedulerMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Want { .. } => "Want",
            Self::GiveBack { .. } => "GiveBack",
            Self::History { .. } => "History",
            Self::Committed { .. } => "Committed",
        }
    }
}

/// What the scheduler is started with.
pub struct SchedulerArgs {
    /// The session.
    pub env: Arc<SessionEnv>,
}

/// State of [`Scheduler`].
pub struct SchedulerState {
    env: Arc<SessionEnv>,
    places: Places,
    apart: Apart,
}

/// The actor.
pub struct Scheduler;

impl Actor for Scheduler {
    type Msg = SchedulerMsg;
    type State = SchedulerState;
    type Arguments = SchedulerArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let places = Places::new(args.env.max_parallel_agents);
        Ok(SchedulerState { env: args.env, places, apart: Apart::default() })
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message("@scheduler", message.kind());
        match message {
            SchedulerMsg::Want { agent, held } => want(state, &agent, held),
            SchedulerMsg::GiveBack { agent } => {
                let granted = state.places.give_back(&agent);
                tell(state, &granted);
            }
            SchedulerMsg::History { records } | SchedulerMsg::Committed { records } => {
                for record in &records {
                    step(state, record);
                }
            }
        }
        for (agent, position) in state.places.moved() {
            state.env.live(&agent, EventBody::Agent(AgentEvent::AgentQueued { position }));
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Self::Msg>,
        _: SupervisionEvent,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // It supervises nobody.
        Ok(())
    }
}

fn want(state: &mut SchedulerState, agent: &ActorPath, held: bool) {
    let granted = if *agent == ActorPath::main() {
        true
    } else if held {
        state.places.keep(agent);
        true
    } else {
        state.places.want(agent)
    };
    if granted {
        tell(state, std::slice::from_ref(agent));
    }
}

fn step(state: &mut SchedulerState, record: &Record) {
    state.apart.step(record);
    match &record.body {
        // Who has delegated was at work: it comes before those that were not.
        Body::Delegated(delegated) => {
            let parent = delegated.call.agent();
            if parent != ActorPath::main() {
                state.places.held_before(&parent);
            }
        }
        Body::ChildFinished(_) => {
            let granted = state.places.ended(&record.actor, &state.apart);
            tell(state, &granted);
        }
        _ => {}
    }
}

/// Tells agents that they have a place. One that is being rebuilt asks again; the place is kept for it.
fn tell(state: &SchedulerState, granted: &[ActorPath]) {
    for agent in granted {
        let _ = state.env.book.agent(agent, AgentMsg::PlaceGranted);
    }
}
