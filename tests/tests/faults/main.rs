//! Whole runs in which something fails: actors that panic, disks that are full, endpoints that misbehave (ENGINE 4, SAFETY 6).

mod disk;
mod endpoint;
mod hostile;
mod kinds;
mod panics;
mod scene;
mod workers;

/// The program with its faults for tests.
const MAIA: &str = env!("CARGO_BIN_EXE_maia-faulty");
