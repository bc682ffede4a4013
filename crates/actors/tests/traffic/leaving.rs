//! Session: who leaves before the disk has written, and who asks when the main agent has failed for good.
//!
//! The disk is the test's: nothing is durable before it says so.

use std::sync::Arc;
use std::time::Duration;

use maia_actors::address::supervisor_of;
use maia_actors::agent::AgentMsg;
use maia_actors::agent_supervisor::AgentSupervisorMsg;
use maia_actors::root::RootMsg;
use maia_actors::session::{Session, SessionArgs, SessionMsg};
use maia_core::owners::owners;
use maia_core::turn::Input;
use maia_protocol::definition::Origin;
use maia_protocol::model::{FailureKind, ModelFailure};
use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::record::{ChildFinished, Delegated};
use maia_protocol::snapshot::{KnownAgent, RuleSource};
use maia_protocol::{ActorPath, Body, CallId, NewRecord, Op, Record, RuleSet, Snapshot};
use ractor::{Actor, ActorRef};

use crate::fakes::{self, Options, Told, deaf};

/// A session with a disk that writes when the test lets it.
struct Scene {
    session: fakes::Session,
    actor: ActorRef<SessionMsg>,
    /// What is durable.
    records: Vec<Arc<Record>>,
    /// For whom a model was asked.
    asked: Vec<ActorPath>,
}

impl Scene {
    async fn start(leaving: bool, rebuilt: bool) -> Self {
        let session = fakes::Session::open(Options::default()).await;
        session.gateway().await;
        let args = SessionArgs {
            env: session.env.clone(),
            root: deaf::<RootMsg>().await,
            history: Arc::default(),
            one_turn: leaving,
            rebuilt,
            shown: rebuilt,
            interrupted: false,
            leaving,
        };
        let actor = Actor::spawn(None, Session, args).await.expect("it starts").0;
        let address = maia_actors::address::Address::Session(actor.clone());
        session.env.book.put(ActorPath::session(), address);
        Self { session, actor, records: Vec::new(), asked: Vec::new() }
    }

    fn tell(&self, message: SessionMsg) {
        self.actor.cast(message).expect("it runs");
    }

    /// Writes these, and tells their owners.
    fn write(&mut self, new: Vec<NewRecord>) {
        for new in new {
            let (seq, time) = (self.records.len() as u64 + 1, jiff::Timestamp::UNIX_EPOCH);
            self.records.push(Arc::new(Record { seq, time, actor: new.actor, body: new.body }));
        }
    }

    /// Tells everybody of the records from the `from`-th on.
    fn deliver(&self, from: usize) {
        let new = self.records.get(from..).unwrap_or_default();
        let paths = ["maia", "maia/a#1", "maia/a#2", "@session", "@scheduler"];
        for path in paths.map(ActorPath::new) {
            let own: Vec<_> = new.iter().filter(|record| owners(record).include(&path)).cloned().collect();
            if !own.is_empty() {
                self.session.env.book.committed(&path, own);
            }
        }
    }

    fn commit(&mut self, new: Vec<NewRecord>) {
        let from = self.records.len();
        self.write(new);
        self.deliver(from);
    }

    /// Works as a disk does until nobody has anything more to do, or `wanted` has started.
    async fn work(&mut self, wanted: Option<&ActorPath>) -> bool {
        // The clock stands as long as anybody has something to do.
        while let Ok(told) = tokio::time::timeout(Duration::from_secs(3_600), self.session.next()).await {
            match told {
                Told::Append(records) => self.commit(records),
                Told::Subscribe(path) => {
                    let own = self.records.iter().filter(|record| owners(record).include(&path));
                    self.session.env.book.history(&path, own.cloned().collect());
                    if Some(&path) == wanted {
                        return true;
                    }
                }
                Told::Asked(key) => self.asked.push(key.agent),
                Told::BrokenOff(key) => {
                    let failure = ModelFailure {
                        kind: FailureKind::Cancelled,
                        status: None,
                        message: "stopped".to_owned(),
                        transient: false,
                        retry_after_ms: None,
                        text: String::new(),
                    };
                    let failed = Input::Failed { step: key.step, attempt: key.attempt, failure };
                    self.session.env.book.agent(&key.agent, AgentMsg::Input(failed));
                }
                _ => {}
            }
        }
        false
    }

