//! Which processes descend from one, and how to end them all.
//!
//! - Asked by the helper for its own descendants, by a resume for those of a dead session's helper.
//! - Reads `/proc`. A process is known by its id and its start time; signals go through a handle of the process, so that an
//!   id that was given to another process is never hit.
//! - Stops first, then kills: what is stopped starts no new processes, so the set that is killed is complete.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// How long one round waits for the processes that it killed, in milliseconds, before it looks again.
const ROUND_MS: i64 = 100;
/// Rounds after which the processes of a dead session are given up: they are stuck in the kernel.
const ROUNDS: usize = 50;

/// What identifies a helper process, also after maia is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`.
    pub start_time: u64,
    /// The kernel's boot id.
    pub boot_id: String,
}

impl ProcessInfo {
    /// Returns what identifies the process `pid` of now; `None` when there is none. Blocks (it reads `/proc`).
    pub fn of(pid: i32) -> Option<Self> {
        let process = Process::read(pid)?;
        Some(Self { pid, start_time: process.start_time, boot_id: boot_id()? })
    }
}

/// A line of `/proc/<pid>/stat`, as far as it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// Name of the program, at most 15 bytes, control characters replaced.
    pub(super) name: String,
    parent: i32,
    session: i32,
    start_time: u64,
    /// Whether it has ended and only waits to be collected.
    ended: bool,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&line))
    }

    /// Reads the line; the name is in parentheses and may hold anything, parentheses too.
    fn parse(pid: i32, line: &str) -> Option<Self> {
        let (start, rest) = line.rsplit_once(')')?;
        let (_, name) = start.split_once('(')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let state = *fields.first()?;
        let threads: u64 = fields.get(17)?.parse().ok()?;
        Some(Self {
            pid,
            name: name
                .chars()
                .map(|character| if character.is_control() { '?' } else { character })
                .collect(),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
            // A first thread that has ended looks like a zombie while others go on.
            ended: matches!(state, "Z" | "X" | "x") && threads <= 1,
        })
    }

    /// Opens a handle of this very process; `None` when it is gone.
    fn open(&self) -> Option<Handle> {
        let pid = Pid::from_raw(self.pid)?;
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Handle::Fd(fd),
            Err(Errno::SRCH) => return None,
            // An old kernel, or a filter around maia: the id alone has to do.
            Err(_) => Handle::Id(pid),
        };
        // The handle is that of whoever has the id now: look again whether it is still the same one.
        let now = Self::read(self.pid)?;
        (now.start_time == self.start_time).then_some(handle)
    }
}

/// What signals are sent through.
enum Handle {
    Fd(OwnedFd),
    Id(Pid),
}

impl Handle {
    /// Sends `signal`; that the process may have ended since is as good.
    fn send(&self, signal: Signal) {
        let _ = match self {
            Self::Fd(fd) => pidfd_send_signal(fd, signal),
            Self::Id(pid) => kill_process(*pid, signal),
        };
    }

    /// Waits at most `wait` for the end of the process, whoever its parent is; returns whether it has ended.
    fn ended(&self, wait: &Timespec) -> bool {
        match self {
            Self::Fd(fd) => !matches!(poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(wait)), Ok(0)),
            Self::Id(_) => {
                std::thread::sleep(Duration::from_millis(5));
                true
            }
        }
    }
}

fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// Returns every process of now.
fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect()
}

/// Returns the living descendants of `root`, without it.
pub(super) fn descendants(root: i32) -> Vec<Process> {
    below(root, all())
}

fn below(root: i32, all: Vec<Process>) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(parent) = pending.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            pending.push(process.pid);
            found.push(process);
        }
    }
    // One that has ended may still be the parent of living ones, so it is left out only now.
    found.retain(|process| !process.ended);
    found
}

/// Sends `signal` to every descendant of `root` once.
pub(super) fn signal_descendants(root: i32, signal: Signal) {
    for handle in descendants(root).iter().filter_map(Process::open) {
        handle.send(signal);
    }
}

