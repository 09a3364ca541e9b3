//! `-f NAME`: the key is the column that the header line names, whatever its number is in that file.

use crate::common::{Dir, run};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// Quoted names, quotes inside them, CR LF, and keys with delimiters.
const TABLE: &[u8] = b"\"id\",\"the \"\"user\"\"\",day\r\n1,\"a, \"\"b\"\"\",mon\r\n2,plain,tue\r\n";
/// The same keys under the same name in another place, without the quotes that are not needed.
const OTHER: &[u8] = b"day,id,\"the \"\"user\"\"\"\r\nmon,7,\"a, \"\"b\"\"\"\r\ntue,8,plain\r\n";

const PART: [&str; 4] = ["--csv", "--crlf", "-f", "the \"user\""];

#[test]
fn every_command_takes_a_column_by_its_name_and_the_header_line_is_no_key() {
    let dir = Dir::new();
    let (table, other) = (dir.file("table.csv", TABLE), dir.file("other.csv", OTHER));
    for kind in
        [&["--expected-keys", "10"][..], &[], &["--compact"], &["--deletable"], &["--dialect", "guava"]]
    {
        let filter = dir.arg("f.bloom");
        let build = ["build", "--json", "--force", "--fpr", "1e-6", "-o", &filter, &table];
        let built = run(&[&build, &PART[..], kind].concat(), b"").exits(0).json();
        assert_eq!(built["keys"], 2, "{kind:?}: the header line was inserted");
        let with = |command: &[&str], input: &[u8]| run(&[command, &PART].concat(), input);
        for (file, bytes) in [(&table, TABLE), (&other, OTHER)] {
            for (files, input) in [(&[file.as_str()][..], &b""[..]), (&[], bytes), (&["-"], bytes)] {
                let found = with(&[&["check", &filter], files].concat(), input).exits(0).text().to_owned();
                assert_eq!(found.lines().count(), 2, "{kind:?}: {found}");
                assert!(!found.contains("user"), "the header line was looked up");
            }
        }
        with(&["verify", &filter, "--keys", &other], b"").exits(0);
        let which = with(&["which", &filter, "--keys", "-", "--json"], OTHER).exits(0).json();
        assert_eq!(which["keys"].as_array().map(Vec::len), Some(2), "{which}");
        let keys = run(&["check", "-c", "-f", "0", &filter], b"a, \"b\"\nplain\nthe \"user\"\n").exits(0);
        assert_eq!(keys.text(), "2\n", "{kind:?}");
        if kind != ["--dialect", "guava"] {
            // The format has no place for a name.
            run(&["check", &filter], b"plain\n").fails_with("-f 2 --csv");
        }
        if kind == ["--deletable"] {
            let more = b"the \"user\",id\r\nnew,2\r\n";
            with(&["insert", "-q", &filter], more).exits(0);
            run(&["check", &filter, "-e", "new"], b"").exits(0);
            with(&["remove", "-q", &filter], more).exits(0);
            run(&["check", &filter, "-e", "new"], b"").exits(1);
        }
    }
}

#[test]
fn unique_reads_the_header_line_of_each_file() {
    let dir = Dir::new();
    let (state, one, two) =
        (dir.arg("s"), dir.file("1.tsv", "k\tv\na\t1\nb\t2\n"), dir.file("2.tsv", "v\tk\n9\ta\n8\tc"));
    let unique = ["unique", "--state", &state, "-f", "k"];
    assert_eq!(run(&[&unique[..], &[&one, &two]].concat(), b"").exits(0).text(), "a\t1\nb\t2\n8\tc\n");
    assert_eq!(run(&unique, b"x\ty\tk\n1\t2\tc\n3\t4\td\n").exits(0).text(), "3\t4\td\n");
    run(&["unique", "--state", &state], b"a\t1\n").fails_with("-f 1 takes the same field");
}

