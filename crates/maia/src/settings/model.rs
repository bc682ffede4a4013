//! Which model is asked (mission M5.3).

use super::load::Settings;
use super::{Env, variable};

/// A model and who chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The model's name, without `litellm:`.
    pub name: String,
    /// The flag, variable or file that names it.
    pub source: String,
}

/// Chooses the model: `--model`, else `MAIA_MODEL`, else what the files say. `None` = the endpoint's list decides.
///
/// The prefix `litellm:` goes; the rest may hold `:` and `/` (mission M5.3-form).
pub fn model(flag: Option<&str>, settings: &Settings, env: Env<'_>) -> Option<ModelChoice> {
    let flag = flag.map(|name| (name.to_owned(), "--model".to_owned()));
    let environment = || variable(env, "MAIA_MODEL").map(|name| (name, "MAIA_MODEL".to_owned()));
    let files = || settings.model.clone();
    let clean = |(name, source): (String, String)| {
        let name = name.trim();
        let name = name.strip_prefix("litellm:").unwrap_or(name).trim();
        (!name.is_empty()).then(|| ModelChoice { name: name.to_owned(), source })
    };
    flag.and_then(clean).or_else(|| environment().and_then(clean)).or_else(|| files().and_then(clean))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_names_one() {
        let file =
            Settings { model: Some(("c".to_owned(), "config.json".to_owned())), ..Settings::default() };
        let env = |name: &str| (name == "MAIA_MODEL").then(|| "litellm:ollama/qwen3:8b".to_owned());
        let none = |_: &str| None;
        let name = |choice: Option<ModelChoice>| choice.map(|choice| choice.name);
        assert_eq!(name(model(Some("a:b/c"), &file, &env)).as_deref(), Some("a:b/c"));
        assert_eq!(name(model(None, &file, &env)).as_deref(), Some("ollama/qwen3:8b"));
        assert_eq!(name(model(Some(" litellm: "), &file, &none)).as_deref(), Some("c"));
        assert_eq!(model(None, &Settings::default(), &none), None);
    }
}
