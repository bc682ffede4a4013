//! Writes the person's first settings file, when the first screen was accepted (SPEC section 3).

use std::io::Write as _;

use serde_json::{Map, Value, json};

use super::places::Places;
use crate::error::Failure;

/// Writes `~/.maia/settings.json` with the starter rules and, where they were chosen, server and model.
///
/// # Errors
/// When it cannot be written, or there is one by now (exit 1): a file that is there is never replaced.
pub fn save_first(
    places: &Places,
    server: Option<&str>,
    model: Option<&str>,
    allow: &[&str],
    deny: &[&str],
) -> Result<(), Failure> {
    let folder = places.user();
    let file = folder.join("settings.json");
    let mut settings = Map::new();
    if let Some(server) = server {
        settings.insert("LiteLLM_URL".to_owned(), Value::from(server));
    }
    if let Some(model) = model {
        settings.insert("model".to_owned(), Value::from(model));
    }
    settings.insert("permissions".to_owned(), json!({"allow": allow, "deny": deny}));
    let save = || -> std::io::Result<()> {
        std::fs::create_dir_all(&folder)?;
        let mut new = tempfile::NamedTempFile::new_in(&folder)?;
        writeln!(new, "{:#}", Value::Object(settings))?;
        new.as_file().sync_all()?;
        new.persist_noclobber(&file).map_err(|error| error.error)?;
        Ok(())
    };
    save().map_err(|error| {
        Failure::failed(format!("{} cannot be written: {error}", file.display()))
            .mend("make the folder writable, or press Esc on the first screen to go on without saving")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again_and_nothing_is_replaced() {
        let home = tempfile::tempdir().expect("a folder");
        let work = tempfile::tempdir().expect("a folder");
        let places = Places::new(home.path(), work.path(), &home.path().join("state"));
        save_first(&places, Some("http://127.0.0.1:4000"), Some("m"), &["Read(**)"], &["Read(**/.env)"])
            .expect("written");
        let loaded = super::super::load(&places, false).expect("read");
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        assert_eq!(loaded.settings.litellm_url.as_deref(), Some("http://127.0.0.1:4000"));
        assert_eq!(loaded.settings.model.as_ref().map(|(model, _)| model.as_str()), Some("m"));
        let rules = &loaded.settings.rules.first().expect("one file").rules;
        assert_eq!(
            (rules.allow.as_slice(), rules.deny.as_slice()),
            (&["Read(**)".to_owned()][..], &["Read(**/.env)".to_owned()][..])
        );
        save_first(&places, None, None, &[], &[]).expect_err("there is one");
    }
}
