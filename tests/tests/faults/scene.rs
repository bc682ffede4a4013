//! The run that actors are made to fail in: a main agent with two sub-agents that read, write and run commands.
//!
//! - The endpoint answers by conversation, so an answer that was lost is given again.
//! - What is checked afterwards is in [`Seen`], which is also fed with runs that must not pass.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use maia_protocol::{Body, CallId, Record};
use maia_test_support::{Gate, Reply, Sse};
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Asked, Ended, Endpoint, Maia, World};
use serde_json::{Value, json};

use crate::MAIA;

/// What is different about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Nothing.
    Plain,
    /// The endpoint is busy at first.
    Busy,
    /// The worker's command does not end by itself; the worker is stopped.
    StopWorker,
    /// As before, and the other one's request is held; the turn is stopped.
    StopAll,
    /// As before, by SIGINT.
    Interrupt,
    /// The worker's command asks.
    Question,
    /// The main agent's request is held; a person starts an agent beside it.
    Beside,
    /// The disk is full for a moment.
    Disk,
}

/// The final answer.
pub const DONE: &str = "all done";

/// A run that can be started.
pub struct Stage {
    pub world: World,
    pub endpoint: Endpoint,
    pub gate: Gate,
}

impl Stage {
    pub fn new(scene: Scene) -> Self {
        let world = World::new(MAIA);
        let tools = ["Read", "Write", "Edit", "Bash"];
        let rules = ["Read(**)", "Write(**)", "Edit(**)", "Bash(echo *)", "Redirect(**)"];
        world.agent("worker", &tools, if scene == Scene::Question { &rules[..3] } else { &rules });
        world.agent("other", &tools, &rules);
        world.agent("helper", &["Read"], &[]);
        world.write("in.txt", "in\n");
        let gate = Gate::new();
        let held = match scene {
            Scene::StopAll | Scene::Interrupt => Some(("other", gate.clone())),
            Scene::Beside => Some(("maia", gate.clone())),
            _ => None,
        };
        let busy = AtomicBool::new(scene == Scene::Busy);
        let sleeps = matches!(scene, Scene::StopWorker | Scene::StopAll | Scene::Interrupt);
        let endpoint = Endpoint::start(move |asked| {
            if busy.swap(false, Ordering::SeqCst) {
                return Reply::status(429).header("retry-after", "1");
            }
            match &held {
                // Held, then without a word.
                Some((agent, gate)) if asked.agent == *agent && asked.step == 1 && *agent == "other" => {
                    Reply::status(200).header("content-type", "text/event-stream").hold(gate)
                }
                Some((agent, gate)) if asked.agent == *agent && asked.step == 1 => answer_after(gate),
                _ => answer(asked, sleeps),
            }
        });
        Self { world, endpoint, gate }
    }

    /// Returns the command line.
    pub fn maia(&self, scene: Scene) -> Maia {
        let maia = self.world.run().arg("go").arg("--json").endpoint(self.endpoint.url());
        let maia = maia.allow(&["Read(**)", "Agent", "Write(**)"]);
        let maia = match scene {
            Scene::StopWorker | Scene::StopAll | Scene::Interrupt => {
                maia.allow(&["Bash(sleep *)", "Bash(touch *)"])
            }
            _ => maia,
        };
        match scene {
            Scene::StopWorker | Scene::StopAll | Scene::Question | Scene::Beside => {
                maia.arg("--ops").stdin_open()
            }
            Scene::Disk => maia.env("MAIA_FAIL_ROOM_AFTER_MS", "300"),
            _ => maia,
        }
    }
}

/// Returns the main agent's calls.
fn delegations() -> [(&'static str, Value); 2] {
    [("Agent", json!({"agent": "worker", "task": "w"})), ("Agent", json!({"agent": "other", "task": "o"}))]
}

/// Returns the main agent's first answer, held by `gate`.
fn answer_after(gate: &Gate) -> Reply {
    let sse =
        delegations().iter().fold(Sse::new(), |sse, (name, input)| sse.call(&input.to_string(), name, input));
    let answer = sse.finish("tool_calls").usage(10, 5).done();
    Reply::status(200).header("content-type", "text/event-stream").hold(gate).write(answer)
}

fn answer(asked: &Asked, sleeps: bool) -> Reply {
    let read = ("Read", json!({"path": "in.txt"}));
    match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&delegations()),
        ("maia", _) => says(DONE),
        ("worker", 1) => {
            let command = if sleeps { "echo w >> log; touch started; sleep 1000" } else { "echo w >> log" };
            calls(&[
                read,
                ("Write", json!({"path": "w.txt", "content": "w\n"})),
                ("Bash", json!({"command": command})),
            ])
        }
        ("other", 1) => calls(&[
            read,
            ("Bash", json!({"command": "echo o >> log"})),
            ("Write", json!({"path": "o.txt", "content": "o\n"})),
        ]),
        (name, _) => says(&format!("{name} done")),
    }
}

