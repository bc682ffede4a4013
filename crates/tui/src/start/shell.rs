//! The first screen on a real terminal.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::Event as Input;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};

use super::{Start, StartAnswer, StartPage, draw};
use crate::input::Inputs;
use crate::screen::Setup;
use crate::terminal::Taken;

/// How long after it was first drawn the screen takes no answer (SAFETY 3).
const INERT: Duration = Duration::from_millis(crate::question::INERT_MS);

/// Shows the first screen until the person decides; blocks, and must not be called on a thread of a runtime.
///
/// The terminal is given back before this returns and after a panic; SIGTERM, SIGHUP and the loss of the terminal
/// are answered with [`StartAnswer::Leave`].
///
/// # Errors
/// When there is no terminal, or it cannot be written to.
pub fn start(setup: &Setup, page: StartPage) -> io::Result<StartAnswer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let taken = Taken::enter(false)?;
    let answer = runtime.block_on(ask(Start::new(setup, page)));
    drop(taken);
    answer
}

async fn ask(mut start: Start) -> io::Result<StartAnswer> {
    let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    // What was typed before there was anything to read is no answer to it.
    while crossterm::event::poll(std::time::Duration::ZERO)? {
        let _ = crossterm::event::read()?;
    }
    let mut inputs = Inputs::take().await;
    let shown = Instant::now();
    loop {
        terminal.draw(|frame| draw(frame, &mut start))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(StartAnswer::Leave),
            _ = hang_up.recv() => return Ok(StartAnswer::Leave),
            input = inputs.next() => match input {
                // A key that comes with the picture was pressed for something else; leaving is always meant.
                Some(Input::Key(key)) => match start.key(key) {
                    Some(StartAnswer::Go { .. }) if shown.elapsed() < INERT => {}
                    Some(answer) => return Ok(answer),
                    None => {}
                },
                // A new size is drawn; a pasted text and the mouse do nothing.
                Some(_) => {}
                None => return Ok(StartAnswer::Leave),
            },
        }
    }
}
