//! What is sent to a model, in tokens (SPEC section 6): every request pays for it, so its size is a promise.
//!
//! And the bytes of a later request begin with those of an earlier one: providers' caches work by prefix.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use maia_test_support::{FakeEndpoint, Reply, Request, Sse};
use serde_json::json;

/// No run of a few answers takes as long; it is ended then, with what it said.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs maia with `arguments` against `endpoint` in folders of its own.
async fn run(endpoint: &FakeEndpoint, root: &Path, arguments: &[&str]) {
    let (home, state, folder) = (root.join("home"), root.join("state"), root.join("folder"));
    for folder in [&home, &state, &folder] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    std::fs::write(folder.join("file.txt"), "a line\n").expect("a file");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_maia-faulty"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("XDG_STATE_HOME", state).current_dir(folder);
    command.env("OPENAI_BASE_URL", format!("{}/v1", endpoint.url())).env("OPENAI_API_KEY", "none");
    command.args(["run", "--model", "m", "--allow", "Agent", "--allow", "Read(**)"]).args(arguments);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, child.spawn().expect("maia starts").wait_with_output());
    let output = ended.await.expect("it ends in time").expect("its output can be read");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

fn text(request: &Request) -> String {
    String::from_utf8(request.body.clone()).expect("JSON is UTF-8")
}

/// Returns a body up to the end of its last message; what follows are limits of this one request.
fn up_to_messages(body: &str) -> &str {
    let from = body.find("\"messages\":[").expect("messages");
    let end = body.rfind(']').filter(|end| *end > from).expect("the end of the messages");
    &body[..end]
}

fn is_sub(request: &Request) -> bool {
    text(request).contains("You are a sub-agent")
}

/// Asks explorer for something; everybody reads the file once and then answers.
async fn endpoint() -> FakeEndpoint {
    FakeEndpoint::start(|request| {
        let body = text(request);
        let results = body.matches("\"role\":\"tool\"").count();
        match (is_sub(request), results) {
            (false, 0) => {
                let input = json!({"agent": "explorer", "task": "hi"});
                Reply::sse(Sse::call_answer("call_1", "Agent", &input))
            }
            (true, 0) | (false, 1) => {
                Reply::sse(Sse::call_answer("call_2", "Read", &json!({"path": "file.txt"})))
            }
            _ => Reply::sse(Sse::answer("Done.")),
        }
    })
    .await
}

#[tokio::test]
async fn the_first_requests_stay_small() {
    let root = tempfile::tempdir().expect("a folder");
    let endpoint = endpoint().await;
    run(&endpoint, root.path(), &["hi"]).await;
    let requests = endpoint.requests();
    let first = |sub: bool| requests.iter().find(|request| is_sub(request) == sub).expect("it was asked");
    // The whole body: texts, tools, and the JSON around them.
    let (main, sub) = (tokens(&text(first(false))), tokens(&text(first(true))));
    println!("main agent {main} tokens, sub-agent {sub} tokens");
    assert!(main <= 2_500, "main agent: {main} tokens");
    assert!(sub <= 1_500, "sub-agent: {sub} tokens");
    assert!(main > 500 && sub > 300, "something is missing: {main}, {sub}");
}

#[tokio::test]
async fn each_request_begins_with_the_bytes_of_the_one_before() {
    let root = tempfile::tempdir().expect("a folder");
    let endpoint = endpoint().await;
    run(&endpoint, root.path(), &["hi"]).await;
    for sub in [false, true] {
        let bodies: Vec<String> = endpoint.requests().iter().filter(|r| is_sub(r) == sub).map(text).collect();
        assert_eq!(bodies.len(), if sub { 2 } else { 3 });
        for pair in bodies.windows(2) {
            let (before, after) = (up_to_messages(&pair[0]), &pair[1]);
            let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
            assert_eq!(
                same,
                before.len(),
                "they part at …{}",
                &after.chars().skip(same).take(80).collect::<String>()
            );
        }
    }
}

#[tokio::test]
async fn two_sessions_share_everything_before_the_request_itself() {
    let endpoint = FakeEndpoint::start(|_| Reply::sse(Sse::answer("Hello."))).await;
    for request in ["hi", "and now something else"] {
        let root = tempfile::tempdir().expect("a folder");
        run(&endpoint, root.path(), &[request]).await;
    }
    let bodies: Vec<String> = endpoint.requests().iter().map(text).collect();
    let [first, second] = &bodies[..] else { panic!("two requests, not {}", bodies.len()) };
    let shared = first.find("\"role\":\"user\"").expect("the request itself");
    assert_eq!(first.get(..shared), second.get(..shared));
}
