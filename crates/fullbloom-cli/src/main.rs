//! The `fullbloom` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fullbloom_cli::main()
}
