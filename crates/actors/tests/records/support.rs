//! Fakes around an actor: somebody at a path who passes on what he is told, and a session to stand in.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use arc_swap::ArcSwap;
use dashmap::DashMap;
use jiff::Timestamp;
use maia_actors::address::AddressBook;
use maia_actors::env::{ProcessRefs, RulesInForce, SessionEnv};
use maia_actors::failpoint::Failpoints;
use maia_core::permission::{Place, Rules};
use maia_core::turn::Limits;
use maia_protocol::permission::Sandbox;
use maia_protocol::record::SessionOpened;
use maia_protocol::{ActorPath, Body, Mode, NewRecord, Record, RuleSet};
use maia_tools::Workspace;
use ractor::{Actor, ActorProcessingErr, ActorRef, Message, SupervisionEvent};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An actor that passes every message on.
struct Sink<M>(std::marker::PhantomData<fn(M)>);

impl<M: Message> Actor for Sink<M> {
    type Msg = M;
    type State = UnboundedSender<M>;
    type Arguments = UnboundedSender<M>;

    async fn pre_start(
        &self,
        _: ActorRef<M>,
        sender: UnboundedSender<M>,
    ) -> Result<UnboundedSender<M>, ActorProcessingErr> {
        Ok(sender)
    }

    async fn handle(
        &self,
        _: ActorRef<M>,
        message: M,
        sender: &mut UnboundedSender<M>,
    ) -> Result<(), ActorProcessingErr> {
        let _ = sender.send(message); // A test that has seen enough.
        Ok(())
    }
}

/// Starts somebody who takes messages of one kind.
pub async fn sink<M: Message>() -> (ActorRef<M>, UnboundedReceiver<M>) {
    let (sender, receiver) = unbounded_channel();
    let sink = Sink::<M>(std::marker::PhantomData);
    let (actor, _) = Actor::spawn(None, sink, sender).await.expect("a sink starts");
    (actor, receiver)
}

/// A supervisor that passes on how its children end.
pub struct Watch;

impl Actor for Watch {
    type Msg = ();
    type State = UnboundedSender<String>;
    type Arguments = UnboundedSender<String>;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        sender: UnboundedSender<String>,
    ) -> Result<UnboundedSender<String>, ActorProcessingErr> {
        Ok(sender)
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        sender: &mut UnboundedSender<String>,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(_, error) = event {
            let _ = sender.send(error.to_string());
        }
        Ok(())
    }
}

/// Returns a session to stand in, with an empty address book.
pub async fn env(dir: &Path, failpoints: Failpoints) -> Arc<SessionEnv> {
    let process = ProcessRefs {
        gateway: ArcSwap::from_pointee(sink().await.0),
        locks: ArcSwap::from_pointee(sink().await.0),
        reaper: ArcSwap::from_pointee(sink().await.0),
    };
    let (cwd, home) = (dir.to_owned(), dir.to_owned());
    let workspace =
        Workspace { cwd: cwd.clone(), home: home.clone(), env: Vec::new(), exe: "/bin/false".into() };
    Arc::new(SessionEnv {
        session: "s1".to_owned(),
        book: AddressBook::default(),
        process: Arc::new(process),
        workspace: Arc::new(workspace),
        place: Place { cwd, home, state: None },
        rules: ArcSwap::from_pointee(RulesInForce { revision: 0, rules: Rules::compile(&[]).0 }),
        mode: arc_swap::ArcSwap::from_pointee(Mode::Confirm),
        sandbox: Sandbox::Off,
        limits: Limits::default(),
        max_parallel_agents: 8,
        spawned: AtomicU32::new(0),
        snapshots: DashMap::new(),
        writers: DashMap::new(),
        max_output_tokens: None,
        headless: true.into(),
        dir: dir.to_owned(),
        committed: None,
        failpoints,
    })
}

/// Returns a record that one agent folds and that has one event.
pub fn told(actor: &ActorPath, text: impl Into<String>) -> NewRecord {
    NewRecord::new(actor.clone(), Body::Told { from: "person".to_owned(), text: text.into() })
}

/// Returns a record that everybody folds.
pub fn opened() -> NewRecord {
    let opened = SessionOpened {
        session: "s1".to_owned(),
        name: "M1".to_owned(),
        cwd: "/".into(),
        model: "m".to_owned(),
        agent: None,
        agent_hash: String::new(),
        tools: None,
        rules: RuleSet::default(),
        iterations: 50,
        mode: Mode::Confirm,
        sandbox: Sandbox::Off,
        headless: true,
        version: "0".to_owned(),
        fold: 1,
        resumed: false,
        resumes: Vec::new(),
    };
    NewRecord::new(ActorPath::main(), Body::SessionOpened(opened))
}

/// Returns `new` as committed.
pub fn committed(seq: u64, new: NewRecord) -> Record {
    Record { seq, time: Timestamp::UNIX_EPOCH, actor: new.actor, body: new.body }
}

/// Returns the numbers of `records`.
pub fn seqs(records: &[Arc<Record>]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}
