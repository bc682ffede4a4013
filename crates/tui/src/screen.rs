//! Everything that the screen knows: a fold of events, and where the person is in it.
//!
//! - Changed by [`crate::update`] (events), [`crate::key`] and [`paste`](Screen::paste) (the person), and
//!   [`Screen::learn`] (what no event tells); drawn by [`crate::draw`].
//! - Owns no channel, no clock and no terminal: time comes in by [`Screen::tick`].

use std::sync::Arc;

use jiff::Timestamp;
use maia_protocol::permission::{Mode, Sandbox};
use maia_protocol::{ActorPath, Event};

use crate::action::Action;
use crate::choice::Choice;
use crate::editor::Editor;
use crate::history::History;
use crate::item::{Item, Level};
use crate::question::{INERT_MS, QUIET_MS, Questions};
use crate::theme::{Theme, ThemeName};
use crate::tree::Tree;
use crate::visible::{visible, visible_line};
use crate::words::{Lang, Words};

/// Milliseconds for which a hint stays.
const HINT_MS: u64 = 5_000;
/// Milliseconds between two pictures of the spinner.
const SPINNER_MS: u64 = 250;
/// Milliseconds in which a second Ctrl+C leaves: a lone one was meant for what has just ended.
const LEAVE_MS: u64 = 2_000;

/// What the caller tells the screen that no event tells.
#[derive(Clone, Debug)]
pub enum Fact {
    /// How child processes are confined.
    Sandbox(Sandbox),
    /// The mode now in force.
    Mode(Mode),
    /// The model now in use.
    Model(String),
    /// Size of the model's context in tokens; `None` when nobody knows.
    ContextMax(Option<u64>),
    /// Agents that can be spawned: name and description.
    Agents(Vec<(String, String)>),
    /// A text for the transcript.
    Say(String),
    /// Whether a command of the person runs: Esc and Ctrl+C end it.
    Shell(bool),
    /// What another session was doing when it was interrupted: one whole line that names the key `r`. Nothing is offered
    /// where the person has asked something already.
    Interrupted {
        /// The line.
        text: String,
    },
    /// Models to choose from; answers [`crate::Action::Model`] without a name.
    Models(Vec<String>),
    /// Events of an agent from before those that are kept here; answers [`crate::Action::Older`].
    Older {
        /// The agent.
        actor: ActorPath,
        /// Its events in order, each before what was asked; empty when there is nothing older.
        events: Vec<Arc<Event>>,
    },
}

/// How the screen is to be.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Colours.
    pub theme: ThemeName,
    /// Language.
    pub lang: Lang,
    /// Whether Markdown is shown as written (`MAIA_NO_MARKDOWN`).
    pub raw_markdown: bool,
    /// Texts sent before, oldest first.
    pub history: Vec<String>,
}

/// The session as told by events and facts; texts made visible.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub name: String,
    pub cwd: String,
    pub model: String,
    pub mode: Mode,
    pub sandbox: Option<Sandbox>,
    pub context_max: Option<u64>,
    pub context_used: u64,
    pub agents: Vec<(String, String)>,
    /// Number of the turn that runs.
    pub turn: Option<u32>,
    pub ended: bool,
    /// Whether a command of the person runs.
    pub shell: bool,
}

/// Which pane has the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    #[default]
    Input,
    Questions,
    Tree,
    Inspector,
}

/// How the tree is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TreeView {
    #[default]
    Auto,
    Whole,
    Hidden,
}

/// Page of the inspector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Page {
    #[default]
    Task,
    Transcript,
    Events,
    Graph,
}

/// What covers the panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Overlay {
    Help { scroll: usize },
    Leaving,
    Models(Choice),
}

/// What was interrupted, and the offer to go on with it.
#[derive(Debug)]
pub(crate) struct Offer {
    pub text: String,
    /// When it was first drawn: a key that was pressed before it could be read is no answer.
    pub drawn_ms: Option<u64>,
}

