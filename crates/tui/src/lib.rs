//! The terminal of maia: draws events, sends orders; knows `maia-protocol` only (SPEC section 4).
//!
//! - Asked by the binary, which hands [`run`] the event stream and takes [`Action`]s.
//! - Pure inside: [`update`] folds an event into a [`Screen`], [`key`] turns a key into actions, [`draw`] paints. Only
//!   [`run`] touches the terminal.
//! - Owns no truth: everything shown comes from the stream ([`maia_protocol::Event`]) and a few [`Fact`]s.
//!
//! **Invariant:** a text from outside reaches a cell only through [`visible()`] (SAFETY 6).

mod action;
mod choice;
mod command;
mod draw;
mod editor;
mod feed;
mod graph;
mod history;
mod input;
mod item;
mod key;
mod key_pane;
mod markdown;
mod node;
mod older;
mod picture;
mod question;
mod run;
mod screen;
pub mod start;
mod terminal;
mod theme;
mod tree;
mod units;
mod update;
mod update_agent;
mod update_tool;
mod visible;
mod widget;
mod words;
mod wrap;

pub use action::Action;
pub use command::mode_name;
pub use draw::draw;
pub use key::key;
pub use run::{Options, run};
pub use screen::{Fact, Screen, Setup};
pub use start::start;
pub use terminal::restore;
pub use theme::ThemeName;
pub use update::update;
pub use visible::{visible, visible_line};
pub use words::Lang;
