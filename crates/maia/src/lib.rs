//! The program: reads settings, starts the actors, prints what comes, ends with the right code.
//!
//! - `main` sends a re-executed helper away first (SAFETY 5), before any runtime and any thread.
//! - Commands are thin: decisions are in `maia-core`, work in `maia-actors`.

mod agents;
mod cli;
mod error;
mod permissions;
mod print;
mod run;
mod sessions;
mod settings;
mod trust;

use std::process::ExitCode;

/// Runs the program and returns its exit code (SPEC section 4).
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|first| first == maia_tools::exec::ARGUMENT) {
        return maia_tools::exec::main(arguments);
    }
    cli::main()
}
