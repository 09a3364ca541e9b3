//! How keys are read: lines, hex, zero bytes, gzip, zstd, files, pipes, and where they end.

use crate::common::{self, Dir, finish, leveldb_filter, lines, run};
use std::fs::File;
use std::io::Write;

/// The answers of `check --answers` as one word, e.g. `1101`.
#[track_caller]
fn answers(filter: &str, more: &[&str], stdin: &[u8]) -> String {
    let mut args = vec!["check", filter, "--dialect", "leveldb", "--answers"];
    args.extend(more);
    run(&args, stdin).text().replace('\n', "")
}

/// The bytes of the `leveldb` filter that `build` makes of this input.
#[track_caller]
fn built(more: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut args = vec!["build", "--dialect", "leveldb", "--bits-per-key", "16", "-o", "-"];
    args.extend(more);
    run(&args, stdin).exits(0).out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[test]
fn the_newline_is_not_part_of_the_key_and_the_carriage_return_is() {
    let dir = Dir::new();
    let filter = leveldb_filter(&dir, "f", &["plain", "dos\r"]);
    assert_eq!(answers(&filter, &[], b"plain\nplain\r\ndos\r\ndos\n"), "1010");
}

#[test]
fn an_empty_line_is_the_empty_key_and_an_empty_input_has_none() {
    let dir = Dir::new();
    let with = leveldb_filter(&dir, "with", &["a", ""]);
    let without = leveldb_filter(&dir, "without", &["a"]);
    assert_eq!(answers(&with, &[], b"\na\n"), "11");
    assert_eq!(answers(&without, &[], b"\na\n"), "01");
    assert_eq!(answers(&with, &[], b""), "");
    assert_eq!(built(&[], b"").len(), 9, "no key at all: the smallest filter");
}

#[test]
fn a_last_line_without_newline_is_a_key() {
    let dir = Dir::new();
    let filter = leveldb_filter(&dir, "f", &["a", "b"]);
    assert_eq!(answers(&filter, &[], b"a\nb"), "11");
    assert_eq!(built(&[], b"a\nb"), built(&[], b"a\nb\n"));
}

#[test]
fn files_are_read_in_order_and_do_not_run_into_each_other() {
    let dir = Dir::new();
    let (one, two) = (dir.file("one", "a\nb"), dir.file("two", "c\n"));
    assert_eq!(built(&[&one, &two], b""), built(&[], b"a\nb\nc\n"));
    assert_eq!(built(&[&one, "-"], b"c"), built(&[], b"a\nb\nc\n"));
    let filter = leveldb_filter(&dir, "f", &["c", "bc"]);
    assert_eq!(answers(&filter, &[&two, "-", &one], b"bc"), "1100");
}

#[test]
fn zero_bytes_end_keys_that_hold_newlines() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let args = ["build", "--dialect", "leveldb", "--null", "-q", "-o", &filter];
    run(&args, b"two\nlines\0plain\0").exits(0);
    let out = run(&["check", &filter, "--dialect", "leveldb", "-0"], b"plain\0two\0two\nlines").exits(0);
    assert_eq!(out.out, b"plain\0two\nlines\0", "printed keys end as they came");
}

#[test]
fn hex_keys_are_bytes_and_are_printed_as_they_came() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let args = ["build", "--dialect", "leveldb", "--hex", "-q", "-o", &filter];
    run(&args, b"0d0a\nFFfe\n\n").exits(0);
    assert_eq!(answers(&filter, &["--null"], b"\r\n\0\n\r\0\xff\xfe\0\0"), "1011");
    let out = run(&["check", &filter, "--dialect", "leveldb", "--hex"], b"0D0a\nfffe\n00\n\n").exits(0);
    assert_eq!(out.text(), "0D0a\nfffe\n\n");
}

#[test]
fn a_hex_error_names_file_line_and_column() {
    let dir = Dir::new();
    let filter = leveldb_filter(&dir, "f", &["a"]);
    let bad = dir.file("bad.hex", "00\n0g\n");
    let args = ["check", &filter, "--dialect", "leveldb", "--hex", &bad];
    run(&args, b"").fails_with("bad.hex: line 2, column 2: 'g'");
    let odd = "abcd\n".repeat(5001) + "abc\n";
    run(&["check", &filter, "--dialect", "leveldb", "--hex", "-c"], odd.as_bytes())
        .fails_with("standard input: line 5002, 3 hex");
    let dos = run(&["check", &filter, "--dialect", "leveldb", "--hex"], b"00\r\n").fails_with("line 1");
    assert!(dos.err.contains("hint: --crlf"), "{dos:?}");
}

#[test]
fn a_hex_error_while_building_leaves_no_filter() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    run(&["build", "--dialect", "leveldb", "--hex", "-o", &filter], b"00\nzz\n").fails_with("line 2");
    assert!(dir.names().is_empty());
}

#[test]
fn gzip_and_zstd_are_recognised_by_content() {
    let dir = Dir::new();
    let text = lines(50_000);
    let plain = built(&[], text.as_bytes());
    let (first, second) = text.split_at(text.len() / 3); // in the middle of a line
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let frames = [zstd(first.as_bytes()), zstd(second.as_bytes())].concat();
    for packed in [gzip(text.as_bytes()), members, zstd(text.as_bytes()), frames] {
        assert_eq!(built(&[], &packed), plain, "from a pipe");
        let file = dir.file("keys.txt", &packed); // the name says nothing
        assert_eq!(built(&[&file], b""), plain, "from a file");
        assert_eq!(built(&["--expected-keys", "50000", &file], b""), plain, "read once");
    }
    assert_eq!(built(&[], &gzip(b"")), built(&[], b""));
}

