//! Reads the settings files: the person's whole, the launch folder's as far as its trust goes (SAFETY 4).

use std::path::PathBuf;

use maia_protocol::RuleSet;
use maia_protocol::snapshot::RuleSource;

use super::error::{SettingsError, SettingsWarning};
use super::file::read_if_there;
use super::json::{self, Json};
use super::places::Places;
use super::rules;
use super::secret::Secret;

/// Most bytes of a settings file.
const MAX_BYTES: u64 = 1024 * 1024;

/// What is set, with the defaults of mission M7.3 and ENGINE 6.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `LiteLLM_URL`.
    pub litellm_url: Option<String>,
    /// `OpenAI_EndPoint`: the path of chat behind it.
    pub chat_path: Option<String>,
    /// `LiteLLM_Models`: the path of the list behind it.
    pub models_path: Option<String>,
    /// `LiteLLM_API_Key`.
    pub litellm_key: Option<Secret>,
    /// `MaxIterations` of the main agent's series.
    pub max_iterations: u32,
    /// `MaxOutputTokens` of a request that fixes none itself.
    pub max_output_tokens: Option<u32>,
    /// `MaxParallelAgents`: places.
    pub max_parallel_agents: u32,
    /// `MaxAgentDepth`.
    pub max_agent_depth: u32,
    /// `MaxSpawns` of a session.
    pub max_spawns: u32,
    /// `MaxInFlight` of an endpoint.
    pub max_in_flight: u32,
    /// `ContextSize` in tokens, where the endpoint does not tell.
    pub context_size: Option<u32>,
    /// `AskAtCost` in micro-dollars; written in USD.
    pub ask_at_cost_micros: u64,
    /// `model` of a file, as written, and the file.
    pub model: Option<(String, String)>,
    /// Rules by file.
    pub rules: Vec<RuleSource>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            litellm_url: None,
            chat_path: None,
            models_path: None,
            litellm_key: None,
            max_iterations: 50,
            max_output_tokens: None,
            max_parallel_agents: 8,
            max_agent_depth: 3,
            max_spawns: 200,
            max_in_flight: 16,
            context_size: None,
            ask_at_cost_micros: 5_000_000,
            model: None,
            rules: Vec::new(),
        }
    }
}

/// Settings, and what was passed over.
#[derive(Debug)]
pub struct Loaded {
    /// What is set.
    pub settings: Settings,
    /// What was passed over.
    pub warnings: Vec<SettingsWarning>,
}

/// Reads the files of `places`. Of the launch folder only `deny` and `ask` count, and its `allow` and `model` if it is
/// `trusted`; never endpoints, keys, limits or modes.
///
/// # Errors
/// [`SettingsError`] when a file of the person is there and cannot be used. A broken file of the folder is a warning.
pub fn load(places: &Places, trusted: bool) -> Result<Loaded, SettingsError> {
    let mut reader = Reader { settings: Settings::default(), warnings: Vec::new() };
    let user = places.user();
    if let Some(file) = File::read(user.join("settings.json"))? {
        reader.user_settings(&file)?;
    }
    if let Some(file) = File::read(user.join("config.json"))? {
        reader.config(&file);
    }
    if !places.folder_is_user() {
        let folder = places.folder();
        if let Some(file) = reader.of_folder(folder.join("settings.json")) {
            reader.folder_settings(&file, trusted);
        }
        if trusted && let Some(file) = reader.of_folder(folder.join("config.json")) {
            reader.config(&file);
        }
    }
    Ok(Loaded { settings: reader.settings, warnings: reader.warnings })
}

/// Reads settings of the person from a text, for cases.
#[cfg(test)]
pub fn from_text(text: &str) -> Result<Settings, SettingsError> {
    let file = File::parse(PathBuf::from("settings.json"), text.as_bytes().to_vec())?;
    let mut reader = Reader { settings: Settings::default(), warnings: Vec::new() };
    reader.user_settings(&file)?;
    Ok(reader.settings)
}

/// A file whose top is an object.
struct File {
    path: PathBuf,
    bytes: Vec<u8>,
    entries: Vec<(String, Json)>,
}

impl File {
    fn read(path: PathBuf) -> Result<Option<Self>, SettingsError> {
        match read_if_there(&path, MAX_BYTES) {
            Ok(Some(bytes)) => Self::parse(path, bytes).map(Some),
            Ok(None) => Ok(None),
            Err(source) => Err(SettingsError::Unreadable { path, source }),
        }
    }

