//! Integers of C as keys: a program gives them as 64 bits, or as 128 where those are too few.

use crate::cpp;
use fullbloom_testkit::vectors;
use std::fmt::Write;

/// The program before its numbers. `put` inserts them, and looks them up in the golden file.
const BEFORE: &str = r#"
#include "fullbloom.h"
#include <cstdint>
#include <initializer_list>
#include <type_traits>

static int failures = 0;

template <class Key> static void one(fullbloom_filter *made, const fullbloom_filter *golden, Key key) {
  bool found = false;
  failures += fullbloom_filter_insert(made, &key, sizeof key, nullptr) != FULLBLOOM_OK;
  failures += fullbloom_filter_may_contain(golden, &key, sizeof key, &found) != FULLBLOOM_OK || !found;
}

template <class Width>
static void put(fullbloom_filter *made, const fullbloom_filter *golden, std::initializer_list<Width> numbers) {
  using Key = std::conditional_t<sizeof(Width) == 16, Width,
      std::conditional_t<std::is_signed<Width>::value, std::int64_t, std::uint64_t>>;
  for (Width number : numbers) one<Key>(made, golden, number);
}

static unsigned __int128 halves(std::uint64_t high, std::uint64_t low) { return (unsigned __int128)high << 64 | low; }

int main(int, char **arguments) {
  fullbloom_filter *made = nullptr, *golden = nullptr;
  fullbloom_sizing sizing = FULLBLOOM_SIZING_INIT;
  sizing.bits = 16 * 512;
  sizing.probes = 8;
"#;

const AFTER: &str = r#"
  for (std::int64_t absent = 1000; absent < 1050; absent++) {
    bool found = true;
    failures += fullbloom_filter_may_contain(golden, &absent, sizeof absent, &found) != FULLBLOOM_OK || found;
  }
  failures += fullbloom_filter_save(made, arguments[2]) != FULLBLOOM_OK;
  fullbloom_filter_free(&made);
  fullbloom_filter_free(&golden);
  return failures;
}
"#;

/// The same two files are built and read by every language: see `golden_native.rs` of `fullbloom-any`.
#[test]
fn an_integer_of_every_width_and_sign_is_the_key_of_the_golden_files() {
    let lists = vectors::json("native/integers.json");
    let widths = |widths: &[&str]| {
        let mut lines = String::new();
        for width in widths {
            let numbers = lists[*width].as_array().unwrap().iter().map(|number| {
                let number = number.as_str().unwrap();
                let bits = number.parse::<i128>().map_or_else(|_| number.parse().unwrap(), |n| n as u128);
                format!("({})halves({:#x}u, {:#x}u)", c_type(width), (bits >> 64) as u64, bits as u64)
            });
            let numbers: Vec<String> = numbers.collect();
            let _ = writeln!(lines, "  put<{}>(made, golden, {{{}}});", c_type(width), numbers.join(", "));
        }
        lines
    };
    let long = "  failures += fullbloom_filter_set_key_type(made, FULLBLOOM_KEYS_LONG) != FULLBLOOM_OK;\n";
    for (name, keys, typed, list) in [
        ("integers", 21, long, &["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"][..]),
        ("integers-wide", 5, "", &["i128", "u128"]),
    ] {
        let golden = vectors::root().join(format!("native/{name}.bloom"));
        let directory = tempfile::tempdir().unwrap();
        let made = directory.path().join("made.bloom");
        let setup = format!(
            "  sizing.expected_keys = {keys};
  failures += fullbloom_filter_create(FULLBLOOM_NATIVE, &sizing, &made) != FULLBLOOM_OK;
  failures += fullbloom_filter_load(FULLBLOOM_NATIVE, arguments[1], 0, 0, &golden) != FULLBLOOM_OK;
"
        );
        let code = [BEFORE, &setup, typed, &widths(list), AFTER].concat();
        let Some(run) = cpp::run(&code, &[golden.to_str().unwrap(), made.to_str().unwrap()]) else { return };
        assert!(run.status.success(), "{name}: {run:?}");
        assert!(std::fs::read(&made).unwrap() == vectors::bytes(&format!("native/{name}.bloom")), "{name}");
    }
}

fn c_type(width: &str) -> String {
    match width {
        "i128" => "__int128".to_owned(),
        "u128" => "unsigned __int128".to_owned(),
        signed if signed.starts_with('i') => format!("std::int{}_t", &signed[1..]),
        unsigned => format!("std::uint{}_t", &unsigned[1..]),
    }
}
