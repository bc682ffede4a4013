//! The bytes of one record: `{"v":1,"seq":n,"time":…,"actor":path,"kind":…,"body":{…},"crc":"…"}` (ENGINE 1).
//!
//! - Asked by the file that appends, and by everything that reads.
//! - The checksum is CRC-32C of the bytes before `,"crc":`, in 8 lower-case hexadecimal digits.
//! - A body over 32 KB lies in a blob; the line then has `{"blob":"<sha256>","bytes":n}` in its place.

use std::io::Write;

use jiff::Timestamp;
use maia_protocol::line::{Line, MAX_DEPTH, is_deeper_than};
use maia_protocol::record::VERSION;
use maia_protocol::{Body, NewRecord, Record, Seq};

use crate::blob::{Blob, BlobRef, Blobs};
use crate::error::Fault;

/// Longest body that stands in its line, in bytes (ENGINE 1: 32 KB).
pub(crate) const MAX_INLINE: usize = 32 * 1024;

/// Longest line, newline included, in bytes. A body takes 32 KB at most; the rest is room for long paths. What is
/// longer is no line of ours, and is read past without being kept.
pub(crate) const MAX_LINE: usize = 256 * 1024;

/// Bytes of `,"crc":"01234567"}`.
const SEAL: usize = 18;

/// Appends the line of a record to `out`, without the newline, and returns the body when it belongs in a blob.
///
/// On failure `out` holds a part of the line and has to be thrown away.
///
/// # Errors
/// Why the record cannot be written so that it can be read back.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    seq: Seq,
    time: Timestamp,
    record: &NewRecord,
) -> Result<Option<Blob>, String> {
    let start = out.len();
    let _ = write!(out, "{{\"v\":{VERSION},\"seq\":{seq},\"time\":\"{time}\",\"actor\":"); // A Vec takes all.
    serde_json::to_writer(&mut *out, &record.actor).map_err(|error| error.to_string())?;
    let body = encode_body(out, &record.body)?;
    if is_deeper_than(&out[body..], MAX_DEPTH) {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    // A body that looks like a reference would be read as one, so it becomes a blob itself.
    let blob = if out.len() - body > MAX_INLINE || BlobRef::of_body(&out[body..]).is_some() {
        let blob = Blob::new(out.split_off(body));
        serde_json::to_writer(&mut *out, &blob.reference()).map_err(|error| error.to_string())?;
        Some(blob)
    } else {
        None
    };
    let crc = crc32c::crc32c(&out[start..]);
    let _ = write!(out, ",\"crc\":\"{crc:08x}\"}}"); // A Vec takes all.
    if out.len() - start >= MAX_LINE {
        return Err("its line would be too long".to_owned());
    }
    Ok(blob)
}

/// Appends `,"kind":…,"body":…` and returns where the body begins.
fn encode_body(out: &mut Vec<u8>, body: &Body) -> Result<usize, String> {
    let wrong = |error: serde_json::Error| error.to_string();
    if let Body::Unknown { kind, body } = body {
        out.extend_from_slice(b",\"kind\":");
        serde_json::to_writer(&mut *out, kind).map_err(wrong)?;
        out.extend_from_slice(b",\"body\":");
        let start = out.len();
        serde_json::to_writer(&mut *out, body).map_err(wrong)?;
        return Ok(start);
    }
    // A body's own JSON is `{"kind":…,"body":…}`: written in place, only its braces have to go.
    let start = out.len();
    serde_json::to_writer(&mut *out, body).map_err(wrong)?;
    out[start] = b',';
    out.pop();
    let head = format!(",\"kind\":\"{}\",\"body\":", body.kind());
    if out[start..].starts_with(head.as_bytes()) {
        Ok(start + head.len())
    } else {
        Err(format!("the body of {} has another form than expected", body.kind()))
    }
}

/// Checks a line, without its newline, and reads its head.
///
/// # Errors
/// What is wrong with it. A line of a later format is that before all else: its checksum may be another.
pub(crate) fn check(bytes: &[u8]) -> Result<Line<'_>, Fault> {
    if let Some(format) = format_of(bytes).filter(|&format| format > u64::from(VERSION)) {
        return Err(Fault::Newer(format));
    }
    if bytes.len() >= MAX_LINE {
        return Err(Fault::TooLong);
    }
    let (text, seal) = bytes.split_at_checked(bytes.len().wrapping_sub(SEAL)).ok_or(Fault::Torn)?;
    let digits = seal.strip_prefix(b",\"crc\":\"").and_then(|rest| rest.strip_suffix(b"\"}"));
    let digits = digits.ok_or(Fault::Torn)?;
    if format!("{:08x}", crc32c::crc32c(text)).as_bytes() != digits {
        return Err(Fault::Checksum);
    }
    let whole = str::from_utf8(bytes).map_err(|error| Fault::Shape(error.to_string()))?;
    let line: Line<'_> = serde_json::from_str(whole).map_err(|error| Fault::Shape(error.to_string()))?;
    if line.v != VERSION {
        return Err(Fault::Shape(format!("format {} is unknown", line.v)));
    }
    Ok(line)
}

/// Returns the checksum at the end of a line that was checked.
pub(crate) fn seal(bytes: &[u8]) -> u32 {
    let digits = bytes.get(bytes.len().saturating_sub(10)..bytes.len().saturating_sub(2));
    digits.and_then(|digits| u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()).unwrap_or(0)
}

