//! Events as a pure projection of records (ENGINE 1, SPEC section 4).
//!
//! Asked by the actor EventHub for the live stream, and by replay for an old journal. Owns one thing that events say of
//! earlier records: whether the embedded model answers ([`Projection`]).

use maia_protocol::event::{AgentEvent, EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent};
use maia_protocol::outcome::Outcome;
use maia_protocol::record::{AfterAnswer, AfterFailure, ModelAnswered, SessionOpened, TurnEnd};
use maia_protocol::{ActorPath, Body, CallId, DEMO, Event, Record};
use serde_json::Value;

use crate::turn::handed_to_parent;

/// The projection of one session's records, given in their order.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    demo: bool,
}

impl Projection {
    /// Returns one that begins in the middle: `demo` tells whether the embedded model answers there.
    pub fn begun(demo: bool) -> Self {
        Self { demo }
    }

    /// Takes in a record whose events are not wanted.
    pub fn see(&mut self, record: &Record) {
        if let Body::SessionOpened(SessionOpened { model, .. }) | Body::ModelChosen { model } = &record.body {
            self.demo = model == DEMO;
        }
    }

    /// Returns the events of `record`, in order. `session` is the session's id.
    pub fn events(&mut self, record: &Record, session: &str) -> Vec<Event> {
        self.see(record);
        let mut out = Out { record, session, demo: self.demo, events: Vec::new() };
        project(&mut out, record);
        out.events
    }

    /// Tells whether the embedded model answers from here on (SPEC section 4).
    pub fn is_demo(&self) -> bool {
        self.demo
    }
}

/// Returns the events of one record that stands for itself: nothing that it does not say of the model (see [`Projection`]).
/// `session` is the session's id.
pub fn events(record: &Record, session: &str) -> Vec<Event> {
    Projection::default().events(record, session)
}

struct Out<'a> {
    record: &'a Record,
    session: &'a str,
    demo: bool,
    events: Vec<Event>,
}

impl Out<'_> {
    fn of(&mut self, actor: ActorPath, body: EventBody) {
        let (seq, time) = (self.record.seq, self.record.time);
        let (session, demo) = (self.session.to_owned(), self.demo);
        self.events.push(Event { seq, time, session, actor, live: false, demo, body });
    }

    fn own(&mut self, body: EventBody) {
        self.of(self.record.actor.clone(), body);
    }
}

