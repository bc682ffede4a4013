//! What the tests of the whole house share: where the repository lies, and its files.
//!
//! - Asked by the integration tests beside it; nothing of the product depends on this package.
//! - Owns nothing: it reads the work tree as it stands.

pub mod harness;

use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Returns `path` as seen from the repository, with forward slashes.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Returns the text of a file of the repository.
///
/// # Errors
/// A sentence with the file's name when it cannot be read.
pub fn text(path: impl AsRef<Path>) -> Result<String, String> {
    let path = root().join(path);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", shown(&path)))
}

/// Returns every file below `folder` of the repository, sorted, without what builds leave and what git keeps.
///
/// # Errors
/// A sentence with the name of a folder that cannot be listed.
pub fn files(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", shown(&folder)))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", shown(&folder)))?;
            let kind = entry.file_type().map_err(|error| format!("{}: {error}", shown(&entry.path())))?;
            let left_out = matches!(entry.file_name().to_str(), Some("target" | ".git"));
            if kind.is_dir() && !left_out {
                open.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the folders directly below `folder` of the repository, sorted; none where it does not exist.
///
/// # Errors
/// A sentence with the name of a folder that cannot be listed.
pub fn folders(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, String> {
    let folder = root().join(folder);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", shown(&folder)))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

/// Returns the code blocks of a Markdown text: the line before the block, its language, its text.
pub fn blocks(markdown: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut before = "";
    let mut open: Option<Block<'_>> = None;
    for line in markdown.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => block.lines.push(line),
            (None, Some(language)) => {
                open = Some(Block { before, language: language.trim(), lines: Vec::new() });
            }
            (None, None) => before = line,
        }
    }
    found
}

/// A code block of a Markdown text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The line before its opening fence.
    pub before: &'a str,
    /// What the opening fence names.
    pub language: &'a str,
    /// Its lines.
    pub lines: Vec<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_what_stands_before_them() {
        let found = blocks("text\n<!-- mark -->\n```sh\none\ntwo\n```\nmore\n```json\n{}\n```\n");
        let first = Block { before: "<!-- mark -->", language: "sh", lines: vec!["one", "two"] };
        let second = Block { before: "more", language: "json", lines: vec!["{}"] };
        assert_eq!(found, [first, second]);
    }
}
