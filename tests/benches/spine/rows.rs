//! The measurements. Each prints a line: what was measured, what was reached, what is to be reached, what others take.

use std::path::Path;
use std::time::{Duration, Instant};

use maia_protocol::Body;
use maia_protocol::outcome::Outcome;
use maia_test_support::{FakeEndpoint, Reply, Sse};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::answers;
use crate::numbers::NUMBERS;
use crate::place::Place;
use crate::usage::{Usage, measure, median, middle};

/// Commands that one agent runs in a row; two such runs are measured. A turn has at most 100 iterations.
const STEPS: usize = 99;

/// What the measurements share.
pub struct Bench {
    /// The program and its folders.
    pub place: Place,
    /// Runs the endpoints.
    pub runtime: Runtime,
}

impl Bench {
    fn once(&self, endpoint: &FakeEndpoint, arguments: &[&str]) -> Usage {
        measure(&self.place.run(endpoint.url(), arguments), 1, &self.place.output())
    }

    /// What bash itself takes for `true`.
    fn bash(&self) -> Usage {
        let mut bash = self.place.command(Path::new("bash"));
        bash.args(["--noprofile", "--norc", "-c", "true"]);
        measure(&bash, 100, &self.place.output())
    }

    /// What one answer takes.
    fn answer(&self) -> Usage {
        let endpoint = answers::one(&self.runtime);
        median(11, || self.once(&endpoint, &["hi"]))
    }

    /// How many sub-agents of the last session are done, of how many records.
    fn done(&self) -> (usize, usize) {
        let (records, _) = maia_journal::read_all(&self.place.session()).expect("a session");
        let done = |body: &Body| matches!(body, Body::ChildFinished(child) if child.outcome == Outcome::Done);
        (records.iter().filter(|record| done(&record.body)).count(), records.len())
    }
}

/// Prints a line; what is to be reached is looked up by how its row of the table begins.
pub fn line(row: &str, what: &str, reached: &str) {
    println!("{what}\n    reached  {reached}");
    if let Some(number) = NUMBERS.iter().find(|number| number.what.starts_with(row)) {
        println!("    to reach {}", number.reach);
        if !number.others.is_empty() {
            println!("    others   {}", number.others);
        }
    }
}

/// Returns milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn mb(kb: u64) -> f64 {
    kb as f64 / 1024.0
}

/// What the machine takes for what maia cannot do without.
pub fn controls(bench: &Bench) {
    let bare = measure(&bench.place.command(Path::new("true")), 100, &bench.place.output());
    let bash = bench.bash();
    println!("controls of this run");
    println!("    a bare process    {:.1} ms CPU, {:.1} ms wall", ms(bare.cpu), ms(bare.wall));
    println!("    bash -c true      {:.1} ms CPU, {:.1} ms wall", ms(bash.cpu), ms(bash.wall));
    println!("    write, fdatasync  {:.2} ms wall, 500 bytes", ms(sync(bench.place.root())));
}

fn sync(folder: &Path) -> Duration {
    use std::io::Write as _;
    let mut file = std::fs::File::create(folder.join("synced")).expect("a file");
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let began = Instant::now();
            file.write_all(&[b'x'; 500]).and_then(|()| file.sync_data()).expect("a disk with room");
            began.elapsed()
        })
        .collect();
    middle(&mut times)
}

/// `maia --version`.
pub fn version(bench: &Bench) {
    let mut command = bench.place.command(&bench.place.program);
    command.arg("--version");
    let usage = median(5, || measure(&command, 20, &bench.place.output()));
    let reached =
        format!("{:.1} ms CPU, {:.1} ms wall, {:.0} MB", ms(usage.cpu), ms(usage.wall), mb(usage.peak_kb));
    line("maia --version", "maia --version", &reached);
}

/// A headless turn with one answer.
pub fn turn(bench: &Bench) {
    let usage = bench.answer();
    let reached =
        format!("{:.0} ms CPU, {:.1} MB, {:.0} ms wall", ms(usage.cpu), mb(usage.peak_kb), ms(usage.wall));
    line("headless turn", "headless turn, one answer", &reached);
}

