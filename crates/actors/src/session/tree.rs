//! The tree under the session: begun once, built again where a part of it fails (ENGINE 4).
//!
//! Asked by the session; what it owns stands in the session's state.

use jiff::Timestamp;
use maia_core::restart::Verdict;
use maia_protocol::ActorPath;
use maia_protocol::event::{AgentEvent, EventBody};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::end::{at_rest, close, finish, interrupt, leave};
use super::orders::{clear, order, refuse, stop};
use super::{SessionMsg, SessionState};
use crate::address::{Address, supervisor_of};
use crate::agent::AgentMsg;
use crate::agent_supervisor::{AgentSupervisor, AgentSupervisorArgs, AgentSupervisorMsg, forget_executor};
use crate::journal::JournalMsg;
use crate::scheduler::{Scheduler, SchedulerArgs};

/// Starts the scheduler and, where there is something to do, the tree; ends at once where there is not.
///
/// Once, when its opening is durable and was shown and, for a session that is rebuilt, its history is there.
pub(super) async fn go(
    myself: &ActorRef<SessionMsg>,
    state: &mut SessionState,
) -> Result<(), ActorProcessingErr> {
    let is_opened = state.fold.openings > state.openings_before;
    if !state.shown || state.folding || !is_opened || std::mem::replace(&mut state.gone, true) {
        return Ok(());
    }
    start_scheduler(myself, state).await?;
    if state.fold.closed.is_some() && !state.fold.in_turn {
        state.closing = true;
        finish(state);
        return Ok(());
    }
    let is_open = state.fold.in_turn || !state.fold.open_agents.is_empty();
    // What the person asked before leaving is recorded before it is stopped.
    let is_asked = !state.one_turn || (state.leaving && !state.early.is_empty());
    if is_open || is_asked {
        start_main(myself, state).await?;
    } else {
        // Nothing is open and nothing is asked: the last result is given again (ENGINE 7).
        close(state);
    }
    if state.interrupted {
        interrupt(state);
    }
    for message in std::mem::take(&mut state.early) {
        match message {
            SessionMsg::Op(op) => order(state, op),
            SessionMsg::Clear { fresh } => clear(state, Some(*fresh)),
            _ => {}
        }
    }
    if state.leaving {
        leave(state);
    }
    Ok(())
}

async fn start_scheduler(
    myself: &ActorRef<SessionMsg>,
    state: &mut SessionState,
) -> Result<(), ActorProcessingErr> {
    let args = SchedulerArgs { env: state.env.clone() };
    let (scheduler, _) = Actor::spawn_linked(None, Scheduler, args, myself.get_cell()).await?;
    state.scheduler = Some(scheduler.get_id());
    state.env.book.put(ActorPath::scheduler(), Address::Scheduler(scheduler));
    state.env.book.journal(JournalMsg::Subscribe { path: ActorPath::scheduler() });
    Ok(())
}

async fn start_main(
    myself: &ActorRef<SessionMsg>,
    state: &mut SessionState,
) -> Result<(), ActorProcessingErr> {
    let path = ActorPath::main();
    let args = AgentSupervisorArgs { path: path.clone(), call: None, env: state.env.clone() };
    let (main, _) = Actor::spawn_linked(None, AgentSupervisor, args, myself.get_cell()).await?;
    state.main = Some(main.get_id());
    state.env.book.put(supervisor_of(&path), Address::Supervisor(main.clone()));
    main.cast(AgentSupervisorMsg::Begin)?;
    Ok(())
}

/// Starts the agents that wait for the end of their life before, where that has come.
pub(super) async fn start_waiting(
    myself: &ActorRef<SessionMsg>,
    state: &mut SessionState,
) -> Result<(), ActorProcessingErr> {
    let env = state.env.clone();
    let free = state.waiting.iter().filter(|(child, _)| !env.book.has(&supervisor_of(child)));
    let free: Vec<_> = free.map(|(child, call)| (child.clone(), call.clone())).collect();
    for (child, call) in free {
        state.waiting.remove(&child);
        env.book.set_apart(child.clone());
        state.beside.start(&env, myself.get_cell(), child.clone(), call).await?;
        if state.leaving || (state.interrupted && state.one_turn) {
            stop(state, &child);
        }
    }
    Ok(())
}

/// The main agent's supervisor failed, and the tree with it: it is built again from the journal.
pub(super) async fn main_failed(
    myself: &ActorRef<SessionMsg>,
    state: &mut SessionState,
    cause: String,
) -> Result<(), ActorProcessingErr> {
    for executor in state.env.book.bury(&ActorPath::main(), &state.beside.paths()).await {
        forget_executor(&state.env, &executor);
    }
    match state.main_window.failed(Timestamp::now()) {
        Verdict::Restart => {
            let n = state.main_window.count();
            state.env.live(&ActorPath::main(), EventBody::Agent(AgentEvent::AgentRestarted { cause, n }));
            spawns_lost(state);
            start_waiting(myself, state).await?;
            start_main(myself, state).await
        }
        Verdict::Escalate => {
            Err(format!("the main agent's supervisor failed again and again: {cause}").into())
        }
    }
}

/// The main agent failed with what it was told: agents that it had not started may never begin.
pub(super) fn spawns_lost(state: &mut SessionState) {
    if std::mem::take(&mut state.spawning) == 0 {
        return;
    }
    let message = "the main agent failed while it was to start an agent".to_owned();
    refuse(state, message, "give the order again if nothing came of it");
    if state.one_turn && at_rest(state) {
        close(state);
    }
}

/// The scheduler is rebuilt; every agent tells it anew what it holds or waits for.
pub(super) async fn scheduler_failed(
    myself: &ActorRef<SessionMsg>,
    state: &mut SessionState,
    cause: String,
) -> Result<(), ActorProcessingErr> {
    if state.scheduler_window.failed(Timestamp::now()) == Verdict::Escalate {
        return Err(format!("the scheduler failed again and again: {cause}").into());
    }
    start_scheduler(myself, state).await?;
    for agent in state.env.book.agents() {
        state.env.book.agent(&agent, AgentMsg::PlacesRebuilt);
    }
    Ok(())
}
