//! Folds events of the tree of agents into the screen.
//!
//! Asked by [`crate::update`]; a snapshot brings the tree to what it tells.

use maia_protocol::event::{AgentEvent, AgentState, AgentView};
use maia_protocol::{Event, Outcome, RuleSet, Totals};

use crate::item::{Child, Item, Level, kept, preview};
use crate::screen::Screen;
use crate::tree::{Life, Used};
use crate::update::say_to;
use crate::visible::{cut, visible, visible_line};

/// Folds one event of the tree.
pub(crate) fn agent(screen: &mut Screen, at: usize, event: &Event, body: &AgentEvent) {
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
                child(screen, at, event, definition, task);
            }
        }
        AgentEvent::AgentAskedAgain { text, budget, .. } => asked_again(screen, at, event, text, *budget),
        AgentEvent::AgentResumed { cause } => {
            spawned(screen, at, event);
            if at != 0 {
                screen.tree.live(at, Life::Working);
            }
            // The main transcript has the line of the session; each agent has its own.
            if let Some(node) = screen.tree.node_mut(at) {
                node.began = Some(event.time);
                if at != 0 {
                    let text = format!("{} · {}", words.went_on, visible_line(cause));
                    node.feed.push(Item::notice(Level::Info, text));
                }
            }
        }
        // What an agent did last may be told after its end.
        AgentEvent::AgentQueued { .. } | AgentEvent::AgentState { .. } if has_ended(screen, at) => {}
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

fn has_ended(screen: &Screen, at: usize) -> bool {
    screen.tree.node(at).is_some_and(|node| matches!(node.life, Life::Ended(_)))
}

/// An agent begins, or begins again.
fn spawned(screen: &mut Screen, at: usize, event: &Event) {
    if let Some(node) = screen.tree.node_mut(at) {
        // The main agent's time begins with a turn.
        node.began = (at != 0).then_some(event.time);
        node.duration_ms = None;
        node.cause = None;
        node.running.clear();
    }
}

/// An agent that had ended goes on with another request; it is the person's own now, so the main transcript shows it.
fn asked_again(screen: &mut Screen, at: usize, event: &Event, text: &str, budget: u32) {
    spawned(screen, at, event);
    let before = screen.words().asked_before;
    let Some(node) = screen.tree.node_mut(at) else { return };
    (node.iterations, node.budget) = (0, budget);
    node.task = kept(&format!("{text}\n\n{before} {}", node.task));
    node.summary.clear();
    node.feed.push(Item::user(text));
    screen.tree.live(at, Life::Working);
    show_in(screen, at, 0, cut(text, 200).0);
}

/// Shows a child that began in the transcript of its parent.
fn child(screen: &mut Screen, at: usize, event: &Event, definition: &str, task: &str) {
    let Some(above) = screen.tree.node(at).and_then(|node| node.parent) else { return };
    let mut awaits = None;
    if let Some(node) = screen.tree.node_mut(above) {
        awaits = node.graphs.iter_mut().find_map(|graph| {
            let begins = graph.begins(at, definition, task, event.time);
            begins.then(|| (graph.call.clone(), graph.is_graph))
        });
        if let Some((call, _)) = &awaits {
            node.show_graph(call);
        }
    }
    if let Some(node) = screen.tree.node_mut(at) {
        node.is_awaited = awaits.is_some();
    }
    match awaits {
        // The picture of the graph shows it.
        Some((_, true)) => {}
        // The call stands right above with the task in its line.
        Some((_, false)) => show_in(screen, at, above, ""),
        None => show_in(screen, at, above, cut(task, 200).0),
    }
}

fn show_in(screen: &mut Screen, at: usize, to: usize, task: &str) {
    let Some(path) = screen.tree.node(at).map(|node| node.path.clone()) else { return };
    let Some(shower) = screen.tree.node_mut(to) else { return };
    let task = visible_line(task).into_owned();
    let id = shower.feed.push(Item::Child(Child { path, task, ended: None, summary: String::new() }));
    if let Some(node) = screen.tree.node_mut(at) {
        node.shown_as = Some((to, id));
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
    let (shown_as, cause, above) = (node.shown_as.take(), node.cause.clone(), node.parent);
    // A blocking call shows what its children found as its own result.
    let is_awaited = std::mem::take(&mut node.is_awaited);
    if let Some(above) = above.and_then(|above| screen.tree.node_mut(above)) {
        let duration_ms = totals.duration_ms;
        let mut graphs = above.graphs.iter_mut().filter(|graph| graph.is_open);
        let call = graphs.find_map(|graph| graph.ends(at, outcome, duration_ms).then(|| graph.call.clone()));
        if let Some(call) = call {
            above.show_graph(&call);
        }
    }
    let Some((shower, id)) = shown_as else { return };
    let Some(shower) = screen.tree.node_mut(shower) else { return };
    let summary = match (is_awaited, cause) {
        (_, Some(cause)) => cut(&cause, crate::item::PREVIEW).0.to_owned(),
        (true, None) => String::new(),
        (false, None) => preview(summary).0,
    };
    shower.feed.change(id, |item| {
        if let Item::Child(child) = item {
            (child.ended, child.summary) = (Some((outcome, totals)), summary);
        }
    });
}

/// Brings the tree to what a snapshot tells.
pub(crate) fn snapshot(screen: &mut Screen, event: &Event, agents: &[AgentView]) {
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
        // Its beginning would have told its budget.
        node.is_partly_known |= node.budget == 0;
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
