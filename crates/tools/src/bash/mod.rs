//! Bash: runs one command through the helper and gives what it printed (mission M8-bash).
//!
//! - Asked by the actor of one call, on the runtime; nothing here blocks it.
//! - The helper (`exec`) owns the processes. This side owns the time limit, the output, and the pipe whose end ends everything:
//!   dropping the future is enough to end the command.
//! - Whatever happens is a result with a last line that tells how it ended.

mod capture;
mod outcome;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use maia_protocol::tool::{Exit, ToolOutput};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

use crate::args::{self, BashArgs, Call};
use crate::exec::wire::{Report, Request, STOP};
use crate::exec::{self, ProcessInfo};
use crate::place::Workspace;
use crate::spec::{TIMEOUT_CAP_S, TIMEOUT_S};

use capture::Capture;

/// Ends a call early when it is cancelled.
pub use tokio_util::sync::CancellationToken as Cancel;

/// From the request to stop until the helper is taken to be unable to answer: its own second, and some more.
const UNANSWERED: Duration = Duration::from_secs(6);
/// From the helper's end to the end of reading: only a pipe that was handed to a stranger is still open then.
const DRAIN: Duration = Duration::from_millis(500);
/// Bytes of a helper's report at most.
const REPORT: usize = 64 * 1024;

/// What a command may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time when the call names none.
    pub timeout: Duration,
    /// Time that a call may name at most.
    pub timeout_cap: Duration,
    /// Characters of output that the model gets.
    pub output_chars: usize,
    /// Characters of output that are shown while it runs.
    pub live_chars: usize,
}

impl Default for Limits {
    /// Mission M8-bash, W-act-timeouts, M23: 120 s, 600 s, 30,000 characters, a capture of 1,000,000.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(TIMEOUT_S),
            timeout_cap: Duration::from_secs(TIMEOUT_CAP_S),
            output_chars: 30_000,
            live_chars: 1_000_000,
        }
    }
}

/// Runs a command and returns when nothing of it is left.
///
/// `on_started` gets the helper's process before the command begins, for the journal, unless the system hides it (`hidepid`);
/// `on_output` gets the output as it
/// comes, up to [`Limits::live_chars`], and must not block.
pub async fn run(
    input: &Value,
    workspace: &Workspace,
    limits: &Limits,
    on_started: impl FnOnce(ProcessInfo),
    on_output: impl FnMut(&str) + Send,
    cancel: Cancel,
) -> ToolOutput {
    let args = match args::parse("Bash", input) {
        Ok(Some(Call::Bash(args))) => args,
        Ok(_) => return ToolOutput::error("invalid_input: this is no Bash"),
        Err(fault) => return fault.into(),
    };
    let mut run = Run {
        capture: Capture::new(limits.output_chars),
        report: Vec::new(),
        stopped: None,
        timeout: args.timeout_s.map_or(limits.timeout, Duration::from_secs).min(limits.timeout_cap),
    };
    if cancel.is_cancelled() {
        run.stopped = Some(Exit::Interrupted);
        return run.output(Report::default());
    }
    match start(args, workspace).await {
        Ok(helper) => {
            helper.info.clone().map(on_started);
            let report = run.follow(helper, on_output, limits.live_chars, &cancel).await;
            run.output(report)
        }
        Err(error) => run.output(Report { failed: Some(error.to_string()), ..Report::default() }),
    }
}

/// A helper that waits for its request, or has it.
struct Helper {
    child: Child,
    control: ChildStdin,
    status: ChildStdout,
    output: ChildStderr,
    /// Unknown where `/proc` hides it; the pipe holds the helper all the same.
    info: Option<ProcessInfo>,
    request: Vec<u8>,
}

async fn start(args: BashArgs, workspace: &Workspace) -> std::io::Result<Helper> {
    let path = workspace.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let shell = tokio::task::spawn_blocking(move || shell(path.as_deref())).await?;
    let mut argv: Vec<Vec<u8>> = shell.into_iter().map(String::into_bytes).collect();
    argv.push(args.command.into_bytes());
    let request = Request { argv, stdin: args.stdin.map(String::into_bytes) }.encode();

    let mut child = Command::new(&workspace.exe)
        .args([exec::ARGUMENT, "hold"])
        .env_clear()
        .envs(workspace.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&workspace.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Out of reach of the terminal's Ctrl+C; and when maia dies, a stopped helper is woken by the kernel.
        .process_group(0)
        .spawn()?;
    let gone = || std::io::Error::other("the helper ended at once");
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).ok_or_else(gone)?;
    let info = tokio::task::spawn_blocking(move || ProcessInfo::of(pid)).await?;
    let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
    let ((control, status), output) = pipes.ok_or_else(gone)?;
    Ok(Helper { child, control, status, output, info, request })
}

