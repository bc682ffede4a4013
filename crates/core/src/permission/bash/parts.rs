//! Which part of a command decided, and by which rule: what `maia permissions explain` shows.
//!
//! - Asked once a verdict is known; decides nothing.

use std::path::PathBuf;

use super::text::Texts;
use super::word::Word;
use super::{Line, is_anchored, is_dynamic, read, target};
use crate::permission::paths::Place;
use crate::permission::rule::{Family, Matcher, Rule, Rules};

/// One part of a call and the rule that decides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) struct Decided {
    /// A command, or the target of a redirection, as written.
    pub part: String,
    /// The rule; `None` where no rule is about it.
    pub rule: Option<String>,
    /// The file that a redirection writes.
    pub path: Option<PathBuf>,
}

/// Returns the part that a deny or ask rule catches, or every part with the allow rule that covers it.
pub(in crate::permission) fn decided(rules: &Rules, line: &str, place: &Place) -> Vec<Decided> {
    read(line, place, |line| {
        for family in [Family::Deny, Family::Ask] {
            if let Some(rule) = line.caught(rules, family) {
                return line.caught_by(rule).into_iter().collect();
            }
        }
        line.covered(rules)
    })
}

fn shown(words: &[Word]) -> String {
    words.iter().map(|word| &*word.raw).collect::<Vec<_>>().join(" ")
}

impl Line<'_> {
    /// Returns the shortest part that `rule` catches: what stands behind wrappers is shown without them.
    fn caught_by(&self, rule: &Rule) -> Option<Decided> {
        let made = |part: String, path| Decided { part, rule: Some(rule.text.clone()), path };
        if let Matcher::Path(pattern) = &rule.matcher {
            let goals = self.survey.goals.iter().filter(|goal| goal.write);
            return goals
                .filter_map(|goal| {
                    let path =
                        self.targets(goal).into_iter().find(|path| pattern.covers(path, self.place, true))?;
                    Some(made(format!("> {}", goal.word.raw), Some(path)))
                })
                .next();
        }
        let caught =
            self.commands.iter().zip(&self.survey.commands).filter(|(texts, _)| match &rule.matcher {
                Matcher::Command(pattern) => pattern.catches(texts),
                _ => true,
            });
        caught.map(|(_, words)| shown(words)).min_by_key(String::len).map(|part| made(part, None))
    }

    /// Returns every command and every target of the line with the allow rule that covers it.
    fn covered(&self, rules: &Rules) -> Vec<Decided> {
        let commands = self.survey.parts.iter().map(|part| {
            let texts = Texts::new(&part.words);
            let rule = rules.of(Family::Allow, "Bash").find(|rule| match &rule.matcher {
                Matcher::Any => true,
                Matcher::Command(pattern) => !part.words.is_empty() && pattern.covers(&texts),
                _ => false,
            });
            Decided { part: shown(&part.words), rule: rule.map(|rule| rule.text.clone()), path: None }
        });
        let targets = self.survey.goals.iter().filter(|goal| goal.write).map(|goal| {
            let path = target(goal, &self.place.cwd, self.place);
            let is_known = !is_dynamic(goal)
                && (is_anchored(goal) || self.survey.whereabouts == super::Whereabouts::Home);
            let rule = rules.of(Family::Allow, "Redirect").find(|rule| match &rule.matcher {
                Matcher::Any => true,
                Matcher::Path(pattern) => is_known && pattern.covers(&path, self.place, false),
                _ => false,
            });
            let rule = rule.map(|rule| rule.text.clone());
            Decided { part: format!("> {}", goal.word.raw), rule, path: is_known.then_some(path) }
        });
        commands.chain(targets).collect()
    }
}
