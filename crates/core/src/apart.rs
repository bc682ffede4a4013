//! Agents that were asked again and have not ended: each stands apart from whoever is above it in its path.
//!
//! - Asked by the folds that let go what is below an agent when that ends: session, questions, places.
//! - The person asked these agents, so they belong to the session (SPEC section 2): another agent's end is not theirs.

use maia_protocol::{ActorPath, Body, Record};

/// Those agents, a fold of the journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Apart(Vec<ActorPath>);

impl Apart {
    /// Applies a record.
    pub fn step(&mut self, record: &Record) {
        match &record.body {
            Body::AskedAgain(_) => self.0.push(record.actor.clone()),
            Body::ChildFinished(_) => self.0.retain(|root| *root != record.actor),
            _ => {}
        }
    }

    /// Tells whether `agent` is `ended` or ends with it.
    pub fn falls_with(&self, agent: &ActorPath, ended: &ActorPath) -> bool {
        agent.is_within(ended)
            && !self.0.iter().any(|root| root != ended && root.is_within(ended) && agent.is_within(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use maia_protocol::CallId;
    use maia_protocol::record::AskedAgain;

    #[test]
    fn who_was_asked_again_does_not_end_with_its_old_parent() {
        let parent = ActorPath::main().child("a", 1);
        let (first, again) = (parent.child("b", 1), parent.child("b", 2));
        let asked = AskedAgain { call: CallId::new(&again, 0, 1), text: "t".to_owned(), iterations: 1 };
        let (seq, time, body) = (1, Timestamp::UNIX_EPOCH, Body::AskedAgain(asked));
        let mut apart = Apart::default();
        assert!(apart.falls_with(&again, &parent));
        apart.step(&Record { seq, time, actor: again.clone(), body });
        let below = again.child("c", 1);
        assert!(!apart.falls_with(&again, &parent) && !apart.falls_with(&below, &parent));
        assert!(apart.falls_with(&below, &again) && apart.falls_with(&again, &again));
        assert!(apart.falls_with(&first, &parent) && !apart.falls_with(&first, &again));
    }
}
