//! Calls on one file: reading it, computing a change, putting the change in place so that a crash leaves old or new.
//!
//! - `folder` opens what was judged and nothing else; `sniff` tells text from the rest; `edit` is the pure replacement;
//!   `work` prepares and commits; `probe` looks after a crash; `read` gives pages.

pub(crate) mod edit;
pub(crate) mod folder;
mod hint;
pub(crate) mod probe;
pub(crate) mod read;
mod replace;
pub(crate) mod sniff;
pub(crate) mod work;
