//! What a rebuilt agent looks at, row by row of the restart table (ENGINE 7).

use std::rc::Rc;

use maia_core::turn::{self, Effect, Phase, State};
use maia_protocol::record::{ReconcileAction, TurnEnd};
use maia_protocol::tool::WriteFound;
use maia_protocol::{Body, Decision};

use crate::check;
use crate::driver::{Order, Tree};
use crate::talk::last_end;
use crate::world::{World, bash, by_command, calls, edit, read, script, text, told, write};

fn world(list: &[(&str, serde_json::Value)]) -> World {
    World::new(script(&[("maia", vec![calls(list), text("done")])])).judge(by_command)
}

/// Plays until a record of `kind` is committed, then goes on from the journal as after a crash.
fn crash_after(world: &World, kind: &str) -> Tree {
    let mut tree = Tree::new(world.clone(), 0, "go");
    tree.answers = false;
    tree.run_until(|tree| tree.journal.last().is_some_and(|record| record.body.kind() == kind));
    Tree::resume(world.clone(), 0, &tree.journal)
}

fn actions(tree: &Tree) -> Vec<ReconcileAction> {
    let found = tree.journal.iter().filter_map(|record| match &record.body {
        Body::Reconciled { action, .. } => Some(*action),
        _ => None,
    });
    found.collect()
}

fn result(tree: &Tree) -> String {
    told(&tree.state("maia").messages)[2].clone()
}

#[test]
fn a_request_without_answer_is_sent_again_and_an_answer_is_never_asked_for_again() {
    let mut tree = crash_after(&world(&[bash("a")]), "model_asked");
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.requests.len(), 2, "both steps");
    // The driver fails when an answered step is asked again.
    let mut tree = crash_after(&world(&[bash("ask a")]), "permission_asked");
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.requests.len(), 1, "the second step alone");
}

#[test]
fn an_open_question_is_judged_again_and_asked_again_with_its_id() {
    let mut tree = crash_after(&world(&[bash("ask a")]), "permission_asked");
    tree.answers = false;
    tree.run();
    assert_eq!(tree.session.questions.len(), 1);
    assert_eq!(tree.session.questions[0].call.as_str(), "maia:1.1");
    tree.answer(&tree.session.questions[0].call.clone(), Decision::AllowOnce);
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.runs.len(), 1);
}

#[test]
fn an_allow_by_rule_is_judged_anew_and_a_person_s_holds() {
    // A write waits for its preparation: allowed and not begun.
    let allowed = world(&[write("/projects/a")]);
    let stricter =
        allowed.clone().judge(|_| crate::world::ruling(maia_protocol::permission::RulingAction::Refuse));
    let mut tree = Tree::new(allowed, 0, "go");
    tree.run_until(|tree| tree.journal.last().is_some_and(|record| record.body.kind() == "calls_judged"));
    let mut tree = Tree::resume(stricter.clone(), 0, &tree.journal);
    tree.run();
    check::ended(&tree);
    assert_eq!((result(&tree), tree.runs.len()), ("user: =Refuse by rule".to_owned(), 0));

    let asks = world(&[write("/projects/a")])
        .judge(|_| crate::world::ruling(maia_protocol::permission::RulingAction::Ask));
    let mut tree = Tree::new(asks, 0, "go");
    tree.run_until(|tree| {
        tree.journal.last().is_some_and(|record| record.body.kind() == "permission_answered")
    });
    let mut tree = Tree::resume(stricter, 0, &tree.journal);
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.runs.len(), 1);
}

#[test]
fn calls_that_had_begun_are_treated_by_what_they_may_do() {
    let mut tree = crash_after(&world(&[read("/projects/a")]), "tool_intent");
    tree.run();
    check::ended(&tree);
    assert_eq!((actions(&tree), tree.runs.len()), (vec![ReconcileAction::RunAgain], 1));

    let mut tree = crash_after(&world(&[bash("a")]), "tool_intent");
    tree.run();
    check::ended(&tree);
    assert_eq!((actions(&tree), tree.runs.len()), (vec![ReconcileAction::Uncertain], 0));
    assert!(result(&tree).contains("not known"), "{}", result(&tree));

    let rows = [
        (WriteFound::After, ReconcileAction::WasDone, 0),
        (WriteFound::Before, ReconcileAction::RunAgain, 1),
        (WriteFound::Neither, ReconcileAction::Uncertain, 0),
    ];
    for (found, action, runs) in rows {
        let mut world = world(&[edit("/projects/a")]);
        world.found = Rc::new(move |_| found);
        let mut tree = crash_after(&world, "tool_intent");
        tree.run();
        check::ended(&tree);
        assert_eq!((actions(&tree), tree.runs.len()), (vec![action], runs), "{found:?}");
        let seen = tree.state("maia").seen.values().next().map(String::as_str);
        let known = (action != ReconcileAction::Uncertain).then_some("after maia:1.1");
        assert_eq!(seen, known, "what the agent wrote is what it knows: {found:?}");
    }
}

#[test]
fn what_was_being_stopped_is_not_begun_again() {
    let world = world(&[read("/projects/a"), bash("ask x")]);
    let mut tree = Tree::new(world.clone(), 0, "go");
    tree.answers = false;
    tree.run_until(|tree| !tree.running().is_empty());
    tree.order("maia", Order::Cancel);
    let asked = |tree: &Tree| tree.journal.iter().position(|record| record.body.kind() == "cancel_asked");
    tree.run_until(|tree| asked(tree).is_some());
    let journal = &tree.journal[..=asked(&tree).expect("a stop")];
    let state: State = check::fold(&tree.state("maia").path, journal);
    assert_eq!(state.phase, Phase::Acting);
    let begun = tree.runs[0].0.clone();
    assert_eq!(turn::open(&state), [Effect::StopCall { call: begun }], "a rebuilt worker stops it again");
    let mut tree = Tree::resume(world, 0, journal);
    tree.run();
    check::ended(&tree);
    assert_eq!((last_end(&tree).0, tree.runs.len()), (TurnEnd::Cancelled, 0));
}

#[test]
fn an_agent_that_has_ended_says_so_again() {
    let answers = [
        ("maia", vec![calls(&[crate::world::agent("helper", "x")]), text("done")]),
        ("helper", vec![text("ok")]),
    ];
    let mut tree = Tree::new(World::new(script(&answers)), 0, "go");
    tree.run();
    let child = tree.gone.values().next().expect("a child");
    assert_eq!(turn::open(child), [Effect::Ended]);
    assert_eq!(turn::open(tree.state("maia")), []);
}

#[test]
fn a_turn_ended_for_an_agent_that_failed_leaves_no_call_without_result() {
    let mut tree = Tree::new(world(&[bash("a"), bash("ask b")]), 0, "go");
    tree.answers = false;
    tree.run();
    let mut state = tree.state("maia").clone();
    let body = Body::TurnFinished { turn: 1, end: TurnEnd::Failed, text: "it failed".to_owned() };
    let record =
        maia_protocol::Record { seq: 99, time: tree.journal[0].time, actor: state.path.clone(), body };
    turn::step(&mut state, &record);
    assert_eq!(state.phase, Phase::Idle);
    check::conversation(&state);
    let talk = told(&state.messages);
    assert!(talk[2].starts_with("user: =Bash maia:1.1 | =The agent failed"), "{talk:?}");
}
