//! The program `maia`; see the library of this package.

fn main() -> std::process::ExitCode {
    maia::main()
}
