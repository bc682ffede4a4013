//! What a person set: settings.json, config.json, the environment, the folder of launch (mission M5, M7.3, M9.1).
//!
//! - Asked once by each command, before anything starts; the answers travel as arguments.
//! - Owns nothing after that. Reads the person's files whole, and of a launch folder only what its trust lets count
//!   (SAFETY 4). No key's value is ever printed.

mod endpoint;
mod error;
mod file;
mod json;
mod load;
mod model;
mod places;
mod rules;
mod save;
mod secret;

pub use endpoint::{EndpointChoice, endpoint, key_variables};
pub use error::SettingsError;
pub use file::{read_if_there, read_small};
pub use load::{Loaded, Settings, load};
pub use model::model;
pub use places::Places;
pub use save::save_first;

/// How a variable of the environment is asked for; an empty one counts as unset.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns a variable that is set and not blank, without white space around it.
fn variable(env: Env<'_>, name: &str) -> Option<String> {
    env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
