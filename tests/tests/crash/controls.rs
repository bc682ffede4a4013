//! Controls: what the checks of these tests would say if maia broke its word.
//!
//! - The evidence of a good run is spoiled in each way that a check looks for; the check has to say so.
//! - Then a whole run without the guard: what was done is taken out of the journal, as if it had been done before it was durable.

use std::fs;

use maia_protocol::Body;

use crate::evidence::{Asked, Evidence, faults};
use crate::scene::Scene;
use crate::{go_on, killed_at, told};

type Spoil = fn(&mut Evidence);

const SPOILED: &[(&str, Spoil)] = &[
    ("ended with", |evidence| evidence.code = Some(1)),
    ("gave", |evidence| evidence.result = Some("41".to_owned())),
    ("is left: sleep", |evidence| evidence.left.push((7, "sleep 300".to_owned()))),
    ("records that were there are lost", |evidence| {
        evidence.records.remove(4);
    }),
    ("its answer is in the journal", |evidence| {
        let first = evidence.requests[0].clone();
        evidence.requests.push(first);
    }),
    ("times", |evidence| {
        let last: Vec<Asked> = evidence.requests.iter().rev().take(1).cloned().collect();
        evidence.requests.extend([last.clone(), last].concat());
    }),
    ("in other words", |evidence| {
        let mut last = evidence.requests.last().expect("there are requests").clone();
        last.body["messages"] = "another".into();
        evidence.requests.push(last);
    }),
    ("answers in the journal", |evidence| {
        evidence.records.retain(|record| !(record.seq > 20 && matches!(record.body, Body::ModelAnswered(_))));
    }),
    ("has 2 results", |evidence| {
        let done = evidence.records.iter().rfind(|record| matches!(record.body, Body::ToolDone { .. }));
        let done = done.expect("calls have results").clone();
        evidence.records.push(done);
    }),
    ("has no result", |evidence| {
        let done = evidence.records.iter().rposition(|record| matches!(record.body, Body::ToolDone { .. }));
        evidence.records.remove(done.expect("calls have results"));
    }),
    ("ran 2 times", |evidence| log(evidence, |text| text.push_str("main\n"))),
    ("did not run", |evidence| log(evidence, |text| *text = text.replace("main\n", ""))),
    ("the log holds", |evidence| log(evidence, |text| text.push_str("unasked\n"))),
    ("failed: ", |evidence| {
        for record in &mut evidence.records {
            if let Body::ToolDone { output, .. } = &mut record.body {
                output.is_error = true;
            }
        }
    }),
    ("worker.txt holds", |evidence| {
        evidence.files.get_mut("worker.txt").expect("it was written").text = "ticktocktock\n".to_owned();
    }),
    ("notes.txt was written again", |evidence| {
        evidence.files.get_mut("notes.txt").expect("it was there").inode += 1;
    }),
    ("is left in the folder", |evidence| {
        let file = evidence.files["notes.txt"].clone();
        evidence.files.insert(".maia-tmp".to_owned(), file);
    }),
];

fn log(evidence: &mut Evidence, change: impl Fn(&mut String)) {
    change(&mut evidence.files.get_mut("marks.log").expect("commands ran").text);
}

#[test]
fn every_check_sees_what_it_looks_for() {
    let mut scene = Scene::new();
    assert!(killed_at(&scene, 20));
    scene.note_kill();
    let good = go_on(&scene);
    assert_eq!(told("the control", &good), Vec::<String>::new());
    for (wanted, spoil) in SPOILED {
        let mut evidence = good.clone();
        spoil(&mut evidence);
        let found = faults(&evidence);
        assert!(found.iter().any(|fault| fault.contains(wanted)), "no fault says {wanted:?}: {found:#?}");
    }
}

#[test]
fn a_run_whose_effects_came_before_their_records_is_told() {
    let mut scene = Scene::new();
    let ended = scene.command().end();
    assert_eq!(ended.code, Some(0), "{ended}");
    scene.note_kill();
    // From the first answer of the worker on nothing is recorded, and all of it was done.
    let first = scene.records().into_iter().find(|record| {
        record.actor.as_str() == "maia/worker#1" && matches!(record.body, Body::ModelAnswered(_))
    });
    let first = first.expect("the worker was answered");
    let journal = scene.journal();
    let text = fs::read_to_string(&journal).expect("the journal is text");
    let kept = text.split_inclusive('\n').take(usize::try_from(first.seq - 1).expect("a small number"));
    fs::write(&journal, kept.collect::<String>()).expect("the journal is ours");
    let found = faults(&go_on(&scene));
    for wanted in
        ["records that were there are lost", "was asked again, its answer is in the journal", "ran 2 times"]
    {
        assert!(found.iter().any(|fault| fault.contains(wanted)), "no fault says {wanted:?}: {found:#?}");
    }
}
