//! Delegation: children in parallel, what they may, what their parent reads (T3, T4, SAFETY 2).

use maia_protocol::definition::Effort;
use maia_protocol::outcome::Outcome;
use maia_protocol::permission::RuleSet;
use maia_protocol::record::{ChildFinished, Delegated, TurnEnd};
use maia_protocol::{ActorPath, Body};

use crate::check;
use crate::driver::Tree;
use crate::talk::last_end;
use crate::world::{World, agent, bash, calls, known, script, text, told};

fn delegated(tree: &Tree) -> Vec<&Delegated> {
    let found = tree.journal.iter().filter_map(|record| match &record.body {
        Body::Delegated(delegated) => Some(&**delegated),
        _ => None,
    });
    found.collect()
}

fn finished<'a>(tree: &'a Tree, child: &str) -> &'a ChildFinished {
    let found = tree.journal.iter().find_map(|record| match &record.body {
        Body::ChildFinished(finished) if record.actor.as_str() == child => Some(&**finished),
        _ => None,
    });
    found.expect("its end")
}

#[test]
fn two_children_work_in_parallel_and_hand_back_in_call_order() {
    let model = |asked: &crate::world::Asked<'_>| {
        Ok(match (asked.agent.as_str(), asked.step) {
            ("maia", 1) => calls(&[agent("Helper", "one"), bash("beside"), agent("helper", "two")]),
            ("maia", _) => text("done"),
            (_, 1) => calls(&[bash("x")]),
            (path, _) => text(&format!("I am {path}")),
        })
    };
    let mut overlapped = false;
    for seed in 0..40 {
        let mut tree = Tree::new(World::new(model), seed, "go");
        while tree.tick() {
            overlapped |= tree.machines.len() == 3;
        }
        check::ended(&tree);
        let talk = told(&tree.state("maia").messages);
        let results: Vec<_> = talk[2].split(" | ").collect();
        assert_eq!(results[0], "user: =# maia/helper#1: done\n\nI am maia/helper#1");
        assert_eq!(results[1], "=Bash maia:1.2");
        assert_eq!(results[2], "=# maia/helper#2: done\n\nI am maia/helper#2");
    }
    assert!(overlapped, "they never worked at once");
}

#[test]
fn a_subtree_s_usage_is_added_up() {
    let model = |asked: &crate::world::Asked<'_>| {
        Ok(match (asked.agent.depth(), asked.step) {
            (0, 1) => calls(&[agent("boss", "one")]),
            (1, 1) => calls(&[agent("helper", "a"), agent("helper", "b")]),
            _ => text("done"),
        })
    };
    let mut tree = Tree::new(World::new(model), 9, "go");
    tree.run();
    tree.close();
    check::ended(&tree);
    let boss = finished(&tree, "maia/boss#1");
    assert_eq!((boss.totals.iterations, boss.totals.input_tokens, boss.totals.tool_calls), (2, 20, 2));
    assert_eq!((boss.subtree.iterations, boss.subtree.input_tokens, boss.subtree.output_tokens), (4, 40, 20));
    assert_eq!(boss.subtree.cost_micros, Some(28));
    let main = tree.state("maia");
    assert_eq!((main.totals.input_tokens, main.below.input_tokens), (20, 40));
    assert_eq!((tree.session.totals.input_tokens, tree.session.main.input_tokens), (60, 20));
}

#[test]
fn how_a_child_ended_is_never_left_out() {
    let model = |asked: &crate::world::Asked<'_>| match (asked.agent.name(), asked.step) {
        ("maia", 1) => Ok(calls(&[agent("helper", "x")])),
        ("maia", _) => Ok(text("done")),
        (_, 1) => Ok(maia_protocol::Answer { text: "looking".to_owned(), ..calls(&[bash("x")]) }),
        _ => Err(crate::world::failure(maia_protocol::model::FailureKind::NotFound, false)),
    };
    let mut tree = Tree::new(World::new(model), 2, "go");
    tree.run();
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    assert_eq!(talk[2], "user: =# maia/helper#1: failed\nCause: NotFound\n\nlooking");
    assert_eq!(finished(&tree, "maia/helper#1").outcome, Outcome::Failed);
    assert_eq!(last_end(&tree).0, TurnEnd::EndTurn, "its parent goes on");
}

