//! Requests to the model: what goes into one, what an answer or a failure changes (W-stop-*, W-think-*).
//!
//! Asked by `apply` with the records about requests; owns nothing.

use std::sync::Arc;

use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::record::{AfterAnswer, AfterFailure, ModelAnswered, TurnEnd};
use maia_protocol::tool::ToolOutput;
use maia_protocol::{Block, Message, Role};

use super::again::take_chosen_model;
use super::calls::take_calls;
use super::effect::Effect;
use super::next::is_cut;
use super::state::{CallState, End, Phase, State, add};
use super::texts;

pub(super) fn model_asked(state: &mut State, step: u32, attempt: u32, closing: bool) -> Vec<Effect> {
    // A natural end goes on where somebody spoke meanwhile (W-stop-steer).
    if !matches!(state.phase, Phase::Ready { .. }) && !is_steered(state) {
        return Vec::new();
    }
    state.step = step;
    state.phase = Phase::Asking { attempt, closing };
    let mut blocks = drain_pending(state);
    if closing && attempt == 1 {
        blocks.push(Block::Text { text: texts::closing(state.closing_cause.as_deref()) });
    }
    state.push_user(blocks);
    vec![Effect::AskModel { step, attempt, closing }]
}

pub(super) fn model_answered(state: &mut State, answered: &ModelAnswered) -> Vec<Effect> {
    let Phase::Asking { closing, .. } = state.phase else { return Vec::new() };
    if answered.step != state.step {
        return Vec::new();
    }
    take_chosen_model(state);
    if !closing {
        state.iterations += 1;
        state.totals.iterations += 1;
    }
    let answer = &answered.answer;
    let usage = answer.usage.unwrap_or_default();
    let used = Totals {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens.saturating_add(usage.reasoning_tokens),
        cost_micros: answered.cost_micros,
        ..Totals::default()
    };
    add(&mut state.totals, &used);
    let runs = matches!(answered.then, AfterAnswer::Tools);
    let mut content = Vec::new();
    let mut text = answer.text.clone();
    if answered.interrupted && !text.is_empty() {
        text.push_str("\n\n");
        text.push_str(texts::INTERRUPTED_MARK);
    }
    if !text.is_empty() {
        content.push(Block::Text { text });
    }
    if runs {
        content.extend(answer.calls.iter().map(|call| Block::ToolUse {
            id: call.provider_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        }));
    }
    if !content.is_empty() {
        state.messages.push(Arc::new(Message { role: Role::Assistant, content }));
    }
    state.cuts = if is_cut(answer) { state.cuts + 1 } else { 0 };
    if !answer.text.trim().is_empty() {
        state.last_text = Some(answer.text.clone());
    }
    if state.cancelled_by.is_some() {
        state.phase = Phase::Ending { end: cancelled(state) };
        if runs {
            // The answer came before the stop was seen: its calls get results, so that none is left open.
            state.totals.tool_calls += answer.calls.len() as u32;
            take_calls(state, answered);
            for call in &mut state.calls {
                call.state = CallState::Settled(ToolOutput::error(texts::INTERRUPTED));
            }
            state.phase = Phase::Acting;
        }
        return Vec::new();
    }
    match &answered.then {
        AfterAnswer::Tools => {
            state.totals.tool_calls += answer.calls.len() as u32;
            take_calls(state, answered);
            state.phase = Phase::Acting;
        }
        AfterAnswer::Final { text, truncated } => {
            state.phase = Phase::Ending { end: finished(state, closing, text, *truncated) };
        }
        AfterAnswer::Nudge { text } => {
            // A nudge does not use up an iteration (W-stop-empty).
            state.iterations = state.iterations.saturating_sub(1);
            state.nudges += 1;
            state.push_user(vec![Block::Text { text: text.clone() }]);
            state.phase = Phase::Ready { attempt: 1, closing };
        }
        AfterAnswer::Close => state.phase = Phase::Ready { attempt: 1, closing: true },
    }
    Vec::new()
}

pub(super) fn model_failed(
    state: &mut State,
    step: u32,
    attempt: u32,
    message: &str,
    shown: &str,
    then: AfterFailure,
) -> Vec<Effect> {
    let Phase::Asking { closing, .. } = state.phase else { return Vec::new() };
    if step != state.step {
        return Vec::new();
    }
    take_chosen_model(state);
    if state.cancelled_by.is_some() {
        if !shown.is_empty() {
            let text = format!("{shown}\n\n{}", texts::INTERRUPTED_MARK);
            state.messages.push(Arc::new(Message::assistant(text)));
        }
        state.phase = Phase::Ending { end: cancelled(state) };
        return Vec::new();
    }
    match then {
        AfterFailure::Retry { in_ms } => {
            state.phase = Phase::Backoff { attempt: attempt + 1, closing, wait_ms: in_ms };
            vec![Effect::StartTimer { step, wait_ms: in_ms }]
        }
        AfterFailure::Close => {
            state.closing_cause = Some(message.to_owned());
            state.phase = Phase::Ready { attempt: 1, closing: true };
            Vec::new()
        }
        AfterFailure::Fail | AfterFailure::Cancelled => {
            let text = last_assistant_text(state);
            state.phase = Phase::Ending {
                end: End {
                    turn: TurnEnd::Endpoint,
                    outcome: Outcome::Failed,
                    cause: Some(message.to_owned()),
                    text,
                },
            };
            Vec::new()
        }
    }
}

fn finished(state: &State, closing: bool, text: &str, truncated: bool) -> End {
    let (turn, outcome, cause) = if let Some(cause) = state.closing_cause.as_ref().filter(|_| closing) {
        (TurnEnd::EndTurn, Outcome::Partial, Some(cause.clone()))
    } else if closing {
        (TurnEnd::MaxIterations, Outcome::Partial, Some("its iterations are spent".to_owned()))
    } else if truncated {
        (TurnEnd::MaxTokens, Outcome::Done, None)
    } else {
        (TurnEnd::EndTurn, Outcome::Done, None)
    };
    End { turn, outcome, cause, text: text.to_owned() }
}

/// Tells whether a natural end goes on for one more request, because somebody spoke meanwhile (W-stop-steer).
pub(super) fn is_steered(state: &State) -> bool {
    let natural = matches!(&state.phase, Phase::Ending { end } if end.outcome == Outcome::Done);
    natural && state.pending.iter().any(|pending| pending.steers) && state.cancelled_by.is_none()
}

pub(super) fn drain_pending(state: &mut State) -> Vec<Block> {
    let told = std::mem::take(&mut state.pending);
    let blocks = told.iter().map(|told| Block::Text { text: texts::told(&told.from, &told.text) }).collect();
    if !state.acted {
        // A turn that is taken back gives them back too.
        state.delivered.extend(told);
    }
    blocks
}

/// What the agent said last: what it found so far, for an end that is not its own.
pub(super) fn last_assistant_text(state: &State) -> String {
    // What was said in an earlier turn is no answer to this one.
    let own = state.messages.iter().skip(state.turn_start).rev();
    own.filter(|message| message.role == Role::Assistant)
        .flat_map(|message| message.content.iter().rev())
        .find_map(|block| match block {
            Block::Text { text } if !text.is_empty() => Some(text.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

/// The end of a stopped turn.
pub(super) fn cancelled(state: &State) -> End {
    let by = state.cancelled_by.clone().unwrap_or_else(|| "person".to_owned());
    End {
        turn: TurnEnd::Cancelled,
        outcome: Outcome::Cancelled,
        cause: Some(format!("stopped by {by}")),
        text: last_assistant_text(state),
    }
}