    fn parse(path: PathBuf, bytes: Vec<u8>) -> Result<Self, SettingsError> {
        match json::parse(&bytes) {
            Ok(Json::Object(entries)) => Ok(Self { path, bytes, entries }),
            Ok(_) => Err(SettingsError::Broken {
                path,
                line: 1,
                column: 1,
                cause: "the file holds no object".to_owned(),
                mend: "put everything between `{` and `}`".to_owned(),
            }),
            Err(fault) => Err(SettingsError::Broken {
                path,
                line: fault.line,
                column: fault.column,
                cause: fault.cause,
                mend: "mend the JSON here: a comma between entries and none behind the last, quotes around keys and \
                       texts, no comments"
                    .to_owned(),
            }),
        }
    }

    fn fault(&self, key: &str, wanted: &str) -> SettingsError {
        let (line, column) = json::place_of(&self.bytes, key).unwrap_or((1, 1));
        SettingsError::Broken {
            path: self.path.clone(),
            line,
            column,
            cause: format!("the value of `{key}` cannot be used"),
            mend: format!("`{key}` takes {wanted}"),
        }
    }

    fn warning(&self, near: &str, message: String, mend: &str) -> SettingsWarning {
        let line = json::place_of(&self.bytes, near).map(|(line, _)| line);
        SettingsWarning { path: self.path.clone(), line, message, mend: mend.to_owned() }
    }

    fn source(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns a warning for each key that stands twice.
    fn twice(&self) -> Vec<SettingsWarning> {
        let mut seen: Vec<&str> = Vec::new();
        let mut warnings = Vec::new();
        for (key, _) in &self.entries {
            if seen.contains(&key.as_str()) {
                let message =
                    format!("`{key}` stands twice: rules add up, of other values the last one counts");
                warnings.push(self.warning(key, message, "keep one of the two"));
            }
            seen.push(key);
        }
        warnings
    }
}

/// Keys of the person's settings.json.
const KEYS: &[&str] = &[
    "LiteLLM_URL",
    "OpenAI_EndPoint",
    "LiteLLM_Models",
    "LiteLLM_API_Key",
    "MaxIterations",
    "MaxOutputTokens",
    "MaxParallelAgents",
    "MaxAgentDepth",
    "MaxSpawns",
    "MaxInFlight",
    "ContextSize",
    "AskAtCost",
    "model",
    "permissions",
];

struct Reader {
    settings: Settings,
    warnings: Vec<SettingsWarning>,
}

impl Reader {
    fn user_settings(&mut self, file: &File) -> Result<(), SettingsError> {
        self.warnings.extend(file.twice());
        let mut rules = RuleSet::default();
        let settings = &mut self.settings;
        for (key, value) in &file.entries {
            let set = || value != &Json::Null;
            match key.as_str() {
                "LiteLLM_URL" if set() => settings.litellm_url = text(file, key, value)?,
                "OpenAI_EndPoint" if set() => settings.chat_path = text(file, key, value)?,
                "LiteLLM_Models" if set() => settings.models_path = text(file, key, value)?,
                "LiteLLM_API_Key" if set() => {
                    settings.litellm_key = text(file, key, value)?.and_then(|key| Secret::new(&key));
                }
                "MaxIterations" if set() => settings.max_iterations = count(file, key, value)?,
                "MaxOutputTokens" if set() => settings.max_output_tokens = Some(count(file, key, value)?),
                "MaxParallelAgents" if set() => settings.max_parallel_agents = count(file, key, value)?,
                "MaxAgentDepth" if set() => settings.max_agent_depth = count(file, key, value)?,
                "MaxSpawns" if set() => settings.max_spawns = count(file, key, value)?,
                "MaxInFlight" if set() => settings.max_in_flight = count(file, key, value)?,
                "ContextSize" if set() => settings.context_size = Some(count(file, key, value)?),
                "AskAtCost" if set() => settings.ask_at_cost_micros = dollars(file, key, value)?,
                "model" if set() => {
                    settings.model = text(file, key, value)?.map(|model| (model, file.source()))
                }
                "permissions" if matches!(value, Json::Object(_)) => {
                    for fault in rules::read(value, &mut rules) {
                        self.warnings.push(file.warning(&fault.near, fault.message, &fault.mend));
                    }
                }
                // A list of denials that cannot be read must not be lost.
                "permissions" if set() => {
                    return Err(file.fault(key, "an object with `allow`, `ask` and `deny`"));
                }
                key if KEYS.contains(&key) => {}
                _ => self.warnings.push(unknown(file, key)),
            }
        }
        self.settings.rules.push(RuleSource { source: file.source(), rules });
        Ok(())
    }

