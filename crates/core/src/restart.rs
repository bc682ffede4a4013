//! What follows from a failure: the restart table of calls (ENGINE 7) and the restart window of workers (ENGINE 4).
//!
//! Asked by agents that were rebuilt and by supervisors; owns nothing.

use jiff::{SignedDuration, Timestamp};
use maia_protocol::record::ReconcileAction;
use maia_protocol::tool::WriteFound;

/// Failures of a worker that are mended within [`PERIOD`] (ENGINE 4: the third one is the end).
pub const INTENSITY: usize = 3;

/// The window in which failures are counted.
pub const PERIOD: SignedDuration = SignedDuration::from_secs(60);

/// Returns what is done with a call whose intent is recorded and whose end is not.
///
/// `found` is what a probe found of a Write or Edit; other tools have none.
pub fn reconcile(tool: &str, found: Option<WriteFound>) -> ReconcileAction {
    match (tool, found) {
        (_, Some(WriteFound::After)) => ReconcileAction::WasDone,
        (_, Some(WriteFound::Before)) => ReconcileAction::RunAgain,
        (_, Some(WriteFound::Neither)) => ReconcileAction::Uncertain,
        ("Read" | "Glob" | "Grep" | "CurrentModel" | "AgentOutput" | "Skill" | "TodoWrite", None) => {
            ReconcileAction::RunAgain
        }
        (_, None) => ReconcileAction::Uncertain,
    }
}

/// What a supervisor does about a failed worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Build it again from the journal.
    Restart,
    /// It has failed for good.
    Escalate,
}

/// When a worker failed, the last [`INTENSITY`] times.
#[derive(Clone, Debug, Default)]
pub struct Window {
    failures: Vec<Timestamp>,
}

impl Window {
    /// Counts a failure at `now` and says what follows.
    pub fn failed(&mut self, now: Timestamp) -> Verdict {
        self.failures.retain(|at| now.duration_since(*at) < PERIOD);
        self.failures.push(now);
        if self.failures.len() >= INTENSITY { Verdict::Escalate } else { Verdict::Restart }
    }

    /// Returns how many failures the window holds.
    pub fn count(&self) -> u32 {
        u32::try_from(self.failures.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_failure_in_a_minute_escalates() {
        let mut window = Window::default();
        let start = Timestamp::UNIX_EPOCH;
        let at = |s| start + SignedDuration::from_secs(s);
        assert_eq!(window.failed(at(0)), Verdict::Restart);
        assert_eq!(window.failed(at(30)), Verdict::Restart);
        assert_eq!(window.failed(at(61)), Verdict::Restart);
        assert_eq!(window.failed(at(62)), Verdict::Escalate);
    }

    #[test]
    fn only_what_is_harmless_runs_again() {
        assert_eq!(reconcile("Read", None), ReconcileAction::RunAgain);
        assert_eq!(reconcile("Bash", None), ReconcileAction::Uncertain);
        assert_eq!(reconcile("mcp__x__read", None), ReconcileAction::Uncertain);
        assert_eq!(reconcile("Edit", Some(WriteFound::Before)), ReconcileAction::RunAgain);
        assert_eq!(reconcile("Write", Some(WriteFound::After)), ReconcileAction::WasDone);
        assert_eq!(reconcile("Write", Some(WriteFound::Neither)), ReconcileAction::Uncertain);
    }
}
