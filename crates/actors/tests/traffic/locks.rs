//! LockTable.

use std::sync::Arc;

use dashmap::DashMap;
use maia_actors::failpoint::Failpoints;
use maia_actors::lock_table::{Held, Holder, LockTable, LockTableArgs, LockTableMsg};
use maia_protocol::ActorPath;
use maia_protocol::tool::LockMode::{self, Read, Write};
use ractor::{Actor, ActorRef};

use crate::fakes::{Options, Session, Told, drain};

type Shelf = Arc<DashMap<Holder, Held>>;

struct Ground {
    session: Session,
    held: Shelf,
    table: ActorRef<LockTableMsg>,
}

async fn start(held: &Shelf) -> ActorRef<LockTableMsg> {
    let args = LockTableArgs { held: held.clone(), failpoints: Failpoints::default() };
    Actor::spawn(None, LockTable, args).await.expect("it starts").0
}

fn path(n: u32) -> ActorPath {
    ActorPath::main().child("Edit", n)
}

impl Ground {
    async fn new(executors: u32) -> Self {
        let session = Session::open(Options::default()).await;
        for n in 1..=executors {
            session.executor(&path(n)).await;
        }
        let held = Shelf::default();
        let table = start(&held).await;
        Self { session, held, table }
    }

    fn holder(&self, n: u32) -> Holder {
        Holder { session: self.session.env.session.clone(), executor: path(n) }
    }

    fn acquire(&self, n: u32, key: &str, mode: LockMode) {
        let (holder, key, book) = (self.holder(n), key.to_owned(), self.session.env.book.clone());
        self.table.cast(LockTableMsg::Acquire { holder, key, mode, book }).expect("it runs");
    }

    fn release(&self, n: u32) {
        self.table.cast(LockTableMsg::Release { holder: self.holder(n) }).expect("it runs");
    }

    async fn granted(&mut self, n: u32) {
        assert_eq!(self.session.next().await, Told::Lock(path(n)));
    }
}

#[tokio::test]
async fn writers_exclude_in_asked_order_and_each_grant_is_told() {
    let mut ground = Ground::new(4).await;
    ground.acquire(1, "f", Write);
    ground.granted(1).await;
    ground.acquire(2, "f", Read);
    ground.acquire(3, "f", Write);
    ground.acquire(4, "g", Write);
    ground.granted(4).await;
    ground.acquire(1, "f", Write);
    ground.granted(1).await;
    ground.acquire(2, "f", Read);
    ground.release(1);
    ground.granted(2).await;
    ground.release(2);
    ground.granted(3).await;
    assert_eq!(ground.held.len(), 2);
    ground.release(3);
    ground.release(4);
    drain(ground.table.clone()).await;
    assert!(ground.held.is_empty());
}

#[tokio::test]
async fn a_restarted_table_knows_who_holds_what_and_waiters_ask_again() {
    let mut ground = Ground::new(3).await;
    ground.acquire(1, "f", Write);
    ground.granted(1).await;
    ground.acquire(2, "f", Write);
    drain(ground.table.clone()).await;
    ground.table = start(&ground.held).await;
    ground.acquire(3, "f", Write);
    ground.acquire(1, "f", Write);
    ground.granted(1).await;
    ground.acquire(2, "f", Write);
    ground.release(1);
    ground.granted(3).await;
    ground.release(3);
    ground.granted(2).await;
}

#[tokio::test]
async fn a_holder_that_is_gone_keeps_nobody_waiting() {
    let mut ground = Ground::new(3).await;
    ground.acquire(1, "f", Write);
    ground.granted(1).await;
    ground.session.env.book.remove(&path(1));
    ground.acquire(2, "f", Write);
    ground.granted(2).await;
    // The same while the table was down: what is gone is not taken over.
    drain(ground.table.clone()).await;
    ground.session.env.book.remove(&path(2));
    ground.table = start(&ground.held).await;
    assert!(ground.held.is_empty());
    ground.acquire(3, "f", Write);
    ground.granted(3).await;
}

#[tokio::test]
async fn sessions_share_the_files_and_not_the_names() {
    let mut ground = Ground::new(1).await;
    let mut other = Session::open(Options { name: "t", ..Options::default() }).await;
    other.executor(&path(1)).await;
    ground.acquire(1, "f", Write);
    ground.granted(1).await;
    let (holder, book) = (Holder { session: "t".to_owned(), executor: path(1) }, other.env.book.clone());
    let key = "f".to_owned();
    ground.table.cast(LockTableMsg::Acquire { holder, key, mode: Write, book }).expect("it runs");
    ground.release(1);
    assert_eq!(other.next().await, Told::Lock(path(1)));
}
