//! What the program cannot go on from: said once, at the edge, with what to do.

use maia_protocol::outcome::EndReason;

/// An error that ends the program.
#[derive(Debug, PartialEq)]
pub struct Failure {
    /// Decides the exit code.
    pub reason: EndReason,
    /// What, where, why.
    pub message: String,
    /// What to do.
    pub mend: Option<String>,
}

impl Failure {
    /// Returns an error of usage or configuration (exit 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self { reason: EndReason::Usage, message: message.into(), mend: None }
    }

    /// Returns an error of the work itself (exit 1).
    pub fn failed(message: impl Into<String>) -> Self {
        Self { reason: EndReason::Failed, message: message.into(), mend: None }
    }

    /// Returns `error` with what caused it, in one line.
    pub fn with_causes(error: &dyn std::error::Error) -> String {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            let said = cause.to_string();
            // Some errors say their cause themselves.
            if !text.ends_with(&said) {
                text.push_str(": ");
                text.push_str(&said);
            }
            next = cause.source();
        }
        text
    }

    /// Returns the error with what to do about it.
    #[must_use]
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    /// Prints the error on stderr.
    pub fn print(&self) {
        crate::print::say(&format!("maia: {}", self.message));
        if let Some(mend) = &self.mend {
            crate::print::say(&format!("  help: {mend}"));
        }
    }
}
