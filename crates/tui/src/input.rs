//! What comes from the person's side of the terminal: keys, pastes, sizes.
//!
//! - Read by one thread for the whole process, which sleeps while nothing is typed; asked by the first screen, then by each session.
//! - crossterm's own stream is for one reader: one that is dropped leaves a wake-up behind, over which the next one misses
//!   the key that comes with it.

use std::io;
use std::sync::OnceLock;

use crossterm::event::Event as Input;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::{Mutex, MutexGuard};

/// Inputs that wait for a screen; whoever types faster waits in the terminal's own queue.
const AHEAD: usize = 1_024;

static INPUTS: OnceLock<Mutex<Receiver<io::Result<Input>>>> = OnceLock::new();

/// The inputs, for one screen at a time.
pub(crate) struct Inputs(MutexGuard<'static, Receiver<io::Result<Input>>>);

impl Inputs {
    /// Takes them, once the screen before has let go of them.
    pub(crate) async fn take() -> Self {
        let inputs = INPUTS.get_or_init(|| {
            let (sender, receiver) = channel(AHEAD);
            let read = move || {
                loop {
                    let input = crossterm::event::read();
                    let is_last = input.is_err();
                    if sender.blocking_send(input).is_err() || is_last {
                        return;
                    }
                }
            };
            // Without a thread the channel is closed: the screen takes that for a terminal that is gone.
            let _ = std::thread::Builder::new().name("keyboard".to_owned()).spawn(read);
            Mutex::new(receiver)
        });
        Self(inputs.lock().await)
    }

    /// Returns the next one; `None` when the terminal is gone.
    pub(crate) async fn next(&mut self) -> Option<Input> {
        self.0.recv().await?.ok()
    }
}
