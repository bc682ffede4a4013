//! Shows what was committed: turns records into events and hands them to all subscribers (SPEC section 4).
//!
//! - Asked by the journal after the owners of a batch; by everybody for events without a record; by the TUI, the JSON
//!   lines and ACP, which subscribe.
//! - Owns the view (a fold of all events so far) that snapshots are made of. The subscribers are outside of it
//!   ([`Subscribers`]): they survive a restart of the hub.
//! - A slow subscriber is left behind, told so, and caught up ([`Subscribers`]); nobody ever waits for it.
//! - After a restart the view is folded from the journal, like every other machine's state: it asks as `@events` and gets
//!   all records. So a batch that was lost with the actor is in the snapshot that each subscriber then gets after its
//!   `gap`. A copy of the view kept outside would be cheaper to get back, but would lack that batch.
//! - Folding takes a blocking thread; what comes meanwhile waits in order, as long as that takes (some milliseconds),
//!   without a bound: everything in it was already held to be delivered.

mod subscribers;

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use maia_core::event::Projection;
use maia_core::view::View;
use maia_protocol::event::{EventBody, SessionEvent};
use maia_protocol::{ActorPath, Event, Record, Seq};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use thiserror::Error;

use crate::address::{self, Address};
use crate::env::SessionEnv;
use crate::journal::JournalMsg;
pub use subscribers::{LEAST_CAPACITY, Subscriber, Subscribers};

/// What the event hub can be told.
pub enum EventHubMsg {
    /// Records were committed: their events go out.
    Batch {
        /// The records, in order.
        records: Vec<Arc<Record>>,
    },
    /// An event without a record.
    Live {
        /// Whose event it is.
        actor: ActorPath,
        /// What happened.
        body: EventBody,
    },
    /// Somebody subscribes: gets a snapshot (if wanted), then everything after it.
    Subscribe {
        /// Where its events go.
        subscriber: Subscriber,
    },
    /// All records so far, which a restarted hub has asked the journal for.
    History {
        /// The records, in order.
        records: Vec<Arc<Record>>,
    },
    /// The view has been folded. (from a task)
    Folded {
        /// The view, `None` when folding it panicked.
        tree: Option<Box<Tree>>,
    },
    /// A subscriber that was left behind has room. (from a task)
    Room,
}

impl EventHubMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Batch { .. } => "Batch",
            Self::Live { .. } => "Live",
            Self::Subscribe { .. } => "Subscribe",
            Self::History { .. } => "History",
            Self::Folded { .. } => "Folded",
            Self::Room => "Room",
        }
    }
}

/// What the hub starts from.
pub struct EventHubArgs {
    /// What the session's actors share.
    pub env: Arc<SessionEnv>,
    /// All records that the opening of the session found; not looked at after a restart.
    pub history: Vec<Record>,
    /// Who listens; the same for every start of the session's hub.
    pub subscribers: Arc<Subscribers>,
}

/// What the hub holds between messages.
pub struct EventHubState {
    env: Arc<SessionEnv>,
    subscribers: Arc<Subscribers>,
    stage: Stage,
}

enum Stage {
    /// The view is being folded.
    Folding {
        /// What came meanwhile.
        waiting: VecDeque<EventHubMsg>,
        /// Whether another hub stood here before.
        restarted: bool,
    },
    /// Events go out.
    Ready(Box<Tree>),
}

/// The view, and the number of the last record that it holds; records without events count too.
#[derive(Default)]
pub struct Tree {
    view: View,
    projection: Projection,
    last: Seq,
    /// Beginning and end of the session, of its last opening: nobody goes without them.
    started: Option<Arc<Event>>,
    ended: Option<Arc<Event>>,
}

impl Tree {
    fn step(&mut self, event: &Arc<Event>) {
        self.view.step(event);
        match &event.body {
            EventBody::Session(SessionEvent::SessionStarted { .. }) => {
                (self.started, self.ended) = (Some(event.clone()), None);
            }
            EventBody::Session(SessionEvent::SessionEnded { .. }) => self.ended = Some(event.clone()),
            _ => {}
        }
    }
}

/// Why the hub ended itself.
#[derive(Debug, Error)]
#[error("the events of the session could not be folded")]
pub struct FoldFailed;

/// The actor.
pub struct EventHub;

