//! Counts a folder's files by kind and by folder, from a Grep that counted the lines of each.
//!
//! - Asked by the explorers; pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Call;
use super::prose::{code, count, figure, lines, listed};

/// Files that one survey counts at most; it says so where there are more.
const FILES: usize = 2000;
/// Kinds and folders that are named.
const NAMED: usize = 4;
/// Characters of a path that are shown.
pub(super) const PATH: usize = 90;

/// Files of a programming language, as a filter of Grep.
pub(super) const SOURCES: &str = "**/*.{rs,py,js,jsx,mjs,ts,tsx,go,java,kt,scala,c,h,cc,cpp,hpp,cs,rb,php,swift,m,lua,pl,\
                                  sh,bash,ex,exs,erl,hs,ml,clj,dart,jl,r,sql,vue,svelte,zig,nim}";

/// Endings and what they are called.
const KINDS: &[(&str, &str)] = &[
    ("rs", "Rust"),
    ("py", "Python"),
    ("js", "JavaScript"),
    ("mjs", "JavaScript"),
    ("jsx", "JavaScript"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("go", "Go"),
    ("java", "Java"),
    ("kt", "Kotlin"),
    ("c", "C"),
    ("h", "C headers"),
    ("cc", "C++"),
    ("cpp", "C++"),
    ("hpp", "C++"),
    ("cs", "C#"),
    ("rb", "Ruby"),
    ("php", "PHP"),
    ("swift", "Swift"),
    ("sh", "shell"),
    ("bash", "shell"),
    ("md", "Markdown"),
    ("rst", "reStructuredText"),
    ("txt", "text"),
    ("json", "JSON"),
    ("jsonl", "JSON lines"),
    ("yaml", "YAML"),
    ("yml", "YAML"),
    ("toml", "TOML"),
    ("html", "HTML"),
    ("css", "CSS"),
    ("scss", "CSS"),
    ("sql", "SQL"),
    ("csv", "CSV"),
    ("xml", "XML"),
    ("svg", "SVG"),
    ("lock", "lock files"),
];

/// Returns the call that counts the lines of all files, or of those that `glob` names.
pub(super) fn call(glob: Option<&str>) -> Call {
    let mut input = json!({"pattern": "^", "output_mode": "count", "head_limit": FILES});
    if let Some(glob) = glob {
        input["glob"] = Value::from(glob);
    }
    ("Grep", input)
}

/// Returns files with their counts from a Grep's result in mode `count`.
pub(super) fn counts(output: &str) -> Vec<(&str, u64)> {
    let read = |line| -> Option<(&str, u64)> {
        let (path, count) = str::rsplit_once(line, ':')?;
        Some((path, count.parse().ok()?))
    };
    lines(output).filter_map(read).collect()
}

/// What there is.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    pub(super) files: usize,
    pub(super) lines: u64,
    /// The longest files, longest first.
    pub(super) longest: Vec<(&'a str, u64)>,
    kinds: Vec<(String, usize)>,
    folders: Vec<(String, usize)>,
    top: usize,
    cut: bool,
}

impl<'a> Survey<'a> {
    pub(super) fn read(output: &'a str) -> Self {
        let counts = counts(output);
        let (mut kinds, mut folders) = (BTreeMap::new(), BTreeMap::new());
        let mut top = 0;
        for (path, _) in &counts {
            *kinds.entry(kind(path)).or_default() += 1;
            match path.trim_start_matches('"').split_once('/') {
                Some((folder, _)) => *folders.entry(format!("{folder}/")).or_default() += 1,
                None => top += 1,
            }
        }
        let (files, lines) = (counts.len(), counts.iter().map(|(_, lines)| lines).sum());
        let mut longest = counts;
        longest.sort_by_key(|(path, lines)| (Reverse(*lines), *path));
        Self { files, lines, longest, kinds: most(kinds), folders: most(folders), top, cut: files >= FILES }
    }

    /// Says how many files there are, of which kinds.
    pub(super) fn kinds(&self, what: &str) -> String {
        let first = if self.cut { "I counted the first " } else { "There are " };
        let first = if self.files == 1 { "There is " } else { first };
        let named =
            self.kinds.iter().take(NAMED).map(|(kind, files)| format!("{} {kind}", figure(*files as u64)));
        let mut named: Vec<String> = named.collect();
        let others: usize = self.kinds.iter().skip(NAMED).map(|(_, files)| files).sum();
        if others > 0 {
            named.push(format!("{} others", figure(others as u64)));
        }
        let lines = count(usize::try_from(self.lines).unwrap_or(usize::MAX), "line");
        let rest = if self.cut { "; there are more" } else { "" };
        format!("{first}{} with {lines}: {}{rest}.", count(self.files, what), listed(&named))
    }

    /// Says in which folders they lie; nothing where there is none.
    pub(super) fn places(&self) -> Option<String> {
        let named = self.folders.iter().take(NAMED);
        let named: Vec<String> = named
            .map(|(folder, files)| format!("{} ({})", code(folder, PATH), figure(*files as u64)))
            .collect();
        if named.is_empty() {
            return None;
        }
        let verb = if self.folders.len() > NAMED && !self.cut { "Most lie in" } else { "They lie in" };
        let others = self.folders.len().saturating_sub(NAMED);
        let others =
            if others > 0 { format!(", and {}", count(others, "more folder")) } else { String::new() };
        let top = match self.top {
            0 => String::new(),
            1 => "; one lies at the top".to_owned(),
            top => format!("; {} lie at the top", figure(top as u64)),
        };
        Some(format!("{verb} {}{others}{top}.", listed(&named)))
    }
}

/// Returns what kind of file a path names.
fn kind(path: &str) -> String {
    let name = path.trim_end_matches('"').rsplit('/').next().unwrap_or(path);
    let ending = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.to_lowercase(),
        _ => return "without ending".to_owned(),
    };
    if let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == ending) {
        return (*kind).to_owned();
    }
    let short = ending.chars().count() <= 12 && ending.chars().all(char::is_alphanumeric);
    if short { format!(".{ending}") } else { "with odd names".to_owned() }
}

/// Orders what was counted: the most first, equal ones by name.
fn most(counts: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut most: Vec<_> = counts.into_iter().collect();
    most.sort_by_key(|(_, count)| Reverse(*count));
    most
}
