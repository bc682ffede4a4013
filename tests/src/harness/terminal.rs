//! maia in a pseudo-terminal: keys go in, a model of the screen says what a person would see.
//!
//! - Made by [`Maia::in_terminal`]. One thread reads what the terminal is told; who waits is woken by it, or fails with the last picture.
//! - The process leads a session of its own with the terminal as its controlling one, as from a shell.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::Maia;
use super::run::PATIENCE;

/// How often the end of a process is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// What the terminal was told, and what that looks like.
struct Told {
    parser: vt100::Parser,
    bytes: usize,
}

struct Shared {
    told: Mutex<Told>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// maia in a terminal.
pub struct Terminal {
    child: Mutex<Child>,
    keys: File,
    /// Held so that what was written last can still be read when the process has ended.
    end: OwnedFd,
    shared: Arc<Shared>,
    shown: String,
    /// Moments waited in vain.
    moments: u32,
}

/// How it ended.
#[derive(Debug)]
pub struct Left {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What the screen showed at the end, after the terminal was given back.
    pub screen: String,
    /// Whether the terminal's alternate screen was left.
    pub restored: bool,
}

impl Maia {
    /// Starts it in a terminal of `rows` and `columns`.
    ///
    /// # Panics
    /// When there is no pseudo-terminal or the program cannot be started.
    pub fn in_terminal(self, rows: u16, columns: u16) -> Terminal {
        let (command, shown) = (self.command(), self.shown());
        Terminal::start(command, shown, rows, columns)
    }
}

impl Terminal {
    /// Starts `program` in a terminal of `rows` and `columns`; `shown` names it in messages.
    ///
    /// # Panics
    /// As [`Maia::in_terminal`].
    pub fn start(program: Command, shown: String, rows: u16, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("a path");
        let end: OwnedFd = File::options().read(true).write(true).open(name).expect("the other end").into();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&end, size).expect("a size");
        let stdio = || Stdio::from(end.try_clone().expect("a copy"));
        // The standard tool that makes a session, takes the terminal and becomes the program: `unsafe` is not for tests either.
        let mut command = Command::new("setsid");
        command.args(["--ctty"]).arg(program.get_program()).args(program.get_args()).env_clear();
        for (variable, value) in program.get_envs() {
            command.env(variable, value.unwrap_or_default());
        }
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        if !program.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        let child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
        let keys = File::from(master);
        let told = Told { parser: vt100::Parser::new(some(rows), some(columns), 0), bytes: 0 };
        let shared = Arc::new(Shared { told: Mutex::new(told), news: Condvar::new() });
        read(keys.try_clone().expect("a copy"), shared.clone());
        Self { child: Mutex::new(child), keys, end, shared, shown, moments: 0 }
    }

    /// Writes keys, as a terminal sends them.
    pub fn press(&mut self, keys: &str) {
        // A process that has ended is seen by what the test waits for next.
        let _ = self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush());
    }

    /// Writes a line and Enter, when the input shows it.
    #[track_caller]
    pub fn enter(&mut self, line: &str) {
        self.press(line);
        let first: String = line.lines().next_back().unwrap_or_default().chars().take(30).collect();
        self.wait_for(&format!("the input to show {first:?}"), |screen| screen.contains(&first));
        self.press("\r");
    }

    /// Returns what is on the screen, a line a row.
    pub fn screen(&self) -> String {
        self.shared.lock().parser.screen().contents()
    }

    /// Returns how many bytes the terminal has been told.
    pub fn bytes(&self) -> usize {
        self.shared.lock().bytes
    }

    /// Waits until `fits` holds for the screen, and returns it.
    ///
    /// # Panics
    /// When it does not at the end of [`PATIENCE`], or the process ends before; with the screen.
    #[track_caller]
    pub fn wait_for(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut told = self.shared.lock();
        let (mut gone, mut seen) = (false, usize::MAX);
        loop {
            let screen = told.parser.screen().contents();
            if fits(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && (!gone || told.bytes > seen),
                "waited in vain: {what}\n{}\n{}",
                self.shown,
                framed(&screen)
            );
            (gone, seen) = (self.is_gone(), told.bytes);
            // Nobody tells of its end: it is looked for.
            let left = left.min(LOOK);
            told = self.shared.news.wait_timeout(told, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the CPU time that the program has taken by itself.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child().id())).unwrap_or_default();
        // Fields are counted from behind the name, which may hold blanks: user and system time are the 14th and 15th.
        let fields = stat.rsplit(") ").next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_gone(&self) -> bool {
        !matches!(self.child().try_wait(), Ok(None))
    }

    /// Waits until `text` stands on the screen, and returns the screen.
    ///
    /// # Panics
    /// As [`Terminal::wait_for`].
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) -> String {
        self.wait_for(&format!("{text:?} on the screen"), |screen| screen.contains(text))
    }

    /// Waits a moment for `fits` to hold; `false` when it does not yet. For keys that have to be pressed again.
    ///
    /// # Panics
    /// When it has not held after many such moments.
    #[track_caller]
    pub fn comes(&mut self, what: &str, fits: impl Fn(&str) -> bool) -> bool {
        let told = self.shared.lock();
        let (told, _) = self
            .shared
            .news
            .wait_timeout_while(told, LOOK, |told| !fits(&told.parser.screen().contents()))
            .unwrap_or_else(PoisonError::into_inner);
        let comes = fits(&told.parser.screen().contents());
        drop(told);
        self.moments = if comes { 0 } else { self.moments + 1 };
        assert!(self.moments < 400, "waited in vain: {what}\n{}\n{}", self.shown, framed(&self.screen()));
        comes
    }

    /// Gives the terminal another size.
    pub fn resize(&self, rows: u16, columns: u16) {
        self.shared.lock().parser.screen_mut().set_size(some(rows), some(columns));
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.end, size).expect("a size");
    }

    /// Sends maia a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child());
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.shown));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it has not ended at the end of [`PATIENCE`].
    #[track_caller]
    pub fn end(self) -> Left {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child().try_wait().expect("it is our child") {
                Some(status) => break status,
                None => assert!(
                    Instant::now() < deadline,
                    "it does not end\n{}\n{}",
                    self.shown,
                    framed(&self.screen())
                ),
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        // What it wrote last is read when a mark behind it is.
        let mark = "\u{1b}]0;read to here\u{7}";
        let mut end = File::from(self.end.try_clone().expect("a copy"));
        let before = self.shared.lock().bytes;
        end.write_all(mark.as_bytes()).expect("the terminal takes it");
        let mut told = self.shared.lock();
        while told.bytes < before + mark.len() && Instant::now() < deadline {
            let patience = Duration::from_millis(50);
            told = self.shared.news.wait_timeout(told, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        let (screen, restored) = (told.parser.screen().contents(), !told.parser.screen().alternate_screen());
        Left { code: status.code(), signal: status.signal(), screen, restored }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Already gone in a test that is right; the reader ends with the terminal.
        let _ = self.child().kill();
        let _ = self.child().wait();
    }
}

fn some(size: u16) -> NonZero<u16> {
    NonZero::new(size).expect("a terminal has rows and columns")
}

/// Draws a frame around a screen, for messages.
fn framed(screen: &str) -> String {
    screen.lines().map(|line| format!("| {line}\n")).collect()
}

fn read(mut terminal: File, shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        loop {
            let read = terminal.read(&mut buffer).unwrap_or(0);
            let mut told = shared.lock();
            told.parser.process(buffer.get(..read).unwrap_or_default());
            told.bytes += read;
            shared.news.notify_all();
            if read == 0 {
                return;
            }
        }
    });
}
