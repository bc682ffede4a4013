//! `maia`: the session in the terminal (SPEC section 4, TUI).
//!
//! - Starts the same actors as a headless run, hands their event stream to `maia-tui` and its orders to the root.
//! - Does for the screen what needs more than an order: modes, `!command`, `@file`, lists.
//! - Leaving stops what is at work and closes the session; whatever happens, it can be resumed.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use maia_actors::env::SessionEnv;
use maia_actors::root::RootMsg;
use maia_protocol::permission::Sandbox;
use maia_protocol::{ActorPath, Mode, Op};
use maia_tui::{Action, Fact, Lang, Options, Setup, ThemeName};
use ractor::ActorRef;
use tokio::sync::mpsc;

use super::tree::{self, Started};
use super::{ModeArgument, RunArguments, SandboxArgument, first, limits, open_session, runtime};
use crate::cli;
use crate::error::Failure;

/// Arguments of `maia` without a command.
#[derive(Debug, Args)]
pub struct TerminalArguments {
    /// A first request.
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Model, as the endpoint knows it; `script:FILE` plays a script.
    #[arg(long, value_name = "SPEC")]
    pub model: Option<String>,
    /// Goes on with a session, by name or id.
    #[arg(long, value_name = "NAME")]
    pub resume: Option<String>,
    /// What happens where no rule matches.
    #[arg(long, value_name = "MODE", default_value = "confirm")]
    pub mode: ModeArgument,
    /// Adds an allow rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Adds an ask rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Adds a deny rule; repeatable.
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// Trusts what the folder brings, for this run; with a hash, only if it has that one.
    #[arg(long, value_name = "HASH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub trust: Option<String>,
    /// Runs commands unconfined; with mode auto unasked too.
    #[arg(long)]
    pub no_sandbox: bool,
    /// Says that a container around maia is the boundary.
    #[arg(long, value_name = "external", conflicts_with = "no_sandbox")]
    pub sandbox: Option<SandboxArgument>,
    /// Launch folder.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// How long the last records may take when the person leaves.
const LEAVE_PATIENCE: Duration = Duration::from_secs(10);

/// Characters of one file that `@file` adds (mission M11.4-limits).
const FILE_CHARS: usize = 50_000;

/// Shows a session in the terminal and returns the exit code.
///
/// # Errors
/// No terminal (exit 2), and whatever keeps the session from being opened.
pub fn interactive(arguments: TerminalArguments) -> Result<u8, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage("maia needs a terminal, and this is none")
            .mend("without one: maia run \"what is here?\""));
    }
    let mut arguments = RunArguments {
        prompt: arguments.prompt,
        model: arguments.model,
        resume: arguments.resume,
        mode: arguments.mode,
        allow: arguments.allow,
        ask: arguments.ask,
        deny: arguments.deny,
        trust: arguments.trust,
        no_sandbox: arguments.no_sandbox,
        sandbox: arguments.sandbox,
        cwd: arguments.cwd,
        ..RunArguments::default()
    };
    if !first::screen(&mut arguments)? {
        return Ok(0);
    }
    let (prepared, opened, model) = open_session(&arguments, false)?;
    let agents = prepared.snapshot.agents.iter().map(|known| {
        let definition = &known.definition;
        (definition.name.clone(), definition.description.clone())
    });
    let agents: Vec<_> = agents.collect();
    let (sandbox, name) = (prepared.sandbox, opened.name.clone());
    let limits = limits(&arguments);
    let runtime = runtime()?;
    let recorded = runtime.block_on(async {
        let run = tree::Run { prepared, opened, model, headless: false, one_turn: false, limits };
        show(tree::start(run).await?, sandbox, agents).await
    })?;
    runtime.shutdown_background();
    if recorded {
        println!("the session is kept as {name}; go on with: maia --resume {name}");
        return Ok(0);
    }
    Err(Failure::failed("the session ended before its end was recorded")
        .mend(format!("nothing recorded is lost; go on with: maia --resume {name}")))
}

/// Shows the session until the person leaves; returns whether its end is recorded.
async fn show(
    mut started: Started,
    sandbox: Sandbox,
    agents: Vec<(String, String)>,
) -> Result<bool, Failure> {
    let (_, nothing) = mpsc::channel(1);
    let events = std::mem::replace(&mut started.events, nothing);
    let (facts, later_facts) = mpsc::channel(64);
    let (actions, mut asked) = mpsc::channel(64);
    let set = |name: &str| cli::env(name).is_some_and(|value| !value.is_empty());
    let french =
        ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| cli::env(name).filter(|v| !v.is_empty()));
    let options = Options {
        setup: Setup {
            theme: if set("NO_COLOR") { ThemeName::Plain } else { ThemeName::Terminal },
            lang: if french.is_some_and(|locale| locale.starts_with("fr")) { Lang::Fr } else { Lang::En },
            raw_markdown: set("MAIA_NO_MARKDOWN"),
            history: Vec::new(),
        },
        past: Vec::new(),
        facts: vec![Fact::Sandbox(sandbox), Fact::Agents(agents.clone())],
        later_facts: Some(later_facts),
        mouse: false,
    };
    let mut screen = tokio::spawn(maia_tui::run(options, events, actions));
    started.go();
    let helper = Helper { root: started.root.clone(), env: started.env.clone(), facts, agents };
    let mut closed = started.closed.clone();
    let mut lost = None;
    loop {
        tokio::select! {
            action = asked.recv() => match action {
                Some(Action::Quit | Action::Interrupted) | None => break,
                Some(action) => helper.carry_out(action),
            },
            ended = &mut screen => {
                if let Ok(Err(error)) = ended {
                    lost = Some(error);
                }
                break;
            }
            _ = closed.wait_for(Option::is_some) => break,
        }
    }
    let _ = started.root.cast(RootMsg::Leave);
    let end = tokio::time::timeout(LEAVE_PATIENCE, closed.wait_for(Option::is_some)).await;
    let recorded = matches!(end, Ok(Ok(end)) if end.as_ref().is_some_and(|end| end.recorded));
    started.kill();
    if !screen.is_finished() {
        // Its stream has ended with the hub: it gives the terminal back.
        let _ = tokio::time::timeout(LEAVE_PATIENCE, &mut screen).await;
    }
    match lost {
        Some(error) => Err(Failure::failed(format!("the terminal was lost: {error}"))
            .mend("the session is kept; go on with maia --resume")),
        None => Ok(recorded),
    }
}