fn project(out: &mut Out<'_>, record: &Record) {
    match &record.body {
        Body::SessionOpened(opened) => opened_events(out, opened),
        Body::UserMessage { turn, text } => {
            out.own(EventBody::Session(SessionEvent::TurnStarted { turn: *turn }));
            out.own(EventBody::Talk(TalkEvent::UserMessage { text: text.clone() }));
        }
        Body::Told { from, text } => {
            let (from, text) = (from.clone(), text.clone());
            out.own(EventBody::Talk(TalkEvent::MessageReceived { from, text }));
        }
        Body::ModelAnswered(answered) => answered_events(out, answered),
        Body::ModelFailed { failure, then, .. } => match then {
            AfterFailure::Cancelled => {
                if !failure.text.is_empty() {
                    out.own(EventBody::Talk(TalkEvent::Text { text: failure.text.clone() }));
                }
            }
            AfterFailure::Retry { in_ms } => {
                let message = format!("{}; sent again in {:.1} s", failure.message, *in_ms as f64 / 1000.0);
                out.own(EventBody::Notice(NoticeEvent::Warning { message, mend: None }));
            }
            AfterFailure::Close => {
                let message = format!("{}; closing with what was found", failure.message);
                out.own(EventBody::Notice(NoticeEvent::Warning { message, mend: None }));
            }
            AfterFailure::Fail => {
                let message = failure.message.clone();
                out.own(EventBody::Notice(NoticeEvent::Error { message, mend: mend(failure.kind) }));
            }
        },
        Body::PermissionAsked(asked) => out.own(EventBody::Tool(ToolEvent::PermissionAsked {
            id: asked.call.clone(),
            call: asked.call.clone(),
            tool: asked.tool.clone(),
            input: asked.input.clone(),
            why: asked.why.clone(),
            rule: asked.rule.clone(),
        })),
        Body::PermissionAnswered { call, decision, by } => {
            let (id, decision, by) = (call.clone(), decision.clone(), *by);
            out.own(EventBody::Tool(ToolEvent::PermissionAnswered { id, decision, by }));
        }
        Body::ProcessStarted { call, pid, .. } => {
            out.own(EventBody::Tool(ToolEvent::Process { id: call.clone(), pid: *pid }));
        }
        Body::ToolDone { call, tool, output, duration_ms } => {
            out.own(EventBody::Tool(ToolEvent::ToolResult {
                id: call.clone(),
                name: tool.clone(),
                output: output.text.clone(),
                is_error: output.is_error,
                duration_ms: *duration_ms,
                truncated: output.truncated,
            }));
        }
        Body::Delegated(delegated) => out.own(EventBody::Agent(AgentEvent::AgentSpawned {
            definition: delegated.definition.clone(),
            task: delegated.task.clone(),
            model: delegated.model.clone(),
            tools: delegated.tools.clone(),
            skills: Vec::new(),
            rules: delegated.rules.clone(),
            budget: delegated.iterations,
        })),
        Body::ChildFinished(finished) => {
            out.own(EventBody::Agent(AgentEvent::AgentFinished {
                outcome: finished.outcome,
                cause: finished.cause.clone(),
                summary: finished.summary.clone(),
                totals: finished.totals,
            }));
            // A task's result is part of its graph's, and what a person started beside the turn answers no call.
            if finished.call.task().is_some() || finished.call.is_beside() {
                return;
            }
            let handed = handed_to_parent(record.actor.as_str(), finished);
            out.of(
                finished.call.agent(),
                EventBody::Tool(ToolEvent::ToolResult {
                    id: finished.call.clone(),
                    name: "Agent".to_owned(),
                    output: handed.text,
                    is_error: handed.is_error,
                    duration_ms: finished.totals.duration_ms,
                    truncated: handed.truncated,
                }),
            );
        }
        Body::AskedAgain(asked) => out.own(EventBody::Agent(AgentEvent::AgentAskedAgain {
            definition: record.actor.name().to_owned(),
            text: asked.text.clone(),
            budget: asked.iterations,
        })),
        Body::ConversationCleared {} => out.own(EventBody::Session(SessionEvent::ConversationCleared)),
        Body::ModelChosen { model } => {
            out.own(EventBody::Session(SessionEvent::ModelChanged { model: model.clone() }));
        }
        Body::TurnFinished { turn, end, .. } => {
            out.own(EventBody::Session(SessionEvent::TurnFinished { turn: *turn, stop_reason: *end }));
        }
        Body::SessionClosed { reason, result, totals, main } => {
            let outcome = match reason {
                maia_protocol::outcome::EndReason::Done | maia_protocol::outcome::EndReason::Permission => {
                    Outcome::Done
                }
                maia_protocol::outcome::EndReason::Budget => Outcome::Partial,
                maia_protocol::outcome::EndReason::Interrupted => Outcome::Cancelled,
                _ => Outcome::Failed,
            };
            out.own(EventBody::Agent(AgentEvent::AgentFinished {
                outcome,
                cause: None,
                summary: result.clone(),
                totals: *main,
            }));
            out.own(EventBody::Session(SessionEvent::SessionEnded {
                reason: *reason,
                exit_code: reason.exit_code(),
                result: result.clone(),
                totals: *totals,
            }));
        }
        Body::SnapshotTaken(_)
        | Body::CancelAsked { .. }
        | Body::ModelAsked { .. }
        | Body::TimerFired { .. }
        | Body::CallsJudged { .. }
        | Body::ToolIntent { .. }
        | Body::Reconciled { .. }
        | Body::Unknown { .. } => {}
    }
}

fn opened_events(out: &mut Out<'_>, opened: &SessionOpened) {
    out.own(EventBody::Session(SessionEvent::SessionStarted {
        name: opened.name.clone(),
        cwd: opened.cwd.clone(),
        model: opened.model.clone(),
        mode: opened.mode,
        resumed: opened.resumed,
    }));
    if opened.resumed {
        for actor in &opened.resumes {
            let cause = "the session was opened again".to_owned();
            out.of(actor.clone(), EventBody::Agent(AgentEvent::AgentResumed { cause }));
        }
    } else {
        out.own(EventBody::Agent(AgentEvent::AgentSpawned {
            definition: opened.agent.clone().unwrap_or_else(|| "maia".to_owned()),
            task: String::new(),
            model: opened.model.clone(),
            // Of maia herself neither is limited: the tools are the snapshot's, the rules the person's.
            tools: opened.tools.clone().unwrap_or_default(),
            skills: Vec::new(),
            rules: opened.rules.clone(),
            budget: opened.iterations,
        }));
    }
}

