//! One session's tree: starts the journal, the event hub, the broker and the session, and sees what fails (ENGINE 4).
//!
//! - Told by whoever opened the session that its opening was shown, by the session that it is closed.
//! - The journal is never restarted: what it has not written nobody has applied, so the session ends and can be resumed.
//! - Hub, broker and session are rebuilt, three times a minute at most each.

use std::sync::Arc;

use jiff::Timestamp;
use maia_core::restart::{Verdict, Window};
use maia_journal::Journal as JournalFile;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::outcome::EndReason;
use maia_protocol::record::PermissionAsked;
use maia_protocol::{ActorPath, NewRecord, Op, Record, Snapshot};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::watch;

use crate::address::{self, Address};
use crate::env::SessionEnv;
use crate::event_hub::{EventHub, EventHubArgs, Subscriber, Subscribers};
use crate::journal::{Journal, JournalArgs, JournalMsg};
use crate::lock_table::{Holder, LockTableMsg};
use crate::model_gateway::ModelGatewayMsg;
use crate::permission_broker::{PermissionBroker, PermissionBrokerArgs, PermissionBrokerMsg};
use crate::reaper::ReaperMsg;
use crate::session::{Session, SessionArgs, SessionMsg};

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Why.
    pub reason: EndReason,
    /// The final text, or what went wrong.
    pub result: String,
    /// Questions that nobody could answer.
    pub refusals: Vec<PermissionAsked>,
    /// Whether the end is recorded; if not, `maia run --resume` goes on.
    pub recorded: bool,
}

/// What a root can be told.
pub enum RootMsg {
    /// Start everybody.
    Begin,
    /// The opening was shown: agents may start.
    Go,
    /// An order from outside.
    Op(Op),
    /// The person begins a new conversation, with what was read afresh.
    Clear(Box<Snapshot>),
    /// Something that was to be an order and is none.
    BadOrder {
        /// What is wrong, and where.
        message: String,
    },
    /// From now on nobody answers questions: orders have ended.
    NobodyAnswers,
    /// The person interrupts.
    Interrupt,
    /// The person leaves: what is at work is stopped, then the session is closed.
    Leave,
    /// The session is closed and recorded so.
    Closed {
        /// Why.
        reason: EndReason,
        /// The final text.
        result: String,
        /// Questions that nobody could answer.
        refusals: Vec<PermissionAsked>,
    },
    /// The session cannot go on; its end is not recorded.
    GiveUp {
        /// Why.
        message: String,
    },
}

/// What a root is started with.
pub struct RootArgs {
    /// The session.
    pub env: Arc<SessionEnv>,
    /// Its journal, open.
    pub journal: Box<dyn JournalFile>,
    /// What was in it.
    pub history: Vec<Record>,
    /// What this opening appends.
    pub opening: Vec<NewRecord>,
    /// Who listens from the first event on.
    pub subscriber: Option<Subscriber>,
    /// Whether the session ends with its turn.
    pub one_turn: bool,
    /// Told of the end, once.
    pub closed: watch::Sender<Option<Closed>>,
}

#[derive(Default)]
struct Worker {
    id: Option<ActorId>,
    window: Window,
}

/// State of [`Root`].
pub struct RootState {
    env: Arc<SessionEnv>,
    /// Taken by the journal when it is started.
    journal: Option<(Box<dyn JournalFile>, Vec<Record>)>,
    history: Arc<Vec<Arc<Record>>>,
    opening: Vec<NewRecord>,
    /// Whether the opening was shown.
    shown: bool,
    /// Whether the person has interrupted: a session that is rebuilt is told again.
    interrupted: bool,
    /// Whether the person has left: likewise.
    leaving: bool,
    /// Kept here, so that a restart of the hub loses nobody.
    subscribers: Arc<Subscribers>,
    one_turn: bool,
    closed: watch::Sender<Option<Closed>>,
    journal_id: Option<ActorId>,
    hub: Worker,
    broker: Worker,
    session: Worker,
}

/// The actor.
pub struct Root;

