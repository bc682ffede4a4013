//! Stopping (ENGINE 5, W-stop-cancel): at once, whenever it comes, and nothing is forgotten.

use maia_core::turn::{self, Input, Phase};
use maia_protocol::outcome::Outcome;
use maia_protocol::record::{AfterAnswer, ModelAnswered, TurnEnd};
use maia_protocol::{Body, NewRecord, Record};

use crate::check;
use crate::driver::{Order, Tree};
use crate::talk::last_end;
use crate::world::{World, agent, bash, by_command, calls, script, text, told, write};

fn busy() -> World {
    let first = maia_protocol::Answer {
        text: "I share it out".to_owned(),
        ..calls(&[agent("helper", "1"), agent("helper", "2"), bash("ask x"), write("/projects/a")])
    };
    let child = vec![calls(&[bash("x"), bash("ask y")]), calls(&[write("/projects/a")]), text("child done")];
    World::new(script(&[("maia", vec![first, text("done")]), ("helper", child)])).judge(by_command)
}

#[test]
fn a_run_with_two_children_can_be_stopped_at_every_point() {
    for seed in 0..12 {
        let mut tick = 0;
        loop {
            let mut tree = Tree::new(busy(), seed, "go");
            tree.at(tick, Order::Cancel, "maia");
            tree.run();
            check::ended(&tree);
            let (end, _) = last_end(&tree);
            if end == TurnEnd::EndTurn {
                assert!(tick > 20, "stopped after its end");
                break;
            }
            assert_eq!(end, TurnEnd::Cancelled, "tick {tick}");
            let begun =
                tree.journal.iter().any(|record| matches!(record.body.kind(), "tool_intent" | "delegated"));
            assert_eq!(
                tree.state("maia").messages.is_empty(),
                !begun,
                "taken back when nothing began, tick {tick}"
            );
            if begun {
                assert!(told(&tree.state("maia").messages)[1].starts_with("model: I share it out"));
            }
            tree.ask("and now?");
            check::ended(&tree);
            tick += 1;
        }
    }
}

#[test]
fn a_child_can_be_stopped_and_its_parent_goes_on() {
    for seed in 0..30 {
        let mut tree = Tree::new(busy(), seed, "go");
        tree.run_until(|tree| tree.machines.len() == 3);
        tree.order("maia/helper#2", Order::Cancel);
        tree.run();
        check::ended(&tree);
        assert_eq!(last_end(&tree), (TurnEnd::EndTurn, "done".to_owned()));
        let outcome = tree.journal.iter().find_map(|record| match &record.body {
            Body::ChildFinished(finished) if record.actor.as_str() == "maia/helper#2" => {
                Some(finished.outcome)
            }
            _ => None,
        });
        assert_eq!(outcome, Some(Outcome::Cancelled));
    }
}

#[test]
fn what_was_streamed_stays_when_something_had_begun() {
    let world = World::new(script(&[("maia", vec![calls(&[bash("a")]), text("never whole")])]));
    let mut tree = Tree::new(world, 4, "go");
    tree.run_until(|tree| tree.requests.len() == 2);
    tree.order("maia", Order::Cancel);
    tree.run_until(|tree| tree.journal.iter().any(|record| record.body.kind() == "cancel_asked"));
    tree.run();
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    assert_eq!(talk.len(), 4);
    assert!(talk[3].starts_with("model: half a") && talk[3].contains("interrupted"), "{talk:?}");
    assert_eq!(last_end(&tree).0, TurnEnd::Cancelled);
}