#[test]
fn a_packed_stream_of_many_blocks_is_read_once() {
    let dir = Dir::new();
    let table: String = (0..200_000).map(|i| format!("row {i},key {i}\n")).collect();
    let table = format!("\u{feff}# exported\n\nrow,key\n{table}");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(table.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let part = ["--csv", "-f", "key", "--skip-comments"];
    let mut built = Vec::new();
    for (file, input) in [
        (dir.file("t.gz", &gzip), &b""[..]),
        (dir.file("t.csv", &table), b""),
        ("-".into(), &gzip),
        ("-".into(), table.as_bytes()),
    ] {
        // The keys of another dialect are counted before they are inserted: a stream is kept.
        for dialect in ["native", "guava"] {
            let out = run(&[&["build", "--dialect", dialect, "-o", "-", &file][..], &part].concat(), input)
                .exits(0);
            built.push((dialect, out.out));
        }
    }
    for pair in built.chunks(2) {
        assert!(pair == &built[..2], "the filter depends on how the keys came");
    }
    let filter = dir.file("f", &built[0].1);
    assert_eq!(run(&["check", "-c", "-f", "0", &filter], b"key 0\nkey 199999\nkey\n").exits(0).text(), "2\n");
}

#[test]
fn a_column_that_is_not_there_is_an_error_that_names_the_columns() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    let build = |part: &[&str], input: &[u8]| run(&[&["build", "-o", &filter][..], part].concat(), input);
    let missing = build(&["--csv", "-f", "name"], b"id,Name,\"a \"\"b\"\"\"\n1,x,y\n").exits(2);
    assert!(missing.err.contains(r#"the columns "id", "Name", "a \"b\"""#), "{missing:?}");
    build(&["-f", "name"], b"id,name\n1,x\n").fails_with("hint: --csv");
    build(&["--csv", "-f", "name"], b"id,name\r\n1,x\r\n").fails_with("hint: --crlf");
    build(&["--csv", "-f", "name"], b"name,name\n1,x\n").fails_with("columns 1 and 2");
    build(&["--csv", "-f", "name"], b"\"name\n1,x\n").fails_with("a quoted field does not end");
    for empty in [&b""[..], b"# nothing\n"] {
        build(&["--csv", "-f", "name", "--skip-comments"], empty).fails_with("is empty: no header line");
    }
    assert!(!dir.path("f.bloom").exists());
    // A header line alone is a table without keys.
    assert_eq!(build(&["--csv", "-f", "name", "--json"], b"id,name").exits(0).json()["keys"], 0);
    run(&["check", &filter, "-e", "x", "--csv", "-f", "name"], b"").fails_with("-e");
    // Lines are numbered as an editor does.
    run(&["check", &filter, "--csv", "-f", "name"], b"id,name\n1,x\n2\n")
        .fails_with("line 3, it has 1 field");
    let (good, bad) = (dir.file("good", "name\nx\n"), dir.file("bad", "id,name\n1,x\n\n"));
    run(&["check", &filter, "--csv", "-f", "name", &good, &bad], b"").fails_with("line 3, it has 1 field");
    run(&["verify", &filter, "--keys", &bad, "--csv", "-f", "name"], b"")
        .fails_with("line 3, it has 1 field");
}

#[test]
fn a_name_that_is_another_field_in_each_file_is_recorded_as_in_the_first() {
    let dir = Dir::new();
    let (table, other, filter) = (dir.file("t.csv", TABLE), dir.file("o.csv", OTHER), dir.arg("f.bloom"));
    run(&[&["build", "-q", "-o", &filter, &table, &other], &PART[..]].concat(), b"").exits(0);
    let found = run(&["inspect", "--json", &filter], b"").exits(0).json();
    assert_eq!(found["places"][0]["key_field"]["number"], 2);
    // Whole lines are refused, not answered "no".
    run(&["check", &filter, &other], b"").fails_with("-f 2 --csv");
}
