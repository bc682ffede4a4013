//! Names every machine that folds a record (ENGINE 1).
//!
//! - Asked by the actor Journal, to deliver what it has committed and what a rebuilt actor asks for.
//! - Pure: the answer depends on the record alone.

use maia_protocol::{ActorPath, Body, Record};

/// Who folds a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owners {
    /// Every machine of the session.
    Everybody,
    /// These machines.
    Paths(Vec<ActorPath>),
}

impl Owners {
    /// Tells whether the machine at `path` folds the record.
    pub fn include(&self, path: &ActorPath) -> bool {
        match self {
            Self::Everybody => true,
            Self::Paths(paths) => paths.contains(path),
        }
    }
}

/// Returns who folds `record`.
pub fn owners(record: &Record) -> Owners {
    let own = record.actor.clone();
    Owners::Paths(match &record.body {
        Body::SessionOpened(_) => return Owners::Everybody,
        Body::SnapshotTaken(_)
        | Body::UserMessage { .. }
        | Body::TurnFinished { .. }
        | Body::SessionClosed { .. }
        | Body::ModelAnswered(_) => vec![own, ActorPath::session()],
        Body::PermissionAsked(_) | Body::PermissionAnswered { .. } => {
            vec![own, ActorPath::broker(), ActorPath::session()]
        }
        Body::ToolIntent { call, .. } => vec![call.agent()],
        // The broker too: a stop settles calls whose questions are still open.
        Body::ToolDone { call, .. } => vec![call.agent(), ActorPath::broker()],
        Body::Delegated(_) => {
            let parent = own.parent();
            [Some(own), parent, Some(ActorPath::scheduler()), Some(ActorPath::session())]
                .into_iter()
                .flatten()
                .collect()
        }
        // The broker too: questions of an agent that failed go with it.
        Body::ChildFinished(finished) => {
            // Whoever waits for it: its parent, or the main agent where the person has started it or asked it again.
            let asker =
                if finished.call.is_beside() { Some(ActorPath::main()) } else { record.actor.parent() };
            let fixed = [ActorPath::scheduler(), ActorPath::broker(), ActorPath::session()];
            [Some(own), asker].into_iter().flatten().chain(fixed).collect()
        }
        Body::AskedAgain(_) => {
            vec![own, ActorPath::main(), ActorPath::broker(), ActorPath::scheduler(), ActorPath::session()]
        }
        Body::ConversationCleared {} | Body::ModelChosen { .. } => vec![own, ActorPath::session()],
        // The session too: a closing request is no iteration.
        Body::ModelAsked { closing: true, .. } => vec![own, ActorPath::session()],
        Body::Told { .. }
        | Body::CancelAsked { .. }
        | Body::ModelAsked { .. }
        | Body::ModelFailed { .. }
        | Body::TimerFired { .. }
        | Body::CallsJudged { .. }
        | Body::Reconciled { .. } => vec![own],
        Body::ProcessStarted { .. } | Body::Unknown { .. } => Vec::new(),
    })
}
