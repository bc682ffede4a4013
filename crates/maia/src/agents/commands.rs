//! `maia agents list | show | check` (SPEC 4): what there is, what was parsed, what is wrong.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use maia_core::agent_file::{KNOWN_TOOLS, resolve_tools};
use maia_protocol::definition::Origin;
use serde_json::json;

use super::load::{Found, FoundAgent, files_below, load, read};
use super::report::{CheckedFile, fault_text, plain};
use crate::settings::Places;

/// What can be asked about definitions.
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// Lists the agents that can be spawned here, and what is wrong with others.
    List {
        /// Prints one JSON line an agent.
        #[arg(long)]
        json: bool,
    },
    /// Shows one definition in full.
    Show {
        /// The agent; its case does not count.
        name: String,
        /// Prints the definition as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Checks AGENT.md files: prints what was parsed, and each fault with its line.
    Check {
        /// An AGENT.md, the folder that holds it, or a folder of such folders.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Prints one JSON line a file.
        #[arg(long)]
        json: bool,
    },
}

/// Carries out `command` and returns the exit code: 0 when all is valid, 1 when something is not, 2 for a
/// name that nobody has.
///
/// `trusted` tells whether the agents of the launch folder count (SAFETY 4).
pub fn run(command: AgentsCommand, places: &Places, trusted: bool) -> i32 {
    let mut out = io::stdout().lock();
    let result = match command {
        AgentsCommand::List { json } => list(&mut out, &load(places, trusted), json),
        AgentsCommand::Show { name, json } => show(&mut out, &load(places, trusted), &name, json),
        AgentsCommand::Check { paths, json } => check(&mut out, &paths, json),
    };
    match result.and_then(|code| out.flush().map(|()| code)) {
        Ok(code) => code,
        // The reader went away: there is nobody left to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 1,
        Err(error) => {
            crate::print::say(&format!("maia: the output could not be written: {error}"));
            1
        }
    }
}

fn list(out: &mut impl Write, found: &Found, json: bool) -> io::Result<i32> {
    let active = found.agents.iter().map(|found| (found, true));
    for (found, active) in active.chain(found.inert.iter().map(|found| (found, false))) {
        let definition = &found.agent.definition;
        if json {
            let line = json!({
                "name": definition.name, "description": definition.description, "origin": origin(found, active),
                "file": found.file, "hash": found.agent.hash, "inert": !active,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let inert = if active { "" } else { ", inert: the folder is not trusted" };
        writeln!(
            out,
            "{} ({}{inert}): {}",
            definition.name,
            origin(found, active),
            plain(&definition.description.replace('\n', " "))
        )?;
    }
    for warning in &found.warnings {
        eprint!("{}", fault_text(&warning.path.display().to_string(), "warning", &warning.fault, None));
    }
    Ok(0)
}

fn origin(found: &FoundAgent, active: bool) -> &'static str {
    match found.agent.origin {
        Origin::Embedded => "embedded",
        Origin::User => "user",
        Origin::TrustedFolder if active => "trusted folder",
        Origin::TrustedFolder => "folder",
    }
}

fn show(out: &mut impl Write, found: &Found, name: &str, json: bool) -> io::Result<i32> {
    let named = |found: &&FoundAgent| found.agent.definition.name.eq_ignore_ascii_case(name);
    let active = found.agents.iter().find(named).map(|found| (found, true));
    let Some((agent, active)) = active.or_else(|| found.inert.iter().find(named).map(|found| (found, false)))
    else {
        let names: Vec<&str> =
            found.agents.iter().map(|found| found.agent.definition.name.as_str()).collect();
        crate::print::say(&format!("maia: no agent is called `{name}`: there are {}", names.join(", ")));
        for warning in &found.warnings {
            eprint!("{}", fault_text(&warning.path.display().to_string(), "warning", &warning.fault, None));
        }
        return Ok(2);
    };
    let definition = &agent.agent.definition;
    let (tools, unknown) = resolve_tools(definition, KNOWN_TOOLS);
    if json {
        let kinds: Vec<&str> = unknown.iter().map(|fault| fault.kind.as_str()).collect();
        let line = json!({
            "agent": definition, "tools_resolved": tools, "warnings": kinds, "origin": origin(agent, active),
            "file": agent.file, "hash": agent.agent.hash, "inert": !active,
        });
        writeln!(out, "{line}")?;
        return Ok(0);
    }
    let file =
        agent.file.as_ref().map_or_else(|| "in the binary".to_owned(), |file| file.display().to_string());
    let none = |items: &[String]| if items.is_empty() { "none".to_owned() } else { plain(&items.join(", ")) };
    let skills = definition.skills.as_deref().map_or_else(|| "all".to_owned(), none);
    writeln!(out, "name         {}", definition.name)?;
    writeln!(out, "description  {}", plain(&definition.description.replace('\n', " ")))?;
    writeln!(out, "origin       {}: {}", origin(agent, active), plain(&file))?;
    writeln!(out, "model        {}", plain(definition.model.as_deref().unwrap_or("the parent's")))?;
    writeln!(out, "iterations   {}", definition.effort.iterations())?;
    writeln!(out, "tools        {}", none(&tools))?;
    writeln!(out, "skills       {skills}")?;
    writeln!(out, "allow        {}", none(&definition.permissions.allow))?;
    writeln!(out, "ask          {}", none(&definition.permissions.ask))?;
    writeln!(out, "deny         {}", none(&definition.permissions.deny))?;
    let sections = &definition.sections;
    let constraints = sections.constraints.as_deref();
    let all = [
        ("Instructions system", Some(sections.instructions.as_str())),
        ("Missions", Some(sections.missions.as_str())),
        ("Constraints", constraints),
        ("Output", Some(sections.output.as_str())),
    ];
    for (title, text) in all {
        let Some(text) = text else { continue };
        writeln!(out, "\n{title}\n")?;
        for line in text.lines() {
            writeln!(out, "  {}", plain(line))?;
        }
    }
    for fault in &unknown {
        eprint!("{}", fault_text(&file, "warning", fault, None));
    }
    Ok(0)
}

fn check(out: &mut impl Write, paths: &[PathBuf], json: bool) -> io::Result<i32> {
    let mut code = 0;
    for file in paths.iter().flat_map(|path| files(path)) {
        let bytes = read(&file);
        let checked = match &bytes {
            Ok(bytes) => CheckedFile::new(&file, &folder_name(&file), Ok(bytes)),
            Err(fault) => CheckedFile::new(&file, "", Err(fault.clone())),
        };
        if !checked.valid {
            code = 1;
        }
        if json {
            writeln!(out, "{}", serde_json::to_string(&checked)?)?;
        } else {
            write!(out, "{}", checked.human(bytes.as_deref().ok()))?;
        }
    }
    Ok(code)
}

/// Returns the files that `path` stands for; a folder without any stands for the AGENT.md that it lacks.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let own = path.join("AGENT.md");
    let below = files_below(path);
    if own.exists() || below.is_empty() { vec![own] } else { below }
}

/// Returns the name of the folder that holds `file`, as the person wrote it where that tells.
fn folder_name(file: &Path) -> String {
    let parent = std::path::absolute(file).ok().and_then(|file| file.parent().map(Path::to_owned));
    let Some(parent) = parent else { return String::new() };
    let name = parent.file_name().map(|name| name.to_string_lossy().into_owned());
    // `x/..` ends in no name: only the disk knows it.
    name.or_else(|| {
        let real = std::fs::canonicalize(&parent).ok()?;
        Some(real.file_name()?.to_string_lossy().into_owned())
    })
    .unwrap_or_default()
}
