//! Places of agents at work and the queue for them (ENGINE 6): a cap is a wait, never an error.
//!
//! Asked by the actor Scheduler; owns nothing. Agents that held a place before come first, then first come, first served.
//! The main agent needs no place and never comes here.

use std::collections::{HashSet, VecDeque};

use maia_protocol::ActorPath;

use crate::apart::Apart;

/// Agents at work at once (ENGINE 6, `MaxParallelAgents`).
pub const MAX_PARALLEL_AGENTS: usize = 8;

/// Positions up to which every change is told; see [`Places::moved`].
const NEAR: u32 = 16;

/// Who has a place and who waits for one.
#[derive(Clone, Debug)]
pub struct Places {
    cap: usize,
    held: HashSet<ActorPath>,
    known: HashSet<ActorPath>,
    waiting: HashSet<ActorPath>,
    again: VecDeque<Waiting>,
    fresh: VecDeque<Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    who: ActorPath,
    /// The position that was told last; 0 = none yet.
    told: u32,
}

impl Places {
    /// Returns `cap` free places; 0 counts as 1.
    pub fn new(cap: usize) -> Self {
        Self {
            cap: cap.max(1),
            held: HashSet::new(),
            known: HashSet::new(),
            waiting: HashSet::new(),
            again: VecDeque::new(),
            fresh: VecDeque::new(),
        }
    }

    /// Asks for a place; returns whether `who` has one now.
    pub fn want(&mut self, who: &ActorPath) -> bool {
        if self.held.contains(who) {
            return true;
        }
        if self.waiting.contains(who) {
            return false;
        }
        let held_before = self.known.contains(who);
        let nobody_before = self.again.is_empty() && (held_before || self.fresh.is_empty());
        if self.held.len() < self.cap && nobody_before {
            self.take(who.clone());
            return true;
        }
        let waiting = Waiting { who: who.clone(), told: 0 };
        self.waiting.insert(who.clone());
        if held_before {
            self.again.push_back(waiting)
        } else {
            self.fresh.push_back(waiting)
        }
        false
    }

    /// Gives `who` a place above the cap too: it has work under way that began in an earlier life of the scheduler.
    pub fn keep(&mut self, who: &ActorPath) {
        self.leave_queue(who);
        self.take(who.clone());
    }

    /// Notes that `who` held a place before: it comes before those that never had one.
    pub fn held_before(&mut self, who: &ActorPath) {
        self.known.insert(who.clone());
    }

    /// Gives a place back, or leaves the queue; returns who has a place since.
    pub fn give_back(&mut self, who: &ActorPath) -> Vec<ActorPath> {
        self.held.remove(who);
        self.leave_queue(who);
        let mut granted = Vec::new();
        while self.held.len() < self.cap {
            let Some(next) = self.again.pop_front().or_else(|| self.fresh.pop_front()) else { break };
            self.waiting.remove(&next.who);
            self.take(next.who.clone());
            granted.push(next.who);
        }
        granted
    }

    /// Forgets an agent that has ended, and all below it: nobody else would give back the places of those under an agent
    /// that failed; not those that stand `apart`. Returns who has a place since.
    pub fn ended(&mut self, who: &ActorPath, apart: &Apart) -> Vec<ActorPath> {
        let of_it = |other: &ActorPath| apart.falls_with(other, who);
        let below: Vec<_> =
            self.held.iter().chain(&self.waiting).filter(|other| of_it(other)).cloned().collect();
        for other in &below {
            self.held.remove(other);
            self.leave_queue(other);
        }
        self.known.retain(|other| !of_it(other));
        self.give_back(who)
    }

    /// Returns who waits, next one first.
    pub fn queue(&self) -> impl Iterator<Item = &ActorPath> {
        self.again.iter().chain(&self.fresh).map(|waiting| &waiting.who)
    }

