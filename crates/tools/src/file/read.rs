//! Gives a page of a text file (mission M8-read, W-tool-read).
//!
//! - Asked under the reader's lock, for the path that was judged.
//! - Memory is bounded whatever the file: it is streamed, and only the lines asked for are kept.
//! - What is given is capped by lines, by characters of a line and by bytes of the page; a note says how to go on.

use std::fs::File;
use std::io::Read;

use maia_protocol::tool::{Seen, Target, ToolOutput};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::folder::{self, Folder, Identity, Missing};
use super::sniff::{self, Kind, SAMPLE};
use crate::args::{self, Call, ReadArgs};
use crate::fault::Fault;
use crate::place::Workspace;

/// Bytes of a page (W-tool-read).
const PAGE: usize = 64 * 1024;
/// Characters of a line that are shown at once.
const LINE: usize = 2000;
/// Bytes of a file in UTF-16 that is decoded: it is held in memory.
const UTF16_LIMIT: u64 = 16 * 1024 * 1024;
/// Bytes up to which the whole file is read for its hash and its number of lines.
const WHOLE: u64 = 256 * 1024 * 1024;

/// See [`crate::read`].
///
/// Links are refused on the whole way. Device and inode of the file itself are not compared: an earlier call of the same
/// response may have put a new file in place, and a link to elsewhere cannot pass.
pub(crate) fn read(input: &Value, target: &Target, workspace: &Workspace) -> Result<ToolOutput, Fault> {
    let Some(Call::Read(args)) = args::parse("Read", input)? else {
        return Err(Fault::InvalidInput("this is no Read".to_owned()));
    };
    let path = target.path.as_path();
    let Some((parent, name)) = path.parent().zip(path.file_name()) else {
        return Err(Fault::IsDirectory(path.to_owned()));
    };
    let judged = Identity { device: target.device, inode: target.inode };
    let folder = Folder::open(parent, judged, Missing::Stop)?;
    let found = if folder.complete { folder.file(name, path)? } else { None };
    let Some((mut file, stat)) = found else { return Err(Fault::FileNotFound(path.to_owned())) };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let io = |source| Fault::io(path, "read", source);

    let mut sample = Vec::new();
    (&mut file).take(SAMPLE as u64).read_to_end(&mut sample).map_err(io)?;
    let mut page = Page::new(&args);
    let hash = match sniff::kind(&sample) {
        Kind::Binary(why) => return Err(Fault::Binary { path: path.to_owned(), why: why.to_owned() }),
        Kind::Foreign => {
            let found = "in an unknown encoding (Bash: iconv -f … -t utf-8)".to_owned();
            return Err(Fault::Encoding { path: path.to_owned(), found });
        }
        Kind::Utf16 { .. } if size > UTF16_LIMIT => {
            return Err(Fault::TooLarge {
                what: "a file in UTF-16".to_owned(),
                bytes: size,
                limit: UTF16_LIMIT,
            });
        }
        Kind::Utf16 { little_endian } => {
            (&mut file).take(UTF16_LIMIT).read_to_end(&mut sample).map_err(io)?;
            page.push(sniff::decode_utf16(&sample, little_endian).as_bytes());
            page.note = Some("the file is UTF-16; Edit refuses it");
            Some(folder::hash(&sample))
        }
        Kind::Text => {
            let start = sample.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&sample);
            page.push(start);
            stream(&mut file, &mut page, Sha256::new_with_prefix(&sample), size <= WHOLE).map_err(io)?
        }
    };
    page.finish();
    let (text, truncated) = page.text(&args, &workspace.shown(path))?;
    let seen = hash.map(|hash| Seen { path: path.to_owned(), hash });
    Ok(ToolOutput { truncated, seen, ..ToolOutput::ok(text) })
}

