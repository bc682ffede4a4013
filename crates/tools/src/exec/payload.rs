//! The moment between the helper and the command: the same process, which then becomes the command.
//!
//! - Started by `hold` alone. Standard output is a stream to the helper that the command does not get: the helper says when
//!   the command may begin, this side says why it could not, and the closing of the stream says that it did.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

/// The word after `__exec` that leads here.
pub(super) const STAGE: &str = "payload";
/// What the helper says when everybody knows of this process: the command can no longer get lost.
pub(super) const GO: u8 = b'g';

/// Becomes the command; returns only when it cannot. `args`: process id of the helper, then program and arguments.
pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let helper = args.next().and_then(|pid| pid.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(helper), Some(program)) = (helper, args.next()) else { return ExitCode::from(2) };
    // Beyond the three standard ones, and closed by the exec.
    let Ok(side) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3) else {
        return ExitCode::from(127);
    };
    let mut side = UnixStream::from(side);
    let mut said = [0];
    let error = match alone(helper) {
        // Without the word the helper is gone: nothing may begin.
        Ok(()) if side.read_exact(&mut said).is_err() || said != [GO] => return ExitCode::from(127),
        // Signals and the mask go back to what a program expects; nothing of the helper is inherited.
        Ok(()) => Command::new(program).args(args).exec(),
        Err(error) => error.into(),
    };
    // Nobody reads it when the helper is gone.
    let _ = side.write_all(error.to_string().as_bytes());
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
