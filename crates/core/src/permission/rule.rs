//! Rules as written, and compiled: `Tool` or `Tool(pattern)` (mission M9.1-syntax).
//!
//! - Compiled once from the sources in force and shared; an agent's own lists are joined with [`Rules::with`].
//! - A rule that is not well formed is left out with a [`RuleFault`]; it neither grants nor closes anything (S090).

use std::fmt;
use std::sync::Arc;

use maia_protocol::permission::RuleSet;
use maia_protocol::snapshot::RuleSource;

use super::advise;
use super::bash::CommandPattern;
use super::beside;
use super::paths::PathPattern;
use super::pattern::Wild;
use super::web::HostPattern;

/// Tools of maia itself; `Redirect` and `Mcp` are names that only rules have.
pub(super) const BUILT_IN: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "Write",
    "Edit",
    "Bash",
    "TodoWrite",
    "WebFetch",
    "CurrentModel",
    "Skill",
    "Agent",
    "Delegate",
    "AgentOutput",
];

/// Which list a rule stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Calls that never run.
    Deny,
    /// Calls that ask.
    Ask,
    /// Calls that run unasked.
    Allow,
}

impl Family {
    /// Returns the family's name as settings spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// What is wrong with a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is not well formed and was left out.
    Malformed,
    /// It counts as written, which is likely not what its writer believes.
    Misleading,
}

/// A fault of one rule, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// File or flag that the rule comes from.
    pub source: String,
    /// List that it stands in.
    pub family: Family,
    /// The rule as written.
    pub rule: String,
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to write instead, where that is known.
    pub instead: Option<String>,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, rule, message, .. } = self;
        write!(f, "{source}: {} rule `{rule}` {message}", self.family.name())?;
        match &self.instead {
            Some(instead) => write!(f, "; write `{instead}`"),
            None => Ok(()),
        }
    }
}

/// What a rule compares with a call.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// Every call of the tool.
    Any,
    /// The command of Bash.
    Command(CommandPattern),
    /// The path of Read, Write, Edit, Glob, Grep, or the target of a redirection.
    Path(PathPattern),
    /// The host of WebFetch.
    Host(HostPattern),
    /// Server and tool of MCP.
    Server { server: Wild, tool: Wild },
    /// The name of an agent, whatever its case.
    Agent(Wild),
    /// The name of a skill.
    Skill(Wild),
    /// Any text value of the input.
    Value(Wild),
}

/// One compiled rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The rule as written.
    pub text: String,
    /// The tool that it names.
    pub tool: String,
    /// What it compares.
    pub matcher: Matcher,
}

/// All rules that count for one agent, compiled. Share it in an `Arc`; a clone copies pointers only.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(super) deny: Vec<Arc<Rule>>,
    pub(super) ask: Vec<Arc<Rule>>,
    pub(super) allow: Vec<Arc<Rule>>,
    pub(super) secrets: Vec<Arc<PathPattern>>,
    pub(super) protected: Vec<Arc<PathPattern>>,
}

impl Rules {
    /// Compiles the rules of all sources, in order, and tells what is wrong with them.
    ///
    /// Faults that need to know other rules (a `deny Read` beside an `allow Bash(cat *)`) look at all sources.
    pub fn compile(sources: &[RuleSource]) -> (Self, Vec<RuleFault>) {
        let mut rules = Self::default();
        let mut faults = Vec::new();
        for source in sources {
            rules.add(&source.source, &source.rules, &mut faults);
        }
        beside::beside_bash(&rules, sources, &mut faults);
        beside::swallowed(&rules, sources, &mut faults);
        (rules, faults)
    }

    /// Returns these rules joined with the lists of an agent (SAFETY 2).
    ///
    /// Malformed rules in `extra` are left out; their faults were told when the definition was read.
    pub fn with(&self, extra: &RuleSet) -> Self {
        let mut rules = self.clone();
        rules.add("agent", extra, &mut Vec::new());
        rules
    }

    /// Returns these rules with more secret paths (read) and protected paths (written), as globs of the
    /// person's settings (SAFETY 1). A pattern that does not compile is returned with what is wrong.
    pub fn with_guarded(&self, secrets: &[String], protected: &[String]) -> (Self, Vec<(String, String)>) {
        let mut rules = self.clone();
        let mut faults = Vec::new();
        let mut compile = |patterns: &[String], into: &mut Vec<Arc<PathPattern>>| {
            for pattern in patterns {
                match PathPattern::new(pattern, true) {
                    Ok(compiled) => into.push(Arc::new(compiled)),
                    Err(message) => faults.push((pattern.clone(), message)),
                }
            }
        };
        compile(secrets, &mut rules.secrets);
        compile(protected, &mut rules.protected);
        (rules, faults)
    }

