//! Puts the event stream on stdout and stderr: JSON lines, or the answer and its progress.
//!
//! - Fed by the event hub through a bounded queue; runs on a thread of its own, because a pipe may block.
//! - Texts in JSON are exact; what a person reads has its control bytes made visible (SAFETY 6).

use std::io::Write;
use std::sync::Arc;

use maia_protocol::event::{AgentEvent, EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent};
use maia_protocol::outcome::Outcome;
use maia_protocol::{ActorPath, Event};

/// How events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line on stdout.
    Json,
    /// Progress on stderr; the answer is printed at the end by the caller.
    Text,
}

/// Returns `text` with control characters, escapes and invisible direction marks made visible; line ends and tabs stay.
pub fn plain(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    if !text.chars().any(hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !hidden(c) {
            out.push(c);
        } else if c.is_ascii() {
            out.push('^');
            out.push(char::from((c as u8) ^ 0x40));
        } else {
            out.push_str(&format!("<{:04x}>", c as u32));
        }
    }
    out
}

/// Says `text` on stderr, a line of its own, made harmless. A stderr that cannot be written is nobody's loss.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("{}\n", plain(text)).as_bytes());
}

/// Returns how many there are of something, in words that fit the number.
pub fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Shows one event; returns whether the output can still be written.
///
/// Only JSON lines can fail: progress that nobody reads is no reason to stop the work whose answer goes to stdout.
pub fn show(event: &Event, form: Form, out: &mut dyn Write) -> std::io::Result<()> {
    match form {
        Form::Json => {
            let mut line = serde_json::to_vec(event)?;
            line.push(b'\n');
            // Whole lines, each flushed: whoever reads along never sees half of one (ENGINE 2).
            out.write_all(&line)?;
            out.flush()
        }
        Form::Text => {
            if let Some(line) = progress(event) {
                say(&line.replace('\n', " "));
            }
            Ok(())
        }
    }
}

/// Returns an event as a line of progress; `None` for what a person need not see.
fn progress(event: &Event) -> Option<String> {
    let who = &event.actor;
    let indent = "  ".repeat(who.depth());
    let line = match &event.body {
        EventBody::Session(SessionEvent::SessionStarted { name, model, mode, resumed, .. }) => {
            let verb = if *resumed { "resumed" } else { "session" };
            let mode = serde_json::to_value(mode).ok()?;
            format!("{verb} {name} · {model} · {}", mode.as_str()?)
        }
        EventBody::Agent(AgentEvent::AgentSpawned { task, .. }) if *who != ActorPath::main() => {
            format!("{indent}+ {who}: {}", first_line(task))
        }
        EventBody::Agent(AgentEvent::AgentResumed { .. }) => format!("{indent}> {who} goes on"),
        EventBody::Agent(AgentEvent::AgentRestarted { cause, n }) => {
            format!("{indent}! {who} was restarted ({n}): {}", first_line(cause))
        }
        EventBody::Agent(AgentEvent::AgentFinished { outcome, cause, totals, .. })
            if *who != ActorPath::main() =>
        {
            let how = match outcome {
                Outcome::Done => "done",
                Outcome::Partial => "partial",
                Outcome::Failed => "failed",
                Outcome::Cancelled => "cancelled",
                Outcome::TimedOut => "timed out",
            };
            let cause = cause.as_ref().map(|cause| format!(": {}", first_line(cause))).unwrap_or_default();
            format!(
                "{indent}- {who} {how}{cause} · {} · {:.1} s",
                count(totals.tool_calls.into(), "tool call"),
                totals.duration_ms as f64 / 1000.0
            )
        }
        EventBody::Tool(ToolEvent::ToolCall { summary, .. }) => format!("{indent}  {who} → {summary}"),
        EventBody::Tool(ToolEvent::ToolResult { name, output, is_error: true, .. }) => {
            format!("{indent}  {who} ✗ {name}: {}", first_line(output))
        }
        EventBody::Tool(ToolEvent::PermissionAsked { tool, why, .. }) => {
            format!("{indent}? {who} asks for {tool}: {why}")
        }
        EventBody::Notice(NoticeEvent::Warning { message, mend }) => {
            notice("warning", message, mend.as_ref())
        }
        EventBody::Notice(NoticeEvent::Error { message, mend }) => notice("error", message, mend.as_ref()),
        EventBody::Talk(TalkEvent::MessageReceived { from, text }) => {
            format!("{indent}  {who} was told by {from}: {}", first_line(text))
        }
        _ => return None,
    };
    Some(line)
}

fn notice(kind: &str, message: &str, mend: Option<&String>) -> String {
    let mend = mend.map(|mend| format!(" · {mend}")).unwrap_or_default();
    format!("{kind}: {message}{mend}")
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(160).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// Tells the caller of [`pump`] how far the stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The session's opening is flushed.
    Started,
    /// The session's end is flushed, or nothing more comes.
    Ended,
    /// The output cannot be written any more, and why.
    Broken(std::io::ErrorKind),
}

/// Shows events until the stream ends. Blocks: a thread of its own.
pub fn pump(
    mut events: tokio::sync::mpsc::Receiver<Arc<Event>>,
    form: Form,
    seen: tokio::sync::mpsc::UnboundedSender<Seen>,
) {
    // Unbounded, because at most three things are ever told.
    let mut out = std::io::stdout();
    let (mut broken, mut started) = (false, false);
    while let Some(event) = events.blocking_recv() {
        started = started || matches!(event.body, EventBody::Session(SessionEvent::SessionStarted { .. }));
        // Notices may come before the opening is recorded, of a full disk for one: lines begin with `session_started`.
        let due = started || form == Form::Text;
        if !broken
            && due
            && let Err(error) = show(&event, form, &mut out)
        {
            broken = true;
            let _ = seen.send(Seen::Broken(error.kind()));
        }
        match &event.body {
            EventBody::Session(SessionEvent::SessionStarted { .. }) => {
                let _ = seen.send(Seen::Started);
            }
            EventBody::Session(SessionEvent::SessionEnded { .. }) => {
                let _ = seen.send(Seen::Ended);
            }
            _ => {}
        }
    }
    let _ = seen.send(Seen::Ended);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_stays_raw() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}c\r\n\td"), "a^[[31mb<202e>c^M\n\td");
        assert_eq!(plain("\u{9b}2J"), "<009b>2J");
        assert_eq!(plain("plain ünïcode 🦀"), "plain ünïcode 🦀");
    }
}
