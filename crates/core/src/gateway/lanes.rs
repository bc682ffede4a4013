//! The order of a line: one lane for the main agent, one for each subtree under it.
//!
//! Asked by [`super::Line`]. Every step looks at one lane alone, so that a thousand subtrees cost no more than one;
//! only leaving and being sent away look further, and they are rare.

use std::collections::{HashMap, VecDeque};

use maia_protocol::ActorPath;

/// A request with its place.
#[derive(Clone, Debug)]
pub(super) struct Ticket<K> {
    /// Which request.
    pub(super) key: K,
    /// Its number in order of arrival.
    pub(super) number: u64,
    /// Whether the server sent it away before.
    pub(super) returned: bool,
}

/// The lanes.
#[derive(Clone, Debug)]
pub(super) struct Lanes<K> {
    main: VecDeque<Ticket<K>>,
    /// Never holds an empty lane.
    subtrees: HashMap<String, VecDeque<Ticket<K>>>,
    /// Names of all lanes of `subtrees`, next one first.
    turn: VecDeque<String>,
    len: usize,
}

impl<K: PartialEq> Lanes<K> {
    pub(super) fn new() -> Self {
        Self { main: VecDeque::new(), subtrees: HashMap::new(), turn: VecDeque::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Joins at the end of the lane of `who`; a lane that was empty is the last one to have its turn.
    pub(super) fn join(&mut self, who: &ActorPath, ticket: Ticket<K>) {
        self.len += 1;
        match subtree(who) {
            None => self.main.push_back(ticket),
            Some(name) => match self.subtrees.get_mut(name) {
                Some(lane) => lane.push_back(ticket),
                None => {
                    self.subtrees.insert(name.to_owned(), VecDeque::from([ticket]));
                    self.turn.push_back(name.to_owned());
                }
            },
        }
    }

    /// Puts a returned request before all that came later, in its lane and among the lanes.
    pub(super) fn put_back(&mut self, who: &ActorPath, ticket: Ticket<K>) {
        self.len += 1;
        let number = ticket.number;
        let insert = |lane: &mut VecDeque<Ticket<K>>, ticket: Ticket<K>| {
            let at = lane.iter().position(|other| other.number > ticket.number).unwrap_or(lane.len());
            lane.insert(at, ticket);
        };
        let Some(name) = subtree(who) else { return insert(&mut self.main, ticket) };
        insert(self.subtrees.entry(name.to_owned()).or_default(), ticket);
        self.turn.retain(|other| other != name);
        let subtrees = &self.subtrees;
        let first = |name: &String| subtrees.get(name).and_then(VecDeque::front);
        // A lane's place is that of its first request, where that was sent away too.
        let own = first(&name.to_owned()).map_or(number, |ticket| ticket.number);
        let earlier = |other: &String| first(other).is_some_and(|head| head.returned && head.number < own);
        let at = self.turn.iter().position(|other| !earlier(other)).unwrap_or(self.turn.len());
        self.turn.insert(at, name.to_owned());
    }

    /// Takes the next one: of the main agent, else of the lane whose turn it is.
    pub(super) fn next(&mut self) -> Option<Ticket<K>> {
        let ticket = match self.main.pop_front() {
            Some(ticket) => ticket,
            None => {
                let name = self.turn.pop_front()?;
                let lane = self.subtrees.get_mut(&name)?;
                let ticket = lane.pop_front()?;
                if lane.is_empty() {
                    self.subtrees.remove(&name);
                } else {
                    self.turn.push_back(name);
                }
                ticket
            }
        };
        self.len -= 1;
        Some(ticket)
    }

    /// Takes the request called `key` out; returns whether it was there.
    pub(super) fn leave(&mut self, key: &K) -> bool {
        let before = self.main.len() + self.subtrees.values().map(VecDeque::len).sum::<usize>();
        self.main.retain(|ticket| ticket.key != *key);
        self.subtrees.retain(|_, lane| {
            lane.retain(|ticket| ticket.key != *key);
            !lane.is_empty()
        });
        let subtrees = &self.subtrees;
        self.turn.retain(|name| subtrees.contains_key(name));
        self.len = self.main.len() + self.subtrees.values().map(VecDeque::len).sum::<usize>();
        self.len != before
    }
}

/// Returns the child of the root under which `who` stands; `None` for the main agent.
fn subtree(who: &ActorPath) -> Option<&str> {
    who.as_str().split('/').nth(1)
}
