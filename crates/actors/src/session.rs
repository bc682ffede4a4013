//! One session: its opening, its turns, its end; orders from outside come in here (ENGINE 4).
//!
//! - Told by the root to begin and to go on, by whoever has an `Op`, by the journal what was committed.
//! - Appends what belongs to the session as a whole: opening, the person's messages, the end.
//! - Owns the fold `maia_core::session`; supervises the scheduler and the main agent's supervisor.
//! - After a restart it folds its records, and builds the scheduler and the tree again from the journal.

mod end;
mod orders;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use maia_core::permission::Rules;
use maia_core::restart::Window;
use maia_core::session::Session as Fold;
use maia_protocol::record::{Delegated, TurnEnd};
use maia_protocol::{ActorPath, Body, CallId, NewRecord, Op, Record, Snapshot};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::children::Children;
use crate::env::{RulesInForce, SessionEnv};
use crate::journal::JournalMsg;
use crate::root::RootMsg;

use end::{at_rest, close, finish, interrupt, leave};
use orders::{clear, order, stop, wake_main};
use tree::{go, main_failed, scheduler_failed, spawns_lost, start_waiting};

/// How long a headless run waits for room on the disk (ENGINE 2).
const DISK_PATIENCE: Duration = Duration::from_secs(30);

/// What a session can be told.
pub enum SessionMsg {
    /// The opening was shown: agents may start.
    Go,
    /// Its records so far, for a session actor that is rebuilt.
    History {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// Records of it are durable: apply them.
    Committed {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// See that an agent that a person started beside the turn, or asked again, is at work.
    SpawnBeside {
        /// Its path.
        child: ActorPath,
        /// What it is known by instead of a call.
        call: CallId,
    },
    /// An agent has ended and nobody stands at its path any more.
    Left,
    /// An order from outside.
    Op(Op),
    /// The person begins a new conversation of the main agent, with what agents are to know from now on (mission M5.6-clear).
    Clear {
        /// What was read afresh: for agents that are spawned from then on, and the main agent; its rules for all.
        fresh: Box<Snapshot>,
    },
    /// The main agent's worker was built again: what it had not recorded is lost.
    MainRebuilt,
    /// The main agent cannot be built again.
    MainFailed {
        /// Why.
        cause: String,
    },
    /// The person interrupts: the turn is stopped, and a headless session ends.
    Interrupt,
    /// The person leaves: what is at work is stopped, then the session is closed.
    Leave,
    /// The disk is full; nothing new starts.
    DiskFull,
    /// There is room again.
    DiskRoom,
    /// The patience with a full disk is over, if it is still full since the `n`-th time.
    DiskPatienceOver {
        /// Which time.
        n: u32,
    },
}

impl SessionMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Go => "Go",
            Self::History { .. } => "History",
            Self::Committed { .. } => "Committed",
            Self::SpawnBeside { .. } => "SpawnBeside",
            Self::Left => "Left",
            Self::Clear { .. } => "Clear",
            Self::Op(_) => "Op",
            Self::MainRebuilt => "MainRebuilt",
            Self::MainFailed { .. } => "MainFailed",
            Self::Interrupt => "Interrupt",
            Self::Leave => "Leave",
            Self::DiskFull => "DiskFull",
            Self::DiskRoom => "DiskRoom",
            Self::DiskPatienceOver { .. } => "DiskPatienceOver",
        }
    }
}

/// What a session is started with.
pub struct SessionArgs {
    /// The session.
    pub env: Arc<SessionEnv>,
    /// Its root, to be told of the end.
    pub root: ActorRef<RootMsg>,
    /// What was in the journal when it was opened.
    pub history: Arc<Vec<Arc<Record>>>,
    /// Whether it ends with its turn (`maia run`).
    pub one_turn: bool,
    /// Whether it is rebuilt after a failure: then its history comes from the journal.
    pub rebuilt: bool,
    /// Whether the opening was shown before.
    pub shown: bool,
    /// Whether the person has interrupted before.
    pub interrupted: bool,
    /// Whether the person has left before.
    pub leaving: bool,
}

