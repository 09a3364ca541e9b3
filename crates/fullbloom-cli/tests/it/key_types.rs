//! A native filter knows the type of its keys, and refuses lookups with keys of another type.

use crate::common::{Dir, run};
use fullbloom_testkit::to_hex;
use fullbloom_testkit::vectors;

const NUMBERS: &[u8] = b"7\n-8\n9\n";

#[test]
fn a_filter_of_numbers_is_not_asked_as_text() {
    let dir = Dir::new();
    let filter = dir.arg("ids.bloom");
    run(&["build", "--key-type", "long", "-o", &filter], NUMBERS).exits(0);
    let inspected = run(&["inspect", &filter, "--json"], b"").exits(0).json();
    assert_eq!(inspected["places"][0]["key_type"], "long");
    assert!(run(&["inspect", &filter], b"").exits(0).text().contains("key type"));

    let message = "of type long";
    for asked in [
        &["check", &filter][..],
        &["check", "--map", &filter],
        &["check", "--hex", &filter],
        &["check", &filter, "-e", "7"],
        &["which", "-e", "7", &filter],
        &["verify", &filter, "--keys", "-"],
        &["insert", &filter],
        &["unique", "--state", &filter],
    ] {
        let refused = run(asked, NUMBERS).exits(2);
        assert!(refused.err.contains(message), "{asked:?}: {refused:?}");
        assert!(refused.err.contains("--key-type long"), "{asked:?}: {refused:?}");
    }
    for key_type in ["long", "int"] {
        let found = run(&["check", "--key-type", key_type, &filter], b"7\n70\n").exits(0);
        assert_eq!(found.text(), "7\n");
        run(&["insert", "--key-type", key_type, &filter], b"7\n").exits(0);
        run(&["verify", &filter, "--key-type", key_type, "--keys", "-"], NUMBERS).exits(0);
    }
}

#[test]
fn a_filter_of_text_is_not_asked_for_numbers() {
    let dir = Dir::new();
    let filter = dir.arg("names.bloom");
    run(&["build", "-o", &filter], NUMBERS).exits(0);
    let refused = run(&["check", "--key-type", "long", &filter], NUMBERS).fails_with("of type bytes");
    assert!(refused.err.contains("leave out --key-type"), "{refused:?}");
    assert_eq!(run(&["check", "--key-type", "text", &filter], NUMBERS).exits(0).out, NUMBERS);
    run(&["build", "--key-type", "text", "-o", &filter], NUMBERS).exits(0);
    assert_eq!(run(&["check", &filter], NUMBERS).exits(0).out, NUMBERS);
    assert_eq!(run(&["check", "--hex", &filter], b"37\n").exits(0).out, b"37\n");
}

#[test]
fn every_form_and_a_new_state_record_the_type() {
    let dir = Dir::new();
    let (state, other) = (dir.arg("state"), dir.arg("other"));
    for how in [
        &["unique", "--state"][..],
        &["unique", "--expire", "1h", "--state"],
        &["build", "--dynamic", "-o"],
        &["build", "--deletable", "-o"],
    ] {
        let typed = [how, &[&state, "--key-type", "int"]].concat();
        run(&typed, NUMBERS).exits(0);
        run(&["check", &state], NUMBERS).fails_with("of type int");
        assert_eq!(run(&["check", "--key-type", "int", &state], NUMBERS).exits(0).out, NUMBERS);
        std::fs::remove_file(dir.path("state")).unwrap();
    }
    run(&["build", "--expected-keys", "9", "--key-type", "int", "-o", &state], NUMBERS).exits(0);
    run(&["build", "--expected-keys", "9", "-o", &other], NUMBERS).exits(0);
    run(&["merge", &state, &other, "-o", &dir.arg("both")], b"").fails_with("key type is int");
}