    fn kinds(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.body.kind()).collect()
    }
}

fn of_main(body: Body) -> NewRecord {
    NewRecord::new(ActorPath::main(), body)
}

fn opening() -> NewRecord {
    of_main(fakes::opened())
}

fn request() -> NewRecord {
    of_main(Body::UserMessage { turn: 1, text: "the request".to_owned() })
}

const STOPPED: [&str; 5] =
    ["session_opened", "user_message", "cancel_asked", "turn_finished", "session_closed"];

#[tokio::test(start_paused = true)]
async fn a_request_that_was_not_durable_when_the_person_left_asks_no_model() {
    let mut scene = Scene::start(false, false).await;
    scene.tell(SessionMsg::Go);
    scene.tell(SessionMsg::Leave);
    assert!(!scene.work(None).await);
    assert_eq!(scene.kinds(), [""; 0], "nothing ends before the opening is durable");
    scene.commit(vec![opening(), request()]);
    scene.work(None).await;
    assert_eq!(scene.kinds(), STOPPED);
}

#[tokio::test(start_paused = true)]
async fn a_turn_from_before_is_stopped_when_the_person_left_before_it_went_on() {
    let mut scene = Scene::start(false, false).await;
    let asked = of_main(Body::ModelAsked { step: 1, attempt: 1, closing: false });
    scene.tell(SessionMsg::Leave);
    scene.tell(SessionMsg::Go);
    scene.commit(vec![opening(), request(), asked]);
    scene.work(None).await;
    assert_eq!(scene.asked, []);
    assert_eq!(scene.kinds().last(), Some(&"session_closed"), "{:?}", scene.kinds());
}

