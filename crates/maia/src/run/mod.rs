//! `maia run`: one request without a terminal (SPEC section 4).
//!
//! - Has the session opened, starts the actors, shows the stream, ends with the session's code.
//! - What a session is opened with is read by `prepare`; the session in the terminal is `interactive`.
//! - Nothing is asked of a model before the opening is durable and, with `--json`, shown (ENGINE 2).

mod arguments;
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
mod prepare;
mod provider;
mod tree;

use std::io::Write as _;

use maia_actors::root::Closed;
use maia_core::permission::{Place, lacking_rules};
use maia_protocol::outcome::EndReason;

use crate::error::Failure;
use crate::print::{Form, count, say};

use arguments::limits;
use prepare::{KEPT_RULES, Prepared, open_session, prepare};

pub use arguments::{ModeArgument, RunArguments, SandboxArgument};
pub use interactive::{TerminalArguments, interactive};
pub use tree::place;

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
