//! What a tree of agents meets: a scripted model, rules, a person, tools. Plain functions, so that a session can be
//! played again from any point.

use std::path::PathBuf;
use std::rc::Rc;

use maia_core::turn::{Call, Limits};
use maia_protocol::definition::{AgentDefinition, Effort, Origin};
use maia_protocol::model::{ChatRequest, FailureKind, ModelFailure};
use maia_protocol::permission::RulingAction;
use maia_protocol::record::PermissionAsked;
use maia_protocol::snapshot::KnownAgent;
use maia_protocol::tool::{Seen, Target, WriteFound};
use maia_protocol::{
    ActorPath, Answer, AnsweredCall, CallId, Decision, Ruling, Snapshot, StopReason, ToolOutput, ToolSpec,
    Usage,
};
use serde_json::{Value, json};

/// A request as the scripted model sees it.
pub struct Asked<'a> {
    pub agent: &'a ActorPath,
    pub step: u32,
    pub attempt: u32,
    pub closing: bool,
    pub request: &'a ChatRequest,
}

type Model = Rc<dyn Fn(&Asked<'_>) -> Result<Answer, ModelFailure>>;

/// What answers the effects of a session.
#[derive(Clone)]
pub struct World {
    pub model: Model,
    pub judge: Rc<dyn Fn(&Call) -> Ruling>,
    pub person: Rc<dyn Fn(&PermissionAsked) -> Decision>,
    pub tool: Rc<dyn Fn(&Call) -> ToolOutput>,
    /// What a probe finds of a Write or Edit that a crash interrupted.
    pub found: Rc<dyn Fn(&CallId) -> WriteFound>,
    pub snapshot: Snapshot,
    pub iterations: u32,
    pub limits: Limits,
}

impl World {
    /// A world with this model, in which every call is allowed and every tool works.
    pub fn new(model: impl Fn(&Asked<'_>) -> Result<Answer, ModelFailure> + 'static) -> Self {
        let tools = ["Read", "Write", "Edit", "Bash", "Agent"].map(|name| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
        });
        let agents = vec![known("helper", None), known("boss", Some(&["Read", "Bash", "Agent"]))];
        Self {
            model: Rc::new(model),
            judge: Rc::new(|_| ruling(RulingAction::Run)),
            person: Rc::new(|_| Decision::AllowOnce),
            tool: Rc::new(|call| output_of(call, format!("{} {}", call.name, call.id))),
            found: Rc::new(|_| WriteFound::Before),
            snapshot: Snapshot { agents, tools: tools.to_vec(), ..Snapshot::default() },
            iterations: 50,
            limits: Limits::default(),
        }
    }

    pub fn iterations(mut self, iterations: u32) -> Self {
        self.iterations = iterations;
        self
    }

    pub fn judge(mut self, judge: impl Fn(&Call) -> Ruling + 'static) -> Self {
        self.judge = Rc::new(judge);
        self
    }

    pub fn person(mut self, person: impl Fn(&PermissionAsked) -> Decision + 'static) -> Self {
        self.person = Rc::new(person);
        self
    }

    pub fn agents(mut self, agents: Vec<KnownAgent>) -> Self {
        self.snapshot.agents = agents;
        self
    }
}

/// A model that gives each agent, by its name, the answer of its step; the last one again and again.
pub fn script(
    answers: &[(&str, Vec<Answer>)],
) -> impl Fn(&Asked<'_>) -> Result<Answer, ModelFailure> + use<> {
    let answers: Vec<(String, Vec<Answer>)> =
        answers.iter().map(|(name, answers)| ((*name).to_owned(), answers.clone())).collect();
    move |asked| {
        let (_, own) = answers.iter().find(|(name, _)| name == asked.agent.name()).expect("a script for it");
        let at = (asked.step as usize - 1).min(own.len() - 1);
        Ok(own[at].clone())
    }
}

pub fn text(text: &str) -> Answer {
    Answer {
        text: text.to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        stop: StopReason::EndTurn,
        usage: Some(Usage { input_tokens: 10, output_tokens: 3, cached_tokens: 4, reasoning_tokens: 2 }),
        warnings: Vec::new(),
    }
}

pub fn calls(list: &[(&str, Value)]) -> Answer {
    let calls = list.iter().enumerate().map(|(index, (name, input))| AnsweredCall {
        provider_id: format!("call_{index}"),
        name: (*name).to_owned(),
        input: input.clone(),
        unusable: None,
        raw: None,
    });
    Answer { calls: calls.collect(), stop: StopReason::ToolUse, ..text("") }
}

pub fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({"path": path}))
}

