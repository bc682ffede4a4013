//! Who listens to a session's events, and how far each of them is.
//!
//! - Asked by the hub alone, one message at a time; kept outside of it, so that a restart of the hub loses nobody.
//! - Owns one slot a subscriber: its queue, the number of the next record for it, and what it is owed.
//! - A queue is never waited for. When it is full, the subscriber is left behind: events are left out and their numbers
//!   remembered; when it has room for it, it gets `gap`, `snapshot`, and goes on from there. Beginning and end of the
//!   session are not lost to it: `session_started` goes before the gap, `session_ended` follows the snapshot.
//! - Pieces of text and output are dropped first, when a queue is over half full, and without a gap: the whole text follows
//!   in an event of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use maia_protocol::event::{EventBody, NoticeEvent, SessionEvent, TalkEvent, ToolEvent};
use maia_protocol::{Event, Seq};
use ractor::ActorRef;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinHandle;

use super::EventHubMsg;

/// The least capacity of a subscriber's queue: beginning, gap, snapshot and end of the session go out together.
pub const LEAST_CAPACITY: usize = 4;

/// Somebody who wants to see events.
pub struct Subscriber {
    /// Its queue, of at least [`LEAST_CAPACITY`]; one that holds less is not taken. It leaves by dropping the other end.
    pub sender: Sender<Arc<Event>>,
    /// Whether it begins with a snapshot.
    pub snapshot: bool,
}

/// All subscribers of a session.
#[derive(Default)]
pub struct Subscribers(Mutex<Shared>);

#[derive(Default)]
struct Shared {
    opened: bool,
    slots: Vec<Slot>,
}

/// The subscribers, held for one message.
pub(super) struct Slots<'a>(MutexGuard<'a, Shared>);

struct Slot {
    sender: Sender<Arc<Event>>,
    /// Number of the first record that it has not been given whole.
    next: Seq,
    /// What has to come before the next event; `None` when it is up to date.
    owed: Option<Owed>,
    /// Waits for room on its behalf.
    waiter: Option<Waiter>,
}

/// A snapshot, and what goes around it.
#[derive(Default)]
struct Owed {
    /// The beginning of the session, when no hub came so far as to show it.
    started: Option<Arc<Event>>,
    /// First and last record whose events were left out; `None` for one that has just begun.
    gap: Option<(Seq, Seq)>,
    /// The end of the session, when it came meanwhile.
    ended: Option<Arc<Event>>,
}

/// A task that ends with its slot.
struct Waiter(JoinHandle<()>);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Subscribers {
    /// Adds a subscriber before the session's first hub is started; it sees everything after record `last`.
    pub(crate) fn add(&self, subscriber: Subscriber, last: Seq) {
        self.slots().add(subscriber, last);
    }

    /// Tells whether this is the first hub of the session.
    pub(super) fn open(&self) -> bool {
        !std::mem::replace(&mut self.slots().0.opened, true)
    }

