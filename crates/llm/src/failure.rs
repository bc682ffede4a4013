//! Turns what an endpoint says went wrong into one kind of failure that the loop can branch on (mission M7.1-errors).
//!
//! - Asked by the client for statuses, by the assembler for errors inside a stream, by scripts for both.
//! - Owns nothing. The statuses and texts are those of OpenAI, LiteLLM and the servers behind it.

use maia_protocol::model::{FailureKind, ModelFailure};
use serde_json::Value;

/// How much of a body a message quotes, in characters (mission M7.1-errors).
const QUOTED_CHARS: usize = 500;

/// Texts that say that the request is longer than the model's context (mission M14.5).
const OVERFLOW: &[&str] = &[
    "contextwindowexceedederror",
    "context_length_exceeded",
    "maximum context length",
    "input is too long",
    "prompt is too long",
    "exceed_context_size",
    "exceeds the available context size",
    "exceeds the context window",
    "exceeds the model's context",
    "context window exceeded",
    "reduce the length of the messages",
];

/// Texts that say that money or a quota has run out: waiting does not help (ENGINE 6).
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "exceeded your current quota",
    "quota exceeded",
    "quota has been exceeded",
    "budget has been exceeded",
    "exceeded budget",
    "budgetexceeded",
    "credit balance is too low",
    "insufficient credits",
    "out of credits",
    "billing_hard_limit_reached",
    "payment required",
];

/// Texts that say that the model is not known there.
const NO_MODEL: &[&str] = &[
    "invalid model name",
    "model not found",
    "model_not_found",
    "unknown model",
    "no such model",
    "model does not exist",
    "not a valid model",
];

/// Texts that say that the key is wrong, whatever the status; LiteLLM without a database says the first (LLM-15).
const BAD_KEY: &[&str] =
    &["no connected db", "invalid api key", "invalid_api_key", "incorrect api key", "api key not valid"];

/// Texts of errors that may pass by themselves (W-think-retry).
const PASSING: &[&str] = &[
    "overloaded",
    "rate limit",
    "rate_limit",
    "too many requests",
    "timeout",
    "timed out",
    "temporarily",
    "try again",
    "internal server error",
    "internal_server_error",
    "server had an error",
    "service unavailable",
    "bad gateway",
    "connection error",
    "connection reset",
];

/// Texts of errors that the same request meets again.
const LASTING: &[&str] = &[
    "not found",
    "does not exist",
    "invalid",
    "unauthorized",
    "authentication",
    "api key",
    "permission",
    "forbidden",
    "unsupported",
    "not supported",
    "bad request",
    "content policy",
];

/// Returns the failure of a response of `status` that is no success.
pub(crate) fn of_status(status: u16, body: &str, retry_after_ms: Option<u64>) -> ModelFailure {
    let lower = body.to_ascii_lowercase();
    let says = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
    let kind = match status {
        401 | 403 => FailureKind::Unauthorized,
        402 => FailureKind::QuotaSpent,
        // Some services use the same text for a limit by the minute; they say how long to wait.
        429 if lower.contains("insufficient_quota") || (says(QUOTA) && retry_after_ms.is_none()) => {
            FailureKind::QuotaSpent
        }
        429 | 503 => FailureKind::Busy,
        404 => FailureKind::NotFound,
        413 => FailureKind::ContextOverflow,
        _ if says(OVERFLOW) => FailureKind::ContextOverflow,
        400..=499 if says(QUOTA) => FailureKind::QuotaSpent,
        400..=499 if says(NO_MODEL) => FailureKind::NotFound,
        400..=499 if says(BAD_KEY) => FailureKind::Unauthorized,
        408 | 500..=599 => FailureKind::ServerError,
        _ => FailureKind::Refused,
    };
    let said = said(body);
    let message = match kind {
        FailureKind::Unauthorized => {
            let said = said.trim_end_matches('.');
            format!("the endpoint refused the key ({status}): {said}; check the key in the settings")
        }
        FailureKind::NotFound => {
            format!("the endpoint does not know the model or the path ({status}): {said}")
        }
        FailureKind::ContextOverflow => {
            format!("the request is longer than the model's context ({status}): {said}")
        }
        FailureKind::QuotaSpent => format!("the quota of the endpoint is spent ({status}): {said}"),
        FailureKind::Busy => format!("the endpoint is busy ({status}): {said}"),
        FailureKind::ServerError => format!("the server failed ({status}): {said}"),
        _ => format!("the endpoint refused the request ({status}): {said}"),
    };
    let transient = matches!(kind, FailureKind::Busy | FailureKind::ServerError);
    ModelFailure { kind, status: Some(status), message, transient, retry_after_ms, text: String::new() }
}

