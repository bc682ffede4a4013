//! Chores of this repository that cargo has no command for: `cargo xtask peers`, `cargo xtask bench`.
//!
//! - Asked by people and by `.ci/run`; nothing of the product depends on it.
//! - Owns nothing: peers and benchmarks are found where they lie, so that adding one changes no line here.
//! - A usage error is exit code 2, a failed chore 1.

mod bench;
mod numbers;
mod peers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask peers [--require] | bench [NAME…]

peers      run the checks against real peers, tests/peers/*/check; one whose programs are missing is skipped,
           with --require they are installed (system packages), and what is still missing has failed
bench      run the benchmarks in release, all or those whose name contains a NAME, and print the numbers to reach";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["peers"] => peers::run(&root(), peers::Missing::Skipped),
        ["peers", "--require"] => peers::run(&root(), peers::Missing::Failed),
        ["bench", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => {
            bench::run(&root(), names)
        }
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the folder of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Returns the entries of a folder, sorted; none where it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let read = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for entry in read {
        found.push(entry.map_err(|error| format!("{}: {error}", folder.display()))?.path());
    }
    found.sort();
    Ok(found)
}

/// Returns the last part of a path, without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
