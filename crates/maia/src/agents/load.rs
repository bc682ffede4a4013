//! Finds definitions: embedded ones, then the person's, then the folder's; a later one replaces an earlier one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use maia_core::agent_file::{Fault, parse};
use maia_protocol::definition::Origin;
use maia_protocol::snapshot::KnownAgent;
use sha2::{Digest, Sha256};

use crate::settings::{Places, read_if_there};

/// Most bytes of an AGENT.md; more is refused, since the whole of it goes into every request.
pub const MAX_BYTES: u64 = 256 * 1024;

/// Definitions that are part of the binary, with the names of their folders.
const EMBEDDED: &[(&str, &str)] = &[
    ("explorer", include_str!("../../../../agents/explorer/AGENT.md")),
    ("planner", include_str!("../../../../agents/planner/AGENT.md")),
    ("reviewer", include_str!("../../../../agents/reviewer/AGENT.md")),
    ("tester", include_str!("../../../../agents/tester/AGENT.md")),
    ("writer", include_str!("../../../../agents/writer/AGENT.md")),
];

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Agents that can be spawned, by name.
    pub agents: Vec<FoundAgent>,
    /// Agents of a folder that is not trusted: listed, never spawned (SAFETY 4).
    pub inert: Vec<FoundAgent>,
    /// Why others are missing, and what looks like a slip in those that are not.
    pub warnings: Vec<FileFault>,
}

/// An agent, and the file that it came from (`None` = embedded).
#[derive(Clone, Debug)]
pub struct FoundAgent {
    /// The definition with its origin and hash.
    pub agent: KnownAgent,
    /// Its file.
    pub file: Option<PathBuf>,
}

/// A fault with its file.
#[derive(Clone, Debug)]
pub struct FileFault {
    /// The AGENT.md, or its folder.
    pub path: PathBuf,
    /// What is wrong.
    pub fault: Fault,
}

impl Found {
    /// Returns the agents as a snapshot keeps them (ENGINE 6).
    pub fn known(&self) -> Vec<KnownAgent> {
        self.agents.iter().map(|found| found.agent.clone()).collect()
    }

    fn add(&mut self, found: FoundAgent) {
        let same = |other: &FoundAgent| {
            other.agent.definition.name.eq_ignore_ascii_case(&found.agent.definition.name)
        };
        match self.agents.iter_mut().find(|other| same(other)) {
            Some(other) => *other = found,
            None => self.agents.push(found),
        }
    }
}

/// Finds the agents of `places`. Those of the launch folder count only if it is `trusted`.
///
/// Names that differ in case alone are one name, as they are for a person who types `&name`. A refused definition
/// replaces nothing.
pub fn load(places: &Places, trusted: bool) -> Found {
    let mut found = Found::default();
    for (name, text) in EMBEDDED {
        if let Ok(definition) = parse(name, text.as_bytes()).definition {
            let agent = KnownAgent { definition, origin: Origin::Embedded, hash: hash(text.as_bytes()) };
            found.add(FoundAgent { agent, file: None });
        }
    }
    let user = places.user().join("agents");
    let folder = places.folder().join("agents");
    for agent in scan(&user, Origin::User, &mut found.warnings) {
        found.add(agent);
    }
    if !same_folder(&user, &folder) {
        let agents = scan(&folder, Origin::TrustedFolder, &mut found.warnings);
        if trusted {
            agents.into_iter().for_each(|agent| found.add(agent));
        } else {
            found.inert = agents;
        }
    }
    found.agents.sort_by(|a, b| a.agent.definition.name.cmp(&b.agent.definition.name));
    found
}

/// Returns the AGENT.md files one level below `folder`, by name. A folder that is not there holds none.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path().join("AGENT.md")))
        .filter(|file| fs::symlink_metadata(file).is_ok())
        .collect();
    files.sort();
    files
}

/// Reads an AGENT.md.
///
/// # Errors
/// A fault of kind `file_not_found`, `not_regular_file`, `too_large` or `unreadable`.
pub fn read(file: &Path) -> Result<Vec<u8>, Fault> {
    let (kind, message) = match read_if_there(file, MAX_BYTES) {
        Ok(Some(bytes)) => return Ok(bytes),
        Ok(None) => (
            "file_not_found",
            "there is no such file: give an AGENT.md or the folder that holds one".to_owned(),
        ),
        Err(fault) => (fault.kind(), fault.to_string()),
    };
    Err(Fault { kind: kind.to_owned(), message, line: None, column: None })
}

