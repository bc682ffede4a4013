//! `maia run`: one request without a terminal (SPEC section 4).
//!
//! - Reads settings, finds or makes the session, starts the actors, shows the stream, ends with the session's code.
//! - Nothing is asked of a model before the opening is durable and, with `--json`, shown (ENGINE 2).

mod context;
mod errands;
mod facts;
mod files;
mod first;
mod index;
mod interactive;
mod interrupted;
mod local;
mod look;
mod open;
mod ops;
mod plan;
mod provider;
mod tree;

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use maia_actors::root::Closed;
use maia_core::permission::{FaultKind, Place, Rules, lacking_rules};
use maia_llm::Provider;
use maia_protocol::outcome::EndReason;
use maia_protocol::permission::Sandbox;
use maia_protocol::snapshot::{KnownAgent, RuleSource};
use maia_protocol::{Body, Mode, RuleSet, Snapshot};

use crate::cli;
use crate::error::Failure;
use crate::print::{Form, count, say};
use crate::settings::{Loaded, Places, Settings};
use crate::trust::{self, Decided};

pub use interactive::{TerminalArguments, interactive};
pub use tree::place;

/// Arguments of `maia run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArguments {
    /// The request; `-` reads it from standard input. Piped input beside a request is added as data.
    #[arg(value_name = "PROMPT|-")]
    pub prompt: Option<String>,
    /// Prints events as JSON lines on stdout instead of the answer.
    #[arg(long)]
    pub json: bool,
    /// Model, as the endpoint knows it; `script:FILE` plays a script.
    #[arg(long, value_name = "SPEC")]
    pub model: Option<String>,
    /// Definition of the main agent.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Runs the task graph of a YAML file (tasks: id, agent, task, after; on_failure), then has the main agent report.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// Goes on with a session, by name or id; without a request with what was interrupted.
    #[arg(long, value_name = "NAME")]
    pub resume: Option<String>,
    /// Goes on with the last session of this folder.
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "plan"])]
    pub last: bool,
    /// Adds an allow rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Adds an ask rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Adds a deny rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// What happens where no rule matches.
    #[arg(long, value_name = "MODE", default_value = "confirm")]
    pub mode: ModeArgument,
    /// Trusts what the folder brings, for this run; with a hash, only if it has that one.
    #[arg(long, value_name = "HASH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub trust: Option<String>,
    /// Runs commands unconfined; with `--mode auto` unasked too.
    #[arg(long)]
    pub no_sandbox: bool,
    /// Says that a container around maia is the boundary.
    #[arg(long, value_name = "external", conflicts_with = "no_sandbox")]
    pub sandbox: Option<SandboxArgument>,
    /// Reads standard input as JSON lines of orders: tell, stop, answer.
    #[arg(long)]
    pub ops: bool,
    /// Iterations of the main agent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_iterations: Option<u32>,
    /// Agents at work at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_parallel_agents: Option<u32>,
    /// Depth of the deepest agent.
    #[arg(long, value_name = "N")]
    pub max_agent_depth: Option<u32>,
    /// Agents that models may spawn.
    #[arg(long, value_name = "N")]
    pub max_spawns: Option<u32>,
    /// Requests in flight at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_in_flight: Option<u32>,
    /// Launch folder.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Address of a server that the person chose on the first screen; it stands for `LiteLLM_URL`.
    #[arg(skip)]
    pub server: Option<String>,
    /// What was decided of the folder when maia started; `None` where it is to be decided now.
    #[arg(skip)]
    pub decided: Option<Decided>,
}

/// `--mode` as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArgument {
    /// Reading in the folder runs, everything else is refused.
    ReadOnly,
    /// What no rule covers asks.
    #[default]
    Confirm,
    /// Writing in the folder runs too.
    Edits,
    /// Everything inside the boundary runs.
    Auto,
}

/// `--sandbox` as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SandboxArgument {
    /// A container around maia is the boundary.
    External,
}

impl RunArguments {
    /// Names the session that `-c` means.
    fn name_last(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.last) {
            let places = Places::find(self.cwd.as_deref(), &cli::env)?;
            self.resume = Some(interrupted::last(&places.project())?);
        }
        Ok(())
    }
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::ReadOnly => Self::ReadOnly,
            ModeArgument::Confirm => Self::Confirm,
            ModeArgument::Edits => Self::Edits,
            ModeArgument::Auto => Self::Auto,
        }
    }
}

