//! The journal: what it writes together, whom it tells in which order, and what it does when it cannot write.

use std::sync::Arc;

use maia_actors::address::{self, Address};
use maia_actors::agent::AgentMsg;
use maia_actors::env::SessionEnv;
use maia_actors::event_hub::EventHubMsg;
use maia_actors::failpoint::Failpoints;
use maia_actors::journal::{Journal, JournalArgs, JournalMsg};
use maia_actors::session::SessionMsg;
use maia_core::owners::owners;
use maia_journal::JournalFile;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::{ActorPath, NewRecord, Record};
use ractor::{Actor, ActorRef};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::store::{DiskControl, Mood, Seen, store};
use crate::support::{Watch, env, opened, seqs, sink, told};

/// A journal with a session and a hub beside it.
pub struct Fixture {
    pub env: Arc<SessionEnv>,
    pub journal: ActorRef<JournalMsg>,
    pub session: UnboundedReceiver<SessionMsg>,
    pub hub: UnboundedReceiver<EventHubMsg>,
    disk: DiskControl,
    seen: UnboundedReceiver<Seen>,
    failure: UnboundedReceiver<String>,
    /// What a follower from outside was told.
    committed: UnboundedReceiver<u64>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    async fn start() -> Self {
        Self::with(Failpoints::default()).await
    }

    pub async fn with(failpoints: Failpoints) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut env = env(dir.path(), failpoints).await;
        let (follower, committed) = unbounded_channel();
        let told = move |seq| {
            let _ = follower.send(seq); // A test that has ended does not listen.
        };
        Arc::get_mut(&mut env).expect("nobody has it yet").committed = Some(Box::new(told));
        let (store, disk, seen) = store(Vec::new());
        let (sender, failure) = unbounded_channel();
        let (watch, _) = Actor::spawn(None, Watch, sender).await.expect("it starts");
        let args = JournalArgs { env: env.clone(), journal: store, history: Vec::new() };
        let (journal, _) =
            Actor::spawn_linked(None, Journal, args, watch.get_cell()).await.expect("it starts");
        env.book.put(address::journal(), Address::Journal(journal.clone()));
        let (session, session_messages) = sink().await;
        env.book.put(ActorPath::session(), Address::Session(session));
        let (hub, hub_messages) = sink().await;
        env.book.put(address::event_hub(), Address::EventHub(hub));
        let (session, hub) = (session_messages, hub_messages);
        Self { env, journal, session, hub, disk, seen, failure, committed, _dir: dir }
    }

    /// Puts somebody at the path of an agent.
    async fn agent(&self, path: &ActorPath) -> UnboundedReceiver<AgentMsg> {
        let (agent, messages) = sink().await;
        self.env.book.put(path.clone(), Address::Agent(agent));
        messages
    }

    pub fn append(&self, records: Vec<NewRecord>) {
        assert!(self.env.book.journal(JournalMsg::Append { records }), "the journal is there");
    }

    fn subscribe(&self, path: &ActorPath) {
        assert!(self.env.book.journal(JournalMsg::Subscribe { path: path.clone() }), "the journal is there");
    }

    /// Returns when the actor has handled everything that it was told before.
    async fn handled(&mut self) {
        assert!(self.env.book.journal(JournalMsg::Room), "the journal is there");
        self.session_is_told("DiskRoom").await;
    }

    pub async fn session_is_told(&mut self, what: &str) {
        loop {
            match self.session.recv().await.expect("the session is told") {
                SessionMsg::DiskRoom if what == "DiskRoom" => return,
                SessionMsg::DiskFull if what == "DiskFull" => return,
                _ => {}
            }
        }
    }

    /// Returns the numbers of the next batch that the hub gets.
    pub async fn batch(&mut self) -> Vec<u64> {
        loop {
            if let EventHubMsg::Batch { records } = self.hub.recv().await.expect("the hub is told") {
                return seqs(&records);
            }
        }
    }

    async fn is_closed(&mut self) {
        while self.seen.recv().await.expect("the store tells when it is closed") != Seen::Closed {}
    }
}

enum Told {
    History(Vec<u64>),
    Committed(Vec<u64>),
}

async fn next(messages: &mut UnboundedReceiver<AgentMsg>) -> Told {
    loop {
        match messages.recv().await.expect("the agent is told") {
            AgentMsg::History { records } => return Told::History(seqs(&records)),
            AgentMsg::Committed { records } => return Told::Committed(seqs(&records)),
            #[allow(unreachable_patterns, reason = "an agent is told other things by others")]
            _ => {}
        }
    }
}

fn owned(records: &[Record], path: &ActorPath) -> Vec<u64> {
    records.iter().filter(|record| owners(record).include(path)).map(|record| record.seq).collect()
}

