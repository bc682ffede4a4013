//! Decides what an agent does after a model has answered or failed (W-think-retry, W-stop-*).
//!
//! - Asked by the turn machine with the outcome of every model request.
//! - Owns nothing: what happened before comes in as [`Seen`]; the choice is kept in the record, not made again.
//! - Waits for a busy endpoint (429, 503) are the gateway's (ENGINE 6): here they are failures that nobody waited for.

use maia_protocol::model::{AnswerWarning, FailureKind, ModelFailure, Unusable};
use maia_protocol::{Answer, StopReason};

/// Waits before the retries of one step, in milliseconds; their number is the number of retries (W-think-retry).
pub const RETRY_DELAYS_MS: [u64; 2] = [1_000, 2_000];

/// Nudges after empty answers before the fixed text is given (W-stop-empty).
pub const MAX_NUDGES: u32 = 2;

/// Answers cut by the output limit, one after another, after which the turn ends (W-stop-length3).
pub const MAX_CUTS_IN_A_ROW: u32 = 3;

/// What is said to a model that answered with nothing (W-stop-empty).
pub const NUDGE: &str = "Please provide your complete answer now as plain text.";

/// The answer when the model stays silent (W-stop-empty).
pub const NO_ANSWER: &str = "The model gave no answer. Ask again, or choose another model.";

/// The answer when the provider withheld it without a word (W-stop-filter).
pub const WITHHELD: &str =
    "The provider's content filter withheld the answer. Rephrase the request, or choose another model.";

/// What is added after the last of several cut answers (W-stop-length3).
pub const CUT_ADVICE: &str = "The answers were cut by the output limit several times in a row. Ask for less at once, or raise MaxOutputTokens.";

/// What happened in the turn before this outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Retries done for this step.
    pub retries: u32,
    /// Nudges since the last answer that was not empty.
    pub nudges: u32,
    /// Cut answers in a row before this one; see [`is_cut`].
    pub cuts_in_a_row: u32,
    /// Text of the answer before.
    pub last_text: Option<String>,
    /// Whether a tool has given a result in this turn.
    pub has_tool_results: bool,
    /// Whether this was the closing request, which may not use tools.
    pub closing: bool,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Judge and run the usable calls; unusable ones get an error result.
    RunTools,
    /// No call is usable: each gets an error result, and the model is asked again.
    ToolErrorResults,
    /// The turn ends with this text.
    FinalAnswer {
        /// The text.
        text: String,
        /// Whether the output limit cut it.
        truncated: bool,
    },
    /// The turn ends with what the filter left, or with an apology.
    FilteredNotice {
        /// The text.
        text: String,
    },
    /// Ask again with this user message; no iteration is charged.
    NudgeEmpty {
        /// The message.
        nudge: &'static str,
    },
    /// Send the same request again.
    Retry {
        /// After this long, in milliseconds.
        delay_ms: u64,
    },
    /// The retries are spent but tools have given results: make the closing request (W-think-degrade).
    Degrade,
    /// The turn ends in failure.
    Fail {
        /// Why, for a person.
        message: String,
    },
}

/// Returns what to do after `outcome`.
pub fn next(outcome: &Result<Answer, ModelFailure>, seen: &Seen) -> Next {
    match outcome {
        Ok(answer) if seen.closing => after_closing(answer, seen),
        Ok(answer) if answer.calls.is_empty() => after_text(answer, seen),
        Ok(answer) => after_calls(answer, seen),
        Err(failure) => after_failure(failure, seen),
    }
}

/// Tells whether the output limit cut `answer`, its text or a call, whatever the server called it.
pub fn is_cut(answer: &Answer) -> bool {
    answer.stop == StopReason::MaxTokens
        || answer.calls.iter().any(|call| call.unusable == Some(Unusable::Truncated))
}

/// The closing request ends the turn, whatever came: it is neither nudged nor are calls of it run (W-stop-max).
fn after_closing(answer: &Answer, seen: &Seen) -> Next {
    let text =
        if is_empty(&answer.text) { seen.last_text.as_deref().unwrap_or_default() } else { &answer.text };
    let text = if is_empty(text) { NO_ANSWER } else { text };
    Next::FinalAnswer { text: text.to_owned(), truncated: is_cut(answer) }
}

fn after_calls(answer: &Answer, seen: &Seen) -> Next {
    if is_cut(answer) && seen.cuts_in_a_row + 1 >= MAX_CUTS_IN_A_ROW {
        return cut_too_often(answer, seen);
    }
    if answer.calls.iter().any(|call| call.unusable.is_none()) {
        Next::RunTools
    } else {
        Next::ToolErrorResults
    }
}

