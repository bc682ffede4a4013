//! No descendant of a command outlives its call, nor a `kill -9` of maia (SAFETY 5, S135, S136).
//!
//! Every process of a test carries a mark in its arguments; a handle of each is awaited, so nothing here waits for time.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use maia_tools::bash::{self, Cancel, Limits};
use maia_tools::exec::ProcessInfo;
use maia_tools::{Workspace, child_env, kill_leftover};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::json;

const HOST: &str = env!("CARGO_BIN_EXE_maia-exec-host");

/// Ways to get away from a call. Each starts a process that would run for a long time and says `pid N` of it. It says so
/// through a pipe that is read before the command goes on, so it runs by then; its standard error stays the call's output.
/// `KEEP` is how the command goes on.
const ESCAPES: &[(&str, &str)] = &[
    ("background", "sleep 1000 & echo pid $!; KEEP"),
    ("setsid", "read -r said < <(setsid bash -c 'echo pid $$; exec sleep 1000'); echo $said; KEEP"),
    ("nohup", "read -r said < <(nohup bash -c 'echo pid $$; exec sleep 1000' < /dev/null); echo $said; KEEP"),
    ("double fork", "read -r said < <( ( bash -c 'echo pid $$; exec sleep 1000' & ) & ); echo $said; KEEP"),
    (
        "setsid and double fork",
        "read -r said < <(setsid bash -c '( setsid bash -c \"echo pid \\$\\$; exec sleep 1000\" & )' &); echo $said; KEEP",
    ),
    (
        "ignores signals",
        "read -r said < <(bash -c 'trap \"\" TERM HUP INT; echo pid $$; while :; do sleep 1000; done'); echo $said; KEEP",
    ),
    ("stopped", "read -r said < <(bash -c 'echo pid $$; kill -STOP $$; sleep 1000'); echo $said; KEEP"),
    (
        "closes everything",
        "read -r said < <(setsid bash -c 'echo pid $$; exec sleep 1000 <&- >&- 2>&-'); echo $said; KEEP",
    ),
];

fn workspace() -> Workspace {
    let cwd = PathBuf::from("/tmp");
    let env = child_env(std::env::vars(), false, &[], &[]);
    Workspace { home: cwd.clone(), cwd, env, exe: PathBuf::from(HOST) }
}

fn pids(text: &str) -> Vec<i32> {
    text.lines().filter_map(|line| line.strip_prefix("pid ")?.parse().ok()).collect()
}

/// Whether the process is gone, or only waits to be collected.
fn gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// Waits until the process has ended; a minute is for ever.
fn await_end(pid: i32) {
    let Ok(handle) = pidfd_open(Pid::from_raw(pid).expect("a process id"), PidfdFlags::empty()) else {
        return;
    };
    let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
    let ready =
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&minute)).expect("a process can be awaited");
    assert!(ready == 1, "process {pid} is still there");
}

#[tokio::test]
async fn nothing_outlives_its_call() {
    for (name, script) in ESCAPES {
        let input = json!({"command": script.replace("KEEP", "echo ok")});
        let output = bash::run(&input, &workspace(), &Limits::default(), |_| {}, |_| {}, Cancel::new()).await;
        let found = pids(&output.text);
        assert_eq!(found.len(), 1, "{name}: {}", output.text);
        assert!(found.iter().all(|pid| gone(*pid)), "{name}: {}", output.text);
        assert!(
            output.text.contains("ok\n") && output.text.ends_with("[exit code: 0]"),
            "{name}: {}",
            output.text
        );
        assert!(output.text.contains("still running"), "{name}: {}", output.text);
    }
}

#[tokio::test]
async fn nothing_outlives_a_cancelled_or_dropped_call() {
    for (name, script) in ESCAPES {
        for drop in [false, true] {
            let (said, mut saying) = tokio::sync::mpsc::unbounded_channel();
            let input = json!({"command": format!("{}; echo all", script.replace("KEEP", "true; echo started; sleep 1000"))});
            let workspace = workspace();
            let cancel = Cancel::new();
            let stop = cancel.clone();
            let call = tokio::spawn(async move {
                let limits = Limits::default();
                bash::run(
                    &input,
                    &workspace,
                    &limits,
                    |_| {},
                    move |chunk| drop_error(said.send(chunk.to_owned())),
                    stop,
                )
                .await
            });
            let mut text = String::new();
            while !text.contains("started") {
                text.push_str(&saying.recv().await.expect("the command says that it started"));
            }
            if drop {
                call.abort();
                assert!(call.await.expect_err("it was aborted").is_cancelled());
            } else {
                cancel.cancel();
                call.await.expect("no panic");
            }
            let found = pids(&text);
            assert_eq!(found.len(), 1, "{name}: {text}");
            for pid in found {
                if drop {
                    await_end(pid)
                }
                assert!(gone(pid), "{name}");
            }
        }
    }
}

