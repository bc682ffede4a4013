//! A model's server for whole runs, with a runtime of its own, so that tests of processes stay plain functions.
//!
//! - Asked by tests of whole runs; the answers are theirs, by who asks and how far it is: the same whenever they are asked.
//! - Owns the runtime and the socket.

use std::time::Duration;

use maia_test_support::http::Counts;
use maia_test_support::{FakeEndpoint, Reply, Request, Sse};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::PATIENCE;

/// A server that plays a model.
pub struct Endpoint {
    // Before the runtime, so that it is dropped first.
    fake: FakeEndpoint,
    runtime: Runtime,
}

/// A request for an answer.
pub struct Asked {
    /// Who asks: the name in `You are NAME.` of its definition, `maia` for the main agent.
    pub agent: String,
    /// Number of the answer in its conversation, from 1.
    pub step: usize,
    /// Text of its first message: the task.
    pub task: String,
    /// The body.
    pub body: Value,
    /// Number of the request at this endpoint, from 1.
    pub number: usize,
}

impl Asked {
    /// Reads a request.
    pub fn read(request: &Request) -> Self {
        let body = request.json();
        let none = Vec::new();
        let messages = body["messages"].as_array().unwrap_or(&none);
        let by = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
        let system: String = by("system").map(|message| text(&message["content"])).collect();
        let agent = system.split("You are ").skip(1).find_map(|rest| {
            let name = rest.split_once(".\n").map_or("", |(name, _)| name);
            (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| name.to_owned())
        });
        Self {
            agent: agent.unwrap_or_else(|| "maia".to_owned()),
            step: by("assistant").count() + 1,
            task: by("user").next().map(|message| text(&message["content"])).unwrap_or_default(),
            number: request.number,
            body,
        }
    }

    /// Tells whether the conversation holds `text`, as it is written in JSON.
    pub fn holds(&self, text: &str) -> bool {
        self.body["messages"].to_string().contains(text)
    }
}

/// Returns the text of a message, be it one or in parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

impl Endpoint {
    /// Starts a server that answers with what `answer` gives.
    pub fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::answering(move |request| answer(&Asked::read(request)))
    }

    /// Starts a server that answers every request, those for no answer too, with what `answer` gives.
    pub fn answering(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().expect("a runtime");
        let fake = runtime.block_on(FakeEndpoint::start(answer));
        Self { fake, runtime }
    }

    /// Returns its address.
    pub fn url(&self) -> &str {
        self.fake.url()
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.fake.requests()
    }

    /// Returns who asked for what, in the order of the requests.
    pub fn asked(&self) -> Vec<(String, usize)> {
        let asked = self.fake.requests().iter().map(Asked::read).collect::<Vec<_>>();
        asked.into_iter().map(|asked| (asked.agent, asked.step)).collect()
    }

    /// Returns what it has counted.
    pub fn counts(&self) -> Counts {
        self.fake.counts()
    }

    /// Waits until `enough` holds for what it has counted.
    ///
    /// # Panics
    /// When it does not at the end of [`PATIENCE`].
    #[track_caller]
    pub fn wait_for(&self, what: &str, enough: impl Fn(&Counts) -> bool) {
        let patience: Duration = PATIENCE;
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(patience, self.fake.wait_for(enough)).await.is_ok() });
        assert!(waited, "waited in vain: {what}; counted {:?}", self.counts());
    }
}

/// Returns an answer of text.
pub fn says(text: &str) -> Reply {
    Reply::sse(Sse::answer(text))
}

/// Returns an answer of calls: name and input of each.
pub fn calls(calls: &[(&str, Value)]) -> Reply {
    let sse = calls
        .iter()
        .enumerate()
        .fold(Sse::new(), |sse, (index, (name, input))| sse.call(&format!("c{index}"), name, input));
    Reply::sse(sse.finish("tool_calls").usage(10, 5).done())
}
