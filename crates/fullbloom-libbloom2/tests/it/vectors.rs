//! Everything that libbloom 2.0 was recorded to do, through the shared library: parameters, bits, codes and
//! files.
#![allow(unsafe_code)]

use crate::library::{self, LIBRARY, Struct, c_path, version};
use fullbloom_testkit::from_hex;
use fullbloom_testkit::vectors::{self, Record, Value};
use std::collections::HashMap;
use std::path::Path;
use std::ptr::null;

/// Where a save file holds the address of its writer's array.
const POINTER: std::ops::Range<usize> = 67..75;

#[test]
fn parameters_and_the_struct_after_every_init_are_those_of_the_original() {
    let file = vectors::json("libbloom/params_v2.json");
    let mut refused = 0;
    for row in file.list("rows") {
        let mut bloom = Struct::filled(0xaa);
        let (entries, error) = (row.int("entries"), row.real("error"));
        let code = match row.text("fn") {
            "bloom_init2" => bloom.init2(entries as u32, error),
            // SAFETY: the library writes only into the struct, which has its size and alignment.
            "bloom_init" => unsafe { (LIBRARY.init)(&mut bloom, entries as i32, error) },
            other => panic!("{other}"),
        };
        assert_eq!(i64::from(code), row.int("rv"), "{row}");
        assert_eq!(i64::from(bloom.ready()), row.int("ready"), "{row}");
        if code != 0 {
            let mut expected = row.hex("struct_hex_after_failure_prefilled_AA");
            if error.is_nan() {
                for at in [32, 48] {
                    expected[at + 7] = bloom.0[at + 7]; // of either sign
                }
            }
            assert_eq!(bloom.0[..], expected, "{row}");
            refused += 1;
            continue;
        }
        let got = (bloom.bits(), bloom.bytes(), u64::from(bloom.hashes()), bloom.entries());
        let expected =
            (row.count("bits"), row.count("bytes"), row.count("hashes"), row.count("s_entries") as u32);
        assert_eq!(got, expected, "{row}");
        if row.get("bpe_f64be").is_some() {
            assert_eq!(
                (bloom.bpe(), bloom.error()),
                (row.hex_int("bpe_f64be"), row.hex_int("s_error_f64be")),
                "{row}"
            );
            assert_eq!((bloom.major(), bloom.minor()), (2, 0), "{row}");
        }
        for padding in [4..8, 25..32, 43..48] {
            assert!(bloom.0[padding].iter().all(|&byte| byte == 0), "{row}");
        }
        bloom.free();
    }
    assert_eq!(refused, 13);
}

#[test]
fn every_recorded_position_is_one_that_check_looks_at_and_no_other_is() {
    let rows = vectors::json("libbloom/indexes.json");
    let mut filters: HashMap<(u64, String), Struct> = HashMap::new();
    for row in rows.as_array().unwrap().iter().filter(|row| row.text("version") == "2.0") {
        let (entries, error) = (row.count("entries"), row.text("error"));
        let bloom = filters
            .entry((entries, error.to_owned()))
            .or_insert_with(|| Struct::made(entries as u32, error.parse().unwrap()));
        assert_eq!((bloom.bits(), u64::from(bloom.hashes())), (row.count("bits"), row.count("hashes")));
        let (key, index) = (row.hex("key"), row.list("index"));
        let positions: Vec<u64> = index.iter().map(|v| v.as_u64().unwrap()).collect();
        // The filter is empty: with these bits set the key is found, without any one of them it is not.
        for &position in &positions {
            *bloom.bit(position) |= 1 << (position & 7);
        }
        assert_eq!(bloom.check(&key), 1, "{row}");
        for &position in &positions {
            *bloom.bit(position) &= !(1 << (position & 7));
            assert_eq!(bloom.check(&key), 0, "{row}: {position}");
            *bloom.bit(position) |= 1 << (position & 7);
        }
        for &position in &positions {
            *bloom.bit(position) = 0;
        }
        assert_eq!(bloom.add(&key), 0, "{row}");
        for &position in &positions {
            assert_ne!(*bloom.bit(position) & 1 << (position & 7), 0, "{row}: {position}");
        }
        for &position in &positions {
            *bloom.bit(position) = 0;
        }
    }
    for bloom in filters.values_mut() {
        bloom.free();
    }
}

