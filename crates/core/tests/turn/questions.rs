//! A question answered with stop (mission M6.2-stop): nothing is undone, nothing goes on.

use maia_core::turn::{self, CallState, Effect};
use maia_protocol::permission::AnsweredBy;
use maia_protocol::record::TurnEnd;
use maia_protocol::tool::Risk;
use maia_protocol::{ActorPath, Body, Decision, Record};

use crate::check;
use crate::driver::Tree;
use crate::talk::last_end;
use crate::world::{World, agent, bash, by_command, calls, script, text, told};

fn world(list: &[(&str, serde_json::Value)]) -> World {
    World::new(script(&[
        ("maia", vec![calls(list), text("done")]),
        ("helper", vec![calls(&[bash("ask child")]), text("child done")]),
    ]))
    .judge(by_command)
    .person(|asked| match asked.input["command"].as_str() {
        Some("ask no") => Decision::RejectOnce { reason: Some("because".to_owned()) },
        Some("ask yes") => Decision::AllowOnce,
        _ => Decision::Stop,
    })
}

#[test]
fn m6_2_stop_ends_the_turn_without_asking_the_model() {
    let world = world(&[bash("runs"), bash("ask stop"), bash("ask after")]);
    for seed in 0..60 {
        let mut tree = Tree::new(world.clone(), seed, "go");
        tree.answers = false;
        tree.run_until(|tree| tree.session.questions.len() == 2);
        tree.answer(&tree.session.questions[0].call.clone(), Decision::Stop);
        tree.run();
        check::ended(&tree);
        let talk = told(&tree.state("maia").messages);
        let results: Vec<_> = talk[2].split(" | ").collect();
        assert_eq!(results[0], "user: =Bash maia:1.1", "what runs is let finish");
        assert!(results[1].contains("stopped here"), "{talk:?}");
        assert!(results[2].contains("Not run"), "{talk:?}");
        assert_eq!((last_end(&tree).0, tree.requests.len()), (TurnEnd::Stopped, 1));
        tree.answers = true;
        tree.ask("go on");
        check::ended(&tree);
        let talk = told(&tree.state("maia").messages);
        assert!(talk[2].ends_with(" | go on"), "the next request joins the results: {talk:?}");
        assert_eq!(talk.len(), 4);
    }
}

#[test]
fn m6_2_stop_leaves_results_that_are_known() {
    let world = world(&[bash("ask no"), bash("ask stop"), bash("ask yes")]);
    for seed in 0..80 {
        let mut tree = Tree::new(world.clone(), seed, "go");
        tree.run();
        check::ended(&tree);
        let answered = tree.journal.iter().filter_map(|record| match &record.body {
            Body::PermissionAnswered { call, .. } => Some(call.as_str()),
            _ => None,
        });
        let answered: Vec<_> = answered.collect();
        let talk = told(&tree.state("maia").messages);
        let results: Vec<_> = talk[2].split(" | ").collect();
        let before = |call: &str| {
            answered.iter().position(|id| *id == call) < answered.iter().position(|id| *id == "maia:1.2")
        };
        if answered.contains(&"maia:1.1") && before("maia:1.1") {
            assert!(results[0].contains("because"), "a refusal keeps its reason: {talk:?}");
        }
        assert!(results[1].contains("stopped here"), "{talk:?}");
        let ran = tree.runs.iter().any(|(call, _)| call.as_str() == "maia:1.3");
        assert_eq!(results[2].contains("Not run"), !ran, "{talk:?}");
    }
}

#[test]
fn stop_ends_the_asker_and_its_parent_goes_on() {
    let mut tree = Tree::new(world(&[agent("helper", "look"), bash("runs")]), 3, "go");
    tree.run();
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    assert!(talk[2].contains("# maia/helper#1: cancelled"), "{talk:?}");
    assert_eq!(last_end(&tree), (TurnEnd::EndTurn, "done".to_owned()));
    let child = &tree.gone[&ActorPath::new("maia/helper#1")];
    assert!(told(&child.messages)[2].contains("stopped here"));
}

#[test]
fn m6_2_stop_voids_an_intent_that_was_under_way() {
    let mut tree = Tree::new(world(&[bash("ask stop"), crate::world::write("/projects/a")]), 0, "go");
    tree.answers = false;
    tree.run_until(|tree| {
        tree.state("maia").calls.first().is_some_and(|call| call.state == CallState::Asked)
    });
    let mut state = tree.state("maia").clone();
    let call = state.calls[1].clone();
    let mut step = |actor: &ActorPath, body| {
        let (time, actor) = (tree.journal[0].time, actor.clone());
        turn::step(&mut state, &Record { seq: 99, time, actor, body })
    };
    let by = AnsweredBy::Person;
    let stopped = tree.session.questions[0].call.clone();
    step(&ActorPath::main(), Body::PermissionAnswered { call: stopped, decision: Decision::Stop, by });
    let (id, tool, write) = (call.id.clone(), call.name.clone(), None);
    let effects = step(&call.actor, Body::ToolIntent { call: id.clone(), tool, risk: Risk::Write, write });
    assert_eq!(effects, [Effect::StopCall { call: id.clone() }]);
    let text = state.call(&id).map(|call| format!("{:?}", call.state)).unwrap_or_default();
    assert!(text.contains("Not run"), "{text}");
}