pub fn write(path: &str) -> (&'static str, Value) {
    ("Write", json!({"path": path, "content": "x"}))
}

pub fn edit(path: &str) -> (&'static str, Value) {
    ("Edit", json!({"path": path, "old": "x", "new": "y"}))
}

pub fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": command}))
}

pub fn agent(name: &str, task: &str) -> (&'static str, Value) {
    ("Agent", json!({"agent": name, "task": task}))
}

pub fn failure(kind: FailureKind, transient: bool) -> ModelFailure {
    ModelFailure {
        kind,
        status: None,
        message: format!("{kind:?}"),
        transient,
        retry_after_ms: None,
        text: String::new(),
    }
}

pub fn ruling(action: RulingAction) -> Ruling {
    Ruling { action, rule: Some("Bash(*)".to_owned()), why: format!("{action:?} by rule") }
}

/// Says of each Bash call what its command begins with: `ask …`, `refuse …`, else it runs.
pub fn by_command(call: &Call) -> Ruling {
    let command = call.input["command"].as_str().unwrap_or_default();
    ruling(match command.split(' ').next() {
        Some("ask") => RulingAction::Ask,
        Some("refuse") => RulingAction::Refuse,
        _ => RulingAction::Run,
    })
}

pub fn known(name: &str, tools: Option<&[&str]>) -> KnownAgent {
    let definition = AgentDefinition {
        name: name.to_owned(),
        description: format!("{name}s"),
        model: None,
        tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
        permissions: Default::default(),
        effort: Effort::Iterations(5),
        skills: None,
        omit_md: false,
        trace: false,
        sections: Default::default(),
    };
    KnownAgent { definition, origin: Origin::User, hash: format!("hash of {name}") }
}

/// The file that a call names, as a resolver would give it.
pub fn target(call: &AnsweredCall) -> Option<Target> {
    let path = call.input.get("path").and_then(Value::as_str)?;
    Some(Target { path: PathBuf::from(path), inside: true, exists: true, device: 1, inode: 1 })
}

/// A good result; of a file call with what the agent knows of the file since.
pub fn output_of(call: &Call, text: String) -> ToolOutput {
    let seen =
        call.target.as_ref().map(|target| Seen { path: target.path.clone(), hash: hash_after(&call.id) });
    ToolOutput { seen, ..ToolOutput::ok(text) }
}

pub fn hash_after(call: &CallId) -> String {
    format!("after {call}")
}

/// The texts and results of a conversation in short: `user: go`, `model: said +Read`, `user: =Read maia:1.1`.
pub fn told(messages: &[std::sync::Arc<maia_protocol::Message>]) -> Vec<String> {
    use maia_protocol::{Block, Role};
    let lines = messages.iter().map(|message| {
        let parts = message.content.iter().map(|block| match block {
            Block::Text { text } => text.clone(),
            Block::ToolUse { name, .. } => format!("+{name}"),
            Block::ToolResult { content, .. } => format!("={content}"),
        });
        let who = if message.role == Role::User { "user" } else { "model" };
        format!("{who}: {}", parts.collect::<Vec<_>>().join(" | "))
    });
    lines.collect()
}

/// A moment so many milliseconds into the session, as whatever type reads moments.
pub fn moment<T: serde::de::DeserializeOwned>(ms: u64) -> T {
    let text = format!("2026-11-30T10:{:02}:{:02}.{:03}Z", ms / 60_000, ms / 1_000 % 60, ms % 1_000);
    serde_json::from_value(Value::String(text)).expect("a moment")
}
