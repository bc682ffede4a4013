//! Starts the actors of one run, shows its stream, and waits for its end.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use arc_swap::ArcSwap;
use dashmap::DashMap;
use maia_actors::address::AddressBook;
use maia_actors::env::{RulesInForce, SessionEnv};
use maia_actors::event_hub::Subscriber;
use maia_actors::failpoint::Failpoints;
use maia_actors::process::{Process, ProcessArgs, ProcessMsg};
use maia_actors::root::{Closed, RootArgs, RootMsg};
use maia_core::permission::Place;
use maia_core::turn::Limits;
use maia_llm::Provider;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::{ActorPath, Body, Event, Mode, Record};
use maia_tools::Workspace;
use ractor::{Actor as _, ActorRef, call};
use tokio::sync::{mpsc, watch};

use super::index::SessionIndex;
use super::open::{self, Opened, Opening};
use super::provider::{self, Model};
use super::{Prepared, ops};
use crate::error::Failure;
use crate::print::{self, Form, Seen};
use crate::settings::Places;

/// Events that wait for a slow reader of stdout; beyond that it gets a gap and a snapshot.
const EVENTS_AHEAD: usize = 65_536;

/// Limits given on the command line.
pub struct LimitFlags {
    /// `--max-iterations`.
    pub max_iterations: Option<u32>,
    /// `--max-parallel-agents`.
    pub max_parallel_agents: Option<u32>,
    /// `--max-agent-depth`.
    pub max_agent_depth: Option<u32>,
    /// `--max-spawns`.
    pub max_spawns: Option<u32>,
    /// `--max-in-flight`.
    pub max_in_flight: Option<u32>,
}

/// One run.
pub struct Run {
    /// What was read and checked.
    pub prepared: Prepared,
    /// The session.
    pub opened: Opened,
    /// Who answers.
    pub model: Model,
    /// Whether nobody can answer questions.
    pub headless: bool,
    /// Whether the session ends with its turn.
    pub one_turn: bool,
    /// Limits given on the command line.
    pub limits: LimitFlags,
}

/// Returns where verdicts look.
pub fn place(places: &Places) -> Place {
    Place { cwd: places.cwd.clone(), home: places.home.clone(), state: Some(places.state.clone()) }
}

/// A session whose actors run; its agents wait for `RootMsg::Go`.
pub struct Started {
    /// The process's actors.
    pub process: ActorRef<ProcessMsg>,
    /// The session's root.
    pub root: ActorRef<RootMsg>,
    /// What its actors share.
    pub env: Arc<SessionEnv>,
    /// Its events, from the first one on.
    pub events: mpsc::Receiver<Arc<Event>>,
    /// Its end, when it has come.
    pub closed: watch::Receiver<Option<Closed>>,
    /// What is to be said of the opening.
    pub notes: Vec<String>,
    /// Who answers.
    pub provider: Arc<Provider>,
    /// Its index.
    pub index: SessionIndex,
}

impl Started {
    /// Tells what there is to be said of the opening, and lets the agents begin.
    pub fn go(&mut self) {
        for message in self.notes.drain(..) {
            let notice = NoticeEvent::Warning { message, mend: None };
            self.env.live(&ActorPath::main(), EventBody::Notice(notice));
        }
        // A root that has given up says so by `closed`.
        let _ = self.root.cast(RootMsg::Go);
    }

    /// Ends all actors.
    pub fn kill(&self) {
        self.root.kill();
        self.process.kill();
    }
}

/// Starts the actors of a session and has its opening recorded.
///
/// # Errors
/// Whatever keeps it from being opened.
pub async fn start(run: Run) -> Result<Started, Failure> {
    let Run { prepared, opened, model, headless, one_turn, limits } = run;
    let name = provider::name(&model).await?;
    skip_answered(&model.provider, &opened.history);
    let failpoints = Failpoints::from_env();
    let max_in_flight = limits.max_in_flight.unwrap_or(prepared.settings.max_in_flight) as usize;
    let provider = Arc::new(model.provider);
    let args = ProcessArgs { provider: provider.clone(), max_in_flight, failpoints: failpoints.clone() };
    let started = |error: &dyn std::error::Error| Failure::failed(format!("maia cannot start: {error}"));
    let (process, _) = Process::spawn(None, Process, args).await.map_err(|error| started(&error))?;
    let refs = call!(process, |reply| ProcessMsg::Begin { reply }).map_err(|error| started(&error))?;

    let mut index = SessionIndex::new(&opened.dir);
    let strict = headless || prepared.mode == Mode::Auto;
    let settings = &prepared.settings;
    let env = Arc::new(SessionEnv {
        session: opened.session.clone(),
        book: AddressBook::default(),
        process: refs,
        workspace: Arc::new(workspace(&prepared.places, strict)?),
        place: place(&prepared.places),
        rules: ArcSwap::from_pointee(RulesInForce { revision: 1, rules: prepared.rules.clone() }),
        mode: ArcSwap::from_pointee(prepared.mode),
        sandbox: prepared.sandbox,
        limits: Limits {
            max_depth: limits.max_agent_depth.unwrap_or(settings.max_agent_depth) as usize,
            max_spawns: limits.max_spawns.unwrap_or(settings.max_spawns),
        },
        max_parallel_agents: limits.max_parallel_agents.unwrap_or(settings.max_parallel_agents) as usize,
        spawned: AtomicU32::new(opened.fold.spawned),
        snapshots: snapshots(&opened.history),
        writers: DashMap::new(),
        max_output_tokens: settings.max_output_tokens.map(u64::from),
        headless: AtomicBool::new(headless),
        dir: opened.dir.clone(),
        // A headless run leaves its index to whoever looks first: it would cost as much as its agents do.
        committed: (!one_turn).then(|| index.committed()),
        failpoints,
    });
    let of_agent = prepared.agent.as_ref().map(|agent| agent.definition.effort.iterations());
    let iterations = limits.max_iterations.or(of_agent).unwrap_or(settings.max_iterations);
    let opening = open::records(
        &opened,
        Opening {
            cwd: prepared.places.cwd.clone(),
            model: name,
            agent: prepared.agent.clone(),
            iterations,
            mode: prepared.mode,
            sandbox: prepared.sandbox,
            headless,
            snapshot: prepared.snapshot.clone(),
            prompt: prepared.prompt.clone(),
        },
    );
    let (events, receiver) = mpsc::channel(EVENTS_AHEAD);
    let (closed_sender, closed) = watch::channel(None);
    let root_args = Box::new(RootArgs {
        env: env.clone(),
        journal: opened.journal,
        history: opened.history,
        opening,
        subscriber: Some(Subscriber { sender: events, snapshot: false }),
        one_turn,
        closed: closed_sender,
    });
    let root = call!(process, |reply| ProcessMsg::Open { args: root_args, reply })
        .map_err(|error| started(&error))?;
    if !one_turn {
        index.follow(&env);
    }
    Ok(Started { process, root, env, events: receiver, closed, notes: prepared.notes, provider, index })
}

