//! Looking for files by name and for lines by expression: Glob and Grep (mission M8-glob, M8-grep).
//!
//! - Asked by the actor that carries out one call; both block and belong on a blocking thread.
//! - `scope` says which folder a call searches, before it is judged; `walk` goes through it, `ignored` knows what git
//!   leaves out; `glob` and `grep` pick; `lines` writes down what a Grep found in one file.
//! - The walk goes down by handles from the folder that was judged and follows no link, so that nothing outside is
//!   opened (SAFETY 3). What the rules hide is never opened and never named (SAFETY 1, 4): the caller says what that is.
//! - Results come in the order of their paths: the same tree gives the same text.

mod glob;
mod grep;
mod ignored;
mod lines;
mod pattern;
pub(crate) mod scope;
mod walk;

use std::path::Path;
use std::time::Duration;

use maia_protocol::tool::{Target, ToolOutput};
use serde_json::Value;

use crate::bash::Cancel;
use crate::place::Workspace;

/// What a search may take; whatever is reached is said in the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Names that are looked at.
    pub(crate) entries: usize,
    /// Bytes of files that are read.
    pub(crate) bytes: u64,
    /// A walk on a disk that hardly answers ends too. Work is what bounds the others: it gives one result each time.
    pub(crate) time: Duration,
}

/// Twice the largest repositories that people work in, and as much text as two cores search in that time.
const BOUNDS: Bounds = Bounds { entries: 500_000, bytes: 2 << 30, time: Duration::from_secs(60) };

/// Carries out a Glob of the judged folder (mission M8-glob). Blocks.
///
/// `target` is what [`crate::target`] said of this call. `hidden` tells for an absolute path without links whether the
/// rules hide the file. Failure is a result, as is a stop by `cancel`.
pub fn glob(
    input: &Value,
    target: &Target,
    workspace: &Workspace,
    hidden: &dyn Fn(&Path) -> bool,
    cancel: &Cancel,
) -> ToolOutput {
    glob::glob(input, target, workspace, hidden, cancel, BOUNDS).unwrap_or_else(ToolOutput::from)
}

/// Carries out a Grep of the judged folder or file (mission M8-grep). Blocks.
///
/// The arguments are those of [`glob`].
pub fn grep(
    input: &Value,
    target: &Target,
    workspace: &Workspace,
    hidden: &dyn Fn(&Path) -> bool,
    cancel: &Cancel,
) -> ToolOutput {
    grep::grep(input, target, workspace, hidden, cancel, BOUNDS).unwrap_or_else(ToolOutput::from)
}

/// Returns a path as one line of a result: relative in the launch folder, and quoted where a name would break the line.
fn shown(path: &Path, workspace: &Workspace) -> String {
    let shown = workspace.shown(path);
    if shown.chars().any(char::is_control) { format!("{shown:?}") } else { shown }
}

/// Returns the text of a result: its lines, or `nothing` where there are none, then a note in brackets each.
fn text(lines: String, nothing: &str, notes: &[String]) -> String {
    let mut text = if lines.is_empty() { nothing.to_owned() } else { lines };
    for note in notes {
        text.push_str("\n[");
        text.push_str(note);
        text.push(']');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;
    use std::path::PathBuf;

    struct Ground {
        _folder: tempfile::TempDir,
        workspace: Workspace,
    }

    impl Ground {
        /// A launch folder with files `0/f`, `1/f`, … that hold `x`.
        fn new(files: usize) -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let cwd = folder.path().canonicalize().expect("it exists");
            for n in 0..files {
                fs::create_dir(cwd.join(n.to_string())).expect("a new folder");
                fs::write(cwd.join(format!("{n}/f")), "x").expect("a new file");
            }
            let workspace = Workspace { home: cwd.clone(), cwd, env: Vec::new(), exe: PathBuf::new() };
            Self { _folder: folder, workspace }
        }

        fn target(&self, tool: &str, input: &Value) -> Target {
            crate::target(tool, input, &self.workspace).expect("a usable call").expect("it has a place")
        }
    }

    fn nothing_hidden(_: &Path) -> bool {
        false
    }

    #[test]
    fn bounds_are_kept_and_told() {
        let ground = Ground::new(5);
        let (glob_input, grep_input) = (json!({"pattern": "**"}), json!({"pattern": "x"}));
        let cancel = Cancel::new();
        // Five folders and three of their files.
        let few = Bounds { entries: 8, ..BOUNDS };
        let target = ground.target("Glob", &glob_input);
        let output = glob::glob(&glob_input, &target, &ground.workspace, &nothing_hidden, &cancel, few);
        let output = output.expect("a result");
        assert!(output.text.starts_with("0/f\n1/f\n2/f\n[not everything was searched"), "{}", output.text);
        assert!(output.truncated);
        let little = Bounds { bytes: 1, ..BOUNDS };
        let target = ground.target("Grep", &grep_input);
        let output = grep::grep(&grep_input, &target, &ground.workspace, &nothing_hidden, &cancel, little);
        let output = output.expect("a result");
        assert!(output.text.starts_with("0/f\n1/f\n[not everything was searched"), "{}", output.text);
        let no_time = Bounds { time: Duration::ZERO, ..BOUNDS };
        let output = grep::grep(&grep_input, &target, &ground.workspace, &nothing_hidden, &cancel, no_time);
        assert!(output.expect("a result").text.contains("it took too long"));
    }

    #[test]
    fn a_cancelled_search_ends() {
        let ground = Ground::new(2);
        let cancel = Cancel::new();
        cancel.cancel();
        for (tool, search) in [("Glob", glob as fn(&_, &_, &_, &_, &_) -> _), ("Grep", grep)] {
            let input = json!({"pattern": "x"});
            let target = ground.target(tool, &input);
            let output: ToolOutput = search(&input, &target, &ground.workspace, &nothing_hidden, &cancel);
            assert!(output.is_error && output.text.starts_with("interrupted: "), "{}", output.text);
        }
    }

    #[test]
    fn a_folder_that_was_swapped_is_not_searched() {
        let ground = Ground::new(2);
        let input = json!({"pattern": "**", "path": "0"});
        let target = ground.target("Glob", &input);
        let cwd = &ground.workspace.cwd;
        fs::rename(cwd.join("0"), cwd.join("old")).expect("moved away");
        std::os::unix::fs::symlink("1", cwd.join("0")).expect("a link in its place");
        let search = || glob(&input, &target, &ground.workspace, &nothing_hidden, &Cancel::new());
        assert!(search().text.starts_with("target_changed: "), "{}", search().text);
        fs::remove_file(cwd.join("0")).expect("removed");
        fs::create_dir(cwd.join("0")).expect("another folder");
        assert!(search().text.starts_with("target_changed: "), "{}", search().text);
    }

    #[test]
    fn a_deep_tree_ends_with_a_note() {
        let ground = Ground::new(0);
        fs::create_dir_all(ground.workspace.cwd.join("d/".repeat(150))).expect("new folders");
        let input = json!({"pattern": "**"});
        let target = ground.target("Glob", &input);
        let output = glob(&input, &target, &ground.workspace, &nothing_hidden, &Cancel::new());
        assert!(output.text.contains("more than 100 levels down"), "{}", output.text);
    }
}
