//! Paths with wildcards, which the shell makes one or many paths of: which guarded ones they may become.
//!
//! - Asked for the words of commands (`bash::named`); a path without wildcards is judged in `guarded.rs`.
//! - Matches as bash does: a wildcard at the beginning of a name stands for no dot. `[…]` counts as any character, which
//!   is too much rather than too little.
//! - A name of nothing but stars is left alone: `wc -l *` names no secret, though it may meet one.

use std::path::Path;

use super::guarded::{
    MAY_BE_A_KEY, MAY_HOLD_KEYS, OF_A_PROGRAM, OF_A_SHELL, PROTECTED_FILES, PROTECTED_FOLDERS, RUN_BY_GIT,
    SECRET_HOME, SHOWS_A_PROCESS, START_UP,
};
use super::paths::Place;

/// Names that stand for the kinds of secret files: what may be one of them may be secret.
const SECRET_NAMES: &[&str] =
    &[".env", ".env.local", ".env.production", ".env.development", ".env.test", ".env.staging"];
/// The same for keys, which need more than a letter or two in common.
const KEY_NAMES: &[&str] = &[
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    "key.pem",
    "cert.pem",
    "server.pem",
    "private.pem",
    "privkey.pem",
];
/// Letters of a pattern that must be written out before it is taken to mean a key.
const LETTERS_OF_A_KEY: usize = 3;

/// Returns whether `name` has a wildcard.
pub(super) fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Returns what a path that matches `path` (absolute, dots taken out) may be secret for.
pub(super) fn secret(path: &Path, place: &Place) -> Option<&'static str> {
    let names = names(path);
    if below_home(&names, place, SECRET_HOME) {
        return Some(MAY_HOLD_KEYS);
    }
    if let [first, process, _, ..] = &names[..]
        && matches(first, "proc")
        && (matches(process, "self") || matches(process, "1"))
    {
        return Some(SHOWS_A_PROCESS);
    }
    let last = names.last().filter(|last| is_wild(last))?;
    if SECRET_NAMES.iter().any(|name| matches(last, name)) {
        return Some(MAY_HOLD_KEYS);
    }
    let letters = last.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
    (letters >= LETTERS_OF_A_KEY && KEY_NAMES.iter().any(|name| matches(last, name))).then_some(MAY_BE_A_KEY)
}

/// Returns what a path that matches `path` (absolute, dots taken out) may be protected for.
pub(super) fn protected(path: &Path, place: &Place) -> Option<&'static str> {
    let names = names(path);
    if names.iter().any(|found| PROTECTED_FOLDERS.iter().any(|name| matches(found, name))) {
        return Some(OF_A_PROGRAM);
    }
    let last = names.last()?;
    if PROTECTED_FILES.iter().any(|name| matches(last, name)) {
        return Some(OF_A_PROGRAM);
    }
    if let Some(at) = names.iter().position(|name| matches(name, ".git") || name.ends_with(".git")) {
        let inside = &names[at + 1..];
        if inside.is_empty()
            || inside.iter().any(|name| matches(name, "hooks"))
            || inside.last().is_some_and(|last| matches(last, "config") || matches(last, "config.worktree"))
            || inside.windows(2).any(|pair| matches(&pair[0], "info") && matches(&pair[1], "attributes"))
        {
            return Some(RUN_BY_GIT);
        }
    }
    below_home(&names, place, START_UP).then_some(OF_A_SHELL)
}

fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            std::path::Component::Normal(name) => Some(name.to_string_lossy().to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

/// Returns whether `found` may lead to one of `wanted` below home, or into one.
fn below_home(found: &[String], place: &Place, wanted: &[&str]) -> bool {
    let home = names(&place.home);
    if found.len() <= home.len() || !home.iter().zip(found).all(|(home, found)| matches(found, home)) {
        return false;
    }
    let rest = &found[home.len()..];
    wanted.iter().any(|wanted| {
        let mut left = rest.iter();
        wanted
            .split('/')
            .all(|name| left.next().is_some_and(|found| matches(found, &name.to_ascii_lowercase())))
    })
}

/// Returns whether the file name `name` matches `pattern`. Linear but for one star at a time.
fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern = pieces(pattern);
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(Piece::Any) => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(Piece::One) => (at, in_name) = (at + 1, in_name + 1),
            Some(Piece::Char(c)) if *c == name[in_name] => (at, in_name) = (at + 1, in_name + 1),
            _ => {
                let Some((from, taken)) = star else { return false };
                star = Some((from, taken + 1));
                (at, in_name) = (from + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|piece| *piece == Piece::Any)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Any,
    One,
    Char(char),
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            '[' => match chars.as_str().split_once(']') {
                Some((inside, rest)) if !inside.is_empty() => {
                    chars = rest.chars();
                    Piece::One
                }
                _ => Piece::Char('['),
            },
            c => Piece::Char(c),
        });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { cwd: "/w/p".into(), home: "/home/me".into(), state: None }
    }

    #[test]
    fn names_are_matched_as_bash_matches_them() {
        for (pattern, name, expect) in [
            (".e*", ".env", true),
            (".[e]nv", ".env", true),
            (".???", ".env", true),
            ("*", ".env", false),
            ("?env", ".env", false),
            ("*.pem", "key.pem", true),
            ("*a*b*c", "xaxbxc", true),
            ("*a*b*c", "xaxcxb", false),
            ("[", "[", true),
        ] {
            assert_eq!(matches(pattern, name), expect, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_path_that_may_become_a_guarded_one_is_known() {
        for (path, is_secret, is_protected) in [
            (".e*", true, true),
            (".*", true, true),
            ("*.pem", true, false),
            ("id_*", true, false),
            ("*_rsa", true, false),
            ("*", false, false),
            ("*.rs", false, false),
            ("src/*", false, false),
            ("~/.ss*/config", true, false),
            ("~/.s*/*", true, false),
            ("~/.config/*", true, true),
            ("/home/*/.ssh/known_hosts", true, false),
            ("/proc/*/environ", true, false),
            ("~/*", false, false),
            (".git/*", false, true),
            (".gi?/hooks/x", false, true),
            (".m*/settings.json", false, true),
            ("~/.bash*", false, true),
            ("*/.vscode/x", false, true),
        ] {
            let resolved = place().resolve(path);
            assert_eq!(secret(&resolved, &place()).is_some(), is_secret, "{path}");
            assert_eq!(protected(&resolved, &place()).is_some(), is_protected, "{path}");
        }
    }
}
