//! `build --except`: a key in both lists is never passed over in silence.

use crate::common::{Dir, run};

fn bad(count: usize) -> String {
    (0..count).map(|i| format!("bad{i}\n")).collect()
}

#[test]
fn a_key_in_both_lists_is_an_error_unless_one_list_wins() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("f.bloom"), bad(2000));
    let keys = dir.file("keys", &text);
    let good = dir.file("good", "good1\nbad7\nbad8\ngood2\n");
    let build = ["build", "-q", "--fpr", "1e-4", "-o", &filter, &keys, "--except", &good];
    let refused = run(&build, b"").fails_with("2 keys in both lists");
    assert!(refused.err.contains("--except-wins") && refused.err.contains("--keys-win"), "{refused:?}");
    assert!(!dir.path("f.bloom").exists());

    let built = run(&[&build[..], &["--keys-win"]].concat(), b"").exits(0);
    assert!(built.err.contains("kept in the filter"), "{built:?}");
    assert_eq!(run(&["check", "-c", &filter], text.as_bytes()).exits(0).text(), "2000\n");

    let built = run(&[&build[..], &["--except-wins"]].concat(), b"").exits(0);
    assert!(built.err.contains("left out"), "{built:?}");
    assert_eq!(run(&["check", "-v", &filter], text.as_bytes()).exits(0).text(), "bad7\nbad8\n");
    assert_eq!(run(&["check", &filter], b"good1\ngood2\nbad7\n").exits(1).text(), "");
    let facts = run(&["inspect", "--json", &filter], b"").exits(0).json();
    assert_eq!(facts["places"][0]["new_keys"], 1998);
}

#[test]
fn known_good_keys_from_a_pipe_are_compared_too() {
    let dir = Dir::new();
    let keys = dir.file("keys", bad(500));
    let build = ["build", "-q", "-o", &dir.arg("f.bloom"), &keys, "--except", "-"];
    run(&build, b"bad3\ngood\n").fails_with("\"bad3\"");
    run(&[&build[..], &["--except-wins"]].concat(), b"bad3\ngood\n").exits(0);
    run(&["check", &dir.arg("f.bloom")], b"bad3\n").exits(1);
    run(&build, b"good\n").exits(0);
    run(&["build", "-o", &dir.arg("g"), &keys, "--except-wins"], b"").exits(2);
}
