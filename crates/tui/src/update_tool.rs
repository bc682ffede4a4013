//! Folds events of calls and questions into the screen.
//!
//! Asked by [`crate::update`]. A call belongs to the agent in its id, whatever actor ran it.

use std::sync::Arc;

use jiff::Timestamp;
use maia_protocol::CallId;
use maia_protocol::event::{GraphTask, ToolEvent};
use serde_json::Value;

use crate::graph::Graph;
use crate::item::{Call, Item, PREVIEW, preview};
use crate::question::Subject;
use crate::screen::Screen;
use crate::visible::{cut, visible, visible_line};
use crate::words::Words;

/// Characters of a call's line that are kept.
const SUMMARY: usize = 400;

/// Returns the call that an event is about.
pub(crate) fn call(body: &ToolEvent) -> &CallId {
    match body {
        ToolEvent::ToolCall { id, .. }
        | ToolEvent::ToolOutput { id, .. }
        | ToolEvent::ToolResult { id, .. }
        | ToolEvent::PermissionAsked { id, .. }
        | ToolEvent::PermissionAnswered { id, .. }
        | ToolEvent::Process { id, .. } => id,
    }
}

/// Folds one event of a call.
pub(crate) fn tool(screen: &mut Screen, time: Timestamp, body: &ToolEvent) {
    match body {
        ToolEvent::ToolCall { id, name, summary, input } => {
            let graph = Graph::of_call(id, name, input);
            let name = visible_line(name).into_owned();
            let summary = visible_line(cut(summary, SUMMARY).0).into_owned();
            // Some summaries begin with the tool's name, which is shown beside already.
            let summary = match summary.strip_prefix(name.as_str()) {
                Some(rest) if rest.starts_with([' ', ':']) => rest.trim_start_matches([' ', ':']).to_owned(),
                Some("") => String::new(),
                _ => summary,
            };
            let tasks = screen.words().tasks;
            // The tasks of a graph stand below their call.
            let summary = match &graph {
                Some(graph) if graph.is_graph && !graph.tasks.is_empty() => {
                    format!("{} {tasks}", graph.tasks.len())
                }
                _ => summary,
            };
            with_agent(screen, id, |node| {
                node.tool_calls = node.tool_calls.saturating_add(1);
                node.running.push((Some(id.clone()), name.clone()));
                let call = Call {
                    name,
                    summary,
                    ended: None,
                    preview: String::new(),
                    characters: None,
                    tasks: Arc::default(),
                };
                node.feed.push_call(id.clone(), Item::Call(call));
                if let Some(graph) = graph {
                    node.add_graph(graph);
                    node.show_graph(id);
                }
            });
        }
        ToolEvent::ToolOutput { id, chunk } => with_agent(screen, id, |node| {
            node.feed.change_call(id, false, |item| {
                if let Item::Call(call) = item {
                    call.preview = tail(&call.preview, chunk);
                }
            });
        }),
        ToolEvent::ToolResult { id, name, output, is_error, duration_ms, .. } => {
            // A call that has its result, as those of a stopped turn do, waits for nobody.
            screen.questions.answered(id);
            screen.count_questions();
            with_agent(screen, id, |node| {
                let name = visible_line(name);
                let known = node.running.iter().position(|(running, _)| running.as_ref() == Some(id));
                let known = known.or_else(|| {
                    node.running.iter().position(|(running, called)| running.is_none() && **called == *name)
                });
                if let Some(at) = known {
                    node.running.remove(at);
                }
                if let Some(graph) = node.graph_mut(id) {
                    graph.closes();
                    node.show_graph(id);
                }
                node.feed.change_call(id, true, |item| {
                    if let Item::Call(call) = item {
                        call.ended = Some((*is_error, *duration_ms));
                        (call.preview, call.characters) = preview(output);
                    }
                });
            })
        }
        ToolEvent::PermissionAsked { id, tool, input, why, rule, .. } => {
            let subject = Subject {
                tool: tool.clone(),
                input: input.clone(),
                why: visible(why).into_owned(),
                rule: rule.as_ref().map(|rule| visible_line(rule).into_owned()),
            };
            screen.questions.ask(id.clone(), Some(subject), time);
            screen.count_questions();
        }
        ToolEvent::PermissionAnswered { id, decision, by } => {
            if let Some(question) = screen.questions.answered(id) {
                let at = screen.tree.at(&id.agent());
                let words = screen.words();
                let subject = question.subject.as_ref();
                let subject = subject.map_or_else(|| id.to_string(), |subject| subject_line(subject, words));
                screen.tell_answer(at, &visible_line(&subject), decision, *by);
            }
            screen.count_questions();
        }
        ToolEvent::Process { .. } => {}
    }
}

/// Takes how far the tasks of a `Delegate` call are.
pub(crate) fn graph(screen: &mut Screen, call: &CallId, tasks: &[GraphTask]) {
    let call = call.base();
    with_agent(screen, &call, |node| {
        match node.graph_mut(&call) {
            Some(graph) => graph.told(tasks),
            None => node.add_graph(Graph::of_event(&call, tasks)),
        }
        node.show_graph(&call);
    });
}

fn with_agent(screen: &mut Screen, id: &CallId, change: impl FnOnce(&mut crate::tree::Node)) {
    let at = screen.tree.at(&id.agent());
    if let Some(node) = screen.tree.node_mut(at) {
        change(node);
    }
}

/// Returns the end of live output: what a person watches is the last line.
fn tail(before: &str, chunk: &str) -> String {
    const LINES: usize = 4;
    let start = chunk.char_indices().rev().nth(PREVIEW).map_or(0, |(at, _)| at);
    let mut text = format!("{before}{}", visible(chunk.get(start..).unwrap_or(chunk)));
    if let Some((at, _)) = text.char_indices().rev().nth(PREVIEW) {
        text = text.get(at..).unwrap_or_default().to_owned();
    }
    let lines = text.trim_end_matches('\n').rmatch_indices('\n').nth(LINES - 1).map(|(at, _)| at + 1);
    lines.and_then(|at| text.get(at..)).unwrap_or(&text).trim_start_matches('\n').to_owned()
}

/// Returns what was asked in one line.
fn subject_line(subject: &Subject, words: &Words) -> String {
    let input = &subject.input;
    if let (Some(tasks), "Delegate") = (input.get("tasks").and_then(Value::as_array), subject.tool.as_str()) {
        return format!("Delegate {} {}", tasks.len(), words.tasks);
    }
    let field = ["command", "path", "url", "agent", "pattern"].iter().find_map(|name| input.get(name));
    let what = field.and_then(Value::as_str).map_or_else(|| input.to_string(), str::to_owned);
    let (what, is_cut) = cut(&what, 120);
    format!("{} {what}{}", subject.tool, if is_cut { "…" } else { "" })
}