/// A line that is asked for in the input's place.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub purpose: Purpose,
    pub editor: Editor,
}

/// What a prompt is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    Reason(maia_protocol::CallId),
    Tell(ActorPath),
    AskAgain(ActorPath),
}

/// Where the person is.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub focus: Focus,
    /// The person chose the input over an open question: no question takes the keyboard until a text is sent.
    pub pinned: bool,
    pub tree: TreeView,
    pub page: Page,
    /// Whether the inspector stands in the transcript's place.
    pub inspecting: bool,
    /// First line of the task page.
    pub task_scroll: usize,
    pub overlay: Option<Overlay>,
    pub prompt: Option<Prompt>,
    pub offer: Option<Offer>,
    /// Whether anything was asked here: then nothing is offered that would leave it.
    pub asked: bool,
    hint: Option<(String, u64)>,
    /// Rows of the transcript when it was last drawn: what a page key moves by.
    pub page_rows: usize,
    /// Row of the tree that was last drawn first.
    pub tree_top: usize,
}

/// Time as told from outside.
#[derive(Debug)]
pub(crate) struct Clock {
    pub now_ms: u64,
    pub time: Timestamp,
    last_key_ms: Option<u64>,
    leave_ms: Option<u64>,
}

/// The whole screen.
#[derive(Debug)]
pub struct Screen {
    pub(crate) session: Session,
    pub(crate) tree: Tree,
    pub(crate) questions: Questions,
    pub(crate) editor: Editor,
    pub(crate) history: History,
    pub(crate) view: View,
    pub(crate) clock: Clock,
    pub(crate) theme: Theme,
    pub(crate) lang: Lang,
    pub(crate) markdown: bool,
}

impl Screen {
    /// Returns the screen of a session of which nothing has been heard.
    pub fn new(setup: Setup) -> Self {
        Self {
            session: Session::default(),
            tree: Tree::default(),
            questions: Questions::default(),
            editor: Editor::default(),
            history: History::of(setup.history),
            view: View::default(),
            clock: Clock { now_ms: 0, time: Timestamp::UNIX_EPOCH, last_key_ms: None, leave_ms: None },
            theme: Theme::of(setup.theme),
            lang: setup.lang,
            markdown: !setup.raw_markdown,
        }
    }

    /// Takes the time: `now_ms` on a clock that never goes back, `time` on the wall. To be called before each drawing.
    pub fn tick(&mut self, now_ms: u64, time: Timestamp) {
        self.clock.now_ms = self.clock.now_ms.max(now_ms);
        self.clock.time = self.clock.time.max(time);
        if self.view.hint.as_ref().is_some_and(|(_, until_ms)| *until_ms <= self.clock.now_ms) {
            self.view.hint = None;
        }
        self.settle();
    }

    /// Returns when the screen changes by time alone, on the clock of `tick`; `None` while it rests.
    pub fn wake_ms(&self) -> Option<u64> {
        let now_ms = self.clock.now_ms;
        let every = |ms: u64| (now_ms / ms + 1) * ms;
        let spinner = (self.tree.working() > 0).then(|| every(SPINNER_MS));
        let age = (!self.questions.is_empty()).then(|| every(10_000));
        let hint = self.view.hint.as_ref().map(|(_, until_ms)| *until_ms);
        let taking = self.may_take().then(|| self.quiet_since_ms() + QUIET_MS);
        let ripe = self.questions.drawn_ms().map(|ms| ms + INERT_MS).filter(|ms| *ms > now_ms);
        [spinner, age, hint, taking, ripe].into_iter().flatten().min()
    }

