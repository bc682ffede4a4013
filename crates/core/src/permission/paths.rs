//! Paths as text: where a written path leads, and which patterns cover it.
//!
//! - Asked by the rules of Read, Write, Edit, Glob, Grep and Redirect (mission M9.3-paths).
//! - Looks at no disk: links are resolved by who calls, and both paths are judged (cases S074 to S076).

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Length of a pattern, in bytes, above which it is not taken: compiling it would cost too much.
const MAX_PATTERN: usize = 2_048;

/// Where a call is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Launch folder: absolute, with its links resolved.
    pub cwd: PathBuf,
    /// Home folder of the person, absolute.
    pub home: PathBuf,
    /// Folder of maia's state, absolute; `None` where it is not known, as in checks.
    pub state: Option<PathBuf>,
}

impl Place {
    /// Returns where `written` leads by its text: relative to `base`, `~` expanded, dots taken out.
    pub(super) fn resolve_from(&self, base: &Path, written: &str) -> PathBuf {
        let joined = if written == "~" {
            self.home.clone()
        } else if let Some(rest) = written.strip_prefix("~/") {
            self.home.join(rest.trim_start_matches('/'))
        } else {
            base.join(written)
        };
        normalize(&joined)
    }

    /// Returns where `written` leads from the launch folder (mission M8-paths).
    pub(super) fn resolve(&self, written: &str) -> PathBuf {
        self.resolve_from(&self.cwd, written)
    }

    /// Returns whether `path` is the launch folder or lies in it.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.starts_with(normalize(&self.cwd))
    }

    /// Returns `path` for a person: relative where it lies in the launch folder.
    pub(super) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(normalize(&self.cwd)) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }
}

/// Takes `.`, `..` and doubled slashes out of an absolute path, by its text alone.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// From where a pattern counts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    /// The launch folder, this many folders up.
    Launch(usize),
    Home,
    Root,
}

/// A compiled pattern on paths.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    base: Base,
    glob: GlobSet,
    /// The folder whose content the pattern covers, where it ends in `/**`: a search in it is a search of its content.
    folder: Option<GlobSet>,
    /// Whether the pattern names one path, without wildcards.
    pub is_literal: bool,
}

impl PathPattern {
    /// Compiles `pattern`; `below` makes a trailing slash mean all that lies below, as deny and ask need it.
    ///
    /// # Errors
    /// Says what is wrong with the pattern.
    pub fn new(pattern: &str, below: bool) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN {
            return Err(format!("the pattern is longer than {MAX_PATTERN} bytes"));
        }
        let mut base = Base::Launch(0);
        let mut rest = pattern;
        if let Some(after) = pattern.strip_prefix("~/") {
            (base, rest) = (Base::Home, after);
        } else if pattern == "~" {
            (base, rest) = (Base::Home, "");
        } else if pattern.starts_with('/') {
            base = Base::Root;
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => match (parts.pop(), &mut base) {
                    (Some(before), _) if before.contains(['*', '?', '[', '{']) => {
                        return Err("`..` after a wildcard leads nowhere known".to_owned());
                    }
                    (Some(_), _) | (None, Base::Root | Base::Home) => {}
                    (None, Base::Launch(up)) => *up += 1,
                },
                part => parts.push(part),
            }
        }
        if rest.ends_with('/') && below && !parts.is_empty() {
            parts.push("**");
        }
        let text = parts.join("/");
        let is_literal =
            !text.contains(['*', '?', '[', '{']) || !text.replace(r"\*", "").contains(['*', '?', '[', '{']);
        let folder = match text.strip_suffix("/**") {
            Some(folder) => Some(compile(folder)?),
            None if text == "**" => Some(compile("")?),
            None => None,
        };
        Ok(Self { base, glob: compile(&text)?, folder, is_literal })
    }

    /// Returns whether the pattern covers the absolute, normalized `path`.
    ///
    /// `searches` is set for tools that look into a folder: `src/**` then covers `src` itself too.
    pub fn covers(&self, path: &Path, place: &Place, searches: bool) -> bool {
        let launch;
        let base = match self.base {
            Base::Root => Path::new("/"),
            Base::Home => &place.home,
            Base::Launch(up) => {
                launch = normalize(&place.cwd);
                match launch.ancestors().nth(up) {
                    Some(base) => base,
                    None => return false,
                }
            }
        };
        let Ok(relative) = path.strip_prefix(base) else { return false };
        self.glob.is_match(relative)
            || (searches && self.folder.as_ref().is_some_and(|folder| folder.is_match(relative)))
    }
}

fn compile(text: &str) -> Result<GlobSet, String> {
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| error.kind().to_string())?;
    GlobSetBuilder::new().add(glob).build().map_err(|error| error.kind().to_string())
}

/// Writes `text` so that a pattern takes it for exactly this text.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | ',' | '!') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { cwd: "/projects/p".into(), home: "/home/me".into(), state: None }
    }

    #[test]
    fn written_paths_lead_where_the_tools_would_go() {
        let place = place();
        for (written, expect) in [
            ("a", "/projects/p/a"),
            ("./a//b/", "/projects/p/a/b"),
            ("a/../../x", "/projects/x"),
            ("~/a", "/home/me/a"),
            ("~//a", "/home/me/a"),
            ("~a", "/projects/p/~a"),
            ("/../etc", "/etc"),
            ("", "/projects/p"),
        ] {
            assert_eq!(place.resolve(written), Path::new(expect), "{written}");
        }
    }

    #[test]
    fn patterns_cover_what_they_name() {
        let place = place();
        for (pattern, path, expect) in [
            ("src/**", "src/a/b", true),
            ("src/**", "src/.a", true),
            ("src/**", "src", false),
            ("src/*", "src/a/b", false),
            ("./src/*", "src/a", true),
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**/*.rs", "a.rs", true),
            ("../x/*", "/projects/x/a", true),
            ("/projects/p/a", "a", true),
            ("~/x", "/home/me/x", true),
            ("{a,b}/c", "b/c", true),
            (r"\[id\].ts", "[id].ts", true),
            ("**", "/etc/x", false),
            ("/**", "/etc/x", true),
            ("a/../b", "b", true),
        ] {
            let compiled = PathPattern::new(pattern, false).expect("compiles");
            assert_eq!(compiled.covers(&place.resolve(path), &place, false), expect, "{pattern} on {path}");
        }
        let all = PathPattern::new("**", false).expect("compiles");
        assert!(all.covers(&place.cwd, &place, true));
        let below = PathPattern::new("secrets/", true).expect("compiles");
        assert!(below.covers(&place.resolve("secrets/a"), &place, false));
        assert!(PathPattern::new("a[", false).is_err());
        assert!(PathPattern::new("*/../x", false).is_err());
    }

    #[test]
    fn an_escaped_name_is_covered_by_its_pattern() {
        let place = place();
        for name in ["a b", "[id].tsx", "{a,b}", r"back\slash", "q?*!", "é"] {
            let pattern = PathPattern::new(&escape(name), false).expect("compiles");
            assert!(pattern.covers(&place.resolve(name), &place, false), "{name}");
        }
    }
}
