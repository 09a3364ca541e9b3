//! Key files that are not plain lines of UTF-8: unpacked, refused, or warned of, and never taken for keys.

use crate::common::{Dir, run};

const KEYS: &[u8] = b"apple\npear\n";
const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x0a\x61\x70\x70\x6c\x65\x0a\x70\x65\x61\x72\x0a\x00\x00\xaf\xa0\xd8\x83\x4a\x4c\x4b\xb4\x00\x01\x23\x0b\xc2\x1b\xfd\x09\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
const BZIP2: &[u8] = b"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xbd\xbd\x69\x7e\x00\x00\x01\x41\x80\x00\x10\x22\x04\x50\x00\x20\x00\x30\xc0\x06\x9a\x66\x84\xf7\x45\x18\xb0\xbb\x92\x29\xc2\x84\x85\xed\xeb\x4b\xf0";

#[test]
fn xz_and_bzip2_are_unpacked_like_gzip() {
    let dir = Dir::new();
    let plain = run(&["build", "-o", "-"], KEYS).exits(0).out;
    for packed in [XZ, BZIP2] {
        let file = dir.file("keys", packed);
        assert_eq!(run(&["build", "-o", "-", &file], b"").exits(0).out, plain, "as a file");
        assert_eq!(run(&["build", "-o", "-"], packed).exits(0).out, plain, "as a stream");
        let twice = [packed, packed].concat();
        assert_eq!(run(&["unique", "-c"], &twice).exits(0).text(), "2\n", "two streams, one after the other");
        run(&["build", "-o", &dir.arg("f")], &packed[..packed.len() - 6]).fails_with("cannot read keys");
        let mut damaged = packed.to_vec();
        damaged[packed.len() / 2] ^= 0x40;
        run(&["build", "-o", &dir.arg("f")], &damaged).fails_with("cannot read keys");
        assert!(!dir.path("f").exists());
    }
}

#[test]
fn what_is_no_list_of_keys_is_refused_with_a_hint() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    run(&["build", "--expected-keys", "100", "-o", &filter], KEYS).exits(0);
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("apple\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let files: [(&[u8], &str, &str); 4] = [
        (b"PK\x03\x04\x14\0rest", "a zip archive", "unzip"),
        (&utf16, "text in UTF-16", "iconv"),
        (&dir.read("f.bloom"), "a filter of fullbloom", "inspect"),
        (b"7z\xbc\xaf\x27\x1crest", "a 7z archive", "7z"),
    ];
    for (bytes, what, hint) in files {
        for args in
            [&["build", "-o", &dir.arg("new")][..], &["check", &filter], &["unique"], &["insert", &filter]]
        {
            let refused = run(args, bytes).fails_with(what);
            assert!(refused.err.contains(hint) && refused.err.contains("--null"), "{refused:?}");
        }
        run(&["build", "--null", "-o", &dir.arg("new")], bytes).exits(0);
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_key() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    let marked = [b"\xef\xbb\xbf", KEYS].concat();
    for file in [Some(dir.file("keys", &marked)), None] {
        let mut args = vec!["build".to_owned(), "-o".to_owned(), filter.clone()];
        args.extend(file.clone());
        let built = run(&args, if file.is_some() { b"" } else { &marked }).exits(0);
        assert_eq!(built.err.matches("byte-order mark").count(), 1, "{built:?}");
        assert_eq!(run(&["check", &filter], KEYS).exits(0).out, KEYS);
        assert_eq!(run(&["check", &filter], &marked).exits(0).out, KEYS);
    }
}

#[test]
fn text_that_is_not_utf_8_gives_one_warning() {
    let bytes = b"caf\xe9\nth\xe9\n";
    let done = run(&["unique"], bytes).exits(0);
    assert_eq!((done.err.matches("warning:").count(), done.out.as_slice()), (1, &bytes[..]), "{done:?}");
    assert!(done.err.contains("not UTF-8"), "{done:?}");
    assert_eq!(run(&["unique", "-0", "-c"], bytes).exits(0).err, "");
    let done = run(&["unique"], "café\nthé\n".as_bytes()).exits(0);
    assert_eq!(done.err, "");
}

#[test]
fn binary_data_is_no_list_of_keys_unless_an_option_says_so() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    run(&["build", "-q", "--expected-keys", "100", "-o", &filter], KEYS).exits(0);
    let elf = std::fs::read(env!("CARGO_BIN_EXE_fullbloom")).unwrap();
    let utf16: Vec<u8> = "apple\npear\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut tar = vec![0; 1024];
    tar[..8].copy_from_slice(b"keys.txt");
    tar[257..262].copy_from_slice(b"ustar");
    for (bytes, what) in [
        (&elf[..100_000], "binary data"),
        (&utf16, "binary data"),
        (&tar, "a tar archive"),
        (b"a\0b\n", "binary"),
    ] {
        let file = dir.file("keys", bytes);
        let refused = run(&["build", "-o", &dir.arg("new"), &file], b"").fails_with(what);
        assert!(refused.err.contains("--binary") && refused.err.contains("--null"), "{refused:?}");
        assert!(!dir.path("new").exists());
        for args in
            [&["check", &filter][..], &["unique"], &["insert", &filter], &["verify", &filter, "--keys", "-"]]
        {
            assert!(run(args, bytes).exits(2).err.contains(what), "{args:?}");
            let done = run(&[args, &["--binary"]].concat(), bytes);
            assert!(done.code < 2 && !done.err.contains("UTF-8"), "{done:?}");
            assert!(run(&[args, &["--null"]].concat(), bytes).code < 2);
        }
        run(&["unique", "--hex"], bytes).fails_with("");
    }
}

#[test]
fn filters_and_tables_of_every_system_are_no_lists_of_keys() {
    let dir = Dir::new();
    let dialects =
        ["cassandra", "guava", "guava-32", "spark", "spark-2", "orc", "dcso", "poppy", "rocksdb", "parquet"];
    for dialect in dialects {
        let name = if dialect == "cassandra" { "nb-1-big-Filter.db" } else { "f" };
        let file = dir.arg(name);
        run(&["build", "-q", "--force", "--dialect", dialect, "-o", &file], KEYS).exits(0);
        let refused = run(&["unique", &file], b"").fails_with("not lines of keys");
        let named = ["a filter", "a component of an sstable"].iter().any(|what| refused.err.contains(what));
        assert!(named, "{dialect}: {refused:?}");
        run(&["unique"], &dir.read(name)).fails_with("not lines of keys");
    }
    let table = dir.arg("000001.ldb");
    run(&["table", "build", "-o", &table], b"a\t1\nb\t2\n").exits(0);
    run(&["unique", &table], b"").fails_with("a table");
}
