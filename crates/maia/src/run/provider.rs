//! Which model answers: a script, the embedded one, or one of an endpoint (SPEC sections 3 and 4).

use std::path::Path;

use maia_llm::{Client, ClientConfig, Provider, Script, Secret};

use super::RunArguments;
use crate::cli;
use crate::error::Failure;
use crate::settings::{self, Settings};

/// Who answers, and by which name.
pub struct Model {
    /// Who.
    pub provider: Provider,
    /// The name; `None` = the only one that the endpoint lists.
    pub name: Option<String>,
}

/// Chooses by flag, variable and settings.
///
/// # Errors
/// A script that cannot be read, an endpoint that is not set (exit 2).
pub fn choose(arguments: &RunArguments, settings: &Settings) -> Result<Model, Failure> {
    let chosen = settings::model(arguments.model.as_deref(), settings, &cli::env);
    let name = chosen.map(|chosen| chosen.name);
    if let Some(file) = name.as_deref().and_then(|name| name.strip_prefix("script:")) {
        let script = Script::load(Path::new(file)).map_err(|error| {
            Failure::usage(Failure::with_causes(&error))
                .mend("each line is a JSON object: {\"agent\": …, \"answer\": {…}}")
        })?;
        return Ok(Model { provider: Provider::Script(script), name });
    }
    if name.as_deref() == Some(maia_protocol::DEMO) {
        return Ok(Model { provider: Provider::Demo, name });
    }
    if let Some(name) = name.as_deref().filter(|name| name.starts_with("replay:")) {
        return Err(Failure::usage(format!("the model \"{name}\" is not built into this version yet"))
            .mend("name a model of an endpoint, or play a script with --model script:FILE"));
    }
    let endpoint = settings::endpoint(settings, &cli::env)?;
    let mut config = ClientConfig::new(endpoint.chat_url, endpoint.models_url);
    config.key = endpoint.key.map(|key| Secret::new(key.expose()));
    Ok(Model { provider: Provider::Http(Client::new(config)), name })
}

/// Returns the model's name: the one that was chosen, else the only one that the endpoint lists.
///
/// # Errors
/// No list, none or several models in it (exit 2), an endpoint that cannot be used (exit 1).
pub async fn name(model: &Model) -> Result<String, Failure> {
    if let Some(name) = &model.name {
        return Ok(name.clone());
    }
    let models = model.provider.models().await.map_err(|failure| {
        Failure::failed(failure.message)
            .mend("name the model with --model, MAIA_MODEL or ~/.maia/config.json")
    })?;
    match models.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::usage("the endpoint lists no model").mend("name one with --model")),
        several => Err(Failure::usage("no model is chosen, and the endpoint lists several")
            .mend(format!("choose with --model: {}", several.join(", ")))),
    }
}
