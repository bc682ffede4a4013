//! What a session knows of itself, as a fold: turns, what was refused, what the tree used.
//!
//! Asked by the actor Session and by whoever opens a journal; owns nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maia_protocol::outcome::{EndReason, Totals};
use maia_protocol::permission::{AnsweredBy, Sandbox};
use maia_protocol::record::{AfterAnswer, PermissionAsked, TurnEnd};
use maia_protocol::{ActorPath, Body, Mode, Record};

use crate::apart::Apart;
use crate::turn;

/// What is known of a sub-agent for asking it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Iterations that it was given when it was spawned.
    pub iterations: u32,
    /// How often it was asked again.
    pub asked: u32,
    /// Whether its end is recorded.
    pub ended: bool,
}

/// The fold of a session's own records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Its random id.
    pub id: String,
    /// Its label.
    pub name: String,
    /// Model of the main agent.
    pub model: String,
    /// How often it was opened.
    pub openings: u32,
    /// Number of the last turn, 0 before the first.
    pub turn: u32,
    /// Whether that turn has not ended.
    pub in_turn: bool,
    /// How the last ended turn ended, with its text.
    pub last: Option<(TurnEnd, String)>,
    /// Whether a question of this opening was refused because nobody could answer.
    pub refused: bool,
    /// Questions that were refused so, for the `--allow` lines.
    pub refusals: Vec<PermissionAsked>,
    /// Questions that are open.
    pub questions: Vec<PermissionAsked>,
    /// How it was closed, if it was.
    pub closed: Option<(EndReason, String)>,
    /// Why the opening before this one ended, as long as nothing has been done in this one.
    pub before: Option<EndReason>,
    /// Agents that have begun and not ended, the main one left out.
    pub open_agents: Vec<ActorPath>,
    /// Every sub-agent there ever was.
    pub agents: BTreeMap<ActorPath, Known>,
    /// Those of them that were asked again and are at work.
    pub apart: Apart,
    /// Agents that models have spawned in its life; those of a person do not count (ENGINE 6).
    pub spawned: u32,
    /// Agents whose closing request is under way.
    pub closing: Vec<ActorPath>,
    /// What the whole tree used.
    pub totals: Totals,
    /// What the main agent used by itself.
    pub main: Totals,
    /// When this opening began.
    pub since: Option<Timestamp>,
    /// Mode of this opening.
    pub mode: Mode,
    /// Sandbox of this opening.
    pub sandbox: Sandbox,
}

impl Session {
    /// Applies a record.
    pub fn step(&mut self, record: &Record) {
        self.apart.step(record);
        match &record.body {
            Body::SessionOpened(opened) => {
                self.openings += 1;
                self.id.clone_from(&opened.session);
                self.name.clone_from(&opened.name);
                self.model.clone_from(&opened.model);
                self.mode = opened.mode;
                self.sandbox = opened.sandbox;
                self.refused = false;
                self.refusals.clear();
                self.questions.clear();
                // Opened again and again without work, it keeps its reason (ENGINE 7).
                self.before = self.closed.take().map(|(reason, _)| reason);
                self.since = Some(record.time);
            }
            Body::UserMessage { turn, .. } => {
                self.turn = *turn;
                self.in_turn = true;
                self.before = None;
            }
            Body::TurnFinished { end, text, .. } => {
                self.in_turn = false;
                self.closing.retain(|agent| *agent != record.actor);
                self.last = Some((*end, text.clone()));
            }
            Body::SessionClosed { reason, result, .. } => self.closed = Some((*reason, result.clone())),
            Body::PermissionAsked(asked) => {
                self.questions.retain(|open| open.call != asked.call);
                self.questions.push((**asked).clone());
            }
            Body::PermissionAnswered { call, by, .. } => {
                let asked = self.questions.iter().position(|open| open.call == *call);
                let asked = asked.map(|index| self.questions.remove(index));
                if *by == AnsweredBy::Headless {
                    self.refused = true;
                    self.refusals.extend(asked);
                }
            }
            // A call that was stopped has its result without an answer.
            Body::ToolDone { call, .. } => self.questions.retain(|open| open.call != *call),
            Body::ModelAsked { closing: true, .. } if !self.closing.contains(&record.actor) => {
                self.closing.push(record.actor.clone());
            }
            Body::ModelAnswered(answered) => {
                self.before = None;
                let closing = self.closing.contains(&record.actor);
                self.closing.retain(|agent| *agent != record.actor);
                let usage = answered.answer.usage.unwrap_or_default();
                let calls = match answered.then {
                    AfterAnswer::Tools => answered.answer.calls.len(),
                    _ => 0,
                };
                let used = Totals {
                    iterations: u32::from(!closing),
                    tool_calls: u32::try_from(calls).unwrap_or(u32::MAX),
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens.saturating_add(usage.reasoning_tokens),
                    cost_micros: answered.cost_micros,
                    duration_ms: 0,
                };
                turn::add(&mut self.totals, &used);
                if record.actor == ActorPath::main() {
                    turn::add(&mut self.main, &used);
                }
            }
            Body::Delegated(delegated) => {
                self.spawned += u32::from(!delegated.call.is_beside());
                self.open_agents.push(record.actor.clone());
                let known = Known { iterations: delegated.iterations, ..Known::default() };
                self.agents.insert(record.actor.clone(), known);
            }
            Body::AskedAgain(_) => {
                self.before = None;
                self.open_agents.push(record.actor.clone());
                let known = self.agents.entry(record.actor.clone()).or_default();
                *known = Known { asked: known.asked + 1, ended: false, ..*known };
            }
            Body::ModelChosen { model } => self.model.clone_from(model),
            // What is left below an agent that failed is nobody's any more: nothing waits for its end.
            Body::ChildFinished(_) => {
                let Self { open_agents, closing, apart, .. } = self;
                open_agents.retain(|agent| !apart.falls_with(agent, &record.actor));
                closing.retain(|agent| !apart.falls_with(agent, &record.actor));
                if let Some(known) = self.agents.get_mut(&record.actor) {
                    known.ended = true;
                }
            }
            _ => {}
        }
    }

