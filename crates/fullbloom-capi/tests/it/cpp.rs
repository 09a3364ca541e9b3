//! Programs in C++, linked to the shared library that was built with the tests.

use std::process::{Command, Output};

/// Compiles and runs a program. `None` without a C++ compiler, which is a failure if `FULLBLOOM_REQUIRE_CC` is
/// set.
pub fn run(code: &str, arguments: &[&str]) -> Option<Output> {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("program.cc"), directory.path().join("program"));
    std::fs::write(&source, code).unwrap();
    // The shared library is beside the test program.
    let test = std::env::current_exe().unwrap();
    let libraries = test.parent().unwrap();
    let mut compiler = Command::new("c++");
    compiler
        .args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
            concat!(env!("CARGO_MANIFEST_DIR"), "/include"),
        ])
        .args([&source, &libraries.join("libfullbloom_c.so")])
        .arg("-o")
        .arg(&program);
    match compiler.output() {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
        Err(e) if std::env::var_os("FULLBLOOM_REQUIRE_CC").is_some() => panic!("c++: {e}"),
        Err(e) => {
            eprintln!("skipped: the code was not compiled, c++: {e}");
            return None;
        }
    }
    // The program names the library by its SONAME.
    std::os::unix::fs::symlink(
        libraries.join("libfullbloom_c.so"),
        directory.path().join("libfullbloom.so.0"),
    )
    .unwrap();
    let mut command = Command::new(&program);
    Some(command.args(arguments).env("LD_LIBRARY_PATH", directory.path()).output().unwrap())
}
