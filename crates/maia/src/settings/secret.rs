//! A key that cannot be printed by accident.

use std::fmt;

/// A key of an endpoint. It has no `Display` and no serde form, and its `Debug` tells nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `value` without white space around it; `None` when nothing is left.
    pub fn new(value: &str) -> Option<Self> {
        Some(value.trim()).filter(|value| !value.is_empty()).map(|value| Self(value.to_owned()))
    }

    /// Returns the value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
