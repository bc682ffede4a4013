//! What an index costs, and what it gives: building one, opening one, asking one, beside the journal alone.
//! `cargo bench -p maia-index`; no network.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use maia_index::{Reader, glance, open};
use maia_journal::{Entries, Journal, JournalFile};
use maia_protocol::outcome::EndReason;
use maia_protocol::permission::{Mode, RuleSet, Sandbox};
use maia_protocol::record::{FOLD, SessionOpened};
use maia_protocol::{ActorPath, Body, CallId, NewRecord, ToolOutput, Totals};

/// Records of a long session.
const RECORDS: u32 = 10_000;

/// Agents among whom they are divided.
const AGENTS: u32 = 50;

/// Sessions of a list, and records of each.
const LIST: (u32, u32) = (1_000, 200);

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real disk");
    let dir = folder.path().join("long");
    std::fs::create_dir(&dir).expect("a folder");
    write(&dir, RECORDS);
    let entries = Entries::open(&dir).expect("it is there");
    let bytes = entries.bytes().expect("readable");
    println!("journal, {RECORDS} records          {:>10.2} MB", bytes as f64 / 1e6);

    let (wall, cpu) = taken(|| {
        let index = open(&dir, &entries).expect("a new one");
        index.catch_up(&entries, u64::MAX, || false).expect("built");
    });
    println!("index: build                   {:>10.1} ms, CPU {:.1} ms", ms(wall), ms(cpu));
    println!("index: CPU for one record      {:>10.1} us", ms(cpu) * 1e3 / f64::from(RECORDS));
    println!("index: on the disk             {:>10.2} MB", size(&dir.join(maia_index::FOLDER)) as f64 / 1e6);
    let opening = median(|| drop(open(&dir, &entries).expect("it opens")));
    println!("index: open                    {:>10.1} ms", ms(opening));

    let agent = ActorPath::main().child("reader", 7);
    let older = |reader: &Reader| {
        let found = reader.older(&agent, u64::from(RECORDS) / 2, 100).expect("readable");
        assert_eq!(found.len(), 100);
    };
    let reader = Reader::of_closed(&dir, 0);
    assert!(reader.has_index());
    println!("100 older items: index         {:>10.1} ms", ms(median(|| older(&reader))));
    println!("overview: index                {:>10.1} ms", ms(median(|| drop(reader.overview()))));
    drop(reader);
    let reader = Reader::beside(&dir, maia_index::Shared::default());
    println!("100 older items: journal       {:>10.1} ms", ms(median(|| older(&reader))));
    println!("overview: journal              {:>10.1} ms", ms(median(|| drop(reader.overview()))));

    for n in 0..LIST.0 {
        let dir = folder.path().join(format!("s{n}"));
        std::fs::create_dir(&dir).expect("a folder");
        write(&dir, LIST.1);
    }
    let listing = median(|| {
        for n in 0..LIST.0 {
            let found = glance(&folder.path().join(format!("s{n}"))).expect("readable").expect("recorded");
            assert_eq!(found.closed, Some(EndReason::Done));
        }
    });
    println!("list of {} sessions          {:>10.1} ms", LIST.0, ms(listing));
}

/// Writes a session of `count` records.
fn write(dir: &Path, count: u32) {
    let mut journal = JournalFile::open(dir).expect("it opens").journal;
    let main = ActorPath::main();
    let text = "src/main.rs:12: let number = parse(\"é\")?;\n".repeat(8);
    let mut records = vec![NewRecord::new(main.clone(), opened())];
    records
        .push(NewRecord::new(main.clone(), Body::UserMessage { turn: 1, text: "what is here?".to_owned() }));
    for n in 2..count.saturating_sub(2) {
        let agent = main.child("reader", n % AGENTS + 1);
        let (call, output) = (CallId::new(&agent, n, 1), ToolOutput::ok(format!("{n}: {text}")));
        records.push(NewRecord::new(
            agent,
            Body::ToolDone { call, tool: "Grep".to_owned(), output, duration_ms: 3 },
        ));
    }
    let end = maia_protocol::record::TurnEnd::EndTurn;
    records.push(NewRecord::new(main.clone(), Body::TurnFinished { turn: 1, end, text: "that".to_owned() }));
    let (totals, result) = (Totals::default(), "that".to_owned());
    let closed = Body::SessionClosed { reason: EndReason::Done, result, totals, main: totals };
    records.push(NewRecord::new(main, closed));
    journal.append(&records, Timestamp::now()).expect("appended");
}

fn opened() -> Body {
    Body::SessionOpened(SessionOpened {
        session: "s".to_owned(),
        name: "s".to_owned(),
        cwd: "/".into(),
        model: "m".to_owned(),
        agent: None,
        agent_hash: String::new(),
        tools: None,
        rules: RuleSet::default(),
        iterations: 50,
        mode: Mode::Confirm,
        sandbox: Sandbox::Off,
        headless: true,
        version: "0".to_owned(),
        fold: FOLD,
        resumed: false,
        resumes: Vec::new(),
    })
}

/// Returns the time and the processor time of `work`.
fn taken(work: impl FnOnce()) -> (Duration, Duration) {
    let cpu = || {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or(0))
    };
    let (begun, before) = (Instant::now(), cpu());
    work();
    (begun.elapsed(), cpu() - before)
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..5).map(|_| taken(&mut work).0).collect();
    times.sort_unstable();
    times[2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the bytes that a folder takes.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| {
            entry
                .metadata()
                .map(|found| if found.is_dir() { size(&entry.path()) } else { found.len() })
                .unwrap_or(0)
        })
        .sum()
}
