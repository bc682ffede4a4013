//! Which records each machine folds, so that a history is read without looking at the others (ENGINE 1).
//!
//! - Asked by the writing thread alone: [`Index::add`] for each committed record, [`Index::history`] for a machine that starts.
//! - Owns numbers by path, the few records that everybody folds, and the newest records, which are asked for most: a
//!   child subscribes right after the record that spawned it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use maia_core::owners::{Owners, owners};
use maia_journal::{Journal, JournalError};
use maia_protocol::{ActorPath, Record, Seq};

/// Newest records that are kept in memory; one record is seldom over 32 KB.
const RECENT: usize = 128;

/// The index of one journal.
#[derive(Default)]
pub(super) struct Index {
    /// Records that every machine folds: one an opening.
    everybody: Vec<Arc<Record>>,
    /// Numbers of all others by owner, ascending.
    by_path: HashMap<ActorPath, Vec<Seq>>,
    /// Records up to `last` without a gap.
    recent: VecDeque<Arc<Record>>,
    /// Number of the last record.
    last: Seq,
    /// What the opening read is kept until this number: that is when everybody asks for a history.
    all_until: Seq,
}

impl Index {
    /// Returns the index of the records of an opening, all of them from number 1.
    pub(super) fn new(history: Vec<Record>) -> Self {
        let mut index = Self { all_until: Seq::MAX, ..Self::default() };
        for record in history {
            index.add(&Arc::new(record));
        }
        index.all_until = index.last + RECENT as Seq;
        index
    }

    /// Adds the next record.
    pub(super) fn add(&mut self, record: &Arc<Record>) {
        self.last = record.seq;
        match owners(record) {
            Owners::Everybody => self.everybody.push(record.clone()),
            Owners::Paths(paths) => {
                for path in paths {
                    let seqs = self.by_path.entry(path).or_default();
                    if seqs.last() != Some(&record.seq) {
                        seqs.push(record.seq);
                    }
                }
            }
        }
        self.recent.push_back(record.clone());
        if self.last > self.all_until && self.recent.len() > RECENT {
            self.recent.drain(..self.recent.len() - RECENT);
            self.recent.shrink_to(2 * RECENT);
        }
    }

    /// Returns the records that the machine at `path` folds, in order.
    ///
    /// # Errors
    /// What `journal` says of records that have to be read again.
    pub(super) fn history(
        &self,
        path: &ActorPath,
        journal: &dyn Journal,
    ) -> Result<Vec<Arc<Record>>, JournalError> {
        let own = self.by_path.get(path).map_or(&[][..], Vec::as_slice);
        let mut records = self.read(own, journal)?;
        records.extend(self.everybody.iter().cloned());
        // Two ascending runs: the sort is one merge.
        records.sort_by_key(|record| record.seq);
        Ok(records)
    }

    /// Returns all records, in order.
    ///
    /// # Errors
    /// What `journal` says of records that have to be read again.
    pub(super) fn all(&self, journal: &dyn Journal) -> Result<Vec<Arc<Record>>, JournalError> {
        self.read(&(1..=self.last).collect::<Vec<_>>(), journal)
    }

    /// Returns the records `seqs`, which ascend: what is not in memory any more is read again.
    fn read(&self, seqs: &[Seq], journal: &dyn Journal) -> Result<Vec<Arc<Record>>, JournalError> {
        let in_memory_from = self.last + 1 - self.recent.len() as Seq;
        let (old, new) = seqs.split_at(seqs.partition_point(|&seq| seq < in_memory_from));
        let mut records: Vec<_> = journal.read(old)?.into_iter().map(Arc::new).collect();
        let kept = new.iter().filter_map(|&seq| self.recent.get(usize::try_from(seq - in_memory_from).ok()?));
        records.extend(kept.cloned());
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use jiff::Timestamp;
    use maia_journal::AppendError;
    use maia_protocol::permission::{Mode, Sandbox};
    use maia_protocol::record::SessionOpened;
    use maia_protocol::{Body, NewRecord, RuleSet};

    use super::*;

    /// Holds records, and counts how many were read again.
    struct Shelf(Vec<Record>, Cell<usize>);

    impl Journal for Shelf {
        fn append(&mut self, _: &[NewRecord], _: Timestamp) -> Result<Vec<Record>, AppendError> {
            unreachable!("nothing is appended here")
        }

        fn read(&self, seqs: &[Seq]) -> Result<Vec<Record>, JournalError> {
            self.1.set(self.1.get() + seqs.len());
            Ok(seqs.iter().map(|&seq| self.0[seq as usize - 1].clone()).collect())
        }

        fn len(&self) -> Seq {
            self.0.len() as Seq
        }
    }

    fn opened() -> Body {
        Body::SessionOpened(SessionOpened {
            session: "s".to_owned(),
            name: "s".to_owned(),
            cwd: "/".into(),
            model: "m".to_owned(),
            agent: None,
            agent_hash: String::new(),
            tools: None,
            rules: RuleSet::default(),
            iterations: 50,
            mode: Mode::Confirm,
            sandbox: Sandbox::Off,
            headless: true,
            version: "0".to_owned(),
            fold: 1,
            resumed: false,
            resumes: Vec::new(),
        })
    }

    /// Record 1 and 400 open the session; the others are the main agent's, every third one a child's.
    fn records(count: u64) -> Vec<Record> {
        let main = ActorPath::main();
        let record = |seq: u64| {
            let actor = if seq.is_multiple_of(3) { main.child("reader", 1) } else { main.clone() };
            let body = if seq == 1 || seq == 400 { opened() } else { Body::TimerFired { step: seq as u32 } };
            Record { seq, time: Timestamp::UNIX_EPOCH, actor, body }
        };
        (1..=count).map(record).collect()
    }

    fn seqs(records: &[Arc<Record>]) -> Vec<u64> {
        records.iter().map(|record| record.seq).collect()
    }

    #[test]
    fn a_history_is_the_same_from_memory_and_from_disk() {
        let child = ActorPath::main().child("reader", 1);
        let wanted: Vec<u64> =
            (1..=600_u64).filter(|seq| seq.is_multiple_of(3) || *seq == 1 || *seq == 400).collect();
        let shelf = Shelf(records(600), Cell::new(0));

        let opened = Index::new(records(600));
        assert_eq!(seqs(&opened.history(&child, &shelf).expect("in memory")), wanted);
        assert_eq!(shelf.1.get(), 0, "an opening has them in memory");

        let mut grown = Index::new(Vec::new());
        records(600).into_iter().for_each(|record| grown.add(&Arc::new(record)));
        assert_eq!(seqs(&grown.history(&child, &shelf).expect("read")), wanted);
        assert!(shelf.1.get() > 0, "older ones are read again");
        assert_eq!(seqs(&grown.all(&shelf).expect("read")), (1..=600).collect::<Vec<_>>());
    }

    #[test]
    fn what_an_opening_read_is_let_go() {
        let mut index = Index::new(records(300));
        records(600).into_iter().skip(300).for_each(|record| index.add(&Arc::new(record)));
        assert_eq!(index.recent.len(), RECENT);
    }

    #[test]
    fn a_machine_without_records_gets_what_everybody_gets() {
        let shelf = Shelf(records(10), Cell::new(0));
        let history =
            Index::new(records(10)).history(&ActorPath::new("maia/new#1"), &shelf).expect("in memory");
        assert_eq!(seqs(&history), [1]);
        assert!(Index::new(Vec::new()).history(&ActorPath::main(), &shelf).expect("empty").is_empty());
    }
}
