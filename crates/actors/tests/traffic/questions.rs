//! PermissionBroker.

use std::sync::atomic::Ordering;

use maia_actors::permission_broker::{PermissionBroker, PermissionBrokerArgs, PermissionBrokerMsg};
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::permission::AnsweredBy;
use maia_protocol::record::PermissionAsked;
use maia_protocol::{ActorPath, Body, CallId, Decision, NewRecord, Record};
use ractor::{Actor, ActorRef};
use serde_json::json;
use std::sync::Arc;

use crate::fakes::{Options, Session, Told, record};

fn agent() -> ActorPath {
    ActorPath::main().child("a", 1)
}

fn call(n: u32) -> CallId {
    CallId::new(&agent(), 1, n)
}

fn asked(n: u32) -> Arc<Record> {
    let asked = PermissionAsked {
        call: call(n),
        tool: "Bash".to_owned(),
        input: json!({"command": "cargo test"}),
        target: None,
        why: "no rule covers it".to_owned(),
        rule: None,
    };
    record(&agent(), Body::PermissionAsked(Box::new(asked)))
}

fn answered(n: u32, decision: Decision, by: AnsweredBy) -> NewRecord {
    NewRecord::new(agent(), Body::PermissionAnswered { call: call(n), decision, by })
}

async fn ground(headless: bool) -> (Session, ActorRef<PermissionBrokerMsg>) {
    let session = Session::open(Options { headless, ..Options::default() }).await;
    let args = PermissionBrokerArgs { env: session.env.clone() };
    let (broker, _) = Actor::spawn(None, PermissionBroker, args).await.expect("it starts");
    (session, broker)
}

fn history(broker: &ActorRef<PermissionBrokerMsg>, records: Vec<Arc<Record>>) {
    broker.cast(PermissionBrokerMsg::History { records }).expect("it runs");
}

fn committed(broker: &ActorRef<PermissionBrokerMsg>, records: Vec<Arc<Record>>) {
    broker.cast(PermissionBrokerMsg::Committed { records }).expect("it runs");
}

fn answer(broker: &ActorRef<PermissionBrokerMsg>, n: u32, decision: Decision) {
    let message = PermissionBrokerMsg::Answer { call: call(n), decision, by: AnsweredBy::Person };
    broker.cast(message).expect("it runs");
}

async fn warned(session: &mut Session, n: u32) {
    let told = session.next().await;
    let Told::Event(_, EventBody::Notice(NoticeEvent::Warning { message, .. })) = &told else {
        panic!("{told:?}");
    };
    assert!(message.contains(call(n).as_str()), "{message}");
}

#[tokio::test]
async fn a_question_is_answered_once() {
    let (mut session, broker) = ground(false).await;
    history(&broker, Vec::new());
    committed(&broker, vec![asked(1)]);
    answer(&broker, 1, Decision::AllowOnce);
    answer(&broker, 1, Decision::Stop);
    let first = answered(1, Decision::AllowOnce, AnsweredBy::Person);
    assert_eq!(session.next().await, Told::Append(vec![first.clone()]));
    warned(&mut session, 1).await;
    committed(&broker, vec![record(&agent(), first.body)]);
    answer(&broker, 1, Decision::AllowOnce);
    warned(&mut session, 1).await;
    // Asked again it is a question again (ENGINE 7).
    committed(&broker, vec![asked(1)]);
    answer(&broker, 1, Decision::Stop);
    let again = answered(1, Decision::Stop, AnsweredBy::Person);
    assert_eq!(session.next().await, Told::Append(vec![again]));
}

#[tokio::test]
async fn an_answer_to_nothing_is_told() {
    let (mut session, broker) = ground(false).await;
    history(&broker, Vec::new());
    answer(&broker, 7, Decision::AllowOnce);
    warned(&mut session, 7).await;
}

#[tokio::test]
async fn an_answer_waits_for_the_history_of_a_rebuilt_broker() {
    let (mut session, broker) = ground(false).await;
    answer(&broker, 2, Decision::AllowOnce);
    history(&broker, vec![asked(1), asked(2)]);
    let record = answered(2, Decision::AllowOnce, AnsweredBy::Person);
    assert_eq!(session.next().await, Told::Append(vec![record]));
}

fn reason(told: Told) -> (CallId, String) {
    let Told::Append(records) = told else { panic!("{told:?}") };
    match records.into_iter().next().map(|record| record.body) {
        Some(Body::PermissionAnswered {
            call,
            decision: Decision::RejectOnce { reason: Some(reason) },
            by: AnsweredBy::Headless,
        }) => (call, reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn where_nobody_can_answer_it_is_refused_with_the_rule_to_add() {
    let (mut session, broker) = ground(true).await;
    history(&broker, vec![asked(1)]);
    let (of, said) = reason(session.next().await);
    assert_eq!(of, call(1));
    assert!(
        said.starts_with("no rule covers it; nobody can answer here. To allow it: --allow 'Bash("),
        "{said}"
    );
    // Its answer is under way: another batch does not refuse it twice.
    committed(&broker, vec![asked(2)]);
    assert_eq!(reason(session.next().await).0, call(2));
    answer(&broker, 1, Decision::AllowOnce);
    warned(&mut session, 1).await;
}

#[tokio::test]
async fn when_the_person_goes_open_questions_are_refused() {
    let (mut session, broker) = ground(false).await;
    history(&broker, Vec::new());
    committed(&broker, vec![asked(1), asked(2)]);
    answer(&broker, 1, Decision::AllowOnce);
    assert!(matches!(session.next().await, Told::Append(_)));
    session.env.headless.store(true, Ordering::Relaxed);
    broker.cast(PermissionBrokerMsg::NobodyAnswers).expect("it runs");
    assert_eq!(reason(session.next().await).0, call(2));
}