    /// Returns the number of rules in each list: allow, ask, deny (mission M9-startinfo).
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.allow.len(), self.ask.len(), self.deny.len())
    }

    /// Returns the rules of one list that name `tool`.
    pub(super) fn of<'a>(&'a self, family: Family, tool: &'a str) -> impl Iterator<Item = &'a Rule> {
        let list = match family {
            Family::Deny => &self.deny,
            Family::Ask => &self.ask,
            Family::Allow => &self.allow,
        };
        list.iter().map(AsRef::as_ref).filter(move |rule| rule.tool == tool)
    }

    /// Returns whether a deny or ask rule looks at commands or their targets.
    pub(super) fn restrict_bash(&self) -> bool {
        self.deny.iter().chain(&self.ask).any(|rule| matches!(rule.tool.as_str(), "Bash" | "Redirect"))
    }

    fn add(&mut self, source: &str, set: &RuleSet, faults: &mut Vec<RuleFault>) {
        let lists = [
            (Family::Deny, &set.deny, &mut self.deny),
            (Family::Ask, &set.ask, &mut self.ask),
            (Family::Allow, &set.allow, &mut self.allow),
        ];
        for (family, texts, list) in lists {
            for text in texts {
                let fault = |kind, message: String, instead| RuleFault {
                    source: source.to_owned(),
                    family,
                    rule: text.clone(),
                    kind,
                    message,
                    instead,
                };
                match compile(text, family) {
                    Ok(rule) => {
                        faults.extend(
                            advise::rule(&rule, family)
                                .into_iter()
                                .map(|advice| fault(FaultKind::Misleading, advice.message, advice.instead)),
                        );
                        list.push(Arc::new(rule));
                    }
                    Err(wrong) => faults.push(fault(FaultKind::Malformed, wrong.message, wrong.instead)),
                }
            }
        }
    }
}

/// Splits a rule into its tool and its pattern (mission M9.1-syntax).
pub(super) fn split(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))
        .unwrap_or(text.len());
    let (tool, rest) = text.split_at(end);
    if tool.is_empty() {
        return Err("does not begin with the name of a tool");
    }
    if rest.is_empty() {
        return Ok((tool, None));
    }
    let Some(inner) = rest.strip_prefix('(') else {
        return Err("has something behind the tool that is no `(pattern)`");
    };
    let Some(inner) = inner.strip_suffix(')') else { return Err("does not end with `)`") };
    let inner = inner.trim();
    if inner.is_empty() {
        return Err("has an empty pattern");
    }
    Ok((tool, Some(inner)))
}

/// Compiles one rule.
///
/// # Errors
/// Says why it is not well formed, and what to write instead.
fn compile(text: &str, family: Family) -> Result<Rule, advise::Advice> {
    let wrong =
        |message: &str, instead: Option<String>| advise::Advice { message: message.to_owned(), instead };
    let (tool, pattern) = split(text).map_err(|message| wrong(message, advise::repair(text)))?;
    let strict = family == Family::Allow;
    let matcher = match (tool, pattern) {
        ("Mcp", None) if strict => {
            return Err(wrong("names no server", Some("Mcp(*)".to_owned())));
        }
        ("Mcp", pattern) => {
            let (server, of_server) =
                pattern.unwrap_or("*").split_once(',').unwrap_or((pattern.unwrap_or("*"), "*"));
            let (server, of_server) = (server.trim(), of_server.trim());
            if server.is_empty() || of_server.is_empty() {
                return Err(wrong("names no server or no tool", None));
            }
            let known = server.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
            if strict && server != "*" && !known {
                return Err(wrong(
                    "names a server with characters that no server has; only `*` alone stands for all",
                    None,
                ));
            }
            Matcher::Server { server: Wild::new(server), tool: Wild::new(of_server) }
        }
        (_, None) => Matcher::Any,
        ("Bash", Some(pattern)) => Matcher::Command(CommandPattern::new(pattern)),
        ("Read" | "Write" | "Edit" | "Glob" | "Grep" | "Redirect", Some(pattern)) => {
            match PathPattern::new(pattern, !strict) {
                Ok(path) => Matcher::Path(path),
                Err(message) => {
                    return Err(wrong(&format!("has a pattern that is no glob: {message}"), None));
                }
            }
        }
        ("WebFetch", Some(pattern)) => match HostPattern::new(pattern) {
            Some(host) => Matcher::Host(host),
            None if strict => {
                return Err(wrong("has a pattern that is no `domain:host`", advise::domain(pattern)));
            }
            // A deny that is spelled another way still closes the addresses that it spells.
            None => Matcher::Value(Wild::new(pattern)),
        },
        ("Agent" | "Delegate", Some(pattern)) => Matcher::Agent(Wild::new(&pattern.to_ascii_lowercase())),
        ("Skill", Some(pattern)) => Matcher::Skill(Wild::new(pattern)),
        (_, Some(pattern)) => Matcher::Value(Wild::new(pattern)),
    };
    Ok(Rule { text: text.trim().to_owned(), tool: tool.to_owned(), matcher })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_split_or_malformed() {
        for (text, expect) in [
            ("Bash", Some(("Bash", None))),
            (" Bash( git * ) ", Some(("Bash", Some("git *")))),
            ("Bash(echo (a))", Some(("Bash", Some("echo (a)")))),
            ("a.b-c_1(x)", Some(("a.b-c_1", Some("x")))),
            ("*", None),
            ("", None),
            ("(git *)", None),
            ("Bash(git", None),
            ("Bash(rm)*", None),
            ("Bash()", None),
            ("Bash (git)", None),
            ("Bash git", None),
            ("Bäsh(x)", None),
        ] {
            assert_eq!(split(text).ok(), expect, "{text:?}");
        }
    }
}
