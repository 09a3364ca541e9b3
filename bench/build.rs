//! Compiles the C++ peers that can be compiled here, and tells the program what it was built with.
//!
//! | set | when |
//! |---|---|
//! | `fast_local` | a C++ compiler for a CPU with AVX2: RocksDB's algorithm (`cpp/fast_local_avx2.cc`) is a peer |
//! | `librocksdb` | RocksDB 7 with its headers is installed as well: the library itself is a peer |
//! | `boost_bloom` | the variable `BOOST_INCLUDE` names a directory with the headers of Boost 1.90 or later: Boost.Bloom is a peer |
//! | `cpp_field` | `FASTFILTER_DIR` and `LIBFILTER_DIR` name checkouts of fastfilter_cpp and libfilter: fingerprint filters in C++ are peers |
//!
//! With the feature `rocksdb` the first two must be there.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=Cargo.lock");
    println!("cargo:rustc-check-cfg=cfg(fast_local)");
    println!("cargo:rustc-check-cfg=cfg(librocksdb)");
    println!("cargo:rustc-check-cfg=cfg(boost_bloom)");
    println!("cargo:rustc-check-cfg=cfg(cpp_field)");
    for variable in ["BOOST_INCLUDE", "FASTFILTER_DIR", "LIBFILTER_DIR"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let required = std::env::var_os("CARGO_FEATURE_ROCKSDB").is_some();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    tell("RUSTC", &first_line(Command::new(rustc).arg("--version")).unwrap_or_default());

    // The strongest form of the algorithm: for this CPU.
    let mut native = cpp(required);
    match native.flag("-march=native").file("cpp/fast_local_avx2.cc").try_compile("fast_local_avx2") {
        Ok(()) => println!("cargo:rustc-cfg=fast_local"),
        Err(error) if required => panic!("the C++ peers cannot be compiled: {error}"),
        Err(_) => return tell("CXX", "none that compiles for AVX2"),
    }
    let mut compiler = native.get_compiler().to_command();
    tell("CXX", &first_line(compiler.arg("--version")).unwrap_or_default());

    let directory = |variable| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let (Some(fastfilter), Some(libfilter)) = (directory("FASTFILTER_DIR"), directory("LIBFILTER_DIR")) {
        cpp_field(&fastfilter, &libfilter);
    }

    if let Some(headers) = directory("BOOST_INCLUDE") {
        // A directory that was named and cannot be used is an error.
        let mut boost = cpp(true);
        boost.flag("-march=native").include(headers).warnings(false).file("cpp/boost_shim.cc");
        // Otherwise GCC 12 copies a block in two halves before it tests it, and waits for the store: a
        // quarter of the speed.
        boost.flag_if_supported("-mmove-max=256").flag_if_supported("-mstore-max=256");
        boost.compile("boost_shim");
        println!("cargo:rustc-cfg=boost_bloom");
    }

    if required || rocksdb_links() {
        // The library's user, as any program outside RocksDB is compiled.
        cpp(required).file("cpp/rocksdb_shim.cc").compile("rocksdb_shim");
        println!("cargo:rustc-link-lib=rocksdb");
        println!("cargo:rustc-cfg=librocksdb");
    }
}

/// Both are compiled as their own Makefiles do it. Directories that were named and cannot be used are an error.
fn cpp_field(fastfilter: &Path, libfilter: &Path) {
    let mut c = cc::Build::new();
    c.opt_level(3)
        .define("NDEBUG", None)
        .flag("-march=native")
        .warnings(false)
        .include(libfilter.join("c/include"));
    for file in ["memory.c", "taffy-cuckoo.c", "util.c"] {
        c.file(libfilter.join("c/lib").join(file));
    }
    c.compile("libfilter");
    let mut shim = cpp(true);
    shim.define("NDEBUG", None).flag("-march=native").flag("-fno-strict-aliasing").flag("-w").warnings(false);
    shim.include(fastfilter.join("benchmarks")).include(fastfilter.join("src"));
    for room in ["bloom", "cuckoo", "gcs", "gqf", "morton", "xorfilter", "ribbon", "vqf"] {
        shim.include(fastfilter.join("src").join(room));
    }
    shim.include(libfilter.join("cpp/include")).include(libfilter.join("c/include"));
    shim.file("cpp/field_shim.cc").compile("field_shim");
    println!("cargo:rustc-cfg=cpp_field");
}

fn cpp(loud: bool) -> cc::Build {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).cargo_warnings(loud);
    build
}

/// Whether a program that uses RocksDB 7 can be compiled and linked here.
fn rocksdb_links() -> bool {
    let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return false };
    let source = out.join("has_rocksdb.cc");
    let program = "#include <rocksdb/version.h>\n#if ROCKSDB_MAJOR != 7\n#error another interface\n#endif\nint main() {}\n";
    if std::fs::write(&source, program).is_err() {
        return false;
    }
    let mut compiler = cpp(false).get_compiler().to_command();
    compiler.arg(source).arg("-Wl,--no-as-needed").arg("-lrocksdb").arg("-o").arg(out.join("has_rocksdb"));
    compiler.output().is_ok_and(|ended| ended.status.success())
}

fn tell(name: &str, what: &str) {
    println!("cargo:rustc-env=FULLBLOOM_BENCH_{name}={what}");
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}
