//! Applies records: what each kind changes, and which effects it calls for.
//!
//! Every record of the agent can come in every state: an answer may be committed after the stop that made
//! it idle. What no longer fits changes nothing and calls for nothing.

use std::sync::Arc;

use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::permission::{Decision, Ruling, RulingAction};
use maia_protocol::record::{
    AfterAnswer, AfterFailure, ChildFinished, Delegated, ModelAnswered, ReconcileAction, SessionOpened,
    TurnEnd,
};
use maia_protocol::tool::{Seen, ToolOutput, WriteFound};
use maia_protocol::{Block, Body, CallId, Message, Record, Role};

use super::effect::Effect;
use super::next::is_cut;
use super::state::{Call, CallState, End, Phase, Setup, State, add};
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
                state.pending.push((from.clone(), text.clone()));
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
            set(state, &asked.call, CallState::Asked);
            Vec::new()
        }
        Body::PermissionAnswered { call, decision, .. } => {
            answered(state, call, decision);
            Vec::new()
        }
        Body::ToolIntent { call, write, .. } => {
            let fits = state.call(call).is_some_and(|c| matches!(c.state, CallState::Allowed { .. }));
            if !fits || state.cancelled_by.is_some() {
                return vec![Effect::StopCall { call: call.clone() }];
            }
            set(state, call, CallState::Begun);
            if let Some(begun) = state.calls.iter_mut().find(|known| known.id == *call) {
                begun.write.clone_from(write);
            }
            acts(state);
            vec![Effect::Run { call: call.clone() }]
        }
        Body::ToolDone { call, output, .. } => call_done(state, call, output.clone()),
        Body::Delegated(delegated) if record.actor == state.path => born(state, delegated, record),
        Body::Delegated(delegated) => {
            let Some(call) = state.calls.iter_mut().find(|call| call.id == delegated.call) else {
                return Vec::new();
            };
            call.state = CallState::Begun;
            call.actor = record.actor.clone();
            *state.numbered.entry(delegated.definition.clone()).or_default() += 1;
            acts(state);
            state.children.push(record.actor.clone());
            let mut effects =
                vec![Effect::SpawnChild { child: record.actor.clone(), call: delegated.call.clone() }];
            if state.cancelled_by.is_some() {
                effects.push(Effect::StopChild { child: record.actor.clone() });
            }
            effects
        }
        Body::ChildFinished(finished) if record.actor == state.path => {
            state.phase = Phase::Ended;
            state.calls.clear();
            state.children.clear();
            state.result.clone_from(&finished.summary);
            vec![Effect::Ended]
        }
        Body::ChildFinished(finished) => child_finished(state, record, finished),
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
    state.turn_start = state.messages.len();
    let last = state.messages.last().filter(|last| last.role == Role::User);
    state.turn_start_blocks = last.map_or(0, |last| last.content.len());
    state.acted = false;
    state.iterations = 0;
    state.nudges = 0;
    state.cuts = 0;
    state.last_text = None;
    state.closing_cause = None;
    state.cancelled_by = None;
    state.stop_answered = false;
    state.calls.clear();
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
                    CallState::Begun if call.name != "Agent" => {
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
    effects.extend(state.children.iter().map(|child| Effect::StopChild { child: child.clone() }));
    effects
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

fn model_asked(state: &mut State, step: u32, attempt: u32, closing: bool) -> Vec<Effect> {
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

/// Tells whether a natural end goes on for one more request, because somebody spoke meanwhile (W-stop-steer).
pub(super) fn is_steered(state: &State) -> bool {
    let natural = matches!(&state.phase, Phase::Ending { end } if end.outcome == Outcome::Done);
    natural && !state.pending.is_empty() && state.cancelled_by.is_none()
}

fn drain_pending(state: &mut State) -> Vec<Block> {
    let told = std::mem::take(&mut state.pending);
    let blocks = told.iter().map(|(from, text)| Block::Text { text: texts::told(from, text) }).collect();
    if !state.acted {
        // A turn that is taken back gives them back too.
        state.delivered.extend(told);
    }
    blocks
}

fn model_answered(state: &mut State, answered: &ModelAnswered) -> Vec<Effect> {
    let Phase::Asking { closing, .. } = state.phase else { return Vec::new() };
    if answered.step != state.step {
        return Vec::new();
    }
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

fn take_calls(state: &mut State, answered: &ModelAnswered) {
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
            state: settled.map_or(CallState::New, |text| CallState::Settled(ToolOutput::error(text))),
        });
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

fn model_failed(
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

fn judged(state: &mut State, id: &CallId, ruling: &Ruling) {
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

fn answered(state: &mut State, id: &CallId, decision: &Decision) {
    if !state.call(id).is_some_and(|call| matches!(call.state, CallState::Asked | CallState::Doubtful { .. }))
    {
        return;
    }
    match decision {
        Decision::AllowOnce => set(state, id, CallState::Allowed { by_person: true }),
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
        }
    }
}

/// The turn was ended for an agent that failed: no call stays without its result.
fn leave_no_call_open(state: &mut State) {
    for call in state.calls.iter_mut().filter(|call| !call.is_done()) {
        call.state = CallState::Done(ToolOutput::error(texts::LOST));
    }
    if !state.calls.is_empty() {
        results_if_all(state);
    }
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

fn set(state: &mut State, id: &CallId, next: CallState) {
    if let Some(call) = state.calls.iter_mut().find(|call| call.id == *id && !call.is_done()) {
        call.state = next;
    }
}

fn call_done(state: &mut State, id: &CallId, output: ToolOutput) -> Vec<Effect> {
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

fn child_finished(state: &mut State, record: &Record, finished: &ChildFinished) -> Vec<Effect> {
    state.children.retain(|child| *child != record.actor);
    state.add_below(&finished.subtree);
    let output = texts::handed_to_parent(record.actor.as_str(), finished);
    set(state, &finished.call, CallState::Done(output));
    results_if_all(state);
    Vec::new()
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

fn reconciled(
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