#[test]
fn m6_2_fuse_a_turn_that_is_taken_back_leaves_the_message_it_was_joined_to() {
    let answers = vec![calls(&[bash("ask x")]), text("never whole"), text("fine")];
    let world =
        World::new(script(&[("maia", answers)])).judge(by_command).person(|_| maia_protocol::Decision::Stop);
    let mut tree = Tree::new(world, 4, "go");
    tree.run();
    assert_eq!(last_end(&tree).0, TurnEnd::Stopped);
    let before = tree.state("maia").messages.clone();
    // Told while nothing goes on: it waits for the next request.
    tree.order("maia", Order::Tell("by the way".to_owned()));
    tree.run();
    let tick = tree.ticks;
    tree.at(tick + 3, Order::Cancel, "maia");
    tree.ask("a mistake");
    check::ended(&tree);
    assert_eq!(last_end(&tree).0, TurnEnd::Cancelled);
    assert_eq!(tree.state("maia").messages, before, "as if it had never been asked");
    assert_eq!(tree.state("maia").pending.len(), 1, "what was told is not forgotten with it");
    tree.ask("meant so");
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    assert!(
        talk[2].contains("by the way") && talk[2].ends_with("meant so") && !talk[2].contains("mistake"),
        "{talk:?}"
    );
}

#[test]
fn the_result_of_a_stopped_turn_is_not_an_older_answer() {
    let mut tree = Tree::new(World::new(script(&[("maia", vec![text("old answer")])])), 4, "go");
    tree.run();
    tree.at(tree.ticks + 2, Order::Cancel, "maia");
    tree.ask("something else");
    check::ended(&tree);
    let (end, said) = last_end(&tree);
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(!said.contains("old answer"), "{said}");
}

#[test]
fn a_stop_beside_a_message_does_not_ask_the_model_again() {
    let mut tree = Tree::new(World::new(script(&[("maia", vec![text("done")])])), 0, "go");
    tree.run_until(|tree| tree.requests.len() == 1);
    // All three wait for an append to be committed: the machine sees them at once.
    let answered = Input::Answered {
        step: 1,
        answer: text("done"),
        targets: Vec::new(),
        cost_micros: None,
        first_token_ms: None,
        duration_ms: 1,
    };
    let told = Input::Told { from: "the person".to_owned(), text: "wait".to_owned() };
    let cancel = Input::Cancel { by: "the person".to_owned() };
    let planned = tree.plan("maia", &[answered, told, cancel]);
    let kinds: Vec<_> = planned.iter().map(|record| record.body.kind()).collect();
    assert_eq!(kinds, ["model_answered", "told", "cancel_asked", "turn_finished"]);
    for seed in 0..40 {
        for tick in 0..12 {
            let mut tree = Tree::new(World::new(script(&[("maia", vec![text("done")])])), seed, "go");
            tree.at(tick, Order::Tell("x".to_owned()), "maia").at(tick, Order::Cancel, "maia");
            tree.run();
            check::ended(&tree);
            let cancelled = tree.journal.iter().position(|record| record.body.kind() == "cancel_asked");
            let asked = tree.journal.iter().rposition(|record| record.body.kind() == "model_asked");
            assert!(cancelled.is_none_or(|cancelled| asked < Some(cancelled)), "asked after the stop");
        }
    }
}

#[test]
fn late_answers_after_a_stop_change_nothing() {
    let mut tree = Tree::new(busy(), 8, "go");
    tree.run_until(|tree| matches!(tree.state("maia").phase, Phase::Asking { .. }));
    tree.order("maia", Order::Cancel);
    tree.run();
    let mut state = tree.state("maia").clone();
    let before = state.clone();
    let answered = ModelAnswered {
        step: state.step,
        answer: text("late"),
        targets: Vec::new(),
        model: "m".to_owned(),
        cost_micros: None,
        first_token_ms: None,
        duration_ms: 0,
        interrupted: false,
        then: AfterAnswer::Final { text: "late".to_owned(), truncated: false },
    };
    let NewRecord { actor, body } =
        NewRecord::new(state.path.clone(), Body::ModelAnswered(Box::new(answered)));
    let time = tree.journal[0].time;
    assert_eq!(turn::step(&mut state, &Record { seq: 99, time, actor, body }), []);
    assert_eq!(state, before);
}
