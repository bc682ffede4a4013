//! Does for the screen what needs more than an order: modes, models, `!command`, `@file`, `/clear`, lists.
//!
//! - Asked by the session in the terminal with each action; never waits: what takes time runs beside it and tells a fact.
//! - Owns the commands of the person that run; they end with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use maia_actors::env::SessionEnv;
use maia_actors::root::RootMsg;
use maia_index::Reader;
use maia_llm::Provider;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::permission::Sandbox;
use maia_protocol::{ActorPath, Mode, Op, Seq, Snapshot};
use maia_tools::bash::Cancel;
use maia_tui::{Action, Fact};
use ractor::ActorRef;

use super::facts::Facts;
use super::files::with_files;
use super::{KEPT_RULES, RunArguments, prepare};
use crate::error::Failure;

/// How long an endpoint may take to list its models.
const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// Carries out what the screen asks for.
pub struct Errands {
    root: ActorRef<RootMsg>,
    env: Arc<SessionEnv>,
    provider: Arc<Provider>,
    reader: Arc<Reader>,
    facts: Facts,
    arguments: RunArguments,
    shells: Arc<Mutex<Vec<Cancel>>>,
}

/// Returns the agents that can be spawned: name and description.
pub fn agents(snapshot: &Snapshot) -> Vec<(String, String)> {
    let definitions = snapshot.agents.iter().map(|known| &known.definition);
    definitions.map(|definition| (definition.name.clone(), definition.description.clone())).collect()
}

impl Errands {
    /// Returns the errands of a session that was started; `arguments` are what `/clear` reads everything afresh with.
    pub fn new(started: &super::tree::Started, facts: Facts, arguments: RunArguments) -> Self {
        Self {
            root: started.root.clone(),
            env: started.env.clone(),
            provider: started.provider.clone(),
            reader: Arc::new(started.index.reader()),
            facts,
            arguments,
            shells: Arc::default(),
        }
    }

    /// Says something in the transcript.
    fn say(&self, text: impl Into<String>) {
        self.facts.tell(Fact::Say(text.into()));
    }

    /// Carries out what the screen asks for, or has it done beside.
    pub fn carry_out(&self, action: Action) {
        match action {
            Action::Op(Op::Stop { actor }) if actor == ActorPath::main() => {
                self.stop_shells();
                self.order(Op::Stop { actor });
            }
            Action::Op(op) => self.order(op),
            Action::AskWithFiles { text } => self.ask_with_files(text),
            Action::Shell { command } => self.shell(command),
            Action::StopShell => self.stop_shells(),
            Action::Mode(mode) => self.mode(mode),
            Action::Model { name: Some(model) } => self.order(Op::Model { model }),
            Action::Model { name: None } => self.list_models(),
            Action::Agents => {
                let list = agents(&self.env.latest_snapshot()).into_iter();
                let list = list.map(|(name, description)| format!("{name}: {description}"));
                self.say(list.collect::<Vec<_>>().join("\n"));
            }
            Action::Clear => self.clear(),
            Action::Command { name, .. } => {
                self.say(format!("There is no command /{name}; /help lists them."))
            }
            Action::Older { actor, before } => self.older(actor, before),
            // The others are for whoever shows the session, or for the screen itself.
            Action::GoOn | Action::Help | Action::Quit | Action::Interrupted => {}
        }
    }

    fn order(&self, op: Op) {
        // A root that has given up says so by its end.
        let _ = self.root.cast(RootMsg::Op(op));
    }

    fn ask_with_files(&self, text: String) {
        let (root, env, facts) = (self.root.clone(), self.env.clone(), self.facts.clone());
        tokio::task::spawn_blocking(move || {
            let (text, faults) = with_files(&text, &env.workspace, &env.place, &env.rules.load().rules);
            for fault in faults {
                facts.tell(Fact::Say(fault));
            }
            let _ = root.cast(RootMsg::Op(Op::Ask { text }));
        });
    }

    fn mode(&self, mode: Mode) {
        if mode == Mode::Auto && self.env.sandbox == Sandbox::None {
            self.say("Mode auto needs a boundary: start with --no-sandbox or --sandbox external.");
            return;
        }
        self.env.mode.store(Arc::new(mode));
        self.facts.tell(Fact::Mode(mode));
    }

