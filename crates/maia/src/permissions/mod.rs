//! `maia permissions`: verdicts without a session (SPEC section 4; mission M9).
//!
//! - `check` judges calls with the rules that stand beside them, line by line.
//! - `explain` says what the rules in force make of one call, and why.

mod check;
mod explain;

use clap::Subcommand;

use crate::error::Failure;

pub use explain::ExplainArguments;

/// What can be asked of the rules.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// Reads JSON lines {id?, rules, tool, input, cwd?, home?} and prints one verdict line each; 2 if a line was none.
    Check,
    /// Says what the rules in force make of one call: INPUT is JSON, a command for Bash, a path for the file tools.
    Explain(ExplainArguments),
}

/// Carries the command out and returns the exit code.
///
/// # Errors
/// What keeps the input or the settings from being read.
pub fn run(command: PermissionsCommand) -> Result<u8, Failure> {
    match command {
        PermissionsCommand::Check => check::run(),
        PermissionsCommand::Explain(arguments) => explain::run(&arguments),
    }
}