/// What a run is made of, read and checked before anything starts.
struct Prepared {
    places: Places,
    settings: Settings,
    snapshot: Snapshot,
    rules: Rules,
    agent: Option<KnownAgent>,
    mode: Mode,
    sandbox: Sandbox,
    prompt: Option<String>,
    plan: Option<plan::Plan>,
    notes: Vec<String>,
    decided: Decided,
}

/// Carries out `maia run` and returns the exit code.
///
/// # Errors
/// Whatever keeps a session from being opened.
pub fn run(mut arguments: RunArguments) -> Result<u8, Failure> {
    arguments.name_last()?;
    let (prepared, opened, model) = open_session(&arguments, true)?;
    let form = if arguments.json { Form::Json } else { Form::Text };
    let runtime = runtime()?;
    let place = tree::place(&prepared.places);
    let (name, dir) = (opened.name.clone(), opened.dir.clone());
    let run = tree::Run {
        prepared,
        opened,
        model,
        headless: !arguments.ops,
        one_turn: true,
        limits: limits(&arguments),
    };
    let (closed, broken) = runtime.block_on(tree::run(run, form))?;
    // What still runs is of no use: the session's end is recorded, or it can be resumed.
    runtime.shutdown_background();
    if !closed.recorded {
        let mend = if open::is_kept(&dir) {
            format!("nothing that was recorded is lost; go on with: maia run --resume {name}")
        } else {
            "nothing had begun: give the request again".to_owned()
        };
        return Err(Failure::failed(closed.result).mend(mend));
    }
    match broken {
        // A reader that went away wants nothing more; a disk that is full is an error.
        None | Some(std::io::ErrorKind::BrokenPipe) => finish(&closed, form, &name, &place),
        Some(kind) => Err(unwritten(&kind.to_string(), &name)),
    }
}

/// Reads and checks everything, and opens the session. `needs_request` is for a run that ends with its turn.
fn open_session(
    arguments: &RunArguments,
    needs_request: bool,
) -> Result<(Prepared, open::Opened, provider::Model), Failure> {
    let mut prepared = prepare(arguments, needs_request)?;
    let resumed = match &arguments.resume {
        Some(wanted) => {
            let needs_nothing = prepared.prompt.is_some() || !needs_request;
            Some(open::find(&prepared.places.project(), wanted, needs_nothing)?)
        }
        None => None,
    };
    if let Some(opened) = &resumed {
        // A session goes on with its own model, unless the flag or the variable names another.
        prepared.settings.model = Some((opened.fold.model.clone(), "the session".to_owned()));
    }
    let mut model = provider::choose(arguments, &prepared.settings)?;
    if let Some(plan) = prepared.plan.take() {
        let answer = Box::new(plan.answer());
        model.provider = Provider::Opening { answer, then: Box::new(model.provider) };
    }
    let mut opened = match resumed {
        Some(opened) => opened,
        None => open::create(&prepared.places.project())?,
    };
    prepared.notes.append(&mut opened.notes);
    let at_rest = opened.fold.turn > 0 && !opened.fold.in_turn && opened.fold.open_agents.is_empty();
    if needs_request && prepared.prompt.is_none() && at_rest {
        let name = &opened.name;
        prepared.notes.push(format!(
            "the last turn of this session has ended, so nothing goes on; say what to do: maia run --resume {name} \"go on\""
        ));
    }
    if arguments.resume.is_some() {
        keep_stricter_rules(&mut prepared, &opened.history);
    }
    Ok((prepared, opened, model))
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(4);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the runtime cannot be started: {error}")))
}

/// Returns the error of an output that cannot be written.
fn unwritten(why: &str, name: &str) -> Failure {
    Failure::failed(format!("standard output cannot be written: {why}"))
        .mend(format!("what was done is kept; see it with: maia run --resume {name}"))
}

