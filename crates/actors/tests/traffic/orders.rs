//! Session: orders that come early, and two at once.

use std::sync::Arc;

use maia_actors::journal::JournalMsg;
use maia_actors::root::RootMsg;
use maia_actors::session::{Session, SessionArgs, SessionMsg};
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::{ActorPath, Body, NewRecord, Op};
use ractor::{Actor, ActorRef};

use crate::fakes::{self, Options, Told, deaf, record};

async fn start(session: &fakes::Session) -> ActorRef<SessionMsg> {
    let args = SessionArgs {
        env: session.env.clone(),
        root: deaf::<RootMsg>().await,
        history: Arc::default(),
        one_turn: false,
        rebuilt: false,
        shown: false,
        interrupted: false,
        leaving: false,
    };
    Actor::spawn(None, Session, args).await.expect("it starts").0
}

/// The opening of the session, as the journal tells that it is durable.
fn opening() -> SessionMsg {
    SessionMsg::Committed { records: vec![record(&ActorPath::main(), fakes::opened())] }
}

fn ask(text: &str) -> SessionMsg {
    SessionMsg::Op(Op::Ask { text: text.to_owned() })
}

/// The texts of the turns that were begun, when the session has handled all that it was told.
async fn begun(mut session: fakes::Session, actor: ActorRef<SessionMsg>) -> Vec<(u32, String)> {
    // An order for nobody is said; when that comes, the session has handled all before it.
    actor.cast(SessionMsg::Op(Op::Stop { actor: ActorPath::new("maia/nobody#1") })).expect("it runs");
    let mut told = Vec::new();
    loop {
        match session.next().await {
            Told::Event(_, EventBody::Notice(NoticeEvent::Error { .. })) => break,
            other => told.push(other),
        }
    }
    // What the journal is told last of all: everything before it has come.
    let records = vec![NewRecord::new(ActorPath::main(), Body::TimerFired { step: 99 })];
    session.env.book.journal(JournalMsg::Append { records });
    let mut begun = Vec::new();
    let mut told = told.into_iter();
    loop {
        let next = match told.next() {
            Some(told) => told,
            None => session.next().await,
        };
        let Told::Append(records) = next else { continue };
        for record in records {
            match record.body {
                Body::UserMessage { turn, text } => begun.push((turn, text)),
                Body::TimerFired { step: 99 } => return begun,
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn two_asks_at_once_begin_one_turn() {
    let session = fakes::Session::open(Options::default()).await;
    let actor = start(&session).await;
    // The screen is there before the disk has written: nothing begins until both are.
    for message in [SessionMsg::Go, ask("a"), opening(), ask("b")] {
        actor.cast(message).expect("it runs");
    }
    assert_eq!(begun(session, actor).await, [(1, "a".to_owned())], "the other one joins it");
}

#[tokio::test]
async fn an_order_before_the_opening_waits_for_it() {
    let session = fakes::Session::open(Options::default()).await;
    let actor = start(&session).await;
    let first = Body::UserMessage { turn: 1, text: "the request".to_owned() };
    let records = vec![record(&ActorPath::main(), first)];
    for message in [opening(), ask("more"), SessionMsg::Committed { records }, SessionMsg::Go] {
        actor.cast(message).expect("it runs");
    }
    assert_eq!(begun(session, actor).await, [], "the first turn is not begun again");
}
