//! A process under test: its output as it comes, its end, and a watchdog.
//!
//! - Made by [`super::Maia::start`]. Two threads read its output; who waits is woken by them, or fails with what came so far.
//! - A process that a failed test leaves is killed with its [`Running`].

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a test waits for anything before it fails; what is right takes a small part of it.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Streams that are read.
const STREAMS: usize = 2;

#[derive(Default)]
struct Output {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Streams that have ended.
    ended: usize,
}

#[derive(Default)]
struct Shared {
    output: Mutex<Output>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something; `None` when the output or the patience ends without.
    fn wait<T>(&self, look: impl Fn(&Output) -> Option<T>) -> Option<T> {
        self.wait_for(PATIENCE, look)
    }

    /// As [`Shared::wait`], with a patience of its own.
    fn wait_for<T>(&self, patience: Duration, look: impl Fn(&Output) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + patience;
        let mut output = self.lock();
        loop {
            let found = look(&output);
            let left = deadline.saturating_duration_since(Instant::now());
            if found.is_some() || left.is_zero() || output.ended == STREAMS {
                return found;
            }
            output = self.news.wait_timeout(output, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A process.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    shared: Arc<Shared>,
    shown: String,
}

/// What came of a process.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// All of stdout.
    pub stdout: Vec<u8>,
    /// All of stderr.
    pub stderr: Vec<u8>,
    /// The command line, for messages.
    pub shown: String,
}

impl Running {
    pub(super) fn new(mut command: Command, shown: String) -> Self {
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
        let shared = Arc::new(Shared::default());
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let stderr = child.stderr.take().expect("stderr is a pipe");
        read(stdout, shared.clone(), |output| &mut output.stdout);
        read(stderr, shared.clone(), |output| &mut output.stderr);
        let stdin = child.stdin.take();
        Self { child, stdin, shared, shown }
    }

    /// Writes `bytes` to its input from a thread, then closes it.
    pub(super) fn feed(mut self, bytes: Vec<u8>) -> Self {
        if let Some(mut stdin) = self.stdin.take() {
            // Who does not read to the end is right to end.
            std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        }
        self
    }

    /// Writes a line to its input.
    pub fn say(&mut self, line: impl std::fmt::Display) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        // A process that has ended is seen by what the test waits for next.
        let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
    }

    /// Closes its input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        // It is our child and not waited for yet, so the id is still its own.
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.shown));
    }

    /// Returns the events so far.
    pub fn events(&self) -> Vec<Value> {
        events(&self.shared.lock().stdout)
    }

    /// Waits for an event of the JSON stream and returns it; the first one that fits, also of those that came before.
    ///
    /// # Panics
    /// When the process ends without it, or [`PATIENCE`] does.
    #[track_caller]
    pub fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let found = self.shared.wait(|output| events(&output.stdout).into_iter().find(|event| fits(event)));
        found.unwrap_or_else(|| panic!("waited in vain: {what}\n{}", self.said()))
    }

    /// As [`Running::wait_for`]; `None` when the process ends without it, for one that may be killed before.
    pub fn look_for(&self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        self.shared.wait(|output| events(&output.stdout).into_iter().find(|event| fits(event)))
    }

    /// Waits until `text` stands in stderr.
    ///
    /// # Panics
    /// As [`Running::wait_for`].
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        let stands = |output: &Output| String::from_utf8_lossy(&output.stderr).contains(text).then_some(());
        self.shared.wait(stands).unwrap_or_else(|| panic!("waited in vain: {text}\n{}", self.said()));
    }

    /// Waits for its end; its input is closed.
    ///
    /// # Panics
    /// When it has not ended at the end of [`PATIENCE`].
    #[track_caller]
    pub fn end(mut self) -> Ended {
        self.stdin = None;
        // Its streams end with it, unless something that it left holds them: then that is what is wrong.
        let ended = self.shared.wait(|output| (output.ended == STREAMS).then_some(()));
        assert!(ended.is_some(), "it does not end\n{}", self.said());
        let status = self.child.wait().expect("it is our child");
        let mut output = self.shared.lock();
        let (stdout, stderr) = (std::mem::take(&mut output.stdout), std::mem::take(&mut output.stderr));
        drop(output);
        let shown = self.shown.clone();
        Ended { code: status.code(), signal: status.signal(), stdout, stderr, shown }
    }

    /// Lets it run for at most `time`, then kills it, if it has not ended by itself, and waits for its end.
    ///
    /// # Panics
    /// As [`Running::end`].
    #[track_caller]
    pub fn kill_after(self, time: Duration) -> Ended {
        // The end of the time is what is waited for; an end of the process only makes it shorter.
        let _ = self.shared.wait_for(time, |output| (output.ended == STREAMS).then_some(()));
        self.signal(Signal::KILL);
        self.end()
    }

    fn said(&self) -> String {
        let output = self.shared.lock();
        format!("{}\n--- stdout\n{}\n--- stderr\n{}", self.shown, tail(&output.stdout), tail(&output.stderr))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone in a test that is right.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Returns stdout as text.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns stderr as text.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Returns the events of its JSON stream.
    ///
    /// # Panics
    /// When a line of stdout is none.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let read = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("no event: {line:?}: {error}\n{self}"))
        };
        self.out().lines().map(read).collect()
    }

    /// Tells whether it was killed.
    pub fn was_killed(&self) -> bool {
        self.signal == Some(Signal::KILL.as_raw())
    }

    /// Checks its exit code, and returns it.
    ///
    /// # Panics
    /// When it is another one; with all that was said.
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "exit code of {self}");
        self
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (out, err) = (tail(&self.stdout), tail(&self.stderr));
        writeln!(f, "{}\ncode {:?}, signal {:?}", self.shown, self.code, self.signal)?;
        write!(f, "--- stdout\n{out}\n--- stderr\n{err}")
    }
}

/// Looks again and again until `done` holds.
///
/// # Panics
/// When it does not at the end of [`PATIENCE`]; with `what` and what `state` says.
#[track_caller]
pub(super) fn poll(what: &str, mut done: impl FnMut() -> bool, state: impl Fn() -> String) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain: {what}\n{}", state());
        // Nobody tells of files and of processes that are not our children: looking is all there is.
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn read(mut stream: impl Read + Send + 'static, shared: Arc<Shared>, part: fn(&mut Output) -> &mut Vec<u8>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        loop {
            let read = stream.read(&mut buffer).unwrap_or(0);
            let mut output = shared.lock();
            part(&mut output).extend_from_slice(buffer.get(..read).unwrap_or_default());
            output.ended += usize::from(read == 0);
            shared.news.notify_all();
            if read == 0 {
                return;
            }
        }
    });
}

fn events(stdout: &[u8]) -> Vec<Value> {
    let lines = stdout.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Returns the end of a text: the beginning of a long one helps nobody.
fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let skip = text.chars().count().saturating_sub(12_000);
    text.chars().skip(skip).collect()
}