/// Runs a headless session to its end; returns how it ended, and why its output broke off if it did.
///
/// # Errors
/// Whatever keeps it from being opened.
pub async fn run(run: Run, form: Form) -> Result<(Closed, Option<ErrorKind>), Failure> {
    let headless = run.headless;
    let mut started = start(run).await?;
    let (seen_sender, mut seen) = mpsc::unbounded_channel();
    let (_, nothing) = mpsc::channel(1);
    let events = std::mem::replace(&mut started.events, nothing);
    std::thread::spawn(move || print::pump(events, form, seen_sender));
    let (root, mut closed) = (started.root.clone(), started.closed.clone());
    let interrupts = tokio::spawn(interrupts(root.clone()));
    let orders = (!headless).then(|| tokio::spawn(ops::read(root.clone())));

    // Agents start when the opening is durable and flushed; a root that gives up before that ends the wait.
    let (mut broken, mut shown) = (None, false);
    tokio::select! {
        first = seen.recv() => if let Some(Seen::Broken(kind)) = first { broken = Some(kind) },
        _ = closed.wait_for(Option::is_some) => {}
    }
    started.go();
    if broken.is_some() {
        // Nobody reads: going on would be work for nobody.
        let _ = root.cast(RootMsg::Interrupt);
    }
    let end = loop {
        tokio::select! {
            end = closed.wait_for(Option::is_some) => break end.ok().and_then(|end| end.clone()),
            Some(seen) = seen.recv(), if broken.is_none() => match seen {
                Seen::Broken(kind) => {
                    broken = Some(kind);
                    let _ = root.cast(RootMsg::Interrupt);
                }
                Seen::Ended => shown = true,
                Seen::Started => {}
            },
        }
    };
    let end = end.unwrap_or_else(|| Closed {
        reason: maia_protocol::outcome::EndReason::Failed,
        result: "the session ended without saying why".to_owned(),
        refusals: Vec::new(),
        recorded: false,
    });
    // The last line is written before the process ends.
    while end.recorded && broken.is_none() && !shown {
        shown = seen.recv().await.is_none_or(|seen| seen != Seen::Started);
    }
    interrupts.abort();
    if let Some(orders) = orders {
        orders.abort();
    }
    started.kill();
    Ok((end, broken))
}

/// Marks the script's lines that answered what the journal holds answers of: they are not played again.
fn skip_answered(provider: &Provider, history: &[Record]) {
    let Some(script) = provider.script() else { return };
    for record in history {
        if matches!(record.body, Body::ModelAnswered(_) | Body::ModelFailed { .. }) {
            script.skip(&record.actor);
        }
    }
}

fn snapshots(history: &[Record]) -> DashMap<u64, Arc<maia_protocol::Snapshot>> {
    let taken = history.iter().filter_map(|record| match &record.body {
        Body::SnapshotTaken(snapshot) => Some((record.seq, Arc::new((**snapshot).clone()))),
        _ => None,
    });
    taken.collect()
}

fn workspace(places: &Places, strict: bool) -> Result<Workspace, Failure> {
    let exe = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("maia cannot find its own program file: {error}")))?;
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let env = maia_tools::child_env(variables, strict, &[], &crate::settings::key_variables());
    Ok(Workspace { cwd: places.cwd.clone(), home: places.home.clone(), env, exe })
}

/// The first Ctrl+C or TERM stops the turn and closes the session; the second ends the process at once.
async fn interrupts(root: ActorRef<RootMsg>) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut int), Ok(mut term), Ok(mut hup)] = kinds.map(signal) else { return };
    let mut again = false;
    loop {
        tokio::select! {
            _ = int.recv() => {}
            _ = term.recv() => {}
            _ = hup.recv() => {}
        }
        if again {
            // Nothing recorded is lost, and helpers end what they hold when the process is gone.
            std::process::exit(130);
        }
        again = true;
        let _ = root.cast(RootMsg::Interrupt);
    }
}
