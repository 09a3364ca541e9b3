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
