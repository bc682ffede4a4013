//! Who folds what, and what is shown of it: owners, events, the view of a subscriber, the fold of a session.

use jiff::Timestamp;
use maia_core::event::{Projection, events, summary};
use maia_core::owners::{Owners, owners};
use maia_core::session::Session;
use maia_core::view::View;
use maia_protocol::event::{AgentView, EventBody, NoticeEvent};
use maia_protocol::outcome::EndReason;
use maia_protocol::permission::AnsweredBy;
use maia_protocol::record::TurnEnd;
use maia_protocol::{ActorPath, Body, CallId, Decision, Record};
use serde_json::{Value, json};

use crate::driver::Tree;
use crate::world::{World, agent, bash, by_command, calls, script, text};

fn played(close: bool) -> Tree {
    let world = World::new(script(&[
        ("maia", vec![calls(&[agent("helper", "look"), bash("ask x")]), text("done")]),
        ("helper", vec![calls(&[bash("y")]), text("found")]),
    ]))
    .judge(by_command);
    let mut tree = Tree::new(world, 6, "go");
    tree.run();
    if close {
        tree.close();
    }
    tree
}

fn kinds(record: &Record) -> Vec<Value> {
    let events = events(record, "s");
    events.iter().map(|event| serde_json::to_value(event).expect("plain data")).collect()
}

