//! The one table of addresses of a session: path → who stands there now (ENGINE 3).
//!
//! - Filled by supervisors when they start somebody, asked by everybody who tells somebody something.
//! - A message to nobody is no error here: what must not be lost is a record, and records wait in the journal.

use std::sync::Arc;

use dashmap::{DashMap, DashSet};
use maia_protocol::{ActorPath, Record};
use ractor::{ActorCell, ActorRef};

use crate::agent::AgentMsg;
use crate::agent_supervisor::AgentSupervisorMsg;
use crate::event_hub::EventHubMsg;
use crate::journal::JournalMsg;
use crate::permission_broker::PermissionBrokerMsg;
use crate::scheduler::SchedulerMsg;
use crate::session::SessionMsg;
use crate::tool_executor::ToolExecutorMsg;

/// Somebody's current reference.
#[derive(Clone)]
pub enum Address {
    /// An agent's worker.
    Agent(ActorRef<AgentMsg>),
    /// An agent's supervisor, under the path of [`supervisor_of`].
    Supervisor(ActorRef<AgentSupervisorMsg>),
    /// The executor of a call.
    Executor(ActorRef<ToolExecutorMsg>),
    /// The session.
    Session(ActorRef<SessionMsg>),
    /// The scheduler.
    Scheduler(ActorRef<SchedulerMsg>),
    /// The permission broker.
    Broker(ActorRef<PermissionBrokerMsg>),
    /// The journal.
    Journal(ActorRef<JournalMsg>),
    /// The event hub.
    EventHub(ActorRef<EventHubMsg>),
}

impl Address {
    fn cell(&self) -> ActorCell {
        match self {
            Self::Agent(actor) => actor.get_cell(),
            Self::Supervisor(actor) => actor.get_cell(),
            Self::Executor(actor) => actor.get_cell(),
            Self::Session(actor) => actor.get_cell(),
            Self::Scheduler(actor) => actor.get_cell(),
            Self::Broker(actor) => actor.get_cell(),
            Self::Journal(actor) => actor.get_cell(),
            Self::EventHub(actor) => actor.get_cell(),
        }
    }
}

/// Path of the supervisor of the agent at `agent`.
pub fn supervisor_of(agent: &ActorPath) -> ActorPath {
    ActorPath::new(format!("{agent}@supervisor"))
}

/// Path of the journal.
pub fn journal() -> ActorPath {
    ActorPath::new("@journal")
}

/// Path of the event hub.
pub fn event_hub() -> ActorPath {
    ActorPath::new("@events")
}

/// The table. Cheap to clone; all clones are the same table.
#[derive(Clone, Default)]
pub struct AddressBook {
    table: Arc<DashMap<ActorPath, Address>>,
    /// Agents that the session supervises, whoever is above them in their path: they are not buried with that one.
    apart: Arc<DashSet<ActorPath>>,
}

macro_rules! tell {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $msg:ty) => {
        $(#[$doc])*
        ///
        /// Returns whether somebody stood there to take it.
        pub fn $name(&self, path: &ActorPath, message: $msg) -> bool {
            // The reference is copied out: nothing is held in the table while a message is sent.
            let there = self.table.get(path).map(|address| address.value().clone());
            match there {
                Some(Address::$variant(actor)) => actor.cast(message).is_ok(),
                _ => false,
            }
        }
    };
}

impl AddressBook {
    /// Puts `address` at `path`; whoever stood there before is replaced.
    pub fn put(&self, path: ActorPath, address: Address) {
        self.table.insert(path, address);
    }

    /// Takes `path` out of the table.
    pub fn remove(&self, path: &ActorPath) {
        self.table.remove(path);
    }

    /// Tells whether somebody stands at `path`.
    pub fn has(&self, path: &ActorPath) -> bool {
        self.table.contains_key(path)
    }

    /// Returns the paths of all agents, in order.
    pub fn agents(&self) -> Vec<ActorPath> {
        let agents = self.table.iter().filter(|entry| matches!(entry.value(), Address::Agent(_)));
        let mut paths: Vec<_> = agents.map(|entry| entry.key().clone()).collect();
        paths.sort();
        paths
    }

    /// Returns the paths of all executors, in order.
    pub fn executors(&self) -> Vec<ActorPath> {
        let executors = self.table.iter().filter(|entry| matches!(entry.value(), Address::Executor(_)));
        let mut paths: Vec<_> = executors.map(|entry| entry.key().clone()).collect();
        paths.sort();
        paths
    }

    /// Notes that the session supervises the agent at `agent`, whoever is above it in its path.
    pub fn set_apart(&self, agent: ActorPath) {
        self.apart.insert(agent);
    }

    /// Forgets that.
    pub fn end_apart(&self, agent: &ActorPath) {
        self.apart.remove(agent);
    }

    /// Forgets that of all.
    pub fn end_all_apart(&self) {
        self.apart.clear();
    }

    /// Waits until the agent at `agent` and its supervisor have ended, and takes them out of the table: for a supervisor
    /// that left by itself, which it does when nobody is below it any more. Nobody else is looked at.
    pub async fn bury_alone(&self, agent: &ActorPath) {
        for path in [agent.clone(), supervisor_of(agent)] {
            let Some(address) = self.table.get(&path).map(|address| address.value().clone()) else {
                continue;
            };
            let cell = address.cell();
            // Without a limit: nothing that it waits for keeps an actor whose supervisor has ended.
            let _ = cell.wait(None).await;
            self.table.remove_if(&path, |_, now| now.cell().get_id() == cell.get_id());
        }
    }

