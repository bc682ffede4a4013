//! The tree of agents as told by events: what each does, waits for, has used.
//!
//! Filled by the fold; asked by the tree, the inspector and the status line. Owns one node for each agent that was
//! ever heard of, with its transcript. What a subtree used is kept up to date from below, so that drawing adds nothing.

use std::collections::HashMap;

use maia_protocol::ActorPath;

use crate::node::Folded;
pub use crate::node::{Life, Node, Older, Used};

/// Children that have ended and are all shown; when there are more, the older ones are folded away.
const MANY_ENDED: usize = 8;
/// Of many children that have ended, the newest ones that are shown.
const LAST_ENDED: usize = 3;

/// All agents.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    by_path: HashMap<ActorPath, usize>,
    /// Indices of the nodes whose ancestors are all open, from the top; rebuilt when `None`.
    order: Option<Vec<usize>>,
    /// Index of the selected node.
    selected: usize,
    working: usize,
}

impl Default for Tree {
    fn default() -> Self {
        let mut tree =
            Self { nodes: Vec::new(), by_path: HashMap::new(), order: None, selected: 0, working: 0 };
        tree.at(&ActorPath::main());
        tree
    }
}

impl Tree {
    /// Returns the index of the agent called `path`, made from its name alone when nothing was heard of it.
    pub fn at(&mut self, path: &ActorPath) -> usize {
        if let Some(at) = self.by_path.get(path) {
            return *at;
        }
        // A path that names no agent above it hangs under the main agent; the main agent is first.
        let mut missing = vec![path.clone()];
        let mut parent = None;
        let mut above = path.parent();
        while let Some(path) = above {
            if let Some(at) = self.by_path.get(&path) {
                parent = Some(*at);
                break;
            }
            above = path.parent();
            missing.push(path);
        }
        let mut at = parent.or(if self.nodes.is_empty() { None } else { Some(0) });
        for path in missing.into_iter().rev() {
            at = Some(self.add(path, at));
        }
        at.unwrap_or(0)
    }

    /// Returns the index of the agent called `path`, when something was heard of it.
    pub fn known(&self, path: &ActorPath) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    fn add(&mut self, path: ActorPath, parent: Option<usize>) -> usize {
        let at = self.nodes.len();
        let depth = parent.and_then(|parent| self.nodes.get(parent)).map_or(0, |parent| parent.depth + 1);
        self.nodes.push(Node::new(path.clone(), parent, depth));
        self.by_path.insert(path, at);
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.push(at);
        }
        self.order = None;
        at
    }

    /// Returns the node at `at`.
    pub fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Returns the node at `at`, to be changed; not its life and not what it used.
    pub fn node_mut(&mut self, at: usize) -> Option<&mut Node> {
        self.nodes.get_mut(at)
    }

    /// Returns all nodes; the main agent is the first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the main agent.
    pub fn main_mut(&mut self) -> Option<&mut Node> {
        self.nodes.first_mut()
    }

    /// Returns the number of agents that work now.
    pub fn working(&self) -> usize {
        self.working
    }

    /// Changes what the agent at `at` does.
    pub fn live(&mut self, at: usize, life: Life) {
        let Some(node) = self.nodes.get_mut(at) else { return };
        let before = std::mem::replace(&mut node.life, life);
        if before == Life::Working {
            self.working = self.working.saturating_sub(1);
        }
        if life == Life::Working {
            self.working += 1;
        }
        if before.is_live() != life.is_live() {
            self.order = None;
        }
    }

    /// Adds what the agent at `at` has used more, to it and all above.
    pub fn charge(&mut self, at: usize, more: Used) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.own.add(more);
        }
        let mut above = Some(at);
        while let Some(node) = above.and_then(|at| self.nodes.get_mut(at)) {
            node.subtree.add(more);
            above = node.parent;
        }
    }

    /// Sets what the agent at `at` has used itself when that is more than was counted.
    pub fn settle(&mut self, at: usize, own: Used) {
        let Some(counted) = self.nodes.get(at).map(|node| node.own) else { return };
        let more = Used {
            input_tokens: own.input_tokens.saturating_sub(counted.input_tokens),
            output_tokens: own.output_tokens.saturating_sub(counted.output_tokens),
            cost_micros: own.cost_micros.saturating_sub(counted.cost_micros),
        };
        self.charge(at, more);
    }

    /// Returns the selected node's index.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Returns the indices of the nodes to show, from the top.
    pub fn order(&mut self) -> &[usize] {
        if self.order.is_none() {
            self.order = Some(self.ordered());
        }
        self.order.as_deref().unwrap_or_default()
    }

    fn ordered(&mut self) -> Vec<usize> {
        // Whoever is at work, and whoever has somebody at work below, is shown; a child comes after its parent.
        let mut is_wanted: Vec<bool> =
            self.nodes.iter().map(|node| node.life.is_live() || node.questions > 0).collect();
        if let Some(selected) = is_wanted.get_mut(self.selected) {
            *selected = true;
        }
        for at in (1..self.nodes.len()).rev() {
            let parent = self.nodes.get(at).and_then(|node| node.parent);
            if is_wanted.get(at) == Some(&true)
                && let Some(parent) = parent.and_then(|parent| is_wanted.get_mut(parent))
            {
                *parent = true;
            }
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut stack = vec![0];
        while let Some(at) = stack.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            order.push(at);
            let mut folded = Folded::default();
            if node.is_open {
                let ended =
                    node.children.iter().filter(|child| is_wanted.get(**child) == Some(&false)).count();
                let mut left = if ended > MANY_ENDED && !node.shows_ended { ended - LAST_ENDED } else { 0 };
                let shown = node.children.iter().filter(|child| {
                    let is_folded = left > 0 && is_wanted.get(**child) == Some(&false);
                    if is_folded {
                        left -= 1;
                        folded.all += 1;
                        let life = self.nodes.get(**child).map(|node| node.life);
                        folded.failed += usize::from(life.is_some_and(Life::is_failure));
                    }
                    !is_folded
                });
                let shown: Vec<usize> = shown.copied().collect();
                stack.extend(shown.into_iter().rev());
            }
            if let Some(node) = self.nodes.get_mut(at) {
                node.folded = folded;
            }
        }
        order
    }

    /// Selects the node `by` rows further down.
    pub fn select_by(&mut self, by: isize) {
        let selected = self.selected;
        let order = self.order();
        let row = order.iter().position(|at| *at == selected).unwrap_or(0);
        let row = row.saturating_add_signed(by).min(order.len().saturating_sub(1));
        if let Some(at) = order.get(row) {
            self.selected = *at;
        }
    }

    /// Shows or hides what is below the selected node; on one without children goes to the one above.
    pub fn fold(&mut self, open: bool) {
        let Some(node) = self.nodes.get_mut(self.selected) else { return };
        // What ended comes to light after the others, and goes before them.
        if node.is_open && (if open { node.folded.all > 0 } else { node.shows_ended }) {
            node.shows_ended = open;
            self.order = None;
            return;
        }
        if node.children.is_empty() || node.is_open == open {
            match (open, node.parent, node.children.first()) {
                (false, Some(parent), _) => self.selected = parent,
                (true, _, Some(child)) => self.selected = *child,
                _ => {}
            }
            return;
        }
        node.is_open = open;
        self.order = None;
    }

    /// Returns the agents that stopping everything would end.
    pub fn at_work(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.life.is_at_work())
    }
}