/// Does what the screen asks for and no order can.
struct Helper {
    root: ActorRef<RootMsg>,
    env: Arc<SessionEnv>,
    facts: mpsc::Sender<Fact>,
    agents: Vec<(String, String)>,
}

impl Helper {
    fn say(&self, text: impl Into<String>) {
        // A screen that is behind by so many facts has no room for one more.
        let _ = self.facts.try_send(Fact::Say(text.into()));
    }

    fn order(&self, op: Op) {
        // A root that has given up says so by its end.
        let _ = self.root.cast(RootMsg::Op(op));
    }

    fn carry_out(&self, action: Action) {
        match action {
            Action::Op(op) => self.order(op),
            Action::AskWithFiles { text } => {
                let (root, cwd, home) =
                    (self.root.clone(), self.env.workspace.cwd.clone(), self.env.workspace.home.clone());
                tokio::task::spawn_blocking(move || {
                    let text = with_files(&text, &cwd, &home);
                    let _ = root.cast(RootMsg::Op(Op::Ask { text }));
                });
            }
            Action::Shell { command } => self.shell(command),
            Action::Mode(mode) => self.mode(mode),
            Action::Model { .. } => self.say("The model is chosen at the start: maia --model NAME"),
            Action::Agents => {
                let list = self.agents.iter().map(|(name, description)| format!("{name}: {description}"));
                self.say(list.collect::<Vec<_>>().join("\n"));
            }
            Action::Clear => {
                self.say("A new conversation begins with a new start of maia; this one is kept.")
            }
            Action::Command { name, .. } => {
                self.say(format!("There is no command /{name}; /help lists them."))
            }
            Action::Help | Action::Older { .. } | Action::GoOn | Action::Quit | Action::Interrupted => {}
        }
    }

    fn mode(&self, mode: Mode) {
        if mode == Mode::Auto && self.env.sandbox == Sandbox::None {
            self.say("Mode auto needs a boundary: start with --no-sandbox or --sandbox external.");
            return;
        }
        self.env.mode.store(Arc::new(mode));
        let _ = self.facts.try_send(Fact::Mode(mode));
    }

    /// Runs a command of the person: shown, and told to the main agent with its next request (mission M11.2).
    fn shell(&self, command: String) {
        let (root, facts, workspace) = (self.root.clone(), self.facts.clone(), self.env.workspace.clone());
        tokio::spawn(async move {
            let input = serde_json::json!({"command": command});
            let limits = maia_tools::bash::Limits::default();
            let cancel = maia_tools::bash::Cancel::new();
            let output = maia_tools::bash::run(&input, &workspace, &limits, |_| {}, |_| {}, cancel).await;
            let text = format!("$ {command}\n{}", output.text);
            let _ = facts.send(Fact::Say(text.clone())).await;
            let data = format!("<data from=\"a command of the person\">\n{text}\n</data>");
            let _ = root.cast(RootMsg::Op(Op::Tell { actor: ActorPath::main(), text: data }));
        });
    }
}

/// Returns the request with the files that it names by `@` added as data; what names no file stays text (mission M11.4).
fn with_files(text: &str, cwd: &Path, home: &Path) -> String {
    let mut all = text.to_owned();
    for word in text.split_whitespace().filter_map(|word| word.strip_prefix('@')) {
        let path = match word.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => cwd.join(word),
        };
        let Ok(bytes) = crate::settings::read_small(&path) else { continue };
        let Ok(content) = String::from_utf8(bytes) else { continue };
        let shown: String = content.chars().take(FILE_CHARS).collect();
        let cut = if shown.len() < content.len() { "\n[cut]" } else { "" };
        all.push_str(&format!("\n\n<data from=\"{word}\">\n{shown}{cut}\n</data>"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_added_as_data_and_other_words_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.txt"), "hello").expect("a file");
        let text = with_files("look at @a.txt and @nobody", folder.path(), folder.path());
        assert!(
            text.starts_with("look at @a.txt and @nobody\n\n<data from=\"a.txt\">\nhello\n</data>"),
            "{text}"
        );
        assert!(!text.contains("from=\"nobody\""), "{text}");
    }
}
