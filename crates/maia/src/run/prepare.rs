//! Reads and checks everything that a session is opened with, before anything starts.
//!
//! - Asked by `maia run`, by the session in the terminal, and by `/clear`, which reads everything afresh.
//! - Trust is decided here, once; what is read again later is held against it (SAFETY 4).

use std::io::{IsTerminal as _, Read as _};

use maia_core::permission::{FaultKind, Rules};
use maia_llm::Provider;
use maia_protocol::permission::Sandbox;
use maia_protocol::snapshot::{KnownAgent, RuleSource};
use maia_protocol::{Body, Mode, RuleSet, Snapshot};

use super::{RunArguments, SandboxArgument, context, open, plan, provider};
use crate::cli;
use crate::error::Failure;
use crate::settings::{Loaded, Places, Settings};
use crate::trust::{self, Decided};

/// What a run is made of, read and checked before anything starts.
pub(super) struct Prepared {
    pub places: Places,
    pub settings: Settings,
    pub snapshot: Snapshot,
    pub rules: Rules,
    pub agent: Option<KnownAgent>,
    pub mode: Mode,
    pub sandbox: Sandbox,
    pub prompt: Option<String>,
    pub plan: Option<plan::Plan>,
    pub notes: Vec<String>,
    pub decided: Decided,
}

/// Reads and checks everything, and opens the session. `needs_request` is for a run that ends with its turn.
pub(super) fn open_session(
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

pub(super) fn prepare(arguments: &RunArguments, needs_request: bool) -> Result<Prepared, Failure> {
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
pub(super) const KEPT_RULES: &str = "the session before";

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
