//! What the client makes of statuses, headers, sockets and keys.

use std::sync::Arc;
use std::time::Duration;

use maia_llm::{Answered, Client, ClientConfig, Delta, Secret};
use maia_protocol::model::{ChatRequest, FailureKind, ModelFailure};
use maia_protocol::{Block, Message, Role};
use maia_test_support::{FakeEndpoint, Gate, Reply, Sse};
use serde_json::json;

/// Returns a request of one text.
pub fn ask(text: &str) -> ChatRequest {
    ChatRequest {
        model: "test-model".to_owned(),
        system: "be brief".into(),
        messages: vec![Arc::new(Message::user(text))],
        tools: Arc::default(),
        tools_usable: true,
        max_tokens: None,
    }
}

fn client_of(endpoint: &FakeEndpoint) -> Client {
    Client::new(ClientConfig::new(endpoint.chat_url(), endpoint.models_url()))
}

async fn answer(client: &Client) -> Result<Answered, ModelFailure> {
    client.chat(&ask("hello"), &mut |_| {}).await
}

/// Returns the failure that `reply` leads to.
async fn failure(reply: Reply) -> ModelFailure {
    let endpoint = FakeEndpoint::start(move |_| reply.clone()).await;
    answer(&client_of(&endpoint)).await.expect_err("a failure")
}

#[tokio::test]
async fn statuses_become_kinds() {
    let body = |message: &str| json!({"error": {"message": message}});
    let unauthorized = failure(Reply::json(401, &body("no api key passed in"))).await;
    assert_eq!((unauthorized.kind, unauthorized.status), (FailureKind::Unauthorized, Some(401)));
    assert!(!unauthorized.transient && unauthorized.message.contains("no api key passed in"));
    let not_found = failure(Reply::json(404, &json!({"detail": "Not Found"}))).await;
    assert_eq!((not_found.kind, not_found.transient), (FailureKind::NotFound, false));
    let server = failure(Reply::text(500, "Internal Server Error")).await;
    assert_eq!((server.kind, server.transient), (FailureKind::ServerError, true));
    assert!(server.message.contains("Internal Server Error"));
    let overflow = failure(Reply::json(400, &body("ContextWindowExceededError: too long"))).await;
    assert_eq!(overflow.kind, FailureKind::ContextOverflow);
    let moved = failure(Reply::status(308).header("location", "https://elsewhere/v1")).await;
    assert_eq!(moved.kind, FailureKind::Refused);
    assert!(moved.message.contains("https://elsewhere/v1"));
}

#[tokio::test]
async fn a_busy_endpoint_says_how_long() {
    let busy = |name: &str, value: &str| Reply::text(429, "slow down").header(name, value);
    for (name, value, expected) in [
        ("retry-after", "7", 7_000),
        ("retry-after-ms", "250", 250),
        ("llm_provider-retry-after", "60", 60_000),
    ] {
        let failure = failure(busy(name, value)).await;
        assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::Busy, Some(expected)), "{name}");
    }
    let past = failure(busy("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")).await;
    assert_eq!(past.retry_after_ms, Some(0));
    assert_eq!(failure(Reply::status(503)).await.kind, FailureKind::Busy);
    let spent = failure(Reply::json(429, &json!({"error": {"code": "insufficient_quota"}}))).await;
    assert_eq!((spent.kind, spent.transient), (FailureKind::QuotaSpent, false));
}

#[tokio::test]
async fn an_endpoint_that_is_down_is_named_with_the_cause() {
    // A port that was just given back is closed.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let url = format!("http://{address}/v1/chat/completions?key=hidden");
    let down =
        answer(&Client::new(ClientConfig::new(url, "http://127.0.0.1:1/"))).await.expect_err("a failure");
    assert_eq!(down.kind, FailureKind::Unreachable);
    assert!(
        down.message.contains(&address.to_string()) && down.message.contains("refused"),
        "{}",
        down.message
    );
    assert!(!down.message.contains("hidden"));
    let wrong =
        answer(&Client::new(ClientConfig::new("localhost:4000/v1", ""))).await.expect_err("a failure");
    assert_eq!((wrong.kind, wrong.transient), (FailureKind::Unreachable, false));
}

#[tokio::test]
async fn a_socket_that_closes_in_the_middle_keeps_the_text() {
    let half = Sse::new().text("Half of an ans").call("c1", "Bash", &json!({"command": "ls"})).cut();
    let failure = failure(Reply::sse(half).abort()).await;
    assert_eq!((failure.kind, failure.transient), (FailureKind::IncompleteStream, true));
    assert_eq!(failure.text, "Half of an ans");
    // After the reason to stop nothing is lost.
    let endpoint =
        FakeEndpoint::start(|_| Reply::sse(Sse::new().text("whole").finish("stop").cut()).abort()).await;
    assert_eq!(answer(&client_of(&endpoint)).await.expect("an answer").answer.text, "whole");
}