fn answered_events(out: &mut Out<'_>, answered: &ModelAnswered) {
    let answer = &answered.answer;
    let usage = answer.usage.unwrap_or_default();
    if !answer.reasoning.is_empty() {
        out.own(EventBody::Talk(TalkEvent::Reasoning { text: answer.reasoning.clone() }));
    }
    if !answer.text.is_empty() {
        out.own(EventBody::Talk(TalkEvent::Text { text: answer.text.clone() }));
    } else if let AfterAnswer::Final { text, .. } = &answered.then
        && !text.is_empty()
    {
        // A notice that stands for an answer that never came (W-stop-empty, W-stop-filter).
        out.own(EventBody::Talk(TalkEvent::Text { text: text.clone() }));
    }
    out.own(EventBody::Talk(TalkEvent::ModelCall {
        step: answered.step,
        model: answered.model.clone(),
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens.saturating_add(usage.reasoning_tokens),
        cached_tokens: usage.cached_tokens,
        cost_micros: answered.cost_micros,
        first_token_ms: answered.first_token_ms,
        duration_ms: answered.duration_ms,
    }));
    if !answer.warnings.is_empty() {
        let message = format!("the answer of {} was cut by an output limit", answered.model);
        let mend = Some("raise MaxOutputTokens in the settings, or ask for less at once".to_owned());
        out.own(EventBody::Notice(NoticeEvent::Warning { message, mend }));
    }
    if !matches!(answered.then, AfterAnswer::Tools) {
        return;
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let id = CallId::new(&out.record.actor, answered.step, index as u32 + 1);
        out.own(EventBody::Tool(ToolEvent::ToolCall {
            id,
            name: call.name.clone(),
            input: call.input.clone(),
            summary: summary(&call.name, &call.input),
        }));
    }
}

/// Returns a call in one line: its name and the argument that tells most of it, cut at 120 characters.
pub fn summary(tool: &str, input: &Value) -> String {
    const TELLING: &[&str] = &["command", "path", "pattern", "url", "agent", "name"];
    let told = TELLING.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    let told = told.map(str::to_owned).unwrap_or_else(|| match input {
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    });
    let line: String = told.chars().map(|c| if c.is_control() { ' ' } else { c }).take(120).collect();
    if line.is_empty() { tool.to_owned() } else { format!("{tool} {line}") }
}

fn mend(kind: maia_protocol::model::FailureKind) -> Option<String> {
    use maia_protocol::model::FailureKind as Kind;
    let mend = match kind {
        Kind::Unreachable => {
            "start the endpoint, or correct its address (LiteLLM_URL in ~/.maia/settings.json, or OPENAI_BASE_URL)"
        }
        Kind::Unauthorized => {
            "set the key: LiteLLM_API_Key in ~/.maia/settings.json, LITELLM_API_KEY or OPENAI_API_KEY"
        }
        Kind::NotFound => "choose a model that the endpoint lists: maia run --model NAME",
        Kind::QuotaSpent => "the quota of this key is spent: raise it, or use another key or model",
        Kind::ContextOverflow => "ask for less at once, or choose a model with a larger context",
        Kind::Script => "correct the script file: the line that fits next is named above",
        _ => return None,
    };
    Some(mend.to_owned())
}

/// Returns how a turn's end reads as a reason of the session's end, before refusals are looked at.
pub fn reason(end: TurnEnd) -> maia_protocol::outcome::EndReason {
    use maia_protocol::outcome::EndReason;
    match end {
        TurnEnd::EndTurn | TurnEnd::MaxTokens | TurnEnd::Stopped => EndReason::Done,
        TurnEnd::MaxIterations => EndReason::Budget,
        TurnEnd::Cancelled => EndReason::Interrupted,
        TurnEnd::Failed => EndReason::Failed,
        TurnEnd::Endpoint => EndReason::Endpoint,
    }
}
