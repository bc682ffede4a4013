//! Who may ask an endpoint next, and how many at once (ENGINE 6, Gateway).
//!
//! - The main agent's calls come first, then one of each subtree in turn, first come first served inside it.
//! - A request that the server sent away keeps its number, and so its place before everything that came later.
//! - The limit is halved on 429 and grows by one with every 20 good answers; a wait that the server asked for holds for all.
//!
//! Asked by the actor ModelGateway; owns nothing.

mod lanes;

use jiff::{SignedDuration, Timestamp};
use maia_protocol::ActorPath;

use lanes::{Lanes, Ticket};

/// Requests in flight at once to one endpoint (ENGINE 6).
pub const MAX_IN_FLIGHT: usize = 16;

/// Good answers after which the limit grows by one (ENGINE 6).
pub const GROWS_AFTER: u32 = 20;

/// The wait after a 429 or 503 without `Retry-After`, in milliseconds, doubled with each in a row up to [`LONGEST_WAIT_MS`].
pub const FIRST_WAIT_MS: u64 = 1_000;

/// The longest wait that is not the server's own wish, in milliseconds.
pub const LONGEST_WAIT_MS: u64 = 30_000;

/// The shortest wait, in milliseconds: a server that says `Retry-After: 0` is not asked in a tight loop.
pub const SHORTEST_WAIT_MS: u64 = 100;

/// The line before one endpoint. `K` names a request.
#[derive(Clone, Debug)]
pub struct Line<K> {
    ceiling: usize,
    limit: usize,
    good: u32,
    busy_in_a_row: u32,
    not_before: Option<Timestamp>,
    /// Counts the halvings: a request knows which limit it was sent under.
    era: u64,
    joined: u64,
    lanes: Lanes<K>,
    sent: Vec<Sent<K>>,
}

#[derive(Clone, Debug)]
struct Sent<K> {
    ticket: Ticket<K>,
    era: u64,
}

