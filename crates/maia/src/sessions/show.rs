//! `maia sessions show`: the session, its tree of agents, and the transcript of one of them.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use maia_index::{AgentOverview, BUILD_BYTES, Overview, Reader, item_of};
use maia_journal::{Fault, Holders, JournalError};
use maia_protocol::{ActorPath, Seq, Totals};
use serde_json::json;

use super::units::{State, age, clock, outcome, short};
use super::{Trouble, transcript};
use crate::error::Failure;
use crate::print::{count, plain, say};

/// Shows the session in folder `dir`, with the transcript of `actor`, else of the main agent.
pub fn show(out: &mut impl Write, dir: &Path, actor: Option<&str>, json: bool) -> Result<(), Trouble> {
    // Before this command may hold the lock itself.
    let holder = Holders::read().of(dir);
    let reader = Reader::of_closed(dir, BUILD_BYTES);
    let (overview, fault) = reader.overview().map_err(|error| unreadable(dir, &error))?;
    if overview.openings == 0 {
        return Err(nothing(dir, fault).into());
    }
    let state = State::new(overview.closed, holder);
    let actor = match actor {
        None => ActorPath::main(),
        Some(path) => known(&overview, path)?,
    };
    let records = reader.older(&actor, Seq::MAX, usize::MAX).map_err(|error| unreadable(dir, &error))?;
    drop(reader);
    let events = records
        .iter()
        .flat_map(|record| overview.projection_at(record.seq).events(record, &overview.session));
    let events: Vec<_> = events.filter(|event| item_of(event) == actor).collect();
    let subtrees = overview.subtrees();
    if json {
        writeln!(out, "{}", session_json(&overview, state, dir))?;
        for (agent, subtree) in overview.agents.iter().zip(&subtrees) {
            writeln!(out, "{}", agent_json(agent, subtree))?;
        }
        for event in &events {
            serde_json::to_writer(&mut *out, event).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    } else {
        header(out, &overview, state, dir)?;
        writeln!(out, "\nagents")?;
        for at in in_tree_order(&overview.agents) {
            agent_lines(out, &overview.agents[at], &subtrees[at], state)?;
        }
        writeln!(out, "\ntranscript of {}", plain(actor.as_str()))?;
        for event in &events {
            transcript::write(out, event)?;
        }
    }
    out.flush()?;
    if let Some(note) = note(fault, &overview, state) {
        say(&note);
    }
    Ok(())
}

fn unreadable(dir: &Path, error: &JournalError) -> Failure {
    Failure::failed(format!(
        "the session in {} cannot be read: {}",
        dir.display(),
        Failure::with_causes(error)
    ))
}

/// Says why a journal shows no session.
fn nothing(dir: &Path, fault: Option<Fault>) -> Failure {
    let what = match fault {
        None | Some(Fault::Torn) => "nothing is recorded of it".to_owned(),
        Some(fault) => fault.to_string(),
    };
    Failure::failed(format!("the session in {} cannot be shown: {what}", dir.display()))
}

/// Returns the agent of that path.
fn known(overview: &Overview, path: &str) -> Result<ActorPath, Failure> {
    let found = overview.agents.iter().find(|agent| agent.actor.as_str() == path);
    found.map(|agent| agent.actor.clone()).ok_or_else(|| {
        let known: Vec<_> = overview.agents.iter().take(20).map(|agent| agent.actor.as_str()).collect();
        let more = if overview.agents.len() > known.len() { ", …" } else { "" };
        Failure::usage(format!("this session has no agent \"{path}\""))
            .mend(format!("there are {}{more}", known.join(", ")))
    })
}

/// Says what of the journal is not shown; the line that a process is writing is none of it.
fn note(fault: Option<Fault>, overview: &Overview, state: State) -> Option<String> {
    let last = overview.last.map_or(0, |(seq, _)| seq);
    match fault? {
        Fault::Torn if state.holder().is_some() => None,
        Fault::Newer(format) => Some(format!(
            "note: a later version of maia went on with this session (format {format}): shown up to record {last}"
        )),
        Fault::Torn | Fault::Checksum => {
            Some(format!("note: what follows record {last} is damaged or not whole, and is not shown"))
        }
        fault => Some(format!("note: shown up to record {last}; of the next one {fault}")),
    }
}

fn header(out: &mut impl Write, overview: &Overview, state: State, dir: &Path) -> std::io::Result<()> {
    let now = Timestamp::now();
    let running = state.holder().map(|pid| format!(" in process {pid}")).unwrap_or_default();
    writeln!(out, "{} · {}{running}", one_line(&overview.name), state.word())?;
    writeln!(out, "  id       {}", one_line(&overview.session))?;
    writeln!(out, "  folder   {}", one_line(&overview.cwd.display().to_string()))?;
    writeln!(out, "  model    {}", one_line(&overview.model))?;
    if let (Some(opened), Some((seq, last))) = (overview.opened, overview.last) {
        let openings = count(overview.openings.into(), "opening");
        writeln!(out, "  opened   {} ({} ago), {openings}", clock(opened), age(opened, now))?;
        writeln!(out, "  last     {} ({} ago), record {seq}", clock(last), age(last, now))?;
    }
    writeln!(out, "  request  {}", one_line(&overview.request))?;
    let children = (overview.agents.len() as u64).saturating_sub(1);
    let all = overview.subtrees().first().copied().unwrap_or_default();
    writeln!(
        out,
        "  used     {}, {}, {} tokens in, {} out{}",
        count(overview.turns.into(), "turn"),
        count(children, "agent"),
        short(all.input_tokens),
        short(all.output_tokens),
        cost(&all)
    )?;
    writeln!(out, "  journal  {}", one_line(&dir.join("journal.jsonl").display().to_string()))
}

/// Returns the places of agents so that each stands below its parent, in the order in which they began.
fn in_tree_order(agents: &[AgentOverview]) -> Vec<usize> {
    let places: HashMap<_, _> = agents.iter().enumerate().map(|(at, agent)| (&agent.actor, at)).collect();
    let (mut below, mut open): (Vec<Vec<usize>>, Vec<usize>) = (vec![Vec::new(); agents.len()], Vec::new());
    for (at, agent) in agents.iter().enumerate() {
        match agent.actor.parent().and_then(|parent| places.get(&parent).copied()) {
            Some(parent) if parent != at => below[parent].push(at),
            _ => open.push(at),
        }
    }
    open.reverse();
    let mut order = Vec::with_capacity(agents.len());
    while let Some(at) = open.pop() {
        order.push(at);
        open.extend(below[at].iter().rev());
    }
    order
}

fn agent_lines(
    out: &mut impl Write,
    agent: &AgentOverview,
    subtree: &Totals,
    session: State,
) -> std::io::Result<()> {
    let indent = "  ".repeat(agent.actor.depth() + 1);
    let own = &agent.totals;
    let state = agent_state(agent, session);
    let tree = if subtree.input_tokens + subtree.output_tokens > own.input_tokens + own.output_tokens {
        format!(" (with all below {} in, {} out)", short(subtree.input_tokens), short(subtree.output_tokens))
    } else {
        String::new()
    };
    writeln!(
        out,
        "{indent}{} · {state} · {} · {} · {} in, {} out{tree}{}",
        one_line(agent.actor.as_str()),
        count(own.iterations.into(), "iteration"),
        count(own.tool_calls.into(), "call"),
        short(own.input_tokens),
        short(own.output_tokens),
        cost(subtree),
    )?;
    for (what, text) in [("task", Some(&agent.task)), ("cause", agent.cause.as_ref())] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            writeln!(out, "{indent}  {what}: {}", one_line(text))?;
        }
    }
    Ok(())
}

