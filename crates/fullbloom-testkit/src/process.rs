//! Tests that need a separate process: they change the environment, or depend on a choice made once per
//! process.

use std::process::{Command, Output};

/// Runs one ignored test of this test program in a new process, checks that it passed, and returns its
/// output.
///
/// `test` is the test's name with its modules; `prepare` may set the environment.
pub fn alone(test: &str, prepare: impl FnOnce(&mut Command)) -> Output {
    let mut child = Command::new(std::env::current_exe().expect("the path of this program"));
    child.args(["--exact", test, "--ignored", "--nocapture"]);
    prepare(&mut child);
    let output = child.output().expect("this program runs again");
    let passed = String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed;");
    assert!(output.status.success() && passed, "{test}: {output:?}");
    output
}
