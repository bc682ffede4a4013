//! Faults of the disk on order (ENGINE 9).

use std::os::unix::process::ExitStatusExt;

use maia_actors::address::{self, Address};
use maia_actors::failpoint::Failpoints;
use maia_actors::journal::{Journal, JournalArgs, JournalMsg};
use maia_journal::{JournalFile, read_all};
use maia_protocol::ActorPath;
use ractor::Actor;

use crate::journal::Fixture;
use crate::support::{env, told};

/// Where the process that is to die finds its journal; set by the test that starts it.
const DIR: &str = "MAIA_TEST_DIR";

#[tokio::test]
async fn the_process_dies_after_the_record() {
    let dir = tempfile::tempdir().expect("a folder");
    let status = tokio::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "failpoints::a_process_that_is_to_die", "--ignored", "--nocapture"])
        .env("MAIA_FAIL", "journal:3=kill")
        .env(DIR, dir.path())
        .stdout(std::process::Stdio::null())
        .status()
        .await
        .expect("it starts");
    assert_eq!(status.signal(), Some(9), "{status}");
    let (records, report) = read_all(dir.path()).expect("it can be read");
    assert_eq!((records.len(), report.cut_bytes), (3, 0));
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn a_process_that_is_to_die() {
    let dir = std::env::var_os(DIR).expect("the test above sets it");
    let env = env(dir.as_ref(), Failpoints::from_env()).await;
    let opened = JournalFile::open(dir.as_ref()).expect("it opens");
    let args = JournalArgs { env: env.clone(), journal: Box::new(opened.journal), history: opened.records };
    let (journal, _) = Actor::spawn(None, Journal, args).await.expect("it starts");
    env.book.put(address::journal(), Address::Journal(journal.clone()));
    let records = (0..5).map(|n| told(&ActorPath::main(), n.to_string())).collect();
    env.book.journal(JournalMsg::Append { records });
    journal.drain_and_wait(None).await.expect("never reached");
}

#[tokio::test]
async fn the_disk_is_full_from_a_record_on() {
    let mut fixture = Fixture::with(Failpoints::parse("disk:full@3")).await;
    let main = ActorPath::main();
    fixture.append(vec![told(&main, "a")]);
    fixture.append(vec![told(&main, "b")]);
    fixture.append(vec![told(&main, "c"), told(&main, "d")]);
    fixture.session_is_told("DiskFull").await;
    assert_eq!((fixture.batch().await, fixture.batch().await), (vec![1], vec![2]));
}
