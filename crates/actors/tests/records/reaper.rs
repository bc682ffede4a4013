//! The reaper: kills what it was told of, and nothing else, also after it was itself restarted.

use std::os::unix::process::ExitStatusExt;

use maia_actors::failpoint::Failpoints;
use maia_actors::reaper::{Reaper, ReaperArgs, ReaperMsg, Table};
use maia_protocol::ActorPath;
use maia_tools::exec::ProcessInfo;
use ractor::{Actor, ActorRef};
use tokio::process::{Child, Command};

struct Fixture {
    table: Table,
    reaper: ActorRef<ReaperMsg>,
}

impl Fixture {
    async fn start() -> Self {
        let table = Table::default();
        let reaper = start(&table).await;
        Self { table, reaper }
    }

    /// Starts a process that would run for an hour, and tells the reaper.
    fn process(&self, session: &str, executor: &str) -> Child {
        let child = Command::new("sleep").arg("3600").kill_on_drop(true).spawn().expect("sleep is there");
        let pid = i32::try_from(child.id().expect("it runs")).expect("a pid");
        let process = ProcessInfo::of(pid).expect("it runs");
        self.tell(ReaperMsg::Started {
            session: session.to_owned(),
            executor: ActorPath::new(executor),
            process,
        });
        child
    }

    fn tell(&self, message: ReaperMsg) {
        self.reaper.cast(message).expect("the reaper is there");
    }
}

async fn start(table: &Table) -> ActorRef<ReaperMsg> {
    let args = ReaperArgs { table: table.clone(), failpoints: Failpoints::default() };
    Actor::spawn(None, Reaper, args).await.expect("it starts").0
}

async fn was_killed(mut child: Child) {
    let status = child.wait().await.expect("it is ours");
    assert!(status.signal().is_some(), "{status}");
}

fn runs(child: &mut Child) -> bool {
    child.try_wait().expect("it is ours").is_none()
}

#[tokio::test]
async fn a_session_takes_its_processes_with_it() {
    let fixture = Fixture::start().await;
    let (one, two) = (fixture.process("s1", "maia/Bash#1"), fixture.process("s1", "maia/Bash#2"));
    let mut other = fixture.process("s2", "maia/Bash#1");
    fixture.tell(ReaperMsg::EndSession { session: "s1".to_owned() });
    was_killed(one).await;
    was_killed(two).await;
    assert!(runs(&mut other), "it belongs to another session");
}

#[tokio::test]
async fn a_restarted_reaper_knows_them_all() {
    let mut fixture = Fixture::start().await;
    let child = fixture.process("s1", "maia/Bash#1");
    let mut other = fixture.process("s1", "maia/Bash#2");
    fixture.reaper.drain_and_wait(None).await.expect("it stops");
    fixture.reaper = start(&fixture.table).await;
    fixture.tell(ReaperMsg::Kill { session: "s1".to_owned(), executor: ActorPath::new("maia/Bash#1") });
    was_killed(child).await;
    assert!(runs(&mut other), "it was not named");
}

#[tokio::test]
async fn what_has_ended_is_forgotten() {
    let fixture = Fixture::start().await;
    let mut child = fixture.process("s1", "maia/Bash#1");
    fixture.tell(ReaperMsg::Ended { session: "s1".to_owned(), executor: ActorPath::new("maia/Bash#1") });
    fixture.tell(ReaperMsg::EndSession { session: "s1".to_owned() });
    fixture.reaper.drain_and_wait(None).await.expect("it stops");
    assert!(fixture.table.is_empty());
    assert!(runs(&mut child), "nobody was told to kill it");
}
