//! Runs the screen on a real terminal: events and keys in, frames and actions out.
//!
//! Asked by the binary once. Owns the terminal while it runs, and the clock. It draws only after a change, at most
//! thirty times a second, and sleeps otherwise: at rest it sends no byte and takes no time.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event as Input, KeyEvent, MouseEventKind};
use crossterm::execute;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use jiff::Timestamp;
use maia_protocol::Event;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::{Instant, sleep_until};

use crate::action::Action;
use crate::draw::draw;
use crate::input::Inputs;
use crate::key::key;
use crate::screen::{Fact, Screen, Setup};
use crate::terminal::Taken;
use crate::update::update;

/// Time between two frames: at most thirty a second.
const FRAME: Duration = Duration::from_millis(33);
/// Events folded between two looks at the keyboard.
const BATCH: usize = 256;
/// Actions that wait for a caller who is slow to take them; keys that ask for more do nothing.
const OUTBOX: usize = 64;
/// Lines of one notch of the wheel.
const WHEEL: isize = 3;
/// What a caller has to take the last actions in, before the screen goes without them.
const FAREWELL: Duration = Duration::from_secs(1);

/// How the screen runs.
#[derive(Debug, Default)]
pub struct Options {
    /// How it looks.
    pub setup: Setup,
    /// Events of a session that goes on, folded before the stream is read, so that it looks as it did.
    pub past: Vec<Arc<Event>>,
    /// What no event tells, at the start.
    pub facts: Vec<Fact>,
    /// What no event tells, later.
    pub later_facts: Option<Receiver<Fact>>,
    /// Whether the wheel scrolls; selecting text then needs Shift.
    pub mouse: bool,
}

/// Shows the session of `events` until the person leaves, `events` ends, or a signal comes.
///
/// The terminal is given back before this returns, after a panic, and on SIGTERM and SIGHUP; the latter two send
/// [`Action::Interrupted`]. Terminal writes can block, so everything runs on a thread for blocking work.
///
/// # Errors
/// When there is no terminal, or it is lost.
pub async fn run(
    mut options: Options,
    events: Receiver<Arc<Event>>,
    actions: Sender<Action>,
) -> io::Result<()> {
    let handle = tokio::runtime::Handle::current();
    let shown = tokio::task::spawn_blocking(move || {
        let taken = Taken::enter(options.mouse)?;
        let facts = options.later_facts.take();
        let result = handle.block_on(Loop::new(options, actions)?.run(events, facts));
        drop(taken);
        result
    });
    shown.await.unwrap_or_else(|error| Err(io::Error::other(format!("the screen failed: {error}"))))
}

struct Loop {
    screen: Screen,
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    actions: Sender<Action>,
    outbox: VecDeque<Action>,
    start: Instant,
    is_dirty: bool,
    next_frame: Instant,
}

/// Whether the loop goes on.
#[derive(PartialEq)]
enum Then {
    GoOn,
    Leave,
}

impl Loop {
    fn new(options: Options, actions: Sender<Action>) -> io::Result<Self> {
        let mut screen = Screen::new(options.setup);
        options.past.iter().for_each(|event| update(&mut screen, event));
        options.facts.into_iter().for_each(|fact| screen.learn(fact));
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let start = Instant::now();
        Ok(Self {
            screen,
            terminal,
            actions,
            outbox: VecDeque::new(),
            start,
            is_dirty: true,
            next_frame: start,
        })
    }

    async fn run(
        mut self,
        mut events: Receiver<Arc<Event>>,
        mut facts: Option<Receiver<Fact>>,
    ) -> io::Result<()> {
        let actions = self.actions.clone();
        let mut inputs = Inputs::take().await;
        let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            if self.is_dirty && Instant::now() >= self.next_frame {
                self.frame()?;
            }
            let wake = self.wake();
            // The keyboard comes before the stream: a flood of events must not make keys wait.
            tokio::select! {
                biased;
                _ = terminate.recv() => return self.interrupted().await,
                _ = hang_up.recv() => return self.interrupted().await,
                input = inputs.next() => match input {
                    Some(input) => {
                        if self.input(input) == Then::Leave {
                            return self.farewell().await;
                        }
                    }
                    // The terminal is gone, as after a hang-up.
                    None => return self.interrupted().await,
                },
                permit = actions.reserve(), if !self.outbox.is_empty() => match permit {
                    Ok(permit) => {
                        if let Some(action) = self.outbox.pop_front() {
                            permit.send(action);
                        }
                    }
                    Err(_) => return Ok(()),
                },
                fact = next_fact(&mut facts) => {
                    match fact {
                        Some(fact) => self.screen.learn(fact),
                        None => facts = None,
                    }
                    self.is_dirty = true;
                }
                count = events.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        return Ok(());
                    }
                    for event in batch.drain(..) {
                        update(&mut self.screen, &event);
                    }
                    self.is_dirty = true;
                }
                () = sleep_until(wake.unwrap_or(self.start)), if wake.is_some() => self.is_dirty = true,
            }
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns when the loop has something to do by time alone.
    fn wake(&self) -> Option<Instant> {
        if self.is_dirty {
            return Some(self.next_frame);
        }
        let wake = self.start + Duration::from_millis(self.screen.wake_ms()?);
        Some(wake.max(self.next_frame))
    }

    fn frame(&mut self) -> io::Result<()> {
        self.screen.tick(self.now_ms(), Timestamp::now());
        execute!(io::stdout(), BeginSynchronizedUpdate)?;
        let Self { terminal, screen, .. } = self;
        terminal.draw(|frame| draw(frame, screen))?;
        execute!(io::stdout(), EndSynchronizedUpdate)?;
        self.is_dirty = false;
        self.next_frame = Instant::now() + FRAME;
        Ok(())
    }

    fn input(&mut self, input: Input) -> Then {
        match input {
            Input::Key(pressed) => return self.pressed(pressed),
            Input::Paste(text) => {
                let now_ms = self.now_ms();
                self.screen.paste(&text, now_ms);
            }
            Input::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => self.scroll(-WHEEL),
                MouseEventKind::ScrollDown => self.scroll(WHEEL),
                _ => return Then::GoOn,
            },
            Input::Resize(..) => {}
            Input::FocusGained | Input::FocusLost => return Then::GoOn,
        }
        self.is_dirty = true;
        Then::GoOn
    }

    fn pressed(&mut self, pressed: KeyEvent) -> Then {
        self.is_dirty = true;
        if self.outbox.len() >= OUTBOX {
            return Then::GoOn;
        }
        let now_ms = self.now_ms();
        let actions = key(&mut self.screen, pressed, now_ms);
        let leaves = actions.contains(&Action::Quit);
        self.outbox.extend(actions);
        if leaves { Then::Leave } else { Then::GoOn }
    }

    fn scroll(&mut self, lines: isize) {
        let actions = self.screen.scroll(lines);
        if self.outbox.len() < OUTBOX {
            self.outbox.extend(actions);
        }
    }

    async fn interrupted(mut self) -> io::Result<()> {
        self.outbox.push_back(Action::Interrupted);
        self.farewell().await
    }

    /// Hands over the last actions; a caller who does not take them is not waited for.
    async fn farewell(self) -> io::Result<()> {
        crate::terminal::restore();
        let rest = async {
            for action in self.outbox {
                if self.actions.send(action).await.is_err() {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(FAREWELL, rest).await;
        Ok(())
    }
}

/// Returns the next fact; never when nobody tells any.
async fn next_fact(facts: &mut Option<Receiver<Fact>>) -> Option<Fact> {
    match facts {
        Some(facts) => facts.recv().await,
        None => std::future::pending().await,
    }
}
