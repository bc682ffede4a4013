//! Who may ask an endpoint next, and how many at once (ENGINE 6, Gateway).
//!
//! - The main agent's calls come first, then one of each subtree in turn, first come first served inside it.
//! - The limit is halved on 429 and grows by one with every 20 good answers; a wait that the server asked for holds for all.
//!
//! Asked by the actor ModelGateway; owns nothing.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use maia_protocol::ActorPath;

/// Requests in flight at once to one endpoint (ENGINE 6).
pub const MAX_IN_FLIGHT: usize = 16;

/// Good answers after which the limit grows by one (ENGINE 6).
pub const GROWS_AFTER: u32 = 20;

/// The wait after a 429 or 503 without `Retry-After`, doubled with each in a row up to [`LONGEST_WAIT_MS`].
pub const FIRST_WAIT_MS: u64 = 1_000;

/// The longest wait that is not the server's own wish.
pub const LONGEST_WAIT_MS: u64 = 30_000;

/// The line before one endpoint. `K` names a request.
#[derive(Clone, Debug)]
pub struct Line<K> {
    ceiling: usize,
    limit: usize,
    in_flight: usize,
    good: u32,
    busy_in_a_row: u32,
    not_before: Option<Timestamp>,
    main: VecDeque<K>,
    subtrees: HashMap<String, VecDeque<K>>,
    turn: VecDeque<String>,
}

impl<K: Clone + PartialEq> Line<K> {
    /// Returns an empty line; at most `ceiling` are in flight at once, 0 counts as 1.
    pub fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.max(1);
        Self {
            ceiling,
            limit: ceiling,
            in_flight: 0,
            good: 0,
            busy_in_a_row: 0,
            not_before: None,
            main: VecDeque::new(),
            subtrees: HashMap::new(),
            turn: VecDeque::new(),
        }
    }

    /// Joins the line at its end.
    pub fn join(&mut self, who: &ActorPath, key: K) {
        match subtree(who) {
            None => self.main.push_back(key),
            Some(name) => self.lane(name).push_back(key),
        }
    }

    /// Joins at the front of its lane: a request that the server sent away keeps its place.
    pub fn rejoin(&mut self, who: &ActorPath, key: K) {
        match subtree(who) {
            None => self.main.push_front(key),
            Some(name) => self.lane(name).push_front(key),
        }
    }

    fn lane(&mut self, name: &str) -> &mut VecDeque<K> {
        if !self.subtrees.contains_key(name) {
            self.turn.push_back(name.to_owned());
        }
        self.subtrees.entry(name.to_owned()).or_default()
    }

    /// Leaves the line; returns whether it stood there.
    pub fn leave(&mut self, key: &K) -> bool {
        let before = self.waiting();
        self.main.retain(|waiting| waiting != key);
        for lane in self.subtrees.values_mut() {
            lane.retain(|waiting| waiting != key);
        }
        self.drop_empty();
        self.waiting() != before
    }

    /// Returns who may go now, in order; each counts as in flight from here on.
    pub fn admit(&mut self, now: Timestamp) -> Vec<K> {
        if self.not_before.is_some_and(|at| now < at) {
            return Vec::new();
        }
        self.not_before = None;
        let mut admitted = Vec::new();
        while self.in_flight < self.limit {
            let Some(key) = self.next() else { break };
            self.in_flight += 1;
            admitted.push(key);
        }
        admitted
    }

    fn next(&mut self) -> Option<K> {
        if let Some(key) = self.main.pop_front() {
            return Some(key);
        }
        let name = self.turn.pop_front()?;
        let key = self.subtrees.get_mut(&name).and_then(VecDeque::pop_front);
        self.turn.push_back(name);
        self.drop_empty();
        key
    }

    fn drop_empty(&mut self) {
        self.subtrees.retain(|_, lane| !lane.is_empty());
        let subtrees = &self.subtrees;
        self.turn.retain(|name| subtrees.contains_key(name));
    }

    /// A request is over, well or not; the server was not busy.
    pub fn finished(&mut self, well: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if !well {
            return;
        }
        self.busy_in_a_row = 0;
        self.good += 1;
        if self.good >= GROWS_AFTER {
            self.good = 0;
            self.limit = (self.limit + 1).min(self.ceiling);
        }
    }

    /// The server sent a request away as too many. `jitter` is 0 to 1, so that several maia do not come back on one beat.
    pub fn busy(&mut self, retry_after_ms: Option<u64>, now: Timestamp, jitter: f64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.good = 0;
        // A burst that was sent together is one answer to one limit: it is halved once.
        if self.not_before.is_none_or(|at| at <= now) {
            self.limit = (self.limit / 2).max(1);
            self.busy_in_a_row += 1;
        }
        let own =
            FIRST_WAIT_MS.saturating_mul(1 << (self.busy_in_a_row.clamp(1, 6) - 1)).min(LONGEST_WAIT_MS);
        let wait = retry_after_ms.unwrap_or(own);
        let jittered = wait.saturating_add((wait as f64 * 0.1 * jitter.clamp(0.0, 1.0)) as u64);
        let at = now.saturating_add(SignedDuration::from_millis(i64::try_from(jittered).unwrap_or(i64::MAX)));
        let at = at.unwrap_or(now);
        self.not_before = Some(self.not_before.map_or(at, |before| before.max(at)));
    }

    /// Returns when somebody may go again, where a wait holds the line.
    pub fn not_before(&self) -> Option<Timestamp> {
        self.not_before
    }

    /// Returns how many wait.
    pub fn waiting(&self) -> usize {
        self.main.len() + self.subtrees.values().map(VecDeque::len).sum::<usize>()
    }

    /// Returns how many are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns how many may be in flight now.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