    /// Returns those whose position has changed since it was told, with the new one, 1 = next, and counts it as told.
    ///
    /// Behind the first 16 a position is told again only when a tenth of it has gone: a thousand that wait would
    /// otherwise be told a million numbers that nobody looks at.
    pub fn moved(&mut self) -> Vec<(ActorPath, u32)> {
        let mut moved = Vec::new();
        for (at, waiting) in (1u32..).zip(self.again.iter_mut().chain(&mut self.fresh)) {
            let news = at != waiting.told && (at <= NEAR || at.abs_diff(waiting.told) > waiting.told / 10);
            if news {
                waiting.told = at;
                moved.push((waiting.who.clone(), at));
            }
        }
        moved
    }

    /// Returns how many have a place.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn take(&mut self, who: ActorPath) {
        self.known.insert(who.clone());
        self.held.insert(who);
    }

    fn leave_queue(&mut self, who: &ActorPath) {
        if self.waiting.remove(who) {
            self.again.retain(|waiting| waiting.who != *who);
            self.fresh.retain(|waiting| waiting.who != *who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> ActorPath {
        ActorPath::main().child(name, 1)
    }

    #[test]
    fn who_held_a_place_before_comes_first() {
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let mut places = Places::new(1);
        assert!(places.want(&a));
        assert!(!places.want(&b));
        assert!(!places.want(&c));
        assert_eq!(places.give_back(&a), vec![b.clone()]);
        assert!(!places.want(&a));
        assert_eq!(places.queue().collect::<Vec<_>>(), [&a, &c]);
        assert_eq!(places.ended(&b, &Apart::default()), vec![a.clone()]);
        assert_eq!(places.ended(&a, &Apart::default()), vec![c]);
        assert_eq!(places.held(), 1);
    }

    #[test]
    fn places_below_an_agent_that_ended_are_free() {
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let (held, waits) = (a.child("x", 1), a.child("x", 2));
        let mut places = Places::new(1);
        assert!(places.want(&held));
        assert!(!places.want(&waits) && !places.want(&b) && !places.want(&c));
        assert_eq!(places.ended(&a, &Apart::default()), [b]);
        assert_eq!(places.queue().collect::<Vec<_>>(), [&c]);
    }

    #[test]
    fn asking_again_changes_nothing() {
        let (a, b) = (path("a"), path("b"));
        let mut places = Places::new(1);
        assert!(places.want(&a) && places.want(&a));
        assert!(!places.want(&b) && !places.want(&b));
        assert_eq!(places.give_back(&a), [b]);
        assert_eq!(places.queue().count(), 0);
    }

    #[test]
    fn work_under_way_is_kept_above_the_cap() {
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let mut places = Places::new(1);
        assert!(places.want(&a));
        assert!(!places.want(&b));
        assert!(!places.want(&c));
        places.keep(&b);
        assert_eq!((places.held(), places.queue().collect::<Vec<_>>()), (2, vec![&c]));
        assert_eq!(places.give_back(&b), [], "one too many had a place");
        assert_eq!(places.give_back(&a), [c]);
    }

    #[test]
    fn positions_are_told_when_they_change() {
        let (a, b, c, d) = (path("a"), path("b"), path("c"), path("d"));
        let mut places = Places::new(1);
        places.want(&a);
        assert_eq!(places.moved(), []);
        places.want(&b);
        places.want(&c);
        assert_eq!(places.moved(), [(b.clone(), 1), (c.clone(), 2)]);
        assert_eq!(places.moved(), []);
        places.want(&d);
        assert_eq!(places.give_back(&a), [b]);
        assert_eq!(places.moved(), [(c.clone(), 1), (d.clone(), 2)]);
        // A parent whose children have ended comes before those that never had a place.
        places.want(&a);
        assert_eq!(places.moved(), [(a, 1), (c, 2), (d, 3)]);
    }

    #[test]
    fn a_long_queue_is_not_told_every_step() {
        let mut places = Places::new(1);
        let paths: Vec<_> = (1..=500).map(|n| ActorPath::main().child("a", n)).collect();
        for path in &paths {
            places.want(path);
        }
        let mut told = places.moved().len();
        assert_eq!(told, 499);
        let mut last = 0;
        for path in &paths {
            for next in places.give_back(path) {
                last = next.as_str().len();
            }
            told += places.moved().len();
        }
        assert!(last > 0, "everybody had a turn");
        assert!(told < 500 * 60, "{told} positions told");
    }
}
