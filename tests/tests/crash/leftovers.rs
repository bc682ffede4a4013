//! What a killed maia leaves running is ended: by the helper of the command, and by the next opening where the helper could not.

use maia_protocol::Body;
use maia_tests::harness::Running;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

use crate::evidence::reconciled;
use crate::scene::{RESULT, Scene, hold};

/// Starts a run whose command has begun and does not end; returns it with the helper of the command.
fn at_work(scene: &Scene) -> (Running, Pid) {
    let running = scene.command().start();
    let process = running.wait_for("the helper runs", |event| event["type"] == "process");
    scene.world().wait_for_file("held", |text| text == "yes\n");
    let pid = process["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    (running, pid.expect("the event names a process"))
}

/// Goes on after the kill: the command is not begun again, its agent is told that nobody knows how it ended.
fn goes_on(scene: &Scene) {
    let ended = scene.command().end().with_code(0);
    assert_eq!(ended.events().last().map(|last| last["result"].clone()), Some(RESULT.into()), "{ended}");
    assert_eq!(scene.world().read("marks.log").as_deref(), Some("main\n"), "it ran again\n{ended}");
    let records = scene.records();
    assert!(reconciled(&records).contains("Bash Uncertain"), "{ended}");
    let failed = records.iter().filter(|record| match &record.body {
        Body::ToolDone { output, .. } => output.is_error,
        _ => false,
    });
    assert_eq!(failed.count(), 1, "{ended}");
    assert_eq!(scene.left(), [], "{ended}");
}

#[test]
fn a_command_ends_with_the_maia_that_is_killed() {
    let scene = Scene::played_by(hold);
    let (running, _) = at_work(&scene);
    // maia or its shells, the one in the foreground and the one with a session of its own.
    assert!(scene.world().processes().len() > 1, "nothing runs: {:?}", scene.world().processes());
    assert!(running.kill_after(Duration::ZERO).was_killed());
    assert_eq!(scene.left(), []);
    goes_on(&scene);
}

#[test]
fn a_resume_ends_what_the_helper_could_not() {
    let scene = Scene::played_by(hold);
    let (running, helper) = at_work(&scene);
    kill_process(helper, Signal::STOP).expect("it runs");
    assert!(running.kill_after(Duration::ZERO).was_killed());
    // The control: without the helper nobody has ended them.
    assert!(scene.world().processes().len() > 1, "the helper was not needed");
    goes_on(&scene);
}
