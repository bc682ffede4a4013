//! Folds events into the screen: the only way by which the session reaches it.
//!
//! Asked by the runner for every event, in the order of the stream. Every text is made visible here (SAFETY 6).

use std::sync::Arc;

use jiff::Timestamp;
use maia_protocol::Event;
use maia_protocol::event::{EventBody, NoticeEvent, SessionEvent, TalkEvent};
use maia_protocol::permission::{AnsweredBy, Decision};
use maia_protocol::record::TurnEnd;

use crate::item::{Item, Level, kept, preview};
use crate::screen::{Purpose, Screen};
use crate::tree::{Life, Used};
use crate::update_agent::{agent, snapshot};
use crate::visible::visible_line;

/// Folds one event.
pub fn update(screen: &mut Screen, event: &Arc<Event>) {
    screen.clock.time = screen.clock.time.max(event.time);
    let at = owner(screen, event);
    let is_piece = matches!(
        event.body,
        EventBody::Talk(TalkEvent::TextDelta { .. })
            | EventBody::Tool(maia_protocol::event::ToolEvent::ToolOutput { .. })
    );
    // Notices about an agent stand in the main transcript too, children in that of the agent above.
    let above = screen.tree.node(at).and_then(|node| node.parent);
    for to in [Some(0), above, Some(at)].into_iter().flatten() {
        if let Some(node) = screen.tree.node_mut(to) {
            node.feed.fold(event.seq);
        }
    }
    if !is_piece && let Some(node) = screen.tree.node_mut(at) {
        node.raw.fold(event.seq);
        node.raw.push(Item::Raw(Arc::clone(event)));
    }
    match &event.body {
        EventBody::Session(body) => session(screen, event.time, body),
        EventBody::Talk(body) => talk(screen, at, body),
        EventBody::Agent(body) => agent(screen, at, event, body),
        EventBody::Tool(body) => crate::update_tool::tool(screen, event.time, body),
        EventBody::Notice(body) => notice(screen, at, event, body),
    }
    screen.settle();
}

/// Returns the agent that `event` belongs to.
fn owner(screen: &mut Screen, event: &Event) -> usize {
    let path = &event.actor;
    match &event.body {
        // A call belongs to the agent in its id; what runs it is no agent.
        EventBody::Tool(body) => {
            let agent = crate::update_tool::call(body).agent();
            screen.tree.at(&agent)
        }
        // What the broker, the session or the scheduler tells belongs to nobody in the tree.
        _ if path.as_str().starts_with('@') => 0,
        // A notice of what runs a call belongs to its agent, which is known.
        EventBody::Notice(_) if screen.tree.known(path).is_none() => {
            let above = path.parent().and_then(|above| screen.tree.known(&above));
            above.unwrap_or_else(|| screen.tree.at(path))
        }
        _ => screen.tree.at(path),
    }
}

fn session(screen: &mut Screen, time: Timestamp, body: &SessionEvent) {
    let words = screen.words();
    match body {
        SessionEvent::SessionStarted { name, cwd, model, mode, resumed } => {
            screen.session.name = visible_line(name).into_owned();
            screen.session.cwd = visible_line(&cwd.to_string_lossy()).into_owned();
            screen.session.model = visible_line(model).into_owned();
            screen.session.mode = *mode;
            screen.session.ended = false;
            if *resumed {
                let text = format!("{} · {}", words.resumed, screen.session.name);
                screen.say(Level::Info, text);
            }
        }
        SessionEvent::SessionEnded { exit_code, .. } => {
            screen.turn_ended();
            screen.session.ended = true;
            screen.say(Level::Info, format!("{} ({exit_code})", words.session_ended));
        }
        SessionEvent::TurnStarted { turn } => {
            screen.session.turn = Some(*turn);
            screen.view.offer = None;
            screen.tree.live(0, Life::Working);
            if let Some(main) = screen.tree.main_mut() {
                // The main agent's budget is one of a series (ENGINE 6).
                main.iterations = 0;
                // Its time is that of the turn: at rest no time passes on the screen.
                (main.began, main.duration_ms) = (Some(time), None);
                main.feed.end_stream();
            }
        }
        SessionEvent::TurnFinished { stop_reason, .. } => {
            screen.turn_ended();
            screen.tree.live(0, Life::Idle);
            if let Some(main) = screen.tree.main_mut() {
                let ms = main.began.map(|began| time.as_millisecond().saturating_sub(began.as_millisecond()));
                main.duration_ms = ms.and_then(|ms| u64::try_from(ms).ok());
                main.feed.end_stream();
            }
            let (level, text) = match stop_reason {
                TurnEnd::EndTurn => return,
                TurnEnd::MaxTokens => (Level::Warn, words.turn_max_tokens),
                TurnEnd::MaxIterations => (Level::Warn, words.turn_max_iterations),
                TurnEnd::Stopped | TurnEnd::Cancelled => (Level::Info, words.turn_stopped),
                TurnEnd::Failed | TurnEnd::Endpoint => (Level::Fail, words.turn_failed),
            };
            screen.say(level, text.to_owned());
        }
        SessionEvent::ConversationCleared => {
            screen.session.context_used = 0;
            if let Some(main) = screen.tree.main_mut() {
                main.feed.begin_anew();
            }
            screen.say(Level::Info, words.cleared.to_owned());
        }
        SessionEvent::ModelChanged { model } => {
            let model = visible_line(model).into_owned();
            screen.say(Level::Info, format!("{} · {model}", words.model));
            if let Some(main) = screen.tree.main_mut() {
                main.model.clone_from(&model);
            }
            screen.session.model = model;
        }
    }
}