/// Runs `call` over the keys and compares with a string of codes.
fn codes(keys: &[Vec<u8>], expected: &str, mut call: impl FnMut(&[u8]) -> i32) {
    let got: String = keys.iter().map(|key| call(key).to_string()).collect();
    assert_eq!(got, expected);
}

#[test]
fn filters_their_return_codes_and_their_files_are_those_of_the_original() {
    let directory = tempfile::tempdir().unwrap();
    let keys_of = vectors::json("libbloom/filters_v1.json");
    let keys_of: HashMap<&str, &Value> =
        keys_of.as_array().unwrap().iter().map(|row| (row.text("name"), row)).collect();
    for row in vectors::json("libbloom/filters_v2.json").as_array().unwrap() {
        // A list that is the same as for 1.6 is there, and only its name here.
        let list =
            |name| if row.field(name).is_array() { row } else { keys_of[row.text("name")] }.hex_list(name);
        let (add_keys, probe_keys) = (list("add_keys_hex"), list("probe_keys_hex"));
        let mut bloom = Struct::made(row.count("entries") as u32, row.real("error"));
        codes(&add_keys, row.text("add_return_codes"), |key| bloom.add(key));
        codes(&probe_keys, row.text("check_return_codes"), |key| bloom.check(key));

        let path = directory.path().join(row.text("name"));
        assert_eq!(bloom.save(&path), 0);
        let mut expected = vectors::bytes(&format!("libbloom/{}", row.text("file")));
        let written = std::fs::read(&path).unwrap();
        assert_eq!(written[POINTER], [0; 8], "an address is told");
        expected[POINTER].fill(0);
        assert_eq!(written, expected, "{}", row.text("name"));
        bloom.free();

        // And back: what the original wrote.
        let mut loaded = Struct::filled(0xaa);
        assert_eq!(loaded.load(&vectors::root().join("libbloom").join(row.text("file"))), 0);
        assert_eq!(loaded.0[..56], expected[11..67]);
        assert_eq!(loaded.bits_bytes(), &expected[75..]);
        codes(&probe_keys, row.text("check_return_codes"), |key| loaded.check(key));
        loaded.free();
    }
}

/// Files whose numbers reach outside their bits: the original takes them (code 0) and then reads there.
const REFUSED: [&str; 2] = ["load/bytes_smaller.bin", "load/bytes_zero.bin"];

#[test]
fn load_gives_the_recorded_code_and_struct_for_every_file() {
    let mut refused = 0;
    for row in vectors::json("libbloom/load_codes.json").as_array().unwrap() {
        let Some(file) = row.get("file").map(|_| row.text("file")) else { continue };
        let mut bloom = Struct::filled(0xaa);
        let code = bloom.load(&vectors::root().join("libbloom").join(file));
        let mut image = row.hex("struct_hex_bf_masked");
        if REFUSED.contains(&file) {
            assert_eq!(code, 11, "{file}");
            image[40] = 0;
            refused += 1;
        } else {
            assert_eq!(i64::from(code), row.int("rv"), "{file}");
        }
        assert_eq!(bloom.0[..56], image, "{file}");
        assert_eq!(bloom.bf().is_null(), bloom.ready() == 0, "{file}: bits exactly where there is a filter");
        match row.get("check_hello_rv").and_then(Value::as_i64) {
            Some(expected) => assert_eq!(i64::from(bloom.check(b"hello")), expected, "{file}"),
            None => assert_eq!(bloom.check(b"hello"), -1, "{file}"),
        }
        bloom.free();
    }
    assert_eq!(refused, REFUSED.len());
}

