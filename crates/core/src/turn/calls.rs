//! The calls of an answer: from the model's words to results in call order (mission M6.3, ENGINE 5, ENGINE 7).
//!
//! Asked by `apply` with the records about calls; owns nothing.

use maia_protocol::outcome::Outcome;
use maia_protocol::permission::{AnsweredBy, Decision, Ruling, RulingAction};
use maia_protocol::record::{ChildFinished, ModelAnswered, ReconcileAction, TurnEnd};
use maia_protocol::tool::{Seen, ToolOutput, WriteFound};
use maia_protocol::{Block, CallId, Record};

use crate::graph::Graph;

use super::ask::{cancelled, last_assistant_text};
use super::effect::Effect;
use super::state::{Call, CallState, End, Pending, Phase, State};
use super::texts;

pub(super) fn take_calls(state: &mut State, answered: &ModelAnswered) {
    let has = state.setup.as_ref().and_then(|setup| {
        let offered = Some(&setup.offered).filter(|offered| !offered.is_empty());
        setup.tools.as_ref().or(offered).cloned()
    });
    state.calls.clear();
    for (index, call) in answered.answer.calls.iter().enumerate() {
        let id = CallId::new(&state.path, answered.step, index as u32 + 1);
        let name = path_name(&call.name);
        let n = state.numbered.entry(name.to_owned()).or_default();
        *n += 1;
        let actor = state.path.child(name, *n);
        let settled = if call.unusable.is_some() {
            Some(unusable_text(call))
        } else {
            has.as_ref()
                .filter(|has| !has.contains(&call.name))
                .map(|has| texts::unknown_tool(&call.name, has))
        };
        state.calls.push(Call {
            id,
            actor,
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            unusable: call.unusable,
            target: answered.targets.get(index).cloned().flatten(),
            write: None,
            graph: None,
            state: settled.map_or(CallState::New, |text| CallState::Settled(ToolOutput::error(text))),
        });
    }
}

pub(super) fn judged(state: &mut State, id: &CallId, ruling: &Ruling) {
    let fits = state.call(id).is_some_and(|call| call.state == CallState::New);
    if !fits {
        return;
    }
    let next = match ruling.action {
        RulingAction::Run => CallState::Allowed { by_person: false },
        RulingAction::Ask => CallState::Doubtful { why: ruling.why.clone(), rule: ruling.rule.clone() },
        RulingAction::Refuse => CallState::Settled(ToolOutput::error(ruling.why.clone())),
    };
    set(state, id, next);
}

pub(super) fn answered(state: &mut State, id: &CallId, decision: &Decision, by: AnsweredBy) {
    if !state.call(id).is_some_and(|call| matches!(call.state, CallState::Asked | CallState::Doubtful { .. }))
    {
        return;
    }
    match decision {
        // What a rule allowed is judged anew by the next opening, a person's answer holds (ENGINE 7).
        Decision::AllowOnce => set(state, id, CallState::Allowed { by_person: by == AnsweredBy::Person }),
        Decision::RejectOnce { reason } => {
            let text = match reason {
                Some(reason) => format!("The call was refused: {reason}"),
                None => "The person refused this call. Do not send it again as it is.".to_owned(),
            };
            set(state, id, CallState::Settled(ToolOutput::error(text)));
        }
        Decision::Stop => {
            state.stop_answered = true;
            for call in &mut state.calls {
                let has_its_own =
                    matches!(call.state, CallState::Begun | CallState::Settled(_) | CallState::Done(_));
                if call.id == *id {
                    call.state = CallState::Settled(ToolOutput::error(texts::STOPPED));
                } else if !has_its_own {
                    call.state = CallState::Settled(ToolOutput::error(texts::NOT_RUN));
                }
            }
            skip_tasks(state);
        }
    }
}

pub(super) fn call_done(state: &mut State, id: &CallId, output: ToolOutput) -> Vec<Effect> {
    if state.call(id).is_none_or(Call::is_done) {
        return Vec::new();
    }
    if let Some(seen) = &output.seen {
        state.seen.insert(seen.path.clone(), seen.hash.clone());
    }
    set(state, id, CallState::Done(output));
    results_if_all(state);
    vec![Effect::CallEnded { call: id.clone() }]
}

pub(super) fn child_finished(state: &mut State, record: &Record, finished: &ChildFinished) -> Vec<Effect> {
    state.children.retain(|(child, _)| *child != record.actor);
    state.add_below(&finished.subtree);
    if finished.call.is_beside() {
        state.beside.retain(|(child, _)| *child != record.actor);
        let text = texts::handed_to_parent(record.actor.as_str(), finished).text;
        state.pending.push(Pending { from: record.actor.to_string(), text, steers: false });
        return Vec::new();
    }
    let output = texts::handed_to_parent(record.actor.as_str(), finished);
    match finished.call.task() {
        Some(task) => task_ended(state, &finished.call.base(), task, finished.outcome, output.text),
        None => set(state, &finished.call, CallState::Done(output)),
    }
    results_if_all(state);
    Vec::new()
}

/// A task of a graph has ended; the graph's result is known when no other is to begin or to end.
fn task_ended(state: &mut State, id: &CallId, task: &str, outcome: Outcome, result: String) {
    let Some(call) = state.calls.iter_mut().find(|call| call.id == *id) else { return };
    if let Some(graph) = &mut call.graph {
        graph.ended(task, outcome, result);
    }
    settle_graph(call);
}

