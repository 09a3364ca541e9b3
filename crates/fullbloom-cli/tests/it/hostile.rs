//! Files made to exhaust memory or time, a system without threads, closed outputs and places that may not be
//! read.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // setrlimit

use crate::common::{Dir, Outcome, command, finish, lines, run};
use crate::limits::run_small;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

#[test]
fn a_small_gzip_file_of_a_large_filter_is_refused_in_little_memory() {
    let dir = Dir::new();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"x").unwrap();
    io::copy(&mut io::repeat(0).take(400 << 20), &mut gzip).unwrap();
    let bomb = dir.file("bomb.bloom", gzip.finish().unwrap());
    for args in [&["check", &bomb][..], &["inspect", &bomb], &["merge", &bomb, &bomb, "-o", &dir.arg("out")]]
    {
        let refused = run_small(args, b"a\n").exits(2);
        assert!(refused.err.contains("gunzip"), "{args:?}: {refused:?}");
    }
}

#[test]
fn a_small_parquet_file_with_a_large_page_is_refused_in_little_memory() {
    let dir = Dir::new();
    let schema = Arc::new(parse_message_type("message m { REQUIRED BYTE_ARRAY v; }").unwrap());
    let properties = WriterProperties::builder()
        .set_compression(Codec::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_bloom_filter_enabled(true)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    let file = File::create(dir.path("bomb.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    let values = [ByteArray::from(vec![0; 100 << 20])];
    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    assert!(fs::metadata(dir.path("bomb.parquet")).unwrap().len() < 100_000);
    let refused = run_small(&["verify", &dir.arg("bomb.parquet")], b"");
    assert!((1..=2).contains(&refused.code) && !refused.err.contains("panicked"), "{refused:?}");
    let said = format!("{}{}", refused.err, refused.text());
    assert!(said.contains("pages of at most"), "{refused:?}");
}

#[test]
fn a_table_with_a_long_key_is_verified_in_a_moment() {
    let dir = Dir::new();
    let table = dir.arg("long.sst");
    let keys = ["a".repeat(10 << 20), "b".repeat(10 << 20), "c".to_owned()].join("\n");
    run(&["table", "build", "-o", &table], keys.as_bytes()).exits(0);
    run(&["verify", &table], b"").exits(0); // would take minutes, and fail, if absent keys were as long
}

#[test]
fn a_table_that_does_not_fit_into_memory_leaves_nothing_behind() {
    let dir = Dir::new();
    let key = vec![b'a'; 90 << 20];
    let refused = run_small(&["table", "build", "-o", &dir.arg("t.sst")], &key);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.starts_with("error: ") && !refused.err.contains("panicked"), "{refused:?}");
    assert_eq!(dir.names(), Vec::<String>::new());
}

/// Runs the command as somebody who may start no further thread, and for whom permissions count. Only root
/// can become somebody else; others are limited themselves. `None` if nobody else can run the command.
fn run_limited(dir: &Dir, args: &[&str], stdin: &[u8], threads: bool) -> Option<Outcome> {
    let is_root = fs::metadata(dir.path("")).unwrap().uid() == 0;
    let mut command = command(args);
    if is_root {
        let copy = dir.path("fullbloom");
        if !copy.exists() {
            assert!(
                Command::new("cp")
                    .arg(env!("CARGO_BIN_EXE_fullbloom"))
                    .arg(&copy)
                    .status()
                    .unwrap()
                    .success()
            );
            fs::set_permissions(dir.path(""), Permissions::from_mode(0o777)).unwrap();
        }
        command = Command::new(copy);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.uid(65534).gid(65534);
    }
    let set = move || {
        let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        // SAFETY: the struct outlives the call, which is safe between fork and exec.
        match threads || unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) } == 0 {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(set) };
    if is_root && command.spawn().map(|mut child| child.wait()).is_err() {
        eprintln!("not run: nobody else can run the command here");
        return None;
    }
    Some(finish(command, stdin))
}

#[test]
fn without_threads_every_command_works_on_one() {
    let dir = Dir::new();
    let keys = dir.file("keys", lines(50_000));
    let (filter, table) = (dir.arg("f.bloom"), dir.arg("t.sst"));
    let plain = run(&["build", "-q", "-o", "-", &keys], b"").exits(0).out;
    let sorted = dir.file("sorted", (0..5000).map(|i| format!("{i:06}\n")).collect::<String>());
    for args in [
        &["build", "-q", "-o", &filter, &keys][..],
        &["check", "-q", &filter, &keys],
        &["unique", "-c", &keys],
        &["table", "build", "-o", &table, &sorted],
        &["verify", &table],
        &["inspect", &table],
        &["rebuild", "--dry-run", "--bits-per-key", "12", "-o", &dir.arg("other"), &table],
        &["merge", &filter, &filter, "-o", &dir.arg("m.bloom")],
    ] {
        let Some(done) = run_limited(&dir, args, b"", false) else { return };
        assert_eq!(done.code, 0, "{args:?}: {done:?}");
        assert!(!done.err.contains("panicked"), "{args:?}: {done:?}");
    }
    assert_eq!(dir.read("f.bloom"), plain);
}

#[test]
fn a_closed_standard_output_is_an_error_and_no_key_counts_as_seen() {
    let dir = Dir::new();
    let (filter, keys, state) = (dir.arg("f.bloom"), dir.file("keys", lines(100)), dir.arg("state"));
    run(&["build", "-q", "-o", &filter, &keys], b"").exits(0);
    for args in [
        &["unique", "--state", &state, &keys][..],
        &["unique", "-c", "--state", &state, &keys],
        &["check", &filter, &keys],
        &["inspect", &filter],
        &["build", "-o", "-", &keys],
        &["plan", "--expected-keys", "1000", "--fpr", "0.01"],
    ] {
        let mut command = command(args);
        // SAFETY: close is safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::close(libc::STDOUT_FILENO);
                Ok(())
            });
        }
        finish(command, b"").fails_with("standard output");
        assert!(!dir.path("state").exists(), "{args:?}");
    }
}

