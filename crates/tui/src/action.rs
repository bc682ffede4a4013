//! What a key asks of the world: orders for the session, and things that only the caller can do.
//!
//! Given back by [`crate::key`] and sent by the runner; owns nothing.

use maia_protocol::permission::Mode;
use maia_protocol::{ActorPath, Op, Seq};

/// What the caller has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An order for the session.
    Op(Op),
    /// A request that names files with `@`: the caller adds them as data and asks (mission M11).
    AskWithFiles {
        /// The text as written.
        text: String,
    },
    /// A command of the person, `!command`, without the sign.
    Shell {
        /// The command as written.
        command: String,
    },
    /// Ends the commands of the person that run.
    StopShell,
    /// Changes the mode.
    Mode(Mode),
    /// Shows the models, or changes to the one that is named.
    Model {
        /// The name as written.
        name: Option<String>,
    },
    /// Lists the agents that can be spawned.
    Agents,
    /// Shows the help.
    Help,
    /// Begins a new conversation (mission M5.6-clear).
    Clear,
    /// Another slash command.
    Command {
        /// Its name without the slash.
        name: String,
        /// What follows.
        arguments: String,
    },
    /// Asks for what happened to an agent before what is kept here; answered by [`crate::Fact::Older`].
    Older {
        /// The agent.
        actor: ActorPath,
        /// Only events before this one.
        before: Seq,
    },
    /// Goes on with what was interrupted, as [`crate::Fact::Interrupted`] offered; nothing was asked before.
    GoOn,
    /// The person leaves.
    Quit,
    /// A signal or the loss of the terminal ends the run.
    Interrupted,
}

impl Action {
    /// Tells whether it gives the session work of its own.
    pub(crate) fn is_work(&self) -> bool {
        matches!(
            self,
            Self::Op(Op::Ask { .. } | Op::Spawn { .. } | Op::AskAgain { .. })
                | Self::AskWithFiles { .. }
                | Self::Shell { .. }
        )
    }
}
