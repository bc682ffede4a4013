//! The helper: holds one command and everything that descends from it (SAFETY 5).
//!
//! - Started by maia, one for each command. Single-threaded: the parent-death signal of the command is bound to a thread.
//! - Told what to run, to stop, and by the end of the pipe that maia is gone or the call over.
//! - Owns every descendant of the command: those whose parents end become its own children.
//! - Ends when nothing is left, not before; it cannot be ended by TERM, INT or HUP.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, wait};
use signal_hook::consts;

use super::wire::{Report, Request, STOP};
use super::{payload, tree};

/// The word after `__exec` that leads here.
pub(super) const STAGE: &str = "hold";

/// What a command started last may still take when the command has ended: a `tee` behind a process substitution.
const GRACE: Duration = Duration::from_millis(200);
/// From TERM to KILL (mission M8-bash).
const TERM_TO_KILL: Duration = Duration::from_secs(1);
/// Before it is looked again for a child that could not be found.
const MOMENT: Duration = Duration::from_millis(5);
/// Processes that are named in a report.
const NAMED: usize = 5;

/// Signals that must not end or stop the helper. They are handled, not ignored: ignoring would be inherited.
const OUTLIVED: [i32; 10] = [
    consts::SIGTERM,
    consts::SIGINT,
    consts::SIGHUP,
    consts::SIGQUIT,
    consts::SIGUSR1,
    consts::SIGUSR2,
    consts::SIGALRM,
    consts::SIGTSTP,
    consts::SIGTTIN,
    consts::SIGTTOU,
];

/// Runs one command from its request to the end of its last descendant.
pub(super) fn run() -> ExitCode {
    let mut report = Report::default();
    if let Err(error) = hold(&mut report) {
        report.failed = Some(error.to_string());
    }
    // Nobody reads it when maia is gone.
    let _ = io::stdout().write_all(report.encode().as_bytes());
    ExitCode::SUCCESS
}

fn hold(report: &mut Report) -> io::Result<()> {
    super::hide_from_debuggers();
    // What maia was started with beyond the three standard ones is nothing to a command.
    close_fds::set_fds_cloexec(3, &[]);
    set_child_subreaper(Some(getpid()))?;
    let told = Arc::new(AtomicBool::new(false));
    for signal in OUTLIVED {
        signal_hook::flag::register(signal, Arc::clone(&told))?;
    }
    let (children, child_ended) = UnixStream::pair()?;
    children.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(consts::SIGCHLD, child_ended)?;

    // Read without a buffer: what follows the request must still be seen by `poll`.
    let mut control = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let request = Request::decode(&mut control)?;
    let (payload, mut side) = start(request)?;
    // From here on every way out, a panic too, leads through the end of all descendants.
    let _sweep = Sweep { payload };
    report.started = Some(payload.as_raw_nonzero().get());
    // Said before the command runs: maia needs it when this process is killed from inside. When maia is gone, `watch` sees it.
    let _ = io::stdout().write_all(report.encode().as_bytes()).and_then(|()| io::stdout().flush());
    // Kept open, the pipe of the output would never end.
    rustix::stdio::dup2_stderr(File::open("/dev/null")?)?;
    side.write_all(&[payload::GO])?;
    let mut why = String::new();
    side.read_to_string(&mut why)?;
    if !why.is_empty() {
        return Err(io::Error::other(why));
    }
    watch(payload, control, children, report);
    Ok(())
}

/// Ends everything that descends from the helper when it goes out of scope.
struct Sweep {
    payload: Pid,
}

impl Drop for Sweep {
    fn drop(&mut self) {
        let own = getpid().as_raw_nonzero().get();
        while matches!(reap(self.payload, &mut Report::default()), Children::Some) {
            if tree::round(|| tree::descendants(own)).is_empty() {
                // A child that is neither listed nor collectable yet: give the kernel its moment.
                std::thread::sleep(MOMENT);
            }
        }
    }
}

