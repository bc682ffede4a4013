//! Cuts a body into lines, wherever the network cut it (mission M7.2-sse).
//!
//! - Asked by the assembler, which reads the lines as server-sent events.
//! - Owns the bytes of the line that is not finished yet, and nothing else.
//! - Written here and not taken from an SSE crate: an endpoint's faults (events glued without a blank line, an error
//!   behind a broken event, bare JSON between events) are seen line by line, and a finished `data:` line must count at
//!   once, before the blank line that a hanging server never sends.

/// The most that one line may hold; a longer one is cut there, so that a broken server cannot fill the memory.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// Splits at LF, CR and CRLF.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
    after_cr: bool,
}

impl Lines {
    /// Hands every line that `bytes` ends to `each`, without its line end.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if let Some(rest) = bytes.strip_prefix(b"\n") {
                    bytes = rest;
                    continue;
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                let room = MAX_LINE_BYTES.saturating_sub(self.partial.len());
                self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
                return;
            };
            let (line, rest) = bytes.split_at(end);
            if self.partial.is_empty() {
                each(line);
            } else {
                self.partial.extend_from_slice(line);
                each(&self.partial);
                self.partial.clear();
            }
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
        }
    }

    /// Returns what stands after the last line end: the whole last line of a body without one.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.partial)
    }
}

/// A line read as a field of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    /// The event ends here.
    Blank,
    /// A comment, or a field that says nothing about the answer (`id`, `retry`).
    Silent,
    /// The event's type.
    Event(&'a [u8]),
    /// A line of data.
    Data(&'a [u8]),
    /// No field of an event stream.
    Stray(&'a [u8]),
}

/// Reads `line` as a field.
pub(super) fn field(line: &[u8]) -> Field<'_> {
    if let Some(rest) = line.strip_prefix(b"data:") {
        return Field::Data(rest.strip_prefix(b" ").unwrap_or(rest));
    }
    if line.is_empty() {
        return Field::Blank;
    }
    if line.first() == Some(&b':') {
        return Field::Silent;
    }
    let colon = memchr::memchr(b':', line).unwrap_or(line.len());
    let (name, rest) = line.split_at(colon);
    let value = rest.strip_prefix(b":").unwrap_or(rest);
    match name {
        b"event" => Field::Event(value.trim_ascii()),
        b"id" | b"retry" | b"data" => Field::Silent,
        _ => Field::Stray(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for piece in pieces {
            lines.push(piece, |line| seen.push(String::from_utf8_lossy(line).into_owned()));
        }
        let rest = lines.take_rest();
        if !rest.is_empty() {
            seen.push(String::from_utf8_lossy(&rest).into_owned());
        }
        seen
    }

    #[test]
    fn every_line_end_ends_one_line_however_it_is_cut() {
        let body = b"a\nb\r\nc\rd\r\r\n\n\r\ne";
        let whole = ["a", "b", "c", "d", "", "", "", "e"];
        assert_eq!(lines_of(&[body]), whole);
        for cut in 0..=body.len() {
            let (left, right) = body.split_at(cut);
            assert_eq!(lines_of(&[left, right]), whole, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(lines_of(&bytes), whole);
    }

    #[test]
    fn fields_are_told_apart() {
        assert_eq!(field(b"data: x"), Field::Data(b"x"));
        assert_eq!(field(b"data:  x"), Field::Data(b" x"));
        assert_eq!(field(b"data:"), Field::Data(b""));
        assert_eq!(field(b"data"), Field::Silent);
        assert_eq!(field(b"event: error"), Field::Event(b"error"));
        assert_eq!(field(b": ping"), Field::Silent);
        assert_eq!(field(b""), Field::Blank);
        assert_eq!(field(b"Internal error: 5"), Field::Stray(b"Internal error: 5"));
    }
}