/// The time between two model requests of one agent, with `true` in Bash between.
pub fn steps(bench: &Bench) {
    let (answer, bash) = (bench.answer(), bench.bash());
    let (mut gaps, mut cpu) = (Vec::new(), Duration::ZERO);
    for _ in 0..2 {
        let (endpoint, times) = answers::commands(&bench.runtime, STEPS);
        cpu += bench.once(&endpoint, &["go", "--max-iterations", "100"]).cpu;
        gaps.extend(answers::between(&times));
    }
    assert_eq!(gaps.len(), 2 * STEPS, "every command ran");
    let gap = middle(&mut gaps);
    let late = gaps[gaps.len() * 9 / 10];
    let step = cpu.saturating_sub(answer.cpu * 2) / (2 * STEPS as u32);
    let reached = format!(
        "{:.1} ms median, {:.1} ms at 90 %, bash's own {:.1} ms taken off; CPU {:.1} ms beside bash's {:.1} ms",
        ms(gap.saturating_sub(bash.wall)),
        ms(late.saturating_sub(bash.wall)),
        ms(bash.wall),
        ms(step.saturating_sub(bash.cpu)),
        ms(bash.cpu),
    );
    line("own time", &format!("own time between two requests of an agent, {} steps", gaps.len()), &reached);
}

/// Four sub-agents, each one Bash call.
pub fn four(bench: &Bench) {
    let usage = median(5, || {
        let endpoint = answers::sub_agents(&bench.runtime, 4, "Bash");
        let usage = bench.once(&endpoint, &["go"]);
        assert_eq!(bench.done().0, 4, "all are done");
        usage
    });
    let reached = format!(
        "{:.3} s wall, {:.3} s CPU, {:.1} MB",
        usage.wall.as_secs_f64(),
        usage.cpu.as_secs_f64(),
        mb(usage.peak_kb)
    );
    line("4 sub-agents", "4 sub-agents, each one Bash call", &reached);
}

/// Eight sub-agents at once, and more than there are places.
pub fn eight(bench: &Bench) {
    let done = [8, 24].map(|count| {
        let endpoint = answers::sub_agents(&bench.runtime, count, "Bash");
        bench.once(&endpoint, &["go"]);
        format!("{} of {count}", bench.done().0)
    });
    line("8 sub-agents", "8 and 24 sub-agents at once, 8 places", &format!("done: {}", done.join(", ")));
}

/// What the first requests hold, in tokens of o200k_base; `tests/prompt.rs` holds them to it.
pub fn prompt(bench: &Bench) {
    let endpoint = answers::sub_agents(&bench.runtime, 1, "Read");
    bench.once(&endpoint, &["hi"]);
    let tokens: Vec<usize> = endpoint
        .requests()
        .iter()
        .map(|request| {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            tiktoken_rs::o200k_base_singleton().encode_ordinary(&body).len()
        })
        .collect();
    let reached = format!("{} main agent, {} sub-agent, the whole body", tokens[0], tokens[1]);
    line("prompt sent", "prompt sent for \"hi\", in tokens", &reached);
}

/// A thousand sub-agents, each two streamed answers and one Read.
pub fn thousand(bench: &Bench) {
    const COUNT: usize = 1_000;
    let limits = ["--max-spawns", "2000", "--max-parallel-agents", "100", "--max-in-flight", "100"];
    let mut done = (0, 0);
    let usage = median(3, || {
        let endpoint = answers::sub_agents(&bench.runtime, COUNT, "Read");
        let usage = bench.once(&endpoint, &[&["go"], &limits[..]].concat());
        done = bench.done();
        assert_eq!(done.0, COUNT, "all are done");
        usage
    });
    let reached = format!(
        "{:.2} ms CPU each, {:.0} MB, {} done, {} records, {:.2} s wall",
        ms(usage.cpu) / COUNT as f64,
        mb(usage.peak_kb),
        done.0,
        done.1,
        usage.wall.as_secs_f64()
    );
    line("1,000 sub-agents", "1,000 sub-agents, 2 answers and a Read each, 100 at once", &reached);
}

/// The last result of a session of 10,000 records, once more.
pub fn resume(bench: &Bench) {
    let call = Sse::call_answer("call_1", "Read", &json!({"path": "file.txt"}));
    let replies = vec![Reply::sse(call), Reply::sse(Sse::answer("That is all."))];
    let endpoint = bench.runtime.block_on(FakeEndpoint::in_turn(replies));
    bench.once(&endpoint, &["look"]);
    let pattern = bench.place.session();
    let records = crate::resume::write(&pattern, 10_000);
    let usage = median(5, || {
        let usage = bench.once(&endpoint, &["--resume", crate::resume::ID]);
        assert_eq!(bench.place.printed(), "That is all.\n", "the last result again");
        usage
    });
    let reached = format!(
        "{:.3} s wall, {:.3} s CPU, {:.1} MB",
        usage.wall.as_secs_f64(),
        usage.cpu.as_secs_f64(),
        mb(usage.peak_kb)
    );
    line("resume", &format!("resume of {records} records, to the result"), &reached);
}