/// State of [`Session`].
pub struct SessionState {
    env: Arc<SessionEnv>,
    root: ActorRef<RootMsg>,
    fold: Fold,
    one_turn: bool,
    /// Whether it waits for its history, being rebuilt.
    folding: bool,
    /// Whether its opening was shown.
    shown: bool,
    /// Openings before this one: nothing starts before this one is durable (ENGINE 2).
    openings_before: u32,
    /// Whether agents were started.
    gone: bool,
    /// Orders that came before that. Unbounded: whoever gives them waits for the opening to be shown.
    early: Vec<SessionMsg>,
    /// Whether a turn's first record is on the way: what is asked meanwhile joins it.
    asked: bool,
    main: Option<ActorId>,
    beside: Children,
    /// Agents that were asked again while what is left of their life before is still there: they begin when it is gone.
    waiting: BTreeMap<ActorPath, CallId>,
    /// Agents whose `asked_again` is on the way.
    asking: BTreeSet<ActorPath>,
    /// Agents that the main agent was told to start beside the turn, and whose `delegated` is not durable yet.
    spawning: usize,
    /// Whether the person is leaving: what still begins is stopped.
    leaving: bool,
    scheduler: Option<ActorId>,
    main_window: Window,
    scheduler_window: Window,
    /// Whether its last record is on the way.
    closing: bool,
    interrupted: bool,
    disk_full: Option<u32>,
    disk_times: u32,
}

/// The actor.
pub struct Session;