impl Actor for EventHub {
    type Msg = EventHubMsg;
    type State = EventHubState;
    type Arguments = EventHubArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<EventHubMsg>,
        args: EventHubArgs,
    ) -> Result<EventHubState, ActorProcessingErr> {
        let EventHubArgs { env, history, subscribers } = args;
        // The answer of the journal goes to whoever stands at the path when it comes: that has to be this one.
        env.book.put(address::event_hub(), Address::EventHub(myself.clone()));
        let restarted = !subscribers.open();
        let stage = if restarted {
            env.book.journal(JournalMsg::Subscribe { path: address::event_hub() });
            Stage::Folding { waiting: VecDeque::new(), restarted }
        } else if history.is_empty() {
            Stage::Ready(Box::default())
        } else {
            fold(myself, env.session.clone(), history);
            Stage::Folding { waiting: VecDeque::new(), restarted }
        };
        Ok(EventHubState { env, subscribers, stage })
    }

    async fn handle(
        &self,
        myself: ActorRef<EventHubMsg>,
        message: EventHubMsg,
        state: &mut EventHubState,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message("@events", message.kind());
        match (message, &mut state.stage) {
            (EventHubMsg::Folded { tree }, Stage::Folding { waiting, restarted }) => {
                let (waiting, restarted) = (std::mem::take(waiting), *restarted);
                state.stage = Stage::Ready(tree.ok_or(FoldFailed)?);
                begin(&myself, state, waiting, restarted);
            }
            (EventHubMsg::History { records }, Stage::Folding { .. }) => {
                fold(myself, state.env.session.clone(), records);
            }
            (message, Stage::Folding { waiting, .. }) => waiting.push_back(message),
            (message, Stage::Ready(tree)) => {
                carry_out(&myself, &state.env, &state.subscribers, tree, message)
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<EventHubMsg>,
        _event: SupervisionEvent,
        _state: &mut EventHubState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(()) // It supervises nobody.
    }
}

/// Folds `records` on a blocking thread, and casts the view in.
fn fold<R>(hub: ActorRef<EventHubMsg>, session: String, records: Vec<R>)
where
    R: Borrow<Record> + Send + 'static,
{
    tokio::spawn(async move {
        let folding = tokio::task::spawn_blocking(move || {
            let mut tree = Box::<Tree>::default();
            for record in records {
                let record: &Record = record.borrow();
                tree.last = record.seq;
                let events = tree.projection.events(record, &session);
                events.into_iter().for_each(|event| tree.step(&Arc::new(event)));
            }
            tree
        });
        // When the hub is gone meanwhile, nobody needs the view.
        let _ = hub.cast(EventHubMsg::Folded { tree: folding.await.ok() });
    });
}

/// Goes on with what came while the view was folded; after a restart everybody is caught up first.
fn begin(
    hub: &ActorRef<EventHubMsg>,
    state: &mut EventHubState,
    waiting: VecDeque<EventHubMsg>,
    restarted: bool,
) {
    let Stage::Ready(tree) = &mut state.stage else { return };
    if restarted {
        let mut slots = state.subscribers.slots();
        slots.all_left_behind(tree.last, tree.started.as_ref(), tree.ended.as_ref());
    }
    catch_up(hub, &state.env, &mut state.subscribers.slots(), tree);
    for message in waiting {
        carry_out(hub, &state.env, &state.subscribers, tree, message);
    }
}

fn carry_out(
    hub: &ActorRef<EventHubMsg>,
    env: &SessionEnv,
    subscribers: &Subscribers,
    tree: &mut Tree,
    message: EventHubMsg,
) {
    let mut slots = subscribers.slots();
    match message {
        EventHubMsg::Batch { records } => {
            // After a restart the first batches may already be in the history.
            let from = tree.last;
            for record in records.iter().filter(|record| record.seq > from) {
                tree.last = record.seq;
                for event in tree.projection.events(record, &env.session) {
                    let event = Arc::new(event);
                    tree.step(&event);
                    slots.offer(&event);
                }
                slots.passed(record.seq);
            }
        }
        // The end of the session is the last that is told of it; what an agent still says comes too late.
        EventHubMsg::Live { .. } if tree.ended.is_some() => {}
        EventHubMsg::Live { actor, body } => slots.offer(&live(env, tree, actor, body)),
        EventHubMsg::Subscribe { subscriber } => slots.add(subscriber, tree.last),
        EventHubMsg::Room => {}
        // A view is there already: another answer to a question that was asked twice.
        EventHubMsg::History { .. } | EventHubMsg::Folded { .. } => {}
    }
    catch_up(hub, env, &mut slots, tree);
}

/// Gives every subscriber that waits for a snapshot what it is owed, as far as it has room.
fn catch_up(hub: &ActorRef<EventHubMsg>, env: &SessionEnv, slots: &mut subscribers::Slots<'_>, tree: &Tree) {
    slots.catch_up(hub, tree.last, |body| live(env, tree, ActorPath::main(), body), || tree.view.snapshot());
}

/// Returns an event without a record.
fn live(env: &SessionEnv, tree: &Tree, actor: ActorPath, body: EventBody) -> Arc<Event> {
    let (seq, time, session) = (tree.last, Timestamp::now(), env.session.clone());
    let demo = tree.projection.is_demo();
    Arc::new(Event { seq, time, session, actor, live: true, demo, body })
}
