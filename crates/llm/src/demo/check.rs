//! Testers: finds out how a project is checked, and what changed last; the one part that runs a command.
//!
//! - The command only looks, and exists everywhere. Where it is refused or fails, the rest is told.
//! - No tests are run: a model that understands nothing should not start what may take an hour.

use serde_json::json;

use super::Next;
use super::explore::manifest;
use super::prose::{code, count, lines, listed, why};
use super::survey::counts;
use super::talk::{Seen, Turn};

/// Lines that begin a test, in most languages.
const TESTS: &str =
    r"#\[(?:\w+::)?test\b|^\s*(?:async\s+)?def test_|^\s*(?:it|test)\(|^func Test|@Test\b|\bTEST(?:_F)?\(";
/// The newest changes of a git repository.
const LOG: &str = "git log --oneline -5";
/// What there is, where there is no repository.
const LIST: &str = "ls -A";

pub(super) fn next(turn: &Turn<'_>) -> Next {
    let end = || report(turn);
    match turn.answered.len() {
        0 => {
            let tests = json!({"pattern": TESTS, "output_mode": "count", "head_limit": 2000});
            let calls = vec![
                ("Glob", json!({"pattern": "*"})),
                ("Grep", tests),
                ("Read", json!({"path": ".git/HEAD"})),
            ];
            turn.act("I look how this project is checked.", calls, end)
        }
        1 => {
            let (say, command) = if turn.given("Read", "path", ".git/HEAD").is_some() {
                ("This is a git repository. May I look at its last five changes?", LOG)
            } else {
                ("This is no git repository that I can see. May I list its names?", LIST)
            };
            turn.act(say, vec![("Bash", json!({"command": command}))], end)
        }
        _ => Next::End(end()),
    }
}

/// Returns the command that runs a project's tests.
fn suite(top: &[&str]) -> Option<&'static str> {
    Some(match manifest(top)?.0 {
        "Cargo.toml" => "cargo test",
        "package.json" => "npm test",
        "pyproject.toml" | "setup.py" | "requirements.txt" => "python -m pytest",
        "go.mod" => "go test ./...",
        "pom.xml" => "mvn test",
        "build.gradle" => "gradle test",
        "Gemfile" => "bundle exec rake test",
        "composer.json" => "composer test",
        "mix.exs" => "mix test",
        "CMakeLists.txt" => "ctest",
        _ => "make test",
    })
}

fn report(turn: &Turn<'_>) -> String {
    let top: Vec<&str> =
        turn.given("Glob", "pattern", "*").map(|output| lines(output).collect()).unwrap_or_default();
    let (suite, command) = (suite(&top), turn.of("Bash").next());
    let mut notes = Vec::new();
    let tests = turn.given("Grep", "pattern", TESTS).map(counts).unwrap_or_default();
    let number: u64 = tests.iter().map(|(_, count)| count).sum();
    if number > 0 {
        let number = count(usize::try_from(number).unwrap_or(usize::MAX), "line");
        let files = count(tests.len(), "file");
        notes.push(format!("what looks like the beginning of a test stands in {number} of {files}"));
    } else {
        notes.push("no line looks like the beginning of a test".to_owned());
    }
    notes.push(match suite {
        Some(suite) => format!("{} would run the tests; the demo model runs none", code(suite, 60)),
        None => "nothing at the top says how this is checked".to_owned(),
    });
    notes.extend(command.map(told));
    let ran = command.and_then(|seen| seen.input["command"].as_str()).unwrap_or("none");
    let notes: Vec<String> = notes.iter().map(|note| format!("note | {note}")).collect();
    format!(
        "result | not run\ncommand | {}\ncounts | passed ? | failed ? | skipped ?\n{}",
        suite.unwrap_or(ran),
        notes.join("\n")
    )
}

/// Says what came of the command.
fn told(seen: &Seen<'_>) -> String {
    let command = seen.input["command"].as_str().unwrap_or_default();
    if seen.failed {
        return format!("{} gave nothing: {}", code(command, 60), why(seen.output));
    }
    let said: Vec<&str> = lines(seen.output).filter(|line| !line.starts_with("[exit code")).collect();
    if command == LOG {
        let changes: Vec<String> = said.iter().take(3).map(|line| code(line, 90)).collect();
        return match changes.as_slice() {
            [] => "git knows of no change yet".to_owned(),
            changes => format!("the last changes, by {}: {}", code(LOG, 60), listed(changes)),
        };
    }
    match said.len() {
        0 => format!("{} lists no name", code(command, 60)),
        names => {
            let first: Vec<String> = said.iter().take(5).map(|name| code(name, 40)).collect();
            format!("{} lists {}: {}", code(command, 60), count(names, "name"), listed(&first))
        }
    }
}
