//! The terminal itself: taken over once, given back after any exit.
//!
//! Asked by [`crate::run`] at its start and end, and by the panic hook. Owns one flag: whether the terminal is taken.
//! Giving back is safe to do twice and from any thread, so every way out does it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

static TAKEN: AtomicBool = AtomicBool::new(false);

type Hook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// Gives the terminal back to the shell, if it is taken: for a caller that ends the process by another way.
///
/// Errors are of no use here: there is no screen left to tell them on.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = out.flush();
    }
}

/// The taken terminal; dropping it gives it back and puts the panic hook of before in its place.
pub(crate) struct Taken {
    previous: Arc<Hook>,
}

impl Taken {
    /// Takes the terminal: raw mode, alternate screen, bracketed paste, the wheel if `mouse` says so.
    ///
    /// # Errors
    /// When standard input or output is no terminal.
    pub(crate) fn enter(mouse: bool) -> io::Result<Self> {
        let previous = Arc::new(std::panic::take_hook());
        install(Arc::clone(&previous));
        let taken = Self { previous };
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        // Cleared, because a program that was killed may have left its own screen there.
        execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableBracketedPaste)?;
        if mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        restore();
        // The hook cannot be changed while a panic unwinds; ours does no harm once the terminal is given back.
        if !std::thread::panicking() {
            let previous = Arc::clone(&self.previous);
            std::panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

/// Installs a hook that gives the terminal back before a panic of the screen or of the main thread is told.
///
/// Panics of other threads are caught by supervisors or runtimes and told in the stream: printing them would only
/// spoil the screen, so they go to the log.
fn install(previous: Arc<Hook>) {
    let screen = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        if thread.id() == screen || thread.name() == Some("main") || !TAKEN.load(Ordering::SeqCst) {
            restore();
            previous(info);
        } else {
            tracing::error!(thread = thread.name().unwrap_or("unnamed"), "{info}");
        }
    }));
}