#[tokio::test]
async fn silence_before_the_headers_is_a_stall() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let mut config = ClientConfig::new(url, "");
    config.silence_limit = Duration::from_millis(50);
    let stalled = answer(&Client::new(config)).await.expect_err("a failure");
    assert_eq!((stalled.kind, stalled.transient), (FailureKind::StallTimeout, true));
}

#[tokio::test]
async fn dropping_the_request_closes_its_socket() {
    let gate = Gate::new();
    let hold = gate.clone();
    let endpoint = FakeEndpoint::start(move |_| Reply::sse(Sse::new().text("one").cut()).hold(&hold)).await;
    let client = client_of(&endpoint);
    let (seen, mut first) = tokio::sync::mpsc::channel(1);
    let request = ask("hello");
    let mut show = move |delta: Delta| drop(seen.try_send(delta));
    tokio::select! {
        _ = client.chat(&request, &mut show) => panic!("the gate is closed"),
        delta = first.recv() => assert_eq!(delta, Some(Delta::Text("one".to_owned()))),
    }
    let counts = endpoint.wait_for(|counts| counts.gone == 1).await;
    assert_eq!(counts.in_flight, 0);
}

#[tokio::test]
async fn the_key_goes_to_the_endpoint_and_into_no_message() {
    let key = "sk-very-secret";
    let echo = Reply::json(401, &json!({"error": {"message": format!("Incorrect API key provided: {key}")}}));
    let inside = Reply::sse(format!("data: {{\"error\":\"bad {key}\"}}\n\n"));
    let endpoint = FakeEndpoint::in_turn(vec![echo, inside]).await;
    let mut config = ClientConfig::new(endpoint.chat_url(), endpoint.models_url());
    config.key = Some(Secret::new(&format!(" {key}\n")));
    assert!(!format!("{config:?}").contains(key));
    let client = Client::new(config);
    for _ in 0..2 {
        let failure = answer(&client).await.expect_err("a failure");
        assert!(
            !failure.message.contains("secret") && failure.message.contains("***"),
            "{}",
            failure.message
        );
    }
    let requests = endpoint.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(requests[0].header("accept"), Some("text/event-stream"));
    assert_eq!(requests[0].json()["messages"][1], json!({"role": "user", "content": "hello"}));
}

#[tokio::test]
async fn without_a_key_no_header_is_sent_and_the_connection_is_kept() {
    let endpoint = FakeEndpoint::start(|_| Reply::sse(Sse::answer("hi"))).await;
    let client = client_of(&endpoint);
    for _ in 0..2 {
        let answered = answer(&client).await.expect("an answer");
        assert_eq!(answered.answer.text, "hi");
        assert!(answered.first_token_ms.is_some_and(|first| first <= answered.duration_ms));
    }
    let requests = endpoint.requests();
    assert_eq!(requests[0].header("authorization"), None);
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test]
async fn ids_that_the_conversation_has_are_not_used_again() {
    let endpoint = FakeEndpoint::start(|_| Reply::sse(Sse::call_answer("call_1", "Read", &json!({})))).await;
    let mut request = ask("hello");
    let call = Block::ToolUse { id: "call_1".to_owned(), name: "Read".to_owned(), input: json!({}) };
    request.messages.push(Arc::new(Message { role: Role::Assistant, content: vec![call] }));
    let answered = client_of(&endpoint).chat(&request, &mut |_| {}).await.expect("an answer");
    assert_eq!(answered.answer.calls[0].provider_id, "call_2");
}

#[tokio::test]
async fn models_are_listed() {
    let endpoint = FakeEndpoint::in_turn(vec![
        Reply::json(200, &json!({"data": [{"id": "b"}, {"model_name": "a"}, {"id": "b"}]})),
        Reply::text(200, "<html>"),
        Reply::text(401, "no"),
    ])
    .await;
    let client = client_of(&endpoint);
    assert_eq!(client.models().await.expect("a list"), ["a", "b"]);
    assert_eq!(client.models().await.expect_err("a failure").kind, FailureKind::BadResponse);
    assert_eq!(client.models().await.expect_err("a failure").kind, FailureKind::Unauthorized);
    assert_eq!((&*endpoint.requests()[0].method, &*endpoint.requests()[0].path), ("GET", "/v1/models"));
}

#[tokio::test]
async fn the_raw_log_holds_what_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = Sse::answer("hi");
    let sent = body.clone();
    let endpoint = FakeEndpoint::start(move |_| Reply::sse(sent.clone())).await;
    let mut config = ClientConfig::new(endpoint.chat_url(), endpoint.models_url());
    config.raw_log = Some(folder.path().join("raw.log"));
    answer(&Client::new(config)).await.expect("an answer");
    assert_eq!(std::fs::read(folder.path().join("raw.log")).expect("a log"), body);
}
