//! The header, the list of symbols, the shared library and the Rust types agree.
#![allow(unsafe_code)]

use fullbloom::typed::KeyType;
use fullbloom_any::KeyHash;
use fullbloom_c::dynamic::Dynamic;
use fullbloom_c::facts::Facts;
use fullbloom_c::key_type;
use fullbloom_c::sizing::Sizing;
use fullbloom_c::status::Status;
use fullbloom_dialects::Name;
use std::process::Command;

#[cfg(target_os = "linux")]
#[allow(dead_code)]
#[path = "../../../fullbloom-libbloom/tests/dynamic/mod.rs"]
mod dynamic;

const HEADER: &str = include_str!("../../include/fullbloom.h");
const SYMBOLS: &str = include_str!("../../abi/symbols");

/// The header without its comments.
fn code() -> String {
    let mut code = String::new();
    let mut rest = HEADER;
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").unwrap().1;
    }
    code + rest
}

#[test]
fn the_header_declares_the_symbols_of_the_list() {
    let code = code();
    let mut declared: Vec<&str> = code
        .match_indices('(')
        .filter_map(|(at, _)| code[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next())
        .filter(|name| name.starts_with("fullbloom_"))
        .filter(|name| !["fullbloom_sizing", "fullbloom_dynamic", "fullbloom_facts"].contains(name)) // sizeof
        .collect();
    declared.sort_unstable();
    assert_eq!(declared, SYMBOLS.lines().collect::<Vec<_>>());
}

#[cfg(target_os = "linux")]
#[test]
fn the_shared_library_exports_the_symbols_of_the_list_under_its_soname() {
    let elf = dynamic::Elf::read("libfullbloom_c.so");
    assert_eq!(elf.soname, "libfullbloom.so.0");
    assert!(elf.exports.iter().map(String::as_str).eq(SYMBOLS.lines()), "{:?}", elf.exports);
}

/// `NAME = number` in the header.
fn enumerators(prefix: &str) -> Vec<(String, i32)> {
    code()
        .split([',', '{', '}'])
        .filter_map(|part| part.split_once('='))
        .map(|(name, number)| (name.trim().to_owned(), number.trim().parse().unwrap()))
        .filter(|(name, _)| name.starts_with(prefix))
        .collect()
}

#[test]
fn statuses_and_dialects_have_the_numbers_of_the_header() {
    let mut all = enumerators("FULLBLOOM_");
    let is_key_type = |(name, _): &(String, i32)| name.starts_with("FULLBLOOM_KEYS_");
    let key_types: Vec<_> =
        all.extract_if(.., |one| is_key_type(one)).map(|(name, number)| (name, number as u8)).collect();
    let types = [None, Some(KeyType::Bytes), Some(KeyType::Text), Some(KeyType::Int), Some(KeyType::Long)];
    assert!(key_types.iter().map(|(_, number)| *number).eq(types.map(key_type::number)), "{key_types:?}");
    let statuses: Vec<(String, i32)> =
        Status::ALL.iter().map(|status| (shout(&format!("{status:?}")), *status as i32)).collect();
    assert_eq!(all[..statuses.len()], statuses);
    let dialects = &all[statuses.len()..];
    assert_eq!(dialects[0], ("FULLBLOOM_UNKNOWN".into(), 0));
    let mut named: Vec<(String, i32)> = Name::ALL
        .iter()
        .map(|name| {
            let text = name.as_str().replace(['-', '.'], "_").to_uppercase();
            (format!("FULLBLOOM_{text}"), name.number().into())
        })
        .collect();
    named.sort_by_key(|(_, number)| *number);
    assert_eq!(dialects[1..], named);
}

#[test]
fn dialects_are_described_in_the_header_as_in_the_library() {
    for name in Name::ALL {
        let enumerator = name.as_str().replace(['-', '.'], "_").to_uppercase();
        let about = name.about().replace('–', "-"); // a header in C is ASCII
        let lines = format!("/* {about} */\n    FULLBLOOM_{enumerator} = ");
        assert!(HEADER.contains(&lines), "not in the header: {lines}");
    }
    assert!(HEADER.is_ascii());
}

/// `NotFinished` as C writes it.
fn shout(name: &str) -> String {
    let mut shouted = String::from("FULLBLOOM");
    for c in name.chars() {
        if c.is_uppercase() {
            shouted.push('_');
        }
        shouted.push(c.to_ascii_uppercase());
    }
    shouted
}

/// Runs if there is a C compiler; fails without one if `FULLBLOOM_REQUIRE_CC` is set. The other tests need
/// none.
#[test]
fn the_header_compiles_as_c99_and_as_cpp17_and_its_structs_are_ours() {
    let directory = tempfile::tempdir().unwrap();
    let probe = directory.path().join("probe.c");
    let text = format!(
        "#include \"fullbloom.h\"\n\
         #include <stdio.h>\n\
         typedef char sizing_is_ours[sizeof(fullbloom_sizing) == {} ? 1 : -1];\n\
         typedef char dynamic_is_ours[sizeof(fullbloom_dynamic) == {} ? 1 : -1];\n\
         typedef char reserve_is_where[offsetof(fullbloom_dynamic, reserved) == {} ? 1 : -1];\n\
         typedef char hash_is_ours[sizeof(fullbloom_hash) == {} ? 1 : -1];\n\
         typedef char dialect_is_where[offsetof(fullbloom_hash, dialect) == 24 ? 1 : -1];\n\
         typedef char facts_are_ours[sizeof(fullbloom_facts) == {} ? 1 : -1];\n\
         typedef char last_is_where[offsetof(fullbloom_facts, takes_keys) == {} ? 1 : -1];\n\
         int main(void) {{ fullbloom_sizing s = FULLBLOOM_SIZING_INIT; fullbloom_facts f = FULLBLOOM_FACTS_INIT;\n\
         fullbloom_dynamic d = FULLBLOOM_DYNAMIC_INIT;\n\
         return (int)(s.struct_size + f.struct_size + d.struct_size) == 0; }}\n",
        size_of::<Sizing>(),
        size_of::<Dynamic>(),
        std::mem::offset_of!(Dynamic, reserved),
        size_of::<KeyHash>(),
        size_of::<Facts>(),
        std::mem::offset_of!(Facts, takes_keys),
    );
    std::fs::write(&probe, text).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    for (compiler, flags) in [("cc", ["-x", "c", "-std=c99"]), ("c++", ["-x", "c++", "-std=c++17"])] {
        let mut command = Command::new(compiler);
        command.args(flags).args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-fsyntax-only",
            "-I",
            include,
        ]);
        match command.arg(&probe).output() {
            Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
            Err(e) if std::env::var_os("FULLBLOOM_REQUIRE_CC").is_some() => panic!("{compiler}: {e}"),
            Err(e) => eprintln!("skipped: the header was not compiled, {compiler}: {e}"),
        }
    }
}
