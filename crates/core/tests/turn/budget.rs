//! Iterations, the closing request, limits of the tree (M20.3-budget, M20.3-summary, W-stop-max, ENGINE 6).

use maia_core::turn::Limits;
use maia_protocol::Body;
use maia_protocol::outcome::Outcome;
use maia_protocol::record::TurnEnd;

use crate::check;
use crate::driver::Tree;
use crate::talk::last_end;
use crate::world::{World, agent, bash, calls, script, text, told};

#[test]
fn m20_3_summary_spent_iterations_are_followed_by_a_closing_request_without_tools() {
    let model = |asked: &crate::world::Asked<'_>| {
        Ok(match (asked.agent.name(), asked.step, asked.closing) {
            ("maia", 1, _) => calls(&[agent("helper", "look")]),
            ("maia", ..) => text("done"),
            (_, _, true) => text("what I found"),
            _ => calls(&[bash("again")]),
        })
    };
    let mut tree = Tree::new(World::new(model), 5, "go");
    tree.run();
    check::ended(&tree);
    let child: Vec<_> = tree.requests.iter().filter(|(path, _)| path.as_str() == "maia/helper#1").collect();
    assert_eq!(child.len(), 6, "five iterations and the closing request");
    let (_, closing) = child.last().expect("a closing request");
    assert!(!closing.tools_usable && closing.max_tokens == Some(4_000));
    assert_eq!(closing.tools, child[0].1.tools, "tools stay declared");
    assert!(told(&closing.messages).last().is_some_and(|last| last.contains("iterations are spent")));
    let finished = tree.journal.iter().find_map(|record| match &record.body {
        Body::ChildFinished(finished) => Some(finished),
        _ => None,
    });
    let finished = finished.expect("its end");
    assert_eq!((finished.outcome, &*finished.summary), (Outcome::Partial, "what I found"));
    assert_eq!((finished.totals.iterations, finished.totals.tool_calls), (5, 5));
    assert_eq!(tree.session.totals.iterations, 7, "a closing request is no iteration");
}

#[test]
fn w_stop_max_calls_of_a_closing_answer_never_run() {
    let answers =
        vec![calls(&[bash("a")]), maia_protocol::Answer { text: "sum".to_owned(), ..calls(&[bash("b")]) }];
    let mut tree = Tree::new(World::new(script(&[("maia", answers)])).iterations(1), 5, "go");
    tree.run();
    check::ended(&tree);
    assert_eq!(last_end(&tree), (TurnEnd::MaxIterations, "sum".to_owned()));
    assert_eq!(tree.runs.len(), 1);
}

#[test]
fn an_empty_closing_answer_falls_back_on_what_was_said_last() {
    let first = maia_protocol::Answer { text: "found three".to_owned(), ..calls(&[bash("a")]) };
    let mut tree = Tree::new(World::new(script(&[("maia", vec![first, text("")])])).iterations(1), 5, "go");
    tree.run();
    check::ended(&tree);
    assert_eq!(last_end(&tree), (TurnEnd::MaxIterations, "found three".to_owned()));
}

#[test]
fn every_turn_has_its_own_series_of_iterations() {
    let model = |asked: &crate::world::Asked<'_>| {
        Ok(if asked.step % 2 == 1 { calls(&[bash("a")]) } else { text("done") })
    };
    let mut tree = Tree::new(World::new(model).iterations(2), 5, "go");
    tree.run();
    tree.ask("more");
    check::ended(&tree);
    assert_eq!(last_end(&tree).0, TurnEnd::EndTurn);
}

fn spawning(limits: Limits) -> World {
    let model = |asked: &crate::world::Asked<'_>| {
        Ok(match (asked.agent.depth(), asked.step) {
            (0, 1) => calls(&[agent("boss", "1"), agent("boss", "2"), agent("boss", "3")]),
            (_, 1) => calls(&[agent("boss", "deeper")]),
            _ => text("done"),
        })
    };
    let mut world = World::new(model);
    world.limits = limits;
    world
}

#[test]
fn engine_6_the_deepest_agents_do_the_work_themselves() {
    let mut tree = Tree::new(spawning(Limits { max_depth: 2, max_spawns: 200 }), 1, "go");
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.gone.len(), 6);
    assert!(tree.gone.keys().all(|path| path.depth() <= 2));
    let deep = tree.state("maia/boss#1/boss#1");
    assert!(told(&deep.messages)[2].contains("at most 2 deep"), "{:?}", told(&deep.messages));
}

#[test]
fn engine_6_a_session_spawns_no_more_than_its_limit_in_one_answer_either() {
    let mut tree = Tree::new(spawning(Limits { max_depth: 1, max_spawns: 2 }), 1, "go");
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.gone.len(), 2);
    assert!(told(&tree.state("maia").messages)[2].contains("MaxSpawns"));
}