fn scan(folder: &Path, origin: Origin, warnings: &mut Vec<FileFault>) -> Vec<FoundAgent> {
    let mut agents = Vec::new();
    for file in files_below(folder) {
        let name = file.parent().and_then(Path::file_name).map(OsStr::to_string_lossy).unwrap_or_default();
        let (definition, bytes) = match read(&file) {
            Ok(bytes) => {
                let parsed = parse(&name, &bytes);
                let faults = parsed.warnings.into_iter();
                warnings.extend(faults.map(|fault| FileFault { path: file.clone(), fault }));
                (parsed.definition, bytes)
            }
            Err(fault) => (Err(fault), Vec::new()),
        };
        match definition {
            Ok(definition) => {
                let agent = KnownAgent { definition, origin, hash: hash(&bytes) };
                agents.push(FoundAgent { agent, file: Some(file) });
            }
            Err(fault) => warnings.push(FileFault { path: file, fault }),
        }
    }
    agents
}

fn same_folder(a: &Path, b: &Path) -> bool {
    a == b || matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, description: &str) {
        let folder = root.join(".maia/agents").join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "---\nname: {name}\ndescription: {description}\n---\n# Instructions system\na\n# Missions\nb\n# Output\nc\n"
        );
        fs::write(folder.join("AGENT.md"), text).unwrap();
    }

    fn origin(found: &Found, name: &str) -> Option<Origin> {
        found.known().iter().find(|agent| agent.definition.name == name).map(|agent| agent.origin)
    }

    #[test]
    fn every_embedded_agent_is_whole() {
        for (name, text) in EMBEDDED {
            let parsed = parse(name, text.as_bytes());
            assert_eq!(parsed.warnings, [], "{name}");
            let definition = parsed.definition.unwrap();
            let (_, unknown) =
                maia_core::agent_file::resolve_tools(&definition, maia_core::agent_file::KNOWN_TOOLS);
            assert_eq!(unknown, [], "{name}");
            let allow = &definition.permissions.allow;
            assert_eq!(*allow, ["Read(**)", "Glob(**)", "Grep(**)"], "{name}: a reader reads, nothing more");
        }
    }

    #[test]
    fn the_folder_replaces_the_person_only_when_trusted() {
        let (home, cwd) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(home.path(), "mine", "of the person");
        write(home.path(), "reviewer", "of the person");
        write(cwd.path(), "Mine", "of the folder");
        write(cwd.path(), "broken", "");
        let places = Places::new(home.path(), cwd.path(), home.path());

        let found = load(&places, false);
        assert_eq!(origin(&found, "mine"), Some(Origin::User));
        assert_eq!(origin(&found, "reviewer"), Some(Origin::User));
        assert_eq!(origin(&found, "explorer"), Some(Origin::Embedded));
        assert_eq!(found.inert.len(), 1);
        assert_eq!(found.warnings.len(), 1);
        assert_eq!(found.warnings[0].fault.kind, "description_missing");

        let found = load(&places, true);
        assert_eq!(origin(&found, "mine"), None);
        assert_eq!(origin(&found, "Mine"), Some(Origin::TrustedFolder));
        assert!(found.inert.is_empty());
    }

    #[test]
    fn one_pass_when_the_launch_folder_is_home() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), "mine", "of the person");
        let found = load(&Places::new(home.path(), home.path(), home.path()), false);
        assert_eq!(origin(&found, "mine"), Some(Origin::User));
        assert!(found.inert.is_empty());
    }

    #[test]
    fn what_is_no_plain_file_is_refused_at_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".maia/agents");
        fs::create_dir_all(folder.join("dir/AGENT.md")).unwrap();
        fs::create_dir_all(folder.join("pipe")).unwrap();
        let pipe = folder.join("pipe/AGENT.md");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        fs::create_dir_all(folder.join("big")).unwrap();
        fs::write(folder.join("big/AGENT.md"), vec![b'a'; MAX_BYTES as usize + 1]).unwrap();
        let found = load(&Places::new(home.path(), home.path(), home.path()), true);
        let kinds: Vec<&str> = found.warnings.iter().map(|warning| warning.fault.kind.as_str()).collect();
        assert_eq!(kinds, ["too_large", "not_regular_file", "not_regular_file"]);
    }
}
