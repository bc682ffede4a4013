//! Every kind of message of every actor, read from the sources: a kind that is added has to be tried as well.

use std::collections::BTreeSet;

/// An actor: its source, and where it stands in the scene.
pub const ACTORS: &[(&str, &[&str])] = &[
    ("agent", &["maia", "maia/worker#1"]),
    ("agent_supervisor", &["maia@supervisor", "maia/worker#1@supervisor"]),
    ("tool_executor", &["maia/worker#1/Bash#1", "maia/worker#1/Write#1", "maia/worker#1/Read#1"]),
    ("session", &["@session"]),
    ("permission_broker", &["@broker"]),
    ("scheduler", &["@scheduler"]),
    ("journal", &["@journal"]),
    ("event_hub", &["@events"]),
    ("lock_table", &["@locks"]),
    ("model_gateway", &["@gateway"]),
    ("reaper", &["@reaper"]),
];

/// Kinds that no run of this test can meet, each with its reason.
pub const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("agent_supervisor", "FoldFailed", "needs a history whose fold panics, which is a bug of the core"),
    ("session", "DiskPatienceOver", "comes after 30 s of a full disk: see disk.rs"),
    ("session", "Leave", "comes from a terminal that the person leaves"),
    ("session", "Clear", "comes from a terminal, with what was read afresh; as an order it is an Op"),
    ("journal", "Retry", "comes from a key of a terminal"),
    (
        "journal",
        "Broken",
        "needs a disk that fails otherwise than by being full: see the journal's own tests",
    ),
    (
        "event_hub",
        "Subscribe",
        "comes from a terminal that joins; the subscriber of a run is there before the hub",
    ),
    ("event_hub", "Room", "comes after 65,536 events that nobody read: see the hub's own tests"),
];

/// Returns the kinds of messages of the actor in `source`, as its `kind()` names them.
pub fn kinds(source: &str) -> Vec<String> {
    let text = maia_tests::text(format!("crates/actors/src/{source}.rs")).expect("it is there");
    let (_, function) = text.split_once("fn kind(&self) -> &'static str {").expect("messages have kinds");
    let (function, _) = function.split_once("\n    }\n").expect("the function ends");
    let names = function.split("=> \"").skip(1).filter_map(|rest| rest.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_actor_that_counts_its_messages_is_in_the_table() {
    let files = maia_tests::files("crates/actors/src").expect("they can be listed");
    let counting = files.iter().filter(|path| {
        let text = maia_tests::text(path).expect("a source is text");
        text.contains("failpoints.message(") && !path.ends_with("failpoint.rs")
    });
    let counting: BTreeSet<_> = counting
        .filter_map(|path| path.file_stem())
        .map(|stem| stem.to_string_lossy().into_owned())
        .collect();
    let told: BTreeSet<_> = ACTORS.iter().map(|(source, _)| (*source).to_owned()).collect();
    assert_eq!(told, counting);
    for (source, _) in ACTORS {
        assert!(kinds(source).len() >= 2, "{source}: {:?}", kinds(source));
    }
    for (source, kind, _) in LEFT_OUT {
        assert!(kinds(source).iter().any(|known| known == kind), "{source} has no {kind} any more");
    }
}
