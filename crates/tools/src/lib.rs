//! What a tool call does to the world: files, searches, commands, and the helper process behind these.
//!
//! - Asked by the actor that carries out one call, after the call was judged; nothing here decides about permissions.
//! - The steps of a call on a file are `target` (which file), then [`prepare`] and [`FileWork::commit`], or [`read`]; all of
//!   them block and belong on a blocking thread, and so do [`glob`] and [`grep`]. [`bash::run`] is the one that waits, and
//!   it is async. [`todo()`] and [`current_model`] touch nothing.
//! - Owns no state: what an agent knows of a file comes in as a hash and goes out in the result.
//! - Failure is a result that the model reads (W-act-fail), never a Rust error of the caller.
//!
//! Error results begin with one word for the kind of fault (`not_found: …`), so that people, models and tests can tell them
//! apart without reading the sentence.

mod args;
pub mod bash;
mod env;
pub mod exec;
mod fault;
mod file;
mod place;
mod search;
mod spec;
mod summary;
mod todo;

use maia_protocol::tool::{Target, ToolOutput};
use serde_json::Value;

pub use env::child_env;
pub use exec::kill_leftover;
pub use file::probe::probe;
pub use file::work::{FileWork, Staged};
pub use place::Workspace;
pub use search::{glob, grep};
pub use spec::{lock_mode, risk, specs};
pub use summary::summary;
pub use todo::{current_model, todo};

/// Returns why a call cannot run whatever its target: its arguments are not what the tool takes (mission M8-invalid). The text is
/// the error result for the model. Pure.
pub fn fault(tool: &str, input: &Value) -> Option<String> {
    args::parse(tool, input).err().map(|fault| fault.to_string())
}

/// Returns the file that a call names, or the folder that it searches, resolved; `None` for a tool without one, or one that
/// is not of this crate. Blocks.
///
/// The whole input is validated first, so that nobody is asked about a call that cannot run (mission M8-invalid).
///
/// # Errors
/// The error result for the model: unusable input, a loop of links, a path that cannot be looked at.
pub fn target(tool: &str, input: &Value, workspace: &Workspace) -> Result<Option<Target>, ToolOutput> {
    let call = args::parse(tool, input)?;
    match &call {
        Some(args::Call::Glob(args)) => return Ok(Some(search::scope::of_glob(args, workspace)?)),
        Some(args::Call::Grep(args)) => return Ok(Some(search::scope::of_grep(args, workspace)?)),
        _ => {}
    }
    let Some(path) = call.as_ref().and_then(args::Call::path) else { return Ok(None) };
    Ok(Some(place::resolve(path, workspace)?))
}

/// Reads the file and computes what a Write or Edit would leave, without changing anything. Blocks; the lock is held (ENGINE 2).
///
/// `seen` is the hash that the agent last read or wrote of this file; `None` when it never did (ENGINE 5).
///
/// # Errors
/// The error result for the model: `changed_since_read`, `target_changed` when the file is not the one that was judged
/// (SAFETY 3), and whatever makes the change impossible.
pub fn prepare(
    tool: &str,
    input: &Value,
    target: &Target,
    seen: Option<&str>,
    workspace: &Workspace,
) -> Result<FileWork, ToolOutput> {
    Ok(file::work::prepare(tool, input, target, seen, workspace)?)
}

/// Carries out a Read of the judged file (mission M8-read). Blocks; the lock is held.
pub fn read(input: &Value, target: &Target, workspace: &Workspace) -> ToolOutput {
    file::read::read(input, target, workspace).unwrap_or_else(ToolOutput::from)
}
