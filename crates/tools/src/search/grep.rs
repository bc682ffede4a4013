//! Finds lines by a regular expression (mission M8-grep).
//!
//! - Rust syntax, line by line; files are read whole, up to their limit, so what is a text is known before a line is given.
//! - What `.gitignore` names, `.git`, `node_modules`, binaries and files above the limit are left out. A file that the
//!   call names itself is searched though git ignores it.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use maia_protocol::tool::{Target, ToolOutput};
use serde_json::Value;

use super::lines::{Lines, Outcome};
use super::pattern::Filter;
use super::walk::{Then, Walk};
use super::{Bounds, shown, text};
use crate::args::{self, Call, GrepArgs};
use crate::bash::Cancel;
use crate::fault::Fault;
use crate::file::folder::{Folder, Identity, Missing};
use crate::file::sniff::{self, Kind, SAMPLE};
use crate::place::Workspace;

/// Bytes of a file that is searched (mission M8-grep: 2 MB).
const FILE: u64 = 2 * 1024 * 1024;
/// Bytes that a compiled expression may take.
const REGEX: usize = 10 * 1024 * 1024;

/// See [`super::grep`].
pub(super) fn grep(
    input: &Value,
    target: &Target,
    workspace: &Workspace,
    hidden: &dyn Fn(&Path) -> bool,
    cancel: &Cancel,
    bounds: Bounds,
) -> Result<ToolOutput, Fault> {
    let Some(Call::Grep(args)) = args::parse("Grep", input)? else {
        return Err(Fault::InvalidInput("this is no Grep".to_owned()));
    };
    let matcher = compile(&args)?;
    let filter = args.glob.as_deref().map(Filter::new).transpose()?;
    let start = target.path.as_path();
    let mut walk = Walk::new(bounds, cancel);
    let mut lines = Lines::new(&args, matcher);
    let mut skipped = Skipped::default();
    let mut notes = Vec::new();
    if start.is_dir() {
        walk.folder(target, workspace, &mut |walk, found| {
            let relative = found.path.strip_prefix(start).unwrap_or(found.path);
            let wanted = !found.is_link && filter.as_ref().is_none_or(|filter| filter.takes(relative));
            if !wanted || hidden(found.path) {
                return Then::GoOn;
            }
            match content(found.folder, found.name, found.path) {
                Ok(Content::Text(bytes)) => {
                    walk.read(bytes.len());
                    match lines.search(&shown(found.path, workspace), &bytes) {
                        Outcome::GoOn => Then::GoOn,
                        Outcome::Full => Then::Stop,
                    }
                }
                other => skipped.count(&other),
            }
        })?;
    } else {
        match one(target, hidden)? {
            Content::Text(bytes) => {
                lines.search(&shown(start, workspace), &bytes);
            }
            Content::Binary => notes.push("it is a binary file".to_owned()),
            other => {
                skipped.count(&Ok(other));
            }
        }
    }
    notes.extend(lines.cut());
    notes.extend(skipped.notes());
    notes.extend(walk.notes());
    let nothing = format!(
        "no line matches {} (not searched: .git, node_modules, what .gitignore names, binaries)",
        args.pattern
    );
    let truncated = lines.cut().is_some() || walk.is_cut();
    Ok(ToolOutput { truncated, ..ToolOutput::ok(text(lines.into_text(), &nothing, &notes)) })
}