/// Prints the end and returns the exit code.
fn finish(closed: &Closed, form: Form, name: &str, place: &Place) -> Result<u8, Failure> {
    if form == Form::Text {
        if closed.reason == EndReason::Failed || closed.reason == EndReason::Endpoint {
            let mend = format!("the session is kept; go on with: maia run --resume {name}");
            Failure::failed(closed.result.clone()).mend(mend).print();
        } else if !closed.result.is_empty() {
            let text = crate::print::plain(&closed.result);
            let mut out = std::io::stdout();
            match writeln!(out, "{text}").and_then(|()| out.flush()) {
                // A reader that went away wants no answer.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    return Err(unwritten(&error.to_string(), name));
                }
                _ => {}
            }
        }
    }
    let mut rules = Vec::new();
    for asked in &closed.refusals {
        for rule in lacking_rules(&asked.tool, &asked.input, asked.target.as_ref(), place) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    if !closed.refusals.is_empty() {
        let calls = count(closed.refusals.len() as u64, "call");
        say(&format!("{calls} needed a permission and nobody could answer."));
        if !rules.is_empty() {
            say("To allow what was refused, add:");
        }
        for rule in rules {
            say(&format!("  --allow {}", shell_quoted(&rule)));
        }
    }
    Ok(closed.reason.exit_code())
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn limits(arguments: &RunArguments) -> tree::LimitFlags {
    tree::LimitFlags {
        max_iterations: arguments.max_iterations,
        max_parallel_agents: arguments.max_parallel_agents,
        max_agent_depth: arguments.max_agent_depth,
        max_spawns: arguments.max_spawns,
        max_in_flight: arguments.max_in_flight,
    }
}

fn prepare(arguments: &RunArguments, needs_request: bool) -> Result<Prepared, Failure> {
    let mode = Mode::from(arguments.mode);
    let sandbox = match (arguments.no_sandbox, arguments.sandbox) {
        (true, _) => Sandbox::Off,
        (false, Some(SandboxArgument::External)) => Sandbox::External,
        (false, None) => Sandbox::None,
    };
    if mode == Mode::Auto && sandbox == Sandbox::None {
        return Err(Failure::usage(
            "--mode auto needs a boundary, and this version has no sandbox of its own yet",
        )
        .mend("say --no-sandbox to run commands unconfined, or --sandbox external in a container"));
    }
    let places = Places::find(arguments.cwd.as_deref(), &cli::env)?;
    let mut notes = Vec::new();
    let (decided, trusted) = match arguments.decided.clone() {
        Some(decided) => {
            // Whatever has come since counts for nothing, whoever has put it there (SAFETY 4).
            let trusted = decided.trusted && decided.is_as_it_was(&places);
            if decided.trusted && !trusted {
                notes.push(format!(
                    "what {} brings has changed since maia started, so its agents, allow rules and model do not count; \
                     leave and start again to look at it",
                    places.cwd.display()
                ));
            }
            (decided, trusted)
        }
        None => {
            let decided = trust::decide(&cli::trust(arguments.trust.as_deref()), &places, &cli::env)?;
            let trusted = decided.trusted;
            (decided, trusted)
        }
    };
    let Loaded { mut settings, warnings } = crate::settings::load(&places, trusted)?;
    if arguments.server.is_some() {
        settings.litellm_url.clone_from(&arguments.server);
    }
    notes.extend(warnings.iter().map(ToString::to_string));
    let found = crate::agents::load(&places, trusted);
    notes.extend(found.warnings.iter().map(|fault| {
        let line = fault.fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}", fault.path.display(), fault.fault.message)
    }));
    let agents = found.known();
    let agent = match &arguments.agent {
        None => None,
        Some(name) => {
            let known = agents.iter().find(|agent| agent.definition.name.eq_ignore_ascii_case(name));
            let names: Vec<_> = agents.iter().map(|agent| agent.definition.name.as_str()).collect();
            Some(known.cloned().ok_or_else(|| {
                Failure::usage(format!("there is no agent \"{name}\""))
                    .mend(format!("known agents: {}", names.join(", ")))
            })?)
        }
    };
    let flags =
        RuleSet { allow: arguments.allow.clone(), ask: arguments.ask.clone(), deny: arguments.deny.clone() };
    let mut sources = settings.rules.clone();
    let plan = arguments.plan.as_deref().map(|file| plan::read(file, &agents)).transpose()?;
    if let Some(plan) = &plan {
        // Who runs a plan asks for its agents (mission M20.3b-amp); deny and ask rules still come first.
        sources.push(RuleSource { source: plan.source.clone(), rules: plan.rules() });
    }
    if flags != RuleSet::default() {
        sources.push(RuleSource { source: "command line".to_owned(), rules: flags });
    }
    let (rules, faults) = Rules::compile(&sources);
    if let Some(fault) =
        faults.iter().find(|fault| fault.kind == FaultKind::Malformed && fault.source == "command line")
    {
        return Err(Failure::usage(fault.to_string()));
    }
    notes.extend(faults.iter().map(ToString::to_string));
    let mut tools = maia_tools::specs();
    if let Some(agent) = maia_core::turn::agent_tool(&agents) {
        tools.extend([agent, maia_core::turn::delegate_tool()]);
    }
    let context = context::read(&places.cwd, &mut notes);
    let facts = context::facts(&places.cwd);
    let snapshot = Snapshot { rules: sources, agents, context, tools, facts };
    let prompt = prompt(arguments)?.or_else(|| plan.as_ref().map(plan::Plan::request));
    if needs_request && prompt.is_none() && arguments.resume.is_none() {
        return Err(Failure::usage("there is nothing to do: no request was given")
            .mend("maia run \"what is here?\", or a request on standard input with: maia run -"));
    }
    Ok(Prepared { places, settings, snapshot, rules, agent, mode, sandbox, prompt, plan, notes, decided })
}

