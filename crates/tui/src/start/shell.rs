//! The first screen on a real terminal.

use std::io;

use crossterm::event::Event as Input;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};

use super::{Start, StartAnswer, StartPage, draw};
use crate::input::Inputs;
use crate::screen::Setup;
use crate::terminal::Taken;

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
    loop {
        terminal.draw(|frame| draw(frame, &mut start))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(StartAnswer::Leave),
            _ = hang_up.recv() => return Ok(StartAnswer::Leave),
            input = inputs.next() => match input {
                Some(Input::Key(key)) => if let Some(answer) = start.key(key) {
                    return Ok(answer);
                },
                // A new size is drawn; a pasted text and the mouse do nothing.
                Some(_) => {}
                None => return Ok(StartAnswer::Leave),
            },
        }
    }
}
