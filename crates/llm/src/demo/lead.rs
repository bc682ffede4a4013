//! The main agent's part: hands a request out as a graph of tasks, and tells what came back.

use serde_json::{Value, json};

use super::Next;
use super::prose::{code, count, listed, plain, words};
use super::talk::{Seen, Turn, report};
use super::write::{short, summary};

/// Ids of the tasks.
pub(super) mod ids {
    pub(in super::super) const LAYOUT: &str = "layout";
    pub(in super::super) const CODE: &str = "code";
    pub(in super::super) const SEARCH: &str = "search";
    pub(in super::super) const CHECKS: &str = "checks";
    pub(in super::super) const REVIEW: &str = "review";
    pub(in super::super) const REPORT: &str = "report";
}

/// How the task of [`ids::LAYOUT`] begins.
pub(super) const LAYOUT: &str = "Describe the layout of this folder:";
/// How the task of [`ids::CODE`] begins.
pub(super) const CODE: &str = "Look at the source code of this folder:";

/// A task of the graph.
pub(super) struct Task {
    pub(super) id: &'static str,
    pub(super) agent: String,
    pub(super) text: String,
    pub(super) after: Vec<&'static str>,
}

pub(super) fn next(turn: &Turn<'_>) -> Next {
    match turn.answered.last() {
        None => {
            let tasks = tasks(&words(turn.request), &turn.agents);
            let say = opening(&tasks);
            let tasks = tasks.into_iter().map(|task| {
                let Task { id, agent, text, after } = task;
                json!({"id": id, "agent": agent, "task": text, "after": after})
            });
            let graph = json!({"tasks": tasks.collect::<Vec<_>>(), "on_failure": "continue"});
            turn.act(say, vec![("Delegate", graph)], || {
                "I am the demo model, and there is no tool that I may use.".to_owned()
            })
        }
        Some(calls) => Next::End(result(turn, calls)),
    }
}

/// Returns the graph for a request with these words; `agents` are those that there are, empty when not known.
pub(super) fn tasks(words: &[String], agents: &[&str]) -> Vec<Task> {
    let agent = |name: &str| {
        let known = agents.is_empty() || agents.contains(&name);
        let other = || agents.iter().find(|agent| **agent == "explorer").or(agents.first());
        if known { name.to_owned() } else { other().map_or(name, |other| other).to_owned() }
    };
    let task = |id, name, text: String, after: &[&'static str]| Task {
        id,
        agent: agent(name),
        text,
        after: after.to_vec(),
    };
    let mut tasks = vec![
        task(
            ids::LAYOUT,
            "explorer",
            format!("{LAYOUT} what it is, its kinds of files, its main folders, what its README says of it."),
            &[],
        ),
        task(
            ids::CODE,
            "explorer",
            format!(
                "{CODE} its longest files and what they define, and marks of unfinished work such as TODO."
            ),
            &[],
        ),
    ];
    if !words.is_empty() {
        let quoted: Vec<String> = words.iter().map(|word| format!("“{}”", plain(word, 40))).collect();
        let text = format!(
            "Find where {} stands in this folder: definitions first, then the files that hold it most often.",
            quoted.join(" or ")
        );
        tasks.push(task(ids::SEARCH, "explorer", text, &[]));
    }
    let checks = "Find out how this project is checked, and what changed last. Run no tests.";
    tasks.push(task(ids::CHECKS, "tester", checks.to_owned(), &[]));
    let mut read: Vec<&'static str> = vec![ids::LAYOUT, ids::CODE];
    let mut all = vec![ids::LAYOUT, ids::CODE, ids::CHECKS];
    if !words.is_empty() {
        read.insert(0, ids::SEARCH);
        all.insert(0, ids::SEARCH);
    }
    all.push(ids::REVIEW);
    let review = "Read the places again that these results name, and say which of them do not hold.";
    tasks.push(task(ids::REVIEW, "reviewer", review.to_owned(), &read));
    let report = "Write a summary of these results for the person who asked, as text; write no file.";
    tasks.push(task(ids::REPORT, "writer", report.to_owned(), &all));
    tasks
}

