//! `maia`: the session in the terminal (SPEC section 4, TUI).
//!
//! - Starts the same actors as a headless run, hands their event stream to `maia-tui` and its orders to the root.
//! - Goes on in place with what was interrupted: the fresh session is ended, and the old one shown by the same process.
//! - Leaving stops what is at work and closes the session; whatever happens, it can be resumed.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use maia_actors::root::RootMsg;
use maia_core::event::Projection;
use maia_protocol::{Event, Record};
use maia_tui::{Action, Fact, Options};
use tokio::sync::mpsc;

use super::errands::{Errands, agents};
use super::facts::Facts;
use super::interrupted::{self, Interrupted};
use super::tree::{self, Started};
use super::{ModeArgument, RunArguments, SandboxArgument, first, limits, look, open_session, runtime};
use crate::error::Failure;
use crate::trust::Decided;

/// Arguments of `maia` without a command.
#[derive(Debug, Args)]
pub struct TerminalArguments {
    /// A first request.
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Model, as the endpoint knows it; `script:FILE` plays a script.
    #[arg(long, value_name = "SPEC")]
    pub model: Option<String>,
    /// Goes on with a session, by name or id.
    #[arg(long, value_name = "NAME")]
    pub resume: Option<String>,
    /// Goes on with the last session of this folder.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub last: bool,
    /// What happens where no rule matches.
    #[arg(long, value_name = "MODE", default_value = "confirm")]
    pub mode: ModeArgument,
    /// Adds an allow rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Adds an ask rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Adds a deny rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// Trusts what the folder brings, for this run; with a hash, only if it has that one.
    #[arg(long, value_name = "HASH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub trust: Option<String>,
    /// Runs commands unconfined; with mode auto unasked too.
    #[arg(long)]
    pub no_sandbox: bool,
    /// Says that a container around maia is the boundary.
    #[arg(long, value_name = "external", conflicts_with = "no_sandbox")]
    pub sandbox: Option<SandboxArgument>,
    /// Launch folder.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// How long the last records may take when the person leaves.
const LEAVE_PATIENCE: Duration = Duration::from_secs(10);

/// Shows a session in the terminal and returns the exit code.
///
/// # Errors
/// No terminal (exit 2), and whatever keeps the session from being opened.
pub fn interactive(arguments: TerminalArguments) -> Result<u8, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage("maia needs a terminal, and this is none")
            .mend("without one: maia run \"what is here?\""));
    }
    // A terminal that says so knows no sequences: a screen would only be noise on it.
    if crate::cli::env("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        return Err(Failure::usage("this terminal cannot show a screen: TERM is dumb or not set")
            .mend("set TERM to what the terminal is, such as xterm-256color; without a screen: maia run \"what is here?\""));
    }
    let mut arguments = RunArguments {
        prompt: arguments.prompt,
        model: arguments.model,
        resume: arguments.resume,
        last: arguments.last,
        mode: arguments.mode,
        allow: arguments.allow,
        ask: arguments.ask,
        deny: arguments.deny,
        trust: arguments.trust,
        no_sandbox: arguments.no_sandbox,
        sandbox: arguments.sandbox,
        cwd: arguments.cwd,
        ..RunArguments::default()
    };
    arguments.name_last()?;
    let named = arguments.model.clone();
    if !first::screen(&mut arguments)? {
        return Ok(0);
    }
    let runtime = runtime()?;
    let end = loop {
        let end = runtime.block_on(session(&arguments))?;
        let Some(interrupted) = end.go_on else { break end };
        interrupted::remove_unused(&end.dir);
        // It goes on with its own model, unless the person has named one for this run.
        arguments = RunArguments {
            resume: Some(interrupted.id),
            prompt: None,
            model: named.clone(),
            decided: Some(end.decided),
            ..arguments
        };
    };
    runtime.shutdown_background();
    let name = end.name;
    if end.recorded {
        println!("the session is kept as {name}; go on with: maia --resume {name}");
        return Ok(0);
    }
    Err(Failure::failed("the session ended before its end was recorded")
        .mend(format!("nothing recorded is lost; go on with: maia --resume {name}")))
}

