//! Starts the program as a person or a script would, in a home, a state folder and a launch folder of its own.
//!
//! - Asked by the tests of whole runs. The binary is given by them: `env!("CARGO_BIN_EXE_maia-faulty")`.
//! - [`World`] owns the folders, [`Maia`] is a command line in the making, [`Running`] a process, [`Ended`] what came of it.
//! - Every wait has an end: a watchdog fails the test with the output so far. Nothing sleeps to be in time.

mod checks;
pub mod endpoint;
mod run;
mod script;
mod terminal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use maia_protocol::Record;
use tempfile::TempDir;

pub use checks::{check_stream, field, of_type};
pub use endpoint::{Asked, Endpoint};
pub use run::{Ended, PATIENCE, Running};
pub use script::{Script, definition};
pub use terminal::{Left, Terminal};

/// Name of the variable by which processes of a test are known.
pub const MARK: &str = "MAIA_TEST_MARK";

/// The folders of one test, empty at first, gone with the value.
pub struct World {
    folder: TempDir,
    binary: PathBuf,
    mark: String,
}

impl World {
    /// Makes the folders for runs of `binary`.
    pub fn new(binary: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("maia-test-{}-{number}.", std::process::id());
        let folder = tempfile::Builder::new().prefix(&mark).tempdir().expect("a temporary folder");
        for name in ["home", "state", "folder"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder in it");
        }
        Self { folder, binary: PathBuf::from(binary), mark }
    }

    /// Returns the home of the runs.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns the folder of `XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Returns the launch folder.
    pub fn cwd(&self) -> PathBuf {
        self.folder.path().join("folder")
    }

    /// Writes a file of the launch folder, with the folders above it.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        put(&self.cwd().join(name), text.as_ref());
    }

    /// Writes a file of the home, with the folders above it.
    pub fn write_home(&self, name: &str, text: impl AsRef<[u8]>) {
        put(&self.home().join(name), text.as_ref());
    }

    /// Reads a file of the launch folder; `None` where there is none.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read(self.cwd().join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Puts a definition into the home: its tools, and its allow rules.
    pub fn agent(&self, name: &str, tools: &[&str], allow: &[&str]) {
        self.write_home(&format!(".maia/agents/{name}/AGENT.md"), definition(name, tools, allow));
    }

    /// Writes a script beside the folders and returns the name of the model that plays it.
    pub fn script(&self, script: &Script) -> String {
        let file = self.folder.path().join(format!("script-{}.jsonl", script.number()));
        put(&file, script.lines().as_bytes());
        format!("script:{}", file.display())
    }

    /// Returns a command line for `maia run`.
    pub fn run(&self) -> Maia {
        self.maia().arg("run")
    }

    /// Returns a command line without arguments.
    pub fn maia(&self) -> Maia {
        let mut variables = BTreeMap::new();
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let mut set = |name: &str, value: String| variables.insert(name.to_owned(), value);
        set("PATH", path);
        set("HOME", self.home().display().to_string());
        set("XDG_STATE_HOME", self.state().display().to_string());
        set("LANG", "C.UTF-8".to_owned());
        // Servers of whoever runs the tests are not theirs.
        set("MAIA_LOCAL_SERVERS", String::new());
        set(MARK, self.mark.clone());
        let (binary, cwd) = (self.binary.clone(), self.cwd());
        Maia { binary, cwd, variables, arguments: Vec::new(), input: Input::Nothing }
    }

    /// Returns the folders of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let projects = entries(&self.state().join("maia/projects"));
        let mut found: Vec<_> =
            projects.iter().flat_map(|project| entries(&project.join("sessions"))).collect();
        // Their names begin with the time at which they were made.
        found.sort();
        found
    }

    /// Returns the records of the last session.
    pub fn journal(&self) -> Vec<Record> {
        let dir = self.sessions().pop().expect("there is a session");
        maia_journal::read_all(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())).0
    }

    /// Returns the living processes of these runs: id and command line.
    ///
    /// maia and its helpers are non-dumpable: who is not root sees those of commands only.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for entry in entries(Path::new("/proc")) {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let Ok(pid) = name.parse() else { continue };
            let read = |file: &str| std::fs::read(entry.join(file)).unwrap_or_default();
            let (environ, line) = (read("environ"), read("cmdline"));
            let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&self.mark);
            // A process that has ended and was not waited for has neither.
            if holds(&environ) || holds(&line) {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push((pid, line.trim().to_owned()));
            }
        }
        found
    }

    /// Waits until none of these runs' processes is left.
    ///
    /// # Panics
    /// When one is there at the end of [`PATIENCE`].
    pub fn wait_until_nothing_runs(&self) {
        run::poll("processes to end", || self.processes().is_empty(), || format!("{:?}", self.processes()));
    }

    /// Waits until `done` holds, for what nobody tells of; `what` names it.
    ///
    /// # Panics
    /// When it does not at the end of [`PATIENCE`].
    pub fn wait_until(&self, what: &str, done: impl FnMut() -> bool) {
        run::poll(what, done, || format!("{:?}", self.sessions()));
    }

    /// Waits until a file of the launch folder is there and `enough` holds for its text.
    ///
    /// # Panics
    /// When that is not so at the end of [`PATIENCE`].
    pub fn wait_for_file(&self, name: &str, enough: impl Fn(&str) -> bool) {
        let there = || self.read(name).is_some_and(|text| enough(&text));
        run::poll(&format!("the file {name}"), there, || format!("it holds {:?}", self.read(name)));
    }
}