#[test]
fn load_without_a_file_or_a_struct_gives_the_recorded_codes() {
    let directory = tempfile::tempdir().unwrap();
    let mut bloom = Struct::filled(0xaa);
    let load = LIBRARY.load;
    for row in vectors::json("libbloom/load_codes.json").as_array().unwrap() {
        let Some(call) = row.get("call").map(|_| row.text("call")) else { continue };
        let code = match call {
            // SAFETY: the library must test its pointers; names are constants.
            "load(NULL name)" => unsafe { load(&mut bloom, null()) },
            // SAFETY: the library must test its pointers; names are constants.
            "load(empty name)" => unsafe { load(&mut bloom, c"".as_ptr()) },
            // SAFETY: the library must test its pointers; names are constants.
            "load(NULL bloom, \"hi\")" => unsafe { load(std::ptr::null_mut(), c"hi".as_ptr()) },
            // SAFETY: the library must test its pointers; names are constants.
            "load(NULL bloom, NULL)" => unsafe { load(std::ptr::null_mut(), null()) },
            "load(missing file)" => bloom.load(&directory.path().join("missing")),
            "load(a directory)" => bloom.load(directory.path()),
            other => panic!("{other}"),
        };
        assert_eq!(i64::from(code), row.int("rv"), "{call}");
    }
    assert!(bloom.0.iter().all(|&byte| byte == 0), "code 3 and later zero the struct");
}

