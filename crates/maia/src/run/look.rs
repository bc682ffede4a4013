//! How the screen is to look and to speak: colours, language, Markdown (SPEC sections 3 and 4).

use maia_tui::{Lang, Setup, ThemeName};

use crate::cli;

/// Reads it from the environment.
pub fn setup() -> Setup {
    let set = |name: &str| cli::env(name).is_some_and(|value| !value.is_empty());
    let locale =
        ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| cli::env(name).filter(|v| !v.is_empty()));
    Setup {
        theme: if set("NO_COLOR") { ThemeName::Plain } else { ThemeName::Terminal },
        lang: locale.as_deref().map_or(Lang::En, Lang::of_locale),
        raw_markdown: set("MAIA_NO_MARKDOWN"),
        history: Vec::new(),
    }
}
