//! Locks of files for all agents (ENGINE 5): readers share, writers exclude, in asked order.
//!
//! Asked by the actor LockTable; owns nothing. A waiting writer keeps later readers waiting, so that nobody starves.

use std::collections::HashMap;
use std::hash::Hash;

use maia_protocol::tool::LockMode;

/// The table: by key who holds and who waits. `W` names a holder (a session and a call).
#[derive(Clone, Debug)]
pub struct Table<W> {
    keys: HashMap<String, Queue<W>>,
}

#[derive(Clone, Debug)]
struct Queue<W> {
    held: Vec<(W, LockMode)>,
    waiting: Vec<(W, LockMode)>,
}

impl<W> Default for Table<W> {
    fn default() -> Self {
        Self { keys: HashMap::new() }
    }
}

impl<W: Clone + Eq + Hash> Table<W> {
    /// Asks for `key`; returns whether `who` holds it now. Asking again changes nothing.
    pub fn acquire(&mut self, key: &str, who: W, mode: LockMode) -> bool {
        let queue = self
            .keys
            .entry(key.to_owned())
            .or_insert_with(|| Queue { held: Vec::new(), waiting: Vec::new() });
        if queue.held.iter().any(|(holder, _)| *holder == who) {
            return true;
        }
        if queue.waiting.iter().any(|(waiter, _)| *waiter == who) {
            return false;
        }
        if queue.waiting.is_empty() && queue.admits(mode) {
            queue.held.push((who, mode));
            return true;
        }
        queue.waiting.push((who, mode));
        false
    }

    /// Takes `key` for a call that holds it already: a table that is rebuilt learns what runs.
    pub fn restore(&mut self, key: &str, who: W, mode: LockMode) {
        let queue = self
            .keys
            .entry(key.to_owned())
            .or_insert_with(|| Queue { held: Vec::new(), waiting: Vec::new() });
        if !queue.held.iter().any(|(holder, _)| *holder == who) {
            queue.held.push((who, mode));
        }
    }

    /// Returns who holds `key`, in the order in which they got it.
    pub fn holders(&self, key: &str) -> impl Iterator<Item = &W> {
        self.keys.get(key).into_iter().flat_map(|queue| &queue.held).map(|(who, _)| who)
    }

    /// Releases whatever `who` holds or waits for; returns who holds a lock since, in order.
    pub fn release(&mut self, who: &W) -> Vec<W> {
        let mut granted = Vec::new();
        self.keys.retain(|_, queue| {
            let before = queue.held.len() + queue.waiting.len();
            queue.held.retain(|(holder, _)| holder != who);
            queue.waiting.retain(|(waiter, _)| waiter != who);
            if queue.held.len() + queue.waiting.len() != before {
                granted.extend(queue.grant());
            }
            !queue.held.is_empty() || !queue.waiting.is_empty()
        });
        granted
    }

    /// Tells whether nobody holds or waits for anything.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl<W: Clone> Queue<W> {
    fn admits(&self, mode: LockMode) -> bool {
        self.held.is_empty()
            || (mode == LockMode::Read && self.held.iter().all(|(_, held)| *held == LockMode::Read))
    }

    fn grant(&mut self) -> Vec<W> {
        let mut granted = Vec::new();
        while let Some((who, mode)) = self.waiting.first().cloned() {
            if !self.admits(mode) {
                break;
            }
            self.waiting.remove(0);
            self.held.push((who.clone(), mode));
            granted.push(who);
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockMode::{Read, Write};

    #[test]
    fn readers_share_and_a_waiting_writer_holds_later_readers_back() {
        let mut table = Table::default();
        assert!(table.acquire("f", "a", Read));
        assert!(table.acquire("f", "b", Read));
        assert!(!table.acquire("f", "w", Write));
        assert!(!table.acquire("f", "c", Read));
        assert!(table.acquire("g", "c2", Write));
        assert!(table.release(&"a").is_empty());
        assert_eq!(table.release(&"b"), ["w"]);
        assert_eq!(table.release(&"w"), ["c"]);
        assert!(table.release(&"c").is_empty());
        table.release(&"c2");
        assert!(table.is_empty());
    }

    #[test]
    fn a_waiter_that_goes_lets_the_next_one_in() {
        let mut table = Table::default();
        assert!(table.acquire("f", 1, Read));
        assert!(!table.acquire("f", 2, Write));
        assert!(!table.acquire("f", 3, Read));
        assert_eq!(table.release(&2), [3]);
    }
}