#[cfg(test)]
mod tests {
    use maia_protocol::Outcome;

    use super::*;

    fn paths(tree: &mut Tree) -> Vec<String> {
        let order = tree.order().to_vec();
        order.iter().map(|at| tree.nodes[*at].path.to_string()).collect()
    }

    #[test]
    fn agents_hang_under_those_above_them() {
        let mut tree = Tree::default();
        tree.at(&ActorPath::new("maia/b#1/c#1"));
        tree.at(&ActorPath::new("maia/a#1"));
        tree.at(&ActorPath::new("maia/b#1/c#2"));
        let whole = ["maia", "maia/b#1", "maia/b#1/c#1", "maia/b#1/c#2", "maia/a#1"];
        assert_eq!(paths(&mut tree), whole);
        tree.select_by(1);
        tree.fold(false);
        assert_eq!(paths(&mut tree), ["maia", "maia/b#1", "maia/a#1"]);
        tree.fold(true);
        assert_eq!(paths(&mut tree), whole);
    }

    #[test]
    fn many_that_ended_fold_away_and_come_back() {
        let mut tree = Tree::default();
        for n in 1..=12 {
            let at = tree.at(&ActorPath::new(format!("maia/a#{n}")));
            let outcome = if n == 2 { Outcome::Failed } else { Outcome::Done };
            tree.live(at, if n == 1 { Life::Working } else { Life::Ended(outcome) });
        }
        let below = tree.at(&ActorPath::new("maia/a#4/b#1"));
        tree.live(below, Life::Working);
        let folded = ["maia", "maia/a#1", "maia/a#4", "maia/a#4/b#1", "maia/a#10", "maia/a#11", "maia/a#12"];
        assert_eq!(paths(&mut tree), folded);
        assert_eq!(tree.nodes[0].folded, Folded { all: 7, failed: 1 });
        tree.fold(true);
        assert_eq!(paths(&mut tree).len(), 14);
        tree.fold(false);
        assert_eq!(paths(&mut tree), folded);
        tree.fold(false);
        assert_eq!(paths(&mut tree), ["maia"]);
    }

    #[test]
    fn what_is_used_is_counted_upwards() {
        let mut tree = Tree::default();
        let deep = tree.at(&ActorPath::new("maia/b#1/c#1"));
        tree.charge(deep, Used { input_tokens: 10, output_tokens: 1, cost_micros: 5 });
        tree.settle(deep, Used { input_tokens: 12, output_tokens: 1, cost_micros: 0 });
        let tokens = |at: usize| (tree.nodes[at].own.tokens(), tree.nodes[at].subtree.tokens());
        assert_eq!([tokens(0), tokens(1), tokens(2)], [(0, 13), (0, 13), (13, 13)]);
    }
}
