//! The end of a session: when nothing is at work any more, by the turn, an interruption, or the person who leaves.
//!
//! Asked by the session; owns nothing.

use jiff::Timestamp;
use maia_protocol::outcome::{EndReason, Totals};
use maia_protocol::{ActorPath, Body};

use super::orders::stop;
use super::{SessionState, append};
use crate::root::RootMsg;

/// Tells whether nothing is at work, and nothing that was asked is on the way.
pub(super) fn at_rest(state: &SessionState) -> bool {
    let fold = &state.fold;
    let comes = state.asked || !state.asking.is_empty() || state.spawning > 0;
    !fold.in_turn && !comes && fold.open_agents.is_empty()
}

/// Appends the session's last record.
pub(super) fn close(state: &mut SessionState) {
    if state.closing {
        return;
    }
    state.closing = true;
    let reason = if state.interrupted { EndReason::Interrupted } else { state.fold.reason() };
    let since = state.fold.since.unwrap_or_else(Timestamp::now);
    let lasted = Timestamp::now().as_millisecond().saturating_sub(since.as_millisecond());
    let duration_ms = u64::try_from(lasted).unwrap_or(0);
    let body = Body::SessionClosed {
        reason,
        result: state.fold.result().to_owned(),
        totals: Totals { duration_ms, ..state.fold.totals },
        main: Totals { duration_ms, ..state.fold.main },
    };
    append(state, vec![body]);
}

/// Tells the root that the session is closed and recorded so.
pub(super) fn finish(state: &SessionState) {
    if let Some((reason, result)) = state.fold.closed.clone() {
        let _ = state.root.cast(RootMsg::Closed { reason, result, refusals: state.fold.refusals.clone() });
    }
}

/// Stops what is at work, and closes the session when nothing is.
pub(super) fn leave(state: &mut SessionState) {
    stop(state, &ActorPath::main());
    for agent in state.beside.paths() {
        stop(state, &agent);
    }
    if at_rest(state) {
        close(state);
    }
}

/// Stops the turn; a session of one turn ends with whatever else is at work.
pub(super) fn interrupt(state: &mut SessionState) {
    if state.one_turn {
        for agent in state.beside.paths() {
            stop(state, &agent);
        }
    }
    if state.fold.in_turn {
        stop(state, &ActorPath::main());
    } else if state.one_turn && at_rest(state) {
        close(state);
    }
}