/// Returns the shell and its options: bash where there is one, else sh (mission, open point 10).
fn shell(path: Option<&str>) -> Vec<String> {
    let fixed = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].map(PathBuf::from);
    let named = path.unwrap_or_default().split(':').filter(|folder| folder.starts_with('/'));
    let found = fixed
        .into_iter()
        .chain(named.map(|folder| Path::new(folder).join("bash")))
        .find(|bash| bash.is_file());
    match found.as_deref().and_then(Path::to_str) {
        Some(bash) => [bash, "--noprofile", "--norc", "-c"].map(str::to_owned).to_vec(),
        None => ["/bin/sh", "-c"].map(str::to_owned).to_vec(),
    }
}

/// One command while it runs.
struct Run {
    capture: Capture,
    report: Vec<u8>,
    /// Why it was stopped, when it was.
    stopped: Option<Exit>,
    timeout: Duration,
}

impl Run {
    /// Reads until the helper has ended, which it does when nothing of the command is left.
    async fn follow(
        &mut self,
        helper: Helper,
        mut on_output: impl FnMut(&str) + Send,
        live_chars: usize,
        cancel: &Cancel,
    ) -> Report {
        let Helper { mut child, mut control, mut status, mut output, info, request } = helper;
        let mut live = live_chars;
        let mut show = |text: &str| {
            if live > 0 && !text.is_empty() {
                live = live.saturating_sub(text.chars().count());
                on_output(text);
            }
        };
        // A helper that cannot take its request has ended; the end of its report tells.
        let _ = tokio::time::timeout(UNANSWERED, control.write_all(&request)).await;
        let until = tokio::time::sleep(self.timeout);
        tokio::pin!(until);
        let (mut status_open, mut output_open) = (true, true);
        let mut said = [0; 4096];
        let mut bytes = vec![0; 64 * 1024];
        while status_open || output_open {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if self.stopped.is_none() && status_open => {
                    self.stop(Exit::Interrupted, &mut control).await;
                    until.as_mut().reset(Instant::now() + UNANSWERED);
                }
                () = &mut until => {
                    if !status_open || self.stopped.is_some() {
                        break;
                    }
                    self.stop(Exit::TimedOut, &mut control).await;
                    until.as_mut().reset(Instant::now() + UNANSWERED);
                }
                read = status.read(&mut said), if status_open => match read {
                    Ok(n @ 1..) if self.report.len() < REPORT => {
                        self.report.extend_from_slice(said.get(..n).unwrap_or_default());
                    }
                    Ok(1..) => {}
                    _ => {
                        status_open = false;
                        until.as_mut().reset(Instant::now() + DRAIN);
                        self.orphans().await;
                    }
                },
                read = output.read(&mut bytes), if output_open => match read {
                    Ok(n @ 1..) => show(&self.capture.push(bytes.get(..n).unwrap_or_default())),
                    _ => output_open = false,
                },
            }
        }
        show(&self.capture.finish());
        drop(control);
        if let Some(info) = info.filter(|_| status_open) {
            // It does not answer: stopped from inside, or stuck. Its processes are ended from here.
            let end = move || exec::kill_leftover(info.pid, info.start_time, &info.boot_id);
            if let Err(error) = tokio::task::spawn_blocking(end).await {
                tracing::warn!(%error, "a helper could not be ended");
            }
        }
        // It has ended, or it is collected later by the runtime.
        let _ = tokio::time::timeout(DRAIN, child.wait()).await;
        self.decoded()
    }

    fn decoded(&self) -> Report {
        Report::decode(&String::from_utf8_lossy(&self.report))
    }

    async fn stop(&mut self, why: Exit, control: &mut ChildStdin) {
        self.stopped = Some(why);
        // A helper that is gone has nothing to stop.
        let _ = control.write_all(&[STOP]).await;
    }

    /// Ends what a helper left that was itself killed: it never says how the command ended.
    async fn orphans(&mut self) {
        let report = self.decoded();
        let unfinished = report.code.is_none() && report.signal.is_none() && report.failed.is_none();
        if let Some(session) = report.started.filter(|_| unfinished)
            && let Err(error) = tokio::task::spawn_blocking(move || exec::end_session(session)).await
        {
            tracing::warn!(%error, "what a helper left could not be ended");
        }
    }

    fn output(self, report: Report) -> ToolOutput {
        outcome::output(self.capture, self.stopped, self.timeout, &report)
    }
}
