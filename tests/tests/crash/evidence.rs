//! What a killed run must have kept: pure checks over its journal, its requests, its files (ENGINE 7).
//!
//! - Asked after every run that was killed and resumed, and by the controls, which spoil what they hand in and must be told so.
//! - Owns nothing: everything to judge by comes in as [`Evidence`].

use std::collections::{BTreeMap, BTreeSet};

use maia_protocol::record::ReconcileAction;
use maia_protocol::{Body, Record};
use serde_json::Value;

use crate::scene::{FILES, MARKS, RESULT, STEPS};

/// A request as it came to the endpoint.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Path of the agent that asked.
    pub agent: String,
    /// Number of the request in its life.
    pub step: u32,
    /// What was sent.
    pub body: Value,
}

/// A file with what tells whether it was written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its text.
    pub text: String,
    /// Its inode: a Write or Edit gives a new one.
    pub inode: u64,
    /// When its text was written: seconds, nanoseconds.
    pub changed: (i64, i64),
}

/// What was there when a maia had been killed.
#[derive(Clone, Debug)]
pub struct Killed {
    /// The journal.
    pub records: Vec<Record>,
    /// The launch folder.
    pub files: BTreeMap<String, File>,
    /// How many requests had come.
    pub requests: usize,
}

/// Everything that there is to judge by.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Exit code of the last run.
    pub code: Option<i32>,
    /// `session_ended.result` of the last run.
    pub result: Option<String>,
    /// The journal in the end.
    pub records: Vec<Record>,
    /// All requests, in the order in which they came.
    pub requests: Vec<Asked>,
    /// The launch folder in the end.
    pub files: BTreeMap<String, File>,
    /// Each kill before.
    pub killed: Vec<Killed>,
    /// Processes that were still there.
    pub left: Vec<(i32, String)>,
    /// What the last run printed, for messages.
    pub said: String,
}

/// Returns everything that is not as it has to be, a sentence each.
pub fn faults(evidence: &Evidence) -> Vec<String> {
    let mut faults = Vec::new();
    if evidence.code != Some(0) {
        faults.push(format!("the last run ended with {:?}", evidence.code));
    }
    if evidence.result.as_deref() != Some(RESULT) {
        faults.push(format!("the last run gave {:?}", evidence.result));
    }
    faults.extend(evidence.left.iter().map(|(pid, line)| format!("process {pid} is left: {line}")));
    faults.extend(
        evidence.killed.iter().enumerate().flat_map(|(index, killed)| since(evidence, index, killed)),
    );
    requests(evidence, &mut faults);
    journal(evidence, &mut faults);
    commands(evidence, &mut faults);
    files(evidence, &mut faults);
    faults
}

/// Returns what the restart table decided: the tool, and what was done.
pub fn reconciled(records: &[Record]) -> BTreeSet<String> {
    let tools: BTreeMap<&str, &str> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::ToolIntent { call, tool, .. } => Some((call.as_str(), tool.as_str())),
            _ => None,
        })
        .collect();
    let decided = records.iter().filter_map(|record| match &record.body {
        Body::Reconciled { call, action, .. } => Some((call.as_str(), action)),
        _ => None,
    });
    decided.map(|(call, action)| format!("{} {action:?}", tools.get(call).unwrap_or(&"nothing"))).collect()
}

fn answered(records: &[Record]) -> impl Iterator<Item = (&str, u32)> {
    records.iter().filter_map(|record| match &record.body {
        Body::ModelAnswered(answered) => Some((record.actor.as_str(), answered.step)),
        _ => None,
    })
}

/// What was durable at a kill is neither lost nor done again.
fn since(evidence: &Evidence, index: usize, killed: &Killed) -> Vec<String> {
    let mut faults = Vec::new();
    if !evidence.records.starts_with(&killed.records) {
        faults.push(format!("kill {index}: records that were there are lost"));
    }
    let known: BTreeSet<_> = answered(&killed.records).collect();
    for asked in evidence.requests.iter().skip(killed.requests) {
        if known.contains(&(asked.agent.as_str(), asked.step)) {
            faults.push(format!(
                "kill {index}: step {} of {} was asked again, its answer is in the journal",
                asked.step, asked.agent
            ));
        }
    }
    for (name, before) in &killed.files {
        let Some(after) = evidence.files.get(name) else { continue };
        if after.text == before.text && after != before {
            faults.push(format!("kill {index}: {name} was written again"));
        }
    }
    faults
}

