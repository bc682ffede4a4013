//! Patterns on file names, and how a Glob's pattern comes apart into a folder and the rest.
//!
//! - Asked by Glob for its pattern and by Grep for its `glob`; pure.
//! - `*` and `?` stay within one name, `**` covers any number of folders, hidden names are names like others: the
//!   patterns of rules mean the same (mission M9.3-paths). As there, `?` stands for one byte: `globset` knows no other.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::fault::Fault;

/// A Glob's pattern, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The folders in front of the first wildcard: absolute, `~/…`, or relative to the folder of the call; may be empty.
    pub(crate) root: String,
    /// What is compared with paths below that folder.
    pub(crate) rest: String,
}

/// Takes `pattern` apart.
///
/// # Errors
/// [`Fault::InvalidInput`] for `..` where no folder is known, and for a pattern without a name.
pub(crate) fn parts(pattern: &str) -> Result<Parts, Fault> {
    let names: Vec<&str> = pattern.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let literal = names.iter().take_while(|name| !name.contains(['*', '?', '[', '{', '\\'])).count();
    // The last name is the one that is looked for, wildcard or not.
    let count = literal.min(names.len().saturating_sub(1));
    let (root, rest) = names.split_at(count);
    if rest.is_empty() || rest.contains(&"..") {
        return Err(Fault::InvalidInput(format!(
            "the pattern {pattern:?} names no files; name the folder in \"path\" and the files in \"pattern\""
        )));
    }
    let start = if pattern.starts_with('/') { "/" } else { "" };
    Ok(Parts { root: format!("{start}{}", root.join("/")), rest: rest.join("/") })
}

/// Compiles a pattern on paths relative to the folder searched.
///
/// # Errors
/// [`Fault::InvalidInput`] with what is wrong.
pub(crate) fn compile(pattern: &str) -> Result<GlobMatcher, Fault> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| Fault::InvalidInput(format!("{pattern:?} is no pattern: {}", error.kind())))?;
    Ok(glob.compile_matcher())
}

/// Which files a Grep looks into.
pub(crate) struct Filter {
    matcher: GlobMatcher,
    /// Whether the pattern names what is left out (`!*.lock`).
    negated: bool,
}

impl Filter {
    /// Compiles a Grep's `glob`: without a slash it is about names in any folder, as in ripgrep and `.gitignore`.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] with what is wrong.
    pub(crate) fn new(glob: &str) -> Result<Self, Fault> {
        let (negated, glob) = glob.strip_prefix('!').map_or((false, glob), |rest| (true, rest));
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let mut pattern = match glob.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if glob.trim_end_matches('/').contains('/') => glob.to_owned(),
            None => format!("**/{glob}"),
        };
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        Ok(Self { matcher: compile(&pattern)?, negated })
    }

    /// Tells whether the file at `relative` is to be searched.
    pub(crate) fn takes(&self, relative: &Path) -> bool {
        self.matcher.is_match(relative) != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_comes_apart_before_its_first_wildcard() {
        for (pattern, root, rest) in [
            ("*.rs", "", "*.rs"),
            ("src/**/*.rs", "src", "**/*.rs"),
            ("./src//a/./b.rs", "src/a", "b.rs"),
            ("a.rs", "", "a.rs"),
            ("src/", "", "src"),
            ("/etc/*", "/etc", "*"),
            ("/*", "/", "*"),
            ("~/x/*.md", "~/x", "*.md"),
            ("../x/{a,b/c}/d", "../x", "{a,b/c}/d"),
            (r"a/\[id\]/b", "a", r"\[id\]/b"),
        ] {
            let parts = parts(pattern).expect(pattern);
            assert_eq!((parts.root.as_str(), parts.rest.as_str()), (root, rest), "{pattern}");
        }
        for pattern in ["..", "*/../x", "/", ".", "a/.."] {
            assert!(matches!(parts(pattern), Err(Fault::InvalidInput(_))), "{pattern}");
        }
    }

    #[test]
    fn a_filter_takes_names_or_paths() {
        for (glob, path, expect) in [
            ("*.rs", "a/b.rs", true),
            ("*.rs", "b.rs", true),
            ("*.{ts,tsx}", "a/b.tsx", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "x/src/a.rs", false),
            ("/src/*.rs", "src/a.rs", true),
            ("/*.rs", "src/a.rs", false),
            ("**/src/*.rs", "x/src/a.rs", true),
            ("src/", "x/src/a/b.rs", true),
            ("!*.lock", "a/b.lock", false),
            ("!*.lock", "a/b.rs", true),
        ] {
            let filter = Filter::new(glob).expect(glob);
            assert_eq!(filter.takes(Path::new(path)), expect, "{glob} on {path}");
        }
        assert!(Filter::new("a[").is_err());
    }
}
