//! Faults of the disk for tests (ENGINE 9): `journal:N=kill`, `disk:full@N`. Without the feature `failpoints` nothing of it is built.
//!
//! Asked by the writing thread, about each batch; owns the time since when the disk is full.

use std::collections::VecDeque;

use jiff::Timestamp;
use maia_journal::{AppendError, Journal};
use maia_protocol::NewRecord;

use super::Order;
use crate::failpoint::Failpoints;

#[cfg(not(feature = "failpoints"))]
pub(super) struct Faults;

#[cfg(not(feature = "failpoints"))]
impl Faults {
    pub(super) fn new(_failpoints: Failpoints) -> Self {
        Self
    }

    /// Returns what is written together: all that waits.
    pub(super) fn groups(&self, orders: VecDeque<Order>) -> Vec<VecDeque<Order>> {
        vec![orders]
    }

    /// Does nothing.
    pub(super) fn before(
        &mut self,
        _journal: &mut dyn Journal,
        _batch: &[NewRecord],
        _now: Timestamp,
    ) -> Result<(), AppendError> {
        Ok(())
    }
}

#[cfg(feature = "failpoints")]
pub(super) struct Faults {
    failpoints: Failpoints,
    full_since: Option<std::time::Instant>,
    /// After how long there is room again; `None` for never.
    room_after: Option<std::time::Duration>,
}

#[cfg(feature = "failpoints")]
impl Faults {
    /// Reads `MAIA_FAIL_ROOM_AFTER_MS`: after so many milliseconds a disk that was filled has room again.
    pub(super) fn new(failpoints: Failpoints) -> Self {
        let room_after = std::env::var("MAIA_FAIL_ROOM_AFTER_MS").ok().map(|text| {
            let ms = text.parse().unwrap_or_else(|_| panic!("MAIA_FAIL_ROOM_AFTER_MS: {text}"));
            std::time::Duration::from_millis(ms)
        });
        Self { failpoints, full_since: None, room_after }
    }

    /// Returns what is written together: all that waits, or, with a disk that is to be full from some record on, one
    /// order at a time, so that the same records get through in every run.
    pub(super) fn groups(&self, orders: VecDeque<Order>) -> Vec<VecDeque<Order>> {
        match self.failpoints.full_from() {
            Some(_) => orders.into_iter().map(|order| VecDeque::from([order])).collect(),
            None => vec![orders],
        }
    }

    /// Kills the process, or fails, when a fault says so of the records that `batch` will be.
    ///
    /// # Errors
    /// The disk is full on order.
    pub(super) fn before(
        &mut self,
        journal: &mut dyn Journal,
        batch: &[NewRecord],
        now: Timestamp,
    ) -> Result<(), AppendError> {
        let first = journal.len() + 1;
        let last = journal.len() + batch.len() as u64;
        if self.failpoints.full_from().is_some_and(|from| from <= last) {
            let since = self.full_since.get_or_insert_with(std::time::Instant::now);
            if self.room_after.is_none_or(|room_after| since.elapsed() < room_after) {
                let source = std::io::ErrorKind::StorageFull.into();
                let cause = maia_journal::AppendCause::Io { doing: "write the journal", source };
                return Err(AppendError { full: true, cause });
            }
        }
        if let Some(at) = self.failpoints.kill_at(first, last) {
            // An opening is written whole: its records are one decision, and what is asked stands in its last one.
            let opens =
                batch.iter().any(|record| matches!(record.body, maia_protocol::Body::SessionOpened(_)));
            let cut = usize::try_from(at - first).map_or(0, |before| before + 1);
            let durable = if opens { batch.len() } else { cut };
            journal.append(&batch[..durable], now)?;
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            loop {
                std::thread::park(); // Nothing may happen after that record.
            }
        }
        Ok(())
    }
}
