//! Where the measured program runs: its own home, state and launch folder, and nothing of this machine's settings.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// An agent with what the measurements need; its rules are those of the command line.
const WORKER: &str = "---
name: worker
description: Does one thing.
tools: [Read, Bash]
effort: low
---

## Instructions system

You do one thing.

## Missions

1. Do it.

## Output

A word.
";

/// Folders of a run, removed with it.
pub struct Place {
    /// The program that is measured.
    pub program: PathBuf,
    root: TempDir,
}

impl Place {
    /// Makes the folders on a real disk: what is measured waits for it.
    pub fn new(program: PathBuf) -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real disk");
        let agent = root.path().join("home/.maia/agents/worker");
        for folder in [agent.clone(), root.path().join("folder"), root.path().join("state")] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(agent.join("AGENT.md"), WORKER).expect("a definition");
        std::fs::write(root.path().join("folder/file.txt"), "a line of text\n".repeat(68)).expect("a file");
        Self { program, root }
    }

    /// Returns the folder that holds all others.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the file that takes what a measured program prints.
    pub fn output(&self) -> PathBuf {
        self.root().join("output")
    }

    /// Returns what the last measured program printed.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(self.output()).expect("it was measured")
    }

    /// Returns a command in the launch folder, with an environment of its own.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root().join("folder"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root().join("home")).env("XDG_STATE_HOME", self.root().join("state"));
        command
    }

    /// Returns `maia run` against the endpoint at `url`, with rules that allow what the measurements do.
    pub fn run(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.program);
        command.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", "none");
        command.args([
            "run",
            "--model",
            "m",
            "--allow",
            "Agent",
            "--allow",
            "Bash(true)",
            "--allow",
            "Read(**)",
        ]);
        command.args(arguments);
        command
    }

    /// Returns the folder of the newest session.
    pub fn session(&self) -> PathBuf {
        let projects = self.root().join("state/maia/projects");
        let project = entries(&projects).pop().expect("a project");
        // Their ids begin with the time.
        entries(&project.join("sessions")).pop().expect("a session")
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder that can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Builds the program as it is released, without faults for tests, and returns where it lies.
pub fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--release", "--package", "maia"]).status();
    assert!(status.expect("cargo can be started").success(), "maia cannot be built");
    // Benchmarks lie in `deps` of the same folder.
    let here = std::env::current_exe().expect("this program has a file");
    let program = here.ancestors().nth(2).expect("a folder of cargo").join("maia");
    assert!(program.is_file(), "{} is not there: run this by `cargo bench`", program.display());
    program
}
