//! The result of a command: what it printed, what it left behind, and a last line that tells how it ended.
//!
//! - Asked once, when a command is over; pure.

use std::time::Duration;

use maia_protocol::tool::{Exit, ToolOutput};

use super::capture::Capture;
use crate::exec::wire::Report;

/// Returns the result; it is an error unless the command ended by itself with 0.
pub(super) fn output(
    capture: Capture,
    stopped: Option<Exit>,
    timeout: Duration,
    report: &Report,
) -> ToolOutput {
    let (mut text, truncated) = capture.into_text();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if report.left_count > 0 {
        text.push_str(&leftovers(report));
    }
    let exit = exit(stopped, report);
    text.push_str(&last_line(exit, timeout, report));
    ToolOutput { text, is_error: exit != Exit::Code(0), truncated, exit: Some(exit), seen: None }
}

fn exit(stopped: Option<Exit>, report: &Report) -> Exit {
    match (stopped, &report.failed, report.code, report.signal) {
        (Some(stopped), ..) => stopped,
        (None, Some(_), ..) => Exit::NotStarted,
        (None, None, Some(code), _) => Exit::Code(code),
        (None, None, None, Some(signal)) => Exit::Signal(signal),
        // The helper was killed before it could say anything: with KILL, nothing else can.
        (None, None, None, None) => Exit::Signal(9),
    }
}

fn last_line(exit: Exit, timeout: Duration, report: &Report) -> String {
    match exit {
        Exit::Code(code) => format!("[exit code: {code}]"),
        Exit::Signal(signal) => match signal_name(signal) {
            Some(name) => format!("[ended by signal {signal} ({name})]"),
            None => format!("[ended by signal {signal}]"),
        },
        Exit::TimedOut => format!("[timeout ({} s)]", timeout.as_secs_f64()),
        Exit::Interrupted => "[interrupted]".to_owned(),
        Exit::NotStarted => {
            format!(
                "[the command could not be started: {}]",
                report.failed.as_deref().unwrap_or("unknown cause")
            )
        }
    }
}

fn leftovers(report: &Report) -> String {
    let mut names = report.left.join(", ");
    let more = report.left_count.saturating_sub(report.left.len());
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    let (what, were) = if report.left_count == 1 { ("process", "was") } else { ("processes", "were") };
    let count = report.left_count;
    format!("[{count} {what} still running after the command {were} ended: {names}]\n")
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        24 => "XCPU",
        25 => "XFSZ",
        31 => "SYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(stopped: Option<Exit>, report: Report) -> String {
        let mut capture = Capture::new(100);
        capture.push(b"out");
        output(capture, stopped, Duration::from_secs(120), &report).text
    }

    #[test]
    fn the_last_line_tells_how_it_ended() {
        let ended = |code| Report { code: Some(code), ..Report::default() };
        assert_eq!(text(None, ended(3)), "out\n[exit code: 3]");
        assert_eq!(
            text(None, Report { signal: Some(11), ..Report::default() }),
            "out\n[ended by signal 11 (SEGV)]"
        );
        assert_eq!(text(Some(Exit::TimedOut), ended(0)), "out\n[timeout (120 s)]");
        assert_eq!(text(Some(Exit::Interrupted), Report::default()), "out\n[interrupted]");
        let failed = Report { failed: Some("no such file".to_owned()), ..Report::default() };
        assert_eq!(text(None, failed), "out\n[the command could not be started: no such file]");
        assert_eq!(text(None, Report::default()), "out\n[ended by signal 9 (KILL)]");
    }

    #[test]
    fn what_was_left_is_said_before_it() {
        let left = vec!["sleep (7)".to_owned()];
        let one = Report { left: left.clone(), left_count: 1, code: Some(0), ..Report::default() };
        assert_eq!(
            text(None, one),
            "out\n[1 process still running after the command was ended: sleep (7)]\n[exit code: 0]"
        );
        let many = Report { left, left_count: 4, code: Some(0), ..Report::default() };
        assert!(
            text(None, many)
                .contains("4 processes still running after the command were ended: sleep (7) and 3 more")
        );
    }
}
