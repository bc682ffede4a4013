//! Events from before those that are kept: when they are asked for, and where they go.
//!
//! Asked by the keys that scroll up, and by [`crate::Screen::learn`] with the answer. Older events are folded by the
//! same code as any other, on a screen of their own, and only what can be read of them is taken over: figures and
//! states are those of now.

use std::sync::Arc;

use maia_protocol::{ActorPath, Event};

use crate::action::Action;
use crate::screen::{Page, Screen, Setup};
use crate::tree::{Node, Older};

/// Returns what asks for older items of the agent at `at`, when its list on `page` is at its start and there may be some.
pub(crate) fn ask(screen: &mut Screen, at: usize, page: Page) -> Option<Action> {
    let node = screen.tree.node_mut(at)?;
    let list = if page == Page::Events { &node.raw } else { &node.feed };
    let may = node.older == Older::Maybe && (list.is_cut() || node.is_partly_known);
    if !may || !list.at_start() || !list.takes_older() {
        return None;
    }
    let before = list.first_seq()?;
    let actor = node.path.clone();
    node.older = Older::Asked;
    Some(Action::Older { actor, before })
}

/// Puts `events` of `actor` before what is kept of it.
pub(crate) fn take(screen: &mut Screen, actor: &ActorPath, events: &[Arc<Event>]) {
    let at = screen.tree.at(actor);
    let mut past =
        Screen::new(Setup { lang: screen.lang, raw_markdown: !screen.markdown, ..Setup::default() });
    events.iter().for_each(|event| crate::update::update(&mut past, event));
    let from = past.tree.at(actor);
    let words = screen.words();
    let Some(node) = screen.tree.node_mut(at) else { return };
    let Some(old) = past.tree.node_mut(from) else { return };
    let before = (node.feed.first_seq(), node.raw.first_seq());
    node.feed.put_before(std::mem::replace(&mut old.feed, empty()));
    node.raw.put_before(std::mem::replace(&mut old.raw, empty()));
    let is_more = before != (node.feed.first_seq(), node.raw.first_seq());
    node.older = if is_more && has_room(node) { Older::Maybe } else { Older::Nothing };
    if !is_more {
        screen.hint(words.nothing_older);
    }
}

fn empty() -> crate::feed::Feed {
    crate::feed::Feed::new(0)
}

fn has_room(node: &Node) -> bool {
    node.feed.takes_older() && node.raw.takes_older()
}
