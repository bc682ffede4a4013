//! `Delegate`: a graph of tasks through the whole machine (SPEC section 2, T17).

use maia_protocol::Body;
use maia_protocol::model::FailureKind;
use maia_protocol::outcome::Outcome;
use maia_protocol::permission::RulingAction;
use maia_protocol::record::TurnEnd;
use maia_protocol::{Decision, Ruling};
use serde_json::{Value, json};

use crate::check;
use crate::driver::{Order, Tree};
use crate::talk::last_end;
use crate::world::{Asked, World, bash, calls, failure, ruling, text, told};

fn diamond(on_failure: &str) -> Value {
    json!({"on_failure": on_failure, "tasks": [
        {"id": "first", "agent": "helper", "task": "begin"},
        {"id": "left", "agent": "helper", "task": "left", "after": ["first"]},
        {"id": "right", "agent": "helper", "task": "right", "after": ["first"]},
        {"id": "last", "agent": "helper", "task": "join", "after": ["left", "right"]},
    ]})
}

/// The main agent delegates `input`; children say their task back, `right` fails.
fn world(input: Value) -> World {
    let mut world = World::new(move |asked: &Asked<'_>| match (asked.agent.depth(), asked.step) {
        (0, 1) => Ok(calls(&[("Delegate", input.clone())])),
        (0, _) => Ok(text("joined")),
        _ => {
            let task = told(&asked.request.messages).join("\n");
            if task.contains("right") && !task.contains("join") {
                Err(failure(FailureKind::Refused, false))
            } else {
                Ok(text(&format!("did {}", task.lines().next().unwrap_or_default())))
            }
        }
    });
    world.snapshot.tools.push(maia_core::turn::delegate_tool());
    world
}

fn order_of(tree: &Tree) -> Vec<String> {
    let begun = tree.journal.iter().filter_map(|record| match &record.body {
        Body::Delegated(delegated) => delegated.call.task().map(str::to_owned),
        _ => None,
    });
    begun.collect()
}

fn result(tree: &Tree) -> String {
    let output = tree.journal.iter().find_map(|record| match &record.body {
        Body::ToolDone { tool, output, .. } if tool == "Delegate" => Some(output.text.clone()),
        _ => None,
    });
    output.expect("its result")
}

#[test]
fn tasks_begin_in_order_hand_over_and_skip_what_cannot_be() {
    for seed in 0..30 {
        let mut tree = Tree::new(world(diamond("skip")), seed, "go");
        tree.run();
        check::ended(&tree);
        let begun = order_of(&tree);
        assert_eq!(begun.first().map(String::as_str), Some("first"));
        assert_eq!(begun.len(), 3, "the last one is skipped: {begun:?}");
        let text = result(&tree);
        assert!(text.contains("## first (helper): done"), "{text}");
        assert!(text.contains("## right (helper): failed"), "{text}");
        assert!(text.contains("## last (helper): skipped"), "{text}");
    }
}

#[test]
fn continue_hands_on_what_there_is() {
    let mut tree = Tree::new(world(diamond("continue")), 3, "go");
    tree.run();
    check::ended(&tree);
    assert_eq!(order_of(&tree).last().map(String::as_str), Some("last"));
    let task = tree.journal.iter().find_map(|record| match &record.body {
        Body::Delegated(delegated) if delegated.call.task() == Some("last") => Some(delegated.task.clone()),
        _ => None,
    });
    let task = task.expect("it began");
    assert!(
        task.starts_with("join") && task.contains("state=\"result\"") && task.contains("state=\"failed\""),
        "{task}"
    );
}

#[test]
fn what_a_graph_gets_wrong_is_named_and_nothing_starts() {
    let circle = json!({"tasks": [
        {"id": "a", "agent": "helper", "task": "x", "after": ["b"]},
        {"id": "b", "agent": "helper", "task": "y", "after": ["a"]},
    ]});
    let unknown = json!({"tasks": [{"id": "a", "agent": "nobody", "task": "x"}]});
    for (input, names) in [(circle, "circle"), (unknown, "nobody")] {
        let mut tree = Tree::new(world(input), 1, "go");
        tree.run();
        check::ended(&tree);
        assert!(result(&tree).contains(names));
        assert!(order_of(&tree).is_empty());
    }
}

#[test]
fn a_graph_goes_on_after_a_crash_at_every_record() {
    let mut whole = Tree::new(world(diamond("skip")), 7, "go");
    whole.run();
    for cut in 3..=whole.journal.len() {
        let mut tree = Tree::resume(world(diamond("skip")), 11, &whole.journal[..cut]);
        tree.run();
        check::ended(&tree);
        let mut begun = order_of(&tree);
        begun.sort();
        assert_eq!(begun, ["first", "left", "right"], "cut at {cut}");
    }
}

#[test]
fn a_stop_skips_what_has_not_begun_and_ends_what_has() {
    let mut stopped_halfway = false;
    for tick in 0..60 {
        let mut tree = Tree::new(world(diamond("skip")), 5, "go");
        tree.at(tick, Order::Cancel, "maia");
        tree.run();
        check::ended(&tree);
        let outcomes = tree.journal.iter().filter(|record| {
            matches!(&record.body, Body::ChildFinished(finished) if finished.outcome != Outcome::Partial)
        });
        let begun = order_of(&tree);
        assert_eq!(outcomes.count(), begun.len(), "one end each, stopped at {tick}");
        stopped_halfway |= (1..3).contains(&begun.len());
    }
    assert!(stopped_halfway, "no stop came while tasks were left");
}

/// The main agent asks about a command and delegates beside it; the question about the command is answered with stop.
fn stopped(delegates_by_person: bool) -> World {
    let whole = calls(&[bash("x"), ("Delegate", diamond("skip"))]);
    let mut world = world(diamond("skip"));
    world.model = std::rc::Rc::new(move |asked: &Asked<'_>| match asked.agent.depth() {
        0 => Ok(whole.clone()),
        _ => Ok(text("did it")),
    });
    world
        .judge(move |call| -> Ruling {
            let asks = call.name == "Bash" || delegates_by_person;
            ruling(if asks { RulingAction::Ask } else { RulingAction::Run })
        })
        .person(|asked| if asked.tool == "Bash" { Decision::Stop } else { Decision::AllowOnce })
}

#[test]
fn m6_2_stop_skips_tasks_that_have_not_begun_and_the_turn_ends() {
    let mut halfway = false;
    for (seed, by_person) in (0..40).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut tree = Tree::new(stopped(by_person), seed, "go");
        tree.run();
        check::ended(&tree);
        assert_eq!(last_end(&tree).0, TurnEnd::Stopped, "seed {seed}");
        halfway |= !by_person && (1..4).contains(&order_of(&tree).len());
        for cut in (3..tree.journal.len()).step_by(5) {
            let mut resumed = Tree::resume(stopped(by_person), seed, &tree.journal[..cut]);
            resumed.run();
            check::ended(&resumed);
        }
    }
    assert!(halfway, "no stop came while tasks were left");
}
