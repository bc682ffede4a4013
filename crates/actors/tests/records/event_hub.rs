//! The event hub: snapshots that join the stream without a gap, subscribers that are too slow, and a restart.

use std::sync::Arc;

use maia_actors::address::{self, Address};
use maia_actors::env::SessionEnv;
use maia_actors::event_hub::{EventHub, EventHubArgs, EventHubMsg, Subscriber, Subscribers};
use maia_actors::failpoint::Failpoints;
use maia_actors::journal::JournalMsg;
use maia_protocol::event::{EventBody, NoticeEvent, TalkEvent};
use maia_protocol::outcome::EndReason;
use maia_protocol::{ActorPath, Body, Event, NewRecord, Record, Totals};
use ractor::{Actor, ActorRef};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, channel};

use crate::support::{committed, env, opened, sink, told};

struct Fixture {
    env: Arc<SessionEnv>,
    hub: ActorRef<EventHubMsg>,
    subscribers: Arc<Subscribers>,
    journal: UnboundedReceiver<JournalMsg>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    async fn start(history: Vec<Record>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let env = env(dir.path(), Failpoints::default()).await;
        let (journal, messages) = sink().await;
        env.book.put(address::journal(), Address::Journal(journal));
        let subscribers = Arc::new(Subscribers::default());
        let hub = start(&env, &subscribers, history).await;
        Self { env, hub, subscribers, journal: messages, _dir: dir }
    }

    fn tell(&self, message: EventHubMsg) {
        assert!(self.env.book.events(message), "the hub is there");
    }

    fn batch(&self, records: impl IntoIterator<Item = Record>) {
        self.tell(EventHubMsg::Batch { records: records.into_iter().map(Arc::new).collect() });
    }

    fn subscribe(&self, capacity: usize, snapshot: bool) -> Receiver<Arc<Event>> {
        let (sender, receiver) = channel(capacity);
        self.tell(EventHubMsg::Subscribe { subscriber: Subscriber { sender, snapshot } });
        receiver
    }

    fn delta(&self) {
        let body = EventBody::Talk(TalkEvent::TextDelta { text: "…".to_owned() });
        self.tell(EventHubMsg::Live { actor: ActorPath::main(), body });
    }

    /// Kills the hub and starts another one; returns when it has asked the journal.
    async fn restart(&mut self) {
        self.hub.kill_and_wait(None).await.expect("it dies");
        self.hub = start(&self.env, &self.subscribers, Vec::new()).await;
        let Some(JournalMsg::Subscribe { path }) = self.journal.recv().await else {
            panic!("it asks for its records")
        };
        assert_eq!(path, address::event_hub());
    }
}

async fn start(
    env: &Arc<SessionEnv>,
    subscribers: &Arc<Subscribers>,
    history: Vec<Record>,
) -> ActorRef<EventHubMsg> {
    let args = EventHubArgs { env: env.clone(), history, subscribers: subscribers.clone() };
    Actor::spawn(None, EventHub, args).await.expect("it starts").0
}

/// Returns record 1, which opens the session, and messages for the main agent up to record `last`.
fn records(last: u64) -> Vec<Record> {
    (1..=last)
        .map(|seq| committed(seq, if seq == 1 { opened() } else { told(&ActorPath::main(), "a") }))
        .collect()
}

fn closed(seq: u64) -> Record {
    let (reason, result) = (EndReason::Done, String::new());
    let body = Body::SessionClosed { reason, result, totals: Totals::default(), main: Totals::default() };
    committed(seq, NewRecord::new(ActorPath::main(), body))
}

/// Returns an event in short: its type and number; for a gap also its bounds, for a snapshot its agents.
fn short(event: &Event) -> String {
    let json = serde_json::to_value(event).expect("plain data");
    let kind = json["type"].as_str().expect("every event has a type").to_owned();
    match &event.body {
        EventBody::Notice(NoticeEvent::Gap { from, to }) => format!("{kind} {from}..{to}"),
        EventBody::Notice(NoticeEvent::Snapshot { agents, .. }) => {
            assert!(event.live, "no record is behind it");
            let agents: Vec<_> = agents.iter().map(|agent| agent.actor.as_str()).collect();
            format!("{kind} {} [{}]", event.seq, agents.join(" "))
        }
        _ => format!("{kind} {}", event.seq),
    }
}

