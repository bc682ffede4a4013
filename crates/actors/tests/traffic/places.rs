//! Scheduler.

use maia_actors::scheduler::{Scheduler, SchedulerArgs, SchedulerMsg};
use maia_protocol::event::{AgentEvent, EventBody};
use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::record::ChildFinished;
use maia_protocol::{ActorPath, Body, CallId};
use ractor::{Actor, ActorRef};

use crate::fakes::{Options, Session, Told, record};

fn path(n: u32) -> ActorPath {
    ActorPath::main().child("a", n)
}

fn place(n: u32) -> Told {
    Told::Place(path(n))
}

fn queued(n: u32, position: u32) -> Told {
    Told::Event(path(n), EventBody::Agent(AgentEvent::AgentQueued { position }))
}

async fn ground(places: usize, agents: u32) -> (Session, ActorRef<SchedulerMsg>) {
    let session = Session::open(Options { places, ..Options::default() }).await;
    session.agent(&ActorPath::main()).await;
    for n in 1..=agents {
        session.agent(&path(n)).await;
    }
    let args = SchedulerArgs { env: session.env.clone() };
    let (scheduler, _) = Actor::spawn(None, Scheduler, args).await.expect("it starts");
    (session, scheduler)
}

fn want(scheduler: &ActorRef<SchedulerMsg>, n: u32, held: bool) {
    scheduler.cast(SchedulerMsg::Want { agent: path(n), held }).expect("it runs");
}

fn give_back(scheduler: &ActorRef<SchedulerMsg>, n: u32) {
    scheduler.cast(SchedulerMsg::GiveBack { agent: path(n) }).expect("it runs");
}

#[tokio::test]
async fn the_cap_is_a_wait_with_a_position() {
    let (mut session, scheduler) = ground(1, 3).await;
    want(&scheduler, 1, false);
    assert_eq!(session.next().await, place(1));
    want(&scheduler, 2, false);
    assert_eq!(session.next().await, queued(2, 1));
    want(&scheduler, 3, false);
    assert_eq!(session.next().await, queued(3, 2));
    scheduler.cast(SchedulerMsg::Want { agent: ActorPath::main(), held: false }).expect("it runs");
    assert_eq!(session.next().await, Told::Place(ActorPath::main()), "the main agent needs none");
    want(&scheduler, 1, false);
    assert_eq!(session.next().await, place(1), "who has one is told again");
    give_back(&scheduler, 1);
    let both = [session.next().await, session.next().await];
    assert!(both.contains(&place(2)) && both.contains(&queued(3, 1)), "{both:?}");
    // An agent that had a place before comes first.
    want(&scheduler, 1, false);
    assert_eq!(session.next().await, queued(1, 1));
    assert_eq!(session.next().await, queued(3, 2));
}

#[tokio::test]
async fn an_agent_that_ended_gives_its_place_back() {
    let (mut session, scheduler) = ground(1, 2).await;
    want(&scheduler, 1, false);
    want(&scheduler, 2, false);
    assert_eq!(session.next().await, place(1));
    assert_eq!(session.next().await, queued(2, 1));
    let finished = ChildFinished {
        call: CallId::new(&ActorPath::main(), 1, 1),
        outcome: Outcome::Failed,
        cause: None,
        summary: String::new(),
        totals: Totals::default(),
        subtree: Totals::default(),
    };
    let records = vec![record(&path(1), Body::ChildFinished(Box::new(finished)))];
    scheduler.cast(SchedulerMsg::Committed { records }).expect("it runs");
    assert_eq!(session.next().await, place(2));
}

#[tokio::test]
async fn after_a_restart_places_that_were_held_are_kept() {
    let (mut session, scheduler) = ground(1, 3).await;
    for n in [1, 2] {
        want(&scheduler, n, true);
        assert_eq!(session.next().await, place(n), "work under way goes on above the cap");
    }
    want(&scheduler, 3, false);
    assert_eq!(session.next().await, queued(3, 1));
    give_back(&scheduler, 1);
    give_back(&scheduler, 2);
    assert_eq!(session.next().await, place(3));
}