impl Actor for Session {
    type Msg = SessionMsg;
    type State = SessionState;
    type Arguments = SessionArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let mut fold = Fold::default();
        if !args.rebuilt {
            for record in args.history.iter() {
                fold.step(record);
            }
        }
        Ok(SessionState {
            env: args.env,
            root: args.root,
            fold,
            one_turn: args.one_turn,
            folding: args.rebuilt,
            shown: args.shown,
            openings_before: openings(&args.history),
            gone: false,
            early: Vec::new(),
            asked: false,
            main: None,
            beside: Children::default(),
            waiting: BTreeMap::new(),
            asking: BTreeSet::new(),
            spawning: 0,
            leaving: args.leaving,
            scheduler: None,
            main_window: Window::default(),
            scheduler_window: Window::default(),
            closing: false,
            interrupted: args.interrupted,
            disk_full: None,
            disk_times: 0,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message(ActorPath::session().as_str(), message.kind());
        match message {
            SessionMsg::Go => {
                state.shown = true;
                go(&myself, state).await?;
            }
            SessionMsg::History { records } => {
                if state.folding {
                    state.folding = false;
                    for record in &records {
                        fold(state, record);
                    }
                    // It may have failed between a snapshot and its rules.
                    let snapshots = records.iter().rev().find_map(|record| match &record.body {
                        Body::SnapshotTaken(snapshot) => Some(snapshot),
                        _ => None,
                    });
                    snapshots.into_iter().for_each(|snapshot| put_in_force(state, snapshot));
                    go(&myself, state).await?;
                }
            }
            // A session that is rebuilt finds in its history what was committed before it.
            SessionMsg::Committed { .. } if state.folding => {}
            SessionMsg::Committed { records } => {
                for record in &records {
                    committed(state, record);
                }
                go(&myself, state).await?;
            }
            SessionMsg::SpawnBeside { child, call } => {
                if !state.beside.has(&child, &call) {
                    state.waiting.insert(child, call);
                    start_waiting(&myself, state).await?;
                }
            }
            SessionMsg::Left => start_waiting(&myself, state).await?,
            early @ (SessionMsg::Clear { .. } | SessionMsg::Op(_)) if !state.gone => state.early.push(early),
            SessionMsg::Clear { fresh } => clear(state, Some(*fresh)),
            SessionMsg::Op(op) => order(state, op),
            SessionMsg::MainRebuilt => spawns_lost(state),
            SessionMsg::MainFailed { cause } => {
                spawns_lost(state);
                if state.fold.in_turn {
                    let body = Body::TurnFinished {
                        turn: state.fold.turn,
                        end: TurnEnd::Failed,
                        text: format!("the main agent failed: {cause}"),
                    };
                    append(state, vec![body]);
                }
            }
            SessionMsg::Interrupt => {
                state.interrupted = true;
                if state.gone {
                    interrupt(state);
                }
            }
            SessionMsg::Leave => {
                // From here on the session ends with what is at work, as a headless one does.
                state.one_turn = true;
                state.leaving = true;
                if state.gone {
                    leave(state);
                }
            }
            SessionMsg::DiskFull => {
                state.disk_times += 1;
                let n = state.disk_times;
                state.disk_full = Some(n);
                if state.one_turn {
                    tokio::spawn(async move {
                        tokio::time::sleep(DISK_PATIENCE).await;
                        let _ = myself.cast(SessionMsg::DiskPatienceOver { n });
                    });
                }
            }
            SessionMsg::DiskRoom => state.disk_full = None,
            SessionMsg::DiskPatienceOver { n } => {
                if state.disk_full == Some(n) {
                    let message =
                        format!("the disk of {} is full; nothing more was recorded", state.env.dir.display());
                    let _ = state.root.cast(RootMsg::GiveUp { message });
                }
            }
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
            // The main agent's supervisor and the scheduler end only with the session.
            SupervisionEvent::ActorTerminated(cell, _, reason) => {
                let gone = state.beside.terminated(&state.env, cell.get_id(), reason.is_none()).await;
                if let Some(gone) = gone {
                    state.env.book.end_apart(&gone);
                }
            }
            SupervisionEvent::ActorFailed(cell, error) => {
                let cause = error.to_string();
                if state.main == Some(cell.get_id()) {
                    main_failed(&myself, state, cause).await?;
                } else if state.scheduler == Some(cell.get_id()) {
                    scheduler_failed(&myself, state, cause).await?;
                } else {
                    let env = state.env.clone();
                    state.beside.failed(&env, myself.get_cell(), cell.get_id(), &cause).await?;
                }
            }
            #[expect(unreachable_patterns, reason = "the list of events depends on features of the library")]
            _ => {}
        }
        Ok(())
    }
}

fn openings(history: &[Arc<Record>]) -> u32 {
    let openings = history.iter().filter(|record| matches!(record.body, Body::SessionOpened(_)));
    u32::try_from(openings.count()).unwrap_or(u32::MAX)
}

/// Applies a record; agents are spawned from the snapshots that it keeps.
fn fold(state: &mut SessionState, record: &Record) {
    state.fold.step(record);
    if let Body::SnapshotTaken(snapshot) = &record.body {
        state.env.keep_snapshot(record.seq, snapshot);
    }
}

fn committed(state: &mut SessionState, record: &Record) {
    fold(state, record);
    match &record.body {
        Body::UserMessage { .. } => {
            state.asked = false;
            if state.leaving {
                stop(state, &ActorPath::main());
            }
        }
        Body::AskedAgain(_) => {
            state.asking.remove(&record.actor);
            // The main agent has it spawned: one that failed for good between two turns stands up for that.
            wake_main(state);
        }
        Body::Delegated(delegated) if is_beside(record, delegated) => {
            state.spawning = state.spawning.saturating_sub(1);
        }
        // The opening's are in force from the start.
        Body::SnapshotTaken(snapshot) if state.gone => put_in_force(state, snapshot),
        // What was started beside the turn belongs to the run: it ends before it.
        Body::TurnFinished { .. } | Body::ChildFinished(_) if state.one_turn && at_rest(state) => {
            close(state);
        }
        Body::SessionClosed { .. } => finish(state),
        _ => {}
    }
}

/// Tells whether the person has had the agent started beside the turn.
fn is_beside(record: &Record, delegated: &Delegated) -> bool {
    delegated.call.is_beside() && record.actor.parent() == Some(ActorPath::main())
}

/// Has the rules of a snapshot hold for all; only those of a durable one.
fn put_in_force(state: &SessionState, snapshot: &Snapshot) {
    let rules = Rules::compile(&snapshot.rules).0;
    let revision = state.env.rules.load().revision + 1;
    state.env.rules.store(Arc::new(RulesInForce { revision, rules }));
}

fn append(state: &SessionState, bodies: Vec<Body>) {
    let records = bodies.into_iter().map(|body| NewRecord::new(ActorPath::main(), body)).collect();
    state.env.book.journal(JournalMsg::Append { records });
}