    /// Waits until everybody at and below the agent at `agent` has ended, and takes them out of the table; returns the
    /// executors among them. Whoever stands at or below a path of `except`, or below `agent` apart, is left alone.
    ///
    /// For the time after their supervisor has failed: they were killed with it, and each ends at its next await. Until
    /// then it may still act, or put somebody into the table; a new one beside it would do everything a second time.
    pub async fn bury(&self, agent: &ActorPath, except: &[ActorPath]) -> Vec<ActorPath> {
        let supervisor = supervisor_of(agent);
        let mut executors = Vec::new();
        loop {
            let apart = self.apart.iter().map(|apart| apart.key().clone());
            let apart = apart.filter(|apart| apart != agent && apart.is_within(agent));
            let except: Vec<_> = apart.chain(except.iter().cloned()).collect();
            let spared = |path: &ActorPath| {
                except.iter().any(|except| path.is_within(except) || *path == supervisor_of(except))
            };
            let these = self.table.iter().filter(|entry| {
                let path = entry.key();
                (path.is_within(agent) || *path == supervisor) && !spared(path)
            });
            let these: Vec<_> = these.map(|entry| (entry.key().clone(), entry.value().clone())).collect();
            if these.is_empty() {
                return executors;
            }
            for (path, address) in these {
                let cell = address.cell();
                // Without a limit: nothing that it waits for keeps a killed actor.
                let _ = cell.wait(None).await;
                self.table.remove_if(&path, |_, now| now.cell().get_id() == cell.get_id());
                if matches!(address, Address::Executor(_)) {
                    executors.push(path);
                }
            }
        }
    }

    tell!(
        /// Tells an agent's worker.
        agent, Agent, AgentMsg
    );
    tell!(
        /// Tells a supervisor, by the path of [`supervisor_of`].
        supervisor, Supervisor, AgentSupervisorMsg
    );
    tell!(
        /// Tells an executor.
        executor, Executor, ToolExecutorMsg
    );

    /// Tells the session.
    pub fn session(&self, message: SessionMsg) -> bool {
        match self.table.get(&ActorPath::session()).map(|address| address.value().clone()) {
            Some(Address::Session(actor)) => actor.cast(message).is_ok(),
            _ => false,
        }
    }

    /// Tells the scheduler.
    pub fn scheduler(&self, message: SchedulerMsg) -> bool {
        match self.table.get(&ActorPath::scheduler()).map(|address| address.value().clone()) {
            Some(Address::Scheduler(actor)) => actor.cast(message).is_ok(),
            _ => false,
        }
    }

    /// Tells the permission broker.
    pub fn broker(&self, message: PermissionBrokerMsg) -> bool {
        match self.table.get(&ActorPath::broker()).map(|address| address.value().clone()) {
            Some(Address::Broker(actor)) => actor.cast(message).is_ok(),
            _ => false,
        }
    }

    /// Tells the journal.
    pub fn journal(&self, message: JournalMsg) -> bool {
        match self.table.get(&journal()).map(|address| address.value().clone()) {
            Some(Address::Journal(actor)) => actor.cast(message).is_ok(),
            _ => false,
        }
    }

    /// Tells the event hub.
    pub fn events(&self, message: EventHubMsg) -> bool {
        match self.table.get(&event_hub()).map(|address| address.value().clone()) {
            Some(Address::EventHub(actor)) => actor.cast(message).is_ok(),
            _ => false,
        }
    }

    /// Hands committed records to the machine at `path`, if somebody stands there.
    pub fn committed(&self, path: &ActorPath, records: Vec<Arc<Record>>) {
        let there = self.table.get(path).map(|address| address.value().clone());
        // A machine that is not there subscribes when it is rebuilt, and finds the records in the journal.
        let _ = match there {
            Some(Address::Agent(actor)) => actor.cast(AgentMsg::Committed { records }).is_ok(),
            Some(Address::Session(actor)) => actor.cast(SessionMsg::Committed { records }).is_ok(),
            Some(Address::Scheduler(actor)) => actor.cast(SchedulerMsg::Committed { records }).is_ok(),
            Some(Address::Broker(actor)) => actor.cast(PermissionBrokerMsg::Committed { records }).is_ok(),
            _ => false,
        };
    }

    /// Hands the records that a machine has to fold first to whoever stands at `path`.
    pub fn history(&self, path: &ActorPath, records: Vec<Arc<Record>>) {
        let there = self.table.get(path).map(|address| address.value().clone());
        let _ = match there {
            Some(Address::Agent(actor)) => actor.cast(AgentMsg::History { records }).is_ok(),
            Some(Address::Session(actor)) => actor.cast(SessionMsg::History { records }).is_ok(),
            Some(Address::Scheduler(actor)) => actor.cast(SchedulerMsg::History { records }).is_ok(),
            Some(Address::Broker(actor)) => actor.cast(PermissionBrokerMsg::History { records }).is_ok(),
            _ => false,
        };
    }
}
