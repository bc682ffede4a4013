//! Paths that no wide rule opens: protected ones (written) and secret ones (read). Lists of SAFETY 1.
//!
//! - Asked by the file rules, by redirections, and by tools that leave secret files out of what they find.
//! - Names are compared without regard to ASCII case: some file systems have one file for all spellings (S084).

use std::path::{Component, Path};

use super::paths::Place;

/// Folders, anywhere, in which nothing is written unasked.
pub(super) const PROTECTED_FOLDERS: &[&str] =
    &[".maia", ".claude", ".codex", ".opencode", ".vscode", ".idea"];
/// Files, anywhere, that are not written unasked.
pub(super) const PROTECTED_FILES: &[&str] = &[".envrc", ".mcp.json"];
/// Start-up files of shells, below home.
pub(super) const START_UP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".config/fish",
    ".config/zsh",
    ".config/bash",
    ".xprofile",
    ".xsessionrc",
];
/// Secret files and folders below home.
pub(super) const SECRET_HOME: &[&str] = &[
    ".maia",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Safari",
    "Library/Keychains",
];

/// Why a path is secret.
pub(super) const MAY_HOLD_KEYS: &str = "it may hold keys or passwords";
/// Why a path is secret.
pub(super) const MAY_BE_A_KEY: &str = "it may be a key";
/// Why a path is secret.
pub(super) const SHOWS_A_PROCESS: &str = "it shows the inside of a process";
/// Why a path is protected.
pub(super) const OF_A_PROGRAM: &str = "it belongs to the settings of a program that runs here";
/// Why a path is protected.
pub(super) const RUN_BY_GIT: &str = "git runs what stands there";
/// Why a path is protected.
pub(super) const OF_A_SHELL: &str = "it is a start-up file of a shell";

/// Returns what protects `path` (absolute, normalized) from being written.
pub(super) fn protected(path: &Path, place: &Place) -> Option<&'static str> {
    let names = lower_names(path);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.iter().any(|name| PROTECTED_FOLDERS.contains(name)) {
        return Some(OF_A_PROGRAM);
    }
    if names.last().is_some_and(|name| PROTECTED_FILES.contains(name)) {
        return Some("it is read and run by programs that start here");
    }
    if in_git(&names) {
        return Some(RUN_BY_GIT);
    }
    if below(path, &place.home, START_UP) {
        return Some(OF_A_SHELL);
    }
    if place.state.as_ref().is_some_and(|state| path.starts_with(state)) {
        return Some("it is maia's own state");
    }
    None
}

/// Returns whether the names lead to what git runs or obeys in one of its folders.
fn in_git(names: &[&str]) -> bool {
    let Some(at) = names.iter().position(|name| name.ends_with(".git")) else { return false };
    let inside = &names[at + 1..];
    // The folder's own name is written when it is a file that points to another folder.
    (inside.is_empty() && names[at] == ".git")
        || inside.contains(&"hooks")
        || inside.last().is_some_and(|last| matches!(*last, "config" | "config.worktree"))
        || inside.windows(2).any(|pair| pair == ["info", "attributes"])
}

/// Returns what makes `path` (absolute, normalized) secret.
pub(super) fn secret(path: &Path, place: &Place) -> Option<&'static str> {
    secret_place(path, place).or_else(|| secret_name(lower_names(path).last()?))
}

/// Returns what makes `path` secret by where it lies, whatever its name.
pub(super) fn secret_place(path: &Path, place: &Place) -> Option<&'static str> {
    if below(path, &place.home, SECRET_HOME)
        || place.state.as_ref().is_some_and(|state| path.starts_with(state))
    {
        return Some(MAY_HOLD_KEYS);
    }
    if let ["proc", process, _, ..] = lower_names(path).iter().map(String::as_str).collect::<Vec<_>>()[..]
        && (process.bytes().all(|b| b.is_ascii_digit()) || matches!(process, "self" | "thread-self"))
    {
        return Some(SHOWS_A_PROCESS);
    }
    None
}

/// Returns what makes a file of this name (lower case) secret, wherever it lies.
pub(super) fn secret_name(name: &str) -> Option<&'static str> {
    if name == ".env"
        || (name.starts_with(".env.") && !name.ends_with(".example") && !name.ends_with(".sample"))
    {
        return Some(MAY_HOLD_KEYS);
    }
    (name.ends_with(".pem") || name.starts_with("id_")).then_some(MAY_BE_A_KEY)
}

fn lower_names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

/// Returns whether `path` is one of `names` below `folder`, or lies in one.
fn below(path: &Path, folder: &Path, names: &[&str]) -> bool {
    let Ok(relative) = path.strip_prefix(folder) else { return false };
    names.iter().any(|name| {
        let mut left = relative.components();
        Path::new(name).components().all(|wanted| {
            left.next().is_some_and(|found| found.as_os_str().eq_ignore_ascii_case(wanted.as_os_str()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { cwd: "/w/p".into(), home: "/h".into(), state: Some("/s/maia".into()) }
    }

    #[test]
    fn what_programs_obey_is_protected() {
        for (path, expect) in [
            (".maia/settings.json", true),
            (".MAIA/Settings.json", true),
            ("sub/.vscode/tasks.json", true),
            (".maia", true),
            (".git/hooks/pre-commit", true),
            (".git/config", true),
            (".git/modules/x/config", true),
            (".git/info/attributes", true),
            (".git", true),
            (".git/COMMIT_EDITMSG", false),
            (".gitignore", false),
            ("config", false),
            (".envrc", true),
            (".mcp.json", true),
            ("~/.bashrc", true),
            ("~/.config/fish/config.fish", true),
            ("/s/maia/x", true),
            ("src/main.rs", false),
        ] {
            assert_eq!(protected(&place().resolve(path), &place()).is_some(), expect, "{path}");
        }
    }

    #[test]
    fn what_holds_keys_is_secret() {
        for (path, expect) in [
            (".env", true),
            ("sub/.env.local", true),
            (".env.example", false),
            (".env.sample", false),
            ("a.pem", true),
            ("id_ed25519", true),
            ("~/.ssh/config", true),
            ("~/.aws", true),
            ("~/.docker/config.json", true),
            ("~/.docker/other", false),
            ("~/.npmrc", true),
            ("/proc/self/environ", true),
            ("/proc/12/environ", true),
            ("/proc/cpuinfo", false),
            ("environment.rs", false),
        ] {
            assert_eq!(secret(&place().resolve(path), &place()).is_some(), expect, "{path}");
        }
    }
}