/// What standard input holds.
enum Input {
    /// Nothing, and it is no pipe.
    Nothing,
    /// These bytes, then its end.
    Bytes(Vec<u8>),
    /// What the test writes.
    Pipe,
}

/// A command line in the making.
pub struct Maia {
    binary: PathBuf,
    cwd: PathBuf,
    variables: BTreeMap<String, String>,
    arguments: Vec<String>,
    input: Input,
}

impl Maia {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// Names the model.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        self.arg("--model").arg(model)
    }

    /// Adds `--allow` rules.
    #[must_use]
    pub fn allow(self, rules: &[&str]) -> Self {
        rules.iter().fold(self, |maia, rule| maia.arg("--allow").arg(*rule))
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Names the endpoint at `url`, in the form of OpenAI's own clients.
    #[must_use]
    pub fn endpoint(self, url: &str) -> Self {
        self.env("OPENAI_BASE_URL", format!("{url}/v1")).model("test-model")
    }

    /// Injects faults (grammar: `maia_actors::failpoint`).
    #[must_use]
    pub fn fail(self, faults: impl Into<String>) -> Self {
        self.env("MAIA_FAIL", faults)
    }

    /// Starts it in another folder.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = folder.into();
        self
    }

    /// Gives it standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Leaves standard input open; the test writes to it.
    #[must_use]
    pub fn stdin_open(mut self) -> Self {
        self.input = Input::Pipe;
        self
    }

    /// Returns the command, for tests that hold its streams themselves.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(&self.arguments).current_dir(&self.cwd).env_clear().envs(&self.variables);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if matches!(self.input, Input::Nothing) { Stdio::null() } else { Stdio::piped() });
        command
    }

    fn shown(&self) -> String {
        format!("{:?}, MAIA_FAIL={:?}", self.arguments, self.variables.get("MAIA_FAIL"))
    }

    /// Starts it.
    pub fn start(self) -> Running {
        let running = Running::new(self.command(), self.shown());
        match self.input {
            Input::Bytes(bytes) => running.feed(bytes),
            Input::Nothing | Input::Pipe => running,
        }
    }

    /// Runs it to its end.
    pub fn end(self) -> Ended {
        self.start().end()
    }
}

fn put(path: &Path, bytes: &[u8]) {
    let folder = path.parent().expect("a file lies in a folder");
    std::fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}
