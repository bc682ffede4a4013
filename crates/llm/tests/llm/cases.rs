//! Cases of `tests/cases/sse`: a body byte for byte, and what must be assembled from it.

use std::path::PathBuf;

use maia_core::turn::next::{Next, Seen, next};
use maia_llm::{Assembler, Delta};
use maia_protocol::model::{AnswerWarning, FailureKind, ModelFailure, StopReason, Unusable};
use maia_protocol::{Answer, AnsweredCall};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// One case.
pub struct Case {
    pub name: String,
    pub body: Vec<u8>,
    pub spec: Value,
}

impl Case {
    /// Returns an option of the server, null when it has none.
    pub fn server(&self, option: &str) -> &Value {
        &self.spec["server"][option]
    }

    pub fn content_type(&self) -> &str {
        self.server("content_type").as_str().unwrap_or("text/event-stream")
    }

    /// Tells whether the end of the body is no end of the answer.
    fn stalls(&self) -> bool {
        self.server("stall") == true
    }
}

/// Returns every case, in the order of their names.
pub fn all() -> Vec<Case> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/sse"));
    let mut cases: Vec<Case> = std::fs::read_dir(&folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| Case {
            name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
            body: std::fs::read(path.with_extension("sse")).expect("a body beside its case"),
            spec: serde_json::from_slice(&std::fs::read(&path).expect("a case")).expect("a case in JSON"),
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() >= 50, "cases are missing: {}", cases.len());
    cases
}

/// Assembles `pieces`; returns the outcome and what was shown on the way, as (text, reasoning).
pub fn assemble<'a>(
    content_type: &str,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Answer, ModelFailure>, (String, String)) {
    let mut assembler = Assembler::new(Some(content_type));
    let mut shown = (String::new(), String::new());
    let mut show = |delta: Delta| match delta {
        Delta::Text(text) => shown.0.push_str(&text),
        Delta::Reasoning(text) => shown.1.push_str(&text),
    };
    for piece in pieces {
        assembler.push(piece).into_iter().for_each(&mut show);
    }
    assembler.end().into_iter().for_each(&mut show);
    (assembler.finish(), shown)
}

/// Compares an outcome, and what was shown before it, with what `case` expects.
pub fn check(case: &Case, how: &str, outcome: &Result<Answer, ModelFailure>, shown: &(String, String)) {
    let expect = &case.spec["expect"];
    let at = format!("{}, {how}", case.name);
    check_text(expect, &shown.0, &at);
    assert_eq!(json!(shown.1), expect["reasoning"], "{at}: reasoning shown");
    match outcome {
        Ok(answer) => {
            assert_eq!(expect["error"], Value::Null, "{at}: an answer");
            check_text(expect, &answer.text, &at);
            assert_eq!(json!(answer.reasoning), expect["reasoning"], "{at}: reasoning");
            check_calls(expect, &answer.calls, &at);
            assert_eq!(json!(stop_name(answer.stop)), expect["stop_reason"], "{at}: stop reason");
            let usage = answer.usage.map(
                |usage| json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}),
            );
            assert_eq!(usage.unwrap_or_default(), expect["usage"], "{at}: usage");
            let warnings: Vec<&str> =
                answer.warnings.iter().map(|AnswerWarning::OutputTruncated| "output_truncated").collect();
            assert_eq!(json!(warnings), expect["warnings"], "{at}: warnings");
        }
        Err(failure) => {
            let kind = serde_json::to_value(failure.kind).expect("a name");
            assert_eq!(kind, expect["error"]["kind"], "{at}: {}", failure.message);
            if let Some(part) = expect["error"]["message_contains"].as_str() {
                assert!(failure.message.contains(part), "{at}: {}", failure.message);
            }
            assert_eq!(json!(failure.text), expect["text"], "{at}: the text so far is kept");
        }
    }
    check_next(expect, outcome, &at);
}

fn check_text(expect: &Value, text: &str, at: &str) {
    if let Some(any) = expect["text_any_of"].as_array() {
        assert!(any.contains(&json!(text)), "{at}: text {text:?}");
    } else if let Some(chars) = expect["text_chars"].as_u64() {
        assert_eq!(text.chars().count() as u64, chars, "{at}: length of the text");
        let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(json!(hash), expect["text_sha256"], "{at}: hash of the text");
    } else {
        assert_eq!(json!(text), expect["text"], "{at}: text");
    }
}

fn check_calls(expect: &Value, calls: &[AnsweredCall], at: &str) {
    let expected = expect["tool_calls"].as_array().expect("calls");
    assert_eq!(calls.len(), expected.len(), "{at}: {calls:?}");
    for (call, expected) in calls.iter().zip(expected) {
        let usable = call.unusable.is_none();
        let why = match call.unusable {
            None => Value::Null,
            Some(Unusable::Invalid) => json!("invalid"),
            Some(Unusable::Truncated) => json!("truncated"),
            Some(Unusable::NoName) => json!("no_name"),
        };
        let also = &expect["also_accepted"];
        if !usable && also["usable"] == false && also["not_usable_because"] == why {
            continue;
        }
        assert_eq!(json!(call.name), expected["name"], "{at}: name");
        assert_eq!(call.input, expected["arguments"], "{at}: arguments");
        assert_eq!(json!(usable), expected["usable"], "{at}: usable");
        assert_eq!(why, expected["not_usable_because"], "{at}: why not usable");
        if expected["id"].is_null() {
            assert!(!call.provider_id.is_empty(), "{at}: a made up id");
        } else {
            assert_eq!(json!(call.provider_id), expected["id"], "{at}: id");
        }
        let same = calls.iter().filter(|other| other.provider_id == call.provider_id).count();
        assert_eq!(same, 1, "{at}: ids are unique");
        let forbidden = expect["must_not_execute"].as_array();
        assert!(
            !usable || forbidden.is_none_or(|names| !names.contains(&json!(call.name))),
            "{at}: must not run"
        );
    }
}

