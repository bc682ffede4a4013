//! Reads a request: whose it is, what is asked, what the tools gave so far.
//!
//! - Asked once for each answer; owns nothing.
//! - A turn begins with the last message that asks for something. Facts of the day, texts that were told meanwhile and the
//!   loop's own words ask for nothing.

use maia_protocol::model::ChatRequest;
use maia_protocol::{ActorPath, Block, Message, Role};
use serde_json::Value;

use super::{Call, Next, ROUNDS};

/// What an agent is there for; the definitions that come with maia by their names, all others look round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It hands work to others.
    Lead,
    Explorer,
    Tester,
    Reviewer,
    Writer,
    Planner,
}

/// A call with its result.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    pub(super) name: &'a str,
    pub(super) input: &'a Value,
    pub(super) output: &'a str,
    pub(super) failed: bool,
}

/// A result that was handed over with the task.
#[derive(Debug)]
pub(super) struct Handed<'a> {
    /// Id of the task.
    pub(super) task: &'a str,
    /// Its text.
    pub(super) text: &'a str,
}

/// The turn so far.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) part: Part,
    /// What is asked, without data.
    pub(super) request: &'a str,
    /// Results that came with it.
    pub(super) data: Vec<Handed<'a>>,
    /// What was told meanwhile: who, what.
    pub(super) told: Vec<(&'a str, &'a str)>,
    /// The calls of each answer, with their results.
    pub(super) answered: Vec<Vec<Seen<'a>>>,
    /// Names of the agents that can be asked.
    pub(super) agents: Vec<&'a str>,
    tools: Vec<&'a str>,
    /// Whether tools may be called.
    usable: bool,
}

impl<'a> Turn<'a> {
    pub(super) fn read(agent: &ActorPath, request: &'a ChatRequest) -> Self {
        let messages: Vec<&Message> = request.messages.iter().map(AsRef::as_ref).collect();
        let begin = messages.iter().rposition(|message| begins(message)).unwrap_or(0);
        let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut texts: Vec<&str> = messages.get(begin).map(|message| texts(message)).unwrap_or_default();
        texts.retain(|text| !is_of_the_loop(text));
        let mut told: Vec<_> = texts.iter().filter_map(|text| told_by(text)).collect();
        let asked = texts.iter().find(|text| told_by(text).is_none());
        let whole = match asked {
            Some(text) => *text,
            // Somebody spoke to an agent that had ended its work: that is what it works on now.
            None => told.pop().map(|(_, text)| text).unwrap_or_default(),
        };
        let rest = messages.get(begin + 1..).unwrap_or_default();
        told.extend(rest.iter().flat_map(|message| texts_of_user(message)).filter_map(told_by));
        let agents = request.tools.iter().find(|tool| tool.name == "Agent").map(|tool| {
            let names = tool.input_schema.pointer("/properties/agent/enum").and_then(Value::as_array);
            names.into_iter().flatten().filter_map(Value::as_str).collect()
        });
        Self {
            part: part(agent, request, &tools),
            request: whole.split("<data ").next().unwrap_or_default().trim(),
            data: handed(whole),
            told,
            answered: answered(rest),
            agents: agents.unwrap_or_default(),
            tools,
            usable: request.tools_usable,
        }
    }

    /// Makes the calls that can be made, or ends when there are none.
    pub(super) fn act(
        &self,
        say: impl Into<String>,
        mut calls: Vec<Call>,
        end: impl FnOnce() -> String,
    ) -> Next {
        calls.retain(|(name, _)| self.tools.contains(name));
        if !self.usable || self.answered.len() >= ROUNDS || calls.is_empty() {
            return Next::End(end());
        }
        Next::Act(say.into(), calls)
    }

    /// Tells whether the agent has a tool.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    /// Returns the results of a tool, in their order.
    pub(super) fn of<'s>(&'s self, tool: &'s str) -> impl Iterator<Item = &'s Seen<'a>> {
        self.answered.iter().flatten().filter(move |seen| seen.name == tool)
    }

    /// Returns what the call of `tool` gave whose argument `name` is `value`; nothing where it failed.
    pub(super) fn given(&self, tool: &str, name: &str, value: &str) -> Option<&'a str> {
        let fits = |seen: &&Seen<'_>| seen.name == tool && seen.input.get(name).is_some_and(|v| v == value);
        self.answered.iter().flatten().find(fits).filter(|seen| !seen.failed).map(|seen| seen.output)
    }
}

