//! The `fullbloom` command.

use fullbloom_cli::reserve::{self, WithReserve};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

fn main() -> ExitCode {
    reserve::set_aside();
    fullbloom_cli::main()
}