    fn config(&mut self, file: &File) {
        self.warnings.extend(file.twice());
        for (key, value) in &file.entries {
            match (key.as_str(), value) {
                ("model", Json::Text(model)) if !model.trim().is_empty() => {
                    self.settings.model = Some((model.clone(), file.source()));
                }
                ("model", Json::Null) => {}
                ("model", _) => {
                    let message = "`model` is no text and is ignored".to_owned();
                    self.warnings.push(file.warning(key, message, "write the model's name in quotes"));
                }
                _ => {
                    let message = format!("`{key}` means nothing in this file and is ignored");
                    self.warnings.push(file.warning(
                        key,
                        message,
                        "config.json holds `model`; the rest is for ~/.maia/settings.json",
                    ));
                }
            }
        }
    }

    fn folder_settings(&mut self, file: &File, trusted: bool) {
        self.warnings.extend(file.twice());
        let mut rules = RuleSet::default();
        for (key, value) in &file.entries {
            match key.as_str() {
                "permissions" => {
                    for fault in rules::read(value, &mut rules) {
                        self.warnings.push(file.warning(&fault.near, fault.message, &fault.mend));
                    }
                }
                known if KEYS.contains(&known) => {
                    let message = format!("`{key}` never counts from a folder and is ignored");
                    self.warnings.push(file.warning(key, message, "put it into ~/.maia/settings.json"));
                }
                _ => self.warnings.push(unknown(file, key)),
            }
        }
        if !trusted && !rules.allow.is_empty() {
            let message =
                format!("{} allow rules do not count: the folder is not trusted", rules.allow.len());
            self.warnings.push(file.warning(
                "allow",
                message,
                "look at them, then trust the folder or add them to your own settings",
            ));
            rules.allow.clear();
        }
        self.settings.rules.push(RuleSource { source: file.source(), rules });
    }

    /// Reads a file of the launch folder: one that is broken is said and ignored.
    fn of_folder(&mut self, path: PathBuf) -> Option<File> {
        let (line, cause) = match File::read(path.clone()) {
            Ok(file) => return file,
            Err(SettingsError::Broken { line, column, cause, .. }) => {
                (Some(line), format!("column {column}: {cause}"))
            }
            Err(SettingsError::Unreadable { source, .. }) => (None, source.to_string()),
            Err(error) => (None, error.to_string()),
        };
        let message = format!("{cause}; nothing in this file counts, its `deny` neither");
        self.warnings.push(SettingsWarning { path, line, message, mend: "mend the file".to_owned() });
        None
    }
}

fn text(file: &File, key: &str, value: &Json) -> Result<Option<String>, SettingsError> {
    match value {
        Json::Text(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        _ => Err(file.fault(key, "a text in quotes")),
    }
}

fn count(file: &File, key: &str, value: &Json) -> Result<u32, SettingsError> {
    match value {
        Json::Number(n) if *n >= 1.0 && *n <= f64::from(u32::MAX) && n.fract() == 0.0 => Ok(*n as u32),
        _ => Err(file.fault(key, "a whole number from 1")),
    }
}

/// Reads an amount in USD as micro-dollars, rounded.
fn dollars(file: &File, key: &str, value: &Json) -> Result<u64, SettingsError> {
    match value {
        Json::Number(n) if *n > 0.0 && *n <= 1_000_000.0 => Ok((n * 1_000_000.0).round() as u64),
        _ => Err(file.fault(key, "an amount in USD above 0, such as 5 or 2.5")),
    }
}

fn unknown(file: &File, key: &str) -> SettingsWarning {
    let message = format!("`{key}` means nothing and is ignored");
    match KEYS.iter().find(|known| known.eq_ignore_ascii_case(key)) {
        Some(known) => file.warning(key, message, &format!("write it `{known}`")),
        None => file.warning(key, message, "check its spelling, or take it out"),
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