#[tokio::test]
async fn owners_and_the_hub_are_told_what_is_theirs() {
    let mut fixture = Fixture::start().await;
    let (main, child) = (ActorPath::main(), ActorPath::main().child("reader", 1));
    let (mut main_messages, mut child_messages) = (fixture.agent(&main).await, fixture.agent(&child).await);
    fixture.append(vec![told(&main, "a"), told(&child, "b"), opened(), told(&main, "c")]);
    assert_eq!(fixture.batch().await, [1, 2, 3, 4]);
    let Told::Committed(of_main) = next(&mut main_messages).await else { panic!("not asked for a history") };
    let Told::Committed(of_child) = next(&mut child_messages).await else {
        panic!("not asked for a history")
    };
    assert_eq!((of_main, of_child), (vec![1, 3, 4], vec![2, 3]));
    assert_eq!(fixture.committed.recv().await, Some(4), "who follows from outside");
}

#[tokio::test]
async fn a_history_holds_what_came_before_and_nothing_after() {
    let mut fixture = Fixture::start().await;
    let main = ActorPath::main();
    let mut messages = fixture.agent(&main).await;
    fixture.disk.mood(Mood::Held);
    fixture.append(vec![told(&main, "a")]);
    fixture.append(vec![told(&main, "b")]);
    fixture.subscribe(&main);
    fixture.append(vec![told(&main, "c")]);
    fixture.append(vec![told(&main, "d")]);
    fixture.handled().await;
    fixture.disk.mood(Mood::Well);
    let mut after = Vec::new();
    let mut before = Vec::new();
    let history = loop {
        match next(&mut messages).await {
            Told::Committed(seqs) => before.extend(seqs),
            Told::History(seqs) => break seqs,
        }
    };
    while after.len() < 2 {
        let Told::Committed(seqs) = next(&mut messages).await else { panic!("one history") };
        after.extend(seqs);
    }
    assert_eq!((before, history, after), (vec![1, 2], vec![1, 2], vec![3, 4]));
}

#[tokio::test]
async fn the_hub_is_given_everything() {
    let mut fixture = Fixture::start().await;
    fixture.append((0..300).map(|n| told(&ActorPath::new(format!("maia/x#{}", n % 7)), "a")).collect());
    fixture.subscribe(&address::event_hub());
    assert_eq!(fixture.batch().await.len(), 300);
    let Some(EventHubMsg::History { records }) = fixture.hub.recv().await else { panic!("a history") };
    assert_eq!(seqs(&records), (1..=300).collect::<Vec<_>>());
}