impl<K: Clone + PartialEq> Line<K> {
    /// Returns an empty line; at most `ceiling` are in flight at once, 0 counts as 1.
    pub fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.max(1);
        Self {
            ceiling,
            limit: ceiling,
            good: 0,
            busy_in_a_row: 0,
            not_before: None,
            era: 0,
            joined: 0,
            lanes: Lanes::new(),
            sent: Vec::new(),
        }
    }

    /// Joins the line at its end.
    pub fn join(&mut self, who: &ActorPath, key: K) {
        self.joined += 1;
        self.lanes.join(who, Ticket { key, number: self.joined, returned: false });
    }

    /// Leaves the line; returns whether it stood there.
    pub fn leave(&mut self, key: &K) -> bool {
        self.lanes.leave(key)
    }

    /// Returns who may go now, in order; each counts as in flight from here on.
    pub fn admit(&mut self, now: Timestamp) -> Vec<K> {
        if self.not_before.is_some_and(|at| now < at) {
            return Vec::new();
        }
        self.not_before = None;
        let mut admitted = Vec::new();
        while self.sent.len() < self.limit {
            let Some(ticket) = self.lanes.next() else { break };
            admitted.push(ticket.key.clone());
            self.sent.push(Sent { ticket, era: self.era });
        }
        admitted
    }

    /// A request is over, well or not; the server was not busy. One that is not in flight changes nothing.
    pub fn finished(&mut self, key: &K, well: bool) {
        let Some(sent) = self.take(key) else { return };
        if !well {
            return;
        }
        if sent.era == self.era {
            self.busy_in_a_row = 0;
        }
        self.good += 1;
        if self.good >= GROWS_AFTER {
            self.good = 0;
            self.limit = (self.limit + 1).min(self.ceiling);
        }
    }

    /// The server sent the request of `who` away as too many: it goes back to its place. Returns whether a new wait began.
    ///
    /// `jitter` is 0 to 1, so that several maia do not come back on one beat; it only lengthens the wait.
    pub fn busy(
        &mut self,
        who: &ActorPath,
        key: &K,
        retry_after_ms: Option<u64>,
        now: Timestamp,
        jitter: f64,
    ) -> bool {
        let Some(sent) = self.take(key) else { return false };
        self.lanes.put_back(who, Ticket { returned: true, ..sent.ticket });
        self.good = 0;
        // Requests that were sent under one limit are one answer to it, however late some come: it is halved once.
        let first = sent.era == self.era;
        if first {
            self.era += 1;
            self.limit = (self.limit / 2).max(1);
            self.busy_in_a_row += 1;
        }
        let own =
            FIRST_WAIT_MS.saturating_mul(1 << (self.busy_in_a_row.clamp(1, 6) - 1)).min(LONGEST_WAIT_MS);
        let wait = retry_after_ms.unwrap_or(own).max(SHORTEST_WAIT_MS);
        let jittered = wait.saturating_add((wait as f64 * 0.1 * jitter.clamp(0.0, 1.0)) as u64);
        let at = now.saturating_add(SignedDuration::from_millis(i64::try_from(jittered).unwrap_or(i64::MAX)));
        let at = at.unwrap_or(now);
        self.not_before = Some(self.not_before.map_or(at, |before| before.max(at)));
        first
    }

    fn take(&mut self, key: &K) -> Option<Sent<K>> {
        let at = self.sent.iter().position(|sent| sent.ticket.key == *key)?;
        Some(self.sent.swap_remove(at))
    }

    /// Returns when somebody may go again, where a wait holds the line.
    pub fn not_before(&self) -> Option<Timestamp> {
        self.not_before
    }

    /// Returns how many wait.
    pub fn waiting(&self) -> usize {
        self.lanes.len()
    }

    /// Returns how many are in flight.
    pub fn in_flight(&self) -> usize {
        self.sent.len()
    }

    /// Returns how many may be in flight now.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ActorPath {
        ActorPath::new(text)
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn after(ms: i64) -> Timestamp {
        NOW + SignedDuration::from_millis(ms)
    }

    #[test]
    fn the_main_agent_comes_first_then_subtrees_take_turns() {
        let mut line = Line::new(10);
        for (who, key) in
            [("maia/a#1", 1), ("maia/a#1/x#1", 2), ("maia/a#1", 3), ("maia/b#1", 4), ("maia", 5)]
        {
            line.join(&path(who), key);
        }
        assert_eq!(line.admit(NOW), [5, 1, 4, 2, 3]);
    }

    #[test]
    fn the_limit_is_halved_once_a_burst_and_grows_slowly() {
        let mut line = Line::new(8);
        let who = path("maia/a#1");
        for key in 0..40 {
            line.join(&who, key);
        }
        assert_eq!(line.admit(NOW).len(), 8);
        for key in 0..3 {
            assert_eq!(line.busy(&who, &key, Some(2_000), NOW, 0.0), key == 0);
        }
        assert_eq!(line.limit(), 4);
        assert_eq!(line.in_flight(), 5);
        assert!(line.admit(NOW).is_empty(), "a wait of the server holds for all");
        for key in 3..8 {
            line.finished(&key, true);
        }
        assert_eq!(line.admit(after(2_000)), [0, 1, 2, 8]);
        for key in [0, 1, 2] {
            line.finished(&key, true);
        }
        for key in 8..20 {
            line.admit(after(2_000));
            assert_eq!(line.limit(), 4);
            line.finished(&key, true);
        }
        assert_eq!(line.limit(), 5);
    }

    #[test]
    fn a_late_429_of_the_same_burst_does_not_halve_again() {
        let mut line = Line::new(8);
        let who = path("maia");
        for key in 0..8 {
            line.join(&who, key);
        }
        line.admit(NOW);
        assert!(line.busy(&who, &0, Some(1_000), NOW, 0.0));
        assert!(line.admit(after(1_000)).is_empty(), "seven are still in flight");
        assert!(!line.busy(&who, &1, Some(1_000), after(5_000), 0.0));
        assert_eq!(line.limit(), 4);
        assert_eq!(line.not_before(), Some(after(6_000)), "its wait still counts");
    }

    #[test]
    fn who_was_sent_away_keeps_the_place_before_later_ones() {
        let mut line = Line::new(4);
        let agents =
            [("maia/a#1", 1), ("maia/b#1", 2), ("maia/a#1/x#1", 3), ("maia/c#1", 4), ("maia/d#1", 5)];
        for (who, key) in agents {
            line.join(&path(who), key);
        }
        assert_eq!(line.admit(NOW), [1, 2, 4, 5]);
        // The answers come in any order; the places do not depend on it.
        for (who, key) in [("maia/d#1", 5), ("maia/a#1", 1), ("maia/c#1", 4), ("maia/b#1", 2)] {
            line.busy(&path(who), &key, None, NOW, 0.0);
        }
        line.join(&path("maia/a#1"), 6);
        line.join(&path("maia"), 7);
        assert_eq!(line.limit(), 2);
        let at = line.not_before().expect("a wait");
        assert_eq!(line.admit(at), [7, 1], "the main agent first, then the first of those sent away");
        line.finished(&7, true);
        line.finished(&1, true);
        assert_eq!(line.admit(at), [2, 4]);
        line.finished(&2, true);
        line.finished(&4, true);
        assert_eq!(line.admit(at), [5, 3]);
    }

    #[test]
    fn without_a_wish_the_wait_doubles_up_to_half_a_minute() {
        let mut line = Line::new(1);
        let who = path("maia/a#1");
        line.join(&who, 1);
        let mut now = NOW;
        for expected in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            assert_eq!(line.admit(now), [1]);
            assert!(line.busy(&who, &1, None, now, 0.0));
            let at = line.not_before().expect("a wait");
            assert_eq!(at.duration_since(now).as_millis(), expected);
            now = at;
        }
        assert_eq!(line.admit(now), [1]);
        line.finished(&1, true);
        line.join(&who, 2);
        assert_eq!(line.admit(now), [2]);
        line.busy(&who, &2, None, now, 1.0);
        assert_eq!(line.not_before().expect("a wait").duration_since(now).as_millis(), 1_100);
    }

    #[test]
    fn wishes_of_the_server_have_bounds_that_hold() {
        for (wish, expected) in [(0, 100), (50, 100), (7_000, 7_000), (86_400_000, 86_400_000)] {
            let mut line = Line::new(1);
            line.join(&path("maia"), 1);
            line.admit(NOW);
            line.busy(&path("maia"), &1, Some(wish), NOW, 0.0);
            assert_eq!(line.not_before().expect("a wait").duration_since(NOW).as_millis(), expected);
        }
        let mut line = Line::new(1);
        line.join(&path("maia"), 1);
        line.admit(NOW);
        line.busy(&path("maia"), &1, Some(u64::MAX), NOW, 1.0);
        assert_eq!(line.not_before(), Some(Timestamp::MAX));
    }

    #[test]
    fn who_leaves_is_not_admitted_and_who_is_unknown_changes_nothing() {
        let mut line = Line::new(1);
        line.join(&path("maia/a#1"), 1);
        line.join(&path("maia/a#1"), 2);
        assert!(line.leave(&1));
        assert!(!line.leave(&1));
        assert_eq!(line.admit(NOW), [2]);
        line.finished(&9, true);
        assert!(!line.busy(&path("maia/a#1"), &9, None, NOW, 0.0));
        assert_eq!((line.in_flight(), line.waiting(), line.not_before()), (1, 0, None));
    }
}
