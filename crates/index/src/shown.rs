//! Under which actors a record is found.

use maia_protocol::event::{EventBody, ToolEvent};
use maia_protocol::{ActorPath, Body, Event, Record};

/// Returns the actor among whose items `event` is shown: a call's events are its agent's, whatever actor ran it.
pub fn item_of(event: &Event) -> ActorPath {
    match &event.body {
        EventBody::Tool(
            ToolEvent::ToolCall { id, .. }
            | ToolEvent::ToolOutput { id, .. }
            | ToolEvent::ToolResult { id, .. }
            | ToolEvent::PermissionAsked { id, .. }
            | ToolEvent::PermissionAnswered { id, .. }
            | ToolEvent::Process { id, .. },
        ) => id.agent(),
        _ => event.actor.clone(),
    }
}

/// Returns the actors among whose items `record` is shown, its own first: an agent has those of its calls too.
///
/// Holds at least [`item_of`] all its events (`maia_core::event::events`).
pub fn shown_at(record: &Record) -> Vec<ActorPath> {
    let mut actors = vec![record.actor.clone()];
    match &record.body {
        Body::SessionOpened(opened) => actors.extend(opened.resumes.iter().cloned()),
        Body::ChildFinished(finished) => actors.push(finished.call.agent()),
        Body::ToolIntent { call, .. } | Body::ToolDone { call, .. } | Body::ProcessStarted { call, .. } => {
            actors.push(call.agent());
        }
        Body::PermissionAsked(asked) => actors.push(asked.call.agent()),
        Body::PermissionAnswered { call, .. } => actors.push(call.agent()),
        _ => {}
    }
    let mut rest = Vec::with_capacity(actors.len());
    for actor in actors {
        if !rest.contains(&actor) {
            rest.push(actor);
        }
    }
    rest
}

/// Tells whether a record of `kind` can be found under others than its own actor: then its body has to be looked at.
pub(crate) fn is_shown_elsewhere(kind: &str) -> bool {
    const KINDS: &[&str] = &[
        "session_opened",
        "child_finished",
        "tool_intent",
        "tool_done",
        "process_started",
        "permission_asked",
        "permission_answered",
    ];
    KINDS.contains(&kind)
}
