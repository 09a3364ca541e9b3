//! The command `explain`: the glossary is that of the documentation, and the steps of a lookup are what the library
//! does.

use crate::common::run;

#[test]
fn the_glossary_is_that_of_the_documentation() {
    let ours = include_str!("../../src/commands/explain/glossary.md");
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/glossary.md");
    assert_eq!(ours, std::fs::read_to_string(docs).unwrap(), "copy one to the other");
    let all = run(&["explain"], b"").exits(0);
    let words: Vec<&str> = all.text().lines().filter(|line| !line.starts_with(' ')).collect();
    let titles: Vec<&str> = ours.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(titles.len() >= 10);
    assert_eq!(words, titles);
}

#[test]
fn one_word_is_explained_and_another_is_refused_with_the_list() {
    let all = run(&["explain"], b"").exits(0);
    for word in ["rate", "RATE", "useless read"] {
        let one = run(&[&["explain"][..], &word.split(' ').collect::<Vec<_>>()].concat(), b"").exits(0);
        assert!(all.text().contains(one.text()) && one.text().lines().count() < 6, "{one:?}");
    }
    // Not an entry of its own, but a word of one.
    assert!(run(&["explain", "fpr"], b"").exits(0).text().starts_with("rate\n"));
    let refused = run(&["explain", "quux"], b"").fails_with("quux");
    assert!(refused.err.contains("hint: ") && refused.err.contains("dialect"), "{refused:?}");
}

#[test]
fn the_steps_of_a_lookup_agree_with_its_answer() {
    // Inserted, absent, and absent with all bits set by others.
    for (key, is_set, is_wrong) in
        [("user:17", true, false), ("user:51", false, false), ("user:154", true, true)]
    {
        let out = run(&["explain", "--lookup", key], b"").exits(0);
        let bits: Vec<bool> = out
            .text()
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("bit ")?.split_once(" is "))
            .map(|(_, value)| value == "1")
            .collect();
        assert_eq!(bits.len(), 8, "{out:?}");
        assert_eq!(bits.iter().all(|&set| set), is_set, "{key}: {out:?}");
        let drawn = out.text().matches(['[', '|']).count();
        assert_eq!(drawn, bits.len(), "{out:?}");
        let answer = out.text().lines().find_map(|line| line.strip_prefix("3. answer  ")).unwrap();
        assert_eq!(answer.starts_with("maybe"), is_set, "{out:?}");
        assert_eq!(answer.contains("false positive"), is_wrong, "{out:?}");
    }
}