fn requests(evidence: &Evidence, faults: &mut Vec<String>) {
    let mut by_step: BTreeMap<(&str, u32), Vec<&Value>> = BTreeMap::new();
    for asked in &evidence.requests {
        by_step.entry((&asked.agent, asked.step)).or_default().push(&asked.body);
    }
    for ((agent, step), bodies) in by_step {
        if bodies.len() > evidence.killed.len() + 1 {
            faults.push(format!("step {step} of {agent} was asked {} times", bodies.len()));
        }
        if bodies.windows(2).any(|pair| pair[0] != pair[1]) {
            faults.push(format!("step {step} of {agent} was asked again in other words"));
        }
    }
}

/// Every answer and every result is in the journal once.
fn journal(evidence: &Evidence, faults: &mut Vec<String>) {
    let mut found: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for key in answered(&evidence.records) {
        *found.entry(key).or_default() += 1;
    }
    let wanted: BTreeMap<(&str, u32), u32> =
        STEPS.iter().flat_map(|(agent, steps)| (1..=*steps).map(|step| ((*agent, step), 1))).collect();
    if found != wanted {
        faults.push(format!("answers in the journal: {found:?}"));
    }
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    for record in &evidence.records {
        match &record.body {
            Body::ToolDone { call, .. } => *ends.entry(call.as_str()).or_default() += 1,
            Body::ChildFinished(child) => *ends.entry(child.call.as_str()).or_default() += 1,
            _ => {}
        }
    }
    let twice = ends.iter().filter(|(_, count)| **count > 1);
    faults.extend(twice.map(|(call, count)| format!("{call} has {count} results")));
    let calls = evidence.records.iter().filter_map(|record| match &record.body {
        Body::ModelAnswered(answered) => {
            Some((record.actor.as_str(), answered.step, answered.answer.calls.len()))
        }
        _ => None,
    });
    for (agent, step, count) in calls {
        let without = (1..=count).map(|index| format!("{agent}:{step}.{index}"));
        faults.extend(
            without.filter(|id| !ends.contains_key(id.as_str())).map(|id| format!("{id} has no result")),
        );
    }
}

/// A command runs once; one that was under way at a kill may not have run.
fn commands(evidence: &Evidence, faults: &mut Vec<String>) {
    let log = evidence.files.get("marks.log").map(|file| file.text.as_str()).unwrap_or_default();
    let uncertain: BTreeSet<&str> = evidence
        .records
        .iter()
        .filter_map(|record| match &record.body {
            Body::Reconciled { call, action: ReconcileAction::Uncertain, .. } => Some(call.as_str()),
            _ => None,
        })
        .collect();
    for (call, word) in MARKS {
        let count = log.lines().filter(|line| line == word).count();
        if count > 1 {
            faults.push(format!("{call} ({word}) ran {count} times"));
        }
        if count == 0 && !uncertain.contains(call) {
            faults.push(format!("{call} ({word}) has a result and did not run"));
        }
    }
    let known: BTreeSet<&str> = MARKS.iter().map(|(_, word)| *word).collect();
    faults.extend(
        log.lines().filter(|line| !known.contains(line)).map(|line| format!("the log holds {line:?}")),
    );
    // Whatever begins twice is a write or a command that nobody may begin twice.
    let failed = evidence.records.iter().filter_map(|record| match &record.body {
        Body::ToolDone { call, output, .. } if output.is_error => Some((call, &output.text)),
        _ => None,
    });
    for (call, text) in failed {
        if !uncertain.contains(call.as_str()) {
            faults.push(format!("{call} failed: {text}"));
        }
    }
}

fn files(evidence: &Evidence, faults: &mut Vec<String>) {
    for (name, text) in FILES {
        match evidence.files.get(*name) {
            Some(file) if file.text == *text => {}
            found => faults.push(format!("{name} holds {:?}", found.map(|file| &file.text))),
        }
    }
    let known = |name: &str| name == "marks.log" || FILES.iter().any(|(known, _)| *known == name);
    let strange = evidence.files.keys().filter(|name| !known(name));
    faults.extend(strange.map(|name| format!("{name} is left in the folder")));
}