#[test]
fn a_delegation_that_cannot_be_is_an_error_that_says_why() {
    let list = [
        agent("nobody", "x"),
        agent("helper", " "),
        ("Agent", serde_json::json!({"agent": 1})),
        agent("helper", "real"),
    ];
    let answers = [("maia", vec![calls(&list), text("done")]), ("helper", vec![text("ok")])];
    let mut tree = Tree::new(World::new(script(&answers)), 2, "go");
    tree.run();
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    let results: Vec<_> = talk[2].split(" | ").collect();
    assert!(results[0].contains("\"nobody\"") && results[0].contains("helper, boss"), "{talk:?}");
    assert!(results[1].contains("task is empty") && results[2].contains("\"task\""), "{talk:?}");
    assert_eq!(results[3], "=# maia/helper#1: done\n\nok", "numbers are given to those that begin");
}

#[test]
fn safety_2_tools_are_a_subset_deny_and_ask_are_inherited_allow_is_not() {
    let rules = |name: &str| RuleSet {
        allow: vec![format!("Bash({name} allow)")],
        ask: vec![format!("Bash({name} ask)")],
        deny: vec![format!("Bash({name} deny)")],
    };
    let mut boss = known("boss", Some(&["read", "AGENT", "dream"]));
    boss.definition.permissions = rules("boss");
    boss.definition.model = Some("litellm:large".to_owned());
    let mut helper = known("helper", None);
    helper.definition.permissions = rules("helper");
    helper.definition.effort = Effort::Low;
    let answers = [
        ("maia", vec![calls(&[agent("boss", "b")]), text("done")]),
        ("boss", vec![calls(&[agent("helper", "h"), bash("x")]), text("done")]),
        ("helper", vec![calls(&[bash("x")]), text("done")]),
    ];
    let mut tree = Tree::new(World::new(script(&answers)).agents(vec![boss, helper]), 2, "go");
    tree.run();
    check::ended(&tree);
    let all = delegated(&tree);
    assert_eq!((&*all[0].tools, &*all[0].model), (&["Read", "Agent"].map(str::to_owned)[..], "large"));
    assert_eq!(all[0].rules, rules("boss"));
    assert_eq!(all[1].tools, ["Read"], "no more than its parent has, and no Agent unless it is named");
    assert_eq!(
        (&*all[1].model, all[1].iterations, &*all[1].definition_hash),
        ("large", 10, "hash of helper")
    );
    let own = RuleSet {
        allow: vec!["Bash(helper allow)".to_owned()],
        ask: vec!["Bash(boss ask)".to_owned(), "Bash(helper ask)".to_owned()],
        deny: vec!["Bash(boss deny)".to_owned(), "Bash(helper deny)".to_owned()],
    };
    assert_eq!(all[1].rules, own);
    assert_eq!(tree.runs, [], "neither has Bash");
    let helper = told(&tree.gone[&ActorPath::new("maia/boss#1/helper#1")].messages);
    assert!(
        helper[2].contains("Unknown tool \"Bash\"") && helper[2].contains("Your tools: Read."),
        "{helper:?}"
    );
}

#[test]
fn a_long_summary_is_cut_for_the_parent_and_kept_whole() {
    let long = "é".repeat(20_000);
    let answers =
        [("maia", vec![calls(&[agent("helper", "x")]), text("done")]), ("helper", vec![text(&long)])];
    let mut tree = Tree::new(World::new(script(&answers)), 2, "go");
    tree.run();
    check::ended(&tree);
    let talk = told(&tree.state("maia").messages);
    assert!(talk[2].contains("16000 of 20000 characters") && talk[2].chars().count() < 16_200);
    assert_eq!(finished(&tree, "maia/helper#1").summary, long);
}
