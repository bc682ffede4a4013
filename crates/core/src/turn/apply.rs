//! Applies records: what each kind changes, and which effects it calls for.
//!
//! Every record of the agent can come in every state: an answer may be committed after the stop that made
//! it idle. What no longer fits changes nothing and calls for nothing.

use std::sync::Arc;

use maia_protocol::record::{Delegated, SessionOpened, TurnEnd};
use maia_protocol::tool::ToolOutput;
use maia_protocol::{Block, Body, Record, Role};

use super::again::{asked_again, begun_beside, conversation_cleared, model_chosen};
use super::ask::{cancelled, drain_pending, model_answered, model_asked, model_failed};
use super::calls::{
    answered, call_done, child_finished, graph_begun, judged, leave_no_call_open, reconciled, set, skip_tasks,
};
use super::effect::Effect;
use super::state::{CallState, Pending, Phase, Setup, State};
use super::texts;

/// Applies `record` and returns the effects it calls for, in order.
pub fn step(state: &mut State, record: &Record) -> Vec<Effect> {
    match &record.body {
        Body::SessionOpened(opened) => session_opened(state, opened, record),
        Body::SnapshotTaken(snapshot) => {
            if let Some(setup) = &mut state.setup {
                setup.snapshot = record.seq;
                setup.offered = snapshot.tools.iter().map(|tool| tool.name.clone()).collect();
            }
            Vec::new()
        }
        Body::UserMessage { turn, text } => user_message(state, *turn, text),
        Body::Told { from, text } => {
            if state.phase != Phase::Ended {
                state.pending.push(Pending { from: from.clone(), text: text.clone(), steers: true });
            }
            Vec::new()
        }
        Body::CancelAsked { by } => cancel_asked(state, by),
        Body::ModelAsked { step, attempt, closing } => model_asked(state, *step, *attempt, *closing),
        Body::ModelAnswered(answered) => model_answered(state, answered),
        Body::ModelFailed { step, attempt, failure, then } => {
            model_failed(state, *step, *attempt, &failure.message, &failure.text, *then)
        }
        Body::TimerFired { .. } => {
            if let Phase::Backoff { attempt, closing, .. } = state.phase {
                state.phase = Phase::Ready { attempt, closing };
            }
            Vec::new()
        }
        Body::CallsJudged { rulings } => {
            for (id, ruling) in rulings {
                judged(state, id, ruling);
            }
            Vec::new()
        }
        Body::PermissionAsked(asked) => {
            // A stop may have been answered while the question was on its way: the call is settled then.
            if state.call(&asked.call).is_some_and(|call| matches!(call.state, CallState::Doubtful { .. })) {
                set(state, &asked.call, CallState::Asked);
            }
            Vec::new()
        }
        Body::PermissionAnswered { call, decision, by } => {
            answered(state, call, decision, *by);
            Vec::new()
        }
        Body::ToolIntent { call, tool, write, .. } => {
            let fits = state.call(call).is_some_and(|c| matches!(c.state, CallState::Allowed { .. }));
            if !fits || state.cancelled_by.is_some() {
                return vec![Effect::StopCall { call: call.clone() }];
            }
            set(state, call, CallState::Begun);
            if let Some(begun) = state.calls.iter_mut().find(|known| known.id == *call) {
                begun.write.clone_from(write);
            }
            acts(state);
            if tool == "Delegate" {
                graph_begun(state, call);
                return Vec::new();
            }
            vec![Effect::Run { call: call.clone() }]
        }
        Body::ToolDone { call, output, .. } => call_done(state, call, output.clone()),
        Body::Delegated(delegated) if record.actor == state.path => born(state, delegated, record),
        Body::Delegated(delegated) if delegated.call.is_beside() => {
            *state.numbered.entry(delegated.definition.clone()).or_default() += 1;
            state.begun_beside += 1;
            state.beside.push((record.actor.clone(), delegated.call.clone()));
            vec![Effect::SpawnBeside { child: record.actor.clone(), call: delegated.call.clone() }]
        }
        Body::Delegated(delegated) => child_begun(state, delegated, record),
        Body::ChildFinished(finished) if record.actor == state.path => {
            state.phase = Phase::Ended;
            state.calls.clear();
            state.children.clear();
            state.result.clone_from(&finished.summary);
            vec![Effect::Ended]
        }
        Body::ChildFinished(finished) => child_finished(state, record, finished),
        Body::AskedAgain(asked) if record.actor == state.path => asked_again(state, asked, record),
        Body::AskedAgain(asked) => begun_beside(state, asked, record),
        Body::ConversationCleared {} => conversation_cleared(state),
        Body::ModelChosen { model } => model_chosen(state, model),
        Body::Reconciled { call, found, action } => reconciled(state, call, *found, *action),
        Body::TurnFinished { end, text, .. } => turn_finished(state, *end, text),
        Body::SessionClosed { .. } | Body::ProcessStarted { .. } | Body::Unknown { .. } => Vec::new(),
    }
}

/// From here on a stop forgets nothing (ENGINE 5).
fn acts(state: &mut State) {
    state.acted = true;
    state.delivered.clear();
}

