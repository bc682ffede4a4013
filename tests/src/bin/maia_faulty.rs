//! maia with its faults for tests switched on (ENGINE 9), for the tests of this package and for nobody else.
//!
//! - Started by tests of whole runs, with `MAIA_FAIL` in its environment; without it, it is maia as released.
//! - Owns nothing: all of it is the library of the package `maia`.

use std::process::ExitCode;

fn main() -> ExitCode {
    maia::main()
}
