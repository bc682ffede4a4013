//! Appends one by one against group commit, and the opening of a long session (SPEC section 6). Prints ratios:
//! absolute figures are the disk's. `cargo bench -p maia-journal`; no network.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use maia_journal::{Journal, JournalFile, read_all};
use maia_protocol::{ActorPath, Body, CallId, NewRecord, Record, Seq, ToolOutput};

/// Appends that one measurement takes.
const APPENDS: usize = 4_000;

/// Threads that append at the same time, as agents do.
const PRODUCERS: usize = 64;

/// Records of the session that is opened.
const SESSION: usize = 10_000;

fn main() {
    let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real disk");
    let open = |dir: &Path| JournalFile::open(dir).expect("it opens").journal;

    let (first, second, third) = (folder(), folder(), folder());
    let alone = one_by_one(open(first.path()), APPENDS / 10);
    let grouped = in_groups(open(second.path()), APPENDS);
    println!("one by one               {alone:>10.0} appends/s");
    println!(
        "{PRODUCERS} producers, grouped    {grouped:>10.0} appends/s, {:.1} x one by one",
        grouped / alone
    );

    let records = long_session(open(third.path()));
    let bytes = std::fs::metadata(third.path().join("journal.jsonl")).expect("it is there").len();
    let opening = median(|| drop(JournalFile::open(third.path()).expect("it opens")));
    let looking = median(|| drop(read_all(third.path()).expect("readable")));
    println!("open, {records} records     {:>10.1} ms, {:.2} MB", ms(opening), bytes as f64 / 1e6);
    println!("read_all, the same       {:>10.1} ms", ms(looking));

    let journal = open(third.path());
    let every: Vec<Seq> = (1..=records as Seq).collect();
    let single = median(|| {
        for seq in &every {
            journal.read(std::slice::from_ref(seq)).expect("committed");
        }
    });
    println!("read, one record         {:>10.1} us", ms(single) * 1e3 / records as f64);
}

/// A record whose line has about 500 bytes.
fn record(n: usize) -> NewRecord {
    let agent = ActorPath::main().child("reviewer", (n % PRODUCERS) as u32 + 1);
    let output = ToolOutput::ok("src/main.rs:12: let x = \"é\";\n".repeat(10));
    let call = CallId::new(&agent, n as u32 + 1, 1);
    NewRecord::new(agent, Body::ToolDone { call, tool: "Grep".to_owned(), output, duration_ms: 12 })
}

fn one_by_one(mut journal: JournalFile, count: usize) -> f64 {
    let start = Instant::now();
    for n in 0..count {
        journal.append(&[record(n)], Timestamp::UNIX_EPOCH).expect("appended");
    }
    count as f64 / start.elapsed().as_secs_f64()
}

/// What a producer sends: a record, and where the answer goes.
type Request = (NewRecord, SyncSender<Record>);

/// Each producer waits for its answer before it appends again; the owner takes all that wait into one batch.
fn in_groups(mut journal: JournalFile, count: usize) -> f64 {
    let (requests, waiting) = sync_channel::<Request>(PRODUCERS);
    let start = Instant::now();
    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let requests = requests.clone();
            scope.spawn(move || {
                let (answer, answers) = sync_channel(1);
                for n in (producer..count).step_by(PRODUCERS) {
                    requests.send((record(n), answer.clone())).expect("the owner lives");
                    answers.recv().expect("it answers");
                }
            });
        }
        drop(requests);
        serve(&mut journal, &waiting);
    });
    assert_eq!(journal.len(), count as Seq);
    count as f64 / start.elapsed().as_secs_f64()
}

fn serve(journal: &mut JournalFile, waiting: &Receiver<Request>) {
    while let Ok(first) = waiting.recv() {
        let (batch, answers): (Vec<_>, Vec<_>) = std::iter::once(first).chain(waiting.try_iter()).unzip();
        let records = journal.append(&batch, Timestamp::UNIX_EPOCH).expect("appended");
        for (record, answer) in records.into_iter().zip(answers) {
            answer.send(record).expect("the producer waits");
        }
    }
}

fn long_session(mut journal: JournalFile) -> usize {
    let batch: Vec<NewRecord> = (0..SESSION).map(record).collect();
    let start = Instant::now();
    journal.append(&batch, Timestamp::UNIX_EPOCH).expect("appended");
    println!("one batch, all           {:>10.0} appends/s", SESSION as f64 / start.elapsed().as_secs_f64());
    SESSION
}

/// Returns the median of eleven runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..11)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[5]
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
