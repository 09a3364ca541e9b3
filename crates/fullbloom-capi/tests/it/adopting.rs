//! The C++ code of `docs/adopting.md`: compiled, linked to the shared library and run.

use crate::cpp;

#[test]
fn the_cpp_code_on_the_page_runs() {
    let page = include_str!("../../../../docs/adopting.md");
    let (_, code) = page.split_once("```cpp\n").expect("C++ code");
    let (code, _) = code.split_once("```").expect("an end of the code");
    let Some(run) = cpp::run(code, &[]) else { return };
    assert!(run.status.success(), "{run:?}");
    assert!(String::from_utf8_lossy(&run.stdout).ends_with("of 10000 absent keys match\n"), "{run:?}");
}
