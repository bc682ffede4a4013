//! What a launch folder brings, and whether it counts in this run (SAFETY 4).
//!
//! - Asked by the commands that start a session and by `maia trust show`.
//! - From a folder that is not trusted only `deny` and `ask` rules count; everything else is inert.
//! - `--trust` holds for one run and writes no record; what the person said on the screen is kept by [`store`].

pub mod store;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::Failure;
use crate::settings::Places;

/// One thing that a folder brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// `settings`, `config` or `agent`.
    pub kind: &'static str,
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of its bytes, hexadecimal; `unreadable` where it cannot be read.
    pub hash: String,
}

/// Returns what the launch folder brings, in a fixed order.
pub fn items(places: &Places) -> Vec<Item> {
    if places.folder_is_user() {
        return Vec::new();
    }
    let folder = places.folder();
    let mut items = Vec::new();
    let mut add = |kind, path: PathBuf| {
        if std::fs::symlink_metadata(&path).is_ok() {
            let hash = hash(&path);
            items.push(Item { kind, path, hash });
        }
    };
    add("settings", folder.join("settings.json"));
    add("config", folder.join("config.json"));
    let mut agents: Vec<_> = std::fs::read_dir(folder.join("agents"))
        .map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path().join("AGENT.md")).collect())
        .unwrap_or_default();
    agents.sort();
    for agent in agents {
        add("agent", agent);
    }
    items
}

fn hash(path: &Path) -> String {
    // Larger than any definition or settings file that maia reads: what is not read needs no hash of its bytes.
    match crate::settings::read_small(path) {
        Ok(bytes) => hex(&Sha256::digest(bytes)),
        Err(_) => "unreadable".to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the hash of all that the folder brings, as `--trust=HASH` takes it.
pub fn digest(places: &Places, items: &[Item]) -> String {
    let mut all = Sha256::new();
    for item in items {
        let name = item.path.strip_prefix(&places.cwd).unwrap_or(&item.path);
        all.update(item.kind.as_bytes());
        all.update([0]);
        all.update(name.as_os_str().as_encoded_bytes());
        all.update([0]);
        all.update(item.hash.as_bytes());
        all.update([0]);
    }
    hex(&all.finalize())
}

/// What `--trust` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It was not given.
    No,
    /// Whatever is there.
    All,
    /// What has this hash.
    Hash(String),
}

/// What was decided of a folder once, for as long as maia runs: what is read again later is held against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Whether what the folder brings counts.
    pub trusted: bool,
    /// Hash of what it brought then.
    digest: String,
}

impl Decided {
    /// Tells whether what the folder brings now is what was decided on.
    pub fn is_as_it_was(&self, places: &Places) -> bool {
        digest(places, &items(places)) == self.digest
    }
}

