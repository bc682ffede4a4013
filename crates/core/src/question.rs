//! The queue of questions of the whole tree (SAFETY 3), as a fold.
//!
//! Asked by the actor PermissionBroker; owns nothing. An opening of the session empties it: agents ask again
//! what the rules of now still leave open (ENGINE 7).

use maia_protocol::record::PermissionAsked;
use maia_protocol::{ActorPath, Body, CallId, Record};

use crate::apart::Apart;

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
    apart: Apart,
}

impl Queue {
    /// Applies a record; returns the question that it opened.
    pub fn step(&mut self, record: &Record) -> Option<&Question> {
        self.apart.step(record);
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
            // An agent that failed leaves its calls without results: nobody waits for these answers any more.
            Body::ChildFinished(_) => {
                let Self { open, apart } = self;
                open.retain(|question| !apart.falls_with(&question.asker, &record.actor));
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

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use maia_protocol::outcome::{Outcome, Totals};
    use maia_protocol::permission::{AnsweredBy, Decision};
    use maia_protocol::record::ChildFinished;
    use maia_protocol::tool::ToolOutput;
    use serde_json::json;

    fn record(actor: &ActorPath, body: Body) -> Record {
        Record { seq: 1, time: Timestamp::UNIX_EPOCH, actor: actor.clone(), body }
    }

    fn asked(call: &CallId, why: &str) -> Record {
        let asked = PermissionAsked {
            call: call.clone(),
            tool: "Bash".to_owned(),
            input: json!({"command": "ls"}),
            target: None,
            why: why.to_owned(),
            rule: None,
        };
        record(&call.agent(), Body::PermissionAsked(Box::new(asked)))
    }

    fn open(queue: &Queue) -> Vec<&str> {
        queue.open().iter().map(|question| question.asked.call.as_str()).collect()
    }

    #[test]
    fn a_question_is_open_until_it_is_answered_or_its_call_is_settled() {
        let main = ActorPath::main();
        let calls: Vec<_> = (1..=3).map(|n| CallId::new(&main, 1, n)).collect();
        let mut queue = Queue::default();
        for call in &calls {
            assert_eq!(queue.step(&asked(call, "x")).map(|question| &question.asked.call), Some(call));
        }
        let (call, decision) = (calls[0].clone(), Decision::AllowOnce);
        queue.step(&record(&main, Body::PermissionAnswered { call, decision, by: AnsweredBy::Person }));
        assert_eq!(open(&queue), ["maia:1.2", "maia:1.3"]);
        let done = Body::ToolDone {
            call: calls[1].clone(),
            tool: "Bash".to_owned(),
            output: ToolOutput::error("interrupted"),
            duration_ms: 0,
        };
        queue.step(&record(&main.child("Bash", 1), done));
        assert_eq!(open(&queue), ["maia:1.3"]);
        queue.step(&asked(&calls[2], "y"));
        assert_eq!(queue.get(&calls[2]).map(|question| question.asked.why.as_str()), Some("y"));
        assert_eq!(queue.open().len(), 1, "asked again is the same question");
    }

    #[test]
    fn questions_of_an_agent_that_ended_go_with_it() {
        let (a, b) = (ActorPath::main().child("a", 1), ActorPath::main().child("a", 10));
        let mut queue = Queue::default();
        for agent in [&a, &a.child("x", 1), &b] {
            queue.step(&asked(&CallId::new(agent, 1, 1), "x"));
        }
        let finished = ChildFinished {
            call: CallId::new(&ActorPath::main(), 1, 1),
            outcome: Outcome::Failed,
            cause: None,
            summary: String::new(),
            totals: Totals::default(),
            subtree: Totals::default(),
        };
        queue.step(&record(&a, Body::ChildFinished(Box::new(finished))));
        assert_eq!(open(&queue), ["maia/a#10:1.1"]);
    }
}