fn settle_graph(call: &mut Call) {
    let Some(graph) = call.graph.as_ref().filter(|graph| graph.is_settled()) else { return };
    if call.state == CallState::Begun {
        let output = ToolOutput { is_error: !graph.is_well(), ..ToolOutput::ok(graph.report()) };
        call.state = CallState::Settled(output);
    }
}

/// A `Delegate` has begun: its graph was read when the intent was planned, and is read the same way again.
pub(super) fn graph_begun(state: &mut State, id: &CallId) {
    if let Some(call) = state.calls.iter_mut().find(|call| call.id == *id) {
        call.graph = Graph::read(&call.input, &|_| true).ok();
    }
}

/// Nothing more of any graph begins.
pub(super) fn skip_tasks(state: &mut State) {
    for call in &mut state.calls {
        if let Some(graph) = &mut call.graph {
            graph.skip_all("the person stopped it");
            settle_graph(call);
        }
    }
}

/// When every call has its result, the results go back in call order (mission M6.3-order).
fn results_if_all(state: &mut State) {
    if state.phase != Phase::Acting || !state.calls.iter().all(Call::is_done) {
        return;
    }
    let calls = std::mem::take(&mut state.calls);
    let blocks = calls.into_iter().filter_map(|call| match call.state {
        CallState::Done(output) => Some(Block::ToolResult {
            tool_use_id: call.provider_id,
            content: output.text,
            is_error: output.is_error,
        }),
        _ => None,
    });
    let blocks = blocks.collect();
    state.push_user(blocks);
    state.phase = if state.cancelled_by.is_some() {
        Phase::Ending { end: cancelled(state) }
    } else if state.stop_answered {
        Phase::Ending {
            end: End {
                turn: TurnEnd::Stopped,
                outcome: Outcome::Cancelled,
                cause: Some("a person answered a question with stop".to_owned()),
                text: last_assistant_text(state),
            },
        }
    } else {
        Phase::Ready { attempt: 1, closing: false }
    };
}

pub(super) fn reconciled(
    state: &mut State,
    id: &CallId,
    found: Option<WriteFound>,
    action: ReconcileAction,
) -> Vec<Effect> {
    if !state.call(id).is_some_and(|call| call.state == CallState::Begun) {
        return Vec::new();
    }
    let next = match action {
        // What is being stopped begins nothing.
        ReconcileAction::RunAgain if state.cancelled_by.is_some() => {
            CallState::Settled(ToolOutput::error(texts::INTERRUPTED))
        }
        ReconcileAction::RunAgain if state.stop_answered => {
            CallState::Settled(ToolOutput::error(texts::NOT_RUN))
        }
        ReconcileAction::RunAgain => CallState::New,
        ReconcileAction::WasDone => CallState::Settled(was_done(state, id)),
        ReconcileAction::Uncertain => CallState::Settled(ToolOutput::error(match found {
            Some(_) => {
                "maia was interrupted while this call ran, and the file is neither as it was before nor as it should be \
                        after: somebody changed it. The call was not repeated. Read the file before you go on."
            }
            None => {
                "maia was interrupted while this call ran. Whether it finished is not known, and it was not repeated. \
                     Look at what it may have changed before you go on."
            }
        })),
    };
    set(state, id, next);
    Vec::new()
}

/// The result of a Write or Edit that a crash kept from telling it: the file is as it should be, and known to be.
fn was_done(state: &State, id: &CallId) -> ToolOutput {
    let write = state.call(id).and_then(|call| call.write.as_ref());
    let file = write.map(|write| write.target.path.display().to_string()).unwrap_or_default();
    let text = format!("{file} was written before an interruption; its content is as intended.");
    let seen = write.map(|write| Seen { path: write.target.path.clone(), hash: write.after.clone() });
    ToolOutput { seen, ..ToolOutput::ok(text) }
}

/// The turn was ended for an agent that failed: no call stays without its result.
pub(super) fn leave_no_call_open(state: &mut State) {
    for call in state.calls.iter_mut().filter(|call| !call.is_done()) {
        call.state = CallState::Done(ToolOutput::error(texts::LOST));
    }
    if !state.calls.is_empty() {
        results_if_all(state);
    }
}

pub(super) fn set(state: &mut State, id: &CallId, next: CallState) {
    if let Some(call) = state.calls.iter_mut().find(|call| call.id == *id && !call.is_done()) {
        call.state = next;
    }
}

/// Returns what stands for a tool in a path: a name that a model made up must not look like another path.
fn path_name(tool: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits = !tool.is_empty() && tool.len() <= 64 && tool.chars().all(plain);
    if fits { tool } else { "call" }
}

fn unusable_text(call: &maia_protocol::AnsweredCall) -> String {
    use maia_protocol::model::Unusable;
    let why = match call.unusable {
        Some(Unusable::Truncated) => "its arguments were cut before they were whole",
        Some(Unusable::NoName) => "it has no name",
        _ => "its arguments are no JSON object",
    };
    let sent = call.raw.as_deref().unwrap_or("");
    let shown: String = sent.chars().take(500).collect();
    format!(
        "The call was not run: {why}. Received: {shown:?}. Send it again, whole, or go about it another way."
    )
}
