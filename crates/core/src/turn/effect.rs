//! What a committed record calls for, and what a rebuilt agent has to look at.

use maia_protocol::{ActorPath, CallId};

use super::state::{Call, CallState, Phase, State, is_file_tool};

/// Calls that one agent runs at once (mission M6.3-cap).
pub const MAX_PARALLEL_CALLS: usize = 8;

/// An effect; the actor Agent carries it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send the request of this step.
    AskModel {
        /// Number of the request.
        step: u32,
        /// Which attempt.
        attempt: u32,
        /// Whether it is the closing request.
        closing: bool,
    },
    /// Wait, then hand in the timer's end.
    StartTimer {
        /// Number of the request that waits.
        step: u32,
        /// The wait, in milliseconds.
        wait_ms: u64,
    },
    /// Carry out a call whose intent is recorded.
    Run {
        /// The call.
        call: CallId,
    },
    /// See that a child is at work.
    SpawnChild {
        /// Its path.
        child: ActorPath,
        /// The call that waits for it.
        call: CallId,
    },
    /// See that a child that a person started beside the turn is at work; it belongs to the session.
    SpawnBeside {
        /// Its path.
        child: ActorPath,
        /// What it is known by instead of a call.
        call: CallId,
    },
    /// End the model request under way.
    StopModel,
    /// End what runs for a call.
    StopCall {
        /// The call.
        call: CallId,
    },
    /// Stop a child and all below it.
    StopChild {
        /// Its path.
        child: ActorPath,
    },
    /// The call has its result: its executor may go.
    CallEnded {
        /// The call.
        call: CallId,
    },
    /// The turn, or the sub-agent, has ended.
    Ended,
}

/// Returns the effects that have begun and not ended: what a rebuilt agent has to look at.
///
/// Whether a `Run` still runs, and what the restart table (ENGINE 7) says where it does not, is for the caller to find out.
pub fn open(state: &State) -> Vec<Effect> {
    let mut effects = Vec::new();
    match state.phase {
        Phase::Asking { attempt, closing } if state.cancelled_by.is_none() => {
            effects.push(Effect::AskModel { step: state.step, attempt, closing });
        }
        Phase::Asking { .. } => effects.push(Effect::StopModel),
        Phase::Backoff { wait_ms, .. } => effects.push(Effect::StartTimer { step: state.step, wait_ms }),
        Phase::Acting => {
            let begun =
                state.calls.iter().filter(|call| call.state == CallState::Begun && !call.is_delegation());
            let stopping = state.cancelled_by.is_some();
            effects.extend(begun.map(|call| match call.id.clone() {
                call if stopping => Effect::StopCall { call },
                call => Effect::Run { call },
            }));
        }
        Phase::Ended => effects.push(Effect::Ended),
        _ => {}
    }
    let beside = state.beside.iter();
    effects
        .extend(beside.map(|(child, call)| Effect::SpawnBeside { child: child.clone(), call: call.clone() }));
    for (child, call) in &state.children {
        effects.push(Effect::SpawnChild { child: child.clone(), call: call.clone() });
        if state.cancelled_by.is_some() || !is_waited_for(state, call) {
            effects.push(Effect::StopChild { child: child.clone() });
        }
    }
    effects
}

/// Tells whether a call, or a task of one, still waits for its child: a stop may have settled it.
fn is_waited_for(state: &State, id: &CallId) -> bool {
    let call = state.call(&id.base()).filter(|call| call.state == CallState::Begun);
    call.is_some_and(|call| match (&call.graph, id.task()) {
        (Some(graph), Some(task)) => graph.is_running(task),
        (graph, task) => graph.is_none() && task.is_none(),
    })
}

/// Returns the calls that are allowed and have their turn: at most 8 at once, and a call with the lock key of
/// an earlier unanswered one waits (ENGINE 5). File calls among them take their lock and prepare before their
/// intent is recorded; they may be returned again until it is.
pub fn startable(state: &State) -> Vec<&Call> {
    if state.phase != Phase::Acting || state.cancelled_by.is_some() {
        return Vec::new();
    }
    let begun = state.calls.iter().filter(|call| call.state == CallState::Begun && !call.is_delegation());
    let mut free = MAX_PARALLEL_CALLS.saturating_sub(begun.count());
    let mut startable = Vec::new();
    for (index, call) in state.calls.iter().enumerate() {
        if !matches!(call.state, CallState::Allowed { .. }) || waits_for_earlier(state, index) {
            continue;
        }
        if call.is_delegation() {
            startable.push(call);
        } else if free > 0 {
            free -= 1;
            startable.push(call);
        }
    }
    startable
}

/// Tells whether an earlier call of the answer holds the lock key of call `index` and has no result yet.
pub(super) fn waits_for_earlier(state: &State, index: usize) -> bool {
    let Some(call) = state.calls.get(index) else { return false };
    let Some(key) = call.lock_key() else { return false };
    let shares = |other: &Call| call.name == "Read" && other.name == "Read";
    state.calls.iter().take(index).any(|other| {
        is_file_tool(&other.name)
            && !other.is_done()
            && !matches!(other.state, CallState::Settled(_))
            && other.lock_key().as_ref() == Some(&key)
            && !shares(other)
    })
}
