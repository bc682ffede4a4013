//! Tells text from everything else, by the first bytes of a file.
//!
//! - Asked by Read and Edit; pure.
//! - A file that is not UTF-8 is never changed: its other bytes would be lost (mission, open point 11).

/// Bytes that are looked at.
pub(crate) const SAMPLE: usize = 64 * 1024;

/// What a file seems to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8, or close enough to be read.
    Text,
    /// UTF-16 with a byte order mark, the low byte first or last.
    Utf16 { little_endian: bool },
    /// Text in some older encoding that cannot be read as UTF-8.
    Foreign,
    /// Not text, and why.
    Binary(&'static str),
}

/// First bytes of common files that are not text, also when they hold no NUL early on.
const MAGIC: [(&[u8], &str); 10] = [
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG image"),
    (b"GIF8", "GIF image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "ELF program"),
];

/// Returns what `sample`, the beginning of a file, seems to be.
pub(crate) fn kind(sample: &[u8]) -> Kind {
    if sample.starts_with(b"\xff\xfe") && !sample.starts_with(b"\xff\xfe\0\0") {
        return Kind::Utf16 { little_endian: true };
    }
    if sample.starts_with(b"\xfe\xff") {
        return Kind::Utf16 { little_endian: false };
    }
    if let Some((_, name)) = MAGIC.iter().find(|(magic, _)| sample.starts_with(magic)) {
        return Kind::Binary(name);
    }
    if sample.contains(&0) {
        return Kind::Binary("NUL bytes");
    }
    let controls =
        sample.iter().filter(|byte| **byte < 0x20 && !b"\t\n\r\x0b\x0c\x08\x1b".contains(byte)).count();
    if controls * 20 > sample.len() {
        return Kind::Binary("control bytes");
    }
    if foreign(sample) * 10 > sample.len() * 3 { Kind::Foreign } else { Kind::Text }
}

/// Returns how many bytes of `sample` are in no UTF-8 character; a character cut at the end does not count.
fn foreign(sample: &[u8]) -> usize {
    let mut rest = sample;
    let mut count = 0;
    loop {
        let Err(error) = std::str::from_utf8(rest) else { return count };
        let Some(length) = error.error_len() else { return count };
        count += length;
        rest = rest.get(error.valid_up_to() + length..).unwrap_or_default();
    }
}

/// Returns UTF-16 `bytes` without its mark as text; what is no character becomes U+FFFD.
pub(crate) fn decode_utf16(bytes: &[u8], little_endian: bool) -> String {
    let units = bytes.get(2..).unwrap_or_default().chunks(2).map(|pair| match *pair {
        [a, b] if little_endian => u16::from_le_bytes([a, b]),
        [a, b] => u16::from_be_bytes([a, b]),
        _ => u16::from(u8::MAX) | 0xff00,
    });
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_the_rest() {
        assert_eq!(kind("é\u{1b}[0m\r\n".as_bytes()), Kind::Text);
        assert_eq!(kind(b""), Kind::Text);
        assert_eq!(kind(b"na\xefve caf\xe9 au lait, deux fois"), Kind::Text);
        assert_eq!(kind(b"\xcf\xf0\xe8\xe2\xe5\xf2"), Kind::Foreign);
        assert_eq!(kind(b"\xff\xfea\0"), Kind::Utf16 { little_endian: true });
        assert_eq!(kind(b"a\0b"), Kind::Binary("NUL bytes"));
        assert_eq!(kind(b"\x01\x02\x03\x04ab"), Kind::Binary("control bytes"));
        assert_eq!(kind(b"%PDF-1.7\n"), Kind::Binary("PDF"));
        // A character cut by the end of the sample is no fault.
        assert_eq!(kind(&"é".as_bytes()[..1]), Kind::Text);
    }

    #[test]
    fn utf16_is_decoded() {
        assert_eq!(decode_utf16(b"\xff\xfea\0\xe9\0", true), "aé");
        assert_eq!(decode_utf16(b"\xfe\xff\0a\0", false), "a\u{ffff}");
    }
}
