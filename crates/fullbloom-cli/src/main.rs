//! The `fullbloom` command.
fn main() {}
