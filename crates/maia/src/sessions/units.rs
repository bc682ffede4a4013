//! How a session's state, ages and figures are said.

use jiff::Timestamp;
use maia_protocol::outcome::{EndReason, Outcome};

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A process has it open.
    Running(u32),
    /// It was closed.
    Closed(EndReason),
    /// It was neither closed nor is it open: its process ended.
    Interrupted,
}

impl State {
    /// Returns the state from what the journal says and who has it open.
    pub fn new(closed: Option<EndReason>, holder: Option<u32>) -> Self {
        match (holder, closed) {
            (Some(pid), _) => Self::Running(pid),
            (None, Some(reason)) => Self::Closed(reason),
            (None, None) => Self::Interrupted,
        }
    }

    /// Returns it in one word, the same in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Interrupted | Self::Closed(EndReason::Interrupted) => "interrupted",
            Self::Closed(EndReason::Done) => "done",
            Self::Closed(EndReason::Failed) => "failed",
            Self::Closed(EndReason::Usage) => "usage",
            Self::Closed(EndReason::Budget) => "budget",
            Self::Closed(EndReason::Permission) => "permission",
            Self::Closed(EndReason::Endpoint) => "endpoint",
        }
    }

    /// Returns the process that has it open.
    pub fn holder(self) -> Option<u32> {
        match self {
            Self::Running(pid) => Some(pid),
            _ => None,
        }
    }
}

/// Returns an outcome in words.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Partial => "partial",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
        Outcome::TimedOut => "timed out",
    }
}

/// Returns how long ago `time` was.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(time.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns a count in few digits: 950, 12.3k, 4.5M.
pub fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_950 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Returns the beginning of a line, at most so many characters.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end_matches('…')),
        None => text.to_owned(),
    }
}

/// Returns a time as a clock on the wall shows it.
pub fn clock(time: Timestamp) -> String {
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let at = |seconds| Timestamp::from_second(seconds).expect("a time");
        let ages: Vec<_> =
            [100, 41, 40, -3_500, -172_700, -864_000].map(|then| age(at(then), at(100))).into();
        assert_eq!(ages, ["0 s", "59 s", "1 min", "1 h", "2 d", "10 d"]);
        assert_eq!(age(at(200), at(100)), "0 s", "a clock that was set back");
        assert_eq!([0, 999, 1_000, 999_949, 999_950].map(short), ["0", "999", "1.0k", "999.9k", "1.0M"]);
        assert_eq!((cut("äöü", 3), cut("äöü", 2)), ("äöü".to_owned(), "äö…".to_owned()));
    }

    #[test]
    fn a_session_that_is_open_runs_whatever_it_says() {
        assert_eq!(State::new(Some(EndReason::Done), Some(7)).word(), "running");
        assert_eq!(State::new(Some(EndReason::Done), None).word(), "done");
        assert_eq!(State::new(None, None).word(), "interrupted");
    }
}
