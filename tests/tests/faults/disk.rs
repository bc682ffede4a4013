//! Full disks and folders that cannot be written (ENGINE 2).

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, Script, World, check_stream, field, of_type};
use serde_json::json;

use crate::MAIA;
use crate::scene::{Scene, Seen, Stage};

#[test]
fn a_full_disk_holds_the_work_until_there_is_room() {
    let stage = Stage::new(Scene::Disk);
    let ended = stage.maia(Scene::Disk).fail("disk:full@14").end().with_code(0);
    let events = ended.events();
    let warned = |event: &&serde_json::Value| field(event, "message").contains("the disk is full");
    let warning = of_type(&events, "warning").into_iter().find(warned).unwrap_or_else(|| panic!("{ended}"));
    assert!(field(warning, "mend").contains("free room"), "{warning}");
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let seen = Seen::of(&stage, ended);
    seen.check("nobody")
        .and_then(|()| seen.check_done())
        .unwrap_or_else(|error| panic!("{error}\n{}", seen.ended));
}

#[test]
fn a_disk_that_is_full_at_the_beginning_keeps_the_stream_whole() {
    let stage = Stage::new(Scene::Disk);
    let ended = stage.maia(Scene::Disk).fail("disk:full@1").end().with_code(0);
    check_stream(&ended.events()).unwrap_or_else(|error| panic!("{error}\n{ended}"));
}

#[test]
fn a_disk_that_stays_full_ends_the_run_and_a_resume_goes_on() {
    let stage = Stage::new(Scene::Plain);
    let ended = stage.maia(Scene::Plain).fail("disk:full@14").end().with_code(1);
    let err = ended.err();
    assert!(err.contains("is full") && err.contains("maia run --resume session_"), "{ended}");
    let (_, name) = err.split_once("maia run --resume ").expect("the line to go on with");
    stage.world.wait_until_nothing_runs();
    let again = stage.maia(Scene::Plain).args(["--resume", name.lines().next().unwrap_or_default()]);
    let seen = Seen::of(&stage, again.end());
    // What ran when the disk was full had no room for its result.
    seen.check("maia").unwrap_or_else(|error| panic!("{error}\n{}", seen.ended));
    assert_eq!(seen.ended.code, Some(0), "{}", seen.ended);
}

#[test]
fn a_state_folder_that_cannot_be_made_is_said_with_its_cause() {
    let world = World::new(MAIA);
    let model = world.script(&Script::new().text("maia", "never said"));
    world.write("file", "");
    let state = world.cwd().join("file");
    let ended = world.run().arg("go").model(model).env("XDG_STATE_HOME", state.display().to_string()).end();
    let ended = ended.with_code(1);
    for part in [&*state.display().to_string(), "os error", "XDG_STATE_HOME"] {
        assert!(ended.err().contains(part), "{part}: {ended}");
    }
    assert_eq!(ended.out(), "");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_result_and_the_run_goes_on() {
    let world = World::new(MAIA);
    world.write("file", "old");
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => calls(&[("Write", json!({"path": "file/below", "content": "x"}))]),
        _ => says("it could not be written"),
    });
    let maia = world.run().args(["go", "--json", "--mode", "edits"]).endpoint(endpoint.url());
    let ended = maia.allow(&["Write(**)"]).end().with_code(0);
    let events = ended.events();
    let results = of_type(&events, "tool_result");
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["is_error"], true, "{}", results[0]);
    assert_eq!(world.read("file").as_deref(), Some("old"));
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
}