/// How the showing of a session ended.
struct End {
    name: String,
    dir: PathBuf,
    /// Whether its end is recorded.
    recorded: bool,
    /// What holds of the folder as long as maia runs.
    decided: Decided,
    /// The session to be shown instead.
    go_on: Option<Interrupted>,
}

/// Opens the session that the arguments mean, and shows it until the person leaves.
async fn session(arguments: &RunArguments) -> Result<End, Failure> {
    let (prepared, opened, model) = tokio::task::block_in_place(|| open_session(arguments, false))?;
    let (name, dir) = (opened.name.clone(), opened.dir.clone());
    let past = past(&opened.history, &opened.session);
    let facts = vec![Fact::Sandbox(prepared.sandbox), Fact::Agents(agents(&prepared.snapshot))];
    // What was interrupted is offered where nothing is asked yet.
    let looks = arguments.resume.is_none() && arguments.prompt.is_none();
    let project = looks.then(|| prepared.places.project());
    let limits = limits(arguments);
    let decided = prepared.decided.clone();
    let arguments = &RunArguments { decided: Some(decided.clone()), ..arguments.clone() };
    let run = tree::Run { prepared, opened, model, headless: false, one_turn: false, limits };
    let started = tree::start(run).await?;
    let options = Options { setup: look::setup(), past, facts, ..Options::default() };
    let (recorded, go_on) = show(started, options, arguments, project).await?;
    Ok(End { name, dir, recorded, decided, go_on })
}

/// Returns what a session that goes on was, as its events.
fn past(history: &[Record], session: &str) -> Vec<Arc<Event>> {
    let mut projection = Projection::default();
    history.iter().flat_map(|record| projection.events(record, session)).map(Arc::new).collect()
}

/// Shows the session until the person leaves, or wants another one; returns whether its end is recorded, and that one.
async fn show(
    mut started: Started,
    mut options: Options,
    arguments: &RunArguments,
    project: Option<PathBuf>,
) -> Result<(bool, Option<Interrupted>), Failure> {
    let (_, nothing) = mpsc::channel(1);
    let events = std::mem::replace(&mut started.events, nothing);
    let (facts, later_facts) = Facts::channel();
    let (actions, mut asked) = mpsc::channel(64);
    options.later_facts = Some(later_facts);
    let lang = options.setup.lang;
    let mut screen = tokio::spawn(maia_tui::run(options, events, actions));
    started.go();
    let errands = Errands::new(&started, facts.clone(), arguments.clone());
    let mut closed = started.closed.clone();
    let own = started.env.session.clone();
    let (find, mut found) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        let looked = project.and_then(|project| interrupted::look(&project, &own));
        // A screen that has gone meanwhile needs no answer.
        let _ = looked.map(|looked| find.blocking_send(looked));
    });
    let (mut offered, mut go_on) = (None, None);
    let mut lost = None;
    loop {
        tokio::select! {
            action = asked.recv() => match action {
                Some(Action::Quit | Action::Interrupted) | None => break,
                // The screen offers it only as long as nothing was asked here.
                Some(Action::GoOn) => {
                    go_on = offered.take();
                    if go_on.is_some() {
                        break;
                    }
                }
                Some(action) => errands.carry_out(action),
            },
            Some(found) = found.recv() => {
                facts.tell(Fact::Interrupted { text: found.line(lang) });
                offered = Some(found);
            }
            ended = &mut screen => {
                if let Ok(Err(error)) = ended {
                    lost = Some(error);
                }
                break;
            }
            _ = closed.wait_for(Option::is_some) => break,
        }
    }
    drop(errands);
    let _ = started.root.cast(RootMsg::Leave);
    let end = tokio::time::timeout(LEAVE_PATIENCE, closed.wait_for(Option::is_some)).await;
    let recorded = matches!(end, Ok(Ok(end)) if end.as_ref().is_some_and(|end| end.recorded));
    started.kill();
    if !screen.is_finished() {
        // Its stream has ended with the hub: it gives the terminal back.
        let _ = tokio::time::timeout(LEAVE_PATIENCE, &mut screen).await;
    }
    match lost {
        Some(error) => Err(Failure::failed(format!("the terminal was lost: {error}"))
            .mend("the session is kept; go on with maia --resume")),
        None => Ok((recorded, go_on)),
    }
}
