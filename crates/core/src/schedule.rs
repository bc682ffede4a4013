//! Places of agents at work and the queue for them (ENGINE 6): a cap is a wait, never an error.
//!
//! Asked by the actor Scheduler; owns nothing. Agents that held a place before come first, then first come, first served.

use std::collections::{HashSet, VecDeque};

use maia_protocol::ActorPath;

/// Agents at work at once (ENGINE 6, `MaxParallelAgents`).
pub const MAX_PARALLEL_AGENTS: usize = 8;

/// Who has a place and who waits for one.
#[derive(Clone, Debug)]
pub struct Places {
    cap: usize,
    held: HashSet<ActorPath>,
    known: HashSet<ActorPath>,
    again: VecDeque<ActorPath>,
    fresh: VecDeque<ActorPath>,
}

impl Places {
    /// Returns `cap` free places; 0 counts as 1.
    pub fn new(cap: usize) -> Self {
        Self {
            cap: cap.max(1),
            held: HashSet::new(),
            known: HashSet::new(),
            again: VecDeque::new(),
            fresh: VecDeque::new(),
        }
    }

    /// Asks for a place; returns whether `who` has one now.
    pub fn want(&mut self, who: &ActorPath) -> bool {
        if self.held.contains(who) {
            return true;
        }
        if self.again.contains(who) || self.fresh.contains(who) {
            return false;
        }
        let waited_before = self.known.contains(who);
        let nobody_before = self.again.is_empty() && (waited_before || self.fresh.is_empty());
        if self.held.len() < self.cap && nobody_before {
            self.take(who.clone());
            return true;
        }
        if waited_before {
            self.again.push_back(who.clone())
        } else {
            self.fresh.push_back(who.clone())
        }
        false
    }

    /// Gives a place back, or leaves the queue; returns who has a place since.
    pub fn give_back(&mut self, who: &ActorPath) -> Vec<ActorPath> {
        self.held.remove(who);
        self.again.retain(|waiting| waiting != who);
        self.fresh.retain(|waiting| waiting != who);
        let mut granted = Vec::new();
        while self.held.len() < self.cap {
            let Some(next) = self.again.pop_front().or_else(|| self.fresh.pop_front()) else { break };
            self.take(next.clone());
            granted.push(next);
        }
        granted
    }

    /// Forgets an agent that has ended; returns who has a place since.
    pub fn ended(&mut self, who: &ActorPath) -> Vec<ActorPath> {
        let granted = self.give_back(who);
        self.known.remove(who);
        granted
    }

    /// Returns who waits, next one first.
    pub fn queue(&self) -> impl Iterator<Item = &ActorPath> {
        self.again.iter().chain(&self.fresh)
    }

    /// Returns how many have a place.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn take(&mut self, who: ActorPath) {
        self.known.insert(who.clone());
        self.held.insert(who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_held_a_place_before_comes_first() {
        let path = |name: &str| ActorPath::main().child(name, 1);
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let mut places = Places::new(1);
        assert!(places.want(&a));
        assert!(!places.want(&b));
        assert!(!places.want(&c));
        assert_eq!(places.give_back(&a), [b.clone()]);
        assert!(!places.want(&a));
        assert_eq!(places.queue().collect::<Vec<_>>(), [&a, &c]);
        assert_eq!(places.ended(&b), [a.clone()]);
        assert_eq!(places.ended(&a), [c.clone()]);
        assert_eq!(places.held(), 1);
    }
}