impl Actor for Root {
    type Msg = RootMsg;
    type State = RootState;
    type Arguments = RootArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let subscribers = Arc::<Subscribers>::default();
        if let Some(subscriber) = args.subscriber {
            // Before there is a hub, so that none that fails can lose it.
            subscribers.add(subscriber, args.history.last().map_or(0, |record| record.seq));
        }
        Ok(RootState {
            env: args.env,
            history: Arc::new(args.history.iter().cloned().map(Arc::new).collect()),
            journal: Some((args.journal, args.history)),
            opening: args.opening,
            shown: false,
            interrupted: false,
            leaving: false,
            subscribers,
            one_turn: args.one_turn,
            closed: args.closed,
            journal_id: None,
            hub: Worker::default(),
            broker: Worker::default(),
            session: Worker::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let book = state.env.book.clone();
        match message {
            RootMsg::Begin => begin(&myself, state).await?,
            RootMsg::Go => {
                state.shown = true;
                book.session(SessionMsg::Go);
            }
            RootMsg::Op(op) => {
                book.session(SessionMsg::Op(op));
            }
            RootMsg::Clear(fresh) => {
                book.session(SessionMsg::Clear { fresh });
            }
            RootMsg::BadOrder { message } => {
                let mend = Some("the form is in: docs/events.md, Orders".to_owned());
                state.env.live(&ActorPath::main(), EventBody::Notice(NoticeEvent::Error { message, mend }));
            }
            RootMsg::NobodyAnswers => {
                state.env.headless.store(true, std::sync::atomic::Ordering::Relaxed);
                book.broker(PermissionBrokerMsg::NobodyAnswers);
            }
            RootMsg::Leave => {
                // A session that is rebuilt ends with its work too.
                state.one_turn = true;
                state.leaving = true;
                book.session(SessionMsg::Leave);
            }
            RootMsg::Interrupt => {
                state.interrupted = true;
                book.session(SessionMsg::Interrupt);
            }
            RootMsg::Closed { reason, result, refusals } => {
                end(state, Closed { reason, result, refusals, recorded: true });
            }
            RootMsg::GiveUp { message } => give_up(state, message),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
            SupervisionEvent::ActorTerminated(cell, ..) if state.journal_id == Some(cell.get_id()) => {
                give_up(state, "the journal has stopped".to_owned());
            }
            // The others end only with the root.
            SupervisionEvent::ActorTerminated(..) => {}
            SupervisionEvent::ActorFailed(cell, error) => {
                let id = Some(cell.get_id());
                let cause = error.to_string();
                tracing::warn!(cause, "an actor of the session failed");
                if state.journal_id == id {
                    give_up(state, format!("the journal failed: {cause}"));
                } else if state.hub.id == id {
                    match state.hub.window.failed(Timestamp::now()) {
                        Verdict::Restart => start_hub(&myself, state).await?,
                        Verdict::Escalate => give_up(state, format!("the event stream failed: {cause}")),
                    }
                } else if state.broker.id == id {
                    match state.broker.window.failed(Timestamp::now()) {
                        Verdict::Restart => {
                            start_broker(&myself, state).await?;
                            rebuilt(state, "permission broker", &cause, "answer again what is still open");
                        }
                        Verdict::Escalate => give_up(state, format!("the permission broker failed: {cause}")),
                    }
                } else if state.session.id == id {
                    session_failed(&myself, state, cause).await?;
                }
            }
            #[expect(unreachable_patterns, reason = "the list of events depends on features of the library")]
            _ => {}
        }
        Ok(())
    }
}

async fn begin(myself: &ActorRef<RootMsg>, state: &mut RootState) -> Result<(), ActorProcessingErr> {
    let Some((journal, history)) = state.journal.take() else { return Ok(()) };
    start_hub(myself, state).await?;
    let args = JournalArgs { env: state.env.clone(), journal, history };
    let (journal, _) = Actor::spawn_linked(None, Journal, args, myself.get_cell()).await?;
    state.journal_id = Some(journal.get_id());
    state.env.book.put(address::journal(), Address::Journal(journal));
    start_broker(myself, state).await?;
    start_session(myself, state, false).await?;
    // By the root itself: a session that fails here is rebuilt from what is written, and finds it.
    let records = std::mem::take(&mut state.opening);
    state.env.book.journal(JournalMsg::Append { records });
    Ok(())
}

async fn start_hub(myself: &ActorRef<RootMsg>, state: &mut RootState) -> Result<(), ActorProcessingErr> {
    let args = EventHubArgs {
        env: state.env.clone(),
        history: state.history.iter().map(|record| (**record).clone()).collect(),
        subscribers: state.subscribers.clone(),
    };
    let (hub, _) = Actor::spawn_linked(None, EventHub, args, myself.get_cell()).await?;
    state.hub.id = Some(hub.get_id());
    state.env.book.put(address::event_hub(), Address::EventHub(hub));
    Ok(())
}

async fn start_broker(myself: &ActorRef<RootMsg>, state: &mut RootState) -> Result<(), ActorProcessingErr> {
    let args = PermissionBrokerArgs { env: state.env.clone() };
    let (broker, _) = Actor::spawn_linked(None, PermissionBroker, args, myself.get_cell()).await?;
    state.broker.id = Some(broker.get_id());
    state.env.book.put(ActorPath::broker(), Address::Broker(broker));
    state.env.book.journal(JournalMsg::Subscribe { path: ActorPath::broker() });
    Ok(())
}

async fn start_session(
    myself: &ActorRef<RootMsg>,
    state: &mut RootState,
    rebuilt: bool,
) -> Result<(), ActorProcessingErr> {
    let args = SessionArgs {
        env: state.env.clone(),
        root: myself.clone(),
        history: state.history.clone(),
        one_turn: state.one_turn,
        rebuilt,
        shown: state.shown,
        interrupted: state.interrupted,
        leaving: state.leaving,
    };
    let (session, _) = Actor::spawn_linked(None, Session, args, myself.get_cell()).await?;
    state.session.id = Some(session.get_id());
    state.env.book.put(ActorPath::session(), Address::Session(session));
    state.env.book.journal(JournalMsg::Subscribe { path: ActorPath::session() });
    Ok(())
}

/// The session failed, and the whole tree under it is gone: it is built again from the journal.
async fn session_failed(
    myself: &ActorRef<RootMsg>,
    state: &mut RootState,
    cause: String,
) -> Result<(), ActorProcessingErr> {
    forget_tree(&state.env).await;
    match state.session.window.failed(Timestamp::now()) {
        Verdict::Restart => {
            start_session(myself, state, true).await?;
            rebuilt(
                state,
                "session",
                &cause,
                "give an order of the last moments again if nothing came of it",
            );
            Ok(())
        }
        Verdict::Escalate => {
            give_up(state, format!("the session failed: {cause}"));
            Ok(())
        }
    }
}

/// Says that somebody who takes orders was rebuilt: one that it had not looked at yet is lost, and has no receipt.
/// Before the opening was shown there are none.
fn rebuilt(state: &RootState, who: &str, cause: &str, mend: &str) {
    if !state.shown {
        return;
    }
    let message = format!("the {who} failed and was rebuilt: {cause}");
    let notice = NoticeEvent::Warning { message, mend: Some(mend.to_owned()) };
    state.env.live(&ActorPath::main(), EventBody::Notice(notice));
}

/// Forgets every agent and executor of a session, and ends what the process does for them.
pub(crate) async fn forget_tree(env: &SessionEnv) {
    let session = env.session.clone();
    env.book.end_all_apart();
    for executor in env.book.bury(&ActorPath::main(), &[]).await {
        let holder = Holder { session: session.clone(), executor };
        let _ = env.process.locks.load().cast(LockTableMsg::Release { holder });
    }
    let _ = env.process.gateway.load().cast(ModelGatewayMsg::EndSession { session: session.clone() });
    let _ = env.process.reaper.load().cast(ReaperMsg::EndSession { session });
}

fn give_up(state: &mut RootState, message: String) {
    let mend = Some("nothing recorded is lost: maia run --resume goes on from there".to_owned());
    let notice = NoticeEvent::Error { message: message.clone(), mend };
    state.env.live(&ActorPath::main(), EventBody::Notice(notice));
    let closed = Closed { reason: EndReason::Failed, result: message, refusals: Vec::new(), recorded: false };
    end(state, closed);
}

fn end(state: &mut RootState, closed: Closed) {
    // The first end counts.
    state.closed.send_if_modified(|known| {
        if known.is_some() {
            return false;
        }
        *known = Some(closed);
        true
    });
}
