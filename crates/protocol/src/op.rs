//! Orders from outside: what the TUI sends and `maia run --ops` reads as JSON lines (SPEC section 4).

use serde::{Deserialize, Serialize};

use crate::id::{ActorPath, CallId};
use crate::permission::Decision;

/// Where the output of a person's own command comes from, as the main agent is told it (mission M11.2).
pub const OWN_COMMAND: &str = "a command of the person";

/// An order. In JSON: `{"op": "tell", "actor": "maia/reviewer#1", "text": "…"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Asks the main agent; begins a turn, or joins the one under way at its next step.
    Ask {
        /// The request.
        text: String,
    },
    /// Starts a sub-agent beside the main agent's turn (`&agent task`).
    Spawn {
        /// Name of the definition.
        agent: String,
        /// The task.
        task: String,
    },
    /// Tells a running agent something; delivered at its next step, with a receipt.
    Tell {
        /// The agent.
        actor: ActorPath,
        /// The text.
        text: String,
    },
    /// Stops an agent and all below it. On `maia`: the turn.
    Stop {
        /// The agent.
        actor: ActorPath,
    },
    /// Asks a sub-agent again that has ended; it goes on from its conversation. One that is at work is told the text.
    AskAgain {
        /// The agent.
        actor: ActorPath,
        /// The request.
        text: String,
    },
    /// Begins the main agent's conversation anew, between two turns.
    Clear,
    /// Has another model of the endpoint answer the main agent from its next request on.
    Model {
        /// The model, as the endpoint knows it.
        model: String,
    },
    /// Answers a question.
    Answer {
        /// Id of the question, the call's.
        id: CallId,
        /// The answer.
        #[serde(flatten)]
        decision: Decision,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_read_as_documented() {
        let op: Op = serde_json::from_str(r#"{"op":"answer","id":"maia:1.1","decision":"reject_once"}"#)
            .expect("the documented form");
        let id = CallId::new(&ActorPath::main(), 1, 1);
        assert_eq!(op, Op::Answer { id, decision: Decision::RejectOnce { reason: None } });
        let op: Op = serde_json::from_str(r#"{"op":"stop","actor":"maia"}"#).expect("the documented form");
        assert_eq!(op, Op::Stop { actor: ActorPath::main() });
        let op: Op = serde_json::from_str(r#"{"op":"ask_again","actor":"maia/a#1","text":"and now?"}"#)
            .expect("the documented form");
        assert_eq!(op, Op::AskAgain { actor: ActorPath::main().child("a", 1), text: "and now?".to_owned() });
        assert_eq!(serde_json::from_str::<Op>(r#"{"op":"clear"}"#).expect("the documented form"), Op::Clear);
    }
}
