//! The rule that would have allowed a call: for `--allow` lines, and for "always" in a question (SAFETY 1, 3).
//!
//! - Asked when a call was refused or is put before a person. Nothing is offered that would not work: each
//!   suggestion is tried on the very call before it is given (case S073).

use maia_protocol::permission::{RuleSet, Verdict};
use maia_protocol::snapshot::RuleSource;
use maia_protocol::tool::Target;
use serde_json::Value;

use super::paths::{Place, escape};
use super::rule::Rules;
use super::{bash, evaluate, web};

/// Programs that run other programs or code: no wider form is offered for them (SAFETY 3).
const RUN_CODE: &[&str] = &[
    "env",
    "sudo",
    "doas",
    "su",
    "xargs",
    "find",
    "fd",
    "make",
    "just",
    "npx",
    "bunx",
    "ssh",
    "docker",
    "podman",
    "kubectl",
    "python",
    "python2",
    "python3",
    "node",
    "deno",
    "bun",
    "ruby",
    "perl",
    "php",
    "lua",
    "awk",
    "gawk",
    "sed",
    "eval",
    "exec",
    "source",
    ".",
    "command",
    "builtin",
    "trap",
    "time",
    "timeout",
    "nice",
    "nohup",
    "watch",
    "parallel",
    "tclsh",
    "expect",
    "osascript",
    "java",
    "go",
    "irb",
    "R",
    "julia",
    "vim",
    "vi",
    "nvim",
    "emacs",
    "less",
    "man",
    "gdb",
    "strace",
    "busybox",
    "toybox",
    "tmux",
    "screen",
    "script",
    "crontab",
    "at",
    "systemctl",
    "systemd-run",
    "nix",
    "uv",
    "poetry",
    "pipenv",
    "bundle",
    "export",
    "alias",
    "set",
    "cd",
    "chroot",
    "flock",
    "setsid",
    "stdbuf",
    "rsync",
    "scp",
    "tar",
    "zip",
    "git-shell",
];

/// Returns the exact rule that would have allowed this very call.
///
/// `None` for what no rule may open (substitutions, protected and secret paths) and for what one rule cannot
/// (several commands, redirections, assignments). [`lacking_rules`] gives several.
pub fn suggest_allow(tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> Option<String> {
    let rule = match tool {
        "Bash" => {
            let pieces = bash::pieces(input.get("command")?.as_str()?, place)?;
            match &pieces.commands[..] {
                [command] if pieces.targets.is_empty() && !pieces.assigns && !looks_secret(command) => {
                    command_rule(command)
                }
                _ => return None,
            }
        }
        _ => other_rule(tool, input, target, place)?,
    };
    works(&[&rule], tool, input, target, place).then_some(rule)
}

/// Returns the exact rules that together would have allowed this very call: what stderr ends with when a
/// permission was needed and nobody could answer (SAFETY 1). Empty for what no rule may open.
pub fn lacking_rules(tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> Vec<String> {
    let pieces = match (tool, input.get("command").and_then(Value::as_str)) {
        ("Bash", Some(line)) => bash::pieces(line, place),
        _ => return suggest_allow(tool, input, target, place).into_iter().collect(),
    };
    let Some(pieces) = pieces else { return Vec::new() };
    if pieces.commands.iter().any(|command| looks_secret(command)) {
        return Vec::new();
    }
    let mut rules: Vec<String> = pieces.commands.iter().map(|command| command_rule(command)).collect();
    rules.extend(pieces.targets.iter().map(|path| format!("Redirect({})", escape(&place.show(path)))));
    rules.dedup();
    let texts: Vec<&str> = rules.iter().map(String::as_str).collect();
    if works(&texts, tool, input, target, place) { rules } else { Vec::new() }
}

/// Returns the one wider rule that may be offered beside the exact one: program and subcommand (SAFETY 3).
pub fn suggest_wider(tool: &str, input: &Value, place: &Place) -> Option<String> {
    if tool != "Bash" {
        return None;
    }
    let line = input.get("command")?.as_str()?;
    // Where the exact rule is not offered, no wider one is.
    suggest_allow(tool, input, None, place)?;
    let pieces = bash::pieces(line, place)?;
    let [program, subcommand, ..] = &pieces.words[..] else { return None };
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    if !is_name(program) || !is_name(subcommand) || runs_code(program, subcommand) {
        return None;
    }
    let rule = format!("Bash({program} {subcommand} *)");
    works(&[&rule], tool, input, None, place).then_some(rule)
}

fn runs_code(program: &str, subcommand: &str) -> bool {
    let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUN_CODE.contains(&program)
        || RUN_CODE.contains(&base)
        || program.ends_with("sh")
        || matches!(
            subcommand,
            "run" | "exec" | "x" | "dlx" | "eval" | "foreach" | "bisect" | "rebase" | "config" | "alias"
        )
}

fn command_rule(command: &str) -> String {
    format!("Bash({})", command.replace('*', r"\*"))
}

fn other_rule(tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> Option<String> {
    let text = |field: &str| input.get(field).and_then(Value::as_str);
    let rule = match tool {
        "Read" | "Write" | "Edit" | "Glob" | "Grep" => {
            let path = match text("path") {
                Some(path) => place.resolve(path),
                None => place.cwd.clone(),
            };
            if target.is_some_and(|target| target.path != path) {
                return None;
            }
            format!("{tool}({})", escape(&place.show(&path)))
        }
        "WebFetch" => format!("WebFetch(domain:{})", web::read(text("url")?).ok()?.host),
        "Agent" => format!("Agent({})", text("agent")?),
        "Skill" => format!("Skill({})", text("name")?),
        _ => match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, of_server)) => format!("Mcp({server},{of_server})"),
            None => tool.to_owned(),
        },
    };
    (!rule.contains('*') || rule.contains(r"\*")).then_some(rule)
}

/// Returns whether these allow rules alone allow the call.
fn works(rules: &[&str], tool: &str, input: &Value, target: Option<&Target>, place: &Place) -> bool {
    let allow = rules.iter().map(|rule| (*rule).to_owned()).collect();
    let rules = RuleSet { allow, ..RuleSet::default() };
    let (rules, _) = Rules::compile(&[RuleSource { source: "suggestion".to_owned(), rules }]);
    matches!(evaluate(&rules, tool, input, target, place), Verdict::Allow { .. })
}

/// Returns whether a text seems to hold a key or a password; such a text is kept in no rule.
fn looks_secret(text: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "sk-",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "xoxp-",
        "AKIA",
        "ASIA",
        "AIza",
        "eyJ",
        "npm_",
        "hf_",
    ];
    const NAMES: &[&str] = &[
        "password",
        "passwd",
        "secret",
        "token",
        "api_key",
        "api-key",
        "apikey",
        "bearer ",
        "authorization",
    ];
    let lower = text.to_ascii_lowercase();
    if NAMES.iter().any(|name| lower.contains(name)) {
        return true;
    }
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.'))).any(|word| {
        let has = |wanted: fn(&char) -> bool| word.chars().any(|c| wanted(&c));
        (word.len() >= 16 && BEGINNINGS.iter().any(|beginning| word.starts_with(beginning)))
            || (word.len() >= 32
                && !word.contains('.')
                && has(char::is_ascii_digit)
                && has(char::is_ascii_lowercase)
                && has(char::is_ascii_uppercase))
    })
}