#[test]
fn the_recorded_scenario_plays_step_by_step() {
    let scenarios = vectors::json("libbloom/scenarios.json");
    let key = |name: &str| scenarios.field("keys_hex").hex(name);
    let (a, b, c) = (key("A"), key("B"), key("C"));
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    // SAFETY: the struct is ours; keys of length 0 and less have no bytes to read.
    let with_len = |call: library::OnKey, bloom: &mut Struct, len| unsafe { call(bloom, null(), len) };
    let (add, check) = (LIBRARY.add, LIBRARY.check);

    let mut x = Struct::filled(0);
    let mut huge = Struct::filled(0);
    let (mut dest, mut src) = (Struct::filled(0), Struct::filled(0));
    let mut before = vec![];
    for step in scenarios.list("v2") {
        let (what, expected) = (step[0].as_str().unwrap(), &step[1]);
        let number = |code: i32| Value::from(code);
        let got = match what {
            "zeroed struct: check" | "check after failed init" | "check after free" => number(x.check(&a)),
            "zeroed struct: add" => number(x.add(&a)),
            "zeroed struct: reset" | "reset" | "reset after free" => number(x.reset()),
            "zeroed struct: free then ready" | "ready after free" | "second free: ready" => {
                x.free();
                number(x.ready().into())
            }
            "init 999" => number(x.init2(999, 0.1)),
            "init 1000 0.1" | "re-init same struct" => number(x.init2(1000, 0.1)),
            "ready" => number(x.ready().into()),
            "check A empty" | "check A" | "check A after reset" => number(x.check(&a)),
            "add A" | "add A again" | "add after re-init" => number(x.add(&a)),
            "add B" => number(x.add(&b)),
            "check B" => number(x.check(&b)),
            "check C" => number(x.check(&c)),
            "add empty key len 0" => number(x.add(b"")),
            "check empty key len 0" => number(x.check(b"")),
            "check NULL len 0" => number(with_len(check, &mut x, 0)),
            "check len -1" | "check len -1 again" => number(with_len(check, &mut x, -1)),
            "add len -1" => number(with_len(add, &mut x, -1)),
            "bf bytes (hex) at this point" => {
                assert_eq!(x.bits_bytes(), from_hex(expected.as_str().unwrap()));
                continue;
            }
            "bits after reset all zero" => number(x.bits_bytes().iter().all(|&byte| byte == 0).into()),
            "entries after free" => number(x.entries() as i32),
            "bits after free" => number(x.bits() as i32),
            "bf nonnull after free" => number((!x.bf().is_null()).into()),
            "version" => Value::from(version()),

            "merge: src zeroed" => {
                dest = Struct::made(1000, 0.1);
                number(dest.merge(&mut src))
            }
            "merge: dest zeroed" => number(src.merge(&mut dest)),
            "merge: entries differ" => number(with_other(&mut dest, |_| {}, 1001, 0.1)),
            "merge: error differs" => number(with_other(&mut dest, |_| {}, 1000, 0.2)),
            "merge: error differs by 1 ulp" => {
                number(with_other(&mut dest, |s| s.0[32] ^= 1, 1000, 0.1)) // the lowest bit of the double
            }
            "merge: major differs" => number(with_other(&mut dest, |s| s.0[41] = 3, 1000, 0.1)),
            "merge: minor differs" => number(with_other(&mut dest, |s| s.0[42] = 1, 1000, 0.1)),
            "merge: bytes differ" => number(with_other(&mut dest, |s| s.0[16] -= 1, 1000, 0.1)),
            "merge: bits and hashes differ only" => {
                let differ = |s: &mut Struct| {
                    s.0[8] -= 1;
                    s.0[24] += 1;
                };
                number(with_other(&mut dest, differ, 1000, 0.1))
            }
            "merge: ok" => {
                src = Struct::made(1000, 0.1);
                assert_eq!((dest.add(&a), src.add(&b)), (0, 0));
                before = src.bits_bytes().to_vec();
                number(dest.merge(&mut src))
            }
            "dest has A" => number(dest.check(&a)),
            "dest has B" => number(dest.check(&b)),
            "src has A" => number(src.check(&a)),
            "src unchanged" => number((src.bits_bytes() == before).into()),
            "merge with itself" => {
                let same: *mut Struct = &mut dest;
                // SAFETY: a filter; both pointers are to the same one, which the library allows.
                number(unsafe { (LIBRARY.merge)(same, same) })
            }

            "save over a longer file" => {
                std::fs::write(path("long"), vec![0x5a; 5000]).unwrap();
                number(dest.save(&path("long")))
            }
            // The original leaves the end of the longer file behind the new one.
            "file size after save over 5000 byte file" => {
                assert_eq!(std::fs::metadata(path("long")).unwrap().len(), 674);
                continue;
            }
            "tail still old bytes" => continue,
            "file size fresh" => {
                assert_eq!(dest.save(&path("fresh")), 0);
                number(std::fs::metadata(path("fresh")).unwrap().len() as i32)
            }
            "mode octal (umask 022)" => {
                assert_eq!(mode_under(0o022, &mut dest, &path("mode22")), 0o644);
                assert_eq!(mode_under(0o000, &mut dest, &path("mode00")), 0o644);
                assert_eq!(mode_under(0o077, &mut dest, &path("mode77")), 0o600);
                Value::from("0o644")
            }
            // SAFETY: a filter; the library must test the name.
            "save NULL" => number(unsafe { (LIBRARY.save)(&mut dest, null()) }),
            // SAFETY: a filter; the library must test the name.
            "save empty" => number(unsafe { (LIBRARY.save)(&mut dest, c"".as_ptr()) }),
            "save bad dir" => number(dest.save(&path("missing").join("file"))),
            "save zeroed struct" => number(Struct::filled(0).save(&path("zeroed"))),
            "size of that file" => number(std::fs::metadata(path("zeroed")).unwrap().len() as i32),
            "load of that file" => number(src.load(&path("zeroed"))),
            "init2 1792500000 0.01 (just over 0x7ffff000 bytes)" => number(huge.init2(1_792_500_000, 0.01)),
            "init2 1792300000 0.01 (just under)" => {
                huge.free();
                number(huge.init2(1_792_300_000, 0.01))
            }
            "its bytes" => Value::from(huge.bytes()),
            // The original writes each part with one call, which takes no more than 0x7ffff000 bytes.
            "save to /dev/null" => {
                assert_eq!(huge.save(Path::new("/dev/null")), 0);
                continue;
            }
            "init 1000 0.99999 then add: init rv, process exit (negative = signal)" => {
                let mut bloom = Struct::made(1000, 0.99999);
                assert_eq!((bloom.bits(), bloom.add(&a), bloom.check(&a)), (0, -1, -1));
                bloom.free();
                continue;
            }
            other => panic!("{other}"),
        };
        assert_eq!(got, *expected, "{what}");
    }
    for bloom in [&mut x, &mut huge, &mut dest] {
        bloom.free();
    }
}

/// Merges a filter made like this, and then changed, into `dest`.
fn with_other(dest: &mut Struct, change: impl FnOnce(&mut Struct), entries: u32, error: f64) -> i32 {
    let mut other = Struct::made(entries, error);
    change(&mut other);
    let code = dest.merge(&mut other);
    other.free();
    code
}

/// The mode of a file that is saved under this umask. Set in a process of its own: it is the same for all
/// threads.
fn mode_under(umask: libc::mode_t, bloom: &mut Struct, path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    let name = c_path(path);
    // SAFETY: the child sets its mask, saves and ends without returning; the parent waits for it.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::umask(umask);
            libc::_exit((LIBRARY.save)(bloom, name.as_ptr()));
        }
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        assert_eq!(status, 0);
    }
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
