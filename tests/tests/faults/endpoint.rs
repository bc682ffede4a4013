//! Endpoints that refuse, fail, cut their streams or send what is no call; settings that lead to none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use maia_test_support::{Reply, Sse};
use maia_tests::harness::endpoint::says;
use maia_tests::harness::{Endpoint, World, check_stream, field, of_type};
use serde_json::{Value, json};

use crate::MAIA;

/// A key that must never be seen.
const KEY: &str = "sk-never-to-be-seen-0123456789";

/// An endpoint's replies in turn, the last one again and again, and what is to come of them.
struct Row {
    name: &'static str,
    replies: Vec<Reply>,
    code: i32,
    requests: usize,
    /// What stderr has to say.
    says: &'static [&'static str],
}

fn json_error(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({"error": {"message": message}}))
}

fn cut() -> Reply {
    let half = Sse::new().text("half an ans").cut();
    Reply::status(200).header("content-type", "text/event-stream").write(half).abort()
}

fn rows() -> Vec<Row> {
    let good = || says("the answer");
    vec![
        Row {
            name: "401",
            replies: vec![json_error(401, &format!("Incorrect API key provided: {KEY}"))],
            code: 1,
            requests: 1,
            says: &["refused the key (401)", "check the key"],
        },
        Row {
            name: "429, then good",
            replies: vec![json_error(429, "slow down"), good()],
            code: 0,
            requests: 2,
            says: &[],
        },
        Row {
            name: "429 with Retry-After, then good",
            replies: vec![json_error(429, "slow down").header("retry-after", "1"), good()],
            code: 0,
            requests: 2,
            says: &[],
        },
        Row {
            name: "429 that says that the quota is spent",
            replies: vec![json_error(429, "You exceeded your current quota (insufficient_quota)")],
            code: 1,
            requests: 1,
            says: &["quota"],
        },
        Row {
            name: "500, then good",
            replies: vec![json_error(500, "oops"), good()],
            code: 0,
            requests: 2,
            says: &["the server failed (500): oops", "sent again in 1"],
        },
        Row {
            name: "500 for good",
            replies: vec![json_error(500, "oops")],
            code: 1,
            requests: 3,
            says: &["sent again in 1", "sent again in 2", "the server failed (500): oops"],
        },
        Row {
            name: "a stream cut in the middle, then good",
            replies: vec![cut(), good()],
            code: 0,
            requests: 2,
            says: &["sent again in 1"],
        },
        Row {
            name: "404",
            replies: vec![json_error(404, "no such model")],
            code: 1,
            requests: 1,
            says: &["does not know the model or the path (404): no such model"],
        },
        Row {
            name: "a page instead of an answer",
            replies: vec![
                Reply::status(200).header("content-type", "text/html").write("<html>please log in</html>"),
            ],
            code: 1,
            requests: 3,
            says: &["something else than an answer (text/html)", "please log in"],
        },
    ]
}

fn play(row: Row) -> Result<(), String> {
    let world = World::new(MAIA);
    let (replies, number) = (row.replies, AtomicUsize::new(0));
    let endpoint = Endpoint::start(move |_| {
        let index = number.fetch_add(1, Ordering::SeqCst).min(replies.len() - 1);
        replies.get(index).cloned().unwrap_or_else(|| Reply::status(500))
    });
    let ended = world.run().arg("go").endpoint(endpoint.url()).env("OPENAI_API_KEY", KEY).end();
    let (out, err) = (ended.out(), ended.err());
    let wrong = |what: String| Err(format!("{}: {what}\n{ended}", row.name));
    if ended.code != Some(row.code) {
        return wrong(format!("exit code {:?}", ended.code));
    }
    if endpoint.requests().len() != row.requests {
        return wrong(format!("{} requests", endpoint.requests().len()));
    }
    if out != if row.code == 0 { "the answer\n" } else { "" } {
        return wrong("stdout".to_owned());
    }
    if let Some(missing) = row.says.iter().find(|part| !err.contains(**part)) {
        return wrong(format!("stderr does not say {missing:?}"));
    }
    if err.contains("panicked") {
        return wrong("a panic".to_owned());
    }
    let journal = world.sessions().pop().map(|dir| std::fs::read(dir.join("journal.jsonl")));
    let journal = String::from_utf8_lossy(&journal.and_then(Result::ok).unwrap_or_default()).into_owned();
    if out.contains(KEY) || err.contains(KEY) || journal.contains(KEY) {
        return wrong("the key is seen".to_owned());
    }
    let sent = endpoint
        .requests()
        .iter()
        .all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}")));
    if sent { Ok(()) } else { wrong("the key was not sent".to_owned()) }
}