    /// Returns the slots. Nobody else asks for them while the hub handles a message, and nothing is awaited meanwhile.
    pub(super) fn slots(&self) -> Slots<'_> {
        // A hub that panicked leaves each slot as it was before or after one event: both are sound.
        Slots(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Slots<'_> {
    /// Adds a subscriber, which sees everything after record `last`.
    pub(super) fn add(&mut self, subscriber: Subscriber, last: Seq) {
        let Subscriber { sender, snapshot } = subscriber;
        if sender.max_capacity() < LEAST_CAPACITY {
            tracing::warn!("a subscriber's queue holds fewer than {LEAST_CAPACITY} events: it is not taken");
            return;
        }
        let owed = snapshot.then(Owed::default);
        self.0.slots.push(Slot { sender, next: last + 1, owed, waiter: None });
    }

    /// Gives `event` to everybody who has room for it.
    pub(super) fn offer(&mut self, event: &Arc<Event>) {
        self.0.slots.retain_mut(|slot| slot.offer(event));
    }

    /// Notes that all events of record `seq` were offered.
    pub(super) fn passed(&mut self, seq: Seq) {
        for slot in &mut self.0.slots {
            if slot.owed.is_none() {
                slot.next = seq + 1;
            }
        }
    }

    /// Notes that another hub has ended: what it was doing up to record `last` may not have reached everybody.
    ///
    /// `started` and `ended` are the session's beginning and end so far, for those who have not seen them.
    pub(super) fn all_left_behind(
        &mut self,
        last: Seq,
        started: Option<&Arc<Event>>,
        ended: Option<&Arc<Event>>,
    ) {
        for slot in &mut self.0.slots {
            let next = slot.next;
            let unseen = |event: Option<&Arc<Event>>| event.filter(|event| event.seq >= next).cloned();
            let owed = slot.owed.get_or_insert_default();
            owed.started = owed.started.take().or_else(|| unseen(started));
            owed.ended = owed.ended.take().or_else(|| unseen(ended));
            // Live events may be lost where no record is.
            let (from, to) = owed.gap.unwrap_or((next, last));
            owed.gap = Some((from.min(last), to.max(last)));
            slot.waiter = None; // It would tell the hub that is gone.
        }
    }

    /// Gives what is owed to everybody who has room for it; `hub` is told when others have.
    ///
    /// `event` wraps a body that has no record, `snapshot` is asked for only when somebody gets one; `last` is the number of
    /// the last record in it.
    pub(super) fn catch_up(
        &mut self,
        hub: &ActorRef<EventHubMsg>,
        last: Seq,
        event: impl Fn(EventBody) -> Arc<Event>,
        snapshot: impl Fn() -> EventBody,
    ) {
        let mut shared = None;
        self.0.slots.retain_mut(|slot| {
            let Some(owed) = &slot.owed else { return true };
            let gap = owed.gap.map(|(from, to)| event(EventBody::Notice(NoticeEvent::Gap { from, to })));
            match slot.pay(gap, || shared.get_or_insert_with(|| event(snapshot())).clone()) {
                Paid::Yes => (slot.owed, slot.waiter, slot.next) = (None, None, last + 1),
                Paid::NoRoom => slot.wait_for_room(hub),
                Paid::Gone => return false,
            }
            true
        });
    }
}

enum Paid {
    Yes,
    NoRoom,
    Gone,
}

impl Slot {
    /// Takes `event`, or notes that it was left out; tells whether the subscriber is still there.
    fn offer(&mut self, event: &Arc<Event>) -> bool {
        if self.sender.is_closed() {
            return false;
        }
        if is_piece(event) && (self.owed.is_some() || self.sender.capacity() * 2 < self.sender.max_capacity())
        {
            return true;
        }
        if self.owed.is_none() {
            match self.sender.try_send(event.clone()) {
                Ok(()) => return true,
                Err(TrySendError::Closed(_)) => return false,
                Err(TrySendError::Full(_)) => {}
            }
        }
        let new = || Owed { gap: Some((event.seq, event.seq)), ..Owed::default() };
        let owed = self.owed.get_or_insert_with(new);
        if matches!(event.body, EventBody::Session(SessionEvent::SessionEnded { .. })) {
            owed.ended = Some(event.clone());
        } else if let Some((_, to)) = &mut owed.gap {
            *to = event.seq;
        }
        true
    }

    /// Sends what is owed, all of it or nothing.
    fn pay(&self, gap: Option<Arc<Event>>, snapshot: impl FnOnce() -> Arc<Event>) -> Paid {
        let started = self.owed.as_ref().and_then(|owed| owed.started.clone());
        let ended = self.owed.as_ref().and_then(|owed| owed.ended.clone());
        let due =
            1 + usize::from(started.is_some()) + usize::from(gap.is_some()) + usize::from(ended.is_some());
        match self.sender.try_reserve_many(due) {
            Ok(permits) => {
                let events = started.into_iter().chain(gap).chain([snapshot()]).chain(ended);
                permits.zip(events).for_each(|(permit, event)| permit.send(event));
                Paid::Yes
            }
            Err(TrySendError::Full(())) => Paid::NoRoom,
            Err(TrySendError::Closed(())) => Paid::Gone,
        }
    }

    fn wait_for_room(&mut self, hub: &ActorRef<EventHubMsg>) {
        if self.waiter.as_ref().is_some_and(|waiter| !waiter.0.is_finished()) {
            return;
        }
        let (sender, hub) = (self.sender.clone(), hub.clone());
        self.waiter = Some(Waiter(tokio::spawn(async move {
            // Room, or nobody listens any more: the hub looks.
            drop(sender.reserve_many(LEAST_CAPACITY).await);
            let _ = hub.cast(EventHubMsg::Room);
        })));
    }
}

/// Tells whether `event` is a piece of something that comes as a whole later.
fn is_piece(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::Talk(TalkEvent::TextDelta { .. }) | EventBody::Tool(ToolEvent::ToolOutput { .. })
    )
}
