//! Verdicts on commands: what rules say of a line for bash (mission M9.3-bash, M9.4; SAFETY 1).
//!
//! - Asked by `evaluate` for the tool Bash.
//! - Allow is a proof: two grammars read the line alike, every command is covered by a Bash rule and every
//!   file that is written by a Redirect rule. Deny and ask are looked for everywhere.
//! - The reading is in `survey`, the comparing here.

mod ansi;
mod braces;
mod guard;
mod habits;
mod lines;
mod messages;
mod named;
mod nest;
mod options;
mod outline;
mod parts;
mod pieces;
mod programs;
mod searchers;
mod sed;
mod split;
mod strict;
mod survey;
mod text;
mod tree;
mod unwrap;
mod word;
mod wrappers;

use std::path::PathBuf;

use self::outline::Goal;
use self::survey::{Survey, Whereabouts, survey};
use self::text::{Texts, flatten};
use self::word::Word;
use super::paths::{Place, normalize};
use super::rule::{Family, Matcher, Rule, Rules};
use super::{Doubtful, Finding};

pub(super) use self::parts::decided;
pub(super) use self::text::CommandPattern;

/// Devices that are no files: nothing is kept of what is written there.
const STREAMS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Judges the command `line` by the rules for Bash and Redirect.
pub(super) fn judge(rules: &Rules, line: &str, place: &Place) -> Finding {
    read(line, place, |line| {
        for (family, make) in [
            (Family::Deny, Finding::Deny as fn(String) -> Finding),
            (Family::Ask, Finding::Ask as fn(String) -> Finding),
        ] {
            if let Some(rule) = line.caught(rules, family) {
                return make(rule.text.clone());
            }
        }
        match line.doubt(rules) {
            Some((why, kind)) => Finding::Doubt(why, kind),
            None => line.allowed(rules),
        }
    })
}

/// Reads `line` and has `look` look at it.
fn read<T>(line: &str, place: &Place, look: impl FnOnce(&Line<'_>) -> T) -> T {
    let survey = survey(line);
    let commands: Vec<Texts> = survey.commands.iter().map(|words| Texts::new(words)).collect();
    let flat = if survey.too_much { flatten(line) } else { String::new() };
    let flat_has_target = survey.too_much && line.contains('>');
    look(&Line { survey: &survey, commands: &commands, flat: &flat, flat_has_target, place })
}

/// What one rule for a single plain command would be, and the targets that it writes.
///
/// `None` when the line is not a list of plain commands that rules can cover.
pub(super) struct Pieces {
    /// The commands as written, one blank between words.
    pub commands: Vec<String>,
    /// Literal targets of redirections that write, resolved.
    pub targets: Vec<PathBuf>,
    /// Whether assignments stand in front of a command.
    pub assigns: bool,
    /// The words of the only command as the program sees them, where there is one.
    pub words: Vec<String>,
}

/// Takes `line` apart for the suggestion of rules.
pub(super) fn pieces(line: &str, place: &Place) -> Option<Pieces> {
    let survey = survey(line);
    if survey.doubt.is_some() {
        return None;
    }
    let raw = |words: &[Word]| words.iter().map(|word| &*word.raw).collect::<Vec<_>>().join(" ");
    let mut targets = Vec::new();
    for goal in survey.goals.iter().filter(|goal| goal.write) {
        if is_dynamic(goal) || survey.whereabouts != Whereabouts::Home {
            return None;
        }
        targets.push(target(goal, &place.cwd, place));
    }
    let words = match &survey.parts[..] {
        [part] => part.words.iter().map(|word| word.text.to_string()).collect(),
        _ => Vec::new(),
    };
    Some(Pieces {
        commands: survey.parts.iter().map(|part| raw(&part.words)).collect(),
        targets,
        assigns: survey.parts.iter().any(|part| part.words.first().is_some_and(Word::is_assignment)),
        words,
    })
}

struct Line<'a> {
    survey: &'a Survey,
    commands: &'a [Texts],
    flat: &'a str,
    flat_has_target: bool,
    place: &'a Place,
}

