//! Who is told of a committed batch: a list of records for each owner.
//!
//! Asked by the journal once a batch; owns nothing. `maia_core::owners` decides, this carries it out.

use std::collections::HashMap;
use std::sync::Arc;

use maia_core::owners::{Owners, owners};
use maia_protocol::{ActorPath, Record};

use crate::address::AddressBook;

/// Tells every owner of `batch` its records: one message each, records in order.
pub(super) fn committed(book: &AddressBook, batch: &[Arc<Record>]) {
    for (path, records) in by_owner(batch, || everybody(book)) {
        book.committed(&path, records);
    }
}

/// Returns the paths of all machines that fold records and stand in the book.
fn everybody(book: &AddressBook) -> Vec<ActorPath> {
    let mut paths = vec![ActorPath::session(), ActorPath::broker(), ActorPath::scheduler()];
    paths.extend(book.agents());
    paths
}

/// Returns the records of each owner, owners in the order in which the batch names them.
fn by_owner(
    batch: &[Arc<Record>],
    everybody: impl Fn() -> Vec<ActorPath>,
) -> Vec<(ActorPath, Vec<Arc<Record>>)> {
    let mut lists: Vec<(ActorPath, Vec<Arc<Record>>)> = Vec::new();
    let mut places: HashMap<ActorPath, usize> = HashMap::new();
    for record in batch {
        let paths = match owners(record) {
            Owners::Everybody => everybody(),
            Owners::Paths(paths) => paths,
        };
        for path in paths {
            let place = *places.entry(path).or_insert_with_key(|path| {
                lists.push((path.clone(), Vec::new()));
                lists.len() - 1
            });
            let records = &mut lists[place].1;
            // Two roles of one record may be the same machine's.
            if records.last().is_none_or(|last| last.seq != record.seq) {
                records.push(record.clone());
            }
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use maia_protocol::outcome::EndReason;
    use maia_protocol::{Body, CallId, Totals};

    use super::*;

    fn record(seq: u64, actor: &ActorPath, body: Body) -> Arc<Record> {
        Arc::new(Record { seq, time: jiff::Timestamp::UNIX_EPOCH, actor: actor.clone(), body })
    }

    fn numbers(batch: &[Arc<Record>], all: &[&str]) -> Vec<(String, Vec<u64>)> {
        by_owner(batch, || all.iter().map(|path| ActorPath::new(*path)).collect())
            .into_iter()
            .map(|(path, records)| (path.to_string(), records.iter().map(|record| record.seq).collect()))
            .collect()
    }

    #[test]
    fn each_owner_gets_one_list_in_order() {
        let (main, child) = (ActorPath::main(), ActorPath::main().child("reader", 1));
        let done = |agent: &ActorPath| Body::ToolDone {
            call: CallId::new(agent, 1, 1),
            tool: "Read".to_owned(),
            output: maia_protocol::ToolOutput::ok(""),
            duration_ms: 0,
        };
        let batch = [
            record(4, &child, done(&child)),
            record(5, &main, done(&main)),
            record(6, &child, Body::TimerFired { step: 1 }),
        ];
        let expected = [("maia/reader#1", vec![4, 6]), ("@broker", vec![4, 5]), ("maia", vec![5])];
        assert_eq!(numbers(&batch, &[]), expected.map(|(path, seqs)| (path.to_owned(), seqs)));
    }

    #[test]
    fn a_machine_with_two_roles_is_told_once() {
        let closed = Body::SessionClosed {
            reason: EndReason::Done,
            result: String::new(),
            totals: Totals::default(),
            main: Totals::default(),
        };
        let batch = [record(1, &ActorPath::session(), closed)];
        assert_eq!(numbers(&batch, &[]), [("@session".to_owned(), vec![1])]);
    }
}
