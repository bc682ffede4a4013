//! Answers without calls, failures, and what is told meanwhile (W-stop-*, W-think-*).

use maia_core::turn::{Phase, State};
use maia_protocol::model::{FailureKind, Unusable};
use maia_protocol::outcome::Outcome;
use maia_protocol::record::TurnEnd;
use maia_protocol::{Answer, Body, StopReason, Usage};

use crate::check;
use crate::driver::{Order, Tree};
use crate::world::{World, agent, bash, calls, failure, read, script, text, told};

pub fn last_end(tree: &Tree) -> (TurnEnd, String) {
    tree.session.last.clone().expect("an ended turn")
}

fn kinds(tree: &Tree) -> Vec<&str> {
    tree.journal.iter().map(|record| record.body.kind()).collect()
}

#[test]
fn one_answer_ends_the_turn() {
    let mut tree = Tree::new(World::new(script(&[("maia", vec![text("hello")])])), 1, "hi");
    tree.run();
    check::ended(&tree);
    let opening = ["session_opened", "snapshot_taken", "user_message"];
    assert_eq!(kinds(&tree), [&opening[..], &["model_asked", "model_answered", "turn_finished"]].concat());
    assert_eq!(last_end(&tree), (TurnEnd::EndTurn, "hello".to_owned()));
    assert_eq!(told(&tree.state("maia").messages), ["user: hi", "model: hello"]);
}

#[test]
fn an_answer_and_what_follows_from_it_are_one_append() {
    let world = World::new(script(&[("maia", vec![calls(&[bash("a"), bash("b")]), text("done")])]));
    let mut tree = Tree::new(world, 2, "go");
    tree.run();
    check::ended(&tree);
    let (bodies, mut after) = (kinds(&tree), Vec::new());
    let answered = bodies.iter().position(|kind| *kind == "model_answered").expect("an answer");
    after.extend_from_slice(&bodies[answered..answered + 4]);
    assert_eq!(after, ["model_answered", "calls_judged", "tool_intent", "tool_intent"]);
}

#[test]
fn w_stop_empty_a_nudge_costs_no_iteration_and_two_are_the_limit() {
    let answers = vec![text(""), text(" "), text("at last")];
    let mut tree = Tree::new(World::new(script(&[("maia", answers)])).iterations(1), 1, "hi");
    tree.run();
    check::ended(&tree);
    assert_eq!(last_end(&tree), (TurnEnd::EndTurn, "at last".to_owned()));
    let state = tree.state("maia");
    assert_eq!((state.step, state.iterations, state.nudges), (3, 1, 2));

    let mut tree = Tree::new(World::new(script(&[("maia", vec![text("")])])), 1, "hi");
    tree.run();
    check::ended(&tree);
    let (end, said) = last_end(&tree);
    assert_eq!((end, tree.requests.len()), (TurnEnd::EndTurn, 3));
    assert!(said.contains("no answer"), "{said}");
}

#[test]
fn w_stop_length3_three_cut_answers_in_a_row_end_the_turn() {
    let cut = |stop| {
        let mut answer = Answer { stop, ..calls(&[read("/projects/a")]) };
        answer.calls[0].unusable = Some(Unusable::Truncated);
        answer
    };
    for stop in [StopReason::MaxTokens, StopReason::ToolUse] {
        let first = Answer { text: "so far".to_owned(), ..cut(stop) };
        let answers = vec![first, cut(stop), cut(stop), text("never asked")];
        let mut tree = Tree::new(World::new(script(&[("maia", answers)])), 1, "hi");
        tree.run();
        check::ended(&tree);
        let (end, said) = last_end(&tree);
        assert_eq!((end, tree.requests.len()), (TurnEnd::MaxTokens, 3), "{stop:?}");
        assert!(said.starts_with("so far\n\n") && said.contains("output limit"), "{said}");
    }
}

#[test]
fn w_think_retry_waits_one_then_two_seconds_and_keeps_the_step() {
    let model = |asked: &crate::world::Asked<'_>| match asked.attempt {
        1 | 2 => Err(failure(FailureKind::ServerError, true)),
        _ => Ok(text("third time")),
    };
    let mut tree = Tree::new(World::new(model), 1, "hi");
    tree.run();
    check::ended(&tree);
    assert_eq!(tree.timers, [1_000, 2_000]);
    assert_eq!(last_end(&tree), (TurnEnd::EndTurn, "third time".to_owned()));
    let state = tree.state("maia");
    assert_eq!((state.step, state.iterations), (1, 1), "retries of one step");
}

