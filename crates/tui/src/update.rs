//! Folds events into the screen: the only way by which the session reaches it.
//!
//! Asked by the runner for every event, in the order of the stream. Every text is made visible here (SAFETY 6).

use std::sync::Arc;

use maia_protocol::event::{
    AgentEvent, AgentState, AgentView, EventBody, NoticeEvent, SessionEvent, TalkEvent,
};
use maia_protocol::permission::{AnsweredBy, Decision};
use maia_protocol::record::TurnEnd;
use maia_protocol::{Event, Outcome, RuleSet, Totals};

use crate::item::{Child, Item, Level, kept, preview};
use crate::screen::{Purpose, Screen};
use crate::tree::{Life, Used};
use crate::visible::{cut, visible, visible_line};

/// Folds one event.
pub fn update(screen: &mut Screen, event: &Arc<Event>) {
    screen.clock.time = screen.clock.time.max(event.time);
    // What the broker, the session or the scheduler tells belongs to nobody in the tree.
    let at = if event.actor.as_str().starts_with('@') { 0 } else { screen.tree.at(&event.actor) };
    let is_piece = matches!(
        event.body,
        EventBody::Talk(TalkEvent::TextDelta { .. })
            | EventBody::Tool(maia_protocol::event::ToolEvent::ToolOutput { .. })
    );
    if !is_piece && let Some(node) = screen.tree.node_mut(at) {
        node.raw.push(Item::Raw(Arc::clone(event)));
    }
    match &event.body {
        EventBody::Session(body) => session(screen, body),
        EventBody::Talk(body) => talk(screen, at, body),
        EventBody::Agent(body) => agent(screen, at, event, body),
        EventBody::Tool(body) => crate::update_tool::tool(screen, event.time, body),
        EventBody::Notice(body) => notice(screen, at, event, body),
    }
    screen.settle();
}

