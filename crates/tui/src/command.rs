//! What a submitted text means: a request, `&agent task`, `/command`, `!command` (SPEC section 2, mission M5.6).
//!
//! Asked by the input when a text is sent. Pure; decides nothing about whether an agent or model exists.

use maia_protocol::Op;
use maia_protocol::permission::Mode;

use crate::action::Action;

/// Why a text cannot be sent as it is; the text stays in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// An agent was named without a task.
    NoTask {
        /// The name.
        agent: String,
    },
    /// There is no such mode.
    NoMode,
}

/// Slash commands that the screen knows by name, for completion.
pub const COMMANDS: [&str; 6] = ["agents", "clear", "exit", "help", "mode", "model"];

/// Returns what `text` asks for: nothing for a blank one, several actions for several `&` lines.
///
/// # Errors
/// [`Unusable`] when something is missing.
pub fn parse(text: &str) -> Result<Vec<Action>, Unusable> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if text.starts_with('&') {
        return spawns(text);
    }
    if let Some(command) = text.strip_prefix('!') {
        let command = command.trim().to_owned();
        return Ok(if command.is_empty() { Vec::new() } else { vec![Action::Shell { command }] });
    }
    if let Some(action) = slash(text) {
        return action.map(|action| vec![action]);
    }
    let text = text.to_owned();
    Ok(vec![if names_file(&text) { Action::AskWithFiles { text } } else { Action::Op(Op::Ask { text }) }])
}

/// Returns the mode called `name`.
pub fn mode_named(name: &str) -> Option<Mode> {
    [Mode::ReadOnly, Mode::Confirm, Mode::Edits, Mode::Auto].into_iter().find(|mode| mode_name(*mode) == name)
}

/// Returns the name of `mode` as in settings.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::ReadOnly => "read-only",
        Mode::Confirm => "confirm",
        Mode::Edits => "edits",
        Mode::Auto => "auto",
    }
}

/// Returns the mode after `mode` on Shift+Tab; `auto` is only left this way, never entered (SAFETY 1).
pub fn next_mode(mode: Mode) -> Mode {
    match mode {
        Mode::ReadOnly => Mode::Confirm,
        Mode::Confirm => Mode::Edits,
        Mode::Edits | Mode::Auto => Mode::ReadOnly,
    }
}

/// Each line that begins with `&` begins an agent; other lines go on with the task before them.
fn spawns(text: &str) -> Result<Vec<Action>, Unusable> {
    let mut orders: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.trim_start().strip_prefix('&'), orders.last_mut()) {
            (Some(order), _) => {
                let order = order.trim();
                let (agent, task) = order.split_once(char::is_whitespace).unwrap_or((order, ""));
                orders.push((agent.to_owned(), task.trim().to_owned()));
            }
            (None, Some((_, task))) => {
                task.push('\n');
                task.push_str(line);
            }
            // The text begins with a sign, so there is an order before any other line.
            (None, None) => {}
        }
    }
    if orders.iter().all(|(agent, task)| agent.is_empty() && task.trim().is_empty()) {
        return Ok(vec![Action::Agents]);
    }
    orders.retain(|(agent, task)| !agent.is_empty() || !task.trim().is_empty());
    orders
        .into_iter()
        .map(|(agent, task)| match task.trim() {
            "" => Err(Unusable::NoTask { agent }),
            task => Ok(Action::Op(Op::Spawn { agent, task: task.to_owned() })),
        })
        .collect()
}

/// Returns the command that `text` is, `None` when it only begins like one (`/etc/hosts is wrong`).
fn slash(text: &str) -> Option<Result<Action, Unusable>> {
    let body = text.strip_prefix('/')?;
    let (name, arguments) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if !named {
        return None;
    }
    let arguments = arguments.trim();
    Some(Ok(match name {
        "help" => Action::Help,
        "agents" => Action::Agents,
        "clear" => Action::Clear,
        "exit" | "quit" => Action::Quit,
        "model" => Action::Model { name: (!arguments.is_empty()).then(|| arguments.to_owned()) },
        "mode" => match mode_named(arguments) {
            Some(mode) => Action::Mode(mode),
            None => return Some(Err(Unusable::NoMode)),
        },
        _ => Action::Command { name: name.to_owned(), arguments: arguments.to_owned() },
    }))
}

/// Tells whether a word of `text` begins with `@` and goes on.
fn names_file(text: &str) -> bool {
    text.split_whitespace().any(|word| word.strip_prefix('@').is_some_and(|rest| !rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn(agent: &str, task: &str) -> Action {
        Action::Op(Op::Spawn { agent: agent.to_owned(), task: task.to_owned() })
    }

    #[test]
    fn texts_mean_what_the_specification_says() {
        let ask = |text: &str| Action::Op(Op::Ask { text: text.to_owned() });
        let other = |name: &str, arguments: &str| Action::Command {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        for (text, expected) in [
            ("", vec![]),
            ("  \n ", vec![]),
            (" hi\nthere ", vec![ask("hi\nthere")]),
            ("&", vec![Action::Agents]),
            (" & \n", vec![Action::Agents]),
            ("&reviewer look at src", vec![spawn("reviewer", "look at src")]),
            ("& reviewer  look", vec![spawn("reviewer", "look")]),
            ("&a one\n&b two", vec![spawn("a", "one"), spawn("b", "two")]),
            ("&a one\n  more\n&b two", vec![spawn("a", "one\n  more"), spawn("b", "two")]),
            ("&a\none", vec![spawn("a", "one")]),
            ("tom & jerry", vec![ask("tom & jerry")]),
            ("!ls -l", vec![Action::Shell { command: "ls -l".to_owned() }]),
            ("!", vec![]),
            ("/help", vec![Action::Help]),
            ("/agents", vec![Action::Agents]),
            ("/mode auto", vec![Action::Mode(Mode::Auto)]),
            ("/model", vec![Action::Model { name: None }]),
            ("/model gpt x", vec![Action::Model { name: Some("gpt x".to_owned()) }]),
            ("/clear", vec![Action::Clear]),
            ("/exit", vec![Action::Quit]),
            ("/compact now", vec![other("compact", "now")]),
            ("/etc/hosts is wrong", vec![ask("/etc/hosts is wrong")]),
            ("see @src/lib.rs", vec![Action::AskWithFiles { text: "see @src/lib.rs".to_owned() }]),
            ("mail a@b.c and @", vec![ask("mail a@b.c and @")]),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(parse("&reviewer"), Err(Unusable::NoTask { agent: "reviewer".to_owned() }));
        assert_eq!(parse("&a one\n&b"), Err(Unusable::NoTask { agent: "b".to_owned() }));
        assert_eq!(parse("/mode"), Err(Unusable::NoMode));
        assert_eq!(parse("/mode yolo"), Err(Unusable::NoMode));
    }
}
