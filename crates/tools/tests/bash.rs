//! Bash from outside: what the model gets for a command (mission M8-bash, R109 to R121).

use std::path::{Path, PathBuf};
use std::time::Duration;

use maia_protocol::tool::{Exit, ToolOutput};
use maia_tools::bash::{self, Cancel, Limits};
use maia_tools::{Workspace, child_env};
use serde_json::{Value, json};

fn workspace(cwd: &Path) -> Workspace {
    let env = child_env(std::env::vars(), false, &[], &[]);
    Workspace {
        cwd: cwd.to_owned(),
        home: cwd.to_owned(),
        env,
        exe: PathBuf::from(env!("CARGO_BIN_EXE_maia-exec-host")),
    }
}

async fn run_with(input: Value, limits: &Limits) -> ToolOutput {
    bash::run(&input, &workspace(Path::new("/tmp")), limits, |_| {}, |_| {}, Cancel::new()).await
}

async fn run(command: &str) -> ToolOutput {
    run_with(json!({"command": command}), &Limits::default()).await
}

#[tokio::test]
async fn output_and_exit_code() {
    let cases = [
        ("echo a && echo b", "a\nb\n[exit code: 0]", Exit::Code(0)),
        ("true", "[exit code: 0]", Exit::Code(0)),
        ("echo out; echo err >&2; printf end; exit 3", "out\nerr\nend\n[exit code: 3]", Exit::Code(3)),
        ("printf '\\377\\376x'", "\u{fffd}\u{fffd}x\n[exit code: 0]", Exit::Code(0)),
        ("kill -SEGV $$", "[ended by signal 11 (SEGV)]", Exit::Signal(11)),
        ("cat", "[exit code: 0]", Exit::Code(0)),
        ("[[ a == a ]] && echo bash", "bash\n[exit code: 0]", Exit::Code(0)),
        // A session of its own, without a terminal, without what maia was started with.
        (
            "test $(ps -o sid= -p $$) = $$ && (: < /dev/tty) 2>/dev/null || echo none",
            "none\n[exit code: 0]",
            Exit::Code(0),
        ),
        ("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 \n[exit code: 0]", Exit::Code(0)),
        ("grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:1\n[exit code: 0]", Exit::Code(0)),
        // What the helper outlives must still end the command.
        (
            "grep SigBlk /proc/self/status | tr -d '\\t'; trap -p TERM",
            "SigBlk:0000000000000000\n[exit code: 0]",
            Exit::Code(0),
        ),
    ];
    for (command, text, exit) in cases {
        let output = run(command).await;
        assert_eq!((output.text.as_str(), output.exit), (text, Some(exit)), "{command}");
        assert_eq!(output.is_error, exit != Exit::Code(0), "{command}");
    }
}

#[tokio::test]
async fn standard_input_is_given_whole() {
    let stdin = "é".repeat(32 * 1024);
    let output = run_with(json!({"command": "wc -c", "stdin": stdin}), &Limits::default()).await;
    assert_eq!(output.text, "65536\n[exit code: 0]");
}

#[tokio::test]
async fn live_output_is_the_output() {
    let mut live = String::new();
    let mut helper = None;
    let input = json!({"command": "for i in $(seq 2000); do echo $i; done"});
    let output = bash::run(
        &input,
        &workspace(Path::new("/tmp")),
        &Limits::default(),
        |process| helper = Some(process),
        |chunk| live.push_str(chunk),
        Cancel::new(),
    )
    .await;
    assert_eq!(output.text, format!("{live}[exit code: 0]"));
    assert!(
        helper.is_some_and(|helper| helper.pid > 0 && helper.start_time > 0 && helper.boot_id.len() == 36)
    );
}

#[tokio::test]
async fn a_long_output_is_cut_in_the_middle() {
    let output = run("seq 100000").await;
    let body = output.text.strip_suffix("\n[exit code: 0]").expect("the last line tells the end");
    assert!(output.truncated && body.starts_with("1\n2\n") && body.ends_with("\n100000"));
    assert!(body.contains("characters left out") && body.chars().count() <= 30_000);
}

