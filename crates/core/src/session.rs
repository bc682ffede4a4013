//! What a session knows of itself, as a fold: turns, what was refused, what the tree used.
//!
//! Asked by the actor Session and by whoever opens a journal; owns nothing.

use jiff::Timestamp;
use maia_protocol::outcome::{EndReason, Totals};
use maia_protocol::permission::{AnsweredBy, Sandbox};
use maia_protocol::record::{AfterAnswer, PermissionAsked, TurnEnd};
use maia_protocol::{ActorPath, Body, Mode, Record};

use crate::turn;

/// The fold of a session's own records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Its random id.
    pub id: String,
    /// Its label.
    pub name: String,
    /// Model of the main agent.
    pub model: String,
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
    /// Agents that have begun and not ended, the main one left out.
    pub open_agents: Vec<ActorPath>,
    /// Agents spawned in its life.
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
        match &record.body {
            Body::SessionOpened(opened) => {
                self.id.clone_from(&opened.session);
                self.name.clone_from(&opened.name);
                self.model.clone_from(&opened.model);
                self.mode = opened.mode;
                self.sandbox = opened.sandbox;
                self.refused = false;
                self.refusals.clear();
                self.questions.clear();
                self.closed = None;
                self.since = Some(record.time);
            }
            Body::UserMessage { turn, .. } => {
                self.turn = *turn;
                self.in_turn = true;
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
            Body::ModelAsked { closing: true, .. } if !self.closing.contains(&record.actor) => {
                self.closing.push(record.actor.clone());
            }
            Body::ModelAnswered(answered) => {
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
            Body::Delegated(_) => {
                self.spawned += 1;
                self.open_agents.push(record.actor.clone());
            }
            Body::ChildFinished(_) => {
                self.open_agents.retain(|agent| *agent != record.actor);
                self.closing.retain(|agent| *agent != record.actor);
            }
            _ => {}
        }
    }

    /// Returns why the session ends when its last turn ended so; several reasons count as 130, 1, 4, 3, 0 (SAFETY 1).
    pub fn reason(&self) -> EndReason {
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