async fn take(receiver: &mut Receiver<Arc<Event>>, count: usize) -> Vec<String> {
    let mut events = Vec::new();
    while events.len() < count {
        events.push(short(&receiver.recv().await.expect("the hub is there")));
    }
    events
}

/// Reads until `last` has come.
async fn until(receiver: &mut Receiver<Arc<Event>>, last: &str) -> Vec<String> {
    let mut events = take(receiver, 1).await;
    while events.last().is_some_and(|event| event != last) {
        events.extend(take(receiver, 1).await);
    }
    events
}

#[tokio::test]
async fn a_snapshot_joins_the_stream() {
    let fixture = Fixture::start(Vec::new()).await;
    let mut first = fixture.subscribe(64, false);
    fixture.batch(records(3));
    let mut second = fixture.subscribe(64, true);
    fixture.batch([committed(4, told(&ActorPath::main(), "a"))]);
    fixture.delta();
    let all = ["session_started 1", "agent_spawned 1", "message_received 2", "message_received 3"];
    assert_eq!(take(&mut first, 6).await, [&all[..], &["message_received 4", "text_delta 4"]].concat());
    assert_eq!(take(&mut second, 3).await, ["snapshot 3 [maia]", "message_received 4", "text_delta 4"]);
}

#[tokio::test]
async fn a_resumed_session_begins_with_its_history() {
    let fixture = Fixture::start(records(5)).await;
    let mut viewer = fixture.subscribe(8, true);
    let mut lines = fixture.subscribe(8, false);
    fixture.batch([committed(6, told(&ActorPath::main(), "a"))]);
    assert_eq!(take(&mut viewer, 2).await, ["snapshot 5 [maia]", "message_received 6"]);
    assert_eq!(take(&mut lines, 1).await, ["message_received 6"]);
}

#[tokio::test]
async fn a_slow_one_stalls_nobody_and_is_caught_up() {
    let fixture = Fixture::start(Vec::new()).await;
    let (mut slow, mut fast) = (fixture.subscribe(4, false), fixture.subscribe(2000, false));
    fixture.batch(records(1000));
    assert_eq!(until(&mut fast, "message_received 1000").await.len(), 1001);
    // It reads at last; nothing else happens that could wake the hub.
    let first = ["session_started 1", "agent_spawned 1", "message_received 2", "message_received 3"];
    assert_eq!(take(&mut slow, 4).await, first);
    assert_eq!(take(&mut slow, 2).await, ["gap 4..1000", "snapshot 1000 [maia]"]);
    fixture.batch([committed(1001, told(&ActorPath::main(), "a"))]);
    assert_eq!(take(&mut slow, 1).await, ["message_received 1001"]);
    // And once more.
    fixture.batch((1002..=1010).map(|seq| committed(seq, told(&ActorPath::main(), "a"))));
    assert_eq!(until(&mut fast, "message_received 1010").await.len(), 10);
    assert_eq!(
        until(&mut slow, "snapshot 1010 [maia]").await[4..],
        ["gap 1006..1010", "snapshot 1010 [maia]"]
    );
}

#[tokio::test]
async fn a_record_of_which_a_part_was_left_out_is_in_the_gap() {
    let fixture = Fixture::start(Vec::new()).await;
    let mut slow = fixture.subscribe(4, false);
    let mut all = fixture.subscribe(64, false);
    fixture.batch(records(2));
    fixture.batch([closed(3), committed(4, opened())]);
    assert_eq!(take(&mut all, 7).await.len(), 7);
    let expected = ["session_started 1", "agent_spawned 1", "message_received 2", "agent_finished 3"];
    assert_eq!(take(&mut slow, 4).await, expected);
    let caught_up = take(&mut slow, 3).await;
    assert_eq!(caught_up, ["gap 3..4", "snapshot 4 [maia]", "session_ended 3"]);
}

