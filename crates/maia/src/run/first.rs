//! What is asked before a session exists: the model where none is chosen, trust in what the folder brings, starter rules
//! (SPEC section 3, first start; SAFETY 4).
//!
//! - Asked by `maia` in a terminal, before the session is opened. A run without a terminal asks nothing.
//! - A person who names a model by flag or variable, in a folder that brings nothing, sees none of it.
//! - Owns nothing: what is answered goes to the person's settings, to `<state>/trust.json` and into the arguments.

use maia_protocol::DEMO;
use maia_tui::start::{StartAnswer, StartItem, StartModel, StartPage, TrustAnswer, start};

use super::RunArguments;
use super::local::{self, Found};
use super::look;
use crate::cli;
use crate::error::Failure;
use crate::settings::{self, Places, Settings};
use crate::trust::{self, Item, Trust, store};

/// Rules that a new person is offered (SPEC section 3): reading is free, secrets of the folder are not, nothing of Bash.
const ALLOW: &[&str] = &[
    "Read(**)",
    "Glob(**)",
    "Grep(**)",
    "TodoWrite",
    "CurrentModel",
    "Skill",
    "Agent",
    "Delegate",
    "AgentOutput",
];
const DENY: &[&str] = &[
    "Read(**/.env)",
    "Read(**/.env.{local,development,production,staging,test})",
    "Read(**/.env.*.local)",
    "Read(**/*.pem)",
    "Read(**/id_{rsa,dsa,ecdsa,ed25519})",
];

/// A model that can be chosen, with the server that has it where no setting names one.
struct Choice {
    shown: StartModel,
    model: String,
    server: Option<String>,
}

/// Asks what has to be asked, and puts the answers into `arguments`; `false` when the person leaves.
///
/// # Errors
/// Settings that cannot be read or kept, a terminal that is lost.
pub fn screen(arguments: &mut RunArguments) -> Result<bool, Failure> {
    let places = Places::find(arguments.cwd.as_deref(), &cli::env)?;
    let flag = cli::trust(arguments.trust.as_deref());
    let items = trust::items(&places);
    let standing = store::standing(&places, &items)?;
    // The model that a trusted folder names needs no question.
    let trusted = flag != Trust::No || standing == store::Standing::Trusted;
    let settings = settings::load(&places, trusted)?.settings;
    let named = settings::model(arguments.model.as_deref(), &Settings::default(), &cli::env);
    let is_new =
        named.is_none() && arguments.resume.is_none() && !places.user().join("settings.json").exists();
    let brings = if flag == Trust::No && standing == store::Standing::Open { items } else { Vec::new() };
    let needs_model = named.is_none() && arguments.resume.is_none() && settings.model.is_none();
    let choices = if is_new || needs_model { choices(&settings)? } else { Vec::new() };
    let settled = named.or_else(|| settings::model(None, &settings, &cli::env));
    let settled = settled
        .filter(|_| choices.is_empty())
        .map(|model| StartModel { name: model.name, source: model.source });
    // What names no model names its fault when the session is opened; the only one of the endpoint needs no question.
    let is_clear = match choices.as_slice() {
        [] => true,
        [choice, _demo] => choice.server.is_none(),
        _ => false,
    };
    if !is_new && brings.is_empty() && is_clear {
        return Ok(true);
    }
    let page = StartPage {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cwd: places.cwd.display().to_string(),
        endpoints: choices.iter().map(|choice| choice.shown.clone()).chain(settled).collect(),
        brings: brings.iter().map(|item| shown(item, &places)).collect(),
        rules: shown_rules(),
        file: "~/.maia/settings.json".to_owned(),
        ask_rules: is_new,
    };
    let answer = start(&look::setup(), page).map_err(|error| {
        Failure::failed(format!("the terminal was lost: {error}"))
            .mend("nothing was changed; start maia again")
    })?;
    let StartAnswer::Go { model, trust, save } = answer else { return Ok(false) };
    match trust {
        TrustAnswer::No => {}
        TrustAnswer::Never => store::keep(&places, store::Folder::Never)?,
        TrustAnswer::All => {
            // As it was shown: what has changed since is asked about again.
            let items = brings.iter().map(store::Seen::from).collect();
            store::keep(&places, store::Folder::Trusted { items })?;
        }
    }
    let chosen = model.and_then(|index| choices.get(index));
    if save && is_new {
        let server = chosen.and_then(|choice| choice.server.as_deref());
        // The demo model is for looking around: it is named or chosen each time (SPEC section 4, Models).
        let model = chosen.map(|choice| choice.model.as_str()).filter(|model| *model != DEMO);
        settings::save_first(&places, server, model, ALLOW, DENY)?;
    }
    if let Some(choice) = chosen {
        arguments.model = Some(choice.model.clone());
        arguments.server.clone_from(&choice.server);
    }
    Ok(true)
}

/// Returns the starter rules, a line each; tools that are allowed whole share one.
fn shown_rules() -> Vec<String> {
    let (patterns, whole): (Vec<&str>, Vec<&str>) = ALLOW.iter().partition(|rule| rule.contains('('));
    let lines = DENY.iter().map(|rule| format!("deny   {rule}"));
    let lines = lines.chain(patterns.iter().map(|rule| format!("allow  {rule}")));
    lines.chain([format!("allow  {}", whole.join(", "))]).collect()
}

fn shown(item: &Item, places: &Places) -> StartItem {
    let path = item.path.strip_prefix(&places.cwd).unwrap_or(&item.path);
    let note = match item.kind {
        "settings" => "its allow rules; its deny and ask rules count without trust",
        "config" => "the model that it names",
        "agent" => "a definition, with its tools and allow rules",
        _ => "",
    };
    StartItem { kind: item.kind.to_owned(), path: path.display().to_string(), note: note.to_owned() }
}

/// Finds the models that can be chosen, the best first, the demo model last; none where the endpoint that is set gives no list.
fn choices(settings: &Settings) -> Result<Vec<Choice>, Failure> {
    let mut choices = Vec::new();
    let choice = |name: &str, source: String, server: Option<&str>| Choice {
        shown: StartModel { name: name.to_owned(), source },
        model: name.to_owned(),
        server: server.map(str::to_owned),
    };
    match settings::endpoint(settings, &cli::env) {
        Ok(endpoint) => match &settings.model {
            Some((model, source)) => choices.push(choice(model, source.clone(), None)),
            None => {
                let source = endpoint.source.clone();
                for name in local::models(endpoint)? {
                    choices.push(choice(&name, source.clone(), None));
                }
                if choices.is_empty() {
                    return Ok(choices);
                }
            }
        },
        Err(_) => {
            let limit = local::LOOPBACK_LIMIT;
            for Found { server, url, models } in local::find(&local::servers(&cli::env), limit)? {
                for name in models {
                    choices.push(choice(&name, format!("{server} at {url}"), Some(&url)));
                }
            }
        }
    }
    choices.push(choice(DEMO, "embedded: no network, no intelligence".to_owned(), None));
    Ok(choices)
}
