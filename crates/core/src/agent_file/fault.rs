//! What is wrong in a file, and where: the kind for programs, the message for people.

use serde::Serialize;

/// One thing that is wrong in an AGENT.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// `kind`, or `kind:detail`: stable, for programs.
    pub kind: String,
    /// The cause and the mend, for a person; lower case, no full stop.
    pub message: String,
    /// Line of the file, from 1; `None` when the fault is of no line.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
}

/// A place in the file, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub line: u32,
    pub column: u32,
}

impl Fault {
    pub(super) fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), line: None, column: None }
    }

    pub(super) fn at(mut self, at: At) -> Self {
        self.line = Some(at.line);
        self.column = Some(at.column);
        self
    }

    pub(super) fn on_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    pub(super) fn syntax(at: At, message: impl Into<String>) -> Self {
        Self::new("yaml_syntax", message).at(at)
    }
}
