//! Sets the shared library's SONAME: the name that programs linked to it request from the loader, whatever
//! the file is called.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfullbloom.so.0");
    }
}
