//! Scripts: which line answers whom, and what a line can say.

use std::time::Duration;

use maia_llm::{Delta, Provider, Script};
use maia_protocol::model::{FailureKind, StopReason, Unusable};
use maia_protocol::{ActorPath, Usage};

use crate::client::ask;

fn script(lines: &[&str]) -> Script {
    Script::parse(&lines.join("\n")).expect("a script")
}

async fn text(script: &Script, agent: &str) -> String {
    let answered = script.chat(&ActorPath::new(agent), 1, &ask("hello"), &mut |_| {}).await;
    answered.map_or_else(|failure| failure.message, |answered| answered.answer.text)
}

#[tokio::test]
async fn each_agent_takes_the_first_unused_line_that_fits() {
    let script = script(&[
        r#"{"agent":"maia/reviewer#2","answer":{"text":"second reviewer"}}"#,
        r#"{"agent":"reviewer","answer":{"text":"some reviewer"}}"#,
        "",
        r#"{"agent":"*","answer":{"text":"anybody"},"hash":"ignored"}"#,
        r#"{"agent":"maia","answer":{"text":"main"}}"#,
    ]);
    assert_eq!(text(&script, "maia/reviewer#1").await, "some reviewer");
    assert_eq!(text(&script, "maia/reviewer#2").await, "second reviewer");
    assert_eq!(text(&script, "maia").await, "anybody");
    assert_eq!(text(&script, "maia").await, "main");
    assert_eq!(text(&script, "maia").await, "script:5: no line is left for maia, step 1");
}

#[tokio::test]
async fn answers_say_everything_that_a_model_can() {
    let script = script(&[
        r#"{"agent":"*","answer":{"text":"Hello, reader","reasoning":"hm","tool_calls":[{"name":"Read","input":{"p":1}},{"name":"Bash","input":"ls"}],"usage":{"input_tokens":3,"output_tokens":2}}}"#,
        r#"{"agent":"*","answer":{"text":"cut","stop":"max_tokens"}}"#,
        r#"{"agent":"*","answer":{"error":{"status":429,"body":"slow","headers":{"Retry-After":"2"}}}}"#,
        r#"{"agent":"*","answer":{"text":"half","error":{"body":{"error":{"message":"overloaded"}}}}}"#,
    ]);
    let agent = ActorPath::main();
    let mut shown = Vec::new();
    let mut show = |delta: Delta| shown.push(delta);
    let first = script.chat(&agent, 1, &ask("x"), &mut show).await.expect("an answer").answer;
    let pieces: Vec<&str> = shown
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            Delta::Reasoning(_) => None,
        })
        .collect();
    assert!(pieces.len() > 1 && pieces.concat() == "Hello, reader", "{pieces:?}");
    assert_eq!((first.stop, first.reasoning.as_str()), (StopReason::ToolUse, "hm"));
    assert_eq!(first.usage, Some(Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() }));
    assert_eq!(first.calls[0].unusable, None);
    assert_eq!(
        (first.calls[1].unusable, first.calls[1].raw.as_deref()),
        (Some(Unusable::Invalid), Some("ls"))
    );
    let cut = script.chat(&agent, 2, &ask("x"), &mut |_| {}).await.expect("an answer").answer;
    assert_eq!((cut.stop, cut.warnings.len()), (StopReason::MaxTokens, 1));
    let busy = script.chat(&agent, 3, &ask("x"), &mut |_| {}).await.expect_err("a failure");
    assert_eq!((busy.kind, busy.retry_after_ms), (FailureKind::Busy, Some(2_000)));
    let inside = script.chat(&agent, 4, &ask("x"), &mut |_| {}).await.expect_err("a failure");
    assert_eq!(
        (inside.kind, inside.transient, inside.text.as_str()),
        (FailureKind::ServerError, true, "half")
    );
}

#[tokio::test]
async fn an_expectation_that_is_not_met_is_an_error_with_its_place() {
    let script = script(&[
        r#"{"agent":"*","answer":{"text":"never"},"expect":"not there"}"#,
        r#"{"agent":"reviewer","answer":{"text":"met"},"expect":"hello"}"#,
    ]);
    let failed = script.chat(&ActorPath::main(), 7, &ask("hello"), &mut |_| {}).await.expect_err("a failure");
    assert_eq!((failed.kind, failed.transient), (FailureKind::Script, false));
    for part in ["script:1", "maia", "step 7", "not there"] {
        assert!(failed.message.contains(part), "{}", failed.message);
    }
    assert!(script.skip(&ActorPath::main()), "the line was given back");
    assert_eq!(text(&script, "maia/reviewer#1").await, "met");
}

#[tokio::test(start_paused = true)]
async fn a_line_whose_request_is_dropped_is_given_back() {
    let script = script(&[
        r#"{"agent":"*","answer":{"text":"slow"},"delay_ms":60000}"#,
        r#"{"agent":"*","answer":{"text":"next"}}"#,
    ]);
    let (agent, request) = (ActorPath::main(), ask("x"));
    let mut ignore = |_| {};
    let dropped = tokio::time::timeout(Duration::from_secs(1), script.chat(&agent, 1, &request, &mut ignore));
    assert!(dropped.await.is_err());
    assert_eq!(text(&script, "maia").await, "slow");
    assert_eq!(text(&script, "maia").await, "next");
}

#[tokio::test]
async fn skipped_lines_are_used_and_wrong_lines_named() {
    let lines =
        script(&[r#"{"agent":"*","answer":{"text":"one"}}"#, r#"{"agent":"*","answer":{"text":"two"}}"#]);
    assert!(lines.skip(&ActorPath::main()));
    assert_eq!(text(&lines, "maia").await, "two");
    assert!(!lines.skip(&ActorPath::main()));
    let wrong = Script::parse("\n{\"agent\":\"*\"}").expect_err("no answer");
    assert!(wrong.to_string().starts_with("line 2 of the script is wrong"), "{wrong}");
    assert!(Script::load(std::path::Path::new("/does/not/exist")).is_err());
    assert_eq!(Provider::Script(lines).models().await.expect("a name"), ["script"]);
}