/// Decides whether the folder is trusted in this run; lists on stderr what that makes count.
///
/// # Errors
/// A hash that differs, and a bare `--trust` in a run for a stranger's pull request (exit 2).
pub fn decide(
    trust: &Trust,
    places: &Places,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Decided, Failure> {
    let items = items(places);
    let trusted = counts(trust, places, &items, env)?;
    Ok(Decided { trusted, digest: digest(places, &items) })
}

fn counts(
    trust: &Trust,
    places: &Places,
    items: &[Item],
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<bool, Failure> {
    match trust {
        // A folder that brings nothing asks nobody.
        Trust::No if items.is_empty() => Ok(false),
        Trust::No => Ok(store::standing(places, items)? == store::Standing::Trusted),
        Trust::All => {
            if for_a_fork(env) {
                return Err(Failure::usage(
                    "--trust without a hash is refused in a run for a fork's pull request",
                )
                .mend("name what you looked at: maia trust show, then --trust=HASH"));
            }
            list(items);
            Ok(true)
        }
        Trust::Hash(wanted) => {
            let found = digest(places, items);
            if found != *wanted {
                return Err(Failure::usage(format!(
                    "what {} brings has the hash {found}, not {wanted}",
                    places.cwd.display()
                ))
                .mend("look at what changed with: maia trust show"));
            }
            list(items);
            Ok(true)
        }
    }
}

fn list(items: &[Item]) {
    for item in items {
        crate::print::say(&format!("trusted for this run: {} {}", item.kind, item.path.display()));
    }
}

/// Tells whether the environment says that somebody else's branch is being built; in doubt it does.
fn for_a_fork(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let gitlab = (env("CI_MERGE_REQUEST_SOURCE_PROJECT_ID"), env("CI_PROJECT_ID"));
    if let (Some(source), Some(target)) = gitlab
        && source != target
    {
        return true;
    }
    if !env("GITHUB_EVENT_NAME").is_some_and(|event| event.starts_with("pull_request")) {
        return false;
    }
    let event = env("GITHUB_EVENT_PATH").and_then(|path| std::fs::read(path).ok());
    let event: Option<serde_json::Value> = event.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let head = event.as_ref().and_then(|event| event.pointer("/pull_request/head/repo/full_name"));
    match (head.and_then(serde_json::Value::as_str), env("GITHUB_REPOSITORY")) {
        (Some(head), Some(own)) => head != own,
        _ => true,
    }
}

/// Runs `maia trust show`.
pub fn show(places: &Places) -> i32 {
    let items = items(places);
    if items.is_empty() {
        return put(&format!("{} brings nothing that needs trust", places.cwd.display()));
    }
    let line = |item: &Item| {
        format!("{:<9} {} {}\n", item.kind, item.hash, item.path.display().to_string().replace('\n', " "))
    };
    let lines: String = items.iter().map(line).collect();
    put(&format!("{lines}\nall of it for one run: --trust={}", digest(places, &items)))
}

/// Runs `maia trust list`.
///
/// # Errors
/// When what was said cannot be read (exit 1).
pub fn list_all(places: &Places) -> Result<i32, Failure> {
    let lines: Vec<String> = store::all(places)?
        .into_iter()
        .map(|(folder, said)| match said {
            store::Folder::Trusted { items } => {
                format!("trusted  {} ({})", folder.display(), crate::print::count(items.len() as u64, "item"))
            }
            store::Folder::Never => format!("never    {}", folder.display()),
        })
        .collect();
    if lines.is_empty() {
        return Ok(put("no folder is trusted"));
    }
    Ok(put(&lines.join("\n")))
}

/// Runs `maia trust revoke`.
///
/// # Errors
/// Nothing was said of the folder (exit 2), the file cannot be written (exit 1).
pub fn revoke(places: &Places, folder: Option<&Path>) -> Result<u8, Failure> {
    let folder = folder.unwrap_or(&places.cwd);
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    if !store::forget(places, &folder)? {
        return Err(Failure::usage(format!("nothing was said of {}", folder.display()))
            .mend("see what was said with: maia trust list"));
    }
    put(&format!("{} is trusted no more", folder.display()));
    Ok(0)
}

/// Prints `text`, made harmless, and returns the exit code.
fn put(text: &str) -> i32 {
    let mut out = std::io::stdout();
    let written = writeln!(out, "{}", crate::print::plain(text)).and_then(|()| out.flush());
    i32::from(written.is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_into_a_folder_later_is_not_what_was_decided_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = Places::new(Path::new("/h"), folder.path(), Path::new("/s"));
        let agents = folder.path().join(".maia/agents");
        let put = |name: &str| {
            std::fs::create_dir_all(agents.join(name)).expect("made");
            std::fs::write(agents.join(name).join("AGENT.md"), name).expect("written");
        };
        put("a");
        let decided = decide(&Trust::All, &places, &|_| None).expect("decided");
        assert!(decided.trusted && decided.is_as_it_was(&places));
        put("b");
        assert!(!decided.is_as_it_was(&places));
    }

    #[test]
    fn a_strangers_pull_request_is_seen_and_doubt_counts_as_one() {
        let env = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            }
        };
        assert!(!for_a_fork(&env(&[])));
        assert!(!for_a_fork(&env(&[("GITHUB_EVENT_NAME", "push")])));
        assert!(for_a_fork(&env(&[("GITHUB_EVENT_NAME", "pull_request_target")])));
        assert!(for_a_fork(&env(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"), ("CI_PROJECT_ID", "1")])));
        assert!(!for_a_fork(&env(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "1"), ("CI_PROJECT_ID", "1")])));
    }
}