impl Line<'_> {
    /// Returns the first rule of `family` that catches something in the line.
    fn caught<'r>(&self, rules: &'r Rules, family: Family) -> Option<&'r Rule> {
        let command = rules.of(family, "Bash").find(|rule| match &rule.matcher {
            Matcher::Any => true,
            Matcher::Command(pattern) => {
                self.commands.iter().any(|texts| pattern.catches(texts))
                    || (self.survey.too_much && pattern.scans(self.flat))
            }
            _ => false,
        });
        command.or_else(|| rules.of(family, "Redirect").find(|rule| self.redirect_caught(rule)))
    }

    fn redirect_caught(&self, rule: &Rule) -> bool {
        if self.survey.too_much {
            // Targets were not read one by one: a rule on them counts for every line that has any.
            return self.flat_has_target;
        }
        let mut goals = self.survey.goals.iter().filter(|goal| goal.write);
        match &rule.matcher {
            Matcher::Any => goals.next().is_some(),
            Matcher::Path(pattern) => {
                goals.any(|goal| self.targets(goal).iter().any(|path| pattern.covers(path, self.place, true)))
            }
            _ => false,
        }
    }

    /// Returns every file that a target may be, as far as it is written out.
    fn targets(&self, goal: &Goal) -> Vec<PathBuf> {
        self.folders().iter().map(|folder| target(goal, folder, self.place)).collect()
    }

    /// Returns the folders that the shell may be in.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![normalize(&self.place.cwd)];
        if let Whereabouts::Moved(steps) = &self.survey.whereabouts {
            for step in steps {
                // Whether a cd succeeds, or happens in a subshell, is not known: each may count or not.
                let next: Vec<PathBuf> =
                    folders.iter().take(16).map(|folder| self.place.resolve_from(folder, step)).collect();
                folders.extend(next);
                folders.sort();
                folders.dedup();
            }
        }
        folders
    }

    /// Returns why the line is not allowed whatever the allow rules say.
    fn doubt(&self, rules: &Rules) -> Option<(String, Doubtful)> {
        if let Some(why) = self.survey.goals.iter().find_map(|goal| self.guarded(rules, goal)) {
            return Some((why, Doubtful::Place));
        }
        if let Some(why) = named::doubt(rules, self.survey, self.folders(), self.place) {
            return Some((why, Doubtful::Place));
        }
        if let Some(why) = &self.survey.doubt {
            return Some((why.clone(), Doubtful::Analysis));
        }
        if !rules.restrict_bash() {
            return None;
        }
        if let Some(hidden) = self.survey.hidden {
            return Some((
                format!("the command runs {hidden}, and rules restrict commands"),
                Doubtful::Analysis,
            ));
        }
        let restricting = || {
            [Family::Deny, Family::Ask].into_iter().flat_map(|family| {
                ["Bash", "Redirect"].into_iter().flat_map(move |tool| rules.of(family, tool))
            })
        };
        for rule in restricting() {
            let may = match &rule.matcher {
                Matcher::Command(pattern) => {
                    self.survey.commands.iter().any(|words| pattern.may_catch(words))
                }
                Matcher::Path(_) => self.survey.goals.iter().any(|goal| {
                    goal.write && (is_dynamic(goal) || self.survey.whereabouts == Whereabouts::Unknown)
                }),
                _ => false,
            };
            if may {
                return Some((
                    format!(
                        "what the command becomes when it runs may be what rule `{}` is about",
                        rule.text
                    ),
                    Doubtful::Analysis,
                ));
            }
        }
        None
    }

    /// Returns why a target is opened only after a question, whatever the rules.
    fn guarded(&self, rules: &Rules, goal: &Goal) -> Option<String> {
        for path in self.targets(goal) {
            let shown = self.place.show(&path);
            if path.starts_with("/dev/tcp") || path.starts_with("/dev/udp") {
                return Some(format!("`{shown}` is a connection, not a file"));
            }
            if goal.write
                && let Some(why) = super::protected_path(rules, &path, self.place)
            {
                return Some(format!("`{shown}` is protected: {why}"));
            }
            if STREAMS.iter().any(|stream| path == PathBuf::from(stream)) {
                continue;
            }
            if let Some(why) = super::secret_path(rules, &path, self.place)
                && !opened(rules, &path, self.place, goal.write)
            {
                return Some(format!("`{shown}` is a secret path: {why}"));
            }
        }
        None
    }

    /// Compares commands and targets with the allow rules.
    fn allowed(&self, rules: &Rules) -> Finding {
        let mut first = None;
        let mut lacking = Vec::new();
        for part in &self.survey.parts {
            let texts = Texts::new(&part.words);
            let rule = rules.of(Family::Allow, "Bash").find(|rule| match &rule.matcher {
                Matcher::Any => true,
                Matcher::Command(pattern) => !part.words.is_empty() && pattern.covers(&texts),
                _ => false,
            });
            match rule {
                Some(rule) => first = first.or(Some(rule)),
                None if part.words.is_empty() => lacking.push("a redirection without a command".to_owned()),
                None => {
                    let words: Vec<&str> = part.words.iter().map(|word| &*word.raw).collect();
                    lacking.push(format!("`{}`", words.join(" ")));
                }
            }
        }
        let mut outside = None;
        for goal in self.survey.goals.iter().filter(|goal| goal.write) {
            let literal = !is_dynamic(goal) && self.survey.whereabouts == Whereabouts::Home;
            let path = target(goal, &self.place.cwd, self.place);
            let is_absolute = !is_dynamic(goal) && is_anchored(goal);
            let rule = rules.of(Family::Allow, "Redirect").find(|rule| match &rule.matcher {
                Matcher::Any => true,
                Matcher::Path(pattern) => {
                    (literal || is_absolute) && pattern.covers(&path, self.place, false)
                }
                _ => false,
            });
            if rule.is_some() {
                continue;
            }
            if literal || is_absolute {
                let shown = self.place.show(&path);
                lacking.push(format!("writing `{shown}` (rule `Redirect({shown})`)"));
                if !self.place.holds(&path) && !STREAMS.iter().any(|stream| path == PathBuf::from(stream)) {
                    outside.get_or_insert(format!(
                        "the command writes `{shown}`, which lies outside the launch folder"
                    ));
                }
            } else {
                outside.get_or_insert(format!(
                    "the file behind `> {}` is only known when the command runs; only a rule `Redirect` covers it",
                    goal.word.raw
                ));
            }
        }
        match (outside, first) {
            (Some(why), _) => Finding::Doubt(why, Doubtful::Place),
            (None, Some(rule)) if lacking.is_empty() => Finding::Allow(rule.text.clone()),
            (None, _) => Finding::NoRule(lacking),
        }
    }
}