#[test]
fn a_native_filter_remembers_the_form_of_its_keys() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    for kind in [&[][..], &["--compact"], &["--dynamic"], &["--deletable"]] {
        let build = ["build", "-q", "--ignore-case", "--trim", "-o", &filter];
        run(&[&build[..], kind].concat(), b" Foo.com\nbar.ORG\t\n").exits(0);
        for key in ["Foo.com", "foo.com", "FOO.COM ", "Bar.org"] {
            run(&["check", &filter, "-e", key], b"").exits(0);
            run(&["which", "-e", key, &filter], b"").exits(0);
        }
        assert_eq!(run(&["check", &filter, "--hex", "-e", "464f4f2e434f4d"], b"").exits(0).out.len(), 15);
        // What is printed is the line as it came.
        assert_eq!(run(&["check", &filter], b"FOO.com \nother\n").exits(0).text(), "FOO.com \n");
        let verified =
            run(&["verify", "--json", &filter, "--keys", "-"], b"foo.com\nBAR.org\n").exits(0).json();
        assert_eq!(verified["places"][0]["missing"], 0, "{kind:?}");
        let shown = run(&["inspect", &filter], b"").exits(0);
        assert!(shown.text().contains("lower case, without white space"), "{shown:?}");
        let told = run(&["inspect", "--json", &filter], b"").exits(0).json();
        assert_eq!(
            (&told["places"][0]["ignore_case"], &told["places"][0]["trim"]),
            (&true.into(), &true.into())
        );
        if kind.len() == 1 && kind[0] != "--compact" {
            run(&["insert", "-q", &filter, "-e", "  NEW "], b"").exits(0);
            run(&["check", &filter, "-e", "new"], b"").exits(0);
            let fast = dir.arg("fast.bloom");
            run(&["convert", "-q", &filter, "--to", "native", "-o", &fast], b"").exits(0);
            run(&["check", &fast, "-e", "NEW"], b"").exits(0);
        }
    }
    run(&["remove", "-q", &filter, "-e", "FOO.com"], b"").exits(0);
    run(&["check", &filter, "-e", "foo.com"], b"").exits(1);

    // Keys of two forms cannot be looked up together.
    let plain = dir.arg("plain.bloom");
    run(&["build", "-q", "--deletable", "-o", &plain], b"Foo\n").exits(0);
    run(&["merge", &filter, &plain, "-o", &dir.arg("both")], b"").fails_with("the form of keys");
    run(&["insert", &plain, "--ignore-case", "-e", "Bar"], b"").fails_with("not in lower case");
    run(&["check", &plain, "-e", "Foo"], b"").exits(0);
    let doubtful = run(&["check", &plain, "--ignore-case", "-e", "Foo"], b"").exits(1);
    assert!(doubtful.err.contains("does not record"), "{doubtful:?}");
}

#[test]
fn a_state_remembers_the_form_of_its_keys() {
    let dir = Dir::new();
    let state = dir.arg("s");
    assert_eq!(run(&["unique", "--ignore-case", "--state", &state], b"A\na\nB\n").exits(0).text(), "A\nB\n");
    assert_eq!(run(&["unique", "--state", &state], b"b\nC\n").exits(0).text(), "C\n");
    run(&["unique", "--trim", "--state", &state], b"b\n").fails_with("not without white space");
}

#[test]
fn quoted_fields_are_read_with_csv_and_warned_of_without() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    let table = b"1,\"a,b\",x\n2,\"say \"\"hi\"\"\",x\n3,plain,x\n";
    run(&["build", "-q", "--csv", "-f", "2", "-o", &filter], table).exits(0);
    assert_eq!(run(&["check", "-c", "-f", "0", &filter], b"a,b\nsay \"hi\"\nplain\n").exits(0).text(), "3\n");
    assert_eq!(run(&["check", "-c", "--csv", "-f", "2", &filter], table).exits(0).text(), "3\n");
    let warned = run(&["check", "-c", "-d", ",", "-f", "2", &filter], table).exits(0);
    assert_eq!(warned.err.matches("a field is in quotes").count(), 1, "{warned:?}");
    assert!(warned.err.contains("hint: --csv"), "{warned:?}");
    let plain = run(&["check", "-c", "-d", ",", "-f", "2", &filter], b"1,plain\n").exits(0);
    assert_eq!(plain.err, "");
    run(&["check", "--csv", "-f", "2", &filter], b"1,\"open\n").fails_with("line 1, a quoted field");
}