#[test]
fn what_an_endpoint_does_is_waited_for_retried_or_said() {
    let faults: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = rows().into_iter().map(|row| scope.spawn(|| play(row))).collect();
        runs.into_iter().filter_map(|run| run.join().expect("no panic in a row").err()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn an_endpoint_that_is_down_is_named_with_the_mend() {
    let world = World::new(MAIA);
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a port")
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let ended = world.run().args(["go", "--json"]).endpoint(&url).end().with_code(1);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let last = events.last().expect("it ends");
    assert_eq!(last["reason"], "endpoint");
    assert!(field(last, "result").contains(&format!("127.0.0.1:{port}")), "{last}");
    let errors = of_type(&events, "error");
    assert!(errors.iter().any(|error| field(error, "mend").contains("start the endpoint")), "{ended}");
    assert_eq!(of_type(&events, "warning").len(), 2, "two retries: {ended}");
}

#[test]
fn broken_arguments_are_an_error_result_and_never_run() {
    let world = World::new(MAIA);
    let broken = ["{\"command\": \"touch ran", "[\"touch ran\"]", "touch ran"];
    let endpoint = Endpoint::start(move |asked| match broken.get(asked.step - 1) {
        Some(arguments) => {
            let function = json!({"name": "Bash", "arguments": arguments});
            let call = json!([{"index": 0, "id": "c", "type": "function", "function": function}]);
            let delta =
                json!({"choices": [{"index": 0, "delta": {"tool_calls": call}, "finish_reason": null}]});
            Reply::sse(Sse::new().data(&delta).finish("tool_calls").usage(1, 1).done())
        }
        None => says("never mind"),
    });
    let maia = world.run().args(["go", "--json", "--mode", "auto", "--no-sandbox"]).endpoint(endpoint.url());
    let ended = maia.end().with_code(0);
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    let results = of_type(&events, "tool_result");
    assert_eq!(results.len(), broken.len(), "{ended}");
    for result in results {
        assert_eq!(result["is_error"], true, "{result}");
    }
    assert_eq!(world.read("ran"), None);
}

#[test]
fn calls_that_nobody_offered_are_answered_and_the_run_goes_on() {
    let world = World::new(MAIA);
    let endpoint = Endpoint::start(|asked| match asked.step {
        1 => maia_tests::harness::endpoint::calls(&[
            ("NoSuchTool", json!({"x": 1})),
            ("", json!({})),
            ("Agent", json!({"agent": "nobody", "task": "x"})),
            ("Agent", json!({})),
            ("Read", json!({"path": 7})),
        ]),
        _ => says("never mind"),
    });
    let maia = world.run().args(["go", "--json"]).endpoint(endpoint.url()).allow(&["Agent", "Read(**)"]);
    let ended = maia.end();
    let events = ended.events();
    check_stream(&events).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert!(of_type(&events, "tool_result").iter().all(|result| result["is_error"] == true), "{ended}");
    assert_eq!(field(events.last().unwrap_or(&Value::Null), "result"), "never mind");
}

#[test]
fn broken_settings_are_named_with_file_line_and_mend() {
    let cases: &[(&str, &str, &[&str])] = &[
        (".maia/settings.json", "{\n \"LiteLLM_URL\":\n}", &["settings.json:3:1", "help:"]),
        (".maia/settings.json", "[]", &["settings.json"]),
        (".maia/settings.json", "{\"LiteLLM_URL\": \"nowhere\"}", &["LiteLLM_URL", "http://localhost:4000"]),
        (".maia/settings.json", "{}", &["no model endpoint is set", "OPENAI_BASE_URL"]),
    ];
    for (file, text, parts) in cases {
        let world = World::new(MAIA);
        world.write_home(file, text);
        let ended = world.run().arg("go").model("m").end().with_code(2);
        for part in *parts {
            assert!(ended.err().contains(part), "{text}: {part}: {ended}");
        }
        assert!(world.sessions().is_empty(), "no session is made: {ended}");
    }
}

#[test]
fn without_a_model_the_only_one_is_taken_and_several_are_listed() {
    for (models, code) in [(vec!["only"], 0), (vec!["one", "two"], 2), (vec![], 2)] {
        let world = World::new(MAIA);
        let listed = models.clone();
        let asked_for = Arc::new(AtomicUsize::new(0));
        let seen = asked_for.clone();
        let endpoint = Endpoint::start(move |asked| {
            if asked.body.is_null() {
                let data: Vec<_> = listed.iter().map(|name| json!({"id": name, "object": "model"})).collect();
                return Reply::json(200, &json!({"object": "list", "data": data}));
            }
            seen.fetch_add(usize::from(asked.body["model"] == "only"), Ordering::SeqCst);
            says("hello")
        });
        let url = format!("{}/v1", endpoint.url());
        let ended = world.run().arg("go").env("OPENAI_BASE_URL", url).end().with_code(code);
        assert_eq!(asked_for.load(Ordering::SeqCst), usize::from(code == 0), "{ended}");
        for name in models.iter().filter(|_| code == 2) {
            assert!(ended.err().contains(name), "{ended}");
        }
    }
}