/// Returns whether a literal allow rule names the secret `path`: then it is opened (SAFETY 1).
fn opened(rules: &Rules, path: &std::path::Path, place: &Place, write: bool) -> bool {
    let tool = if write { "Redirect" } else { "Read" };
    rules.of(Family::Allow, tool).any(
        |rule| matches!(&rule.matcher, Matcher::Path(pattern) if pattern.is_literal && pattern.covers(path, place, false)),
    )
}

/// Returns whether the target is only known when the command runs (mission M9.4-redirect-rules).
fn is_dynamic(goal: &Goal) -> bool {
    let word = &goal.word;
    !word.is_fixed()
        || word.text.is_empty()
        || word.text.contains(['$', '*', '?', '[', ']', '{', '}'])
        || (word.tilde && &*word.text != "~" && !word.text.starts_with("~/"))
}

/// Returns whether the target is the same from every folder.
fn is_anchored(goal: &Goal) -> bool {
    goal.word.text.starts_with('/') || goal.word.tilde
}

/// Returns the file that the target is when the shell is in `folder`.
fn target(goal: &Goal, folder: &std::path::Path, place: &Place) -> PathBuf {
    if goal.word.tilde {
        place.resolve_from(folder, &goal.word.text)
    } else {
        // A quoted `~` is a name like any other.
        normalize(&folder.join(&*goal.word.text))
    }
}

#[cfg(test)]
mod tests;
