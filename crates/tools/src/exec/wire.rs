//! What maia and its helper say to each other, over pipes that only they hold.
//!
//! - maia to helper (the helper's standard input): one [`Request`], then perhaps [`STOP`], and the end of the pipe, which
//!   means: end everything.
//! - helper to maia (its standard output): lines of [`Report`]. The output of the command goes another way, by the
//!   helper's standard error, which the helper itself never writes to.
//! - The request does not travel as arguments: a `pkill -f` in a command would find them and hit the helper.

use std::io::{self, Read};

/// Asks for TERM to everything, and for KILL a second later.
pub(crate) const STOP: u8 = b't';
/// Bytes of one request at most; what the kernel takes as arguments is less.
const LIMIT: usize = 16 * 1024 * 1024;

/// What is to be run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Program and arguments.
    pub(crate) argv: Vec<Vec<u8>>,
    /// Standard input; `None` is `/dev/null`.
    pub(crate) stdin: Option<Vec<u8>>,
}

impl Request {
    /// Returns the request as bytes, each piece after its length.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let stdin = self.stdin.as_slice();
        for pieces in [self.argv.as_slice(), stdin] {
            number(&mut bytes, pieces.len());
            for piece in pieces {
                number(&mut bytes, piece.len());
                bytes.extend_from_slice(piece);
            }
        }
        bytes
    }

    /// Reads a request; blocks until it is whole.
    ///
    /// # Errors
    /// The pipe ends early, or a length is beyond any reason.
    pub(crate) fn decode(from: &mut impl Read) -> io::Result<Self> {
        let argv = pieces(from)?;
        let stdin = pieces(from)?.pop();
        Ok(Self { argv, stdin })
    }
}

fn number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn length(from: &mut impl Read) -> io::Result<usize> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    usize::try_from(u32::from_le_bytes(bytes))
        .ok()
        .filter(|length| *length <= LIMIT)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn pieces(from: &mut impl Read) -> io::Result<Vec<Vec<u8>>> {
    let count = length(from)?;
    let mut pieces = Vec::new();
    for _ in 0..count {
        let mut piece = vec![0; length(from)?];
        from.read_exact(&mut piece)?;
        pieces.push(piece);
    }
    Ok(pieces)
}

/// How a command ended, and what it left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Process id of the command, also its group and session.
    pub(crate) started: Option<i32>,
    /// Why it never ran.
    pub(crate) failed: Option<String>,
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Processes that were still running when it ended, each `name (pid)`; the first few.
    pub(crate) left: Vec<String>,
    /// How many there were in all.
    pub(crate) left_count: usize,
}

impl Report {
    /// Returns the lines of the report.
    pub(crate) fn encode(&self) -> String {
        let mut lines = String::new();
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let value = value.to_string().replace('\n', " ");
            lines.push_str(&format!("{key} {value}\n"));
        };
        if let Some(pid) = self.started {
            line("started", &pid);
        }
        if let Some(why) = &self.failed {
            line("failed", why);
        }
        for process in &self.left {
            line("left", process);
        }
        if self.left_count > 0 {
            line("left_count", &self.left_count);
        }
        if let Some(code) = self.code {
            line("code", &code);
        }
        if let Some(signal) = self.signal {
            line("signal", &signal);
        }
        lines
    }

    /// Reads what has come of a report; unknown lines are passed over.
    pub(crate) fn decode(text: &str) -> Self {
        let mut report = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            match key {
                "started" => report.started = value.parse().ok(),
                "failed" => report.failed = Some(value.to_owned()),
                "left" => report.left.push(value.to_owned()),
                "left_count" => report.left_count = value.parse().unwrap_or(0),
                "code" => report.code = value.parse().ok(),
                "signal" => report.signal = value.parse().ok(),
                _ => {}
            }
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for stdin in [None, Some(Vec::new()), Some(b"a\n\0".to_vec())] {
            let request = Request { argv: vec![b"bash".to_vec(), b"-c".to_vec(), b"\xff".to_vec()], stdin };
            let bytes = request.encode();
            assert_eq!(Request::decode(&mut bytes.as_slice()).expect("its own form"), request);
            assert!(Request::decode(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn a_length_beyond_reason_is_refused_before_memory_is_taken() {
        assert!(Request::decode(&mut [0xff; 16].as_slice()).is_err());
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = Report {
            started: Some(5),
            left: vec!["a b (7)".to_owned()],
            left_count: 12,
            signal: Some(9),
            ..Report::default()
        };
        assert_eq!(Report::decode(&report.encode()), report);
        let failed = Report { failed: Some("two\nlines".to_owned()), ..Report::default() };
        assert_eq!(Report::decode(&failed.encode()).failed.as_deref(), Some("two lines"));
    }
}