#[tokio::test]
async fn endless_output_ends_at_the_time_limit() {
    let limits = Limits { timeout: Duration::from_secs(1), live_chars: 10_000, ..Limits::default() };
    let mut live = 0;
    let input = json!({"command": "yes"});
    let workspace = workspace(Path::new("/tmp"));
    let output =
        bash::run(&input, &workspace, &limits, |_| {}, |chunk| live += chunk.chars().count(), Cancel::new())
            .await;
    assert_eq!(output.exit, Some(Exit::TimedOut));
    assert!(output.truncated && output.text.chars().count() <= 30_100);
    assert!(output.text.ends_with("\n[timeout (1 s)]"), "{}", &output.text[output.text.len() - 60..]);
    // One piece more than the limit at most.
    assert!((10_000..10_000 + 64 * 1024).contains(&live), "{live}");
}

#[tokio::test]
async fn a_time_limit_holds_against_pipes_and_traps() {
    let limits = Limits { timeout: Duration::from_millis(200), ..Limits::default() };
    for command in ["sleep 999 | cat", "trap '' TERM; echo trapped; while :; do sleep 999; done"] {
        let output = run_with(json!({"command": command}), &limits).await;
        assert_eq!(output.exit, Some(Exit::TimedOut), "{command}");
    }
}

/// Runs `command` and cancels it when it has said `ready`.
async fn cancelled(command: &str) -> ToolOutput {
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let show = move |chunk: &str| {
        if chunk.contains("ready") {
            stop.cancel();
        }
    };
    let (input, workspace) = (json!({"command": command}), workspace(Path::new("/tmp")));
    bash::run(&input, &workspace, &Limits::default(), |_| {}, show, cancel).await
}

#[tokio::test]
async fn a_cancelled_command_may_tidy_up() {
    let cases = [
        ("echo ready; sleep 999", "ready\n[interrupted]"),
        ("trap 'echo tidied; exit' TERM; echo ready; sleep 999 & wait", "ready\ntidied\n[interrupted]"),
        // A child may, too, although the shell is gone by then.
        (
            "bash -c 'trap \"echo tidied; exit\" TERM; echo ready; sleep 999 & wait' & wait",
            "ready\ntidied\n[interrupted]",
        ),
        ("trap '' TERM; echo ready; while :; do sleep 999; done", "ready\n[interrupted]"),
    ];
    for (command, text) in cases {
        let output = cancelled(command).await;
        assert_eq!((output.text.as_str(), output.exit), (text, Some(Exit::Interrupted)), "{command}");
    }
}

#[tokio::test]
async fn a_call_can_be_cancelled_at_once() {
    let input = json!({"command": "sleep 999"});
    let workspace = workspace(Path::new("/tmp"));
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let output =
        bash::run(&input, &workspace, &Limits::default(), |_| stop.cancel(), |_| {}, cancel.clone()).await;
    assert_eq!(output.text, "[interrupted]");
    // Cancelled before it began, it never begins.
    let output =
        bash::run(&input, &workspace, &Limits::default(), |_| panic!("it began"), |_| {}, cancel).await;
    assert_eq!(output.text, "[interrupted]");
}

#[tokio::test]
async fn what_cannot_be_started_is_a_result() {
    let gone = workspace(Path::new("/nonexistent"));
    let output =
        bash::run(&json!({"command": "true"}), &gone, &Limits::default(), |_| {}, |_| {}, Cancel::new())
            .await;
    assert!(
        output.is_error && output.text.starts_with("[the command could not be started: "),
        "{}",
        output.text
    );
    // Longer than the kernel takes as one argument.
    let output = run(&format!("# {}", "x".repeat(200_000))).await;
    assert_eq!(output.exit, Some(Exit::NotStarted), "{}", output.text);
    assert!(output.text.contains("Argument list too long"), "{}", output.text);
}

#[tokio::test]
async fn many_commands_at_once_lose_nothing() {
    let mut set = tokio::task::JoinSet::new();
    for n in 0..60 {
        set.spawn(async move { (n, run(&format!("echo a{n} && echo b{n}")).await) });
    }
    while let Some(done) = set.join_next().await {
        let (n, output) = done.expect("no panic");
        assert_eq!(output.text, format!("a{n}\nb{n}\n[exit code: 0]"));
    }
}
