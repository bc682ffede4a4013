//! What the model's server answers in each measurement, and when it was asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maia_test_support::{FakeEndpoint, Reply, Request, Sse};
use serde_json::json;
use tokio::runtime::Runtime;

/// Starts an endpoint that gives every request the same answer, at once.
pub fn one(runtime: &Runtime) -> FakeEndpoint {
    runtime.block_on(FakeEndpoint::start(|_| Reply::sse(Sse::answer("Hello."))))
}

/// When requests came and answers began to go out, in pairs.
pub type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Starts an endpoint that asks for `true` in Bash so often and then answers.
pub fn commands(runtime: &Runtime, calls: usize) -> (FakeEndpoint, Times) {
    let times = Times::default();
    let noted = times.clone();
    let endpoint = FakeEndpoint::start(move |request| {
        let came = Instant::now();
        let reply = if request.number > calls {
            Reply::sse(Sse::answer("Done."))
        } else {
            let id = format!("call_{}", request.number);
            Reply::sse(Sse::call_answer(&id, "Bash", &json!({"command": "true"})))
        };
        noted.lock().unwrap_or_else(PoisonError::into_inner).push((came, Instant::now()));
        reply
    });
    (runtime.block_on(endpoint), times)
}

/// Returns the times from an answer to the next request; the sending of the answer counts as the client's.
pub fn between(times: &Times) -> Vec<Duration> {
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    times.windows(2).map(|pair| pair[1].0.duration_since(pair[0].1)).collect()
}

/// Starts an endpoint whose main agent asks for `count` sub-agents in one answer; each of them makes one call of
/// `tool` and then answers in a few pieces.
pub fn sub_agents(runtime: &Runtime, count: usize, tool: &'static str) -> FakeEndpoint {
    let input = match tool {
        "Bash" => json!({"command": "true"}),
        _ => json!({"path": "file.txt"}),
    };
    let main = (0..count).fold(Sse::new(), |sse, n| {
        sse.call(
            &format!("agent_{n}"),
            "Agent",
            &json!({"agent": "worker", "task": format!("Do thing {n}.")}),
        )
    });
    let main = main.finish("tool_calls").usage(1_000, 1_000).done();
    runtime.block_on(FakeEndpoint::start(move |request| {
        match (is_main(request), holds(request, br#""role":"tool""#)) {
            (true, false) => Reply::sse(main.clone()),
            (true, true) => Reply::sse(Sse::answer("All done.")),
            (false, false) => Reply::sse(Sse::call_answer("call_1", tool, &input)),
            (false, true) => Reply::sse(
                Sse::new().text("It ").text("is ").text("done.").finish("stop").usage(900, 5).done(),
            ),
        }
    }))
}

fn is_main(request: &Request) -> bool {
    !holds(request, b"You are a sub-agent")
}

fn holds(request: &Request, text: &[u8]) -> bool {
    request.body.windows(text.len()).any(|window| window == text)
}
