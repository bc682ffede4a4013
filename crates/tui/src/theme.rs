//! Colours and emphasis by what they mean.
//!
//! Asked by every widget. Only the terminal's own sixteen colours are used, so that a person's palette holds; and
//! every meaning is carried by a sign or a word too, so that `NO_COLOR` loses nothing.

use ratatui::style::{Color, Modifier, Style};

/// The looks that can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeName {
    /// The terminal's colours.
    #[default]
    Terminal,
    /// The bright half of the palette and no dim text, for poor screens and eyes.
    Bright,
    /// No colours: `NO_COLOR`.
    Plain,
}

impl ThemeName {
    /// Returns the theme called `name`, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "terminal" => Some(Self::Terminal),
            "bright" => Some(Self::Bright),
            "plain" => Some(Self::Plain),
            _ => None,
        }
    }
}

/// How each meaning looks.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// What matters less.
    pub dim: Style,
    /// What a person wrote.
    pub user: Style,
    /// Names and titles.
    pub title: Style,
    /// Work under way.
    pub active: Style,
    /// It went well.
    pub good: Style,
    /// It deserves a look.
    pub warn: Style,
    /// It failed.
    pub bad: Style,
    /// A person is asked.
    pub ask: Style,
    /// Code.
    pub code: Style,
    /// What is selected or has the keyboard.
    pub selected: Style,
}

impl Theme {
    /// Returns the theme of `name`.
    pub fn of(name: ThemeName) -> Self {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let selected = Style::new().add_modifier(Modifier::REVERSED);
        let plain = Self {
            text: Style::new(),
            dim: Style::new().add_modifier(Modifier::DIM),
            user: bold,
            title: bold,
            active: Style::new(),
            good: Style::new(),
            warn: bold,
            bad: bold,
            ask: bold,
            code: Style::new(),
            selected,
        };
        match name {
            ThemeName::Plain => plain,
            ThemeName::Terminal => Self {
                user: bold.fg(Color::Green),
                active: Style::new().fg(Color::Yellow),
                good: Style::new().fg(Color::Green),
                warn: Style::new().fg(Color::Yellow),
                bad: Style::new().fg(Color::Red),
                ask: bold.fg(Color::Magenta),
                code: Style::new().fg(Color::Cyan),
                ..plain
            },
            ThemeName::Bright => Self {
                dim: Style::new(),
                user: bold.fg(Color::LightGreen),
                active: bold.fg(Color::LightYellow),
                good: Style::new().fg(Color::LightGreen),
                warn: bold.fg(Color::LightYellow),
                bad: bold.fg(Color::LightRed),
                ask: bold.fg(Color::LightMagenta),
                code: Style::new().fg(Color::LightCyan),
                ..plain
            },
        }
    }
}