#[test]
fn a_lasting_failure_ends_the_turn_with_its_cause() {
    let model = |_: &crate::world::Asked<'_>| Err(failure(FailureKind::Unauthorized, false));
    let mut tree = Tree::new(World::new(model), 1, "hi");
    tree.run();
    check::ended(&tree);
    assert_eq!(last_end(&tree), (TurnEnd::Endpoint, "Unauthorized".to_owned()));
    tree.ask("again");
    check::ended(&tree);
    assert_eq!(told(&tree.state("maia").messages), ["user: hi | again"], "roles alternate");
}

#[test]
fn w_think_degrade_closes_with_what_was_found_and_says_why() {
    let model = |asked: &crate::world::Asked<'_>| match (asked.agent.name(), asked.step) {
        ("maia", 1) => Ok(calls(&[agent("helper", "look")])),
        ("helper", 1) => Ok(calls(&[read("/projects/a")])),
        ("helper", 2) => Err(failure(FailureKind::StallTimeout, true)),
        ("helper", _) => {
            assert!(asked.closing && !asked.request.tools_usable);
            let last = told(&asked.request.messages).pop().unwrap_or_default();
            assert!(last.contains("StallTimeout") && !last.contains("iterations"), "{last}");
            Ok(text("half of it"))
        }
        _ => Ok(text("fine")),
    };
    let mut tree = Tree::new(World::new(model), 1, "hi");
    tree.run();
    check::ended(&tree);
    let finished = tree.journal.iter().find_map(|record| match &record.body {
        Body::ChildFinished(finished) => Some((finished.outcome, finished.cause.clone(), &*finished.summary)),
        _ => None,
    });
    let cause = Some("StallTimeout".to_owned());
    assert_eq!(finished, Some((Outcome::Partial, cause, "half of it")), "the cause is not the budget");
}

#[test]
fn w_think_steer_what_is_told_goes_after_the_results() {
    let world = World::new(script(&[("maia", vec![calls(&[bash("a")]), text("done")])]));
    let mut tree = Tree::new(world, 1, "go");
    tree.run_until(|tree| !tree.running().is_empty());
    tree.order("maia", Order::Tell("mind the gap".to_owned()));
    tree.run();
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    assert_eq!(talk[1], "model: +Bash");
    assert!(talk[2].starts_with("user: =Bash maia:1.1 | ") && talk[2].ends_with("mind the gap"), "{talk:?}");
    assert_eq!(talk.len(), 4);
}

#[test]
fn w_stop_steer_a_natural_stop_goes_on_for_one_more_step() {
    let answers = vec![text("finished"), text("and that too")];
    let mut tree = Tree::new(World::new(script(&[("maia", answers)])).iterations(1), 1, "go");
    tree.run_until(|tree| matches!(tree.state("maia").phase, Phase::Asking { .. }));
    tree.order("maia", Order::Tell("one more thing".to_owned()));
    tree.run();
    check::ended(&tree);
    assert_eq!(last_end(&tree), (TurnEnd::EndTurn, "and that too".to_owned()));
    assert_eq!(tree.state("maia").iterations, 2, "one round past the limit");
}

#[test]
fn w_stop_steer_only_one_round_goes_past_the_limit() {
    let mut tree = Tree::new(World::new(script(&[("maia", vec![text("x")])])).iterations(1), 1, "go");
    for step in 1..=2 {
        tree.run_until(|tree| {
            let state: &State = tree.state("maia");
            state.step == step && matches!(state.phase, Phase::Asking { closing: false, .. })
        });
        tree.order("maia", Order::Tell("more".to_owned()));
    }
    tree.run();
    check::ended(&tree);
    assert_eq!(last_end(&tree).0, TurnEnd::MaxIterations);
    assert_eq!(
        tree.requests.iter().map(|(_, request)| request.tools_usable).collect::<Vec<_>>(),
        [true, true, false]
    );
}

#[test]
fn a_server_may_count_as_it_likes() {
    let usage =
        Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, cached_tokens: 0, reasoning_tokens: 9 };
    let much = |answer: Answer| Answer { usage: Some(usage), ..answer };
    let answers = vec![much(calls(&[bash("a")])), much(text("done"))];
    let mut tree = Tree::new(World::new(script(&[("maia", answers)])), 1, "go");
    tree.run();
    tree.close();
    check::ended(&tree);
    assert_eq!(tree.state("maia").totals.output_tokens, u64::MAX);
}
