//! Finds files by a pattern on their paths (mission M8-glob).
//!
//! - What `.gitignore` names, `.git` and `node_modules` are left out unless the pattern or the path begins there.
//! - A link is listed when it leads to a file in the launch folder or the folder searched; links to folders are not gone into.

use std::path::Path;

use maia_protocol::tool::{Target, ToolOutput};
use serde_json::Value;

use super::walk::{Found, Then, Walk};
use super::{Bounds, pattern, shown, text};
use crate::args::{self, Call};
use crate::bash::Cancel;
use crate::fault::Fault;
use crate::place::Workspace;

/// Results at most (mission M8-glob, M23).
const LIMIT: usize = 100;

/// See [`super::glob`].
pub(super) fn glob(
    input: &Value,
    target: &Target,
    workspace: &Workspace,
    hidden: &dyn Fn(&Path) -> bool,
    cancel: &Cancel,
    bounds: Bounds,
) -> Result<ToolOutput, Fault> {
    let Some(Call::Glob(args)) = args::parse("Glob", input)? else {
        return Err(Fault::InvalidInput("this is no Glob".to_owned()));
    };
    let rest = pattern::parts(&args.pattern)?.rest;
    let matcher = pattern::compile(&rest)?;
    let start = target.path.as_path();
    let mut walk = Walk::new(bounds, cancel);
    let mut lines: Vec<String> = Vec::new();
    let mut cut = false;
    // A folder that only the pattern names need not exist, nor be one.
    if target.exists && start.is_dir() {
        walk.folder(target, workspace, &mut |_, found| {
            let relative = found.path.strip_prefix(start).unwrap_or(found.path);
            if !matcher.is_match(relative) || hidden(found.path) {
                return Then::GoOn;
            }
            if found.is_link && !leads_inside(found, start, workspace, hidden) {
                return Then::GoOn;
            }
            if lines.len() == LIMIT {
                cut = true;
                return Then::Stop;
            }
            lines.push(shown(found.path, workspace));
            Then::GoOn
        })?;
    }
    let mut notes = walk.notes();
    if cut {
        notes.insert(0, format!("cut: there are more than {LIMIT} files; use a narrower pattern or path"));
    }
    if lines.is_empty() && !rest.contains('/') && !rest.contains("**") {
        notes.push(format!("this pattern looks into one folder only; **/{rest} looks into all below it"));
    }
    let nothing =
        format!("no file matches {} (not searched: .git, node_modules, what .gitignore names)", args.pattern);
    let text = text(lines.join("\n"), &nothing, &notes);
    Ok(ToolOutput { truncated: cut || walk.is_cut(), ..ToolOutput::ok(text) })
}

/// Tells whether a link leads to a file that may be named.
fn leads_inside(
    found: &Found<'_>,
    start: &Path,
    workspace: &Workspace,
    hidden: &dyn Fn(&Path) -> bool,
) -> bool {
    let Ok(file) = found.path.canonicalize() else { return false };
    (file.starts_with(&workspace.cwd) || file.starts_with(start)) && file.is_file() && !hidden(&file)
}