/// A whole line looked up in such a filter would be reported absent, although its key is there.
#[test]
fn a_filter_of_a_field_is_not_asked_for_lines_of_unknown_meaning() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    let table = b"1,\"a,b\"\n2,plain\n";
    for kind in [&[][..], &["--compact"], &["--dynamic"], &["--deletable"]] {
        let build = ["build", "-q", "--csv", "-f", "2", "-o", &filter];
        run(&[&build[..], kind].concat(), table).exits(0);
        let mut asked = vec![vec!["check", &filter], vec!["verify", &filter, "--keys", "-"]];
        if kind != ["--compact"] {
            asked.push(vec!["insert", &filter]);
        }
        if kind == ["--deletable"] {
            asked.push(vec!["remove", &filter]);
        }
        for command in &asked {
            let refused = run(command, table).exits(2);
            assert!(refused.err.contains("field 2 of each line"), "{command:?}: {refused:?}");
            assert!(refused.err.contains("-f 2 --csv"), "{refused:?}");
        }
        assert_eq!(run(&["check", "-c", &filter, "--csv", "-f", "2"], table).exits(0).text(), "2\n");
        assert_eq!(run(&["check", "-c", &filter, "-f", "0"], b"a,b\nplain\n").exits(0).text(), "2\n");
        run(&["check", &filter, "-e", "a,b"], b"").exits(0);
        run(&["which", "-e", "a,b", &filter], b"").exits(0);
        run(&["verify", &filter, "--csv", "-f", "2", "--keys", "-"], table).exits(0);
        run(&["verify", &filter, "-f", "0", "--keys", "-"], b"a,b\nplain\n").exits(0);
        let field =
            run(&["inspect", "--json", &filter], b"").exits(0).json()["places"][0]["key_field"].clone();
        assert_eq!(field, serde_json::json!({ "number": 2, "delimiter": ",", "quoted": true }));
        assert!(run(&["inspect", &filter], b"").exits(0).text().contains("key field"));
    }
    // The copy of another kind, and one without the record.
    run(&["build", "-q", "--dynamic", "-f", "1", "-o", &filter], b"a\tx\n").exits(0);
    let fast = dir.arg("fast.bloom");
    run(&["convert", "-q", &filter, "--to", "native", "-o", &fast], b"").exits(0);
    run(&["check", &fast], b"a\tx\n").fails_with("field 1 of each line");
    run(&["build", "-q", "-f", "0", "-o", &filter, "--force"], b"a\tx\n").exits(0);
    run(&["check", &filter], b"a\tx\n").exits(0);
}

#[test]
fn a_state_remembers_the_field_of_its_keys() {
    let dir = Dir::new();
    let state = dir.arg("s");
    let unique =
        |options: &[&str], lines: &[u8]| run(&[&["unique", "--state", &state], options].concat(), lines);
    assert_eq!(unique(&["-d", ";", "-f", "2"], b"1;a\n2;a\n3;b\n").exits(0).text(), "1;a\n3;b\n");
    unique(&[], b"4;a\n").fails_with("-f 2 -d ';' takes the same field");
    assert_eq!(unique(&["-d", ";", "-f", "2"], b"4;a\n5;c\n").exits(0).text(), "5;c\n");
    assert_eq!(unique(&["-f", "0"], b"a\nd\n").exits(0).text(), "d\n");
}

#[test]
fn a_merged_filter_still_asks_for_the_field() {
    let dir = Dir::new();
    let (one, two, both) = (dir.arg("one"), dir.arg("two"), dir.arg("both"));
    for (file, field) in [(&one, "2"), (&two, "3")] {
        run(&["build", "-q", "-f", field, "--expected-keys", "100", "-o", file], b"1\ta\tb\n").exits(0);
    }
    run(&["merge", "-q", &one, &two, "-o", &both], b"").exits(0);
    run(&["check", &both], b"1\ta\tb\n").fails_with("field 2 of each line");
    assert_eq!(run(&["check", "-c", &both, "-f", "3"], b"1\ta\tb\n").exits(0).text(), "1\n");
}

