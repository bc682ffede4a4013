//! The run that is killed: a main agent and two sub-agents that read, write, edit and run commands, and the endpoint that plays their model.
//!
//! - Asked by the tests for a scene of their own; owns its places and its endpoint, which outlives every maia that is killed.
//! - The endpoint answers by what the request says: whose it is by the system prompt, which step by the answers before it. So a
//!   question that is asked twice gets the same answer, and shows among the requests.
//! - Every command leaves a line in a log, every file ends with a text that a change done twice would spoil.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use maia_protocol::{Body, Record};
use maia_test_support::{FakeEndpoint, Reply, Request, Sse};
use maia_tests::harness::{Ended, Maia, World, field};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::evidence::{Asked, Evidence, File, Killed};

/// What the main agent ends with.
pub const RESULT: &str = "Both have reported. The answer is 42.";
/// What the person asks.
const PROMPT: &str = "Let both of them work.";
/// How long processes of a killed maia may take to go.
const GONE: Duration = Duration::from_secs(5);

/// Leaves a line for each call; with `leave` also a process that has a session of its own, with `hold` it does not end either.
const MARK: &str = "\
echo \"$1\" >> marks.log
if [ -n \"$2\" ]; then setsid sleep 300 & fi
if [ \"$2\" = hold ]; then echo yes > held; sleep 300; fi
";

/// The steps of each agent: its calls, or its final text.
enum Step {
    Calls(Vec<(&'static str, Value)>),
    Final(&'static str),
}

fn mark(word: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": format!("sh mark.sh {word}")}))
}

fn step(agent: &str, step: usize) -> Step {
    let read = |path: &str| ("Read", json!({"path": path}));
    let write = |path: &str, content: &str| ("Write", json!({"path": path, "content": content}));
    let edit = |path: &str, old: &str, new: &str| {
        ("Edit", json!({"path": path, "old_string": old, "new_string": new}))
    };
    let task =
        |agent: &str| ("Agent", json!({"agent": agent, "task": format!("Do the work of the {agent}.")}));
    match (agent, step) {
        ("maia", 1) => Step::Calls(vec![task("worker"), task("checker")]),
        // One call a step: here the records come in the same order in every run.
        ("maia", 2) => Step::Calls(vec![read("notes.txt")]),
        ("maia", 3) => Step::Calls(vec![write("main.txt", "by one\n")]),
        ("maia", 4) => Step::Calls(vec![edit("main.txt", "by one", "by one and two")]),
        ("maia", 5) => Step::Calls(vec![mark("main")]),
        ("maia", _) => Step::Final(RESULT),
        ("worker", 1) => Step::Calls(vec![read("notes.txt"), mark("worker-1")]),
        ("worker", 2) => Step::Calls(vec![write("worker.txt", "tick\n"), mark("worker-2 leave")]),
        // Done twice, it would be told: the text after holds the text before.
        ("worker", 3) => Step::Calls(vec![edit("worker.txt", "tick", "ticktock")]),
        ("worker", _) => Step::Final("worker: done"),
        ("checker", 1) => Step::Calls(vec![read("notes.txt"), write("checker.txt", "one\n")]),
        ("checker", 2) => {
            Step::Calls(vec![edit("checker.txt", "one", "one two"), edit("shared.txt", "count", "count 1")])
        }
        ("checker", 3) => Step::Calls(vec![mark("checker-1"), mark("checker-2")]),
        _ => Step::Final("checker: done"),
    }
}

/// The commands: id of the call, word in the log.
pub const MARKS: &[(&str, &str)] = &[
    ("maia:5.1", "main"),
    ("maia/worker#1:1.2", "worker-1"),
    ("maia/worker#1:2.2", "worker-2"),
    ("maia/checker#1:3.1", "checker-1"),
    ("maia/checker#1:3.2", "checker-2"),
];

/// The files of the launch folder as they have to be in the end, without the log.
pub const FILES: &[(&str, &str)] = &[
    ("notes.txt", "read me\n"),
    ("mark.sh", MARK),
    ("main.txt", "by one and two\n"),
    ("worker.txt", "ticktock\n"),
    ("checker.txt", "one two\n"),
    ("shared.txt", "count 1\n"),
];

/// How many answers each agent gets in a whole run.
pub const STEPS: &[(&str, u32)] = &[("maia", 6), ("maia/worker#1", 4), ("maia/checker#1", 4)];

/// Returns the path of the agent that asks, and the number of its request.
fn asked(request: &Request) -> Option<(&'static str, u32)> {
    let body = request.json();
    let messages = body["messages"].as_array()?;
    let system = messages.first()?["content"].to_string();
    // The head of a definition in a system prompt; the main agent has none.
    let agent = ["worker", "checker"].into_iter().find(|name| system.contains(&format!("# {name}\\n")));
    let answers = messages.iter().filter(|message| message["role"] == "assistant").count();
    Some((agent.unwrap_or("maia"), u32::try_from(answers).ok()? + 1))
}

fn respond(request: &Request) -> Reply {
    play(request, step)
}

/// As the model of a run with one command, which does not end by itself.
pub fn hold(request: &Request) -> Reply {
    play(request, |_, step| match step {
        1 => Step::Calls(vec![mark("main hold")]),
        _ => Step::Final(RESULT),
    })
}

fn play(request: &Request, step: fn(&str, usize) -> Step) -> Reply {
    let Some((agent, number)) = asked(request) else {
        return Reply::text(400, "only the chat is asked for");
    };
    let sse = match step(agent, number as usize) {
        Step::Final(text) => Sse::new().text(text).finish("stop"),
        Step::Calls(calls) => {
            let numbered = calls.iter().enumerate();
            let sse = numbered.fold(Sse::new(), |sse, (index, (name, input))| {
                sse.call(&format!("call_{agent}_{number}_{index}"), name, input)
            });
            sse.finish("tool_calls")
        }
    };
    Reply::sse(sse.usage(10, 5).done())
}

/// Where all endpoints of these tests live.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime can be started")
});

/// One session, from its first opening to its end.
pub struct Scene {
    world: World,
    endpoint: FakeEndpoint,
    killed: Vec<Killed>,
}

impl Scene {
    /// Sets everything up; nothing runs yet.
    pub fn new() -> Self {
        Self::played_by(respond)
    }

    /// As [`Scene::new`], with another model.
    pub fn played_by(model: fn(&Request) -> Reply) -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_maia-faulty"));
        for (name, text) in [("notes.txt", "read me\n"), ("shared.txt", "count\n"), ("mark.sh", MARK)] {
            world.write(name, text);
        }
        for name in ["worker", "checker"] {
            let allow = ["Read(**)", "Write(**)", "Edit(**)", "Bash(sh mark.sh *)"];
            world.agent(name, &["Read", "Write", "Edit", "Bash"], &allow);
        }
        Self { world, endpoint: RUNTIME.block_on(FakeEndpoint::start(model)), killed: Vec::new() }
    }

    /// Returns the folders of the session.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the records of the session; none as long as none is whole.
    pub fn records(&self) -> Vec<Record> {
        self.session().map(|(_, records)| records).unwrap_or_default()
    }

    /// Returns the id of the session that holds records, and those.
    fn session(&self) -> Option<(String, Vec<Record>)> {
        let sessions = self.world.sessions().into_iter().filter_map(|dir| {
            let (records, _) = maia_journal::read_all(&dir).ok()?;
            let id = dir.file_name()?.to_str()?.to_owned();
            (!records.is_empty()).then_some((id, records))
        });
        let mut sessions: Vec<_> = sessions.collect();
        assert!(sessions.len() < 2, "the run has become two sessions");
        sessions.pop()
    }

    /// Returns the journal's file.
    pub fn journal(&self) -> std::path::PathBuf {
        let (id, _) = self.session().expect("there is a session");
        let dir = self.world.sessions().into_iter().find(|dir| dir.ends_with(&id));
        dir.expect("it was just there").join("journal.jsonl")
    }

    /// Returns the command that begins the work or goes on with it, as a person would after what the journal says.
    pub fn command(&self) -> Maia {
        let rules = ["Agent", "Read(**)", "Write(**)", "Edit(**)", "Bash(sh mark.sh *)"];
        let maia = self.world.run().arg("--json").allow(&rules).endpoint(self.endpoint.url());
        let was_asked =
            |records: &[Record]| records.iter().any(|record| matches!(record.body, Body::UserMessage { .. }));
        match self.session() {
            None => maia.arg(PROMPT),
            Some((id, records)) if was_asked(&records) => maia.arg("--resume").arg(id),
            Some((id, _)) => maia.arg("--resume").arg(id).arg(PROMPT),
        }
    }

    /// Notes what is there now that a maia was killed.
    pub fn note_kill(&mut self) {
        // In this order: what came late from the dead process must not count as asked by the next one.
        let records = self.records();
        let files = self.files();
        self.killed.push(Killed { records, files, requests: self.endpoint.requests().len() });
    }

    /// Waits until nothing of these runs is left; returns what still is after some seconds.
    pub fn left(&self) -> Vec<(i32, String)> {
        let deadline = Instant::now() + GONE;
        loop {
            let left = self.world.processes();
            let more = deadline.saturating_duration_since(Instant::now());
            let Some((pid, _)) = left.first().filter(|_| !more.is_zero()) else { return left };
            // The end of one of them is waited for; then it is looked again, since others may have appeared.
            let pid = Pid::from_raw(*pid).expect("a process id");
            if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
                let more = Timespec::try_from(more).expect("some seconds");
                let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&more));
            }
        }
    }

    /// Returns everything that there is to judge by, after the run that ended.
    pub fn evidence(&self, ended: &Ended) -> Evidence {
        let events = ended.events();
        let last = events.last().map(|last| field(last, "result").to_owned());
        let requests = self.endpoint.requests();
        let asked = requests.iter().map(|request| {
            let (agent, step) = asked(request).unwrap_or(("nobody", 0));
            let path = if agent == "maia" { agent.to_owned() } else { format!("maia/{agent}#1") };
            Asked { agent: path, step, body: request.json() }
        });
        Evidence {
            code: ended.code,
            result: last,
            records: self.records(),
            requests: asked.collect(),
            files: self.files(),
            killed: self.killed.clone(),
            left: self.left(),
            said: ended.to_string(),
        }
    }

    fn files(&self) -> BTreeMap<String, File> {
        let mut found = BTreeMap::new();
        collect(&self.world.cwd(), &mut found);
        found
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<String, File>) {
    for entry in fs::read_dir(folder).expect("the folder is ours").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Temporary files come and go while a maia runs.
        let (Ok(text), Ok(meta)) = (fs::read_to_string(entry.path()), entry.metadata()) else { continue };
        let changed = (meta.mtime(), meta.mtime_nsec());
        found.insert(name, File { text, inode: meta.ino(), changed });
    }
}