/// Every opening takes power back: what was allowed by rule and not begun is judged again (ENGINE 7).
fn session_opened(state: &mut State, opened: &SessionOpened, record: &Record) -> Vec<Effect> {
    if state.is_main() {
        let setup = state.setup.get_or_insert_with(|| Setup {
            call: None,
            definition: None,
            definition_hash: String::new(),
            task: String::new(),
            model: String::new(),
            iterations: opened.iterations,
            tools: None,
            rules: maia_protocol::RuleSet::default(),
            snapshot: record.seq,
            offered: Vec::new(),
            since: record.time,
        });
        setup.model.clone_from(&opened.model);
        state.chosen_model = None;
        setup.iterations = opened.iterations;
        setup.definition.clone_from(&opened.agent);
        setup.definition_hash.clone_from(&opened.agent_hash);
        setup.tools.clone_from(&opened.tools);
        setup.rules.clone_from(&opened.rules);
    }
    for call in &mut state.calls {
        let again = matches!(
            call.state,
            CallState::Allowed { by_person: false } | CallState::Doubtful { .. } | CallState::Asked
        );
        if again {
            call.state = CallState::New;
        }
    }
    Vec::new()
}

fn user_message(state: &mut State, turn: u32, text: &str) -> Vec<Effect> {
    leave_no_call_open(state);
    state.turn = turn;
    state.begin_anew();
    let last = state.messages.last().filter(|last| last.role == Role::User);
    state.turn_start_blocks = last.map_or(0, |last| last.content.len());
    state.delivered.clear();
    // Pending context and request are one message: providers want roles to alternate (mission M6.2-merge).
    let mut blocks: Vec<Block> = drain_pending(state);
    blocks.push(Block::Text { text: text.to_owned() });
    state.push_user(blocks);
    state.phase = Phase::Ready { attempt: 1, closing: false };
    Vec::new()
}

fn born(state: &mut State, delegated: &Delegated, record: &Record) -> Vec<Effect> {
    state.setup = Some(Setup {
        call: Some(delegated.call.clone()),
        definition: Some(delegated.definition.clone()),
        definition_hash: delegated.definition_hash.clone(),
        task: delegated.task.clone(),
        model: delegated.model.clone(),
        iterations: delegated.iterations,
        tools: Some(delegated.tools.clone()),
        rules: delegated.rules.clone(),
        snapshot: delegated.snapshot,
        offered: Vec::new(),
        since: record.time,
    });
    state.push_user(vec![Block::Text { text: delegated.task.clone() }]);
    state.phase = Phase::Ready { attempt: 1, closing: false };
    Vec::new()
}

/// A child has begun. One whose call or task a stop has settled meanwhile is there too, and is stopped: its record is
/// durable, and it must have its end.
fn child_begun(state: &mut State, delegated: &Delegated, record: &Record) -> Vec<Effect> {
    let base = delegated.call.base();
    let call = state.calls.iter_mut().find(|call| call.id == base);
    let due = call.is_some_and(|call| match (&mut call.graph, delegated.call.task()) {
        (Some(graph), Some(task)) => graph.began(task),
        // The child's end is the call's one result, also where the call was settled while the record was under way.
        (None, None) if matches!(call.state, CallState::Allowed { .. } | CallState::Settled(_)) => {
            let due = matches!(call.state, CallState::Allowed { .. });
            call.state = CallState::Begun;
            call.actor = record.actor.clone();
            due
        }
        _ => false,
    });
    *state.numbered.entry(delegated.definition.clone()).or_default() += 1;
    acts(state);
    state.children.push((record.actor.clone(), delegated.call.clone()));
    let child = record.actor.clone();
    let mut effects = vec![Effect::SpawnChild { child: child.clone(), call: delegated.call.clone() }];
    if !due || state.cancelled_by.is_some() {
        effects.push(Effect::StopChild { child });
    }
    effects
}

fn cancel_asked(state: &mut State, by: &str) -> Vec<Effect> {
    if matches!(state.phase, Phase::Idle | Phase::Ended) {
        return Vec::new();
    }
    state.cancelled_by = Some(by.to_owned());
    let mut effects = Vec::new();
    match state.phase {
        Phase::Asking { .. } => effects.push(Effect::StopModel),
        Phase::Ready { .. } | Phase::Backoff { .. } => {
            state.phase = Phase::Ending { end: cancelled(state) };
        }
        Phase::Acting => {
            for call in &mut state.calls {
                match call.state {
                    CallState::Begun if !call.is_delegation() => {
                        effects.push(Effect::StopCall { call: call.id.clone() });
                    }
                    CallState::Begun | CallState::Done(_) => {}
                    _ => {
                        effects.push(Effect::StopCall { call: call.id.clone() });
                        call.state = CallState::Settled(ToolOutput::error(texts::INTERRUPTED));
                    }
                }
            }
        }
        _ => {}
    }
    skip_tasks(state);
    effects.extend(state.children.iter().map(|(child, _)| Effect::StopChild { child: child.clone() }));
    effects
}

/// Nothing was done: the turn is taken back whole, its text returned to the input (ENGINE 5); a message that it was
/// joined to is as it was (mission M6.2-fuse).
fn take_back(state: &mut State) {
    state.messages.truncate(state.turn_start);
    if let Some(last) = state.messages.last_mut().filter(|last| last.role == Role::User) {
        Arc::make_mut(last).content.truncate(state.turn_start_blocks);
    }
    let mut pending = std::mem::take(&mut state.delivered);
    pending.append(&mut state.pending);
    state.pending = pending;
}

fn turn_finished(state: &mut State, end: TurnEnd, text: &str) -> Vec<Effect> {
    leave_no_call_open(state);
    if end == TurnEnd::Cancelled && !state.acted {
        take_back(state);
    }
    state.phase = Phase::Idle;
    state.calls.clear();
    state.delivered.clear();
    state.cancelled_by = None;
    state.result = text.to_owned();
    vec![Effect::Ended]
}
