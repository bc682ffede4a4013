//! Whole runs of the released program beside the numbers of SPEC section 6. `cargo xtask bench spine`; no network.
//!
//! - Builds `maia` as it is released, plays its model's server on a loopback socket, and measures the program as a child: CPU
//!   and peak memory as the system counts them, its own processes' children included.
//! - What maia cannot be blamed for is measured beside it in the same run: a bare process, bash, one `fdatasync`.
//! - `cargo bench -p maia-tests --bench spine -- NAME…` runs the measurements whose name contains a NAME.

#[path = "spine/answers.rs"]
mod answers;
#[expect(dead_code, reason = "the table of all numbers is printed by `cargo xtask bench`")]
#[path = "../../xtask/src/numbers.rs"]
mod numbers;
#[path = "spine/place.rs"]
mod place;
#[path = "spine/resume.rs"]
mod resume;
#[path = "spine/rows.rs"]
mod rows;
#[path = "spine/screen.rs"]
mod screen;
#[path = "spine/usage.rs"]
mod usage;

use std::path::PathBuf;

use place::Place;
use rows::Bench;

/// A measurement: by which name it is asked for, and how it is made.
type Row = (&'static str, fn(&Bench));

/// All of them, in the order of SPEC section 6.
const ROWS: &[Row] = &[
    ("controls", rows::controls),
    ("version", rows::version),
    ("frame", screen::first_frame),
    ("rest", screen::rest),
    ("turn", rows::turn),
    ("steps", rows::steps),
    ("four", rows::four),
    ("eight", rows::eight),
    ("prompt", rows::prompt),
    ("thousand", rows::thousand),
    ("resume", rows::resume),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((usage::ARGUMENT, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        usage::child(rest);
        return;
    }
    // Cargo adds options of its own.
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|name| !name.starts_with('-')).collect();
    // One that is built already, or built otherwise, for a comparison.
    let program = std::env::var_os("MAIA_BIN").map_or_else(place::build, PathBuf::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let bench = Bench { place: Place::new(program), runtime: runtime.expect("a runtime") };
    for (name, measure) in ROWS {
        if names.is_empty() || names.iter().any(|wanted| name.contains(wanted)) {
            measure(&bench);
        }
    }
}
