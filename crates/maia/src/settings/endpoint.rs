//! Where the model is: one pure function over settings and environment (SPEC 3, SPEC 4, mission M7.3).

use url::Url;

use super::error::SettingsError;
use super::load::Settings;
use super::secret::Secret;
use super::{Env, variable};

/// An endpoint in OpenAI's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointChoice {
    /// Where answers are asked for.
    pub chat_url: String,
    /// Where the list of models is.
    pub models_url: String,
    /// The key, where there is one.
    pub key: Option<Secret>,
    /// The setting or variables that chose it, for a person.
    pub source: String,
}

/// Services that are known by the variable of their key. The base holds the version part.
const SERVICES: &[(&str, &str)] = &[
    ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    ("GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    ("MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    ("DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    ("XAI_API_KEY", "https://api.x.ai/v1"),
    ("TOGETHER_API_KEY", "https://api.together.xyz/v1"),
    ("FIREWORKS_API_KEY", "https://api.fireworks.ai/inference/v1"),
    ("CEREBRAS_API_KEY", "https://api.cerebras.ai/v1"),
    ("GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/openai"),
];

/// Returns the names of all variables that may hold the key of an endpoint: no child process gets them (SAFETY 5).
pub fn key_variables() -> Vec<String> {
    let known = ["LITELLM_API_KEY", "OPENAI_API_KEY"].into_iter();
    known.chain(SERVICES.iter().map(|(name, _)| *name)).map(str::to_owned).collect()
}

/// Chooses the endpoint: `LiteLLM_URL`, else `OPENAI_BASE_URL`, else `OPENAI_API_KEY` alone, else the first known
/// service whose key is set.
///
/// # Errors
/// [`SettingsError::BadUrl`] when the one chosen is no http(s) URL; [`SettingsError::NoEndpoint`] when none is set.
pub fn endpoint(settings: &Settings, env: Env<'_>) -> Result<EndpointChoice, SettingsError> {
    let secret = |name: &str| variable(env, name).and_then(|value| Secret::new(&value));
    if let Some(url) = &settings.litellm_url {
        let chat = settings.chat_path.as_deref().unwrap_or("/v1/chat/completions");
        let models = settings.models_path.as_deref().unwrap_or("/v1/models");
        let base = base("LiteLLM_URL", url, "http://localhost:4000")?;
        return Ok(EndpointChoice {
            chat_url: join_versioned(&base, path("OpenAI_EndPoint", chat)?, chat),
            models_url: join_versioned(&base, path("LiteLLM_Models", models)?, chat),
            key: settings.litellm_key.clone().or_else(|| secret("LITELLM_API_KEY")),
            source: "LiteLLM_URL".to_owned(),
        });
    }
    let openai = secret("OPENAI_API_KEY");
    let (base_url, key, source) = if let Some(url) = variable(env, "OPENAI_BASE_URL") {
        let base = base("OPENAI_BASE_URL", &url, "http://localhost:8080/v1")?;
        (base, openai, "OPENAI_BASE_URL")
    } else if openai.is_some() {
        (base("OPENAI_API_KEY", "https://api.openai.com/v1", "")?, openai, "OPENAI_API_KEY")
    } else {
        let service = SERVICES.iter().find_map(|(name, url)| secret(name).map(|key| (*name, *url, key)));
        let Some((name, url, key)) = service else { return Err(no_endpoint(env)) };
        (base(name, url, "")?, Some(key), name)
    };
    Ok(EndpointChoice {
        chat_url: join(&base_url, "chat/completions"),
        models_url: join(&base_url, "models"),
        key,
        source: source.to_owned(),
    })
}

fn no_endpoint(env: Env<'_>) -> SettingsError {
    let services: Vec<&str> = SERVICES.iter().map(|(name, _)| *name).collect();
    let lone = match variable(env, "LITELLM_API_KEY") {
        Some(_) => "LITELLM_API_KEY is set, but not where the server is. ",
        None => "",
    };
    SettingsError::NoEndpoint {
        mend: format!(
            "{lone}Put `{{\"LiteLLM_URL\": \"http://localhost:4000\"}}` into ~/.maia/settings.json, or set \
             OPENAI_BASE_URL (with its version part, such as http://localhost:8080/v1) and OPENAI_API_KEY, or \
             OPENAI_API_KEY alone, or one of {}. To try maia without any: --model demo",
            services.join(", ")
        ),
    }
}

/// Checks a base URL; the fault never holds the value.
fn base(source: &str, text: &str, example: &str) -> Result<Url, SettingsError> {
    let bad = |cause: String| SettingsError::BadUrl {
        source_name: source.to_owned(),
        cause,
        example: example.to_owned(),
    };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it does not begin with http:// or https://".to_owned()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("it names no host".to_owned()));
    }
    Ok(url)
}

/// Checks a path behind `LiteLLM_URL`.
fn path<'a>(source: &str, text: &'a str) -> Result<&'a str, SettingsError> {
    if text.contains("://") || text.trim().trim_matches('/').is_empty() {
        return Err(SettingsError::BadUrl {
            source_name: source.to_owned(),
            cause: "it is the path behind LiteLLM_URL, not a whole URL".to_owned(),
            example: "/v1/chat/completions".to_owned(),
        });
    }
    Ok(text.trim())
}