/// Returns the child of the root under which `who` stands; `None` for the main agent.
fn subtree(who: &ActorPath) -> Option<&str> {
    who.as_str().split('/').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ActorPath {
        ActorPath::new(text)
    }

    #[test]
    fn the_main_agent_comes_first_then_subtrees_take_turns() {
        let mut line = Line::new(10);
        for (who, key) in
            [("maia/a#1", 1), ("maia/a#1/x#1", 2), ("maia/a#1", 3), ("maia/b#1", 4), ("maia", 5)]
        {
            line.join(&path(who), key);
        }
        assert_eq!(line.admit(Timestamp::UNIX_EPOCH), [5, 1, 4, 2, 3]);
    }

    #[test]
    fn the_limit_is_halved_once_a_burst_and_grows_slowly() {
        let mut line = Line::new(8);
        let now = Timestamp::UNIX_EPOCH;
        for key in 0..20 {
            line.join(&path("maia/a#1"), key);
        }
        assert_eq!(line.admit(now).len(), 8);
        for _ in 0..3 {
            line.busy(Some(2_000), now, 0.0);
        }
        assert_eq!(line.limit(), 4);
        assert_eq!(line.in_flight(), 5);
        assert!(line.admit(now).is_empty(), "a wait of the server holds for all");
        let later = now + SignedDuration::from_millis(2_000);
        for _ in 0..5 {
            line.finished(true);
        }
        assert_eq!(line.admit(later).len(), 4);
        for _ in 0..15 {
            line.finished(true);
        }
        assert_eq!(line.limit(), 5);
    }

    #[test]
    fn without_a_wish_the_wait_doubles() {
        let mut line: Line<u32> = Line::new(1);
        let mut now = Timestamp::UNIX_EPOCH;
        for expected in [1_000, 2_000, 4_000] {
            line.busy(None, now, 0.0);
            let at = line.not_before().expect("a wait");
            assert_eq!(at.duration_since(now).as_millis(), expected);
            now = at;
        }
    }

    #[test]
    fn who_leaves_is_not_admitted() {
        let mut line = Line::new(1);
        line.join(&path("maia/a#1"), 1);
        line.join(&path("maia/a#1"), 2);
        assert!(line.leave(&1));
        assert!(!line.leave(&1));
        assert_eq!(line.admit(Timestamp::UNIX_EPOCH), [2]);
    }
}