#[test]
fn what_may_not_be_read_is_never_left_out_in_silence() {
    let dir = Dir::new();
    for name in ["open", "closed"] {
        let place = dir.path(&format!("data/ks/{name}"));
        fs::create_dir_all(&place).unwrap();
        run(
            &[
                "build",
                "-q",
                "--dialect",
                "cassandra",
                "-o",
                place.join("nb-1-big-Filter.db").to_str().unwrap(),
            ],
            b"a\n",
        )
        .exits(0);
    }
    for name in ["data", "data/ks", "data/ks/open"] {
        fs::set_permissions(dir.path(name), Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(dir.path("data/ks/closed"), Permissions::from_mode(0o000)).unwrap();
    let data = dir.arg("data");
    for args in [
        &["inspect", &data][..],
        &["verify", &data],
        &["plan", "--from", &data],
        &["which", "-e", "a", &data],
    ] {
        let Some(done) = run_limited(&dir, args, b"", true) else { return };
        assert_eq!(done.code, 2, "{args:?}: {done:?}");
        assert!(done.err.contains("ks/closed") && done.err.contains("ermission"), "{args:?}: {done:?}");
    }
    fs::set_permissions(dir.path("data/ks/closed"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_nobody_may_write_is_replaced_by_force_only() {
    let dir = Dir::new();
    let (filter, keys) = (dir.arg("f.bloom"), dir.file("keys", lines(100)));
    run(&["build", "-q", "--expected-keys", "1000", "-o", &filter, &keys], b"").exits(0);
    let mode = || fs::metadata(dir.path("f.bloom")).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(dir.path("f.bloom"), Permissions::from_mode(0o444)).unwrap();
    let before = dir.read("f.bloom");
    for args in [
        &["build", "-q", "-o", &filter, &keys][..],
        &["insert", "-q", &filter],
        &["unique", "--state", &filter],
        &["merge", &filter, &filter, "-o", &filter],
    ] {
        run(args, b"new\n").fails_with("read-only");
        assert_eq!(dir.read("f.bloom"), before, "{args:?}");
    }
    run(&["insert", "-q", "--force", &filter], b"new\n").exits(0);
    assert_eq!(mode(), 0o444);
    run(&["check", "-q", &filter], b"new\n").exits(0);
}

/// Two members of a group change a file in turn. Only root can be both of them.
#[test]
fn a_member_of_a_group_does_not_lock_out_the_others() {
    let dir = Dir::new();
    if fs::metadata(dir.path("")).unwrap().uid() != 0 {
        eprintln!("not run: only root can become somebody else");
        return;
    }
    let (filter, group) = (dir.arg("f.bloom"), 4321);
    run(&["build", "-q", "--expected-keys", "1000", "-o", &filter], b"a\n").exits(0);
    std::os::unix::fs::chown(dir.path("f.bloom"), Some(65533), Some(group)).unwrap();
    fs::set_permissions(dir.path("f.bloom"), Permissions::from_mode(0o664)).unwrap();
    fs::set_permissions(dir.path(""), Permissions::from_mode(0o777)).unwrap();
    let copy = dir.path("fullbloom");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_fullbloom")).arg(&copy).status().unwrap().success());
    for (user, key) in [(65534, b"b\n"), (65533, b"c\n")] {
        let mut command = Command::new(&copy);
        command.args(["insert", "-q", &filter]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let become_member = move || {
            // SAFETY: the array outlives the call; all three are safe between fork and exec.
            let done = unsafe {
                libc::setgroups(1, [group].as_ptr()) == 0
                    && libc::setgid(65534) == 0
                    && libc::setuid(user) == 0
            };
            if done { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: see above.
        unsafe { command.pre_exec(become_member) };
        let done = finish(command, key);
        assert_eq!(done.code, 0, "{done:?}");
        let meta = fs::metadata(dir.path("f.bloom")).unwrap();
        assert_eq!((meta.uid(), meta.gid(), meta.permissions().mode() & 0o777), (user, group, 0o664));
    }
    assert_eq!(run(&["check", "-c", &filter], b"a\nb\nc\n").exits(0).text(), "3\n");
}