/// Starts the payload, which waits for [`payload::GO`] on the stream given back before it becomes the command.
fn start(request: Request) -> io::Result<(Pid, UnixStream)> {
    let (side, other) = UnixStream::pair()?;
    let stdin = match request.stdin {
        None => Stdio::null(),
        Some(bytes) => {
            // In memory, so that nobody has to feed a pipe.
            let mut file = File::from(rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?);
            file.write_all(&bytes)?;
            file.rewind()?;
            Stdio::from(file)
        }
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg0("maia").args([super::ARGUMENT, payload::STAGE]).arg(std::process::id().to_string());
    command.args(request.argv.into_iter().map(OsString::from_vec)).stdin(stdin).stdout(OwnedFd::from(other));
    let child = command.spawn()?;
    // `command`, and with it the other side of the stream, is gone at the end of this function.
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok((pid.ok_or_else(|| io::Error::other("no process id"))?, side))
}

/// What `reap` found.
enum Children {
    /// Some run.
    Some,
    /// There is none: whatever descends from the command would be one, or below one.
    None,
}

/// Collects every child that has ended.
fn reap(payload: Pid, report: &mut Report) -> Children {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == payload => {
                report.code = status.exit_status();
                report.signal = status.terminating_signal();
            }
            Ok(Some(_)) => {}
            Ok(None) => return Children::Some,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Children::None,
        }
    }
}

/// Waits until the command has ended and nothing is left of it.
fn watch(payload: Pid, control: File, mut children: UnixStream, report: &mut Report) {
    let own = getpid().as_raw_nonzero().get();
    let mut deadline: Option<Instant> = None;
    // Whether maia asked for the end: what is left then needs no mention.
    let mut asked = false;
    let mut control = Some(control);
    loop {
        if matches!(reap(payload, report), Children::None) {
            return;
        }
        let now = Instant::now();
        let ended = report.code.is_some() || report.signal.is_some();
        if ended && deadline.is_none() {
            deadline = Some(now + GRACE);
        }
        if deadline.is_some_and(|deadline| deadline <= now) {
            let left = tree::round(|| tree::descendants(own));
            if !asked && report.left_count == 0 {
                report.left_count = left.len();
                report.left = left
                    .iter()
                    .take(NAMED)
                    .map(|process| format!("{} ({})", process.name, process.pid))
                    .collect();
            }
            // What ended in the round is collected above; what could not be ended yet is looked for again.
            if left.is_empty() {
                // A child that is neither listed nor collectable yet: give the kernel its moment.
                let _ = ready(None, &children, Some(&timespec(MOMENT)));
            }
            continue;
        }
        let wait = deadline.map(|deadline| timespec(deadline - now));
        let (control_ready, child_ready) = ready(control.as_ref(), &children, wait.as_ref());
        if child_ready {
            // Only the fact counts; what cannot be read now is read the next time.
            let _ = children.read(&mut [0; 256]);
        }
        if control_ready && let Some(pipe) = &mut control {
            asked = true;
            let mut byte = [0];
            match pipe.read(&mut byte) {
                Ok(1..) if byte == [STOP] => {
                    tree::signal_descendants(own, Signal::TERM);
                    deadline = deadline.or(Some(Instant::now() + TERM_TO_KILL));
                }
                Ok(1..) => {}
                _ => {
                    control = None;
                    deadline = Some(Instant::now());
                }
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

/// Waits for maia or for a child; returns whether each has something to say.
fn ready(control: Option<&File>, children: &UnixStream, wait: Option<&Timespec>) -> (bool, bool) {
    let mut fds = vec![PollFd::new(children, PollFlags::IN)];
    fds.extend(control.map(|control| PollFd::new(control, PollFlags::IN)));
    // An interruption is as good as a time-out: the caller looks at everything anyway.
    if poll(&mut fds, wait).is_err() {
        return (false, false);
    }
    let said = |index: usize| fds.get(index).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
    (said(1), said(0))
}