fn session(screen: &mut Screen, body: &SessionEvent) {
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
            screen.tree.live(0, Life::Working);
            if let Some(main) = screen.tree.main_mut() {
                // The main agent's budget is one of a series (ENGINE 6).
                main.iterations = 0;
                main.feed.end_stream();
            }
        }
        SessionEvent::TurnFinished { stop_reason, .. } => {
            screen.turn_ended();
            screen.tree.live(0, Life::Idle);
            if let Some(main) = screen.tree.main_mut() {
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
    }
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

fn agent(screen: &mut Screen, at: usize, event: &Event, body: &AgentEvent) {
    let words = screen.words();
    match body {
        AgentEvent::AgentSpawned { definition, task, model, tools, skills, rules, budget } => {
            spawned(screen, at, event);
            let Some(node) = screen.tree.node_mut(at) else { return };
            node.definition = visible_line(definition).into_owned();
            node.task = kept(task);
            node.model = visible_line(model).into_owned();
            node.tools = lines(tools);
            node.skills = lines(skills);
            node.rules =
                RuleSet { allow: lines(&rules.allow), ask: lines(&rules.ask), deny: lines(&rules.deny) };
            node.budget = *budget;
            if node.parent.is_some() {
                node.feed.push(Item::user(task));
                screen.tree.live(at, Life::Working);
                child(screen, at);
            }
        }
        AgentEvent::AgentResumed { cause } => {
            spawned(screen, at, event);
            if at != 0 {
                screen.tree.live(at, Life::Working);
            }
            let text = format!("{} · {}", words.went_on, visible_line(cause));
            say_to(screen, at, Level::Info, text);
        }
        AgentEvent::AgentQueued { position } => screen.tree.live(at, Life::Queued(*position)),
        AgentEvent::AgentState { state, waiting_for } => {
            let life = match state {
                AgentState::Queued => match screen.tree.node(at).map(|node| node.life) {
                    Some(Life::Queued(position)) => Life::Queued(position),
                    _ => Life::Queued(0),
                },
                AgentState::Working => Life::Working,
                AgentState::Waiting => Life::Waiting(*waiting_for),
                AgentState::Idle => Life::Idle,
                AgentState::Stopping => Life::Stopping,
            };
            screen.tree.live(at, life);
        }
        AgentEvent::AgentRestarted { cause, n } => {
            if let Some(node) = screen.tree.node_mut(at) {
                node.restarts = *n;
                node.feed.end_stream();
            }
            let text = format!("{} {n} · {}", words.restarted, visible_line(cause));
            say_to(screen, at, Level::Warn, text);
        }
        AgentEvent::Graph { call, tasks } => crate::update_tool::graph(screen, call, tasks),
        AgentEvent::AgentFinished { outcome, cause, summary, totals } => {
            finished(screen, at, (*outcome, *totals), cause.as_deref(), summary);
        }
    }
}

/// An agent begins, or begins again.
fn spawned(screen: &mut Screen, at: usize, event: &Event) {
    if let Some(node) = screen.tree.node_mut(at) {
        node.began = Some(event.time);
        node.duration_ms = None;
        node.cause = None;
        node.running.clear();
    }
}

/// Shows a child that began in the transcript of its parent.
fn child(screen: &mut Screen, at: usize) {
    let Some(node) = screen.tree.node(at) else { return };
    let task = cut(&visible_line(&node.task), 200).0.to_owned();
    let path = node.path.clone();
    let Some(parent) = node.parent.and_then(|parent| screen.tree.node_mut(parent)) else { return };
    // A call of Agent stands right above with the task in its line.
    let is_told = parent.running.iter().any(|(_, name)| name == "Agent");
    let task = if is_told { String::new() } else { task };
    let id = parent.feed.push(Item::Child(Child { path, task, ended: None, summary: String::new() }));
    if let Some(node) = screen.tree.node_mut(at) {
        node.shown_as = Some(id);
    }
}

fn finished(screen: &mut Screen, at: usize, end: (Outcome, Totals), cause: Option<&str>, summary: &str) {
    let (outcome, totals) = end;
    screen.tree.live(at, Life::Ended(outcome));
    screen.tree.settle(
        at,
        Used {
            input_tokens: totals.input_tokens,
            output_tokens: totals.output_tokens,
            cost_micros: totals.cost_micros.unwrap_or(0),
        },
    );
    let Some(node) = screen.tree.node_mut(at) else { return };
    node.iterations = totals.iterations;
    node.tool_calls = totals.tool_calls;
    node.duration_ms = Some(totals.duration_ms);
    node.running.clear();
    node.summary = kept(summary);
    node.cause = cause.map(|cause| visible(cause).into_owned());
    node.feed.end_stream();
    let Some(parent) = node.parent else { return };
    let (shown_as, cause) = (node.shown_as.take(), node.cause.clone());
    let Some(parent) = screen.tree.node_mut(parent) else { return };
    // A blocking call shows what its children found as its own result.
    let awaited = parent.running.iter().any(|(_, name)| name == "Agent" || name == "Delegate");
    let summary = match (awaited, cause) {
        (_, Some(cause)) => cut(&cause, crate::item::PREVIEW).0.to_owned(),
        (true, None) => String::new(),
        (false, None) => preview(summary).0,
    };
    if let Some(id) = shown_as {
        parent.feed.change(id, |item| {
            if let Item::Child(child) = item {
                (child.ended, child.summary) = (Some((outcome, totals)), summary);
            }
        });
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

fn say_to(screen: &mut Screen, at: usize, level: Level, text: String) {
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

/// Brings the tree to what a snapshot tells.
fn snapshot(screen: &mut Screen, event: &Event, agents: &[AgentView]) {
    let mut told = vec![false; screen.tree.nodes().len()];
    for view in agents {
        let at = screen.tree.at(&view.actor);
        told.resize(screen.tree.nodes().len().max(told.len()), false);
        if let Some(told) = told.get_mut(at) {
            *told = true;
        }
        let own = Used { input_tokens: view.input_tokens, output_tokens: view.output_tokens, cost_micros: 0 };
        screen.tree.settle(at, own);
        let Some(node) = screen.tree.node_mut(at) else { continue };
        node.definition = visible_line(&view.definition).into_owned();
        node.task = kept(&view.task);
        (node.iterations, node.budget, node.tool_calls) = (view.iterations, view.budget, view.tool_calls);
        // Calls whose id is known are kept; the others are known by name only.
        let mut names: Vec<String> = lines(&view.running);
        node.running.retain(|(id, name)| {
            let at = names.iter().position(|running| running == name);
            id.is_some() && at.map(|at| names.swap_remove(at)).is_some()
        });
        node.running.extend(names.into_iter().map(|name| (None, name)));
        let is_new = !node.life.is_live() || node.life == Life::Idle;
        if is_new && (at != 0 || !node.running.is_empty()) {
            node.duration_ms = None;
            screen.tree.live(at, Life::Working);
        }
    }
    for at in 1..told.len() {
        let is_live = screen.tree.node(at).is_some_and(|node| node.life.is_live());
        if is_live && told.get(at) == Some(&false) {
            screen.tree.live(at, Life::Gone);
            if let Some(node) = screen.tree.node_mut(at) {
                node.duration_ms = node.seconds(event.time).map(|seconds| seconds * 1_000);
                node.running.clear();
            }
        }
    }
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| visible_line(text).into_owned()).collect()
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
            Purpose::Tell(_) => None,
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