    /// Returns why the session ends when its last turn ended so; several reasons count as 130, 1, 4, 3, 0 (SAFETY 1).
    pub fn reason(&self) -> EndReason {
        if let Some(before) = self.before {
            return before;
        }
        let own = self.last.as_ref().map_or(EndReason::Done, |(end, _)| crate::event::reason(*end));
        match own {
            EndReason::Done | EndReason::Budget if self.refused => EndReason::Permission,
            other => other,
        }
    }

    /// Returns the last final text.
    pub fn result(&self) -> &str {
        self.last.as_ref().map_or("", |(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maia_protocol::outcome::Outcome;
    use maia_protocol::record::{ChildFinished, Delegated, SessionOpened};
    use maia_protocol::{CallId, Decision, RuleSet};

    fn opened() -> Body {
        Body::SessionOpened(SessionOpened {
            session: "s".to_owned(),
            name: "n".to_owned(),
            cwd: "/".into(),
            model: "m".to_owned(),
            agent: None,
            agent_hash: String::new(),
            tools: None,
            rules: RuleSet::default(),
            iterations: 50,
            mode: Mode::Confirm,
            sandbox: Sandbox::None,
            headless: true,
            version: "0".to_owned(),
            fold: 1,
            resumed: false,
            resumes: Vec::new(),
        })
    }

    fn delegated(call: CallId) -> Body {
        Body::Delegated(Box::new(Delegated {
            call,
            definition: "a".to_owned(),
            definition_hash: String::new(),
            task: "t".to_owned(),
            model: "m".to_owned(),
            iterations: 1,
            tools: Vec::new(),
            rules: RuleSet::default(),
            snapshot: 2,
        }))
    }

    fn step(session: &mut Session, actor: &ActorPath, body: Body) {
        session.step(&Record { seq: 1, time: Timestamp::UNIX_EPOCH, actor: actor.clone(), body });
    }

    #[test]
    fn a_session_that_is_opened_again_without_work_keeps_its_reason() {
        let (mut session, main) = (Session::default(), ActorPath::main());
        let message = |turn| Body::UserMessage { turn, text: "go".to_owned() };
        let call = CallId::new(&main, 1, 1);
        let refused = Decision::RejectOnce { reason: None };
        step(&mut session, &main, opened());
        step(&mut session, &main, message(1));
        let answer = Body::PermissionAnswered { call, decision: refused, by: AnsweredBy::Headless };
        step(&mut session, &main, answer);
        let end = |turn| Body::TurnFinished { turn, end: TurnEnd::EndTurn, text: "done".to_owned() };
        step(&mut session, &main, end(1));
        assert_eq!(session.reason(), EndReason::Permission);
        for _ in 0..2 {
            let (reason, result) = (session.reason(), session.result().to_owned());
            let (totals, used) = (session.totals, session.main);
            step(&mut session, &main, Body::SessionClosed { reason, result, totals, main: used });
            step(&mut session, &main, opened());
            assert_eq!(session.reason(), EndReason::Permission);
        }
        step(&mut session, &main, message(2));
        step(&mut session, &main, end(2));
        assert_eq!(session.reason(), EndReason::Done);
    }

    #[test]
    fn who_is_below_an_agent_that_ended_is_not_waited_for() {
        let (mut session, main) = (Session::default(), ActorPath::main());
        let (a, other) = (main.child("a", 1), main.child("a", 10));
        let call = CallId::new(&main, 1, 1);
        step(&mut session, &a, delegated(call.clone()));
        step(&mut session, &a.child("a", 1), delegated(CallId::new(&a, 1, 1)));
        step(&mut session, &other, delegated(CallId::new(&main, 0, 1)));
        assert_eq!(session.spawned, 2, "what a person starts does not count");
        let finished = ChildFinished {
            call,
            outcome: Outcome::Failed,
            cause: None,
            summary: String::new(),
            totals: Totals::default(),
            subtree: Totals::default(),
        };
        step(&mut session, &a, Body::ChildFinished(Box::new(finished)));
        assert_eq!(session.open_agents, [other]);
    }
}
