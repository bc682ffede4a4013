//! A small stand-in for maia in the tests of this crate: it answers to `__exec`, and runs one call by itself.
//!
//! - `maia-exec-host bash CWD COMMAND`: runs the command as Bash would and prints its output as it comes, then the result.
//! - `maia-exec-host rewrite FILE N`: writes the file over and over, N bytes of one letter at a time, printing each letter.
//! - `maia-exec-host stage FILE TEXT`: does the first half of a Write, prints its intent, and waits for its standard input.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use maia_tools::bash::{self, Cancel, Limits};
use maia_tools::{FileWork, Workspace, exec};
use serde_json::json;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let first = args.next();
    if first.as_deref() == Some(exec::ARGUMENT.as_ref()) {
        return exec::main(args);
    }
    let words: Vec<String> = args.map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match (first.as_ref().and_then(|word| word.to_str()), words.as_slice()) {
        (Some("bash"), [cwd, command]) => bash(cwd, command),
        (Some("rewrite"), [file, count]) => rewrite(file, count.parse().unwrap_or(1)),
        (Some("stage"), [file, text]) => stage(file, text),
        _ => Err(io::Error::other("usage: bash CWD COMMAND | rewrite FILE N | stage FILE TEXT")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn workspace(cwd: &str) -> io::Result<Workspace> {
    let cwd = PathBuf::from(cwd).canonicalize()?;
    Ok(Workspace { home: cwd.clone(), cwd, env: std::env::vars().collect(), exe: std::env::current_exe()? })
}

fn bash(cwd: &str, command: &str) -> io::Result<()> {
    let workspace = workspace(cwd)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let input = json!({"command": command});
    let output = runtime.block_on(bash::run(
        &input,
        &workspace,
        &Limits::default(),
        |process| println!("helper {}", process.pid),
        |chunk| {
            print!("{chunk}");
            // A reader that is gone is seen at the end.
            let _ = io::stdout().flush();
        },
        Cancel::new(),
    ));
    writeln!(io::stdout(), "{}", output.text)
}

fn write(file: &str, text: &str) -> io::Result<FileWork> {
    let workspace = workspace("/")?;
    let input = json!({"path": file, "content": text});
    let target =
        maia_tools::target("Write", &input, &workspace).map_err(|output| io::Error::other(output.text))?;
    let target = target.ok_or_else(|| io::Error::other("a Write has a file"))?;
    maia_tools::prepare("Write", &input, &target, None, &workspace)
        .map_err(|output| io::Error::other(output.text))
}

fn rewrite(file: &str, count: usize) -> io::Result<()> {
    for letter in ["a", "b", "c", "d"].iter().cycle() {
        let output = write(file, &letter.repeat(count))?.commit();
        if output.is_error {
            return Err(io::Error::other(output.text));
        }
        writeln!(io::stdout(), "{letter}")?;
    }
    Ok(())
}

fn stage(file: &str, text: &str) -> io::Result<()> {
    let work = write(file, text)?;
    let intent = serde_json::to_string(work.intent())?;
    let staged = work.stage().map_err(|output| io::Error::other(output.text))?;
    writeln!(io::stdout(), "{intent}")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    let output = staged.place();
    writeln!(io::stdout(), "{}", output.text)
}
