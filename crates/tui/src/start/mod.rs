//! The first screen, before there is a session: model, what the folder brings, starter rules (SPEC section 3).
//!
//! - Asked by the binary once, before any actor runs; [`start`] blocks until the person has decided.
//! - Pure inside, as the rest: [`Start`] is the state, [`Start::key`] takes a key, [`draw`] paints.
//! - Owns the terminal only while it runs. It saves nothing and trusts nothing: it says what was decided.

mod draw;
mod shell;
mod state;

pub use draw::draw;
pub use shell::start;
pub use state::Start;

/// What the first screen shows.
#[derive(Clone, Debug, Default)]
pub struct StartPage {
    /// Version of maia.
    pub version: String,
    /// Launch folder.
    pub cwd: String,
    /// Models to choose from, the best first.
    pub endpoints: Vec<StartModel>,
    /// What the folder brings that is inert without trust; empty when there is nothing to ask.
    pub brings: Vec<StartItem>,
    /// The starter rules, one a line, deny and allow.
    pub rules: Vec<String>,
    /// The file that keeps the rules, as a person reads it.
    pub file: String,
    /// Whether the rules are offered.
    pub ask_rules: bool,
}

/// A model that was found.
#[derive(Clone, Debug)]
pub struct StartModel {
    /// Its name.
    pub name: String,
    /// Where it was found.
    pub source: String,
}

/// A thing that the folder brings.
#[derive(Clone, Debug)]
pub struct StartItem {
    /// What it is: `agent`, `rules`, `skill`.
    pub kind: String,
    /// Where it lies.
    pub path: String,
    /// What to know about it.
    pub note: String,
}

/// Whether what the folder brings counts (SAFETY 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustAnswer {
    /// Not now; it is asked again.
    #[default]
    No,
    /// All that is shown.
    All,
    /// Never in this folder.
    Never,
}

/// What the person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAnswer {
    /// Begin.
    Go {
        /// Index of the model among the endpoints; `None` when there was none to choose.
        model: Option<usize>,
        /// What the folder brings.
        trust: TrustAnswer,
        /// Whether what is shown is to be saved: the model, and the rules where they were offered.
        save: bool,
    },
    /// Leave without a session.
    Leave,
}
