//! Stands in for the actors around the one that is tested: everything they are told comes out of a channel.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use arc_swap::ArcSwap;
use dashmap::DashMap;
use maia_actors::address::{self, Address, AddressBook};
use maia_actors::agent::AgentMsg;
use maia_actors::env::{ProcessRefs, RulesInForce, SessionEnv};
use maia_actors::event_hub::EventHubMsg;
use maia_actors::failpoint::Failpoints;
use maia_actors::journal::JournalMsg;
use maia_actors::lock_table::LockTableMsg;
use maia_actors::model_gateway::{ModelGatewayMsg, RequestKey};
use maia_actors::reaper::ReaperMsg;
use maia_actors::tool_executor::ToolExecutorMsg;
use maia_core::permission::{Place, Rules};
use maia_core::turn::{Input, Limits};
use maia_protocol::event::EventBody;
use maia_protocol::permission::Sandbox;
use maia_protocol::record::SessionOpened;
use maia_protocol::{ActorPath, Body, Mode, NewRecord, Record, RuleSet};
use maia_tools::Workspace;
use ractor::{Actor, ActorProcessingErr, ActorRef, Message};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Returns the opening of a session in which a person can answer.
pub fn opened() -> Body {
    Body::SessionOpened(SessionOpened {
        session: "s".to_owned(),
        name: "n".to_owned(),
        cwd: "/".into(),
        model: "m".to_owned(),
        agent: None,
        agent_hash: String::new(),
        tools: None,
        rules: RuleSet::default(),
        iterations: 1,
        mode: Mode::Confirm,
        sandbox: Sandbox::None,
        headless: false,
        version: "0".to_owned(),
        fold: 1,
        resumed: false,
        resumes: Vec::new(),
    })
}

/// An actor that passes on what it makes of what it is told.
struct Relay<M, T>(Box<dyn Fn(M) -> Option<T> + Send + Sync>);

impl<M: Message, T: Send + 'static> Actor for Relay<M, T> {
    type Msg = M;
    type State = UnboundedSender<T>;
    type Arguments = UnboundedSender<T>;

    async fn pre_start(
        &self,
        _: ActorRef<M>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(args)
    }

    async fn handle(
        &self,
        _: ActorRef<M>,
        message: M,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(message) = (self.0)(message) {
            // A test that has seen enough listens no more.
            let _ = state.send(message);
        }
        Ok(())
    }
}

async fn relay<M: Message, T: Send + 'static>(
    shape: impl Fn(M) -> Option<T> + Send + Sync + 'static,
    to: UnboundedSender<T>,
) -> ActorRef<M> {
    Actor::spawn(None, Relay(Box::new(shape)), to).await.expect("a relay starts").0
}

/// Starts an actor that listens to nothing.
pub async fn deaf<M: Message>() -> ActorRef<M> {
    relay(|_: M| None::<()>, unbounded_channel().0).await
}

/// Something that somebody around was told.
#[derive(Debug, PartialEq)]
pub enum Told {
    /// An agent was handed this.
    Input(ActorPath, Input),
    /// An agent's request stands in the gateway's line, or has left it.
    Line(ActorPath, bool),
    /// An agent has a place.
    Place(ActorPath),
    /// An executor has its lock.
    Lock(ActorPath),
    /// An event without a record was sent.
    Event(ActorPath, EventBody),
    /// Records are to be written.
    Append(Vec<NewRecord>),
    /// The gateway was asked for an answer.
    Asked(RequestKey),
    /// The gateway is to break off a request.
    BrokenOff(RequestKey),
    /// The machine at this path has started and asks for its records.
    Subscribe(ActorPath),
}

/// A session whose actors are all fakes. What they are told comes out in one order.
pub struct Session {
    pub env: Arc<SessionEnv>,
    told: UnboundedReceiver<Told>,
    sender: UnboundedSender<Told>,
}

/// What a session is opened with.
pub struct Options<'a> {
    pub name: &'a str,
    pub cwd: &'a Path,
    pub headless: bool,
    pub places: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { name: "s", cwd: Path::new("/nowhere"), headless: false, places: 8 }
    }
}

