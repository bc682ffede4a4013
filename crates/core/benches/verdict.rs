//! Verdicts on commands (SPEC section 6): `cargo bench -p maia-core`.
//!
//! Prints medians beside the promise: 0.1 ms for a command of 200 characters, 0.2 s for a line of 1 MB. Nothing is
//! asserted: a busy machine proves nothing.

use std::hint::black_box;
use std::time::{Duration, Instant};

use maia_core::permission::{Place, Rules, evaluate};
use maia_protocol::permission::RuleSet;
use maia_protocol::snapshot::RuleSource;
use serde_json::{Value, json};

/// Commands of about 200 characters, as agents write them.
const COMMANDS: &[(&str, &str)] = &[
    (
        "200 characters, list and pipe",
        "cd crates/core && cargo test --all-features --no-fail-fast -- --nocapture permission::bash::survey 2>&1 \
         | tail -n 40 && git status --short && git diff --stat HEAD~1 -- crates/core/src/permission.rs",
    ),
    (
        "200 characters, quotes and paths",
        "grep -rn --include='*.rs' -E 'fn (evaluate|judge|survey)' ./crates/core/src ~/notes/todo.md | sort -u | head -n 50; \
         git commit -m \"permission: ask for .env, and say why it is asked\" -- ./docs",
    ),
    (
        "200 characters, one long word",
        "curl --silent --show-error --location --header 'Accept: application/json' --output target/answer.json \
         'https://docs.example/search?query=permission+verdict&page=2&size=100&sort=created' -w '%{http_code}'",
    ),
];

fn rules() -> Rules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let rules = RuleSet {
        allow: list(&[
            "Read(**)",
            "Bash(cd *)",
            "Bash(cargo *)",
            "Bash(git *)",
            "Bash(grep *)",
            "Bash(sort *)",
            "Bash(head *)",
            "Bash(tail *)",
            "Bash(curl *)",
            "Redirect(target/**)",
        ]),
        ask: list(&["Bash(git push *)", "Bash(cargo publish *)"]),
        deny: list(&["Bash(rm *)", "Bash(sudo *)", "Read(secrets/**)", "Redirect(.git/**)"]),
    };
    Rules::compile(&[RuleSource { source: "bench".to_owned(), rules }]).0
}

#[expect(clippy::disallowed_methods, reason = "a measurement looks at the clock")]
fn measure(name: &str, rounds: usize, rules: &Rules, input: &Value, promise: &str) {
    // `cargo bench -p maia-core -- quotes` measures those alone that have this in their name.
    if std::env::args().skip(1).any(|wanted| !wanted.starts_with('-') && !name.contains(&wanted)) {
        return;
    }
    let place = Place {
        cwd: "/srv/launch".into(),
        home: "/home/someone".into(),
        state: Some("/home/someone/.state".into()),
    };
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            black_box(evaluate(rules, "Bash", black_box(input), None, &place));
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |part: usize| times.get(rounds * part / 100).copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!("{name:<44} median {:.3} ms   p99 {:.3} ms   (to reach: {promise})", at(50), at(99));
}

fn main() {
    let rules = rules();
    for (name, command) in COMMANDS {
        measure(name, 4_000, &rules, &json!({ "command": command }), "0.1 ms");
    }
    let megabyte = |piece: &str| json!({ "command": piece.repeat(1_048_576 / piece.len()) });
    for (name, piece) in [
        ("1 MB of commands", "git status && "),
        ("1 MB of one word", "a"),
        ("1 MB of brackets", "$("),
        ("1 MB of quotes", "'a' \"b\" "),
    ] {
        measure(name, 20, &rules, &megabyte(piece), "200 ms");
    }
    for (name, piece) in [
        ("60 KB of commands", "git status && "),
        ("60 KB of paths", "git add ./a/.b/c; "),
        ("60 KB of wrappers", "sudo env nice "),
        ("60 KB of brackets", "( "),
        ("60 KB of documents", "cat <<E\nx\nE\n"),
    ] {
        measure(name, 20, &rules, &json!({ "command": piece.repeat(60_000 / piece.len()) }), "200 ms");
    }
}
