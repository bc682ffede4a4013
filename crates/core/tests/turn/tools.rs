//! Calls of one answer: order, cap, locks, and that each has its result whatever becomes of it (M6.3, ENGINE 5).

use maia_protocol::model::Unusable;
use maia_protocol::permission::RulingAction;
use maia_protocol::{Body, CallId, Decision};

use crate::check;
use crate::driver::Tree;
use crate::world::{World, bash, by_command, calls, edit, read, ruling, script, text, told, write};

fn one_answer(list: &[(&str, serde_json::Value)]) -> World {
    World::new(script(&[("maia", vec![calls(list), text("done")])]))
}

/// Plays it in many orders and checks each.
fn in_many_orders(world: &World, check: impl Fn(&Tree)) {
    for seed in 0..60 {
        let mut tree = Tree::new(world.clone(), seed, "go");
        tree.run();
        check::ended(&tree);
        check(&tree);
    }
}

fn id(call: &str) -> CallId {
    CallId::from(call.to_owned())
}

fn at(tree: &Tree, wanted: impl Fn(&Body) -> bool) -> usize {
    tree.journal.iter().position(|record| wanted(&record.body)).expect("such a record")
}

fn begun(tree: &Tree, call: &str) -> usize {
    at(tree, |body| matches!(body, Body::ToolIntent { call: id, .. } if id.as_str() == call))
}

fn done(tree: &Tree, call: &str) -> usize {
    at(tree, |body| matches!(body, Body::ToolDone { call: id, .. } if id.as_str() == call))
}

#[test]
fn m6_3_order_results_go_back_in_call_order() {
    let world = one_answer(&[bash("a"), read("/projects/a"), bash("b"), read("/projects/b")]);
    in_many_orders(&world, |tree| {
        let expected = "user: =Bash maia:1.1 | =Read maia:1.2 | =Bash maia:1.3 | =Read maia:1.4";
        assert_eq!(told(&tree.state("maia").messages)[2], expected);
    });
}

#[test]
fn m6_3_cap_eight_run_and_the_others_follow_in_order() {
    let list: Vec<_> = (0..12).map(|_| bash("x")).collect();
    let mut tree = Tree::new(one_answer(&list), 0, "go");
    tree.run_until(|tree| tree.running().len() == 8);
    let first: Vec<_> = tree.runs.iter().map(|(call, _)| call.clone()).collect();
    assert_eq!(first, (1..=8).map(|n| id(&format!("maia:1.{n}"))).collect::<Vec<_>>());
    in_many_orders(&one_answer(&list), |tree| {
        let order: Vec<_> = tree.runs.iter().map(|(call, _)| call.clone()).collect();
        assert_eq!(
            order,
            (1..=12).map(|n| id(&format!("maia:1.{n}"))).collect::<Vec<_>>(),
            "first come, first served"
        );
    });
}

#[test]
fn engine_5_calls_on_one_file_run_in_call_order_and_readers_share() {
    let list = [
        read("/projects/a"),
        read("/projects/a"),
        write("/projects/a"),
        edit("/projects/a"),
        read("/projects/a"),
        read("/projects/b"),
    ];
    let mut shared = false;
    for seed in 0..60 {
        let mut tree = Tree::new(one_answer(&list), seed, "go");
        let mut both = false;
        while tree.tick() {
            let running = tree.running();
            both |= running.contains(&id("maia:1.1")) && running.contains(&id("maia:1.2"));
            let writers = ["maia:1.3", "maia:1.4"].map(|call| running.contains(&id(call)));
            let of_a = running.iter().filter(|call| call.as_str() != "maia:1.6").count();
            assert!(writers == [false, false] || of_a == 1, "a writer shares with nobody: {running:?}");
        }
        check::ended(&tree);
        shared |= both;
        for (earlier, later) in [(1, 3), (2, 3), (3, 4), (4, 5)] {
            let (earlier, later) = (format!("maia:1.{earlier}"), format!("maia:1.{later}"));
            assert!(
                done(&tree, &earlier) < begun(&tree, &later),
                "{later} begins after {earlier}, seed {seed}"
            );
        }
    }
    assert!(shared, "readers never shared");
}

