//! ModelGateway.

use std::sync::Arc;

use maia_actors::failpoint::Failpoints;
use maia_actors::model_gateway::{ModelGateway, ModelGatewayArgs, ModelGatewayMsg, RequestKey};
use maia_core::turn::Input;
use maia_llm::{Client, ClientConfig, Provider, Script};
use maia_protocol::event::{EventBody, NoticeEvent, TalkEvent};
use maia_protocol::model::{ChatRequest, FailureKind};
use maia_protocol::{ActorPath, Message};
use maia_test_support::{FakeEndpoint, Gate, Reply, Sse};
use ractor::{Actor, ActorRef};
use serde_json::json;
use tokio::time::Instant;

use crate::fakes::{Options, Session, Told, drain};

type Gateway = ActorRef<ModelGatewayMsg>;

async fn start(provider: Provider, max_in_flight: usize) -> Gateway {
    let args =
        ModelGatewayArgs { provider: Arc::new(provider), max_in_flight, failpoints: Failpoints::default() };
    Actor::spawn(None, ModelGateway, args).await.expect("it starts").0
}

fn script(lines: &[serde_json::Value]) -> Provider {
    let text: Vec<_> = lines.iter().map(ToString::to_string).collect();
    Provider::Script(Script::parse(&text.join("\n")).expect("a good script"))
}

fn http(endpoint: &FakeEndpoint) -> Provider {
    Provider::Http(Client::new(ClientConfig::new(endpoint.chat_url(), endpoint.models_url())))
}

fn path(n: u32) -> ActorPath {
    ActorPath::main().child("a", n)
}

fn key(session: &Session, agent: &ActorPath, step: u32) -> RequestKey {
    RequestKey { session: session.env.session.clone(), agent: agent.clone(), step, attempt: 1 }
}

fn ask(gateway: &Gateway, session: &Session, agent: &ActorPath, step: u32) {
    let request = ChatRequest {
        model: "m".to_owned(),
        system: "be brief".into(),
        messages: vec![Arc::new(Message::user("hi"))],
        tools: Arc::default(),
        tools_usable: true,
        max_tokens: None,
    };
    let (key, env) = (key(session, agent, step), session.env.clone());
    gateway.cast(ModelGatewayMsg::Ask { key, request: Box::new(request), env }).expect("it runs");
}

fn cancel(gateway: &Gateway, session: &Session, agent: &ActorPath) {
    let (key, env) = (key(session, agent, 5), session.env.clone());
    gateway.cast(ModelGatewayMsg::Cancel { key, env }).expect("it runs");
}