fn opening(tasks: &[Task]) -> String {
    let named = |waits: bool| -> Vec<String> {
        let tasks = tasks.iter().filter(|task| task.after.is_empty() != waits);
        tasks.map(|task| format!("`{}` ({})", task.id, task.agent)).collect()
    };
    format!(
        "I am the demo model: no network, no intelligence, the same answer every time. But the work is real. I hand your \
         request to {} that look at this folder with real tools: {} side by side, then {}, which wait for the others' \
         results. One of them asks you before it runs a command.",
        count(tasks.len(), "agent"),
        listed(&named(false)),
        listed(&named(true))
    )
}

/// A task with its report and how it ended.
struct Part<'a> {
    id: &'a str,
    how: &'a str,
    report: &'a str,
}

/// Returns the parts of a graph's result, in the order of the call.
fn parts<'a>(call: &Seen<'a>) -> Vec<Part<'a>> {
    let tasks = call.input["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named: Vec<(&str, &str)> =
        tasks.iter().filter_map(|task| Some((task["id"].as_str()?, task["agent"].as_str()?))).collect();
    let mut parts = Vec::new();
    let mut rest = call.output;
    for (index, (id, agent)) in named.iter().enumerate() {
        let Some((_, after)) = rest.split_once(&format!("## {id} ({agent}): ")) else { continue };
        let next = named.get(index + 1).map(|(id, agent)| format!("\n## {id} ({agent}): "));
        let end = next.and_then(|next| after.find(&next)).unwrap_or(after.len());
        let (body, later) = after.split_at(end);
        let (how, body) = body.split_once('\n').unwrap_or((body, ""));
        parts.push(Part { id, how, report: report(body) });
        rest = later;
    }
    parts
}

/// Returns the person's answer.
fn result(turn: &Turn<'_>, calls: &[Seen<'_>]) -> String {
    let Some(call) = calls.iter().find(|call| call.name == "Delegate") else {
        return format!(
            "I am the demo model: I handed nothing out. {}",
            plain(calls.first().map_or("", |c| c.output), 300)
        );
    };
    let parts = parts(call);
    if parts.is_empty() {
        return format!(
            "I handed nothing out: {}\n\nI am the demo model and cannot do the work myself. Ask again and answer `y`, or start one \
             agent by yourself: `&explorer what is here?`",
            plain(call.output, 300)
        );
    }
    let mut texts = Vec::new();
    let own = parts.iter().find(|part| part.id == ids::REPORT && part.how == "done");
    match own.and_then(|part| section_to_end(part.report, "Text")) {
        Some(text) => texts.push(text.to_owned()),
        None => {
            let reports: Vec<_> =
                parts.iter().filter(|part| part.how == "done").map(|part| (part.id, part.report)).collect();
            texts.push(summary(&reports));
        }
    }
    let bad: Vec<String> = parts
        .iter()
        .filter(|part| part.how != "done")
        .map(|part| format!("{} {}: {}", code(part.id, 40), part.how, plain(part.report, 160)))
        .collect();
    if !bad.is_empty() {
        texts.push(format!("**Not done.** {}.", bad.join("; ")));
    }
    for (from, text) in &turn.told {
        let said = short(from, report(text));
        texts.push(format!("**Told** by {}: {}", plain(from, 60), plain(&said, 300)));
    }
    let waits = |task: &&Value| task["after"].as_array().is_some_and(|after| !after.is_empty());
    let waiting = call.input["tasks"].as_array().map_or(0, |tasks| tasks.iter().filter(waits).count());
    texts.push(format!(
        "*{} did this: {} side by side, {} after them. I am the demo model: every figure and every quote is real, but nobody \
         has understood a word of it. For that, name a model: `maia --model NAME`.*",
        count(parts.len(), "agent"),
        parts.len().saturating_sub(waiting),
        waiting
    ));
    texts.retain(|text| !text.is_empty());
    texts.join("\n\n")
}

/// Returns what stands below the title `# name`, up to the end.
fn section_to_end<'a>(report: &'a str, name: &str) -> Option<&'a str> {
    let (_, text) = report.split_once(&format!("# {name}\n"))?;
    Some(text.trim())
}