/// Returns how the output of a command of the person begins, as the main agent is told it.
fn own_command() -> String {
    format!("<data from=\"{}\">", maia_protocol::op::OWN_COMMAND)
}

fn talk(screen: &mut Screen, at: usize, body: &TalkEvent) {
    let Some(node) = screen.tree.node_mut(at) else { return };
    match body {
        TalkEvent::UserMessage { text } => {
            node.feed.end_stream();
            node.feed.push(Item::user(text));
            if at == 0 {
                node.feed.go_to_end();
            }
        }
        TalkEvent::TextDelta { text } => node.feed.stream(text),
        TalkEvent::Text { text } => node.feed.finish_stream(Item::text(text)),
        TalkEvent::Reasoning { text } => {
            let (text, whole) = preview(text);
            let text = if whole.is_some() { format!("{text} …") } else { text };
            node.feed.push_before_stream(Item::Reasoning(text));
        }
        // The output of the person's own command was shown when it ended.
        TalkEvent::MessageReceived { text, .. } if text.starts_with(&own_command()) => {}
        TalkEvent::MessageReceived { from, text } => {
            node.feed.push(Item::Told { from: visible_line(from).into_owned(), text: kept(text) });
        }
        TalkEvent::ModelCall { input_tokens, output_tokens, cost_micros, model, .. } => {
            node.iterations = node.iterations.saturating_add(1);
            node.model = visible_line(model).into_owned();
            let more = Used {
                input_tokens: *input_tokens,
                output_tokens: *output_tokens,
                cost_micros: cost_micros.unwrap_or(0),
            };
            screen.tree.charge(at, more);
            if at == 0 {
                screen.session.context_used = input_tokens.saturating_add(*output_tokens);
            }
        }
    }
}

fn notice(screen: &mut Screen, at: usize, event: &Event, body: &NoticeEvent) {
    let (level, message, mend) = match body {
        NoticeEvent::Warning { message, mend } => (Level::Warn, message, mend),
        NoticeEvent::Error { message, mend } => (Level::Fail, message, mend),
        NoticeEvent::Gap { from, to } => {
            let text = format!("{} ({from}–{to})", screen.words().gap);
            screen.say(Level::Warn, text);
            return;
        }
        NoticeEvent::Snapshot { agents, questions } => {
            snapshot(screen, event, agents);
            screen.questions.sync(questions, event.time);
            screen.count_questions();
            return;
        }
    };
    let mend = mend.as_ref().map(|mend| kept(mend));
    for (to, text) in said(screen, at, kept(message)) {
        if let Some(node) = screen.tree.node_mut(to) {
            node.feed.push(Item::Notice { level, text, mend: mend.clone() });
        }
    }
}

pub(crate) fn say_to(screen: &mut Screen, at: usize, level: Level, text: String) {
    for (to, text) in said(screen, at, text) {
        if let Some(node) = screen.tree.node_mut(to) {
            node.feed.push(Item::notice(level, text));
        }
    }
}

/// Returns where something about the agent at `at` is told: its own transcript, and the main one with its path.
fn said(screen: &Screen, at: usize, text: String) -> Vec<(usize, String)> {
    let Some(node) = screen.tree.node(at).filter(|_| at != 0) else { return vec![(0, text)] };
    vec![(0, format!("{}: {text}", visible_line(node.path.as_str()))), (at, text)]
}

impl Screen {
    /// Counts the open questions of each agent anew, and closes the prompt of one that is closed.
    pub(crate) fn count_questions(&mut self) {
        let mut counts = vec![0_usize; self.tree.nodes().len()];
        for id in self.questions.ids() {
            let at = self.tree.at(&id.agent());
            counts.resize(self.tree.nodes().len().max(counts.len()), 0);
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
        for (at, count) in counts.into_iter().enumerate() {
            if let Some(node) = self.tree.node_mut(at) {
                node.questions = count;
            }
        }
        let asked = self.view.prompt.as_ref().and_then(|prompt| match &prompt.purpose {
            Purpose::Reason(id) => Some(id.clone()),
            Purpose::Tell(_) | Purpose::AskAgain(_) => None,
        });
        if let Some(id) = asked
            && !self.questions.ids().any(|open| *open == id)
        {
            let written = self.view.prompt.take().map(|mut prompt| prompt.editor.take()).unwrap_or_default();
            if !written.is_empty() && self.editor.is_empty() {
                self.editor.set(written);
                let hint = self.words().answered_elsewhere;
                self.hint(hint);
            }
            self.view.focus = crate::screen::Focus::Input;
        }
    }

    /// Tells in the transcripts how a question was answered.
    pub(crate) fn tell_answer(&mut self, at: usize, subject: &str, decision: &Decision, by: AnsweredBy) {
        let words = self.words();
        let mut text = match decision {
            Decision::AllowOnce => format!("{subject} : {}", words.allowed),
            Decision::RejectOnce { reason: None } => format!("{subject} : {}", words.refused),
            Decision::RejectOnce { reason: Some(reason) } => {
                format!("{subject} : {} · {}", words.refused, visible_line(reason))
            }
            Decision::Stop => format!("{subject} : {}", words.stopped),
        };
        match by {
            AnsweredBy::Person => {}
            AnsweredBy::Rule => text.push_str(&format!(" ({})", words.by_rule)),
            AnsweredBy::Headless => text.push_str(&format!(" ({})", words.by_nobody)),
        }
        say_to(self, at, Level::Ask, text);
    }
}