fn text(input: &Input) -> &str {
    match input {
        Input::Answered { answer, .. } => &answer.text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn twenty_requests_and_three_places() {
    let gate = Gate::new();
    let held = gate.clone();
    let endpoint =
        FakeEndpoint::start(move |_| Reply::sse(Vec::new()).hold(&held).write(Sse::answer("done"))).await;
    let gateway = start(http(&endpoint), 3).await;
    let mut session = Session::open(Options::default()).await;
    for n in 1..=20 {
        session.agent(&path(n)).await;
        ask(&gateway, &session, &path(n), 1);
        if n > 3 {
            // Who stands in line is shown.
            assert_eq!(session.next().await, Told::Line(path(n), true));
        }
    }
    endpoint.wait_for(|counts| counts.in_flight == 3).await;
    gate.open();
    let mut done = Vec::new();
    while done.len() < 20 {
        let (agent, input) = session.input().await;
        assert_eq!(text(&input), "done");
        done.push(agent);
    }
    done.sort();
    done.dedup();
    assert_eq!(done.len(), 20);
    assert_eq!(endpoint.counts().max_in_flight, 3);
}

#[tokio::test(start_paused = true)]
async fn a_429_is_a_wait_of_the_gateway_and_reaches_no_agent() {
    let busy = |wait: &str| json!({"agent": "*", "answer": {"error": {"status": 429, "body": "slow down", "headers": {"retry-after": wait}}}});
    let good = json!({"agent": "*", "answer": {"text": "done"}});
    let gateway = start(script(&[busy("7"), busy("7"), good.clone(), good]), 8).await;
    let mut session = Session::open(Options::default()).await;
    let start = Instant::now();
    for n in [1, 2] {
        session.agent(&path(n)).await;
        ask(&gateway, &session, &path(n), 1);
    }
    let (mut warnings, mut waits, mut done) = (Vec::new(), 0, 0);
    while done < 2 {
        match session.next().await {
            Told::Event(_, EventBody::Notice(NoticeEvent::Warning { message, .. })) => warnings.push(message),
            Told::Line(_, true) => waits += 1,
            Told::Input(_, input) => {
                assert_eq!(text(&input), "done");
                done += 1;
            }
            _ => {}
        }
    }
    assert!(start.elapsed().as_secs() >= 7, "the server's wish holds");
    assert_eq!(waits, 2);
    assert_eq!(warnings.len(), 1, "one wait is told once: {warnings:?}");
    assert!(warnings[0].contains("429") && warnings[0].contains("7.0 s"), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn a_spent_quota_is_a_failure() {
    let body = json!({"error": {"code": "insufficient_quota", "message": "no money"}});
    let gateway =
        start(script(&[json!({"agent": "*", "answer": {"error": {"status": 429, "body": body}}})]), 1).await;
    let mut session = Session::open(Options::default()).await;
    session.agent(&path(1)).await;
    ask(&gateway, &session, &path(1), 3);
    let (_, input) = session.input().await;
    let Input::Failed { step: 3, attempt: 1, failure } = input else { panic!("{input:?}") };
    assert_eq!(failure.kind, FailureKind::QuotaSpent);
}

#[tokio::test(start_paused = true)]
async fn the_main_agent_goes_before_those_that_wait() {
    let line = json!({"agent": "*", "answer": {"text": "done"}, "delay_ms": 10});
    let gateway = start(script(&[line.clone(), line.clone(), line]), 1).await;
    let mut session = Session::open(Options::default()).await;
    let agents = [path(1), path(2), ActorPath::main()];
    for agent in &agents {
        session.agent(agent).await;
        ask(&gateway, &session, agent, 1);
    }
    for expected in [&agents[0], &agents[2], &agents[1]] {
        assert_eq!(session.input().await.0, *expected);
    }
}

#[tokio::test]
async fn a_stop_ends_what_is_in_flight_and_what_stands_in_line() {
    let gate = Gate::new();
    let held = gate.clone();
    let endpoint = FakeEndpoint::start(move |_| {
        Reply::sse(Sse::new().text("so ").text("far").cut()).hold(&held).write(Sse::answer("not"))
    })
    .await;
    let gateway = start(http(&endpoint), 1).await;
    let mut session = Session::open(Options::default()).await;
    for n in [1, 2, 3] {
        session.agent(&path(n)).await;
        ask(&gateway, &session, &path(n), 5);
    }
    let mut shown = String::new();
    while shown != "so far" {
        shown += &session
            .find(|told| match told {
                Told::Event(_, EventBody::Talk(TalkEvent::TextDelta { text })) => Some(text),
                _ => None,
            })
            .await;
    }
    cancel(&gateway, &session, &path(2));
    cancel(&gateway, &session, &path(1));
    for (n, so_far) in [(2, ""), (1, "so far")] {
        let (agent, input) = session.input().await;
        let Input::Failed { step: 5, attempt: 1, failure } = input else { panic!("{input:?}") };
        assert_eq!((agent, failure.kind), (path(n), FailureKind::Cancelled));
        assert_eq!(failure.text, so_far);
    }
    endpoint.wait_for(|counts| counts.gone == 1 && counts.received == 2).await;
    // Nothing is under way for it any more: a second stop has its end too, and the third one's request goes on.
    cancel(&gateway, &session, &path(1));
    let (agent, input) = session.input().await;
    assert!(matches!(input, Input::Failed { step: 5, .. }), "{input:?}");
    assert_eq!(agent, path(1));
    gate.open();
    let (agent, input) = session.input().await;
    assert_eq!((agent, text(&input)), (path(3), "so farnot"));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_found_nobody_is_handed_over_when_it_is_asked_for_again() {
    let gateway = start(script(&[json!({"agent": "*", "answer": {"text": "once"}})]), 1).await;
    let mut session = Session::open(Options::default()).await;
    ask(&gateway, &session, &path(1), 1);
    session.find(|told| matches!(told, Told::Event(..)).then_some(())).await;
    session.agent(&path(1)).await;
    ask(&gateway, &session, &path(1), 1);
    assert_eq!(text(&session.input().await.1), "once");
    // A worker that failed before it recorded the answer asks once more: nobody pays twice.
    ask(&gateway, &session, &path(1), 1);
    assert_eq!(text(&session.input().await.1), "once");
    ask(&gateway, &session, &path(1), 2);
    let (_, input) = session.input().await;
    let Input::Failed { step: 2, failure, .. } = input else { panic!("{input:?}") };
    assert_eq!(failure.kind, FailureKind::Script, "the script had one line");
}

#[tokio::test(start_paused = true)]
async fn files_that_calls_name_are_resolved_when_the_answer_comes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cwd = folder.path().canonicalize().expect("it exists");
    std::fs::write(cwd.join("f"), "x").expect("a new file");
    let call = |name: &str, input| json!({"name": name, "input": input});
    let calls = [
        call("Bash", json!({"command": "ls"})),
        call("Read", json!({"path": "f"})),
        call("Read", json!({"no": "path"})),
        call("Nobody", json!({"path": "f"})),
    ];
    let gateway = start(
        script(&[
            json!({"agent": "*", "answer": {"tool_calls": calls}}),
            json!({"agent": "*", "answer": {"tool_calls": [calls[0]]}}),
        ]),
        1,
    )
    .await;
    let mut session = Session::open(Options { cwd: &cwd, ..Options::default() }).await;
    session.agent(&path(1)).await;
    ask(&gateway, &session, &path(1), 1);
    let (_, input) = session.input().await;
    let Input::Answered { targets, .. } = input else { panic!("{input:?}") };
    let paths: Vec<_> = targets.into_iter().map(|target| target.map(|target| target.path.clone())).collect();
    assert_eq!(paths, [None, Some(cwd.join("f")), None, None]);
    ask(&gateway, &session, &path(1), 2);
    let (_, input) = session.input().await;
    let Input::Answered { targets, .. } = input else { panic!("{input:?}") };
    assert!(targets.is_empty(), "no call names a file");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_takes_its_requests_along() {
    let slow = json!({"agent": "maia/a#1", "answer": {"text": "late"}, "delay_ms": 1_000_000});
    let quick = json!({"agent": "maia/a#9", "answer": {"text": "quick"}});
    let gateway = start(script(&[slow, quick]), 1).await;
    let mut other = Session::open(Options { name: "t", ..Options::default() }).await;
    let mut session = Session::open(Options::default()).await;
    for n in [1, 2] {
        session.agent(&path(n)).await;
        ask(&gateway, &session, &path(n), 1);
    }
    assert_eq!(session.next().await, Told::Line(path(2), true));
    other.agent(&path(9)).await;
    ask(&gateway, &other, &path(9), 1);
    assert_eq!(other.next().await, Told::Line(path(9), true));
    let start = Instant::now();
    gateway.cast(ModelGatewayMsg::EndSession { session: session.env.session.clone() }).expect("it runs");
    assert_eq!(other.next().await, Told::Line(path(9), false));
    assert_eq!(text(&other.input().await.1), "quick");
    assert!(start.elapsed().as_secs() < 1_000, "the slow one was broken off");
    drain(gateway).await;
    assert!(session.is_quiet(), "nobody of it is told");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_agents_come_through_a_server_that_is_often_busy() {
    let busy = json!({"agent": "*", "answer": {"error": {"status": 503, "body": "full"}}});
    let good = json!({"agent": "*", "answer": {"text": "done"}, "delay_ms": 20});
    let lines: Vec<_> = (0..150).map(|n| if n % 3 == 1 { busy.clone() } else { good.clone() }).collect();
    let gateway = start(script(&lines), 16).await;
    let mut session = Session::open(Options::default()).await;
    for n in 1..=100 {
        session.agent(&path(n)).await;
        ask(&gateway, &session, &path(n), 1);
    }
    let mut done = std::collections::BTreeSet::new();
    while done.len() < 100 {
        let (agent, input) = session.input().await;
        assert_eq!(text(&input), "done");
        assert!(done.insert(agent), "each is told once");
    }
}

#[tokio::test(start_paused = true)]
async fn results_that_were_taken_are_not_kept_for_ever() {
    let lines: Vec<_> = (1..=40).map(|n| json!({"agent": "*", "answer": {"text": n.to_string()}})).collect();
    let gateway = start(script(&lines), 1).await;
    let mut session = Session::open(Options::default()).await;
    for n in 1..=33 {
        session.agent(&path(n)).await;
        ask(&gateway, &session, &path(n), 1);
        assert_eq!(text(&session.input().await.1), n.to_string());
    }
    ask(&gateway, &session, &path(2), 1);
    assert_eq!(text(&session.input().await.1), "2");
    ask(&gateway, &session, &path(1), 1);
    assert_eq!(text(&session.input().await.1), "34", "32 others were taken since");
}
