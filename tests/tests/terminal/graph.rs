//! A `Delegate` graph of four tasks, one failing: order, hand-over, skip, and the picture (SPEC section 2, TUI).

use maia_test_support::Reply;
use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World};
use serde_json::json;

use crate::MAIA;

#[test]
fn four_tasks_run_in_order_hand_over_and_are_drawn() {
    let world = World::new(MAIA);
    world.agent("helper", &["Read"], &[]);
    let endpoint = Endpoint::start(|asked| match (asked.agent.as_str(), asked.step) {
        ("maia", 1) => calls(&[(
            "Delegate",
            json!({"tasks": [
                {"id": "survey", "agent": "helper", "task": "look around"},
                {"id": "broken", "agent": "helper", "task": "fall over", "after": ["survey"]},
                {"id": "sound", "agent": "helper", "task": "stand up", "after": ["survey"]},
                {"id": "joined", "agent": "helper", "task": "bring together", "after": ["broken", "sound"]},
            ]}),
        )]),
        ("maia", _) => says("The graph has ended."),
        _ if asked.task.contains("fall over") => Reply::json(400, &json!({"error": {"message": "no"}})),
        _ if asked.task.contains("look around") => says("the garden is large"),
        _ => says("stood up"),
    });
    let maia = world.maia().endpoint(endpoint.url()).allow(&["Delegate", "Agent"]);
    let mut terminal = maia.in_terminal(50, 120);
    terminal.wait_for_text("test-model");
    terminal.enter("go");
    let screen = terminal.wait_for_text("The graph has ended.");

    // Order and hand-over, by what was asked of the model.
    let bodies: Vec<String> = endpoint.requests().iter().map(|request| request.json().to_string()).collect();
    let at = |task: &str| {
        let asks = |body: &&String| body.contains("You are helper.") && body.contains(task);
        bodies.iter().position(|body| asks(&body)).unwrap_or_else(|| panic!("nobody was asked to {task}"))
    };
    let (survey, broken, sound) = (at("look around"), at("fall over"), at("stand up"));
    assert!(survey < broken && survey < sound, "{survey} {broken} {sound}");
    let sound = &bodies[sound];
    assert!(sound.contains("the garden is large"), "its prerequisite is handed over: {sound}");
    let helpers = endpoint.asked().into_iter().filter(|(agent, _)| agent == "helper").count();
    assert_eq!(helpers, 3, "the fourth one was skipped: {:?}", endpoint.asked());
    let report = bodies.last().expect("the main agent's second request");
    for part in [
        "survey (helper): done",
        "broken (helper): failed",
        "sound (helper): done",
        "joined (helper): skipped",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }

    // The picture.
    for (task, word) in [("survey", "done"), ("broken", "failed"), ("sound", "done"), ("joined", "skipped")] {
        assert!(screen.contains(task) && screen.contains(word), "{task} {word}\n{screen}");
    }
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));
}
