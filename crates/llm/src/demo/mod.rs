//! The demo model: no network, no intelligence, the same answer every time (SPEC section 4, Models).
//!
//! - Asked through [`crate::Provider`], only where somebody named it.
//! - Owns nothing. An answer is a function of who asks and of the request, so a retry, a resume after a kill and a replay
//!   need no state: which step comes next is read from the conversation ([`talk`]).
//! - The work that it hands out is real: real sub-agents, real tools, real questions. What they found is counted and
//!   quoted, never made up.
//! - Everything that it reads may be hostile: names and lines are cut by characters and made plain ([`prose`]).

mod check;
mod explore;
mod find;
mod lead;
mod prose;
mod review;
mod survey;
mod talk;
mod write;

use std::time::Duration;

use maia_protocol::model::ChatRequest;
use maia_protocol::{ActorPath, Answer, AnsweredCall, StopReason, Usage};
use serde_json::Value;
use tokio::time::Instant;

use crate::assembly::Delta;
use crate::{Answered, OnDelta, elapsed_ms};
use talk::{Part, Turn};

/// Pieces in which a text is streamed at most: a person sees it grow, and nobody waits long.
const PIECES: usize = 30;
/// Characters of a piece at least.
const PIECE: usize = 14;
/// Between two pieces; a whole answer takes at most half a second.
const PAUSE: Duration = Duration::from_millis(14);
/// Answers with calls in one turn at most; whatever a conversation holds, a turn ends.
const ROUNDS: usize = 4;

/// What an agent does next.
enum Next {
    /// It says something and makes calls: the name of the tool and its input.
    Act(String, Vec<Call>),
    /// It is done.
    End(String),
}

type Call = (&'static str, Value);

/// Gives the answer to `request` of `agent`, streamed in pieces.
pub(crate) async fn chat(agent: &ActorPath, request: &ChatRequest, on_delta: OnDelta<'_>) -> Answered {
    let start = Instant::now();
    let answer = answer(agent, request);
    let mut first_token_ms = None;
    for piece in pieces(&answer.text) {
        tokio::time::sleep(PAUSE).await;
        first_token_ms.get_or_insert_with(|| elapsed_ms(start));
        on_delta(Delta::Text(piece));
    }
    Answered { answer, first_token_ms, duration_ms: elapsed_ms(start) }
}

/// Returns the answer to `request` of `agent`.
fn answer(agent: &ActorPath, request: &ChatRequest) -> Answer {
    let turn = Turn::read(agent, request);
    let next = match turn.part {
        Part::Lead => lead::next(&turn),
        Part::Explorer => explore::next(&turn),
        Part::Tester => check::next(&turn),
        Part::Reviewer => review::next(&turn),
        Part::Writer => write::text(&turn),
        Part::Planner => write::plan(&turn),
    };
    let (text, calls) = match next {
        Next::Act(text, calls) => (text, calls),
        Next::End(text) => (text, Vec::new()),
    };
    let calls: Vec<AnsweredCall> = calls
        .into_iter()
        .enumerate()
        .map(|(index, (name, input))| AnsweredCall {
            provider_id: format!("demo_{}_{}", turn.answered.len() + 1, index + 1),
            name: name.to_owned(),
            input,
            unusable: None,
            raw: None,
        })
        .collect();
    let usage = Usage {
        input_tokens: tokens(request.system.chars().count() + length(&request.messages)),
        output_tokens: tokens(text.chars().count() + length(&calls)),
        ..Usage::default()
    };
    Answer {
        stop: if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse },
        text,
        reasoning: String::new(),
        calls,
        usage: Some(usage),
        warnings: Vec::new(),
    }
}

fn length(value: &impl serde::Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |json| json.chars().count())
}

/// Returns about how many tokens so many characters are.
fn tokens(chars: usize) -> u64 {
    u64::try_from(chars.div_ceil(4)).unwrap_or(u64::MAX)
}

/// Cuts `text` into pieces of nearly the same number of characters.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(PIECES).max(PIECE);
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests;
