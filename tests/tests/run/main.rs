//! Whole runs as a person or a script sees them (SPEC section 4): agents side by side, questions, orders, ends, resumes,
//! trust, asking again, the agents that come with maia, the embedded model.

mod again;
mod agents;
mod demo;
mod ends;
mod orders;
mod questions;
mod resume;
mod secrets;
mod sessions;
mod streams;
mod together;
mod trust;

/// The program; without faults it is maia as released.
const MAIA: &str = env!("CARGO_BIN_EXE_maia-faulty");
