//! A native filter knows the type of its keys, and refuses lookups with keys of another type.

use crate::common::{Dir, run};

const NUMBERS: &[u8] = b"7\n-8\n9\n";

#[test]
fn a_filter_of_numbers_is_not_asked_as_text() {
    let dir = Dir::new();
    let filter = dir.arg("ids.bloom");
    run(&["build", "--key-type", "long", "-o", &filter], NUMBERS).exits(0);
    let inspected = run(&["inspect", &filter, "--json"], b"").exits(0).json();
    assert_eq!(inspected["places"][0]["key_type"], "long");
    assert!(run(&["inspect", &filter], b"").exits(0).text().contains("key type"));

    let message = "was built from keys of type long, not bytes";
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
    let refused =
        run(&["check", "--key-type", "long", &filter], NUMBERS).fails_with("of type bytes, not long");
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
        run(&["check", &state], NUMBERS).fails_with("of type int, not bytes");
        assert_eq!(run(&["check", "--key-type", "int", &state], NUMBERS).exits(0).out, NUMBERS);
        std::fs::remove_file(dir.path("state")).unwrap();
    }
    run(&["build", "--expected-keys", "9", "--key-type", "int", "-o", &state], NUMBERS).exits(0);
    run(&["build", "--expected-keys", "9", "-o", &other], NUMBERS).exits(0);
    run(&["merge", &state, &other, "-o", &dir.arg("both")], b"").fails_with("key type is int in one");
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
        assert!(shown.text().contains("in lower case, without white space at both ends"), "{shown:?}");
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
    run(&["insert", &plain, "--ignore-case", "-e", "Bar"], b"")
        .fails_with("its keys are as given, not in lower case");
    run(&["check", &plain, "-e", "Foo"], b"").exits(0);
    let doubtful = run(&["check", &plain, "--ignore-case", "-e", "Foo"], b"").exits(1);
    assert!(doubtful.err.contains("does not record that its keys are in lower case"), "{doubtful:?}");
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
    assert_eq!(run(&["check", "-c", &filter], b"a,b\nsay \"hi\"\nplain\n").exits(0).text(), "3\n");
    assert_eq!(run(&["check", "-c", "--csv", "-f", "2", &filter], table).exits(0).text(), "3\n");
    let warned = run(&["check", "-c", "-d", ",", "-f", "2", &filter], table).exits(0);
    assert_eq!(warned.err.matches("a field is in quotes").count(), 1, "{warned:?}");
    assert!(warned.err.contains("hint: --csv"), "{warned:?}");
    let plain = run(&["check", "-c", "-d", ",", "-f", "2", &filter], b"1,plain\n").exits(0);
    assert_eq!(plain.err, "");
    run(&["check", "--csv", "-f", "2", &filter], b"1,\"open\n")
        .fails_with("line 1, a quoted field does not end");
}