fn drop_error<T>(result: Result<(), T>) {
    // A reader that is gone has seen enough.
    let _ = result;
}

/// An owner that runs `script`, what it said until `started`, and the helper's process id.
fn owner(script: &str) -> (Child, String, i32) {
    let command = script.replace("KEEP", "true; echo started; sleep 1000");
    let mut owner = Command::new(HOST)
        .args(["bash", "/tmp", &command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the host starts");
    let mut text = String::new();
    let mut lines = BufReader::new(owner.stdout.take().expect("a pipe")).lines();
    while !text.contains("started") {
        text.push_str(&lines.next().expect("it says that it started").expect("text"));
        text.push('\n');
    }
    let helper = text
        .lines()
        .find_map(|line| line.strip_prefix("helper ")?.parse().ok())
        .expect("the helper is named");
    (owner, text, helper)
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process id"), signal).expect("it runs");
}

#[test]
fn nothing_outlives_a_killed_owner() {
    for (name, script) in ESCAPES {
        let (mut owner, text, helper) = owner(script);
        // The helper outlives what a terminal or a person sends to it.
        for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
            kill(helper, signal);
        }
        owner.kill().expect("it runs");
        owner.wait().expect("it was killed");
        let found = pids(&text);
        assert_eq!(found.len(), 1, "{name}: {text}");
        found.into_iter().for_each(await_end);
        await_end(helper);
    }
}

#[test]
fn a_stopped_helper_ends_with_its_owner_too() {
    let (mut owner, text, helper) = owner("sleep 1000 & echo pid $!; KEEP");
    kill(helper, Signal::STOP);
    owner.kill().expect("it runs");
    owner.wait().expect("it was killed");
    let info = ProcessInfo::of(helper);
    // Where the kernel does not wake it (its group had lost its parent before), the next opening of the session ends it.
    if let Some(info) = info {
        kill_leftover(info.pid, info.start_time, &info.boot_id);
    }
    pids(&text).into_iter().for_each(await_end);
    await_end(helper);
}

#[test]
fn a_leftover_is_killed_only_when_it_is_the_very_process() {
    let (mut owner, text, helper) = owner(ESCAPES[1].1);
    let info = ProcessInfo::of(helper).expect("it runs");
    assert!(!kill_leftover(info.pid, info.start_time + 1, &info.boot_id));
    assert!(!kill_leftover(info.pid, info.start_time, "another boot"));
    let [pid] = pids(&text)[..] else { panic!("{text}") };
    assert!(!gone(pid) && !gone(helper));
    assert!(kill_leftover(info.pid, info.start_time, &info.boot_id));
    assert!(gone(pid) && gone(helper));
    owner.wait().expect("its command was ended");
}

#[tokio::test]
async fn a_command_that_kills_its_helper_gains_nothing() {
    let input = json!({"command": "sleep 1000 & echo pid $!; kill -9 $PPID; sleep 1000"});
    let output = bash::run(&input, &workspace(), &Limits::default(), |_| {}, |_| {}, Cancel::new()).await;
    assert!(output.text.ends_with("[ended by signal 9 (KILL)]"), "{}", output.text);
    assert!(pids(&output.text).into_iter().all(gone), "{}", output.text);
}

#[tokio::test]
async fn output_behind_a_process_substitution_is_not_lost() {
    let input = json!({"command": "echo hello > >(sed s/h/H/)"});
    let output = bash::run(&input, &workspace(), &Limits::default(), |_| {}, |_| {}, Cancel::new()).await;
    assert_eq!(output.text, "Hello\n[exit code: 0]");
}

#[test]
fn the_helper_is_of_no_use_by_hand() {
    for args in
        [&["__exec"][..], &["__exec", "payload"], &["__exec", "payload", "1", "true"], &["__exec", "nothing"]]
    {
        let status = Command::new(HOST)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(!status.expect("it starts").success(), "{args:?}");
    }
    assert!(Path::new(HOST).is_file());
}
