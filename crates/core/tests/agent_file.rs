//! Every AGENT.md of `tests/cases/frontmatter` gives what the JSON beside it says; no bytes make the parser panic.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads its cases, and fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use maia_core::agent_file::{KNOWN_TOOLS, Parsed, parse, resolve_tools};
use proptest::prelude::*;
use serde_json::Value;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/frontmatter")
}

/// Returns what is wrong, or nothing.
fn difference(parsed: &Parsed, expect: &Value) -> Option<String> {
    let valid = expect["valid"].as_bool().unwrap();
    match &parsed.definition {
        Ok(definition) => {
            if !valid {
                return Some(format!("accepted, wanted {}", expect["error"]));
            }
            let got = serde_json::to_value(definition).unwrap();
            if got != expect["agent"] {
                return Some(format!("got {got}\nnot {}", expect["agent"]));
            }
            let (tools, warned) = resolve_tools(definition, KNOWN_TOOLS);
            let kinds: Vec<&str> =
                parsed.warnings.iter().chain(&warned).map(|fault| fault.kind.as_str()).collect();
            let wanted: Vec<&str> =
                expect["warnings"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
            if kinds != wanted {
                return Some(format!("warnings {kinds:?}, not {wanted:?}"));
            }
            let resolved = &expect["tools_resolved"];
            (!resolved.is_null() && *resolved != serde_json::json!(tools))
                .then(|| format!("tools {tools:?}, not {resolved}"))
        }
        Err(fault) => {
            if valid || fault.kind != expect["error"].as_str().unwrap() {
                return Some(format!("refused with {fault:?}, wanted {expect}"));
            }
            if fault.line.is_none() {
                return Some(format!("{fault:?} has no line"));
            }
            if let Some(line) = expect["line"].as_u64()
                && fault.line.map(u64::from) != Some(line)
            {
                return Some(format!("{fault:?} is not on line {line}"));
            }
            let mentions = expect["message_mentions"].as_array().unwrap();
            let absent =
                mentions.iter().map(|text| text.as_str().unwrap()).find(|text| !fault.message.contains(text));
            absent.map(|text| format!("`{}` does not mention {text}", fault.message))
        }
    }
}

fn check(path: &Path) -> Option<String> {
    let case: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let bytes = fs::read(path.with_extension("md")).unwrap();
    let parsed = parse(case["folder"].as_str().unwrap(), &bytes);
    let wrong = difference(&parsed, &case["expect"])?;
    let others = case["expect"]["also_accepted"].as_array().cloned().unwrap_or_default();
    let accepted = others.iter().any(|other| {
        let mut other = other.clone();
        let fields = other.as_object_mut().unwrap();
        fields.entry("message_mentions").or_insert(serde_json::json!([]));
        difference(&parsed, &other).is_none()
    });
    (!accepted).then(|| format!("{}: {wrong}", path.display()))
}

#[test]
fn every_case() {
    let mut paths: Vec<PathBuf> = fs::read_dir(cases()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    assert!(paths.len() >= 41, "only {} cases", paths.len());
    let wrong: Vec<String> = paths.iter().filter_map(|path| check(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

const GOOD: &str = "---\nname: a\ndescription: >\n  b\n  c\ntools: [Read, \"Grep\", 'x''y']\npermissions:\n  allow:\n  - Bash(git *)\n  deny: Write\n---\n\n## Instructions system\n\na <!-- b\nc --> d\n\n## Missions\n\n```\n## Output\n```\n\nOutput\n======\n\nc\n";

#[test]
fn the_good_file_is_good() {
    let definition = parse("a", GOOD.as_bytes()).definition.unwrap();
    assert_eq!(definition.tools.unwrap(), ["Read", "Grep", "x'y"]);
    assert_eq!(definition.sections.missions, "```\n## Output\n```");
    assert_eq!(definition.sections.output, "c");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse("a", &bytes);
    }

    #[test]
    fn no_inserted_text_panics(at in 0..GOOD.len(), text in "(\\PC|[-:#|>\\[\\]{}(),\"'\\\\\n\t ]){0,12}") {
        let mut file = GOOD.to_owned();
        file.insert_str(at, &text);
        if let Ok(definition) = parse("a", file.as_bytes()).definition {
            resolve_tools(&definition, KNOWN_TOOLS);
        }
    }

    #[test]
    fn line_ends_make_no_difference(cut in 0..GOOD.len()) {
        let file = &GOOD[..cut];
        let unix = parse("a", file.as_bytes());
        let other = parse("a", file.replace('\n', "\r\n").as_bytes());
        prop_assert_eq!(unix.definition, other.definition);
        prop_assert_eq!(unix.warnings, other.warnings);
    }

    #[test]
    fn a_quoted_description_comes_back(text in "\\PC{1,40}") {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        let file = format!("---\nname: a\ndescription: \"{quoted}\"\n---\n# Instructions system\na\n# Missions\nb\n# Output\nc\n");
        match parse("a", file.as_bytes()).definition {
            Ok(definition) => prop_assert_eq!(definition.description, text.trim()),
            Err(fault) => prop_assert!(text.trim().is_empty(), "{:?}", fault),
        }
    }
}
