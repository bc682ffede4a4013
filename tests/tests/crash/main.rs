//! maia is killed at every record of its journal and at any other moment; what it goes on with is as if it had not been (ENGINE 7).

mod again;
mod controls;
mod evidence;
mod leftovers;
mod random;
mod scene;

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evidence::{Evidence, faults, reconciled};
use random::Random;
use scene::Scene;

/// Runs at the same time, in each test.
const THREADS: usize = 2;

/// Does `work` for 0, 1, … on several threads until it says that there is no more; what was wrong fails the test together.
fn each(work: impl Fn(u64) -> Option<Vec<String>> + Sync) -> u64 {
    let next = AtomicU64::new(0);
    let over = AtomicU64::new(u64::MAX);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= over.load(Ordering::Relaxed) {
                        return;
                    }
                    match work(index) {
                        Some(faults) => wrong.lock().expect("nobody panicked with it").extend(faults),
                        None => {
                            over.fetch_min(index, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panicked with it");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    over.into_inner()
}

/// Returns the faults of `evidence` as one text each, with where it came from.
fn told(of: &str, evidence: &Evidence) -> Vec<String> {
    let faults = faults(evidence);
    if faults.is_empty() {
        return faults;
    }
    let records: Vec<String> = evidence.records.iter().map(ToString::to_string).collect();
    vec![format!(
        "== {of}:\n{}\n-- records\n{}\n-- the last run\n{}",
        faults.join("\n"),
        records.join("\n"),
        evidence.said
    )]
}

/// Runs `scene` with a fault that kills it; returns whether it did.
fn killed_at(scene: &Scene, record: u64) -> bool {
    scene.command().fail(format!("journal:{record}=kill")).end().was_killed()
}

/// Goes on with `scene` to its end.
fn go_on(scene: &Scene) -> Evidence {
    let ended = scene.command().end();
    scene.evidence(&ended)
}

/// What the restart table had to decide in the cases of a test.
#[derive(Default)]
struct Decided(Mutex<BTreeSet<String>>);

impl Decided {
    fn note(&self, evidence: &Evidence) {
        self.0.lock().expect("nobody panicked with it").extend(reconciled(&evidence.records));
    }

    /// Checks that the cases led to each of these rows of the table: otherwise the test shows less than it says.
    fn had(self, wanted: &[&str]) {
        let found = self.0.into_inner().expect("nobody panicked with it");
        let missing: Vec<_> = wanted.iter().filter(|wanted| !found.contains(**wanted)).collect();
        assert!(missing.is_empty(), "no case led to {missing:?}, only to {found:?}");
    }
}

#[test]
fn a_run_that_nobody_kills_is_as_it_has_to_be() {
    let scene = Scene::new();
    assert_eq!(told("the whole run", &go_on(&scene)), Vec::<String>::new());
}

#[test]
fn a_kill_at_every_record_changes_nothing() {
    let decided = Decided::default();
    let records = each(|index| {
        let mut scene = Scene::new();
        let record = index + 1;
        if !killed_at(&scene, record) {
            return None;
        }
        scene.note_kill();
        let left = scene.left().into_iter();
        let mut wrong: Vec<_> = left
            .map(|(pid, line)| format!("after the kill at {record}: process {pid} is left: {line}"))
            .collect();
        let evidence = go_on(&scene);
        decided.note(&evidence);
        wrong.extend(told(&format!("killed at {record}"), &evidence));
        Some(wrong)
    });
    assert!(records > 60, "only {records} records: the run is not the one that was meant");
    decided.had(&["Read RunAgain", "Write RunAgain", "Edit RunAgain", "Bash Uncertain"]);
}

#[test]
fn a_resume_that_is_killed_too_changes_nothing() {
    each(|index| {
        let first = 1 + 4 * index;
        // Some records after the opening, which is two; the distance differs, so that the pairs do.
        let second = first + 3 + (index * 5) % 11;
        let mut scene = Scene::new();
        if !killed_at(&scene, first) {
            return None;
        }
        scene.note_kill();
        if killed_at(&scene, second) {
            scene.note_kill();
        }
        Some(told(&format!("killed at {first} and {second}"), &go_on(&scene)))
    });
}

#[test]
fn a_session_that_is_killed_again_and_again_comes_to_its_end() {
    let mut scene = Scene::new();
    for _ in 0..100 {
        let length = scene.records().len() as u64;
        // The opening, the requests that are sent again, and at least one record that leads on.
        if !killed_at(&scene, length + 7) {
            break;
        }
        scene.note_kill();
    }
    assert_eq!(told("killed every seven records", &go_on(&scene)), Vec::<String>::new());
}

#[test]
fn a_hundred_kills_at_any_moment_change_nothing() {
    let began = Instant::now();
    let whole = Scene::new().command().end();
    let length = u64::try_from(began.elapsed().as_micros()).expect("it took no ages");
    assert_eq!(whole.code, Some(0), "{whole}");
    let seed = Random::seed();
    let kills = AtomicU64::new(0);
    let runs = each(|index| {
        if kills.load(Ordering::Relaxed) >= 100 || index >= 400 {
            return None;
        }
        let mut random = Random::new(seed, index);
        let mut scene = Scene::new();
        let mut moments = Vec::new();
        for _ in 0..random.up_to(3) + 1 {
            // Every third one while the session is being opened.
            let within = if random.up_to(3) == 0 { length / 6 } else { length };
            let moment = random.up_to(within);
            moments.push(moment);
            if scene.command().start().kill_after(Duration::from_micros(moment)).was_killed() {
                kills.fetch_add(1, Ordering::Relaxed);
                scene.note_kill();
            }
        }
        // At once: what the dead one held may still be ending.
        Some(told(&format!("seed {seed}, run {index}, killed after {moments:?} µs"), &go_on(&scene)))
    });
    assert!(kills.into_inner() >= 100, "of {runs} runs too few were killed");
}

#[test]
fn a_torn_end_changes_nothing() {
    let (seed, decided) = (Random::seed(), Decided::default());
    each(|index| {
        let mut random = Random::new(seed, index);
        // The kill comes before anybody hears of the last record: torn, it is as if it came before that was durable, and
        // after everything that it tells of.
        let record = 3 + index;
        let mut scene = Scene::new();
        if !killed_at(&scene, record) {
            return None;
        }
        let journal = scene.journal();
        let mut bytes = fs::read(&journal).expect("the journal is there");
        let last = bytes.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) as u64;
        let cut = 1 + random.up_to(last + 1);
        bytes.truncate(bytes.len() - usize::try_from(cut).expect("a line fits into memory"));
        if random.up_to(3) == 0 {
            // What a file system may leave of a write that it did not finish.
            bytes.extend([0; 64]);
        }
        fs::write(&journal, bytes).expect("the journal is ours");
        scene.note_kill();
        let evidence = go_on(&scene);
        decided.note(&evidence);
        Some(told(&format!("seed {seed}, killed at {record}, {cut} bytes cut"), &evidence))
    });
    decided.had(&["Read RunAgain", "Write WasDone", "Edit WasDone", "Bash Uncertain"]);
}

#[test]
fn a_torn_opening_is_no_session_or_one_without_a_request() {
    each(|index| {
        let mut scene = Scene::new();
        if index > 3 || !killed_at(&scene, 1) {
            return None;
        }
        let journal = scene.journal();
        let bytes = fs::read(&journal).expect("the journal is there");
        let whole: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(whole.len(), 3, "an opening is written whole");
        // Ends in the middle of the first, the second, the third line, or behind the second.
        let lines = whole.iter().take(usize::try_from(index).expect("a small number").min(2));
        let mut torn = lines.copied().collect::<Vec<_>>().concat();
        if index < 3 {
            torn.extend(&bytes[torn.len()..torn.len() + 40]);
        }
        fs::write(&journal, torn).expect("the journal is ours");
        scene.note_kill();
        Some(told(&format!("torn opening {index}"), &go_on(&scene)))
    });
}