/// Returns the record of a checked line.
///
/// # Errors
/// A body that cannot be read, or whose blob is missing or another.
pub(crate) fn record(line: &Line<'_>, blobs: &Blobs) -> Result<Record, Fault> {
    let inline = line.body.get();
    let read = |text: &str| {
        Body::read_json(&line.kind, text).map_err(|error| Fault::Shape(format!("{}: {error}", line.kind)))
    };
    let body = match BlobRef::of_body(inline.as_bytes()) {
        Some(reference) => read(&blobs.read(&reference)?)?,
        None => read(inline)?,
    };
    Ok(Record { seq: line.seq, time: line.time, actor: line.actor.clone(), body })
}

/// Returns the number of the format that a line says it has, from its first bytes alone.
fn format_of(bytes: &[u8]) -> Option<u64> {
    let rest = bytes.strip_prefix(b"{\"v\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if rest.get(digits) != Some(&b',') {
        return None;
    }
    str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use maia_protocol::ActorPath;
    use serde_json::json;

    use super::*;

    fn told(text: &str) -> NewRecord {
        let body = Body::Told { from: "person".to_owned(), text: text.to_owned() };
        NewRecord::new(ActorPath::main(), body)
    }

    fn line(record: &NewRecord) -> (String, Option<Blob>) {
        let mut out = Vec::new();
        let time = "2026-11-30T10:00:00.25Z".parse().expect("a time");
        let blob = encode(&mut out, 7, time, record).expect("it can be written");
        (String::from_utf8(out).expect("JSON is text"), blob)
    }

    #[test]
    fn the_form_is_exact() {
        let (text, blob) = line(&told("a\n\"b\" é"));
        let head = r#"{"v":1,"seq":7,"time":"2026-11-30T10:00:00.25Z","actor":"maia","kind":"told","body":{"from":"person","text":"a\n\"b\" é"}"#;
        assert_eq!(text, format!("{head},\"crc\":\"{:08x}\"}}", crc32c::crc32c(head.as_bytes())));
        assert!(blob.is_none());
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283, "the Castagnoli polynomial");
    }

    #[test]
    fn every_other_byte_is_a_fault() {
        let (text, _) = line(&told("x"));
        for at in 0..text.len() {
            for flip in [1_u8, 0x20, 0x80] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= flip;
                assert!(check(&bytes).is_err(), "byte {at} flipped by {flip}");
            }
        }
        for len in 0..text.len() {
            assert!(check(&text.as_bytes()[..len]).is_err(), "the first {len} bytes");
        }
    }

    #[test]
    fn a_later_format_needs_no_checksum_of_ours() {
        assert_eq!(check(b"{\"v\":2,\"anything\":").err(), Some(Fault::Newer(2)));
        assert_eq!(check(b"{\"v\":2").err(), Some(Fault::Torn));
        assert_eq!(check(b"{\"v\":99999999999999999999,").err(), Some(Fault::Torn));
    }

    #[test]
    fn long_and_look_alike_bodies_become_blobs() {
        let body = |size: usize| {
            let around = r#"{"from":"person","text":""}"#.len();
            told(&"x".repeat(size - around))
        };
        assert!(line(&body(MAX_INLINE)).1.is_none());
        let (text, blob) = line(&body(MAX_INLINE + 1));
        let blob = blob.expect("one byte too many");
        assert!(
            text.contains(&format!("\"body\":{{\"blob\":\"{}\",\"bytes\":32769}}", blob.hash())),
            "{text}"
        );

        let look_alike = json!({"blob": "0".repeat(64), "bytes": 3});
        let unknown = Body::Unknown { kind: "dreamt".to_owned(), body: look_alike.clone() };
        let (text, blob) = line(&NewRecord::new(ActorPath::main(), unknown.clone()));
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::new(folder.path());
        blobs.store(&[blob.expect("it would be mistaken")]).expect("stored");
        let read = record(&check(text.as_bytes()).expect("a good line"), &blobs).expect("a good record");
        assert_eq!(read.body, unknown);
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let mut deep = json!(0);
        for _ in 0..=MAX_DEPTH {
            deep = json!([deep]);
        }
        let unknown = |kind: &str, body| {
            NewRecord::new(ActorPath::main(), Body::Unknown { kind: kind.to_owned(), body })
        };
        let encode = |record: &NewRecord| encode(&mut Vec::new(), 1, Timestamp::UNIX_EPOCH, record);
        assert!(encode(&unknown("dreamt", deep)).is_err());
        assert!(encode(&unknown(&"k".repeat(MAX_LINE), json!(1))).is_err());
        assert!(encode(&NewRecord { actor: ActorPath::new("a".repeat(MAX_LINE)), ..told("x") }).is_err());
    }

    #[test]
    fn a_kind_with_quotes_and_a_missing_blob() {
        let odd = Body::Unknown { kind: "a\"b\\".to_owned(), body: json!(null) };
        let (text, _) = line(&NewRecord::new(ActorPath::new("x\"/y"), odd.clone()));
        let blobs = Blobs::new(Path::new("/nonexistent"));
        let read = record(&check(text.as_bytes()).expect("a good line"), &blobs).expect("a good record");
        assert_eq!((read.actor.as_str(), read.body), ("x\"/y", odd));

        let (text, blob) = line(&told(&"x".repeat(MAX_INLINE)));
        let fault = record(&check(text.as_bytes()).expect("a good line"), &blobs).expect_err("no blob");
        assert!(fault.to_string().contains(blob.expect("long").hash()), "{fault}");
    }
}
