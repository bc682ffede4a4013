//! Child processes that never outlive their call (SAFETY 5).
//!
//! - [`main`] is the second life of maia's binary: `maia __exec …`, dispatched before any runtime or thread exists.
//! - `hold` is the helper: it holds a pipe to maia, adopts every descendant of the command, and ends them all when the pipe
//!   closes or the call ends. `payload` is the moment between the helper and the command.
//! - `tree` walks `/proc` and ends processes; `wire` is what maia and its helper say to each other.
//! - A `kill -9` of maia closes the pipe, and that suffices: there is no list to keep and nobody has to be told.

mod hold;
mod payload;
mod tree;
pub(crate) mod wire;

use std::ffi::OsString;
use std::process::ExitCode;

pub use tree::{ProcessInfo, end_session, kill_leftover};

/// The first argument with which maia's binary is run as a helper.
pub const ARGUMENT: &str = "__exec";

/// Runs as the helper or as the payload's first moment; `args` is what follows [`ARGUMENT`].
///
/// Called from `main` before anything else: the process must have one thread.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    match args.next().as_ref().and_then(|stage| stage.to_str()) {
        Some(hold::STAGE) => hold::run(),
        Some(payload::STAGE) => payload::run(args),
        _ => {
            eprintln!("{ARGUMENT} is maia's own and of no use by hand");
            ExitCode::from(2)
        }
    }
}

/// Keeps other processes of this user from reading this process's memory and environment.
///
/// Called by maia's `main` too. A system that cannot do it is told of in the log only.
pub fn hide_from_debuggers() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "this process could not be made non-dumpable");
    }
}
