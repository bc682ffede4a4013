//! The terminal after each way out: the screen runs inside a pseudo-terminal, in this same binary started again, and
//! what the terminal is told and how it is set afterwards is compared with what it was before.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use maia_protocol::Event;
use maia_tui::start::{StartAnswer, StartPage};
use maia_tui::{Action, Options, Setup, run, start};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// So long that only a hang ends it.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [_, "--child", way] => return child(way),
        arguments if arguments.contains(&"--list") => println!("terminal: test"),
        _ => {
            let first = ["start key", "start SIGTERM", "start SIGHUP", "start paste"];
            for way in ["key", "close", "SIGTERM", "SIGHUP", "panic", "other_panic"].into_iter().chain(first)
            {
                check(way);
                println!("test terminal after {way} ... ok");
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs the first screen; what it is answered with is told in the exit code.
fn first(way: &str) -> ExitCode {
    let page = StartPage { version: "/help is not here yet".to_owned(), ..StartPage::default() };
    match (start(&Setup::default(), page), way) {
        (Ok(StartAnswer::Go { save: true, .. }), "start key" | "start paste") => ExitCode::SUCCESS,
        (Ok(StartAnswer::Leave), "start SIGTERM" | "start SIGHUP") => ExitCode::SUCCESS,
        (other, _) => {
            eprintln!("{other:?}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a screen, and the ways out that come from inside the process.
fn child(way: &str) -> ExitCode {
    if way.starts_with("start") {
        return first(way);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (events, stream) = tokio::sync::mpsc::channel::<Arc<Event>>(8);
        let (sender, mut actions) = tokio::sync::mpsc::channel(8);
        let screen = tokio::spawn(run(Options::default(), stream, sender));
        let mut close = Some(events);
        loop {
            match actions.recv().await {
                // The parent asks by a command, once it has seen the first frame.
                Some(Action::Shell { .. }) => match way {
                    "close" => drop(close.take()),
                    "panic" => panic!("a panic of the main thread"),
                    "other_panic" => {
                        let other = std::thread::Builder::new().name("worker".to_owned());
                        let handle = other.spawn(|| panic!("a panic that others handle")).expect("a thread");
                        assert!(handle.join().is_err());
                    }
                    _ => {}
                },
                Some(Action::Quit | Action::Interrupted) | None => break,
                Some(_) => {}
            }
        }
        match screen.await {
            Ok(Ok(())) => ExitCode::SUCCESS,
            other => {
                eprintln!("{other:?}");
                ExitCode::FAILURE
            }
        }
    })
}

/// A screen in a pseudo-terminal.
struct Run {
    child: Child,
    keys: File,
    output: Receiver<Vec<u8>>,
    told: String,
    terminal: OwnedFd,
    before: Termios,
}

impl Run {
    fn start(way: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("a path");
        let terminal: OwnedFd =
            File::options().read(true).write(true).open(name).expect("the other end").into();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("a size");
        let before = tcgetattr(&terminal).expect("its settings");
        let end = || Stdio::from(terminal.try_clone().expect("a copy"));
        let child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--child", way])
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the screen starts");
        let keys = File::from(master);
        let mut reader = keys.try_clone().expect("a copy");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes.get(..count).unwrap_or_default().to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, output, told: String::new(), terminal, before }
    }

    /// Waits until the terminal has been told `text`.
    fn until(&mut self, text: &str) {
        while !self.told.contains(text) {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.told.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("never told {text:?} ({error}): {:?}", self.told),
            }
        }
    }

    /// Presses `keys` again and again until the terminal has been told `text`: a page takes no answer in its first moments.
    fn press_until(&mut self, keys: &str, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            self.press(keys);
            let moment = Instant::now() + Duration::from_millis(100);
            while let Ok(bytes) = self.output.recv_timeout(moment.saturating_duration_since(Instant::now())) {
                self.told.push_str(&String::from_utf8_lossy(&bytes));
            }
            if self.told.contains(text) {
                return;
            }
        }
        panic!("never told {text:?}: {:?}", self.told);
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys are taken");
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the screen is there");
    }
}

fn check(way: &str) {
    let mut screen = Run::start(way);
    screen.until("\u{1b}[?1049h");
    screen.until("/help");
    let during = tcgetattr(&screen.terminal).expect("its settings");
    assert_ne!(during.local_modes, screen.before.local_modes, "{way}: the terminal is not raw");
    match way {
        "key" => screen.press("\u{4}"),
        "start key" => {
            screen.press("yes");
            screen.press_until("\r", "\u{1b}[?1049l");
        }
        // What is pasted holds the key that would accept; only the one after it is pressed.
        "start paste" => {
            screen.press("\u{1b}[200~\u{3}\u{1b}\r\u{1b}[201~");
            screen.press_until("\r", "\u{1b}[?1049l");
        }
        "SIGTERM" | "start SIGTERM" => screen.signal(Signal::TERM),
        "SIGHUP" | "start SIGHUP" => screen.signal(Signal::HUP),
        "other_panic" => {
            screen.press("!go\r");
            // The screen goes on: what is written after the panic is still drawn.
            screen.press("alive");
            screen.until("alive");
            assert!(!screen.told.contains("\u{1b}[?1049l"), "{way}: the terminal was given back");
            screen.press("\u{3}\u{4}");
        }
        _ => screen.press("!go\r"),
    }
    for told in ["\u{1b}[?2004l", "\u{1b}[?1049l", "\u{1b}[?25h"] {
        screen.until(told);
    }
    if way == "panic" {
        screen.until("a panic of the main thread");
        let (screen_part, after) = screen.told.split_once("\u{1b}[?1049l").expect("just seen");
        assert!(!screen_part.contains("a panic of"), "told on the screen that goes away");
        assert!(after.contains("a panic of the main thread"));
    }
    let status = screen.child.wait().expect("it ends");
    assert_eq!(status.success(), way != "panic", "{way}: {status}");
    let after = tcgetattr(&screen.terminal).expect("its settings");
    assert_eq!(after.local_modes, screen.before.local_modes, "{way}: still raw");
    assert_eq!(after.input_modes, screen.before.input_modes, "{way}: still raw");
}