/// Feeds the rest of the file to the page; returns the hash when the file was read to its end.
fn stream(
    file: &mut File,
    page: &mut Page,
    mut hasher: Sha256,
    whole: bool,
) -> std::io::Result<Option<String>> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if !whole && page.full() {
            page.stopped = true;
            return Ok(None);
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(folder::hex(hasher))),
            Ok(n) => {
                let bytes = buffer.get(..n).unwrap_or_default();
                hasher.update(bytes);
                page.push(bytes);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The lines asked for, while the file goes by.
struct Page {
    first: u64,
    last: u64,
    skip: usize,
    /// Number of the line that goes by, from 1.
    line: u64,
    /// Its bytes as far as they may be shown.
    current: Vec<u8>,
    /// Its characters that are not kept.
    dropped: usize,
    /// Whether anything of it has gone by.
    begun: bool,
    shown: String,
    /// Last line shown.
    until: u64,
    /// Whether lines were left out because the page was full.
    overflow: bool,
    /// Whether a line was cut.
    cut: bool,
    /// Whether a byte could not be shown.
    lossy: bool,
    /// Whether the file was not read to its end.
    stopped: bool,
    note: Option<&'static str>,
}

impl Page {
    fn new(args: &ReadArgs) -> Self {
        Self {
            first: args.offset,
            last: args.offset.saturating_add(args.lines() - 1),
            skip: usize::try_from(args.line_offset - 1).unwrap_or(usize::MAX),
            line: 1,
            current: Vec::new(),
            dropped: 0,
            begun: false,
            shown: String::new(),
            until: 0,
            overflow: false,
            cut: false,
            lossy: false,
            stopped: false,
            note: None,
        }
    }

    /// Whether nothing that follows can be shown.
    fn full(&self) -> bool {
        self.overflow || self.line > self.last
    }

    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ended = piece.ends_with(b"\n");
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.begun = true;
            if self.line >= self.first && !self.full() {
                self.keep(text);
            }
            if ended {
                self.end_line();
            }
        }
    }

    /// Keeps as many bytes of the line as its shown characters can take.
    fn keep(&mut self, text: &[u8]) {
        let skip = if self.line == self.first { self.skip } else { 0 };
        let room = skip.saturating_add(LINE + 1).saturating_mul(4).saturating_sub(self.current.len());
        let kept = text.len().min(room);
        let (now, later) = text.split_at(kept);
        self.current.extend_from_slice(now);
        // Every character has exactly one byte that is no continuation.
        self.dropped += later.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    }

    fn end_line(&mut self) {
        if self.begun && self.line >= self.first && !self.full() {
            self.show();
        }
        self.current.clear();
        self.dropped = 0;
        self.begun = false;
        self.line += 1;
    }

    fn show(&mut self) {
        let bytes = self.current.strip_suffix(b"\r").unwrap_or(&self.current);
        let text = String::from_utf8_lossy(bytes);
        let lossy = matches!(text, std::borrow::Cow::Owned(_)) && self.dropped == 0;
        let skip = if self.line == self.first { self.skip } else { 0 };
        let all = text.chars().count() + self.dropped;
        let part: String = text.chars().skip(skip).take(LINE).collect();
        let until = skip.min(all) + part.chars().count();
        let mut line = format!("{:>6}\t{part}", self.line);
        if until < all {
            let more = all - until;
            line.push_str(&format!(
                " [… {more} more characters: offset {}, line_offset {}]",
                self.line,
                until + 1
            ));
        }
        if !self.shown.is_empty() && self.shown.len() + line.len() >= PAGE {
            self.overflow = true;
            return;
        }
        self.cut |= until < all;
        self.lossy |= lossy;
        self.until = self.line;
        self.shown.push_str(&line);
        self.shown.push('\n');
    }

    /// Ends the last line, when the file does not end with a line end.
    fn finish(&mut self) {
        if self.begun {
            self.end_line();
        }
    }

    /// Returns the page with its notes, and whether something was left out.
    fn text(mut self, args: &ReadArgs, shown_path: &str) -> Result<(String, bool), Fault> {
        let lines = self.line - 1;
        if lines == 0 {
            return Ok(("[the file is empty]".to_owned(), false));
        }
        if self.until == 0 {
            let why = format!("offset {} is beyond the end: {shown_path} has {lines} lines", args.offset);
            return Err(Fault::InvalidInput(why));
        }
        let more = self.stopped || self.until < lines;
        let mut notes = Vec::new();
        if more {
            let of = if self.stopped { "more".to_owned() } else { lines.to_string() };
            notes.push(format!(
                "lines {}-{} of {of}; go on with offset {}",
                self.first,
                self.until,
                self.until + 1
            ));
        }
        if self.lossy {
            notes.push("bytes that are not UTF-8 are shown as \u{fffd}; Edit refuses this file".to_owned());
        }
        notes.extend(self.note.map(str::to_owned));
        for note in notes {
            self.shown.push_str(&format!("[{note}]\n"));
        }
        let truncated = self.cut || self.overflow || (more && args.limit.is_none());
        self.shown.truncate(self.shown.trim_end_matches('\n').len());
        Ok((self.shown, truncated))
    }
}