/// Many agents, told things by many at once, each asking for its history somewhere in the middle, some of them again by
/// another one at the same path.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_misses_or_gets_a_record_twice() {
    const AGENTS: usize = 40;
    const EACH: usize = 50;
    let fixture = Arc::new(Fixture::start().await);
    let paths: Vec<_> = (1..=AGENTS as u32).map(|n| ActorPath::main().child("reader", n)).collect();
    let producers: Vec<_> = (0..8)
        .map(|producer| {
            let (fixture, paths) = (fixture.clone(), paths.clone());
            tokio::spawn(async move {
                for round in 0..EACH {
                    for path in paths.iter().skip(producer % 3) {
                        fixture.append(vec![told(path, "a"), told(path, "b")]);
                    }
                    if producer == 0 && round % 10 == 5 {
                        fixture.append(vec![opened()]);
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let machines: Vec<_> = paths
        .iter()
        .cloned()
        .enumerate()
        .map(|(n, path)| {
            let fixture = fixture.clone();
            tokio::spawn(async move {
                for _ in 0..n % 20 {
                    tokio::task::yield_now().await;
                }
                let mut messages = fixture.agent(&path).await;
                fixture.subscribe(&path);
                if n.is_multiple_of(2) {
                    // It is rebuilt at once: another one stands there, and asks too.
                    messages = fixture.agent(&path).await;
                    fixture.subscribe(&path);
                }
                (path, messages)
            })
        })
        .collect();
    let mut started = Vec::new();
    for machine in machines {
        started.push(machine.await.expect("no panic"));
    }
    for producer in producers {
        producer.await.expect("no panic");
    }
    // The last record of everybody.
    fixture.append(vec![opened()]);
    let total = (0..8).map(|n| 2 * EACH * (AGENTS - n % 3)).sum::<usize>() + EACH / 10 + 1;
    for (path, mut messages) in started {
        let mut folded: Vec<u64> = Vec::new();
        let mut begun = false;
        while folded.last() != Some(&(total as u64)) {
            match next(&mut messages).await {
                Told::History(seqs) if !begun => (begun, folded) = (true, seqs),
                Told::Committed(seqs) if begun => folded.extend(seqs),
                Told::History(_) | Told::Committed(_) => {}
            }
        }
        assert_eq!(folded, owned(&fixture.disk.records(), &path), "{path}");
    }
}

#[tokio::test]
async fn what_waits_is_one_sync() {
    let mut fixture = Fixture::start().await;
    let main = ActorPath::main();
    fixture.disk.mood(Mood::Held);
    fixture.append(vec![told(&main, "first")]);
    assert_eq!(fixture.seen.recv().await, Some(Seen::Append(1)));
    for _ in 0..99 {
        fixture.append(vec![told(&main, "a"), told(&main, "b")]);
    }
    fixture.handled().await;
    fixture.disk.mood(Mood::Well);
    assert_eq!(fixture.batch().await, [1]);
    assert_eq!(fixture.batch().await, (2..=199).collect::<Vec<_>>());
    assert_eq!(fixture.disk.syncs(), 2);
}

#[tokio::test]
async fn a_full_disk_is_waited_for() {
    let mut fixture = Fixture::start().await;
    let main = ActorPath::main();
    let mut messages = fixture.agent(&main).await;
    fixture.disk.mood(Mood::Full);
    fixture.append(vec![told(&main, "a")]);
    fixture.session_is_told("DiskFull").await;
    assert_eq!(fixture.seen.recv().await, Some(Seen::Append(1)));
    fixture.subscribe(&main);
    fixture.append(vec![told(&main, "b")]);
    fixture.env.book.journal(JournalMsg::Retry);
    assert_eq!(fixture.seen.recv().await, Some(Seen::Append(1)), "a key tries again");
    fixture.disk.mood(Mood::Well);
    fixture.env.book.journal(JournalMsg::Retry);
    fixture.session_is_told("DiskRoom").await;

    let Some(EventHubMsg::Live { body: EventBody::Notice(warning), .. }) = fixture.hub.recv().await else {
        panic!("the first thing that is shown is the warning")
    };
    let NoticeEvent::Warning { message, mend: Some(mend) } = warning else { panic!("a warning with a mend") };
    assert!(message.contains("the disk is full"), "{message}");
    assert!(mend.contains("free room"), "{mend}");
    // Said once: what follows are records.
    assert_eq!(fixture.batch().await, [1]);
    assert_eq!(fixture.batch().await, [2]);
    assert!(matches!(next(&mut messages).await, Told::Committed(seqs) if seqs == [1]));
    assert!(
        matches!(next(&mut messages).await, Told::History(seqs) if seqs == [1]),
        "asked before the second"
    );
    assert!(matches!(next(&mut messages).await, Told::Committed(seqs) if seqs == [2]));
}

#[tokio::test]
async fn what_was_appended_before_a_kill_is_written() {
    let mut fixture = Fixture::start().await;
    fixture.disk.mood(Mood::Held);
    for _ in 0..10 {
        fixture.append(vec![told(&ActorPath::main(), "a"), told(&ActorPath::main(), "b")]);
    }
    fixture.handled().await;
    fixture.journal.kill();
    fixture.disk.mood(Mood::Well);
    fixture.is_closed().await;
    assert_eq!(fixture.disk.records().len(), 20);
}

#[tokio::test]
async fn a_stop_with_a_full_disk_ends() {
    let mut fixture = Fixture::start().await;
    fixture.disk.mood(Mood::Full);
    fixture.append(vec![told(&ActorPath::main(), "a")]);
    fixture.session_is_told("DiskFull").await;
    fixture.append(vec![told(&ActorPath::main(), "b")]);
    fixture.journal.stop_and_wait(None, None).await.expect("it stops");
    fixture.is_closed().await;
    assert_eq!(fixture.disk.records(), []);
}

#[tokio::test]
async fn a_stopped_journal_can_be_opened_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let env = env(dir.path(), Failpoints::default()).await;
    for round in 0..3_u64 {
        let opened = JournalFile::open(dir.path()).expect("the one before has closed it");
        assert_eq!(opened.records.len() as u64, 100 * round);
        let (journal, history) = (Box::new(opened.journal), opened.records);
        let args = JournalArgs { env: env.clone(), journal, history };
        let (journal, _) = Actor::spawn(None, Journal, args).await.expect("it starts");
        env.book.put(address::journal(), Address::Journal(journal.clone()));
        for n in 0..100 {
            env.book.journal(JournalMsg::Append { records: vec![told(&ActorPath::main(), n.to_string())] });
        }
        journal.drain_and_wait(None).await.expect("it stops");
    }
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_fails() {
    for mood in [Mood::Failing, Mood::Panicking] {
        let mut fixture = Fixture::start().await;
        fixture.disk.mood(mood);
        fixture.append(vec![told(&ActorPath::main(), "a")]);
        let failure = fixture.failure.recv().await.expect("the supervisor is told");
        assert!(failure.starts_with("the journal cannot be written: "), "{failure}");
        fixture.is_closed().await;
    }
}