fn part(agent: &ActorPath, request: &ChatRequest, tools: &[&str]) -> Part {
    let is_main = *agent == ActorPath::main();
    if is_main && tools.contains(&"Delegate") {
        return Part::Lead;
    }
    let known = |name: &str| match name {
        "tester" => Some(Part::Tester),
        "reviewer" => Some(Part::Reviewer),
        "writer" => Some(Part::Writer),
        "planner" => Some(Part::Planner),
        _ => None,
    };
    // A main agent goes by its path; its definition stands in its prompt.
    let named =
        || ["tester", "reviewer", "writer", "planner"].into_iter().find(|name| is_headed(request, name));
    let name = if is_main { named() } else { Some(agent.name()) };
    name.and_then(known).unwrap_or(Part::Explorer)
}

fn is_headed(request: &ChatRequest, name: &str) -> bool {
    request.system.lines().any(|line| line.strip_prefix("# ") == Some(name))
}

/// Tells whether a turn begins with `message`.
fn begins(message: &Message) -> bool {
    let texts = texts_of_user(message);
    let asks = |text: &&str| !is_of_the_loop(text) && told_by(text).is_none();
    let results = message.content.iter().any(|block| matches!(block, Block::ToolResult { .. }));
    texts.iter().any(asks) || (!results && texts.iter().any(|text| told_by(text).is_some()))
}

fn texts_of_user(message: &Message) -> Vec<&str> {
    if message.role == Role::User { texts(message) } else { Vec::new() }
}

fn texts(message: &Message) -> Vec<&str> {
    fn text(block: &Block) -> Option<&str> {
        match block {
            Block::Text { text } => Some(text.as_str()),
            Block::ToolUse { .. } | Block::ToolResult { .. } => None,
        }
    }
    message.content.iter().filter_map(text).collect()
}

/// Tells whether a text is the loop's own: facts of the day, the closing request, a nudge.
fn is_of_the_loop(text: &str) -> bool {
    (text.starts_with("Today is ") && text.contains(" Folder: "))
        || text.contains("Call no more tools. Write your final answer now")
        || text == "Please provide your complete answer now as plain text."
}

/// Returns who told a text, and what; `None` for a text that was not told.
fn told_by(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("Message from ")?.split_once(" while you work:\n\n")
}

/// Returns the blocks `<data from="…" task="…" …>` of a task's text.
fn handed(text: &str) -> Vec<Handed<'_>> {
    let mut found = Vec::new();
    for block in text.split("\n<data ").skip(1) {
        let Some((head, body)) = block.split_once(">\n") else { continue };
        let Some((_, task)) = head.split_once("task=\"") else { continue };
        let body = body.split("\n</data>").next().unwrap_or_default();
        found.push(Handed { task: task.split('"').next().unwrap_or_default(), text: report(body) });
    }
    found
}

/// Returns a report without the line that says who it is of and how it ended.
pub(super) fn report(text: &str) -> &str {
    match text.split_once("\n\n") {
        Some((head, rest)) if head.starts_with("# maia") => rest.trim(),
        _ => text.trim(),
    }
}

/// Pairs the calls of each answer with their results.
fn answered<'a>(messages: &[&'a Message]) -> Vec<Vec<Seen<'a>>> {
    let mut answered = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let results = messages.get(index + 1).map(|next| next.content.as_slice()).unwrap_or_default();
        let seen = |block: &'a Block| {
            let Block::ToolUse { id, name, input } = block else { return None };
            let (output, failed) = results.iter().find_map(|result| match result {
                Block::ToolResult { tool_use_id, content, is_error } if tool_use_id == id => {
                    Some((content.as_str(), *is_error))
                }
                _ => None,
            })?;
            Some(Seen { name, input, output, failed })
        };
        let calls: Vec<_> = message.content.iter().filter_map(seen).collect();
        if !calls.is_empty() {
            answered.push(calls);
        }
    }
    answered
}