impl Session {
    pub async fn open(options: Options<'_>) -> Self {
        let (sender, told) = unbounded_channel();
        let process = ProcessRefs {
            gateway: ArcSwap::from_pointee(deaf::<ModelGatewayMsg>().await),
            locks: ArcSwap::from_pointee(deaf::<LockTableMsg>().await),
            reaper: ArcSwap::from_pointee(deaf::<ReaperMsg>().await),
        };
        let cwd = options.cwd.to_owned();
        let env = SessionEnv {
            session: options.name.to_owned(),
            book: AddressBook::default(),
            process: Arc::new(process),
            workspace: Arc::new(Workspace {
                cwd: cwd.clone(),
                home: cwd.clone(),
                env: Vec::new(),
                exe: cwd.clone(),
            }),
            place: Place { cwd: cwd.clone(), home: cwd.clone(), state: None },
            rules: ArcSwap::from_pointee(RulesInForce { revision: 0, rules: Rules::compile(&[]).0 }),
            mode: arc_swap::ArcSwap::from_pointee(Mode::Confirm),
            sandbox: Sandbox::None,
            limits: Limits::default(),
            max_parallel_agents: options.places,
            spawned: AtomicU32::new(0),
            snapshots: DashMap::new(),
            writers: DashMap::new(),
            max_output_tokens: None,
            headless: AtomicBool::new(options.headless),
            dir: cwd,
            committed: None,
            failpoints: Failpoints::default(),
        };
        let session = Self { env: Arc::new(env), told, sender };
        let hub = session.relay(|message| match message {
            EventHubMsg::Live { actor, body } => Some(Told::Event(actor, body)),
            _ => None,
        });
        session.env.book.put(address::event_hub(), Address::EventHub(hub.await));
        let journal = session.relay(|message| match message {
            JournalMsg::Append { records } => Some(Told::Append(records)),
            JournalMsg::Subscribe { path } => Some(Told::Subscribe(path)),
            _ => None,
        });
        session.env.book.put(address::journal(), Address::Journal(journal.await));
        session
    }

    async fn relay<M: Message>(
        &self,
        shape: impl Fn(M) -> Option<Told> + Send + Sync + 'static,
    ) -> ActorRef<M> {
        relay(shape, self.sender.clone()).await
    }

    /// Puts an agent at `path`.
    pub async fn agent(&self, path: &ActorPath) {
        let own = path.clone();
        let agent = self.relay(move |message| match message {
            AgentMsg::Input(input) => Some(Told::Input(own.clone(), input)),
            AgentMsg::GatewayWaits(waits) => Some(Told::Line(own.clone(), waits)),
            AgentMsg::PlaceGranted => Some(Told::Place(own.clone())),
            _ => None,
        });
        self.env.book.put(path.clone(), Address::Agent(agent.await));
    }

    /// Puts a gateway there that passes on what it is asked.
    pub async fn gateway(&self) {
        let gateway = self.relay(|message| match message {
            ModelGatewayMsg::Ask { key, .. } => Some(Told::Asked(key)),
            ModelGatewayMsg::Cancel { key, .. } => Some(Told::BrokenOff(key)),
            _ => None,
        });
        self.env.process.gateway.store(Arc::new(gateway.await));
    }

    /// Puts an executor at `path`.
    pub async fn executor(&self, path: &ActorPath) {
        let own = path.clone();
        let executor = self.relay(move |message| match message {
            ToolExecutorMsg::LockGranted => Some(Told::Lock(own.clone())),
            _ => None,
        });
        self.env.book.put(path.clone(), Address::Executor(executor.await));
    }

    /// Waits for the next thing that anybody is told.
    pub async fn next(&mut self) -> Told {
        self.told.recv().await.expect("the session keeps a sender")
    }

    /// Waits for the first thing that `wanted` makes something of, and passes over what comes before.
    pub async fn find<T>(&mut self, wanted: impl Fn(Told) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.next().await) {
                return found;
            }
        }
    }

    /// Tells whether nothing is left of what anybody was told.
    pub fn is_quiet(&self) -> bool {
        self.told.is_empty()
    }

    /// Waits for the next input of an agent.
    pub async fn input(&mut self) -> (ActorPath, Input) {
        self.find(|told| match told {
            Told::Input(path, input) => Some((path, input)),
            _ => None,
        })
        .await
    }
}

/// Lets `actor` handle all that it was told, and ends it.
pub async fn drain<M: Message>(actor: ActorRef<M>) {
    actor.drain_and_wait(None).await.expect("it ends");
}

/// Returns a record of `actor`.
pub fn record(actor: &ActorPath, body: Body) -> Arc<Record> {
    Arc::new(Record { seq: 1, time: jiff::Timestamp::UNIX_EPOCH, actor: actor.clone(), body })
}
