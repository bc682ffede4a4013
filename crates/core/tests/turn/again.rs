//! Asked again after the end, forgetting, another model (SPEC section 2, mission M5.6).

use maia_protocol::outcome::Outcome;
use maia_protocol::record::ChildFinished;
use maia_protocol::{ActorPath, Body};

use crate::check;
use crate::driver::{Order, Tree};
use crate::world::{World, agent, bash, calls, text, told};

fn ends<'a>(tree: &'a Tree, child: &str) -> Vec<&'a ChildFinished> {
    let found = tree.journal.iter().filter_map(|record| match &record.body {
        Body::ChildFinished(finished) if record.actor.as_str() == child => Some(&**finished),
        _ => None,
    });
    found.collect()
}

/// The main agent has a boss, the boss a helper, and each works in every life.
fn model(
    asked: &crate::world::Asked<'_>,
) -> Result<maia_protocol::Answer, maia_protocol::model::ModelFailure> {
    let last = asked.request.messages.last().expect("a message");
    let is_result = matches!(last.content.first(), Some(maia_protocol::Block::ToolResult { .. }));
    Ok(match (asked.agent.name(), asked.step) {
        ("maia", 1) => calls(&[agent("boss", "all")]),
        ("maia", _) => text("done"),
        ("boss", _) if !is_result => calls(&[agent("helper", "part"), bash("x")]),
        ("helper", _) if !is_result => calls(&[bash("y")]),
        (_, step) => text(&format!("{} at {step}", asked.agent)),
    })
}

#[test]
fn an_agent_that_has_ended_goes_on_from_its_conversation() {
    for seed in 0..40 {
        let mut tree = Tree::new(World::new(model), seed, "go");
        tree.run();
        let main_before = told(&tree.state("maia").messages);
        tree.order("maia/boss#1", Order::AskAgain("and now?".to_owned()));
        tree.run();
        check::ended(&tree);
        let boss = told(&tree.state("maia/boss#1").messages);
        assert_eq!(boss[3], "model: maia/boss#1 at 2");
        assert_eq!(boss[4], "user: and now?");
        assert_eq!(boss.last().map(String::as_str), Some("model: maia/boss#1 at 4"));
        // Paths, numbers and ids go on; what was used is counted anew.
        let calls: Vec<_> = tree.runs.iter().map(|(call, _)| call.as_str().to_owned()).collect();
        for call in
            ["maia/boss#1:1.2", "maia/boss#1:3.2", "maia/boss#1/helper#1:1.1", "maia/boss#1/helper#2:1.1"]
        {
            assert!(calls.iter().any(|known| known == call), "{call} in {calls:?}");
        }
        let ends = ends(&tree, "maia/boss#1");
        assert_eq!(
            ends.iter().map(|end| end.call.as_str()).collect::<Vec<_>>(),
            ["maia:1.1", "maia/boss#1:0.1"]
        );
        assert_eq!((ends[1].totals.iterations, ends[1].subtree.iterations), (2, 4));
        // Its first result is what it was; the second waits for the person's next request.
        assert_eq!(told(&tree.state("maia").messages), main_before);
        assert_eq!(tree.state("maia").pending.len(), 1);
        tree.ask("what did it say?");
        let talk = told(&tree.state("maia").messages);
        assert!(talk[talk.len() - 2].contains("maia/boss#1 at 4"), "{talk:?}");
        assert_eq!(tree.state("maia").below.iterations, 8);
    }
}

#[test]
fn one_below_others_is_asked_again_and_again_beside_the_turn() {
    for seed in 0..40 {
        let mut tree = Tree::new(World::new(model), seed, "go");
        // While its parent still works.
        tree.run_until(|tree| !ends(tree, "maia/boss#1/helper#1").is_empty());
        tree.order("maia/boss#1/helper#1", Order::AskAgain("more".to_owned()));
        tree.run();
        tree.order("maia/boss#1/helper#1", Order::AskAgain("still more".to_owned()));
        tree.run();
        check::ended(&tree);
        let calls: Vec<_> =
            ends(&tree, "maia/boss#1/helper#1").iter().map(|end| end.call.to_string()).collect();
        assert_eq!(calls, ["maia/boss#1:1.1", "maia/boss#1/helper#1:0.1", "maia/boss#1/helper#1:0.2"]);
        // The boss has one result of it, and did not hear of the others.
        let boss = told(&tree.state("maia/boss#1").messages);
        assert_eq!(boss.iter().filter(|line| line.contains("helper#1")).count(), 1, "{boss:?}");
        // The main agent has heard of both: with a request that came later, or it waits.
        let main = tree.state("maia");
        let heard = told(&main.messages).join("\n");
        let heard = heard.matches("Message from maia/boss#1/helper#1").count() + main.pending.len();
        assert_eq!(heard, 2);
        assert_eq!(tree.state("maia/boss#1").below.iterations, 2, "what came later is not the boss's");
    }
}

