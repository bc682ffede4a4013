//! The cases of `tests/cases/sse` through a real socket, sent as each of them says.

use std::time::Duration;

use maia_llm::{Client, ClientConfig, Delta};
use maia_test_support::{FakeEndpoint, Reply};

use crate::cases::{self, Case};
use crate::client::ask;

/// Returns the pieces in which the server of `case` writes its body.
fn writes(case: &Case) -> Vec<Vec<u8>> {
    let body = &case.body;
    let cuts: Vec<usize> = match (case.server("cut").as_str(), case.server("cut_at").as_array()) {
        (Some("every_byte"), _) => (1..body.len()).collect(),
        (Some("between_cr_lf"), _) => {
            (1..body.len()).filter(|at| body[at - 1] == b'\r' && body[*at] == b'\n').collect()
        }
        (Some(other), _) => panic!("{}: unknown cut {other}", case.name),
        (None, Some(cuts)) => cuts.iter().filter_map(|cut| Some(cut.as_u64()? as usize)).collect(),
        (None, None) => Vec::new(),
    };
    let mut writes = Vec::new();
    let mut start = 0;
    for cut in cuts.into_iter().chain([body.len()]) {
        writes.push(body[start..cut].to_vec());
        start = cut;
    }
    writes
}

#[tokio::test]
async fn every_case_comes_out_right_through_a_socket() {
    for case in cases::all() {
        let stays_open = case.server("stall") == true || case.server("keep_open_ms").is_u64();
        for close in [false, true] {
            let mut reply = Reply::status(200).header("content-type", case.content_type());
            for bytes in writes(&case) {
                reply = reply.write(bytes);
            }
            if stays_open {
                reply = reply.keep_open();
            }
            let reply = if close { reply.until_close() } else { reply };
            let endpoint = FakeEndpoint::start(move |_| reply.clone()).await;
            let mut config = ClientConfig::new(endpoint.chat_url(), endpoint.models_url());
            if let Some(limit) = case.server("silence_limit_ms").as_u64() {
                config.silence_limit = Duration::from_millis(limit);
            }
            let mut shown = (String::new(), String::new());
            let mut show = |delta: Delta| match delta {
                Delta::Text(text) => shown.0.push_str(&text),
                Delta::Reasoning(text) => shown.1.push_str(&text),
            };
            // A case that hangs would hang here for ever: its limit is part of the case.
            let limit = Duration::from_millis(case.server("max_ms").as_u64().unwrap_or(60_000));
            let client = Client::new(config);
            let request = ask("hello");
            let chat = client.chat(&request, &mut show);
            let answered = tokio::time::timeout(limit, chat).await;
            let answered = answered.unwrap_or_else(|_| panic!("{}: not within {limit:?}", case.name));
            let how = if close { "closed socket" } else { "chunked" };
            cases::check(&case, how, &answered.map(|answered| answered.answer), &shown);
        }
    }
}
