//! From bytes to text, and from text to header and body: the two `---` lines.

use super::fault::{At, Fault};

/// The two halves of a file, by lines without their ends.
pub(super) struct Halves<'a> {
    /// Lines between the marks.
    pub header: Vec<&'a str>,
    /// Number of the header's first line in the file.
    pub header_line: u32,
    /// Lines after the second mark.
    pub body: Vec<&'a str>,
    /// Number of the body's first line in the file.
    pub body_line: u32,
}

/// Decodes UTF-8; the mark at the start goes, every line end becomes one line feed (CRLF must not reach values).
pub(super) fn decode(bytes: &[u8]) -> Result<String, Fault> {
    // Without a mark, UTF-16 of plain ASCII is valid UTF-8 with a zero in every second place.
    let utf16 = bytes.starts_with(&[0xFF, 0xFE])
        || bytes.starts_with(&[0xFE, 0xFF])
        || bytes.iter().take(4).any(|byte| *byte == 0);
    if utf16 {
        return Err(
            Fault::new("not_utf8", "the file is not UTF-8 but UTF-16 or UTF-32: save it as UTF-8").on_line(1)
        );
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        let last = good.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let column = 1 + String::from_utf8_lossy(last).chars().count();
        Fault::new("not_utf8", "this byte is not UTF-8: save the file as UTF-8")
            .at(At { line: number(line), column: number(column) })
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Splits at the marks. Blank lines before the first one are passed over.
pub(super) fn split(text: &str) -> Result<Halves<'_>, Fault> {
    let lines: Vec<&str> = text.split('\n').collect();
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let Some(open) = first.filter(|at| lines.get(*at).is_some_and(|line| is_mark(line))) else {
        return Err(Fault::new(
            "frontmatter_missing",
            "the file does not begin with a header: put `---`, then `name:` and `description:`, then `---` on top",
        )
        .on_line(first.map_or(1, |at| number(at + 1))));
    };
    let after = lines.get(open + 1..).unwrap_or_default();
    let Some(length) = after.iter().position(|line| is_mark(line)) else {
        return Err(Fault::new(
            "frontmatter_unclosed",
            "the header that begins here is never closed: put a line of exactly `---` after its last key",
        )
        .on_line(number(open + 1)));
    };
    Ok(Halves {
        header: after.get(..length).unwrap_or_default().to_vec(),
        header_line: number(open + 2),
        body: after.get(length + 1..).unwrap_or_default().to_vec(),
        body_line: number(open + length + 3),
    })
}

fn is_mark(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Returns a count as a line or column number.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
