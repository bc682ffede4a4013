//! What is found in a session without reading all of it: a sled database beside the journal (ENGINE 1, `index/`).
//!
//! - Asked by the inspector, for older items of one actor ([`Reader`]), and by `maia sessions` ([`Overview`], [`glance`]).
//! - Owns `<session>/index/`, and keeps sled to itself. The journal is the truth: nothing is here that is not there, and
//!   what is damaged is set aside and built again.
//! - Written by the process that has the session open, on a thread of its own ([`Follower`]) that nobody waits for.
//! - Nothing depends on how far it has come: what it does not hold yet, or cannot give, is read from the journal.
//!
//! Three files to open first: `store` (what it holds), `open` (the ways in which a database can be broken), `reader`.

mod error;
mod follower;
mod glance;
mod open;
mod overview;
mod reader;
mod shown;
mod store;
mod words;

pub use error::IndexError;
pub use follower::{Follower, Poke};
pub use glance::{Glance, glance};
pub use open::{FOLDER, hush_panics, open};
pub use overview::{AgentOverview, Overview};
pub use reader::{BUILD_BYTES, Reader, Shared, WORTH_BYTES};
pub use shown::{item_of, shown_at};
pub use store::{Head, Index, Pairs};