#[test]
fn the_budget_is_fresh_and_a_stop_ends_that_life_only() {
    let model = |asked: &crate::world::Asked<'_>| {
        Ok(match (asked.agent.name(), asked.closing) {
            ("maia", _) if asked.step == 1 => calls(&[agent("helper", "all")]),
            ("maia", _) => text("done"),
            (_, true) => text("as far as I came"),
            _ => calls(&[bash("x")]),
        })
    };
    let mut tree = Tree::new(World::new(model), 6, "go");
    tree.run();
    for _ in 0..2 {
        tree.order("maia/helper#1", Order::AskAgain("go on".to_owned()));
        tree.run();
    }
    tree.order("maia/helper#1", Order::AskAgain("once more".to_owned()));
    tree.run_until(|tree| tree.state("maia/helper#1").step == 20);
    tree.order("maia/helper#1", Order::Cancel);
    tree.run();
    check::ended(&tree);
    let ends = ends(&tree, "maia/helper#1");
    let outcomes: Vec<_> = ends.iter().map(|end| (end.outcome, end.totals.iterations)).collect();
    assert_eq!(outcomes[..3], [(Outcome::Partial, 5); 3]);
    assert_eq!(outcomes[3].0, Outcome::Cancelled);
}

#[test]
fn an_agent_that_failed_at_its_calls_has_none_left_open() {
    let mut tree = Tree::new(World::new(model), 2, "go");
    tree.run_until(|tree| tree.running().iter().any(|call| call.as_str() == "maia/boss#1/helper#1:1.1"));
    let mut journal = tree.journal.clone();
    // What a supervisor writes of an agent that failed for good.
    let path = ActorPath::new("maia/boss#1/helper#1");
    let failed = ChildFinished {
        call: maia_protocol::CallId::new(&ActorPath::new("maia/boss#1"), 1, 1),
        outcome: Outcome::Failed,
        cause: Some("it panicked".to_owned()),
        summary: String::new(),
        totals: Default::default(),
        subtree: Default::default(),
    };
    let last = journal.last().expect("records").clone();
    let body = Body::ChildFinished(Box::new(failed));
    journal.push(maia_protocol::Record { seq: last.seq + 1, actor: path.clone(), body, ..last });
    let mut tree = Tree::resume(World::new(model), 2, &journal);
    tree.run();
    tree.order(path.as_str(), Order::AskAgain("try again".to_owned()));
    tree.run();
    let talk = told(&tree.state(path.as_str()).messages);
    assert!(talk[2].starts_with("user: =The agent failed before this call had its result."), "{talk:?}");
    assert!(talk[2].ends_with("| try again"), "{talk:?}");
}

#[test]
fn a_crash_at_any_record_of_a_second_life_is_gone_on_from() {
    let mut whole = Tree::new(World::new(model), 3, "go");
    whole.run();
    whole.order("maia/boss#1", Order::AskAgain("and now?".to_owned()));
    whole.order("maia/boss#1/helper#1", Order::AskAgain("you too".to_owned()));
    whole.run();
    let first = whole.journal.iter().position(|record| matches!(record.body, Body::AskedAgain(_)));
    for length in first.expect("asked again")..=whole.journal.len() {
        let mut tree = Tree::resume(World::new(model), length as u64, &whole.journal[..length]);
        tree.run();
        tree.close();
        check::ended(&tree);
        let asked = tree.journal.iter().filter(|record| matches!(record.body, Body::AskedAgain(_))).count();
        assert_eq!(tree.state("maia").pending.len(), asked, "each of them is told");
    }
}

#[test]
fn a_cleared_conversation_is_empty_and_the_rest_goes_on() {
    let mut tree = Tree::new(World::new(model), 1, "a secret word");
    tree.run();
    tree.append(Body::ConversationCleared {});
    tree.run();
    tree.ask("what was the word?");
    check::ended(&tree);
    assert_eq!(told(&tree.state("maia").messages), ["user: what was the word?", "model: done"]);
    assert_eq!(
        (tree.state("maia").turn, tree.state("maia").step),
        (2, 3),
        "turns and requests are counted on"
    );
    // While a turn is under way it changes nothing.
    tree.append(Body::UserMessage { turn: 3, text: "go".to_owned() });
    tree.append(Body::ConversationCleared {});
    tree.prompt = true;
    tree.run();
    check::ended(&tree);
}

#[test]
fn another_model_answers_from_the_next_request_on() {
    let mut tree = Tree::new(World::new(model), 1, "go");
    tree.run_until(|tree| tree.requests.len() == 1);
    tree.append(Body::ModelChosen { model: "other".to_owned() });
    tree.run();
    check::ended(&tree);
    assert!(tree.requests.len() > 4);
    assert_eq!(tree.requests[0].1.model, "m");
    let answered = tree.journal.iter().find_map(|record| match &record.body {
        Body::ModelAnswered(answered) => Some(answered.model.as_str()),
        _ => None,
    });
    assert_eq!(answered, Some("m"), "the answer is of the model that was asked");
    // Sub-agents that are spawned later have it too.
    assert!(tree.requests[1..].iter().all(|(_, request)| request.model == "other"));
    assert_eq!(tree.session.model, "other");
}
