//! Everything that libbloom 1.6 was recorded to do, through the shared library: parameters, bits, codes and
//! text.
#![allow(unsafe_code)]

use crate::library::{self, LIBRARY, Struct, version};
use fullbloom_testkit::from_hex;
use fullbloom_testkit::vectors::{self, Record, Value};
use std::collections::HashMap;
use std::ptr::null;

#[test]
fn parameters_and_the_struct_after_every_init_are_those_of_the_original() {
    let file = vectors::json("libbloom/params_v1.json");
    let mut refused = 0;
    for row in file.list("rows") {
        let mut bloom = Struct::filled(0xaa);
        let (entries, error) = (row.int("entries") as i32, row.real("error"));
        let code = match row.text("fn") {
            "bloom_init" => bloom.init(entries, error),
            // SAFETY: the library writes only into the struct, which has its size and alignment.
            "bloom_init_size" => unsafe { (LIBRARY.init_size)(&mut bloom, entries, error, 12345) },
            other => panic!("{other}"),
        };
        assert_eq!(i64::from(code), row.int("rv"), "{row}");
        assert_eq!(i64::from(bloom.ready()), row.int("ready"), "{row}");
        if code != 0 {
            refused += 1;
            let after = "struct_hex_after_failure_prefilled_AA";
            if row.get(after).is_none() {
                continue;
            }
            let mut expected = row.hex(after);
            for (at, double) in [(8, bloom.error()), (32, bloom.bpe())] {
                if f64::from_bits(double).is_nan() {
                    expected[at + 7] = bloom.0[at + 7]; // of either sign
                }
            }
            assert_eq!(bloom.0[..], expected, "{row}");
            continue;
        }
        let got = [bloom.bits(), bloom.bytes(), bloom.hashes(), bloom.entries()].map(i64::from);
        assert_eq!(got, ["bits", "bytes", "hashes", "s_entries"].map(|name| row.int(name)), "{row}");
        if row.get("bpe_f64be").is_some() {
            assert_eq!(
                (bloom.bpe(), bloom.error()),
                (row.hex_int("bpe_f64be"), row.hex_int("s_error_f64be")),
                "{row}"
            );
        }
        bloom.free();
    }
    assert_eq!(refused, 22);
}

#[test]
fn every_recorded_position_is_one_that_check_looks_at_and_add_sets() {
    let rows = vectors::json("libbloom/indexes.json");
    let mut filters: HashMap<(u64, String), Struct> = HashMap::new();
    let rows: Vec<&Value> =
        rows.as_array().unwrap().iter().filter(|row| row.text("version") == "1.6").collect();
    assert!(!rows.is_empty());
    for row in rows {
        let (entries, error) = (row.count("entries"), row.text("error"));
        let bloom = filters
            .entry((entries, error.to_owned()))
            .or_insert_with(|| Struct::made(entries as i32, error.parse().unwrap()));
        assert_eq!((bloom.bits() as u64, bloom.hashes() as u64), (row.count("bits"), row.count("hashes")));
        let key = row.hex("key");
        let positions: Vec<u64> = row.list("index").iter().map(|v| v.as_u64().unwrap()).collect();
        assert_eq!((bloom.check(&key), bloom.add(&key), bloom.check(&key)), (0, 0, 1), "{row}");
        for &position in &positions {
            *bloom.bit(position) &= !(1 << (position & 7));
            assert_eq!(bloom.check(&key), 0, "{row}: {position}");
            *bloom.bit(position) |= 1 << (position & 7);
        }
        for &position in &positions {
            *bloom.bit(position) &= !(1 << (position & 7));
        }
        let left = bloom.bytes() < 1 << 20 && bloom.bits_bytes().iter().any(|&byte| byte != 0);
        assert!(!left, "{row}: other bits are set");
    }
    for bloom in filters.values_mut() {
        bloom.free();
    }
}

#[test]
fn filters_and_their_return_codes_are_those_of_the_original() {
    for row in vectors::json("libbloom/filters_v1.json").as_array().unwrap() {
        let mut bloom = Struct::made(row.int("entries") as i32, row.real("error"));
        let name = row.text("name");
        let codes: String =
            row.hex_list("add_keys_hex").iter().map(|key| bloom.add(key).to_string()).collect();
        assert_eq!(codes, row.text("add_return_codes"), "{name}");
        let codes: String =
            row.hex_list("probe_keys_hex").iter().map(|key| bloom.check(key).to_string()).collect();
        assert_eq!(codes, row.text("check_return_codes"), "{name}");
        assert_eq!(bloom.bits_bytes(), row.hex("bf_hex"), "{name}");
        bloom.free();
    }
}

#[test]
fn the_recorded_scenario_plays_step_by_step() {
    let scenarios = vectors::json("libbloom/scenarios.json");
    let key = |name: &str| scenarios.field("keys_hex").hex(name);
    let (a, b, c) = (key("A"), key("B"), key("C"));
    // SAFETY: the struct is ours; keys of length 0 and less have no bytes to read.
    let with_len = |call: library::OnKey, bloom: &mut Struct, len| unsafe { call(bloom, null(), len) };
    let (add, check) = (LIBRARY.add, LIBRARY.check);

    let mut x = Struct::filled(0);
    for step in scenarios.list("v1") {
        let (what, expected) = (step[0].as_str().unwrap(), &step[1]);
        let got = match what {
            "zeroed struct: check" | "check after failed init" | "check after free" => x.check(&a),
            "zeroed struct: add" => x.add(&a),
            "zeroed struct: reset" | "reset" | "reset after free" => x.reset(),
            "zeroed struct: free then ready" | "ready after free" | "second free: ready" => {
                x.free();
                x.ready()
            }
            "init 999" => x.init(999, 0.1),
            "init 1000 0.1" | "re-init same struct" => x.init(1000, 0.1),
            "ready" => x.ready(),
            "check A empty" | "check A" | "check A after reset" => x.check(&a),
            "add A" | "add A again" | "add after re-init" => x.add(&a),
            "add B" => x.add(&b),
            "check B" => x.check(&b),
            "check C" => x.check(&c),
            "add empty key len 0" => x.add(b""),
            "check empty key len 0" => x.check(b""),
            "check NULL len 0" => with_len(check, &mut x, 0),
            "check len -1" | "check len -1 again" => with_len(check, &mut x, -1),
            "add len -1" => with_len(add, &mut x, -1),
            "bf bytes (hex) at this point" => {
                assert_eq!(x.bits_bytes(), from_hex(expected.as_str().unwrap()));
                continue;
            }
            "bits after reset all zero" => x.bits_bytes().iter().all(|&byte| byte == 0).into(),
            "entries after free" => x.entries(),
            "bits after free" => x.bits(),
            "bf nonnull after free" => (!x.bf().is_null()).into(),
            "version" => {
                assert_eq!(version(), expected.as_str().unwrap());
                continue;
            }
            // The original divides by zero here.
            "init 1000 0.99999 then add: init rv, process exit (negative = signal)" => {
                let mut bloom = Struct::made(1000, 0.99999);
                assert_eq!((bloom.bits(), bloom.add(&a), bloom.check(&a)), (0, -1, -1));
                bloom.free();
                continue;
            }
            other => panic!("{other}"),
        };
        assert_eq!(Value::from(got), *expected, "{what}");
    }
    x.free();
}
