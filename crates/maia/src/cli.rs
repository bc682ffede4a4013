//! The command line (SPEC section 4): what can be asked, and who carries it out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::Diagnostic as _;

use crate::agents::AgentsCommand;
use crate::error::Failure;
use crate::permissions::PermissionsCommand;
use crate::run::{RunArguments, TerminalArguments};
use crate::sessions::SessionsCommand;
use crate::settings::{Places, SettingsError};
use crate::trust::Trust;

/// maia: many agents at once, all of them in sight, none of them to be feared.
#[derive(Debug, Parser)]
#[command(name = "maia", version, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    terminal: TerminalArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Does one request without a terminal: the answer on stdout, progress on stderr.
    Run(Box<RunArguments>),
    /// Lists, shows and checks agent definitions.
    Agents {
        #[command(subcommand)]
        command: AgentsCommand,
        /// Trusts what the folder brings, for this run; with a hash, only if it has that one.
        #[arg(long, value_name = "HASH", num_args = 0..=1, require_equals = true, default_missing_value = "", global = true)]
        trust: Option<String>,
        /// Launch folder.
        #[arg(long, value_name = "DIR", global = true)]
        cwd: Option<PathBuf>,
    },
    /// Lists and shows what was recorded.
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
        /// Launch folder.
        #[arg(long, value_name = "DIR", global = true)]
        cwd: Option<PathBuf>,
    },
    /// Checks rules and verdicts.
    Permissions {
        #[command(subcommand)]
        command: PermissionsCommand,
    },
    /// Shows what the folder brings that needs trust, and which folders have it.
    Trust {
        #[command(subcommand)]
        command: TrustCommand,
    },
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// Lists the items with their hashes.
    Show {
        /// Launch folder.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Lists the folders of which something was said.
    List,
    /// Forgets what was said of a folder; without one of the launch folder.
    Revoke {
        /// The folder.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// Writes what is traced to stderr where `MAIA_LOG` asks for it (`debug`, `maia_actors=trace`): for faults in maia itself.
fn log() {
    if let Some(filter) = env("MAIA_LOG") {
        let filter = tracing_subscriber::EnvFilter::new(filter);
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    }
}

/// Reads `--trust[=HASH]`.
pub fn trust(flag: Option<&str>) -> Trust {
    match flag {
        None => Trust::No,
        Some("") => Trust::All,
        Some(hash) => Trust::Hash(hash.to_owned()),
    }
}

/// Returns a variable of the environment.
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        let mend = error.help().map(|help| help.to_string());
        let failure = Failure::usage(error.to_string());
        match mend {
            Some(mend) => failure.mend(mend),
            None => failure,
        }
    }
}

/// Reads the command line and carries it out.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to stdout with 0, errors to stderr with 2; a closed pipe changes nothing. An error
            // quotes what was given, which may hold escapes of somebody else.
            if error.use_stderr() {
                crate::print::say(error.to_string().trim_end());
            } else {
                let _ = error.print();
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    log();
    let done = match arguments.command {
        Some(command) => carry_out(command),
        None => crate::run::interactive(arguments.terminal),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.reason.exit_code())
        }
    }
}

fn carry_out(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Run(arguments) => crate::run::run(*arguments),
        Command::Agents { command, trust: flag, cwd } => {
            let places = Places::find(cwd.as_deref(), &env)?;
            let trusted = crate::trust::decide(&trust(flag.as_deref()), &places, &env)?.trusted;
            Ok(code(crate::agents::run(command, &places, trusted)))
        }
        Command::Sessions { command, cwd } => {
            crate::sessions::run(command, &Places::find(cwd.as_deref(), &env)?)
        }
        Command::Permissions { command } => crate::permissions::run(command),
        Command::Trust { command } => match command {
            TrustCommand::Show { cwd } => {
                let places = Places::find(cwd.as_deref(), &env)?;
                Ok(code(crate::trust::show(&places)))
            }
            TrustCommand::List => Ok(code(crate::trust::list_all(&Places::find(None, &env)?)?)),
            TrustCommand::Revoke { folder } => {
                crate::trust::revoke(&Places::find(None, &env)?, folder.as_deref())
            }
        },
    }
}

fn code(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(1)
}
