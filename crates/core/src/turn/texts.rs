//! What the loop itself says to a model. Folded into conversations, so a change raises the fold version.

use maia_protocol::outcome::Outcome;
use maia_protocol::record::ChildFinished;
use maia_protocol::tool::ToolOutput;

/// Characters of a child's summary that its parent reads; about 4,000 tokens (SPEC section 2).
pub const MAX_HANDED_CHARS: usize = 16_000;

/// Result of a call that a stop ended or kept from running (ENGINE 5).
pub const INTERRUPTED: &str = "interrupted by the person";

/// Result of the call whose question was answered with stop (mission M6.2-stop).
pub const STOPPED: &str = "The person stopped here instead of allowing this call. It did not run.";

/// Result of a call that never ran because a question before it was answered with stop (mission M6.2-stop).
pub const NOT_RUN: &str = "Not run: the person stopped the turn at an earlier call of this answer.";

/// Mark of an answer that a stop ended.
pub const INTERRUPTED_MARK: &str = "[interrupted by the person]";

/// Result of a call whose agent failed while it was at work.
pub const LOST: &str = "The agent failed before this call had its result. What it may have changed is not known: look before you go on.";

/// Returns what the model reads before the closing request (mission M20.3-summary); `cause` when it is not the budget.
pub fn closing(cause: Option<&str>) -> String {
    let why = match cause {
        Some(cause) => format!("Requests to the model failed ({cause})."),
        None => "Your iterations are spent.".to_owned(),
    };
    format!(
        "{why} Call no more tools. Write your final answer now, in the form that your Output section asks for: \
         what you did, what you found, what is left to do."
    )
}

/// Tells a model that somebody spoke while it worked.
pub fn told(from: &str, text: &str) -> String {
    format!("Message from {from} while you work:\n\n{text}")
}

/// Returns the result of a call to a tool that does not exist or that the agent does not have.
pub fn unknown_tool(name: &str, has: &[String]) -> String {
    format!("Unknown tool \"{name}\". It was not run. Your tools: {}.", has.join(", "))
}

/// Returns what a parent reads of a child that ended (mission M20.4-info, T4): how it ended is never left out.
pub fn handed_to_parent(child: &str, finished: &ChildFinished) -> ToolOutput {
    let how = match finished.outcome {
        Outcome::Done => "done",
        Outcome::Partial => "partial: it ended before it was done",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
        Outcome::TimedOut => "timed out",
    };
    let mut text = format!("# {child}: {how}\n");
    if let Some(cause) = &finished.cause {
        text.push_str(&format!("Cause: {cause}\n"));
    }
    text.push('\n');
    let cut = finished.summary.char_indices().nth(MAX_HANDED_CHARS).map(|(at, _)| at);
    match cut {
        Some(at) => {
            text.push_str(finished.summary.get(..at).unwrap_or_default());
            text.push_str(&format!(
                "\n\n[cut: {MAX_HANDED_CHARS} of {} characters; the whole text is kept as {child}]",
                finished.summary.chars().count()
            ));
        }
        None if finished.summary.is_empty() => text.push_str("(it handed nothing back)"),
        None => text.push_str(&finished.summary),
    }
    let is_error = !matches!(finished.outcome, Outcome::Done | Outcome::Partial);
    ToolOutput { is_error, truncated: cut.is_some(), ..ToolOutput::ok(text) }
}