fn view(journal: &[Record]) -> (Vec<AgentView>, Vec<CallId>) {
    let mut view = View::default();
    for event in journal.iter().flat_map(|record| events(record, "s")) {
        view.step(&event);
    }
    match view.snapshot() {
        EventBody::Notice(NoticeEvent::Snapshot { agents, questions }) => (agents, questions),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_is_folded_by_everybody_whom_it_concerns() {
    let record = |actor: &str, body: Body| Record {
        seq: 1,
        time: Timestamp::UNIX_EPOCH,
        actor: ActorPath::new(actor),
        body,
    };
    let child = "maia/helper#1";
    let tree = played(true);
    let of = |kind: &str, actor: &str| {
        let found =
            tree.journal.iter().find(|record| record.body.kind() == kind && record.actor.as_str() == actor);
        owners(found.expect("such a record"))
    };
    let paths = |paths: &[&str]| Owners::Paths(paths.iter().map(|path| ActorPath::new(*path)).collect());
    assert_eq!(of("session_opened", "maia"), Owners::Everybody);
    assert_eq!(of("delegated", child), paths(&[child, "maia", "@scheduler", "@session"]));
    assert_eq!(of("child_finished", child), paths(&[child, "maia", "@scheduler", "@broker", "@session"]));
    assert_eq!(of("tool_intent", "maia/helper#1/Bash#1"), paths(&[child]));
    assert_eq!(of("tool_done", "maia/helper#1/Bash#1"), paths(&[child, "@broker"]));
    assert_eq!(of("model_answered", child), paths(&[child, "@session"]));
    for body in [Body::TimerFired { step: 1 }, Body::CancelAsked { by: "x".to_owned() }] {
        assert_eq!(owners(&record(child, body)), paths(&[child]));
    }
    let unknown = Body::Unknown { kind: "dreamt".to_owned(), body: json!({}) };
    assert_eq!(owners(&record("maia", unknown)), paths(&[]));
    assert!(owners(&tree.journal[0]).include(&ActorPath::new("maia/x#1")));
    // The plan is about the agent; a record of a turn belongs to the session too.
    for record in &tree.journal {
        let concerned = owners(record);
        let agent = match &record.body {
            Body::ToolIntent { call, .. } | Body::ToolDone { call, .. } => call.agent(),
            _ => record.actor.clone(),
        };
        assert!(concerned.include(&agent), "{} misses {agent}", record.body.kind());
    }
}

#[test]
fn events_have_the_documented_types_and_fields() {
    let tree = played(true);
    let all: Vec<Value> = tree.journal.iter().flat_map(kinds).collect();
    let of = |kind: &str| {
        all.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}")).clone()
    };
    assert_eq!(all[0]["type"], "session_started");
    assert_eq!(all[1]["type"], "agent_spawned");
    assert_eq!(of("turn_started")["turn"], 1);
    assert_eq!(of("user_message")["text"], "go");
    let call = of("tool_call");
    assert_eq!(
        (&call["id"], &call["name"], &call["summary"]),
        (&json!("maia:1.1"), &json!("Agent"), &json!("Agent helper"))
    );
    let asked = of("permission_asked");
    assert_eq!(
        (&asked["id"], &asked["call"], &asked["actor"]),
        (&json!("maia:1.2"), &json!("maia:1.2"), &json!("maia"))
    );
    assert_eq!(of("permission_answered")["decision"], "allow_once");
    let finished = of("agent_finished");
    let shown = ["actor", "outcome", "summary", "iterations", "tool_calls", "input_tokens", "output_tokens"];
    let values =
        [json!("maia/helper#1"), json!("done"), json!("found"), json!(2), json!(1), json!(20), json!(10)];
    for (field, value) in shown.into_iter().zip(values) {
        assert_eq!(finished[field], value, "{field}");
    }
    let call = of("model_call");
    assert_eq!((&call["output_tokens"], &call["cached_tokens"]), (&json!(5), &json!(4)));
    assert_eq!(of("turn_finished")["stop_reason"], "end_turn");
    let last: Vec<_> = all.iter().rev().take(2).map(|event| event["type"].clone()).collect();
    assert_eq!(last, ["session_ended", "agent_finished"]);
    assert_eq!(
        (&of("session_ended")["exit_code"], &of("session_ended")["result"]),
        (&json!(0), &json!("done"))
    );
    assert!(all.iter().all(|event| event["seq"].as_u64() > Some(0) && event.get("live").is_none()));
}

#[test]
fn a_call_is_told_in_one_line() {
    assert_eq!(summary("Bash", &json!({"command": "a\nb\u{1b}c"})), "Bash a b c");
    assert_eq!(summary("Read", &json!({})), "Read");
    assert_eq!(summary("X", &json!({"y": 1})), "X {\"y\":1}");
    assert_eq!(summary("Bash", &json!({"command": "é".repeat(500)})).chars().count(), 125);
}

#[test]
fn a_view_after_any_record_is_the_fold_of_the_events_before() {
    let tree = played(true);
    let at = |wanted: fn(&Body) -> bool| {
        tree.journal.iter().position(|record| wanted(&record.body)).expect("such a record") + 1
    };
    let (agents, questions) = view(&tree.journal[..at(|body| matches!(body, Body::PermissionAsked(_)))]);
    let running = |agent: &AgentView| (agent.actor.to_string(), agent.running.clone());
    let calls = vec!["Agent".to_owned(), "Bash".to_owned()];
    assert_eq!(running(&agents[0]), ("maia".to_owned(), calls));
    assert_eq!(questions, [CallId::from("maia:1.2".to_owned())]);
    let (agents, _) = view(&tree.journal[..at(|body| matches!(body, Body::ChildFinished(_)))]);
    assert_eq!(agents.len(), 1, "an ended child has gone");
    let (agents, questions) = view(&tree.journal[..tree.journal.len() - 1]);
    assert_eq!((agents[0].iterations, agents[0].input_tokens, agents[0].tool_calls), (2, 20, 2));
    assert_eq!((agents[0].running.len(), questions.len()), (0, 0));
    assert_eq!(view(&tree.journal), (Vec::new(), Vec::new()));
}

#[test]
fn a_closed_session_that_is_opened_again_has_its_main_agent() {
    let before = played(true);
    let mut tree = Tree::resume(before.world.clone(), 1, &before.journal);
    tree.ask("more");
    let (agents, _) = view(&tree.journal);
    assert_eq!(agents.len(), 1);
    assert_eq!((agents[0].iterations, agents[0].tool_calls), (3, 2), "with what it used before");
    let open = before
        .journal
        .iter()
        .position(|record| matches!(record.body, Body::ToolDone { .. }))
        .expect("a result");
    let tree = Tree::resume(before.world.clone(), 1, &before.journal[..open]);
    let (agents, questions) = view(&tree.journal);
    assert_eq!(
        agents.iter().map(|agent| agent.actor.as_str()).collect::<Vec<_>>(),
        ["maia", "maia/helper#1"]
    );
    assert_eq!(questions, [], "asked again by those that still need them");
}

#[test]
fn events_of_the_embedded_model_say_so_as_long_as_it_answers() {
    let mut journal = played(true).journal;
    let marked = |journal: &[Record]| {
        let mut projection = Projection::default();
        let events = journal.iter().flat_map(|record| projection.events(record, "s"));
        events.map(|event| (event.seq, event.demo)).collect::<Vec<_>>()
    };
    assert!(marked(&journal).iter().all(|(_, demo)| !demo), "another model plays");
    for record in &mut journal {
        if let Body::SessionOpened(opened) = &mut record.body {
            opened.model = maia_protocol::DEMO.to_owned();
        }
    }
    assert!(marked(&journal).len() > 10 && marked(&journal).iter().all(|(_, demo)| *demo));
    let last = journal.last_mut().expect("a record");
    last.body = Body::ModelChosen { model: "m".to_owned() };
    let (seq, events) = (last.seq, marked(&journal));
    assert!(events.iter().all(|(of, demo)| *demo == (*of != seq)), "{events:?}");
}

#[test]
fn a_session_knows_its_turns_its_tree_and_its_refusals() {
    let tree = played(true);
    let session = &tree.session;
    assert_eq!((session.turn, session.in_turn, session.spawned), (1, false, 1));
    assert_eq!(session.last, Some((TurnEnd::EndTurn, "done".to_owned())));
    assert_eq!(session.closed, Some((EndReason::Done, "done".to_owned())));
    let mut refolded = Session::default();
    for record in tree.journal.iter().filter(|record| owners(record).include(&ActorPath::session())) {
        refolded.step(record);
    }
    assert_eq!(refolded, *session, "the session folds its own records alone");
}

#[test]
fn safety_1_of_several_reasons_the_gravest_counts() {
    let rows = [
        (TurnEnd::EndTurn, false, EndReason::Done),
        (TurnEnd::EndTurn, true, EndReason::Permission),
        (TurnEnd::MaxIterations, false, EndReason::Budget),
        (TurnEnd::MaxIterations, true, EndReason::Permission),
        (TurnEnd::Stopped, true, EndReason::Permission),
        (TurnEnd::Cancelled, true, EndReason::Interrupted),
        (TurnEnd::Endpoint, true, EndReason::Endpoint),
        (TurnEnd::Failed, true, EndReason::Failed),
    ];
    for (end, refused, reason) in rows {
        let mut session = Session::default();
        let mut step = |body| {
            let (time, actor) = (Timestamp::UNIX_EPOCH, ActorPath::main());
            session.step(&Record { seq: 1, time, actor, body });
        };
        if refused {
            let call = CallId::new(&ActorPath::main(), 1, 1);
            let decision = Decision::RejectOnce { reason: None };
            step(Body::PermissionAnswered { call, decision, by: AnsweredBy::Headless });
        }
        step(Body::TurnFinished { turn: 1, end, text: String::new() });
        assert_eq!(session.reason(), reason, "{end:?} refused: {refused}");
    }
}
