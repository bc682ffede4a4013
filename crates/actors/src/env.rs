//! What every actor of a session is given: the table of addresses and what does not change while it is open.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use arc_swap::ArcSwap;
use dashmap::DashMap;
use maia_core::permission::{Place, Rules};
use maia_core::turn::Limits;
use maia_protocol::permission::Sandbox;
use maia_protocol::{ActorPath, Mode, Seq, Snapshot};
use maia_tools::Workspace;
use ractor::ActorRef;

use crate::address::AddressBook;
use crate::event_hub::EventHubMsg;
use crate::failpoint::Failpoints;
use crate::lock_table::LockTableMsg;
use crate::model_gateway::ModelGatewayMsg;
use crate::reaper::ReaperMsg;

/// References to the process's own actors, which outlive every session. Replaced when one is restarted.
pub struct ProcessRefs {
    /// The gateway to the endpoint.
    pub gateway: ArcSwap<ActorRef<ModelGatewayMsg>>,
    /// The locks of files.
    pub locks: ArcSwap<ActorRef<LockTableMsg>>,
    /// The table of process groups.
    pub reaper: ArcSwap<ActorRef<ReaperMsg>>,
}

/// Rules of the person and grants in scope, with the number of their last change (SAFETY 3).
pub struct RulesInForce {
    /// Counts changes; recorded with rulings.
    pub revision: u64,
    /// The rules.
    pub rules: Rules,
}

/// Is told the number of the last record after each commit.
pub type Committed = Box<dyn Fn(Seq) + Send + Sync>;

/// What a session's actors share. Not state: state is folded from the journal.
pub struct SessionEnv {
    /// The session's random id.
    pub session: String,
    /// Who stands where.
    pub book: AddressBook,
    /// The process's own actors.
    pub process: Arc<ProcessRefs>,
    /// Folder, home and environment of tools.
    pub workspace: Arc<Workspace>,
    /// Where verdicts look.
    pub place: Place,
    /// Rules of the moment, published by the broker.
    pub rules: ArcSwap<RulesInForce>,
    /// Mode of the moment: that of this opening, until a person changes it.
    pub mode: ArcSwap<Mode>,
    /// Sandbox of this opening.
    pub sandbox: Sandbox,
    /// Limits of the tree.
    pub limits: Limits,
    /// Agents at work at once (ENGINE 6).
    pub max_parallel_agents: usize,
    /// Agents that models have spawned so far.
    pub spawned: AtomicU32,
    /// Snapshots by number.
    pub snapshots: DashMap<Seq, Arc<Snapshot>>,
    /// Who last wrote a file in this opening: named when another agent's knowledge of it is out of date (ENGINE 5).
    pub writers: DashMap<PathBuf, ActorPath>,
    /// Output limit of requests, from the settings.
    pub max_output_tokens: Option<u64>,
    /// Whether nobody can answer questions.
    pub headless: AtomicBool,
    /// Folder of the session, for messages.
    pub dir: PathBuf,
    /// Who follows the journal from outside; must not wait.
    pub committed: Option<Committed>,
    /// Faults to inject, in builds for tests.
    pub failpoints: Failpoints,
}

impl SessionEnv {
    /// Sends an event without a record.
    pub fn live(&self, actor: &ActorPath, body: maia_protocol::event::EventBody) {
        self.book.events(EventHubMsg::Live { actor: actor.clone(), body });
    }

    /// Tells whether the allow rules of a definition count: only those of one that is known now, byte for byte (ENGINE 7).
    pub fn allow_counts(&self, definition: &str, hash: &str) -> bool {
        self.latest_snapshot().agent(definition).is_some_and(|known| known.hash == hash)
    }

    /// Keeps the snapshot of record `seq`, for whoever sees that record first.
    pub fn keep_snapshot(&self, seq: Seq, snapshot: &Snapshot) {
        self.snapshots.entry(seq).or_insert_with(|| Arc::new(snapshot.clone()));
    }

    /// Returns the snapshot that agents are spawned from now.
    pub fn latest_snapshot(&self) -> Arc<Snapshot> {
        let latest = self.snapshots.iter().max_by_key(|entry| *entry.key());
        latest.map(|entry| entry.value().clone()).unwrap_or_default()
    }

    /// Returns the snapshot in force for an agent that was spawned with number `seq`.
    pub fn snapshot(&self, seq: Seq) -> Arc<Snapshot> {
        self.snapshots.get(&seq).map(|snapshot| snapshot.value().clone()).unwrap_or_default()
    }
}