    /// Takes what no event tells.
    pub fn learn(&mut self, fact: Fact) {
        match fact {
            Fact::Sandbox(sandbox) => self.session.sandbox = Some(sandbox),
            Fact::Mode(mode) => self.session.mode = mode,
            Fact::Model(model) => self.session.model = visible_line(&model).into_owned(),
            Fact::ContextMax(max) => self.session.context_max = max,
            Fact::Agents(agents) => self.session.agents = agents,
            Fact::Shell(runs) => self.session.shell = runs,
            Fact::Say(text) => self.say(Level::Info, visible(&text).into_owned()),
            Fact::Interrupted { .. } if self.view.asked => {}
            Fact::Interrupted { text } => {
                let text = visible_line(&text).into_owned();
                self.view.offer = Some(Offer { text, drawn_ms: None });
            }
            Fact::Models(models) => crate::choice::offer_models(self, &models),
            Fact::Older { actor, events } => crate::older::take(self, &actor, &events),
        }
    }

    /// Takes pasted text into what is being written; it is never sent or run by itself.
    pub fn paste(&mut self, text: &str, now_ms: u64) {
        self.clock.now_ms = self.clock.now_ms.max(now_ms);
        match &mut self.view.prompt {
            Some(prompt) => prompt.editor.insert(text),
            None if self.view.overlay.is_none() => {
                self.editor.insert(text);
                (self.view.focus, self.view.offer) = (Focus::Input, None);
            }
            None => {}
        }
        self.pressed();
    }

    /// Returns what was written but not sent, for the caller to keep.
    pub fn draft(&self) -> &str {
        self.editor.text()
    }

    /// Scrolls what is read by `lines`, down positive: the wheel of a mouse. Returns what the caller has to do.
    #[must_use]
    pub fn scroll(&mut self, lines: isize) -> Vec<Action> {
        crate::key::scroll(self, lines)
    }

    pub(crate) fn words(&self) -> &'static Words {
        self.lang.words()
    }

    /// Adds a notice to the main transcript; `text` has been made visible.
    pub(crate) fn say(&mut self, level: Level, text: String) {
        if let Some(main) = self.tree.main_mut() {
            main.feed.push(Item::notice(level, text));
        }
    }

    /// Shows `hint` for some seconds; it has been made visible.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        self.view.hint = Some((hint.into(), self.clock.now_ms + HINT_MS));
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.view.hint.as_ref().map(|(hint, _)| hint.as_str())
    }

    /// Notes that a key was pressed now.
    pub(crate) fn pressed(&mut self) {
        self.clock.last_key_ms = Some(self.clock.now_ms);
    }

    /// Notes that the turn ended now.
    pub(crate) fn turn_ended(&mut self) {
        self.session.turn = None;
    }

    /// Notes that the person wants to leave, and tells whether that was said a moment ago too.
    pub(crate) fn leaves_again(&mut self) -> bool {
        let now_ms = self.clock.now_ms;
        let before = self.clock.leave_ms.replace(now_ms);
        before.is_some_and(|ms| now_ms.saturating_sub(ms) < LEAVE_MS)
    }

    /// Returns the number of the spinner's picture.
    pub(crate) fn spinner(&self) -> usize {
        usize::try_from(self.clock.now_ms / SPINNER_MS).unwrap_or(0)
    }

    /// Gives the keyboard to an open question when the person is at rest, and back when none is open (SAFETY 3).
    pub(crate) fn settle(&mut self) {
        if self.view.focus == Focus::Questions && self.questions.is_empty() {
            self.view.focus = Focus::Input;
        }
        if self.may_take() && self.clock.now_ms >= self.quiet_since_ms() + QUIET_MS {
            self.view.focus = Focus::Questions;
        }
    }

    /// Tells whether only time keeps a question from taking the keyboard.
    fn may_take(&self) -> bool {
        self.view.focus == Focus::Input
            && !self.view.pinned
            && self.view.overlay.is_none()
            && self.view.prompt.is_none()
            && self.editor.is_empty()
            && self.questions.drawn_ms().is_some()
    }

    /// Returns since when no key was pressed; a person who has pressed none yet has been quiet for long.
    fn quiet_since_ms(&self) -> u64 {
        self.clock.last_key_ms.unwrap_or_else(|| self.clock.now_ms.saturating_sub(QUIET_MS))
    }
}
