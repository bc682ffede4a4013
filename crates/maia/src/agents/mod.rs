//! Agent definitions on disk and in the binary: which there are, and what is wrong with them (mission M20.1).
//!
//! - Asked by the commands that start a session, for the agents of its snapshot, and by `maia agents`.
//! - Owns the list of embedded definitions. Parsing is `maia_core::agent_file`.

mod commands;
mod load;
mod report;

pub use commands::{AgentsCommand, run};
pub use load::load;
