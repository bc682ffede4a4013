//! Arguments of the commands that open a session, as written (SPEC section 4, Command line).
//!
//! Read by clap; owns nothing.

use std::path::PathBuf;

use clap::Args;
use maia_protocol::Mode;

use super::{interrupted, tree};
use crate::cli;
use crate::error::Failure;
use crate::settings::Places;
use crate::trust::Decided;

/// Arguments of `maia run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArguments {
    /// The request; `-` reads it from standard input. Piped input beside a request is added as data.
    #[arg(value_name = "PROMPT|-")]
    pub prompt: Option<String>,
    /// Prints events as JSON lines on stdout instead of the answer.
    #[arg(long)]
    pub json: bool,
    /// Model, as the endpoint knows it; `script:FILE` plays a script.
    #[arg(long, value_name = "SPEC")]
    pub model: Option<String>,
    /// Definition of the main agent.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Runs the task graph of a YAML file (tasks: id, agent, task, after; on_failure), then has the main agent report.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// Goes on with a session, by name or id; without a request with what was interrupted.
    #[arg(long, value_name = "NAME")]
    pub resume: Option<String>,
    /// Goes on with the last session of this folder.
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "plan"])]
    pub last: bool,
    /// Adds an allow rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Adds an ask rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Adds a deny rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// What happens where no rule matches.
    #[arg(long, value_name = "MODE", default_value = "confirm")]
    pub mode: ModeArgument,
    /// Trusts what the folder brings, for this run; with a hash, only if it has that one.
    #[arg(long, value_name = "HASH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub trust: Option<String>,
    /// Runs commands unconfined; with `--mode auto` unasked too.
    #[arg(long)]
    pub no_sandbox: bool,
    /// Says that a container around maia is the boundary.
    #[arg(long, value_name = "external", conflicts_with = "no_sandbox")]
    pub sandbox: Option<SandboxArgument>,
    /// Reads standard input as JSON lines of orders: tell, stop, answer.
    #[arg(long)]
    pub ops: bool,
    /// Iterations of the main agent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_iterations: Option<u32>,
    /// Agents at work at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_parallel_agents: Option<u32>,
    /// Depth of the deepest agent.
    #[arg(long, value_name = "N")]
    pub max_agent_depth: Option<u32>,
    /// Agents that models may spawn.
    #[arg(long, value_name = "N")]
    pub max_spawns: Option<u32>,
    /// Requests in flight at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_in_flight: Option<u32>,
    /// Launch folder.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Address of a server that the person chose on the first screen; it stands for `LiteLLM_URL`.
    #[arg(skip)]
    pub server: Option<String>,
    /// What was decided of the folder when maia started; `None` where it is to be decided now.
    #[arg(skip)]
    pub decided: Option<Decided>,
}

/// `--mode` as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArgument {
    /// Reading in the folder runs, everything else is refused.
    ReadOnly,
    /// What no rule covers asks.
    #[default]
    Confirm,
    /// Writing in the folder runs too.
    Edits,
    /// Everything inside the boundary runs.
    Auto,
}

/// `--sandbox` as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SandboxArgument {
    /// A container around maia is the boundary.
    External,
}

impl RunArguments {
    /// Names the session that `-c` means.
    pub(super) fn name_last(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.last) {
            let places = Places::find(self.cwd.as_deref(), &cli::env)?;
            self.resume = Some(interrupted::last(&places.project())?);
        }
        Ok(())
    }
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::ReadOnly => Self::ReadOnly,
            ModeArgument::Confirm => Self::Confirm,
            ModeArgument::Edits => Self::Edits,
            ModeArgument::Auto => Self::Auto,
        }
    }
}

pub(super) fn limits(arguments: &RunArguments) -> tree::LimitFlags {
    tree::LimitFlags {
        max_iterations: arguments.max_iterations,
        max_parallel_agents: arguments.max_parallel_agents,
        max_agent_depth: arguments.max_agent_depth,
        max_spawns: arguments.max_spawns,
        max_in_flight: arguments.max_in_flight,
    }
}