/// Compares with the choice of the loop (W-stop, W-think-retry) at the first outcome of a turn.
fn check_next(expect: &Value, outcome: &Result<Answer, ModelFailure>, at: &str) {
    let chosen = match next(outcome, &Seen::default()) {
        Next::RunTools => "run_tools",
        Next::ToolErrorResults => "tool_error_results",
        Next::FinalAnswer { .. } => "final_answer",
        Next::FilteredNotice { .. } => "filtered_notice",
        Next::NudgeEmpty { .. } => "nudge_empty",
        Next::Retry { .. } => "retry",
        Next::Degrade => "degrade",
        Next::Fail { .. } => "fail",
    };
    let expected = match expect["next"].as_str().expect("a choice") {
        "retry_if_transient" => {
            let transient = outcome.as_ref().is_err_and(|failure| failure.transient);
            if transient { "retry" } else { "fail" }
        }
        expected => expected,
    };
    assert_eq!(chosen, expected, "{at}: what the loop does");
}

/// The cases know one word for a filter and for anything else.
fn stop_name(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::ContentFilter | StopReason::Other => "other",
    }
}

/// A body that stalls is only known by the limit of silence, which the client adds.
pub fn by_bytes_alone() -> impl Iterator<Item = Case> {
    all().into_iter().filter(|case| !case.stalls())
}

#[test]
fn every_case_comes_out_right_in_one_piece() {
    for case in by_bytes_alone() {
        let (outcome, shown) = assemble(case.content_type(), [case.body.as_slice()]);
        check(&case, "in one piece", &outcome, &shown);
    }
}

#[test]
fn every_case_comes_out_right_cut_at_every_byte() {
    for case in by_bytes_alone() {
        let (outcome, shown) = assemble(case.content_type(), case.body.chunks(1));
        check(&case, "byte by byte", &outcome, &shown);
        for at in 0..case.body.len() {
            let (left, right) = case.body.split_at(at);
            let (outcome, shown) = assemble(case.content_type(), [left, right]);
            check(&case, &format!("cut at {at}"), &outcome, &shown);
        }
    }
}

#[test]
fn a_stalled_body_keeps_its_text() {
    for case in all().into_iter().filter(Case::stalls) {
        let mut assembler = Assembler::new(Some(case.content_type()));
        let _ = assembler.push(&case.body);
        assert!(!assembler.is_finished(), "{}", case.name);
        let failure = assembler.broken(FailureKind::StallTimeout, "silence".to_owned());
        assert_eq!(json!(failure.text), case.spec["expect"]["text"], "{}", case.name);
    }
}

#[test]
fn a_stream_without_end_is_given_up() {
    let mut assembler = Assembler::new(Some("text/event-stream"));
    let event = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "x".repeat(1 << 20)}}]}));
    let mut pushed = 0;
    while !assembler.is_complete() {
        assert!(pushed < 64, "it is read on and on");
        let _ = assembler.push(event.as_bytes());
        pushed += 1;
    }
    let failure = assembler.finish().expect_err("no answer");
    assert_eq!((failure.kind, failure.transient), (FailureKind::BadResponse, false));
    assert!(failure.message.contains("longer than 32 MB"), "{}", failure.message);

    // A line that never ends is a stream too.
    let mut assembler = Assembler::new(Some("text/event-stream"));
    let _ = assembler.push(b"data: ");
    for _ in 0..64 {
        let _ = assembler.push(&vec![b'x'; 1 << 20]);
    }
    assert!(assembler.is_complete());
}

proptest::proptest! {
    #[test]
    fn no_cut_changes_anything(cuts in proptest::collection::vec(0.0..1.0f64, 0..12)) {
        for case in by_bytes_alone() {
            let mut places: Vec<usize> = cuts.iter().map(|cut| (cut * case.body.len() as f64) as usize).collect();
            places.sort_unstable();
            let mut pieces = Vec::new();
            let mut rest = case.body.as_slice();
            let mut taken = 0;
            for place in places {
                let (left, right) = rest.split_at(place - taken);
                pieces.push(left);
                (rest, taken) = (right, place);
            }
            pieces.push(rest);
            let (outcome, shown) = assemble(case.content_type(), pieces);
            check(&case, &format!("cuts {cuts:?}"), &outcome, &shown);
        }
    }

    #[test]
    fn no_bytes_at_all_bring_it_down(body in proptest::collection::vec(proptest::num::u8::ANY, 0..400), prefix in 0..6usize) {
        let start = ["", "data: ", "{", "<", "data: {\"choices\":[{\"delta\":", "\u{feff}data: "][prefix];
        let mut bytes = start.as_bytes().to_vec();
        bytes.extend(body);
        let (whole, _) = assemble("text/event-stream", [bytes.as_slice()]);
        let (single, _) = assemble("text/event-stream", bytes.chunks(1));
        proptest::prop_assert_eq!(whole, single);
    }
}
