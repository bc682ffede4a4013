//! An agent that goes on after its end, or forgets: asked again, its conversation cleared, another model.
//!
//! Asked by `apply` with those records; owns nothing.

use maia_protocol::outcome::Totals;
use maia_protocol::record::AskedAgain;
use maia_protocol::{Block, Record, Role};

use super::ask::drain_pending;
use super::effect::Effect;
use super::state::{Phase, State};
use super::texts;

/// The agent itself: a new life on the old conversation. Its numbers of calls and children go on, so that no path and no
/// id comes twice; what it used is counted anew, because its first end has told the rest.
pub(super) fn asked_again(state: &mut State, asked: &AskedAgain, record: &Record) -> Vec<Effect> {
    let Some(setup) = state.setup.as_mut().filter(|_| state.phase == Phase::Ended) else { return Vec::new() };
    setup.call = Some(asked.call.clone());
    setup.iterations = asked.iterations;
    setup.since = record.time;
    close_open_calls(state);
    state.begin_anew();
    // What it was told and never heard, because it was stopped, comes first.
    let mut blocks = drain_pending(state);
    blocks.push(Block::Text { text: asked.text.clone() });
    state.push_user(blocks);
    state.delivered.clear();
    state.totals = Totals::default();
    state.below = Totals::default();
    state.phase = Phase::Ready { attempt: 1, closing: false };
    Vec::new()
}

/// The main agent: whoever it asked first, an agent that is asked again belongs to the session, beside the turn.
pub(super) fn begun_beside(state: &mut State, asked: &AskedAgain, record: &Record) -> Vec<Effect> {
    let (child, call) = (record.actor.clone(), asked.call.clone());
    state.beside.push((child.clone(), call.clone()));
    vec![Effect::SpawnBeside { child, call }]
}

/// An agent that failed at its calls left them without results: no model takes a conversation like that.
fn close_open_calls(state: &mut State) {
    let Some(last) = state.messages.last().filter(|last| last.role == Role::Assistant) else { return };
    let open = last.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(Block::ToolResult {
            tool_use_id: id.clone(),
            content: texts::LOST.to_owned(),
            is_error: true,
        }),
        _ => None,
    });
    let open = open.collect();
    state.push_user(open);
}

/// Nothing that was said is sent any more. Agents beside the turn go on (ENGINE 5), and tell what they find to the new
/// conversation; so do texts that wait.
pub(super) fn conversation_cleared(state: &mut State) -> Vec<Effect> {
    if state.phase == Phase::Idle {
        state.messages.clear();
        state.turn_start = 0;
        state.turn_start_blocks = 0;
        state.last_text = None;
        // What it has read it has forgotten.
        state.seen.clear();
    }
    Vec::new()
}

/// A request that is under way is answered by the model that was asked.
pub(super) fn model_chosen(state: &mut State, model: &str) -> Vec<Effect> {
    if matches!(state.phase, Phase::Asking { .. }) {
        state.chosen_model = Some(model.to_owned());
    } else if let Some(setup) = &mut state.setup {
        setup.model = model.to_owned();
    }
    Vec::new()
}

/// The request that was under way is over: the next one goes to the model that was chosen meanwhile.
pub(super) fn take_chosen_model(state: &mut State) {
    if let Some(model) = state.chosen_model.take()
        && let Some(setup) = &mut state.setup
    {
        setup.model = model;
    }
}