/// Keys that are found only with the right options, or not at all, are warned of.
#[test]
fn fields_that_a_filter_does_not_record_or_reads_by_another_rule_are_warned_of() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    run(&["build", "-q", "--dynamic", "-o", &filter], b"").exits(0);
    let inserted = run(&["insert", &filter, "-f", "2"], b"1\ta\n").exits(0);
    assert!(inserted.err.contains("does not record"), "{inserted:?}");
    let unique = run(&["unique", "--state", &filter, "-f", "2"], b"1\ta\n").exits(1);
    assert!(unique.err.contains("does not record"), "{unique:?}");

    run(&["build", "-q", "-d", ",", "-f", "2", "-o", &filter, "--force"], b"1,\"alice\"\n").exits(0);
    let other = run(&["check", &filter, "--csv", "-f", "2"], b"1,\"alice\"\n").exits(1);
    assert!(other.err.contains("--csv"), "{other:?}");
    let same = run(&["check", &filter, "-d", ",", "-f", "2"], b"1,\"alice\"\n").exits(0);
    assert!(!same.err.contains("other keys"), "{same:?}");

    for line in [&b"2,\"bob, jr\",y\n"[..], b"\"x,y\",alice\n"] {
        let built = run(&["build", "-q", "-d", ",", "-f", "2", "-o", &filter], line).exits(0);
        assert_eq!(built.err.matches("hint: --csv").count(), 1, "{built:?}");
    }
    run(&["verify", "-f", "2", &filter], b"").fails_with("--keys");
}

/// The same two files are built and read by every language: see `golden_native.rs` of `fullbloom-any`.
#[test]
fn an_integer_of_every_width_and_sign_is_the_key_of_the_golden_files() {
    let dir = Dir::new();
    let lists = vectors::json("native/integers.json");
    let lines = |widths: &[&str]| -> String {
        let numbers = widths.iter().flat_map(|width| lists[*width].as_array().unwrap());
        numbers.map(|number| format!("{}\n", number.as_str().unwrap())).collect()
    };
    let golden = vectors::root().join("native/integers.bloom").to_str().unwrap().to_owned();
    let numbers = lines(&["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]);
    let built = dir.arg("built");
    let size = ["--expected-keys", "21", "--bits", "8192", "--probes", "8"];
    run(&[&["build", "-q", "--key-type", "long", "-o", &built], &size[..]].concat(), numbers.as_bytes())
        .exits(0);
    assert!(dir.read("built") == vectors::bytes("native/integers.bloom"));
    let check = ["check", "--key-type", "long", &golden];
    assert_eq!(run(&check, numbers.as_bytes()).exits(0).text(), numbers);
    run(&check, lines(&["absent"]).as_bytes()).exits(1);
    run(&check, b"18446744073709551616\n").fails_with("not a number of type long");
    // Numbers without a sign beyond the largest long are keys of native filters only: Java has no such longs.
    run(
        &["build", "--dialect", "guava", "--key-type", "long", "-o", &built, "--force"],
        b"18446744073709551615\n",
    )
    .fails_with("not a number of type long");

    // Numbers of sixteen bytes are given as these bytes.
    let wide = vectors::root().join("native/integers-wide.bloom").to_str().unwrap().to_owned();
    let hex = |number: &str| {
        let bits = number.parse::<i128>().map_or_else(|_| number.parse().unwrap(), |n| n as u128);
        to_hex(&bits.to_le_bytes()) + "\n"
    };
    let keys: String = lines(&["i128", "u128"]).lines().map(hex).collect();
    assert_eq!(run(&["check", "--hex", &wide], keys.as_bytes()).exits(0).text(), keys);
    let absent: String = lines(&["absent"]).lines().map(hex).collect();
    run(&["check", "--hex", &wide], absent.as_bytes()).exits(1);
}
