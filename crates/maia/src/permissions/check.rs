//! `maia permissions check`: one answer for each line of the input, whatever the line holds.
//!
//! - A line that is no question gets `{id, error}` and the next one is read; blank lines are passed over.
//! - Exit code 2 when there was such a line, 0 otherwise.

use std::io::{BufRead, Read as _, Write};

use maia_core::permission::{Place, check_line};
use serde_json::json;

use crate::cli;
use crate::error::Failure;
use crate::settings::Places;

/// Most bytes of one line that are read: a call is never that long.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// Reads standard input to its end and returns the exit code.
///
/// # Errors
/// When the input cannot be read.
pub fn run() -> Result<u8, Failure> {
    let places = Places::find(None, &cli::env)?;
    let defaults = crate::run::place(&places);
    let broken = answer(&mut std::io::stdin().lock(), &mut std::io::stdout().lock(), &defaults)?;
    let Some(broken) = broken else {
        // The reader went away.
        return Ok(1);
    };
    if broken > 0 {
        let lines = crate::print::count(broken, "line");
        crate::print::say(&format!("{lines} could not be judged; the answers say why"));
        return Ok(2);
    }
    Ok(0)
}

/// Answers every line and returns how many were no question; `None` when nobody reads the answers any more.
fn answer(input: &mut dyn BufRead, out: &mut dyn Write, defaults: &Place) -> Result<Option<u64>, Failure> {
    let mut broken = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.take(MAX_LINE).read_until(b'\n', &mut line);
        let read =
            read.map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
        if read == 0 {
            return Ok(out.flush().is_ok().then_some(broken));
        }
        let is_whole = line.ends_with(b"\n") || (read as u64) < MAX_LINE;
        let answered = if is_whole {
            match std::str::from_utf8(&line) {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => check_line(text, defaults),
                Err(error) => {
                    Err(no_question(&format!("the line is not UTF-8 from byte {}", error.valid_up_to())))
                }
            }
        } else {
            skip_line(input)?;
            Err(no_question(&format!("the line is longer than {} MB", MAX_LINE / 1024 / 1024)))
        };
        let text = answered.unwrap_or_else(|error| {
            broken += 1;
            error
        });
        if writeln!(out, "{text}").is_err() {
            return Ok(None);
        }
    }
}

fn no_question(why: &str) -> String {
    json!({ "id": null, "error": why }).to_string()
}

fn skip_line(input: &mut dyn BufRead) -> Result<(), Failure> {
    loop {
        let bytes = input
            .fill_buf()
            .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
        let (used, is_end) = match bytes.iter().position(|&b| b == b'\n') {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        input.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_line_gets_its_answer_and_a_broken_one_ends_nothing() {
        let place = Place { cwd: "/w/p".into(), home: "/h".into(), state: None };
        let mut input: Vec<u8> = Vec::new();
        input.extend(b"{\"id\": 1, \"tool\": \"Read\", \"input\": {\"path\": \"a\"}}\n");
        input.extend(b"{\"id\": 2, \"tool\": \"Re\xff\xfe\"}\n\n");
        input.extend(b"{\"id\": 3, \n");
        input.extend(b"\0\n");
        input.extend(b"{\"id\": 4, \"rules\": 7, \"tool\": \"Read\"}\r\n");
        input.extend(b"{\"id\": 5, \"rules\": {\"deny\": [\"Read\"]}, \"tool\": \"Read\", \"input\": {\"path\": \"a\"}}");
        let mut out = Vec::new();
        let broken = answer(&mut &input[..], &mut out, &place).expect("it can be read");
        assert_eq!(broken, Some(4));
        let text = String::from_utf8(out).expect("text");
        let answers: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect();
        assert_eq!(answers.len(), 6, "{text}");
        assert_eq!(answers[0]["verdict"], "ask");
        assert!(answers[1..5].iter().all(|answer| answer["error"].is_string()), "{text}");
        assert_eq!(answers[4]["id"], 4);
        assert_eq!(answers[5]["verdict"], "deny");
    }
}
