//! What agents are told of the folder: its context file and the facts of the day (mission M11.1, SAFETY 4).

use std::path::Path;

use maia_protocol::snapshot::ContextFile;

/// Names of context files; the first one that is there counts (SPEC section 3).
const NAMES: [&str; 3] = ["MAIA.md", "AGENTS.md", "CLAUDE.md"];

/// Reads the folder's context file: a plain file whose resolved path lies in the folder, in UTF-8.
pub fn read(cwd: &Path, notes: &mut Vec<String>) -> Option<ContextFile> {
    for name in NAMES {
        let path = cwd.join(name);
        let Ok(real) = std::fs::canonicalize(&path) else { continue };
        if !real.is_file() || !real.starts_with(cwd) {
            notes.push(format!("{} is not read: it is no plain file of the folder", path.display()));
            continue;
        }
        match crate::settings::read_small(&real).map(String::from_utf8) {
            Ok(Ok(text)) => return Some(ContextFile { path, text }),
            Ok(Err(_)) => notes.push(format!("{} is not read: it is not UTF-8", path.display())),
            Err(error) => notes.push(format!("{} is not read: {error}", path.display())),
        }
    }
    None
}

/// Returns the facts that change from day to day; they stand in the first user message.
pub fn facts(cwd: &Path) -> String {
    let today = jiff::Zoned::now().date();
    format!("Today is {today}. Folder: {}. System: {}.", cwd.display(), std::env::consts::OS)
}