/// Returns the failure of an error that came with status 200.
///
/// `streaming` tells whether it came as an event: an answer that was under way is more likely to succeed next time
/// than a request that was turned down with a plain body.
pub(crate) fn of_error(error: &Value, streaming: bool) -> ModelFailure {
    let said = said_by(error).unwrap_or_else(|| quote(&error.to_string()));
    let lower = error.to_string().to_ascii_lowercase();
    let says = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
    let status = code(error);
    let overflow = says(OVERFLOW);
    let transient = match status {
        _ if overflow || says(QUOTA) => false,
        Some(408 | 429 | 500..=599) => true,
        Some(400..=499) => false,
        _ if says(PASSING) => true,
        _ => streaming && !says(LASTING),
    };
    ModelFailure {
        kind: if overflow { FailureKind::ContextOverflow } else { FailureKind::ServerError },
        status,
        message: format!("the server reported an error: {said}"),
        transient,
        retry_after_ms: None,
        text: String::new(),
    }
}

/// Returns the first characters of `text`, in one piece and on a character's boundary.
pub(crate) fn quote(text: &str) -> String {
    text.trim().chars().take(QUOTED_CHARS).collect()
}

/// Returns what a body says: its error's message, else its beginning.
fn said(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let said = parsed.as_ref().and_then(|body| said_by(body.get("error").unwrap_or(body)));
    match said.unwrap_or_else(|| quote(body)) {
        said if said.is_empty() => "no explanation".to_owned(),
        said => said,
    }
}

/// Returns the message of an error, without what LiteLLM puts around it (LLM-11).
fn said_by(error: &Value) -> Option<String> {
    let message = match error {
        Value::String(message) => message.as_str(),
        _ => ["message", "detail", "error", "msg"].iter().find_map(|name| match error.get(name)? {
            Value::String(message) => Some(message.as_str()),
            nested => nested.get("message")?.as_str(),
        })?,
    };
    let message = message.split("\n\nLiteLLM: ").next().unwrap_or(message);
    let mut line = message.trim().lines().next().unwrap_or_default();
    while let Some((class, rest)) = line.split_once(": ") {
        if !class.starts_with("litellm.") {
            break;
        }
        line = rest;
    }
    (!line.is_empty()).then(|| quote(line))
}

/// Returns the status that an error names as its code, be it a number or a text.
fn code(error: &Value) -> Option<u16> {
    ["code", "status", "status_code"].iter().find_map(|name| match error.get(name)? {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn statuses_are_sorted() {
        use FailureKind::{Busy, ContextOverflow, NotFound, QuotaSpent, Refused, ServerError, Unauthorized};
        let quota = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
        let soft = "You exceeded your current quota";
        let cases: &[(u16, &str, Option<u64>, FailureKind, bool)] = &[
            (401, "", None, Unauthorized, false),
            (403, "", None, Unauthorized, false),
            (400, "{\"error\":{\"message\":\"No connected db.\"}}", None, Unauthorized, false),
            (404, "{\"detail\":\"Not Found\"}", None, NotFound, false),
            (400, "Invalid model name passed in model=nope", None, NotFound, false),
            (429, "slow down", Some(7000), Busy, true),
            (503, "", None, Busy, true),
            (429, quota, Some(1), QuotaSpent, false),
            (429, soft, None, QuotaSpent, false),
            (429, soft, Some(20_000), Busy, true),
            (402, "", None, QuotaSpent, false),
            (400, "litellm.ContextWindowExceededError: …", None, ContextOverflow, false),
            (500, "the request exceeds the available context size", None, ContextOverflow, false),
            (413, "", None, ContextOverflow, false),
            (400, "Invalid value: 'foo'", None, Refused, false),
            (422, "", None, Refused, false),
            (308, "", None, Refused, false),
            (408, "", None, ServerError, true),
            (500, "", None, ServerError, true),
            (529, "overloaded", None, ServerError, true),
        ];
        for &(status, body, wait, kind, transient) in cases {
            let failure = of_status(status, body, wait);
            assert_eq!((failure.kind, failure.transient), (kind, transient), "{status} {body}");
            assert_eq!((failure.status, failure.retry_after_ms), (Some(status), wait));
        }
    }

    #[test]
    fn messages_say_the_cause_alone() {
        let body = json!({"error": {"message": "litellm.BadRequestError: OpenAIException - Invalid value: 'foo'\n\nLiteLLM: model group 's' failed", "code": "400"}});
        let message = of_status(400, &body.to_string(), None).message;
        assert_eq!(message, "the endpoint refused the request (400): OpenAIException - Invalid value: 'foo'");
        let long = of_status(500, &"é".repeat(900), None).message;
        assert_eq!(long.matches('é').count(), 500);
        assert!(of_status(500, " ", None).message.ends_with("no explanation"));
    }

    #[test]
    fn errors_inside_an_answer_pass_or_last() {
        let transient = |error: Value, streaming| of_error(&error, streaming).transient;
        assert!(transient(json!("STREAM_EXPLODED"), true));
        assert!(transient(json!({"message": "x", "code": "500"}), false));
        assert!(transient(json!({"message": "Overloaded"}), false));
        assert!(!transient(json!({"message": "model not found: m"}), false));
        assert!(!transient(json!({"message": "model not found: m"}), true));
        assert!(!transient(json!({"message": "x", "code": 400}), true));
        assert!(!transient(json!({"message": "insufficient_quota", "code": 429}), true));
        let overflow = of_error(&json!({"message": "This model's maximum context length is 8"}), true);
        assert_eq!((overflow.kind, overflow.transient), (FailureKind::ContextOverflow, false));
    }
}
