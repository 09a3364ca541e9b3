//! The C++ code of `docs/adopting.md`: compiled, linked to the shared library and run.

use std::process::Command;

/// Runs if there is a C++ compiler; fails without one if `FULLBLOOM_REQUIRE_CC` is set.
#[test]
fn the_cpp_code_on_the_page_runs() {
    let page = include_str!("../../../../docs/adopting.md");
    let (_, code) = page.split_once("```cpp\n").expect("C++ code");
    let (code, _) = code.split_once("```").expect("an end of the code");
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("adopting.cc"), directory.path().join("adopting"));
    std::fs::write(&source, code).unwrap();
    // The shared library that was built with the test program is beside it.
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
        Err(e) => return eprintln!("skipped: the code was not compiled, c++: {e}"),
    }
    // The program names the library by its SONAME.
    std::os::unix::fs::symlink(
        libraries.join("libfullbloom_c.so"),
        directory.path().join("libfullbloom.so.0"),
    )
    .unwrap();
    let run = Command::new(&program).env("LD_LIBRARY_PATH", directory.path()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    assert!(String::from_utf8_lossy(&run.stdout).ends_with("of 10000 absent keys match\n"), "{run:?}");
}
