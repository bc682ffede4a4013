//! What an agent said and did, as text.

use std::io::{self, Write};

use maia_protocol::Event;
use maia_protocol::event::{AgentEvent, EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent};

use super::units::outcome;
use crate::print::plain;

/// Characters of a person's message that are shown (mission M12.3-load).
const MESSAGE_CHARS: usize = 1_500;

/// Characters of a result that are shown (mission M12.3-load).
const RESULT_CHARS: usize = 600;

/// Writes an event; what says nothing to a reader is passed over.
pub fn write(out: &mut impl Write, event: &Event) -> io::Result<()> {
    match &event.body {
        EventBody::Session(SessionEvent::SessionStarted { resumed: true, .. }) => {
            line(out, "--", "opened again")
        }
        EventBody::Session(SessionEvent::ConversationCleared) => line(out, "--", "a new conversation"),
        EventBody::Session(SessionEvent::ModelChanged { model }) => {
            line(out, "--", &format!("model {model}"))
        }
        EventBody::Session(SessionEvent::SessionEnded { reason, .. }) => {
            line(out, "--", &format!("closed, exit code {}", reason.exit_code()))
        }
        EventBody::Talk(TalkEvent::UserMessage { text }) => block(out, "> ", text, MESSAGE_CHARS),
        EventBody::Talk(TalkEvent::MessageReceived { from, text }) => {
            block(out, &format!("> from {}: ", plain(from)), text, MESSAGE_CHARS)
        }
        EventBody::Talk(TalkEvent::Text { text }) => block(out, "", text, usize::MAX),
        EventBody::Agent(AgentEvent::AgentSpawned { task, .. }) if !task.is_empty() => {
            block(out, "> ", task, MESSAGE_CHARS)
        }
        EventBody::Agent(AgentEvent::AgentAskedAgain { text, .. }) => block(out, "> ", text, MESSAGE_CHARS),
        EventBody::Agent(AgentEvent::AgentFinished { outcome: how, cause, .. }) => {
            let cause = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            line(out, "--", &format!("{}{cause}", outcome(*how)))
        }
        EventBody::Tool(ToolEvent::ToolCall { summary, .. }) => line(out, "→", summary),
        EventBody::Tool(ToolEvent::ToolResult { output, is_error, .. }) => {
            block(out, if *is_error { "  ✗ " } else { "  = " }, output, RESULT_CHARS)
        }
        EventBody::Tool(ToolEvent::PermissionAsked { tool, why, .. }) => {
            line(out, "?", &format!("{tool}: {why}"))
        }
        EventBody::Tool(ToolEvent::PermissionAnswered { decision, by, .. }) => {
            let word = |value: serde_json::Value| match value {
                serde_json::Value::String(word) => word,
                // A decision with a reason.
                other => {
                    other.as_object().and_then(|fields| fields.keys().next().cloned()).unwrap_or_default()
                }
            };
            let said = serde_json::to_value(decision).map(word).unwrap_or_default();
            let who = serde_json::to_value(by).map(word).unwrap_or_default();
            line(out, "?", &format!("{said} by {who}"))
        }
        EventBody::Notice(NoticeEvent::Warning { message, .. }) => line(out, "!", message),
        EventBody::Notice(NoticeEvent::Error { message, .. }) => line(out, "!", message),
        _ => Ok(()),
    }
}

fn line(out: &mut impl Write, mark: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{mark} {}", plain(&text.replace(['\n', '\t'], " ")))
}

/// Writes a text of several lines, the first one behind `mark`, the others below it.
fn block(out: &mut impl Write, mark: &str, text: &str, chars: usize) -> io::Result<()> {
    let (shown, rest) = match text.char_indices().nth(chars) {
        Some((end, _)) => text.split_at(end),
        None => (text, ""),
    };
    let indent = " ".repeat(mark.chars().count().min(4));
    for (n, line) in plain(shown.trim_end()).lines().enumerate() {
        let before = if n == 0 { mark } else { &indent };
        writeln!(out, "{}", format!("{before}{line}").trim_end())?;
    }
    if shown.trim_end().is_empty() {
        writeln!(out, "{}", mark.trim_end())?;
    }
    if !rest.is_empty() {
        writeln!(out, "{indent}[{} more characters]", rest.chars().count())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_characters_and_made_harmless() {
        let shown = |text: &str, chars| {
            let mut out = Vec::new();
            block(&mut out, "  = ", text, chars).expect("memory");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(shown("one\ntwo\r\x1b[2J", 600), "  = one\n    two^M^[[2J\n");
        assert_eq!(shown("äöüß", 2), "  = äö\n    [2 more characters]\n");
        assert_eq!(shown("", 600), "  =\n");
    }
}