/// Joins with exactly one `/`; a query of the base stays behind the path.
fn join(base: &Url, path: &str) -> String {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut url = base.clone();
    let joined = format!("{}/{}", base.path().trim_end_matches('/'), path.trim_matches('/'));
    url.set_path(&joined);
    url.set_fragment(None);
    if query.is_some() {
        url.set_query(query);
    }
    url.into()
}

/// Joins, where the base may already hold what the path begins with: a trailing `/v1`, or the whole `chat` path.
fn join_versioned(base: &Url, path: &str, chat: &str) -> String {
    let mut base = base.clone();
    let own = base.path().trim_end_matches('/').to_owned();
    let chat = format!("/{}", chat.trim().trim_matches('/'));
    let version = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let bare = own.strip_suffix(&chat).unwrap_or(&own);
    let bare = match bare.strip_suffix(version) {
        Some(rest) if is_version(version) && rest.ends_with('/') => rest,
        _ => bare,
    };
    base.set_path(bare);
    join(&base, path)
}

/// Tells whether a part of a path is `v1`, `v2` and so on.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::super::load::from_text;
    use super::*;

    fn check(path: &Path) {
        let case: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let name = path.display();
        let settings = from_text(&case["settings"].to_string()).unwrap();
        let env = |name: &str| case["env"][name].as_str().map(str::to_owned);
        let expect = &case["expect"];
        match endpoint(&settings, &env) {
            Ok(choice) => {
                assert_eq!(choice.chat_url, expect["chat_url"].as_str().unwrap_or("an error"), "{name}");
                assert_eq!(choice.models_url, expect["models_url"].as_str().unwrap(), "{name}");
                assert_eq!(choice.key.as_ref().map(Secret::expose), expect["key"].as_str(), "{name}");
                assert_eq!(choice.source, expect["source"].as_str().unwrap(), "{name}");
                let shown = format!("{choice:?}");
                assert!(choice.key.is_none_or(|key| !shown.contains(key.expose())), "{name}: {shown}");
            }
            Err(error) => {
                let help = miette::Diagnostic::help(&error).map(|help| help.to_string()).unwrap_or_default();
                let shown = format!("{error} {help}");
                let mentions =
                    expect["error_mentions"].as_array().unwrap_or_else(|| panic!("{name}: {shown}"));
                for text in mentions.iter().filter_map(Value::as_str) {
                    assert!(shown.contains(text), "{name}: `{shown}` does not mention {text}");
                }
                assert!(!shown.contains("sk-"), "{name}: {shown}");
            }
        }
    }

    #[test]
    fn every_case() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/endpoint");
        let paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(paths.len() >= 15, "only {} cases", paths.len());
        paths.iter().for_each(|path| check(path));
    }
}