/// Returns how an agent stands: one without an end shares that of its session.
fn agent_state(agent: &AgentOverview, session: State) -> &'static str {
    match agent.outcome {
        Some(ended) => outcome(ended),
        None if agent.actor == ActorPath::main() => session.word(),
        None if session.holder().is_some() => "at work",
        None => "interrupted",
    }
}

fn cost(totals: &Totals) -> String {
    totals.cost_micros.map(|micros| format!(" · ${:.4}", micros as f64 / 1e6)).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    plain(&text.replace(['\n', '\t'], " "))
}

fn session_json(overview: &Overview, state: State, dir: &Path) -> serde_json::Value {
    let all = overview.subtrees().first().copied().unwrap_or_default();
    json!({
        "type": "session", "id": overview.session, "name": overview.name, "cwd": overview.cwd,
        "model": overview.model, "version": overview.version, "state": state.word(), "open_in": state.holder(),
        "opened": overview.opened, "openings": overview.openings, "last": overview.last.map(|(_, time)| time),
        "records": overview.last.map(|(seq, _)| seq), "request": overview.request, "turns": overview.turns,
        "agents": (overview.agents.len() as u64).saturating_sub(1), "totals": all, "dir": dir,
    })
}

fn agent_json(agent: &AgentOverview, subtree: &Totals) -> serde_json::Value {
    json!({
        "type": "agent", "actor": agent.actor, "definition": agent.definition, "model": agent.model,
        "task": agent.task, "outcome": agent.outcome, "cause": agent.cause, "began": agent.began,
        "totals": agent.totals, "subtree": subtree,
    })
}