/// What came of a run.
pub struct Seen {
    /// Exit code, and what was printed.
    pub ended: Ended,
    /// The journal.
    pub records: Vec<Record>,
    /// Lines that the commands of the two have written.
    pub lines: BTreeMap<String, usize>,
    /// What the two have written.
    pub files: [Option<String>; 2],
    /// How often each answer was asked for, by agent and step.
    pub asked: BTreeMap<(String, usize), usize>,
}

impl Seen {
    pub fn of(stage: &Stage, ended: Ended) -> Self {
        let mut lines = BTreeMap::new();
        for line in stage.world.read("log").unwrap_or_default().lines() {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
        let mut asked = BTreeMap::new();
        for request in stage.endpoint.asked() {
            *asked.entry(request).or_default() += 1;
        }
        let files = ["w.txt", "o.txt"].map(|name| stage.world.read(name));
        // What failed before its first record has left a folder without a journal.
        let begun = stage.world.sessions().iter().any(|dir| dir.join("journal.jsonl").exists());
        let records = if begun { stage.world.journal() } else { Vec::new() };
        Self { ended, records, lines, files, asked }
    }

    /// Checks what holds whatever failed: every call has one result, no command ran twice, and what is said to be done is
    /// done. Calls of agents at and below `spared` may say that they failed; those of others may not.
    ///
    /// # Errors
    /// The first thing that is not so.
    pub fn check(&self, spared: &str) -> Result<(), String> {
        let mut results: BTreeMap<&CallId, Vec<bool>> = BTreeMap::new();
        for record in &self.records {
            match &record.body {
                Body::ToolIntent { call, .. } => drop(results.entry(call).or_default()),
                Body::ToolDone { call, output, tool, .. } => {
                    results.entry(call).or_default().push(output.is_error);
                    if output.is_error && !record.actor.as_str().starts_with(spared) {
                        return Err(format!("{tool} of {} failed: {}", record.actor, output.text));
                    }
                }
                _ => {}
            }
        }
        if let Some((call, ends)) = results.iter().find(|(_, ends)| ends.len() != 1) {
            return Err(format!("{call} has {} results", ends.len()));
        }
        for (agent, line, file) in [("worker", "w", 0), ("other", "o", 1)] {
            let good = |name: &str| {
                let actor = format!("maia/{agent}#1/{name}#1");
                self.records.iter().any(|record| {
                    matches!(&record.body, Body::ToolDone { output, .. } if !output.is_error)
                        && record.actor.as_str() == actor
                })
            };
            let ran = self.lines.get(line).copied().unwrap_or_default();
            if ran > 1 || (good("Bash") && ran != 1) {
                return Err(format!("the command of {agent} ran {ran} times"));
            }
            let text = self.files.get(file).cloned().flatten();
            if good("Write") && text.as_deref() != Some(&format!("{line}\n")) {
                return Err(format!("the file of {agent} holds {text:?}"));
            }
        }
        Ok(())
    }

    /// Checks that all went well in the end: the final answer, exit code 0, both sub-agents done.
    ///
    /// # Errors
    /// What did not.
    pub fn check_done(&self) -> Result<(), String> {
        if self.ended.code != Some(0) {
            return Err(format!("exit code {:?}", self.ended.code));
        }
        let ends = self.records.iter().filter_map(|record| match &record.body {
            Body::ChildFinished(finished) => Some(finished.outcome),
            _ => None,
        });
        let ends: Vec<_> = ends.collect();
        let done = maia_protocol::outcome::Outcome::Done;
        if ends.len() < 2 || ends.iter().any(|end| *end != done) {
            return Err(format!("sub-agents ended as {ends:?}"));
        }
        let closed = self.records.iter().rev().find_map(|record| match &record.body {
            Body::SessionClosed { result, .. } => Some(result.as_str()),
            _ => None,
        });
        if closed == Some(DONE) { Ok(()) } else { Err(format!("the result is {closed:?}")) }
    }
}