/// Does one round on what `find` gives: stops all, also those that appear meanwhile, kills them, and waits a moment for
/// their end. Returns what was found; none means that nothing is left.
pub(super) fn round(find: impl Fn() -> Vec<Process>) -> Vec<Process> {
    let mut known = HashSet::new();
    let mut found = Vec::new();
    let mut handles = Vec::new();
    loop {
        let mut new = find();
        new.retain(|process| known.insert((process.pid, process.start_time)));
        if new.is_empty() {
            break;
        }
        for process in new {
            if let Some(handle) = process.open() {
                handle.send(Signal::STOP);
                handles.push(handle);
            }
            found.push(process);
        }
    }
    for handle in &handles {
        handle.send(Signal::KILL);
    }
    let mut wait = Timespec { tv_sec: 0, tv_nsec: ROUND_MS * 1_000_000 };
    for handle in &handles {
        if !handle.ended(&wait) {
            wait = Timespec { tv_sec: 0, tv_nsec: 0 };
        }
    }
    found
}

/// Repeats [`round`] until nothing is left or nothing helps.
///
/// Nothing is left when two looks in a row find nothing: one can miss a process whose parent ends while `/proc` is read.
fn end(find: impl Fn() -> Vec<Process>) {
    let mut empty = 0;
    for _ in 0..ROUNDS {
        empty = if round(&find).is_empty() { empty + 1 } else { 0 };
        if empty == 2 {
            return;
        }
    }
}

/// Ends the helper of a dead session with all its descendants, and waits until they are gone. Blocks.
///
/// Returns whether something was there: only a process of this boot with this id and this start time is touched.
pub fn kill_leftover(pid: i32, start_time: u64, boot: &str) -> bool {
    let is_helper = |process: &Process| process.start_time == start_time;
    if boot_id().as_deref() != Some(boot) || !Process::read(pid).is_some_and(|process| is_helper(&process)) {
        return false;
    }
    // Descendants first: without the helper they would be adopted by somebody else and lost from sight.
    end(|| descendants(pid));
    end(|| Process::read(pid).filter(|process| is_helper(process) && !process.ended).into_iter().collect());
    true
}

/// Ends what is left of the session `session` that a command was the leader of. Blocks.
///
/// For the one case that the helper itself was killed from inside: what it had adopted is then nobody's. Processes that
/// had also left the session are not found.
pub fn end_session(session: i32) {
    end(|| all().into_iter().filter(|process| process.session == session && !process.ended).collect());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, state: &str, parent: i32, threads: u32) -> String {
        format!("7 ({name}) {state} {parent} 7 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 12345 1 1")
    }

    #[test]
    fn a_name_may_hold_anything() {
        let process = Process::parse(7, &line("a) R (b\n", "S", 3, 1)).expect("a whole line");
        assert_eq!((process.name.as_str(), process.parent, process.session), ("a) R (b?", 3, 5));
        assert_eq!((process.start_time, process.ended), (12345, false));
        assert_eq!(Process::parse(7, "7 (x) S 3"), None);
        assert_eq!(Process::parse(7, ""), None);
    }

    #[test]
    fn a_zombie_with_living_threads_is_alive() {
        assert!(Process::parse(7, &line("x", "Z", 3, 1)).expect("a whole line").ended);
        assert!(!Process::parse(7, &line("x", "Z", 3, 2)).expect("a whole line").ended);
    }

    #[test]
    fn descendants_are_found_through_ended_parents() {
        let process = |pid, parent, ended| Process {
            pid,
            name: String::new(),
            parent,
            session: 1,
            start_time: 1,
            ended,
        };
        let all = vec![process(2, 1, true), process(3, 2, false), process(4, 9, false), process(1, 0, false)];
        let found: Vec<i32> = below(1, all).iter().map(|process| process.pid).collect();
        assert_eq!(found, [3]);
    }

    #[test]
    fn only_the_very_process_is_a_leftover() {
        let own = ProcessInfo::of(i32::try_from(std::process::id()).expect("a process id"))
            .expect("this process runs");
        assert!(!kill_leftover(own.pid, own.start_time + 1, &own.boot_id));
        assert!(!kill_leftover(own.pid, own.start_time, "another boot"));
        assert!(!kill_leftover(-1, 0, &own.boot_id));
    }
}