    /// Lists the models of the endpoint (mission M5.6-model).
    fn list_models(&self) {
        let (provider, facts) = (self.provider.clone(), self.facts.clone());
        tokio::spawn(async move {
            let fact = match tokio::time::timeout(LIST_PATIENCE, provider.models()).await {
                Ok(Ok(models)) if models.is_empty() => Fact::Say("The endpoint lists no model.".to_owned()),
                Ok(Ok(models)) => Fact::Models(models),
                Ok(Err(failure)) => Fact::Say(format!("The models cannot be listed: {}", failure.message)),
                Err(_) => {
                    let seconds = LIST_PATIENCE.as_secs();
                    Fact::Say(format!("The endpoint gave no list of its models within {seconds} s."))
                }
            };
            facts.tell(fact);
        });
    }

    /// Reads what happened to an agent before what the screen keeps.
    fn older(&self, actor: ActorPath, before: Seq) {
        let (reader, session, facts) = (self.reader.clone(), self.env.session.clone(), self.facts.clone());
        tokio::task::spawn_blocking(move || match super::index::older(&reader, &session, &actor, before) {
            Ok(events) => facts.tell(Fact::Older { actor, events }),
            Err(error) => {
                facts.tell(Fact::Say(format!("Older items cannot be read: {error}")));
                facts.tell(Fact::Older { actor, events: Vec::new() });
            }
        });
    }

    /// Begins a new conversation, with context file, agents, rules and tools read afresh (mission M5.6-clear).
    fn clear(&self) {
        let (root, env, facts) = (self.root.clone(), self.env.clone(), self.facts.clone());
        let arguments = RunArguments { prompt: None, ..self.arguments.clone() };
        tokio::task::spawn_blocking(move || match fresh(&arguments, &env.latest_snapshot()) {
            Ok((fresh, notes)) => {
                for message in notes {
                    let notice = NoticeEvent::Warning { message, mend: None };
                    env.live(&ActorPath::main(), EventBody::Notice(notice));
                }
                facts.tell(Fact::Agents(agents(&fresh)));
                let _ = root.cast(RootMsg::Clear(Box::new(fresh)));
            }
            Err(failure) => {
                let what = "settings and agents were not read afresh";
                facts.tell(Fact::Say(format!("{what}: {}", failure.message)));
                let _ = root.cast(RootMsg::Op(Op::Clear));
            }
        });
    }

    /// Runs a command of the person: shown, and told to the main agent with its next request (mission M11.2).
    fn shell(&self, command: String) {
        let (root, facts, workspace) = (self.root.clone(), self.facts.clone(), self.env.workspace.clone());
        let (shells, cancel) = (self.shells.clone(), Cancel::new());
        shells.lock().unwrap_or_else(PoisonError::into_inner).push(cancel.clone());
        self.facts.tell(Fact::Shell(true));
        tokio::spawn(async move {
            let input = serde_json::json!({"command": command});
            let limits = maia_tools::bash::Limits::default();
            let run = maia_tools::bash::run(&input, &workspace, &limits, |_| {}, |_| {}, cancel.clone());
            let output = run.await;
            // Those that have ended are of no more use; this one is asked to end, which changes nothing.
            cancel.cancel();
            let runs = {
                let mut shells = shells.lock().unwrap_or_else(PoisonError::into_inner);
                shells.retain(|shell| !shell.is_cancelled());
                !shells.is_empty()
            };
            facts.tell(Fact::Shell(runs));
            let text = format!("$ {command}\n{}", output.text);
            facts.tell(Fact::Say(text.clone()));
            let data = maia_core::data::marked(&[("from", "a command of the person")], &text);
            let _ = root.cast(RootMsg::Op(Op::Tell { actor: ActorPath::main(), text: data }));
        });
    }

    fn stop_shells(&self) {
        for shell in self.shells.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            shell.cancel();
        }
    }
}

impl Drop for Errands {
    fn drop(&mut self) {
        self.stop_shells();
    }
}

/// Reads everything afresh. Rules that a resume has kept from before stay.
fn fresh(arguments: &RunArguments, latest: &Snapshot) -> Result<(Snapshot, Vec<String>), Failure> {
    let mut prepared = prepare(arguments, false)?;
    let kept = latest.rules.iter().filter(|source| source.source == KEPT_RULES).cloned();
    prepared.snapshot.rules.extend(kept);
    Ok((prepared.snapshot, prepared.notes))
}
