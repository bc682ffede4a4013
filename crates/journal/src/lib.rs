//! The journal on disk: append-only, checksummed, durable before anybody acts on it (ENGINE 1, ENGINE 2).
//!
//! - Asked by the actor `Journal`, the only writer, on a blocking thread; by the command line, which lists and
//!   shows sessions without opening them.
//! - Owns a session's folder: `journal.jsonl`, `blobs/`, `lock`, and tails that were cut off.
//! - Synchronous: one `write` and one `fdatasync` for a batch. Grouping the batches of many producers is the
//!   actor's work.
//! - Knows the frame of a record, not its meaning: folding is `maia_core`'s.
//!
//! Three files to open first: `file` (open, append, read), `scan` (what is good in a file that may be torn), `line`
//! (the bytes of one record).

mod blob;
mod dir;
mod disk;
mod entries;
mod error;
#[cfg(feature = "failpoints")]
mod faulty;
mod file;
mod journal;
mod line;
mod listing;
mod lock;
mod mend;
mod scan;
mod tail;

pub use dir::{SessionDir, project_dir};
pub use entries::{Entries, Entry, Position};
pub use error::{AppendCause, AppendError, Fault, JournalError, ReadOnlyWhy};
#[cfg(feature = "failpoints")]
pub use faulty::{DiskFull, FaultyJournal};
pub use file::{JournalFile, OpenReport, Opened, read_all};
pub use journal::Journal;
pub use listing::{Listing, SessionSummary, sessions};
pub use lock::{Holders, Lock};
pub use scan::Place;