/// Without a call any text ends the turn, so the same text twice (W-stop-stuck) does too; only nothing goes on.
fn after_text(answer: &Answer, seen: &Seen) -> Next {
    let empty = is_empty(&answer.text);
    if answer.stop == StopReason::ContentFilter {
        let text = if empty { WITHHELD } else { &answer.text };
        return Next::FilteredNotice { text: text.to_owned() };
    }
    if is_cut(answer) && seen.cuts_in_a_row + 1 >= MAX_CUTS_IN_A_ROW {
        return cut_too_often(answer, seen);
    }
    if !empty {
        let truncated = is_cut(answer) || answer.warnings.contains(&AnswerWarning::OutputTruncated);
        return Next::FinalAnswer { text: answer.text.clone(), truncated };
    }
    if seen.nudges < MAX_NUDGES {
        return Next::NudgeEmpty { nudge: NUDGE };
    }
    Next::FinalAnswer { text: NO_ANSWER.to_owned(), truncated: is_cut(answer) }
}

fn cut_too_often(answer: &Answer, seen: &Seen) -> Next {
    let last = [Some(answer.text.as_str()), seen.last_text.as_deref()];
    let text = match last.into_iter().flatten().find(|text| !is_empty(text)) {
        Some(text) => format!("{text}\n\n{CUT_ADVICE}"),
        None => CUT_ADVICE.to_owned(),
    };
    Next::FinalAnswer { text, truncated: true }
}

fn after_failure(failure: &ModelFailure, seen: &Seen) -> Next {
    let retried_here =
        failure.transient && !matches!(failure.kind, FailureKind::Busy | FailureKind::Cancelled);
    if retried_here {
        let delay = usize::try_from(seen.retries).ok().and_then(|done| RETRY_DELAYS_MS.get(done));
        if let Some(&delay_ms) = delay {
            return Next::Retry { delay_ms: delay_ms.max(failure.retry_after_ms.unwrap_or(0)) };
        }
        if seen.has_tool_results && !seen.closing {
            return Next::Degrade;
        }
    }
    Next::Fail { message: failure.message.clone() }
}

fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use maia_protocol::AnsweredCall;
    use serde_json::json;

    fn answer(text: &str, stop: StopReason) -> Result<Answer, ModelFailure> {
        let (reasoning, calls, usage, warnings) = (String::new(), Vec::new(), None, Vec::new());
        Ok(Answer { text: text.to_owned(), reasoning, calls, stop, usage, warnings })
    }

    fn calls(unusable: &[Option<Unusable>], stop: StopReason) -> Result<Answer, ModelFailure> {
        answer("", stop).map(|mut answer| {
            answer.calls = unusable
                .iter()
                .map(|unusable| AnsweredCall {
                    provider_id: "c".to_owned(),
                    name: "Read".to_owned(),
                    input: json!({}),
                    unusable: *unusable,
                    raw: None,
                })
                .collect();
            answer
        })
    }

    fn failure(
        kind: FailureKind,
        transient: bool,
        retry_after_ms: Option<u64>,
    ) -> Result<Answer, ModelFailure> {
        let (status, message, text) = (None, "why".to_owned(), String::new());
        Err(ModelFailure { kind, status, message, transient, retry_after_ms, text })
    }

    fn last(text: &str, truncated: bool) -> Next {
        Next::FinalAnswer { text: text.to_owned(), truncated }
    }

    #[test]
    fn every_outcome_has_its_next() {
        use FailureKind::{Busy, Cancelled, ServerError, StallTimeout, Unauthorized};
        use StopReason::{ContentFilter, EndTurn, MaxTokens, Other, ToolUse};
        let fresh = Seen::default();
        let seen = |set: fn(&mut Seen)| {
            let mut seen = Seen { last_text: Some("before".to_owned()), ..Seen::default() };
            set(&mut seen);
            seen
        };
        let nudge = Next::NudgeEmpty { nudge: NUDGE };
        let filtered = |text: &str| Next::FilteredNotice { text: text.to_owned() };
        let fail = Next::Fail { message: "why".to_owned() };
        let advice = |text: &str| last(&format!("{text}{CUT_ADVICE}"), true);
        let (cut, invalid) = (Some(Unusable::Truncated), Some(Unusable::Invalid));
        let rows: Vec<(&str, Result<Answer, ModelFailure>, Seen, Next)> = vec![
            ("W-stop-natural", answer("a", EndTurn), fresh.clone(), last("a", false)),
            ("W-stop-natural other", answer("a", Other), fresh.clone(), last("a", false)),
            ("M7.2-stop no calls", answer("a", ToolUse), fresh.clone(), last("a", false)),
            ("W-stop-empty 1", answer(" \n", EndTurn), fresh.clone(), nudge.clone()),
            ("W-stop-empty 2", answer("", Other), seen(|s| s.nudges = 1), nudge.clone()),
            ("W-stop-empty 3", answer("", EndTurn), seen(|s| s.nudges = 2), last(NO_ANSWER, false)),
            ("W-stop-length", answer("a", MaxTokens), fresh.clone(), last("a", true)),
            ("W-stop-length empty", answer("", MaxTokens), fresh.clone(), nudge),
            ("W-stop-length3 text", answer("a", MaxTokens), seen(|s| s.cuts_in_a_row = 2), advice("a\n\n")),
            (
                "W-stop-length3 empty",
                answer("", MaxTokens),
                seen(|s| s.cuts_in_a_row = 2),
                advice("before\n\n"),
            ),
            (
                "W-stop-length3 calls",
                calls(&[None, cut], ToolUse),
                seen(|s| s.cuts_in_a_row = 2),
                advice("before\n\n"),
            ),
            (
                "W-stop-length3 not yet",
                calls(&[cut], MaxTokens),
                seen(|s| s.cuts_in_a_row = 1),
                Next::ToolErrorResults,
            ),
            (
                "W-stop-length3 not cut",
                calls(&[invalid], ToolUse),
                seen(|s| s.cuts_in_a_row = 2),
                Next::ToolErrorResults,
            ),
            ("W-stop-filter text", answer("half", ContentFilter), fresh.clone(), filtered("half")),
            ("W-stop-filter empty", answer("", ContentFilter), fresh.clone(), filtered(WITHHELD)),
            ("W-stop-stuck", answer("before", EndTurn), seen(|_| {}), last("before", false)),
            ("M7.2 one usable", calls(&[None, invalid], ToolUse), fresh.clone(), Next::RunTools),
            ("M7.2 none usable", calls(&[invalid], ToolUse), fresh.clone(), Next::ToolErrorResults),
            ("W-stop-max text", answer("a", EndTurn), seen(|s| s.closing = true), last("a", false)),
            ("W-stop-max empty", answer("", EndTurn), seen(|s| s.closing = true), last("before", false)),
            (
                "W-stop-max calls",
                calls(&[None], ToolUse),
                Seen { closing: true, ..fresh.clone() },
                last(NO_ANSWER, false),
            ),
            (
                "W-think-retry 1",
                failure(ServerError, true, None),
                fresh.clone(),
                Next::Retry { delay_ms: 1_000 },
            ),
            (
                "W-think-retry 2",
                failure(StallTimeout, true, None),
                seen(|s| s.retries = 1),
                Next::Retry { delay_ms: 2_000 },
            ),
            (
                "W-think-retry after",
                failure(ServerError, true, Some(9_000)),
                fresh.clone(),
                Next::Retry { delay_ms: 9_000 },
            ),
            (
                "W-think-retry short",
                failure(ServerError, true, Some(5)),
                fresh.clone(),
                Next::Retry { delay_ms: 1_000 },
            ),
            ("W-think-retry spent", failure(ServerError, true, None), seen(|s| s.retries = 2), fail.clone()),
            ("W-think-retry lasting", failure(Unauthorized, false, None), fresh.clone(), fail.clone()),
            (
                "W-think-degrade",
                failure(ServerError, true, None),
                Seen { retries: 2, has_tool_results: true, ..fresh.clone() },
                Next::Degrade,
            ),
            (
                "W-think-degrade closing",
                failure(ServerError, true, None),
                Seen { retries: 2, has_tool_results: true, closing: true, ..fresh.clone() },
                fail.clone(),
            ),
            (
                "W-think-degrade lasting",
                failure(Unauthorized, false, None),
                Seen { has_tool_results: true, ..fresh.clone() },
                fail.clone(),
            ),
            ("ENGINE 6 busy", failure(Busy, true, Some(1)), fresh.clone(), fail.clone()),
            ("W-stop-cancel", failure(Cancelled, false, None), fresh, fail),
        ];
        for (id, outcome, seen, expected) in rows {
            assert_eq!(next(&outcome, &seen), expected, "{id}");
        }
    }
}
