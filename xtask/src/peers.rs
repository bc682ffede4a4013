//! Runs maia against real programs of others: clients that drive it, servers that it talks to.
//!
//! - A peer is a folder `tests/peers/<name>/` with an executable `check`; the file `needs` beside it names the programs that
//!   it cannot do without, one a line. An executable `install` beside it brings those that are
//!   missing, from the system's packages, where every peer is required: nobody's machine is changed unasked.
//! - `check` is run in the repository with `MAIA_BIN` (the program to test) and passes with exit code 0. It brings its own
//!   servers up and down, uses loopback only and no key.
//! - A peer whose programs are missing is skipped and said so; a check that hangs has failed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::{entries, stem};

/// How long a check may take: starting a server of somebody else's can take half a minute.
const LIMIT: Duration = Duration::from_secs(300);

/// What a peer counts as whose programs are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is left out.
    Skipped,
    /// It has failed.
    Failed,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
}

/// Runs every peer and tells of each.
///
/// # Errors
/// A sentence that counts the peers that failed, or says why maia could not be built.
pub fn run(root: &Path, missing: Missing) -> Result<(), String> {
    let found = entries(&root.join("tests/peers"))?;
    let peers: Vec<&PathBuf> = found.iter().filter(|folder| folder.join("check").is_file()).collect();
    if peers.is_empty() {
        println!("no peers yet: tests/peers/<name>/check is where they belong");
        return Ok(());
    }
    let program = build(root)?;
    let mut failed = 0;
    for peer in &peers {
        match check(root, peer, &program, missing) {
            Outcome::Passed => println!("{}: passed", stem(peer)),
            Outcome::Skipped(why) => println!("{}: skipped, {why}", stem(peer)),
            Outcome::Failed(why) => {
                failed += 1;
                println!("{}: failed, {why}", stem(peer));
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} peers failed", peers.len())) }
}

/// Builds maia as `cargo test` does and returns where the program lies.
fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--package", "maia"]).current_dir(root).status();
    match built {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("maia could not be built: {status}")),
        Err(error) => return Err(format!("cargo could not be started: {error}")),
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug").join(format!("maia{}", env::consts::EXE_SUFFIX)))
}

fn check(root: &Path, peer: &Path, program: &Path, missing: Missing) -> Outcome {
    let needs = std::fs::read_to_string(peer.join("needs")).unwrap_or_default();
    let paths: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let install = peer.join("install");
    let mut tried = String::new();
    if missing == Missing::Failed && first_missing(&needs, &paths).is_some() && install.is_file() {
        println!("{}: installing what it needs", stem(peer));
        match run_to_end(Command::new(install).current_dir(root)) {
            Ok(status) if status.success() => {}
            Ok(status) => tried = format!(" (installing it failed: {status})"),
            Err(why) => tried = format!(" (installing it failed: {why})"),
        }
    }
    if let Some(name) = first_missing(&needs, &paths) {
        let why = format!("it needs {name}, which is not here{tried}");
        return if missing == Missing::Failed { Outcome::Failed(why) } else { Outcome::Skipped(why) };
    }
    let mut command = Command::new(peer.join("check"));
    match run_to_end(command.current_dir(root).env("MAIA_BIN", program)) {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(status.to_string()),
        Err(why) => Outcome::Failed(why),
    }
}

fn run_to_end(command: &mut Command) -> Result<ExitStatus, String> {
    let child = command.stdin(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    wait(child, LIMIT)
}

/// Returns the first program that `needs` names and no folder of `paths` holds.
fn first_missing<'a>(needs: &'a str, paths: &[PathBuf]) -> Option<&'a str> {
    let names = needs.lines().map(str::trim).filter(|name| !name.is_empty() && !name.starts_with('#'));
    names.into_iter().find(|name| !paths.iter().any(|folder| folder.join(name).is_file()))
}

/// Waits for the end of a check; one that takes longer than `limit` is killed.
fn wait(mut child: Child, limit: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(50)),
            Ok(None) => {
                // What the check has started itself ends with its own means: a kill reaches the check alone.
                let killed = child.kill().and_then(|()| child.wait());
                let how = killed.map_or_else(
                    |error| format!("could not be killed: {error}"),
                    |_| "was killed".to_owned(),
                );
                return Err(format!("it took longer than {} s and {how}", limit.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_missing_program_is_named() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
        let paths = [here.join("src"), here];
        assert_eq!(first_missing("# none\n\nCargo.toml\nmain.rs\n", &paths), None);
        assert_eq!(first_missing("main.rs\nno-such-program\nneither\n", &paths), Some("no-such-program"));
    }

    #[test]
    fn a_check_that_hangs_is_ended() {
        let child = Command::new("sleep").arg("600").spawn().expect("sleep is everywhere");
        let said = wait(child, Duration::ZERO).expect_err("its time is over");
        assert_eq!(said, "it took longer than 0 s and was killed");
    }
}