/// Compiles the expression of a call, for lines that end in `\n` or `\r\n`.
///
/// # Errors
/// [`Fault::InvalidInput`] with what is wrong and where.
fn compile(args: &GrepArgs) -> Result<RegexMatcher, Fault> {
    RegexMatcherBuilder::new()
        .case_insensitive(args.ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(REGEX)
        .dfa_size_limit(REGEX)
        .build(&args.pattern)
        .map_err(|error| Fault::InvalidInput(complaint(&args.pattern, &error)))
}

/// Says what is wrong with an expression, with the place, in characters from 1.
fn complaint(pattern: &str, error: &grep_regex::Error) -> String {
    let found = match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => Some((error.kind().to_string(), error.span().start.offset)),
        Err(regex_syntax::Error::Translate(error)) => {
            Some((error.kind().to_string(), error.span().start.offset))
        }
        _ => None,
    };
    match (found, error.kind()) {
        (Some((what, offset)), _) => {
            let at = pattern.get(..offset).map_or(0, |before| before.chars().count()) + 1;
            format!(
                "the regular expression {pattern:?} is wrong at character {at}: {what} (Rust syntax; a backslash makes a \
                 special character plain)"
            )
        }
        (None, grep_regex::ErrorKind::NotAllowed(_)) => {
            format!(
                "the regular expression {pattern:?} holds a line break, but lines are searched one by one"
            )
        }
        (None, _) => format!("the regular expression {pattern:?} cannot be used: {error}"),
    }
}

/// What a file has to search.
enum Content {
    Text(Vec<u8>),
    Binary,
    TooLarge,
    /// It is gone, or is no regular file any more.
    Nothing,
}

/// Reads the file `name` of `folder`; `path` is for the fault only.
///
/// # Errors
/// What the system says.
fn content(folder: &Folder, name: &OsStr, path: &Path) -> Result<Content, Fault> {
    let Some((file, stat)) = folder.file(name, path)? else { return Ok(Content::Nothing) };
    if u64::try_from(stat.st_size).unwrap_or(0) > FILE {
        return Ok(Content::TooLarge);
    }
    let mut bytes = Vec::new();
    file.take(FILE + 1).read_to_end(&mut bytes).map_err(|source| Fault::io(path, "read", source))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE {
        return Ok(Content::TooLarge);
    }
    let sample = bytes.get(..SAMPLE).unwrap_or(&bytes);
    Ok(match sniff::kind(sample) {
        Kind::Binary(_) => Content::Binary,
        Kind::Utf16 { little_endian } => {
            Content::Text(sniff::decode_utf16(&bytes, little_endian).into_bytes())
        }
        _ if bytes.contains(&0) => Content::Binary,
        _ if bytes.starts_with(b"\xef\xbb\xbf") => Content::Text(bytes.split_off(3)),
        _ => Content::Text(bytes),
    })
}

/// Reads the one file that a call names.
fn one(target: &Target, hidden: &dyn Fn(&Path) -> bool) -> Result<Content, Fault> {
    let path = target.path.as_path();
    let Some((parent, name)) = path.parent().zip(path.file_name()) else {
        return Err(Fault::IsDirectory(path.to_owned()));
    };
    if hidden(path) {
        return Err(Fault::PermissionDenied { path: path.to_owned(), what: "read" });
    }
    let judged = Identity { device: target.device, inode: target.inode };
    let folder = Folder::open(parent, judged, Missing::Stop)?;
    let found = if folder.complete { content(&folder, name, path)? } else { Content::Nothing };
    if matches!(found, Content::Nothing) { Err(Fault::NothingToSearch(path.to_owned())) } else { Ok(found) }
}

/// Files that were not searched.
#[derive(Default)]
struct Skipped {
    large: usize,
    unreadable: usize,
}

impl Skipped {
    fn count(&mut self, content: &Result<Content, Fault>) -> Then {
        match content {
            Ok(Content::TooLarge) => self.large += 1,
            // Binaries are in every folder and never meant; the others might be what is looked for.
            Ok(Content::Text(_) | Content::Binary | Content::Nothing) => {}
            Err(_) => self.unreadable += 1,
        }
        Then::GoOn
    }

    fn notes(&self) -> Vec<String> {
        let notes = [(self.large, "over 2 MB not searched"), (self.unreadable, "could not be read")];
        let files = |count| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        notes
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{} {why}", files(*count)))
            .collect()
    }
}