#[test]
fn a_skippable_frame_may_come_first() {
    let mut packed = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    packed.extend(zstd(b"key\n"));
    assert_eq!(built(&[], &packed), built(&[], b"key\n"));
}

#[test]
fn damaged_compression_is_an_error_not_an_end() {
    let text = lines(20_000);
    let dir = Dir::new();
    for packed in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let cut = dir.file("cut", &packed[..packed.len() - 9]);
        run(&["build", "--dialect", "leveldb", "-o", &dir.arg("f"), &cut], b"")
            .fails_with("cut: cannot read keys");
    }
    let mut flipped = gzip(text.as_bytes());
    let checksum = flipped.len() - 6;
    flipped[checksum] ^= 1;
    run(&["build", "--dialect", "leveldb", "-o", &dir.arg("f")], &flipped)
        .fails_with("standard input: cannot read");
    assert_eq!(dir.names(), ["cut"]);
}

#[test]
fn keys_that_only_look_like_a_compressed_file_are_keys() {
    let dir = Dir::new();
    let filter = leveldb_filter(&dir, "f", &["a"]);
    for text in [&b"\x1f\x8b\n"[..], b"\x1f\x8b\x08", b"\x28\xb5\x2f\n", b"\x1f"] {
        assert_eq!(
            run(&["check", &filter, "--dialect", "leveldb", "--binary", "-vc"], text).exits(0).text(),
            "1\n"
        );
    }
}

#[test]
fn keys_longer_than_any_buffer_are_keys() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let long = "x".repeat(3_000_000);
    let text = format!("short\n{long}\nafter\n{long}y");
    run(&["build", "--dialect", "leveldb", "-q", "-o", &filter], text.as_bytes()).exits(0);
    let asked = format!("{long}\nshort\n{long}y\n{long}z\n");
    let out = run(&["check", &filter, "--dialect", "leveldb"], asked.as_bytes()).exits(0);
    assert_eq!(out.text(), format!("{long}\nshort\n{long}y\n"));
}

#[test]
fn counting_first_gives_the_same_filter_from_a_file_a_redirection_and_a_pipe() {
    let dir = Dir::new();
    let text = lines(300_000);
    let file = dir.file("keys", &text);
    let args = ["build", "--dialect", "leveldb", "--bits-per-key", "16", "-o", "-"];
    let mut redirected = common::command(&args);
    redirected.stdin(File::open(&file).unwrap());
    let from_file = built(&[&file], b"");
    assert_eq!(from_file.len(), 300_000 * 16 / 8 + 1);
    assert_eq!(finish(redirected, b"").exits(0).out, from_file);
    assert_eq!(built(&[], text.as_bytes()), from_file);
    assert_eq!(built(&["--expected-keys", "300k"], text.as_bytes()), from_file);
}

#[cfg(unix)]
#[test]
fn a_redirection_begins_where_the_file_stands() {
    use std::io::{Seek, SeekFrom};
    let dir = Dir::new();
    let mut file = File::open(dir.file("keys", "skipped\na\nb\n")).unwrap();
    file.seek(SeekFrom::Start(8)).unwrap();
    let mut command = common::command(&["build", "--dialect", "leveldb", "--bits-per-key", "16", "-o", "-"]);
    command.stdin(file);
    assert_eq!(finish(command, b"").exits(0).out, built(&[], b"a\nb\n"));
}

#[test]
fn a_pipe_too_large_for_memory_goes_to_a_temporary_file_that_is_gone_afterwards() {
    let dir = Dir::new();
    let spool = dir.path("spool");
    std::fs::create_dir(&spool).unwrap();
    let line = "k".repeat(1 << 20) + "\n";
    let text = line.repeat(70); // 70 MiB
    let args = ["build", "--dialect", "leveldb", "-q", "--force", "-o", &dir.arg("f")];
    let mut command = common::command(&args);
    command.env("TMPDIR", &spool);
    finish(command, text.as_bytes()).exits(0);
    assert!(common::list(&spool).is_empty());

    let mut nowhere = common::command(&args);
    nowhere.env("TMPDIR", dir.path("missing"));
    let failed = finish(nowhere, text.as_bytes()).fails_with("cannot keep the keys");
    assert!(failed.err.contains("hint: give --expected-keys"), "{failed:?}");
}

#[test]
fn lines_that_end_as_on_windows_are_told_once_and_taken_as_they_are() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let crlf = dir.file("crlf", "a\r\nb\r\n");
    let out = run(&["build", "-q", "-o", &filter, &crlf], b"").exits(0);
    assert_eq!(out.err.matches("carriage return").count(), 1, "{out:?}");
    assert!(out.err.contains("crlf: lines end with") && out.err.contains("hint: --crlf"), "{out:?}");
    let out = run(&["check", &filter], b"a\r\nc\r\n").exits(0);
    assert!(out.text() == "a\r\n" && out.err.contains("carriage return"), "{out:?}");
    let out = run(&["unique"], b"a\r\nb\r\n").exits(0);
    assert!(out.err.contains("carriage return"), "{out:?}");
    for quiet in [&b"a\r\nb\nc\r\n"[..], b"a\n", b""] {
        let out = run(&["build", "-q", "-o", &filter], quiet).exits(0);
        assert!(out.err.is_empty(), "{out:?}");
    }
    assert!(run(&["build", "-q", "--null", "-o", &filter], b"a\r\0").exits(0).err.is_empty());
}
