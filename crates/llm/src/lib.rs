//! Talks to a model: over HTTP as OpenAI's clients do (mission M7), from a script (ENGINE 9), or to the embedded one (SPEC section 4).
//!
//! - Asked by the gateway, which decides when a request may go; by the settings for the list of models.
//! - Owns the connection and the rules of the wire; keeps the HTTP stack to itself.
//! - [`assembly`] is pure: bytes in, an answer out. It decides nothing about retries: that is `maia_core::turn::next`.

pub mod assembly;
mod body;
mod client;
mod connect;
mod demo;
mod failure;
mod models;
mod retry_after;
mod script;

use maia_protocol::model::{ChatRequest, ModelFailure};
use maia_protocol::{ActorPath, Answer};

pub use assembly::{Assembler, Delta};
pub use client::{Client, ClientConfig, Secret};
pub use models::KnownModel;
pub use script::{Script, ScriptError};

/// An answer with how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// From sending to the first text, reasoning or call, in milliseconds; `None` when nothing of them came.
    pub first_token_ms: Option<u64>,
    /// From sending to the end, in milliseconds.
    pub duration_ms: u64,
}

/// Takes deltas as they come.
pub type OnDelta<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// Who answers.
#[derive(Debug)]
pub enum Provider {
    /// An endpoint.
    Http(Client),
    /// A script.
    Script(Script),
    /// The embedded model: no network, no intelligence.
    Demo,
    /// The main agent's first request is answered beforehand, everything else by another (`maia run --plan`).
    Opening {
        /// The first answer.
        answer: Box<Answer>,
        /// Who answers everything else.
        then: Box<Provider>,
    },
}

impl Provider {
    /// Returns the script that plays, if one does.
    pub fn script(&self) -> Option<&Script> {
        match self {
            Self::Http(_) | Self::Demo => None,
            Self::Script(script) => Some(script),
            Self::Opening { then, .. } => then.script(),
        }
    }

    /// Asks for the answer to `request`, the `step`-th of `agent`. Dropping the future breaks it off.
    ///
    /// # Errors
    /// A [`ModelFailure`] that says whether the same request may succeed later.
    pub async fn chat(
        &self,
        agent: &ActorPath,
        step: u32,
        request: &ChatRequest,
        on_delta: OnDelta<'_>,
    ) -> Result<Answered, ModelFailure> {
        match self {
            Self::Http(client) => client.chat(request, on_delta).await,
            Self::Script(script) => script.chat(agent, step, request, on_delta).await,
            Self::Demo => Ok(demo::chat(agent, request, on_delta).await),
            Self::Opening { answer, .. } if step == 1 && *agent == ActorPath::main() => {
                Ok(Answered { answer: (**answer).clone(), first_token_ms: None, duration_ms: 0 })
            }
            // The future of the inner one is boxed: the type holds itself.
            Self::Opening { then, .. } => Box::pin(then.chat(agent, step, request, on_delta)).await,
        }
    }

    /// Returns the names of the models that can be asked (mission M7.4), sorted. A script goes by the name `script`.
    ///
    /// # Errors
    /// A [`ModelFailure`] when the endpoint gives no list.
    pub async fn models(&self) -> Result<Vec<String>, ModelFailure> {
        match self {
            Self::Http(client) => client.models().await,
            Self::Script(_) => Ok(vec!["script".to_owned()]),
            Self::Demo => Ok(vec![maia_protocol::DEMO.to_owned()]),
            Self::Opening { then, .. } => Box::pin(then.models()).await,
        }
    }
}

/// Returns whole milliseconds since `start`.
fn elapsed_ms(start: tokio::time::Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
