//! Random scripts, interleavings, crashes, stops: what holds always, holds.

use std::rc::Rc;

use maia_core::turn::Limits;
use maia_protocol::model::{FailureKind, ModelFailure};
use maia_protocol::permission::RulingAction;
use maia_protocol::tool::WriteFound;
use maia_protocol::{Answer, Decision};
use proptest::prelude::*;

use crate::check;
use crate::driver::{Order, Tree};
use crate::world::{self, World, agent, bash, calls, edit, failure, known, read, ruling, text, write};

/// What a model does in one step.
#[derive(Clone, Debug)]
enum Move {
    Say,
    Nothing,
    Call(Vec<u8>),
    Fail(bool),
}

#[derive(Clone, Debug)]
struct Case {
    moves: Vec<Move>,
    rulings: Vec<u8>,
    decisions: Vec<u8>,
    iterations: u32,
    seed: u64,
    orders: Vec<(usize, u8, u8)>,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => Just(Move::Say),
        1 => Just(Move::Nothing),
        6 => proptest::collection::vec(0..12u8, 1..5).prop_map(Move::Call),
        1 => any::<bool>().prop_map(Move::Fail),
    ]
}

fn cases(orders: usize) -> impl Strategy<Value = Case> {
    (
        proptest::collection::vec(moves(), 1..10),
        proptest::collection::vec(0..6u8, 1..8),
        proptest::collection::vec(0..5u8, 1..6),
        1..5u32,
        any::<u64>(),
        proptest::collection::vec((0..60usize, any::<u8>(), 0..4u8), 0..=orders),
    )
        .prop_map(|(moves, rulings, decisions, iterations, seed, orders)| Case {
            moves,
            rulings,
            decisions,
            iterations,
            seed,
            orders,
        })
}

/// A number that depends on a text alone: what is asked twice is answered alike.
fn number(text: &str) -> usize {
    text.bytes().fold(7usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte as usize)) >> 3
}

fn call_of(kind: u8) -> (&'static str, serde_json::Value) {
    match kind {
        0 => read("/projects/a"),
        1 => read("/projects/b"),
        2 => write("/projects/a"),
        3 => write("/projects/c"),
        4 => edit("/projects/a"),
        5 => edit("/projects/b"),
        6 | 7 => bash("true"),
        8 => agent("helper", "do it"),
        9 => agent("boss", "do it"),
        10 => agent("nobody", "do it"),
        _ => ("Dream", serde_json::json!({})),
    }
}

fn answer(case: &Case, asked: &world::Asked<'_>) -> Result<Answer, ModelFailure> {
    let at = number(asked.agent.as_str()) + asked.step as usize;
    match &case.moves[at % case.moves.len()] {
        Move::Say => Ok(text("said")),
        Move::Nothing => Ok(text("")),
        Move::Call(kinds) => {
            let mut answer = calls(&kinds.iter().map(|kind| call_of(*kind)).collect::<Vec<_>>());
            if at.is_multiple_of(2) {
                answer.text = "I will look".to_owned();
            }
            Ok(answer)
        }
        Move::Fail(lasting) => {
            if *lasting || asked.attempt < 3 {
                Err(failure(FailureKind::ServerError, true))
            } else {
                Ok(text("at last"))
            }
        }
    }
}

fn world(case: &Case) -> World {
    let shared = Rc::new(case.clone());
    let (model, judge, person, found) = (shared.clone(), shared.clone(), shared.clone(), shared);
    let mut world = World::new(move |asked| answer(&model, asked))
        .iterations(case.iterations)
        .judge(move |call| {
            let at = number(call.id.as_str()) % judge.rulings.len();
            ruling(match judge.rulings[at] {
                0 | 1 => RulingAction::Ask,
                2 => RulingAction::Refuse,
                _ => RulingAction::Run,
            })
        })
        .person(move |asked| match person.decisions[number(asked.call.as_str()) % person.decisions.len()] {
            0 => Decision::Stop,
            1 => Decision::RejectOnce { reason: None },
            _ => Decision::AllowOnce,
        })
        .agents(vec![known("helper", None), known("boss", Some(&["read", "edit", "bash", "agent"]))]);
    world.limits = Limits { max_depth: 2, max_spawns: 5 };
    world.found = Rc::new(move |call| match (number(call.as_str()) as u64 ^ found.seed) % 3 {
        0 => WriteFound::After,
        1 => WriteFound::Before,
        _ => WriteFound::Neither,
    });
    world
}

fn play(case: &Case, mut tree: Tree) -> Tree {
    let mut orders = case.orders.clone();
    orders.sort();
    for (tick, whom, what) in orders {
        while tree.ticks < tick && tree.tick() {}
        let at_work: Vec<_> = tree.machines.keys().cloned().collect();
        let ever: Vec<_> = tree.session.agents.keys().cloned().collect();
        let (order, paths) = match what {
            0 => (Order::Cancel, at_work),
            1 => (Order::Tell("by the way".to_owned()), at_work),
            _ => (Order::AskAgain("and what else?".to_owned()), ever),
        };
        if let Some(path) = paths.get(whom as usize % paths.len().max(1)) {
            tree.order(path.as_str(), order);
        }
    }
    tree.run();
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_session_ends_and_keeps_its_promises(case in cases(4)) {
        let mut tree = play(&case, Tree::new(world(&case), case.seed, "go"));
        check::ended(&tree);
        tree.ask("and now?");
        check::ended(&tree);
        tree.close();
        check::ended(&tree);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_after_any_record_is_gone_on_from(case in cases(2)) {
        gone_on_from(&case);
    }
}

/// Plays the case, cuts its journal after each record, and goes on from there.
fn gone_on_from(case: &Case) {
    let whole = play(case, Tree::new(world(case), case.seed, "go"));
    // Less than the opening is no session.
    for length in 3..=whole.journal.len() {
        let seed = case.seed.wrapping_add(length as u64);
        let mut tree = Tree::resume(world(case), seed, &whole.journal[..length]);
        tree.run();
        check::ended(&tree);
        tree.close();
        check::ended(&tree);
    }
}

/// Found by chance: a person stops at another call of the answer while the child of this one is being recorded.
#[test]
fn a_child_that_begins_while_its_call_is_stopped_gives_the_one_result() {
    let case = Case {
        moves: vec![Move::Call(vec![8, 1, 0]), Move::Nothing],
        rulings: vec![0],
        decisions: vec![0, 0, 0, 0, 2],
        iterations: 1,
        seed: 841_992_528_308_692_899,
        orders: vec![(21, 228, 1)],
    };
    gone_on_from(&case);
}