#[tokio::test(start_paused = true)]
async fn without_a_request_the_session_closes_when_its_opening_is_durable() {
    let mut scene = Scene::start(false, false).await;
    scene.tell(SessionMsg::Go);
    scene.tell(SessionMsg::Leave);
    scene.commit(vec![opening()]);
    scene.work(None).await;
    assert_eq!(scene.kinds(), ["session_opened", "session_closed"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_before_leaving_is_kept_and_stopped() {
    let mut scene = Scene::start(false, false).await;
    scene.tell(SessionMsg::Go);
    scene.tell(SessionMsg::Op(Op::Ask { text: "the request".to_owned() }));
    scene.tell(SessionMsg::Leave);
    scene.commit(vec![opening()]);
    scene.work(None).await;
    assert_eq!(scene.kinds(), STOPPED);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_rebuilt_knows_that_the_person_has_left() {
    let mut scene = Scene::start(true, true).await;
    scene.write(vec![opening(), request()]);
    scene.session.env.book.history(&ActorPath::session(), scene.records.clone());
    scene.work(None).await;
    assert_eq!(scene.kinds(), STOPPED);
}

/// A session at rest whose main agent has failed for good, with an agent of the person that has ended.
async fn failed_main() -> Scene {
    let mut scene = Scene::start(false, false).await;
    let child = ActorPath::new("maia/a#1");
    let call = CallId::new(&ActorPath::main(), 0, 1);
    let delegated = Delegated {
        call: call.clone(),
        definition: "a".to_owned(),
        definition_hash: String::new(),
        task: "t".to_owned(),
        model: "m".to_owned(),
        iterations: 1,
        tools: Vec::new(),
        rules: RuleSet::default(),
        snapshot: 1,
    };
    let finished = ChildFinished {
        call,
        outcome: Outcome::Done,
        cause: None,
        summary: String::new(),
        totals: Totals::default(),
        subtree: Totals::default(),
    };
    scene.tell(SessionMsg::Go);
    scene.commit(vec![
        opening(),
        NewRecord::new(child.clone(), Body::Delegated(Box::new(delegated))),
        NewRecord::new(child, Body::ChildFinished(Box::new(finished))),
    ]);
    scene.work(None).await;
    let main = supervisor_of(&ActorPath::main());
    let failed = AgentSupervisorMsg::FoldFailed { cause: "a test".to_owned() };
    assert!(scene.session.env.book.supervisor(&main, failed));
    assert!(!scene.work(Some(&ActorPath::main())).await);
    assert!(!scene.session.env.book.has(&ActorPath::main()), "nobody works there");
    scene
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_asked_again_when_the_main_agent_has_failed_for_good() {
    let mut scene = failed_main().await;
    let actor = ActorPath::new("maia/a#1");
    scene.tell(SessionMsg::Op(Op::AskAgain { actor: actor.clone(), text: "more".to_owned() }));
    assert!(scene.work(Some(&actor)).await, "it is at work");
    scene.tell(SessionMsg::Leave);
    scene.work(None).await;
    assert_eq!(scene.kinds().last(), Some(&"session_closed"), "{:?}", scene.kinds());
}

/// What agents are to know: one agent, and a rule.
fn snapshot(rule: &str) -> Snapshot {
    let text = include_bytes!("../../../../agents/explorer/AGENT.md");
    let mut definition = maia_core::agent_file::parse("explorer", text).definition.expect("it is valid");
    definition.name = "a".to_owned();
    let agents = vec![KnownAgent { definition, origin: Origin::User, hash: String::new() }];
    let rules = RuleSet { deny: vec![rule.to_owned()], ..RuleSet::default() };
    let rules = vec![RuleSource { source: "a test".to_owned(), rules }];
    Snapshot { agents, rules, ..Snapshot::default() }
}

fn spawn() -> SessionMsg {
    SessionMsg::Op(Op::Spawn { agent: "a".to_owned(), task: "look".to_owned() })
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_started_when_the_main_agent_has_failed_for_good() {
    let mut scene = failed_main().await;
    scene.commit(vec![of_main(Body::SnapshotTaken(Box::new(snapshot("Read(a)"))))]);
    scene.tell(spawn());
    assert!(scene.work(Some(&ActorPath::new("maia/a#2"))).await, "{:?}", scene.kinds());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_on_its_way_when_the_person_leaves_ends_before_the_session() {
    let mut scene = Scene::start(false, false).await;
    scene.tell(SessionMsg::Go);
    scene.commit(vec![opening(), of_main(Body::SnapshotTaken(Box::new(snapshot("Read(a)"))))]);
    scene.work(None).await;
    scene.tell(spawn());
    scene.tell(SessionMsg::Leave);
    scene.work(None).await;
    let kinds = scene.kinds();
    let place = |wanted: &str| kinds.iter().position(|kind| *kind == wanted);
    assert!(place("delegated").is_some(), "{kinds:?}");
    assert!(place("delegated") < place("child_finished"), "{kinds:?}");
    assert_eq!(place("session_closed"), Some(kinds.len() - 1), "{kinds:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_lost_with_a_worker_keeps_nobody_from_leaving() {
    let mut scene = Scene::start(false, false).await;
    scene.tell(SessionMsg::Go);
    scene.commit(vec![opening(), of_main(Body::SnapshotTaken(Box::new(snapshot("Read(a)"))))]);
    scene.work(None).await;
    // The worker is gone with what it is told next.
    scene.session.env.book.remove(&ActorPath::main());
    scene.tell(spawn());
    scene.tell(SessionMsg::Leave);
    scene.work(None).await;
    assert_eq!(scene.kinds(), ["session_opened", "snapshot_taken"], "it may still come");
    scene.tell(SessionMsg::MainRebuilt);
    scene.work(None).await;
    assert_eq!(scene.kinds().last(), Some(&"session_closed"));
}

#[tokio::test(start_paused = true)]
async fn rules_that_were_read_afresh_hold_when_they_are_durable() {
    let mut scene = Scene::start(false, false).await;
    scene.tell(SessionMsg::Go);
    scene.commit(vec![opening(), of_main(Body::SnapshotTaken(Box::new(snapshot("Read(a)"))))]);
    scene.work(None).await;
    scene.tell(SessionMsg::Clear { fresh: Box::new(snapshot("Read(b)")) });
    let revision = |scene: &Scene| scene.session.env.rules.load().revision;
    let records = scene.session.find(|told| match told {
        Told::Append(records) => Some(records),
        _ => None,
    });
    let records = records.await;
    assert_eq!(revision(&scene), 0, "the disk has not written them");
    scene.commit(records);
    scene.work(None).await;
    assert_eq!(revision(&scene), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_main_agent_is_told_after_it_failed_for_good_is_recorded() {
    let mut scene = failed_main().await;
    scene.tell(SessionMsg::Op(Op::Tell { actor: ActorPath::main(), text: "look".to_owned() }));
    scene.work(None).await;
    assert_eq!(scene.kinds().last(), Some(&"told"));
}
