//! What a session's overview counts: every life of an agent, whatever its end says of it.

mod support;

use maia_index::{Overview, Reader, Shared, glance};
use maia_protocol::outcome::{Outcome, Totals};
use maia_protocol::{Body, NewRecord};
use support::{caught_up, folder, record, write};

/// An end of agent `who` that says this of what it used.
fn end(n: u32, who: u32, outcome: Outcome, totals: Totals) -> NewRecord {
    let mut end = record(n, 6, who, "");
    if let Body::ChildFinished(finished) = &mut end.body {
        (finished.outcome, finished.totals, finished.subtree) = (outcome, totals, totals);
    }
    end
}

/// A closing of a session in which no model has answered.
fn closed(n: u32) -> NewRecord {
    let mut closed = record(n, 9, 0, "");
    if let Body::SessionClosed { totals, main, .. } = &mut closed.body {
        (*totals, *main) = Default::default();
    }
    closed
}

fn overview(records: &[NewRecord]) -> Overview {
    let dir = folder();
    drop(write(dir.path(), "s", records));
    let (overview, fault) = Reader::beside(dir.path(), Shared::default()).overview().expect("readable");
    assert_eq!(fault, None);
    let seen = glance(dir.path()).expect("readable").expect("recorded");
    let sum = overview.subtrees()[0];
    assert_eq!(seen.tokens, (sum.input_tokens, sum.output_tokens), "a list and a look say the same");
    assert_eq!(seen.model, overview.model);
    overview
}

#[test]
fn a_second_life_adds_to_the_first_one() {
    let life =
        Totals { iterations: 1, tool_calls: 1, input_tokens: 10, output_tokens: 5, ..Totals::default() };
    let ended = |n, duration_ms| end(n, 1, Outcome::Done, Totals { duration_ms, ..life });
    let mut records = vec![record(1, 5, 1, "t"), record(1, 4, 1, "a"), ended(1, 40)];
    let first = overview(&records).agents[1].clone();
    assert_eq!((first.totals, first.outcome), (Totals { duration_ms: 40, ..life }, Some(Outcome::Done)));

    records.push(record(1, 15, 1, "again"));
    assert_eq!(overview(&records).agents[1].outcome, None, "it is at work again");
    records.extend([record(2, 4, 1, "b"), ended(2, 2)]);
    let twice = Totals {
        iterations: 2,
        tool_calls: 2,
        input_tokens: 20,
        output_tokens: 10,
        duration_ms: 42,
        cost_micros: None,
    };
    assert_eq!(overview(&records).agents[1].totals, twice);
}

#[test]
fn an_agent_that_failed_has_used_what_it_used() {
    let records = [record(1, 5, 1, "t"), record(1, 4, 1, "a"), end(1, 1, Outcome::Failed, Totals::default())];
    let agent = &overview(&records).agents[1];
    assert_eq!((agent.totals.input_tokens, agent.totals.iterations), (10, 1));
    assert_eq!(agent.outcome, Some(Outcome::Failed));
}

#[test]
fn the_model_is_the_last_one_that_was_chosen() {
    let mut records = vec![record(1, 1, 0, "go"), record(5, 16, 0, "")];
    let open = overview(&records);
    assert_eq!((open.model.as_str(), open.agents[0].model.as_str()), ("m5", "m5"));
    records.extend([record(1, 7, 0, "done"), closed(1)]);
    assert_eq!(overview(&records[..]).model, "m5", "a closed one too");
    records.extend([record(7, 0, 0, ""), record(2, 1, 0, "go"), record(2, 7, 0, ""), closed(2)]);
    assert_eq!(overview(&records).model, "m7", "opened again with another");
}

#[test]
fn what_looks_like_a_secret_is_not_in_the_index() {
    let secret = "ghp_neverToBeSeen0123456789";
    let texts = |n: u32| {
        let request = format!("DB_PASSWORD=hunter2x {secret} {n}");
        [record(n, 1, 0, &request), record(n, 5, 1, &request), record(n, 6, 1, &request)]
    };
    let records: Vec<_> = (0..400).flat_map(texts).collect();
    let dir = folder();
    drop(write(dir.path(), "s", &records));
    let (overview, _) = Reader::beside(dir.path(), Shared::default()).overview().expect("readable");
    assert_eq!(overview.request, "DB_PASSWORD=[secret] [secret] 0");
    let mut keyframes = 0;
    for (key, value) in caught_up(dir.path()).dump().expect("readable") {
        let text = String::from_utf8_lossy(&value);
        assert!(!text.contains("hunter2x") && !text.contains(secret), "{key:?}");
        keyframes += usize::from(key == b"k" && text.contains("DB_PASSWORD=[secret]"));
    }
    assert_eq!(keyframes, 1, "the test would see it there");
    let seen = glance(dir.path()).expect("readable").expect("recorded");
    assert_eq!(seen.request, overview.request);
}
