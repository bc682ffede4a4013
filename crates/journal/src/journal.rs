//! What a journal is to those who use it. Narrow, so that another store can stand behind it one day.

use jiff::Timestamp;
use maia_protocol::{NewRecord, Record, Seq};

use crate::error::{AppendError, JournalError};

/// An append-only sequence of records, numbered 1, 2, … without a gap.
pub trait Journal: Send {
    /// Appends `batch`, all of it or nothing, and returns its records once they are durable.
    ///
    /// `now` is the time of all of them. An empty batch touches nothing.
    ///
    /// # Errors
    /// [`AppendError`]: nothing of the batch counts, and the same batch may be appended again.
    fn append(&mut self, batch: &[NewRecord], now: Timestamp) -> Result<Vec<Record>, AppendError>;

    /// Reads committed records by number, in the order asked for.
    ///
    /// # Errors
    /// A number that was never given, or a record that is damaged by now.
    fn read(&self, seqs: &[Seq]) -> Result<Vec<Record>, JournalError>;

    /// Returns the number of the last committed record, 0 for none.
    fn len(&self) -> Seq;

    /// Tells whether nothing was ever committed.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<J: Journal + ?Sized> Journal for Box<J> {
    fn append(&mut self, batch: &[NewRecord], now: Timestamp) -> Result<Vec<Record>, AppendError> {
        (**self).append(batch, now)
    }

    fn read(&self, seqs: &[Seq]) -> Result<Vec<Record>, JournalError> {
        (**self).read(seqs)
    }

    fn len(&self) -> Seq {
        (**self).len()
    }
}
