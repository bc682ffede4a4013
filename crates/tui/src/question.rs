//! The open questions of the whole tree, and when a key may answer one (SAFETY 3).
//!
//! Filled by the fold; asked by the keys and the question pane. Owns the queue, which question is shown, and since
//! when it has been on the screen. It decides nothing about permissions: an answer is an order for the broker.

use jiff::Timestamp;
use maia_protocol::{ActorPath, CallId};
use serde_json::Value;

use crate::visible::visible;

/// Milliseconds without a key before a question may take the keyboard.
pub const QUIET_MS: u64 = 700;
/// Milliseconds for which answer keys do nothing after a question was drawn or changed.
pub const INERT_MS: u64 = 300;

/// What a call may do, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskClass {
    /// Looks only.
    Read,
    /// Changes a file.
    Write,
    /// Starts agents.
    Delegate,
    /// Anything else.
    Execute,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Name of the tool.
    pub tool: String,
    /// Arguments.
    pub input: Value,
    /// Why it asks.
    pub why: String,
    /// The rule that made it ask.
    pub rule: Option<String>,
}

/// One row of the queue: equal questions are one.
#[derive(Clone, Debug)]
pub struct Question {
    /// The calls that ask, oldest first; the first is the one shown.
    pub ids: Vec<CallId>,
    /// What is asked; `None` when only its id is known, after a gap.
    pub subject: Option<Subject>,
    /// When it was first asked.
    pub since: Timestamp,
}

impl Question {
    /// Returns who asks.
    pub fn asker(&self) -> ActorPath {
        self.ids.first().map_or_else(ActorPath::main, CallId::agent)
    }

    /// Returns what the call may do.
    pub fn risk(&self) -> RiskClass {
        match self.subject.as_ref().map_or("", |subject| subject.tool.as_str()) {
            "Read" | "Glob" | "Grep" | "TodoWrite" | "CurrentModel" | "AgentOutput" | "Skill" => {
                RiskClass::Read
            }
            "Write" | "Edit" => RiskClass::Write,
            "Agent" | "Delegate" => RiskClass::Delegate,
            _ => RiskClass::Execute,
        }
    }

    /// Returns the call as a person has to see it, whole and made visible: `(sign, line)`, the sign being `+` or `-`
    /// for lines of a diff and a space otherwise.
    pub fn body(&self) -> Vec<(char, String)> {
        let Some(Subject { tool, input, .. }) = &self.subject else { return Vec::new() };
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        let lines = |sign: char, text: &str| -> Vec<(char, String)> {
            visible(text.strip_suffix('\n').unwrap_or(text))
                .split('\n')
                .map(|line| (sign, line.to_owned()))
                .collect()
        };
        // Arguments beside the ones that are shown by themselves are shown too: nothing of a call is hidden.
        let rest = |shown: &[&str]| -> Vec<(char, String)> {
            let Value::Object(fields) = input else { return lines(' ', &input.to_string()) };
            fields
                .iter()
                .filter(|(name, _)| !shown.contains(&name.as_str()))
                .flat_map(|(name, value)| match value {
                    Value::String(text) => lines(' ', &format!("{name}: {text}")),
                    value => lines(' ', &format!("{name}: {value}")),
                })
                .collect()
        };
        match (tool.as_str(), field("command"), field("path")) {
            ("Bash", Some(command), _) => {
                let mut body = lines(' ', &format!("$ {command}"));
                body.extend(rest(&["command"]));
                body
            }
            ("Edit", _, Some(path)) => {
                let mut body = lines(' ', path);
                body.extend(lines('-', field("old_string").unwrap_or_default()));
                body.extend(lines('+', field("new_string").unwrap_or_default()));
                body.extend(rest(&["path", "old_string", "new_string"]));
                body
            }
            ("Write", _, Some(path)) => {
                let mut body = lines(' ', path);
                body.extend(lines('+', field("content").unwrap_or_default()));
                body.extend(rest(&["path", "content"]));
                body
            }
            ("Delegate", ..) => {
                match input.get("tasks").and_then(Value::as_array).and_then(|tasks| plan(tasks)) {
                    Some(plan) => {
                        let mut body = rest(&["tasks"]);
                        body.extend(plan.iter().flat_map(|text| lines(' ', text)));
                        body
                    }
                    None => rest(&[]),
                }
            }
            _ => rest(&[]),
        }
    }
}

