//! What one program took: wall time, CPU and peak memory, as the system counts them.
//!
//! - The system adds up what all children of a process took, so each measurement has a process of its own: this program
//!   again, which runs the measured one, waits for it, and writes down what its children took.
//! - CPU holds that of every descendant that was waited for; memory is that of the largest of them, of no less than this
//!   small process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The first argument that makes this program measure another.
pub const ARGUMENT: &str = "__measure";

/// What a program took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// From its start to its end.
    pub wall: Duration,
    /// In user and system mode together.
    pub cpu: Duration,
    /// Resident memory at its largest, in KB.
    pub peak_kb: u64,
}

/// Runs `command` so many times, one after another, and returns what one of them took; memory is that of the largest.
///
/// `command` must not have been given pipes; its standard output goes to `output`. One that fails ends the benchmark.
pub fn measure(command: &Command, times: u32, output: &Path) -> Usage {
    let figures = tempfile::NamedTempFile::new().expect("a temporary file");
    let stdout = std::fs::File::create(output).expect("a file for what is printed");
    let mut measured = Command::new(std::env::current_exe().expect("this program has a file"));
    measured.arg(ARGUMENT).arg(figures.path()).arg(times.to_string());
    measured.arg(command.get_program()).args(command.get_args());
    measured.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    measured.current_dir(command.get_current_dir().expect("a folder is always given"));
    let errors = output.with_extension("errors");
    let stderr = std::fs::File::create(&errors).expect("a file for what is said");
    let status =
        measured.stdin(Stdio::null()).stdout(stdout).stderr(stderr).status().expect("this program again");
    let said = || std::fs::read_to_string(&errors).unwrap_or_default();
    assert!(status.success(), "{:?} failed: {}", command.get_program(), said());
    read(&std::fs::read_to_string(figures.path()).expect("figures"))
}

fn read(figures: &str) -> Usage {
    let numbers: Vec<u64> =
        figures.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let [wall, cpu, peak_kb] = numbers[..] else { panic!("three figures, not {figures}") };
    Usage { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), peak_kb }
}

/// The other end: `arguments` are the file for the figures, how often, program and arguments.
pub fn child(arguments: &[String]) {
    let [figures, times, program, arguments @ ..] = arguments else { panic!("too few arguments") };
    let times: u32 = times.parse().expect("a number");
    let began = Instant::now();
    for _ in 0..times {
        let status = Command::new(program).args(arguments).status().expect("the program can be started");
        if !status.success() {
            eprintln!("{status}");
            std::process::exit(1);
        }
    }
    let wall = began.elapsed() / times;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts");
    let cpu =
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) / i64::from(times);
    let text = format!("{} {cpu} {}", wall.as_micros(), usage.max_rss());
    std::fs::write(figures, text).expect("the figures can be written");
}

/// Returns the figures in the middle of `rounds` measurements, each taken by itself.
pub fn median(rounds: usize, mut measure: impl FnMut() -> Usage) -> Usage {
    let all: Vec<Usage> = (0..rounds).map(|_| measure()).collect();
    let mut walls: Vec<_> = all.iter().map(|usage| usage.wall).collect();
    let mut cpus: Vec<_> = all.iter().map(|usage| usage.cpu).collect();
    let mut peaks: Vec<_> = all.iter().map(|usage| usage.peak_kb).collect();
    Usage { wall: middle(&mut walls), cpu: middle(&mut cpus), peak_kb: middle(&mut peaks) }
}

/// Returns the value in the middle.
pub fn middle<T: Ord + Copy>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}
