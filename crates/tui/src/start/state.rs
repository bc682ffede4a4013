//! Where the person is on the first screen, and what each key does there.
//!
//! Asked by the shell for every key. A letter does nothing, so that what was typed ahead or pasted decides nothing.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use super::{StartAnswer, StartPage, TrustAnswer};
use crate::key::is_ctrl;
use crate::screen::Setup;
use crate::theme::Theme;
use crate::words::Lang;

/// A part of the page that has the keyboard in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Model,
    Trust,
    Rules,
}

/// The answers about what the folder brings, in the order in which they stand.
pub(crate) const TRUST: [TrustAnswer; 3] = [TrustAnswer::No, TrustAnswer::All, TrustAnswer::Never];

/// The first screen: a page, and what is chosen on it.
#[derive(Debug)]
pub struct Start {
    pub(crate) page: StartPage,
    pub(crate) theme: Theme,
    pub(crate) lang: Lang,
    /// The parts that are shown, from the top.
    pub(crate) parts: Vec<Part>,
    /// Index of the part that has the keyboard.
    pub(crate) at: usize,
    pub(crate) model: usize,
    pub(crate) trust: TrustAnswer,
    /// First line that is shown.
    pub(crate) scroll: usize,
    /// Whether the chosen line is to be brought into sight at the next drawing.
    pub(crate) follows: bool,
    /// Lines of the page that were shown when it was last drawn.
    pub(crate) rows: usize,
}

impl Start {
    /// Returns the screen of `page` with the first model and no trust chosen.
    pub fn new(setup: &Setup, page: StartPage) -> Self {
        let parts = [
            (Part::Model, true),
            (Part::Trust, !page.brings.is_empty()),
            (Part::Rules, page.ask_rules && !page.rules.is_empty()),
        ];
        let parts: Vec<Part> = parts.into_iter().filter(|(_, shown)| *shown).map(|(part, _)| part).collect();
        // The keyboard begins where there is something to choose: one model is none.
        let has_choice = |part: &Part| *part != Part::Model || page.endpoints.len() > 1;
        Self {
            at: parts.iter().position(has_choice).unwrap_or(0),
            parts,
            page,
            theme: Theme::of(setup.theme),
            lang: setup.lang,
            model: 0,
            trust: TrustAnswer::No,
            scroll: 0,
            follows: false,
            rows: 0,
        }
    }

    /// Returns the part that has the keyboard.
    pub(crate) fn part(&self) -> Part {
        self.parts.get(self.at).copied().unwrap_or(Part::Model)
    }

    /// Takes one key; returns the answer when it decides.
    pub fn key(&mut self, key: KeyEvent) -> Option<StartAnswer> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if is_ctrl(key, 'c') || is_ctrl(key, 'd') {
            return Some(StartAnswer::Leave);
        }
        let model = (!self.page.endpoints.is_empty()).then_some(self.model);
        match key.code {
            // A key that is held down from before was not pressed for what is shown now.
            KeyCode::Enter if key.kind == KeyEventKind::Press => {
                return Some(StartAnswer::Go { model, trust: self.trust, save: true });
            }
            KeyCode::Esc if key.kind == KeyEventKind::Press => {
                return Some(StartAnswer::Go { model, trust: TrustAnswer::No, save: false });
            }
            KeyCode::Up => self.choose(-1),
            KeyCode::Down => self.choose(1),
            KeyCode::Tab => self.go(1),
            KeyCode::BackTab => self.go(self.parts.len() - 1),
            KeyCode::PageUp => self.scroll_by(-self.page_lines()),
            KeyCode::PageDown => self.scroll_by(self.page_lines()),
            _ => {}
        }
        None
    }

    fn page_lines(&self) -> isize {
        isize::try_from(self.rows).unwrap_or(1).max(2) - 1
    }

    /// Goes `by` parts further, round and round.
    fn go(&mut self, by: usize) {
        self.at = (self.at + by) % self.parts.len().max(1);
        self.follows = true;
    }

    fn scroll_by(&mut self, lines: isize) {
        self.scroll = self.scroll.saturating_add_signed(lines);
        self.follows = false;
    }

    /// Chooses the line `by` further down in this part; rules are only read, so they scroll.
    fn choose(&mut self, by: isize) {
        match self.part() {
            Part::Model => {
                let last = self.page.endpoints.len().saturating_sub(1);
                self.model = self.model.saturating_add_signed(by).min(last);
            }
            Part::Trust => {
                let at = TRUST.iter().position(|trust| *trust == self.trust).unwrap_or(0);
                let at = at.saturating_add_signed(by).min(TRUST.len() - 1);
                self.trust = TRUST.get(at).copied().unwrap_or_default();
            }
            Part::Rules => return self.scroll_by(by),
        }
        self.follows = true;
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::super::{StartItem, StartModel};
    use super::*;

    fn screen(brings: bool, rules: bool) -> Start {
        let model = |name: &str| StartModel { name: name.to_owned(), source: "found".to_owned() };
        let item = StartItem { kind: "agent".to_owned(), path: "a".to_owned(), note: String::new() };
        let page = StartPage {
            endpoints: vec![model("one"), model("two")],
            brings: if brings { vec![item] } else { Vec::new() },
            rules: vec!["allow Read(**)".to_owned()],
            ask_rules: rules,
            ..StartPage::default()
        };
        Start::new(&Setup::default(), page)
    }

    fn play(mut start: Start, codes: &[KeyCode]) -> Option<StartAnswer> {
        codes.iter().find_map(|code| start.key(KeyEvent::new(*code, KeyModifiers::NONE)))
    }

    fn go(model: usize, trust: TrustAnswer, save: bool) -> Option<StartAnswer> {
        Some(StartAnswer::Go { model: Some(model), trust, save })
    }

    #[test]
    fn enter_accepts_what_is_chosen_and_escape_saves_nothing() {
        use KeyCode::{Char, Down, Enter, Esc, Tab, Up};
        use TrustAnswer::{All, Never, No};
        for (brings, rules, codes, expected) in [
            (true, true, vec![Enter], go(0, No, true)),
            (true, true, vec![Down, Down, Enter], go(1, No, true)),
            (true, true, vec![Down, Up, Enter], go(0, No, true)),
            (true, true, vec![Tab, Down, Enter], go(0, All, true)),
            (true, true, vec![Tab, Down, Down, Down, Enter], go(0, Never, true)),
            (true, true, vec![Tab, Down, Esc], go(0, No, false)),
            (true, true, vec![Tab, Tab, Down, Tab, Down, Enter], go(1, No, true)),
            (false, true, vec![Tab, Down, Enter], go(0, No, true)),
            (false, false, vec![Tab, Down, Enter], go(1, No, true)),
            (true, true, "yYoOnqr \n".chars().map(Char).collect(), None),
        ] {
            assert_eq!(play(screen(brings, rules), &codes), expected, "{codes:?}");
        }
        for letter in ['c', 'd'] {
            let key = KeyEvent::new(Char(letter), KeyModifiers::CONTROL);
            assert_eq!(screen(true, true).key(key), Some(StartAnswer::Leave));
        }
    }

    #[test]
    fn without_a_model_there_is_none_to_choose() {
        let start = Start::new(&Setup::default(), StartPage::default());
        let answer = StartAnswer::Go { model: None, trust: TrustAnswer::No, save: true };
        assert_eq!(play(start, &[KeyCode::Down, KeyCode::Enter]), Some(answer));
    }
}
