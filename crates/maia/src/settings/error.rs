//! What is wrong with settings: with the file, the place in it, the cause and the mend.

use std::fmt;
use std::path::PathBuf;

use super::file::FileError;

/// Why maia does not start (exit code 2).
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum SettingsError {
    /// A file of the person is not JSON, or a value in it cannot be used.
    #[error("{}:{line}:{column}: {cause}", path.display())]
    #[diagnostic(help("{mend}"))]
    Broken {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        cause: String,
        /// What to do.
        mend: String,
    },
    /// A file of the person is there and cannot be read.
    #[error("{}: {source}", path.display())]
    #[diagnostic(help(
        "mend the file or move it away; maia does not start on settings that it could not read"
    ))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// A URL cannot be used.
    #[error("{source_name} is no usable URL: {cause}")]
    #[diagnostic(help("write it like `{example}`"))]
    BadUrl {
        /// The setting or variable.
        source_name: String,
        /// What is wrong; never the value, which may hold a password.
        cause: String,
        /// A URL of the right form.
        example: String,
    },
    /// Nothing says where a model is.
    #[error("no model endpoint is set")]
    #[diagnostic(help("{mend}"))]
    NoEndpoint {
        /// What to set.
        mend: String,
    },
    /// The folder of launch cannot be used.
    #[error("the folder {} of {source_name} cannot be used: {cause}", path.display())]
    #[diagnostic(help("name a folder that exists and that you may enter"))]
    Folder {
        /// `--cwd`, the variable, or the process.
        source_name: String,
        /// The folder.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// There is no home folder.
    #[error("the home folder is not known")]
    #[diagnostic(help("set HOME"))]
    NoHome,
}

/// Something that is passed over, and said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsWarning {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1, where it is known.
    pub line: Option<usize>,
    /// The cause.
    pub message: String,
    /// The mend.
    pub mend: String,
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.message, self.mend)
    }
}