#[tokio::test]
async fn the_end_of_a_session_is_never_left_out() {
    let fixture = Fixture::start(Vec::new()).await;
    let (mut slow, mut fast) = (fixture.subscribe(4, false), fixture.subscribe(64, false));
    fixture.batch(records(10));
    fixture.batch([closed(11)]);
    until(&mut fast, "session_ended 11").await;
    let end = until(&mut slow, "session_ended 11").await;
    assert_eq!(end[4..], ["gap 4..11", "snapshot 11 []", "session_ended 11"]);
}

#[tokio::test]
async fn nothing_follows_the_end_of_a_session() {
    let fixture = Fixture::start(Vec::new()).await;
    let mut all = fixture.subscribe(64, false);
    fixture.batch(records(1));
    fixture.batch([closed(2)]);
    fixture.delta();
    fixture.batch([committed(3, opened())]);
    fixture.delta();
    let told = until(&mut all, "text_delta 3").await;
    let end = told.iter().position(|event| event == "session_ended 2").expect("it has ended");
    assert_eq!(told[end + 1], "session_started 3", "{told:?}");
}

#[tokio::test]
async fn pieces_of_text_are_dropped_first() {
    let fixture = Fixture::start(Vec::new()).await;
    let (mut slow, mut fast) = (fixture.subscribe(8, false), fixture.subscribe(64, false));
    fixture.batch(records(1));
    for _ in 0..20 {
        fixture.delta();
    }
    fixture.batch([committed(2, told(&ActorPath::main(), "a"))]);
    until(&mut fast, "message_received 2").await;
    let seen = until(&mut slow, "message_received 2").await;
    let pieces = seen.iter().filter(|event| *event == "text_delta 1").count();
    assert_eq!((pieces, seen.len()), (3, 6), "half of the queue, and no gap");
}

#[tokio::test]
async fn a_restart_gives_everybody_a_gap_and_a_snapshot() {
    let mut fixture = Fixture::start(Vec::new()).await;
    let (mut viewer, mut lines) = (fixture.subscribe(16, true), fixture.subscribe(16, false));
    fixture.batch(records(3));
    assert_eq!(take(&mut viewer, 1).await, ["snapshot 0 []"]);
    until(&mut viewer, "message_received 3").await;
    until(&mut lines, "message_received 3").await;
    fixture.restart().await;
    // Record 4 was lost with the hub, 5 reaches the new one before its history, which holds it, and 6 after it.
    fixture.batch([committed(5, told(&ActorPath::main(), "a"))]);
    let mut late = fixture.subscribe(16, true);
    fixture.tell(EventHubMsg::History { records: records(5).into_iter().map(Arc::new).collect() });
    fixture.batch([committed(6, told(&ActorPath::main(), "a"))]);
    for receiver in [&mut viewer, &mut lines] {
        assert_eq!(take(receiver, 3).await, ["gap 4..5", "snapshot 5 [maia]", "message_received 6"]);
    }
    assert_eq!(take(&mut late, 2).await, ["snapshot 5 [maia]", "message_received 6"]);
}

#[tokio::test]
async fn a_restart_in_a_quiet_moment_is_told_too() {
    let mut fixture = Fixture::start(Vec::new()).await;
    let (mut slow, mut lines) = (fixture.subscribe(4, false), fixture.subscribe(16, false));
    fixture.batch(records(4));
    until(&mut lines, "message_received 4").await;
    fixture.restart().await;
    fixture.tell(EventHubMsg::History { records: records(4).into_iter().map(Arc::new).collect() });
    assert_eq!(take(&mut lines, 2).await, ["gap 4..4", "snapshot 4 [maia]"], "live events may be lost");
    // What it was owed by the hub before is paid by this one.
    assert_eq!(until(&mut slow, "snapshot 4 [maia]").await[4..], ["gap 4..4", "snapshot 4 [maia]"]);
}

#[tokio::test]
async fn a_queue_that_could_never_be_caught_up_is_not_taken() {
    let fixture = Fixture::start(Vec::new()).await;
    assert!(fixture.subscribe(3, true).recv().await.is_none());
}
