//! The texts that a person sent before, for ↑ and ↓ (mission M15.5-keys).
//!
//! Asked by the input. Owns the texts and what was being written when the walk began, so that nothing is lost by it.

use crate::editor::Editor;

/// Texts kept.
const HISTORY: usize = 500;

/// What was sent before, walked through with ↑ and ↓.
#[derive(Clone, Debug, Default)]
pub struct History {
    texts: Vec<String>,
    at: Option<usize>,
    draft: String,
}

impl History {
    /// Returns a history of `texts`, oldest first.
    pub fn of(mut texts: Vec<String>) -> Self {
        let surplus = texts.len().saturating_sub(HISTORY);
        texts.drain(..surplus);
        Self { texts, ..Self::default() }
    }

    /// Adds `text` as the newest, once.
    pub fn add(&mut self, text: &str) {
        self.at = None;
        if self.texts.last().is_some_and(|last| last == text) {
            return;
        }
        if self.texts.len() >= HISTORY {
            self.texts.remove(0);
        }
        self.texts.push(text.to_owned());
    }

    /// Puts the text before into `editor`; what was being written is kept.
    pub fn older(&mut self, editor: &mut Editor) {
        let at = self.at.unwrap_or(self.texts.len());
        let Some(text) = at.checked_sub(1).and_then(|at| self.texts.get(at)) else { return };
        let old = editor.text().to_owned();
        editor.set(text.clone());
        if self.at.is_none() {
            self.draft = old;
        }
        self.at = Some(at - 1);
    }

    /// Puts the text after into `editor`, at last what was being written.
    pub fn newer(&mut self, editor: &mut Editor) {
        let Some(at) = self.at else { return };
        match self.texts.get(at + 1) {
            Some(text) => {
                editor.set(text.clone());
                self.at = Some(at + 1);
            }
            None => {
                editor.set(std::mem::take(&mut self.draft));
                self.at = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_keeps_the_draft() {
        let mut history = History::of(vec!["one".to_owned()]);
        history.add("two");
        history.add("two");
        let mut editor = Editor::default();
        editor.insert("draft");
        let mut seen = Vec::new();
        for older in [true, true, true, false, false, false] {
            if older {
                history.older(&mut editor)
            } else {
                history.newer(&mut editor)
            }
            seen.push(editor.text().to_owned());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "draft", "draft"]);
    }
}
