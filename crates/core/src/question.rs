//! The queue of questions of the whole tree (SAFETY 3), as a fold.
//!
//! Asked by the actor PermissionBroker; owns nothing. An opening of the session empties it: agents ask again
//! what the rules of now still leave open (ENGINE 7).

use maia_protocol::record::PermissionAsked;
use maia_protocol::{ActorPath, Body, CallId, Record};

/// An open question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Who asks.
    pub asker: ActorPath,
    /// What about.
    pub asked: PermissionAsked,
}

/// The open questions, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    open: Vec<Question>,
}

impl Queue {
    /// Applies a record; returns the question that it opened.
    pub fn step(&mut self, record: &Record) -> Option<&Question> {
        match &record.body {
            Body::SessionOpened(_) => self.open.clear(),
            Body::PermissionAsked(asked) => {
                self.open.retain(|question| question.asked.call != asked.call);
                self.open.push(Question { asker: record.actor.clone(), asked: (**asked).clone() });
                return self.open.last();
            }
            Body::PermissionAnswered { call, .. } | Body::ToolDone { call, .. } => {
                self.open.retain(|question| question.asked.call != *call);
            }
            _ => {}
        }
        None
    }

    /// Returns the open question about `call`.
    pub fn get(&self, call: &CallId) -> Option<&Question> {
        self.open.iter().find(|question| question.asked.call == *call)
    }

    /// Returns all open questions, oldest first.
    pub fn open(&self) -> &[Question] {
        &self.open
    }
}