#[test]
fn m6_3_independent_each_call_has_one_result_and_the_turn_goes_on() {
    let mut answer = calls(&[
        ("Dream", serde_json::json!({"command": "rm -rf /"})),
        bash("cut"),
        bash("refuse this"),
        bash("ask for this"),
        bash("fine"),
    ]);
    answer.calls[1].unusable = Some(Unusable::Invalid);
    answer.calls[1].raw = Some("{nonsense".to_owned());
    let world = World::new(script(&[("maia", vec![answer, text("done")])]))
        .judge(by_command)
        .person(|_| Decision::RejectOnce { reason: Some("not today".to_owned()) });
    in_many_orders(&world, |tree| {
        let talk = told(&tree.state("maia").messages);
        let results: Vec<_> = talk[2].trim_start_matches("user: ").split(" | ").collect();
        assert!(
            results[0].starts_with("=Unknown tool \"Dream\"") && results[0].contains("Read, Write"),
            "{talk:?}"
        );
        assert!(results[1].contains("no JSON object") && results[1].contains("{nonsense"), "{talk:?}");
        assert_eq!(results[2], "=Refuse by rule");
        assert!(results[3].contains("not today"), "{talk:?}");
        assert_eq!(results[4], "=Bash maia:1.5");
        assert_eq!(tree.runs.iter().map(|(call, _)| call.as_str()).collect::<Vec<_>>(), ["maia:1.5"]);
        assert_eq!(talk[3], "model: done");
    });
}

#[test]
fn a_made_up_tool_name_is_no_path() {
    let answer = calls(&[("../../x#1/y", serde_json::json!({})), ("", serde_json::json!({}))]);
    let mut tree = Tree::new(World::new(script(&[("maia", vec![answer, text("done")])])), 1, "go");
    tree.run();
    check::ended(&tree);
    let actors: Vec<_> = tree.journal.iter().filter(|record| record.body.kind() == "tool_done").collect();
    let actors: Vec<_> = actors.iter().map(|record| record.actor.as_str()).collect();
    assert_eq!(actors, ["maia/call#1", "maia/call#2"]);
}

#[test]
fn m6_3_phase1_allowed_calls_start_while_others_wait_for_a_person() {
    let world = one_answer(&[bash("ask first"), bash("second")]).judge(by_command);
    let mut tree = Tree::new(world, 0, "go");
    tree.answers = false;
    tree.run();
    assert!(done(&tree, "maia:1.2") > 0, "it does not wait for the question before it");
    assert_eq!(tree.session.questions.len(), 1);
    tree.answer(&id("maia:1.1"), Decision::AllowOnce);
    tree.run();
    check::ended(&tree);
}

#[test]
fn safety_3_a_question_waits_for_the_earlier_call_on_its_file() {
    let world = one_answer(&[write("/projects/a"), edit("/projects/a"), edit("/projects/b")])
        .judge(|call| ruling(if call.name == "Edit" { RulingAction::Ask } else { RulingAction::Run }));
    in_many_orders(&world, |tree| {
        let asked = |call: &str| {
            at(tree, |body| matches!(body, Body::PermissionAsked(asked) if asked.call.as_str() == call))
        };
        assert!(asked("maia:1.2") > done(tree, "maia:1.1"), "its diff would be of another file");
        assert!(asked("maia:1.3") < begun(tree, "maia:1.1"), "another file's does not wait");
    });
}

#[test]
fn an_agent_knows_what_it_read_or_wrote() {
    let mut tree = Tree::new(one_answer(&[read("/projects/a"), write("/projects/b")]), 1, "go");
    tree.run();
    let seen = &tree.state("maia").seen;
    let seen: Vec<_> = seen.iter().map(|(path, hash)| (path.to_str().unwrap(), hash.as_str())).collect();
    assert_eq!(seen, [("/projects/a", "after maia:1.1"), ("/projects/b", "after maia:1.2")]);
}
