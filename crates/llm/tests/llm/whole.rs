//! Bodies that the cases have not: own ones of every kind, in one table.

use maia_protocol::model::{FailureKind, StopReason, Unusable};
use serde_json::json;

use crate::cases::assemble;

/// Assembles `body` whole and byte by byte, and requires the same of both.
fn assembled(body: &str) -> Result<maia_protocol::Answer, maia_protocol::model::ModelFailure> {
    let (whole, _) = assemble("text/event-stream", [body.as_bytes()]);
    let (single, _) = assemble("text/event-stream", body.as_bytes().chunks(1));
    assert_eq!(whole, single, "{body}");
    whole
}

fn content(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const TOOLS: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";

#[test]
fn texts_come_out_of_every_envelope() {
    let rows: Vec<(&str, String, &str)> = vec![
        ("no blank lines at all", format!("{}data: [DONE]\n", (content("a") + &content("b") + STOP).replace("\n\n", "\n")), "ab"),
        ("byte order mark", format!("\u{feff}{}{STOP}", content("a")), "a"),
        ("blank lines first", format!("\r\n\n{}{STOP}", content("a")), "a"),
        ("a comment as data (R027)", format!("data: : PROCESSING\n\n{}{STOP}", content("a")), "a"),
        ("text after [DONE]", format!("{}data: [DONE]\n\n{}", content("a"), content("b")), "a"),
        ("other choices", format!("{}data: {{\"choices\":[{{\"index\":1,\"delta\":{{\"content\":\"x\"}}}}]}}\n\n{STOP}", content("a")), "a"),
        ("a think block in pieces (R033)", content("<th") + &content("ink>x</thi") + &content("nk>y") + STOP, "y"),
        ("parts", "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}]}\n\n".to_owned() + STOP, "a"),
        ("a body that was not streamed", r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#.to_owned(), "a"),
        ("such a body without a reason", r#"{"choices":[{"message":{"content":"a"}}]}"#.to_owned(), "a"),
        ("a chunk a line without data:", "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n".to_owned(), "a"),
        ("pretty JSON over many lines", "data: {\ndata:  \"choices\": [\ndata:   {\"delta\": {\"content\": \"a\"}}\ndata:  ]\ndata: }\n\n".to_owned() + STOP, "a"),
        ("a role alone, then nothing", content("") + STOP, ""),
        ("a refusal", "data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}\n\n".to_owned() + STOP, "no"),
    ];
    for (name, body, text) in rows {
        let answer = assembled(&body).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert_eq!(answer.text, text, "{name}");
    }
}

#[test]
fn bodies_that_are_no_answer_say_why() {
    use FailureKind::{BadResponse, ContextOverflow, EmptyStream, IncompleteStream, ServerError};
    let rows: Vec<(&str, String, FailureKind, &str, bool)> = vec![
        ("nothing", String::new(), EmptyStream, "empty", true),
        ("blank lines", "\n\n\r\n".to_owned(), EmptyStream, "empty", true),
        ("a page", "<html><body>Bad gateway</body></html>".to_owned(), BadResponse, "Bad gateway", true),
        ("plain text", "upstream connect error".to_owned(), BadResponse, "upstream connect error", true),
        ("text as data", "data: hello\n\n".to_owned(), BadResponse, "hello", true),
        ("a chunk that was cut", "data: {\"choices\":[{\"del".to_owned(), IncompleteStream, "cut", true),
        ("a body that was cut", "{\"choices\":[{\"mess".to_owned(), IncompleteStream, "cut", true),
        ("text without an end", content("a"), IncompleteStream, "cut", true),
        (
            "an error after text",
            content("a") + "data: {\"error\":{\"message\":\"died\",\"code\":\"500\"}}\n\n",
            ServerError,
            "died",
            true,
        ),
        (
            "an error by event name",
            "event: error\ndata: it died\n\n".to_owned(),
            ServerError,
            "it died",
            true,
        ),
        (
            "an error between events",
            format!("{}{{\"error\":\"died\"}}\n", content("a")),
            ServerError,
            "died",
            true,
        ),
        (
            "an error after [DONE] is too late",
            "data: {\"error\":{\"message\":\"x\",\"code\":401}}\n\ndata: [DONE]\n\n".to_owned(),
            ServerError,
            "x",
            false,
        ),
        (
            "an overflow",
            "data: {\"error\":{\"message\":\"prompt is too long\"}}\n\n".to_owned(),
            ContextOverflow,
            "too long",
            false,
        ),
        (
            "an error as a whole body",
            r#"{"object":"error","message":"bad model"}"#.to_owned(),
            ServerError,
            "bad model",
            false,
        ),
    ];
    for (name, body, kind, part, transient) in rows {
        let failure = assembled(&body).expect_err(name);
        assert_eq!((failure.kind, failure.transient), (kind, transient), "{name}: {failure:?}");
        assert!(failure.message.contains(part), "{name}: {}", failure.message);
    }
}

#[test]
fn calls_come_out_of_every_shape() {
    let call = |call: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n");
    let rows: Vec<(&str, String, &str)> = vec![
        ("arguments as an object (R011)", call(r#"{"index":0,"id":"c","function":{"name":"Read","arguments":{"p":1}}}"#), r#"c Read {"p":1}"#),
        ("two in one chunk without index", call(r#"{"function":{"name":"Read","arguments":"{\"p\":1}"}},{"function":{"name":"Grep","arguments":"{}"}}"#), r#"call_1 Read {"p":1}, call_2 Grep {}"#),
        ("the old form", "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"Read\",\"arguments\":\"{\\\"p\\\":\"}}}]}\n\ndata: {\"choices\":[{\"delta\":{\"function_call\":{\"arguments\":\"1}\"}}}]}\n\n".to_owned(), r#"call_1 Read {"p":1}"#),
        ("a phantom", call(r#"{"index":0}"#) + &call(r#"{"index":1,"id":"c","function":{"name":"Read","arguments":"{}"}}"#), "c Read {}"),
        ("an empty object first", call(r#"{"index":0,"id":"c","function":{"name":"Read","arguments":"{}"}}"#) + &call(r#"{"index":0,"function":{"arguments":"{\"p\":1}"}}"#), r#"c Read {"p":1}"#),
        ("null texts", call(r#"{"index":0,"id":null,"function":{"name":"Read","arguments":null}}"#), "call_1 Read {}"),
    ];
    for (name, body, expected) in rows {
        let answer = assembled(&(body + TOOLS)).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        let calls: Vec<String> = answer
            .calls
            .iter()
            .map(|call| format!("{} {} {}", call.provider_id, call.name, call.input))
            .collect();
        assert_eq!(calls.join(", "), expected, "{name}");
        assert_eq!(answer.stop, StopReason::ToolUse, "{name}");
        assert!(answer.calls.iter().all(|call| call.unusable.is_none()), "{name}");
    }
}

#[test]
fn a_call_that_a_limit_ended_before_its_arguments_does_not_run() {
    let body = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"Bash\",\"arguments\":\"\"}}]},\"finish_reason\":\"length\"}]}\n\n";
    let answer = assembled(body).expect("an answer");
    assert_eq!(answer.calls[0].unusable, Some(Unusable::Truncated));
}

#[test]
fn lengths_at_which_servers_cut_are_told() {
    for (tokens, warnings) in [(8192, 1), (1024, 1), (8191, 0), (65536, 1)] {
        let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"}}]}}]}\n\n";
        let usage = format!("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{tokens}}}}}\n\n");
        let answer = assembled(&(call.to_owned() + TOOLS + &usage)).expect("an answer");
        assert_eq!((answer.warnings.len(), answer.calls[0].unusable), (warnings, None), "{tokens}");
        let answer = assembled(&(content("a") + STOP + &usage)).expect("an answer");
        assert_eq!(answer.warnings.len(), 0, "{tokens} without a call");
    }
}