/// Bytes of piped input that are taken: more is no request, and no model reads it.
const MAX_PIPED: u64 = 8 * 1024 * 1024;

fn prompt(arguments: &RunArguments) -> Result<Option<String>, Failure> {
    let asked = arguments.prompt.as_deref().filter(|prompt| *prompt != "-");
    let wants_input = arguments.prompt.as_deref() == Some("-");
    let piped = if arguments.ops {
        if wants_input {
            return Err(Failure::usage("--ops reads standard input, so it cannot hold the request too")
                .mend("give the request as an argument"));
        }
        String::new()
    } else if wants_input || (asked.is_some() && is_piped()) {
        let mut bytes = Vec::new();
        std::io::stdin()
            .take(MAX_PIPED + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
        if bytes.len() as u64 > MAX_PIPED {
            return Err(Failure::usage("standard input holds more than 8 MB")
                .mend("name the file in the request; agents read files by themselves"));
        }
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    } else {
        String::new()
    };
    Ok(match (asked, piped.is_empty()) {
        (Some(asked), true) => Some(asked.to_owned()),
        (Some(asked), false) => {
            Some(format!("{asked}\n\n{}", maia_core::data::marked(&[("from", "standard input")], &piped)))
        }
        (None, false) => Some(piped),
        (None, true) if wants_input => {
            return Err(Failure::usage("standard input is empty")
                .mend("pipe the request in, or give it as an argument"));
        }
        (None, true) => None,
    }
    .filter(|prompt| !prompt.trim().is_empty()))
}

/// Tells whether standard input is a pipe or a file that somebody filled; a terminal and an inherited device are not data.
fn is_piped() -> bool {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    let Ok(stat) = rustix::fs::fstat(&stdin) else { return false };
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    match kind {
        rustix::fs::FileType::RegularFile => true,
        // A pipe that nobody writes to would be waited for without end: it counts when something is there or it is closed.
        rustix::fs::FileType::Fifo | rustix::fs::FileType::Socket => {
            let mut fds = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::IN)];
            let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
            rustix::event::poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0)
        }
        _ => false,
    }
}

/// What rules are said to come from that a resume keeps from the session before.
const KEPT_RULES: &str = "the session before";

/// Deny and ask rules of the session's last opening hold on beside those of now (ENGINE 6, Snapshots).
fn keep_stricter_rules(prepared: &mut Prepared, history: &[maia_protocol::Record]) {
    let last = history.iter().rev().find_map(|record| match &record.body {
        Body::SnapshotTaken(snapshot) => Some(snapshot),
        _ => None,
    });
    let definition = history.iter().rev().find_map(|record| match &record.body {
        Body::SessionOpened(opened) => Some(&opened.rules),
        _ => None,
    });
    let mut kept = RuleSet::default();
    // Those of the main agent's definition too: a resume that names none must not lift them.
    if let Some(rules) = definition {
        kept.deny.extend(rules.deny.iter().cloned());
        kept.ask.extend(rules.ask.iter().cloned());
    }
    for source in last.iter().flat_map(|last| &last.rules) {
        kept.deny.extend(source.rules.deny.iter().cloned());
        kept.ask.extend(source.rules.ask.iter().cloned());
    }
    let known = |rule: &String, list: fn(&RuleSet) -> &Vec<String>| {
        prepared.snapshot.rules.iter().any(|source| list(&source.rules).contains(rule))
    };
    kept.deny.retain(|rule| !known(rule, |rules| &rules.deny));
    kept.ask.retain(|rule| !known(rule, |rules| &rules.ask));
    if kept == RuleSet::default() {
        return;
    }
    prepared.snapshot.rules.push(RuleSource { source: KEPT_RULES.to_owned(), rules: kept });
    prepared.rules = Rules::compile(&prepared.snapshot.rules).0;
}