/// Returns the tasks of a graph as a person reads them; `None` when one holds anything else, so that nothing is hidden.
fn plan(tasks: &[Value]) -> Option<Vec<String>> {
    let one = |task: &Value| {
        let fields = task.as_object()?;
        if fields.keys().any(|name| !["id", "agent", "task", "after"].contains(&name.as_str())) {
            return None;
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let after: Vec<&str> = match fields.get("after") {
            None => Vec::new(),
            Some(after) => after.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
        };
        let after = if after.is_empty() { String::new() } else { format!(" ← {}", after.join(", ")) };
        let head = format!("• {} · {}{after}", text("id")?, text("agent")?);
        Some(format!("{head}\n  {}", text("task")?.replace('\n', "\n  ")))
    };
    tasks.iter().map(one).collect()
}

/// What was on the screen, as far as an answer depends on it.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    ids: Vec<CallId>,
    at_ms: u64,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Questions {
    queue: Vec<Question>,
    shown: usize,
    drawn: Option<Drawn>,
    /// First line of the call that is shown.
    pub scroll: usize,
}

impl Questions {
    /// Tells whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the number of questions, equal ones counted one by one.
    pub fn len(&self) -> usize {
        self.queue.iter().map(|question| question.ids.len()).sum()
    }

    /// Returns every open question's id.
    pub fn ids(&self) -> impl Iterator<Item = &CallId> {
        self.queue.iter().flat_map(|question| &question.ids)
    }

    /// Returns the question shown, with its row and the number of rows.
    pub fn shown(&self) -> Option<(&Question, usize, usize)> {
        self.queue.get(self.shown).map(|question| (question, self.shown + 1, self.queue.len()))
    }

    /// Adds a question; one that is open already is told better.
    pub fn ask(&mut self, id: CallId, subject: Option<Subject>, since: Timestamp) {
        let known = self.queue.iter().position(|question| question.ids.contains(&id));
        if let Some(at) = known {
            let Some(question) = self.queue.get_mut(at) else { return };
            if subject.is_some() && question.subject != subject {
                // It changed: whoever read the old one must not answer the new one.
                if question.ids.len() == 1 {
                    question.subject = subject;
                } else {
                    question.ids.retain(|known| *known != id);
                    self.queue.push(Question { ids: vec![id], subject, since });
                }
                self.drawn = None;
            }
            return;
        }
        let equal = self.queue.iter_mut().find(|question| subject.is_some() && question.subject == subject);
        match equal {
            Some(question) => question.ids.push(id),
            None => self.queue.push(Question { ids: vec![id], subject, since }),
        }
    }

    /// Takes an answered question away and returns it.
    pub fn answered(&mut self, id: &CallId) -> Option<Question> {
        let at = self.queue.iter().position(|question| question.ids.contains(id))?;
        let question = self.queue.get_mut(at)?;
        let answered = Question { ids: vec![id.clone()], ..question.clone() };
        question.ids.retain(|known| known != id);
        if question.ids.is_empty() {
            self.queue.remove(at);
            if at < self.shown {
                self.shown -= 1;
            } else if at == self.shown {
                self.scroll = 0;
            }
            self.shown = self.shown.min(self.queue.len().saturating_sub(1));
        }
        Some(answered)
    }

    /// Keeps only the questions of `open`, and adds those that are not known yet.
    pub fn sync(&mut self, open: &[CallId], now: Timestamp) {
        let gone: Vec<CallId> = self.ids().filter(|id| !open.contains(id)).cloned().collect();
        for id in &gone {
            self.answered(id);
        }
        for id in open {
            self.ask(id.clone(), None, now);
        }
    }

    /// Shows the question `by` rows further on.
    pub fn show(&mut self, by: isize) {
        let shown = self.shown.saturating_add_signed(by).min(self.queue.len().saturating_sub(1));
        if shown != self.shown {
            (self.shown, self.scroll) = (shown, 0);
        }
    }

    /// Notes that the question shown was drawn at `now_ms`.
    pub fn mark_drawn(&mut self, now_ms: u64) {
        let ids = self.shown().map(|(question, ..)| question.ids.clone());
        if self.drawn.as_ref().map(|drawn| &drawn.ids) != ids.as_ref() {
            self.drawn = ids.map(|ids| Drawn { ids, at_ms: now_ms });
        }
    }

    /// Returns since when what would be answered has been on the screen, `None` when it is not.
    pub fn drawn_ms(&self) -> Option<u64> {
        let (question, ..) = self.shown()?;
        self.drawn.as_ref().filter(|drawn| drawn.ids == question.ids).map(|drawn| drawn.at_ms)
    }

    /// Tells whether answer keys count at `now_ms`.
    pub fn is_ripe(&self, now_ms: u64) -> bool {
        self.drawn_ms().is_some_and(|at_ms| now_ms.saturating_sub(at_ms) >= INERT_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(command: &str) -> Option<Subject> {
        Some(Subject {
            tool: "Bash".to_owned(),
            input: serde_json::json!({"command": command}),
            why: String::new(),
            rule: None,
        })
    }

    fn id(agent: &str, index: u32) -> CallId {
        CallId::new(&ActorPath::new(agent), 1, index)
    }

    #[test]
    fn equal_questions_are_one_row() {
        let mut questions = Questions::default();
        questions.ask(id("maia", 1), subject("ls"), Timestamp::UNIX_EPOCH);
        questions.ask(id("maia/a#1", 1), subject("ls"), Timestamp::UNIX_EPOCH);
        questions.ask(id("maia/a#1", 2), subject("rm"), Timestamp::UNIX_EPOCH);
        questions.ask(id("maia", 1), subject("ls"), Timestamp::UNIX_EPOCH);
        assert_eq!((questions.len(), questions.shown().map(|(.., rows)| rows)), (3, Some(2)));
        questions.answered(&id("maia", 1));
        assert_eq!(
            questions.shown().map(|(question, ..)| question.asker().to_string()),
            Some("maia/a#1".into())
        );
        questions.sync(&[id("maia/a#1", 2), id("maia", 9)], Timestamp::UNIX_EPOCH);
        let open: Vec<String> = questions.ids().map(ToString::to_string).collect();
        assert_eq!(open, ["maia/a#1:1.2", "maia:1.9"]);
    }

    #[test]
    fn what_changes_ripens_anew() {
        let mut questions = Questions::default();
        questions.ask(id("maia", 1), subject("ls"), Timestamp::UNIX_EPOCH);
        assert!(!questions.is_ripe(10_000));
        questions.mark_drawn(1_000);
        assert!(!questions.is_ripe(1_299));
        assert!(questions.is_ripe(1_300));
        questions.mark_drawn(2_000);
        assert!(questions.is_ripe(2_000));
        questions.ask(id("maia", 1), subject("rm -rf x"), Timestamp::UNIX_EPOCH);
        assert!(!questions.is_ripe(9_000));
        questions.mark_drawn(9_000);
        questions.ask(id("maia", 2), subject("other"), Timestamp::UNIX_EPOCH);
        assert!(questions.is_ripe(9_300));
        questions.show(1);
        assert!(!questions.is_ripe(9_900));
    }

    #[test]
    fn the_whole_call_is_shown() {
        let question = |tool: &str, input: Value| Question {
            ids: vec![id("maia", 1)],
            subject: Some(Subject { tool: tool.to_owned(), input, why: String::new(), rule: None }),
            since: Timestamp::UNIX_EPOCH,
        };
        let edit =
            serde_json::json!({"path": "/f", "old_string": "a\nb", "new_string": "c", "replace_all": true});
        let body = question("Edit", edit).body();
        let lines: Vec<String> = body.into_iter().map(|(sign, line)| format!("{sign}{line}")).collect();
        assert_eq!(lines, [" /f", "-a", "-b", "+c", " replace_all: true"]);
        let bash = serde_json::json!({"command": "ls \u{1b}[2J\n rm", "timeout": 5});
        let body: Vec<String> = question("Bash", bash).body().into_iter().map(|(_, line)| line).collect();
        assert_eq!(body, ["$ ls ␛[2J", " rm", "timeout: 5"]);
    }
}
