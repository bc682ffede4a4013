//! The real program in a pseudo-terminal, as a person meets it (SPEC section 4, TUI): keys in, a screen out, a real HTTP endpoint.

mod beside;
mod commands;
mod crash;
mod graph;
mod index;
mod questions;
mod start;

/// The program; without faults it is maia as released.
const MAIA: &str = env!("CARGO_BIN_EXE_maia-faulty");
