//! Compiles the C++ peers, if asked for.

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    if std::env::var_os("CARGO_FEATURE_ROCKSDB").is_none() {
        return;
    }
    // The library's user, as any program outside RocksDB is compiled.
    cc::Build::new().cpp(true).std("c++17").opt_level(3).file("cpp/rocksdb_shim.cc").compile("rocksdb_shim");
    println!("cargo:rustc-link-lib=rocksdb");
    // The strongest form of the algorithm: for this CPU.
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .flag("-march=native")
        .file("cpp/fast_local_avx2.cc")
        .compile("fast_local_avx2");
}
