//! A journal in memory whose disk does what a test wants: hold a sync, be full, fail, panic.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use jiff::Timestamp;
use maia_journal::{AppendCause, AppendError, Journal, JournalError};
use maia_protocol::{NewRecord, Record, Seq};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::committed;

/// What an append does.
#[derive(Clone, Copy, PartialEq)]
pub enum Mood {
    Well,
    /// Waits until the mood is another.
    Held,
    Full,
    Failing,
    Panicking,
}

struct Disk {
    records: Vec<Record>,
    mood: Mood,
    /// Appends that got through: one sync each.
    syncs: usize,
}

/// The disk as a test sees it. Cheap to clone.
#[derive(Clone)]
pub struct DiskControl(Arc<(Mutex<Disk>, Condvar)>);

/// What the store tells the test.
#[derive(Debug, PartialEq)]
pub enum Seen {
    /// An append of so many records has begun.
    Append(usize),
    /// The store was dropped.
    Closed,
}

/// The store that the journal owns.
pub struct Store {
    disk: DiskControl,
    seen: UnboundedSender<Seen>,
}

/// Returns a store with `history`, its control, and what it tells.
pub fn store(history: Vec<Record>) -> (Box<Store>, DiskControl, UnboundedReceiver<Seen>) {
    let disk = Disk { records: history, mood: Mood::Well, syncs: 0 };
    let disk = DiskControl(Arc::new((Mutex::new(disk), Condvar::new())));
    let (seen, receiver) = unbounded_channel();
    (Box::new(Store { disk: disk.clone(), seen }), disk, receiver)
}

impl DiskControl {
    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.0.lock().expect("no append panics with the disk locked")
    }

    pub fn mood(&self, mood: Mood) {
        self.lock().mood = mood;
        self.0.1.notify_all();
    }

    pub fn syncs(&self) -> usize {
        self.lock().syncs
    }

    pub fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }
}

impl Journal for Store {
    fn append(&mut self, batch: &[NewRecord], now: Timestamp) -> Result<Vec<Record>, AppendError> {
        let _ = self.seen.send(Seen::Append(batch.len()));
        let (lock, changed) = &*self.disk.0;
        let disk = lock.lock().expect("no append panics with the disk locked");
        let mut disk = changed.wait_while(disk, |disk| disk.mood == Mood::Held).expect("as above");
        let error = |full, kind: std::io::ErrorKind| AppendError {
            full,
            cause: AppendCause::Io { doing: "write the journal", source: kind.into() },
        };
        match disk.mood {
            Mood::Well | Mood::Held => {}
            Mood::Full => return Err(error(true, std::io::ErrorKind::StorageFull)),
            Mood::Failing => return Err(error(false, std::io::ErrorKind::PermissionDenied)),
            Mood::Panicking => {
                drop(disk);
                panic!("the store panics on order");
            }
        }
        let first = disk.records.len() as Seq + 1;
        let records: Vec<_> = (first..)
            .zip(batch)
            .map(|(seq, new)| Record { time: now, ..committed(seq, new.clone()) })
            .collect();
        disk.records.extend(records.iter().cloned());
        disk.syncs += 1;
        Ok(records)
    }

    fn read(&self, seqs: &[Seq]) -> Result<Vec<Record>, JournalError> {
        let disk = self.disk.lock();
        let last = disk.records.len() as Seq;
        let one = |&seq: &Seq| disk.records.get(seq as usize - 1).cloned();
        seqs.iter().map(|seq| one(seq).ok_or(JournalError::NoSuchRecord { seq: *seq, last })).collect()
    }

    fn len(&self) -> Seq {
        self.disk.lock().records.len() as Seq
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.seen.send(Seen::Closed);
    }
}
