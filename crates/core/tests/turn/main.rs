//! The turn machine by value: whole sessions without a runtime, in every order that actors could meet.
//!
//! - `driver` and `effects` play journal, gateway, executors, broker and supervisors; `world` says what they answer.
//! - `check` holds what is true of every session, whatever happened in it.
//! - The others are scenarios by subject, and `properties` tries what nobody thought of.

mod again;
mod budget;
mod cancel;
mod check;
mod children;
mod driver;
mod effects;
mod graph;
mod projection;
mod properties;
mod questions;
mod restart;
mod talk;
mod tools;
mod world;
