//! The moment between the helper and the command: the same process, which then becomes the command.
//!
//! - Started by `hold` alone. Standard output is a pipe to the helper that the command does not get: it says why the
//!   command could not be started, and its closing says that it was.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

/// The word after `__exec` that leads here.
pub(super) const STAGE: &str = "payload";

/// Becomes the command; returns only when it cannot. `args`: process id of the helper, then program and arguments.
pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let helper = args.next().and_then(|pid| pid.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(helper), Some(program)) = (helper, args.next()) else { return ExitCode::from(2) };
    // Beyond the three standard ones, and closed by the exec.
    let Ok(said) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3) else {
        return ExitCode::from(127);
    };
    let error = match alone(helper) {
        // Signals and the mask go back to what a program expects; nothing of the helper is inherited.
        Ok(()) => Command::new(program).args(args).exec(),
        Err(error) => error.into(),
    };
    // Nobody reads it when the helper is gone.
    let _ = std::fs::File::from(said).write_all(error.to_string().as_bytes());
    ExitCode::from(127)
}

/// Puts this process in a session of its own, without terminal, without new privileges, and bound to the helper's life.
fn alone(helper: Pid) -> Result<(), Errno> {
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The helper may have died before the line above; its death is not told twice.
    if getppid() != Some(helper) {
        return Err(Errno::SRCH);
    }
    rustix::thread::set_no_new_privs(true)
}
