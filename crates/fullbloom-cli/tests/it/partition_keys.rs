//! Partition keys are looked up in the type that their sstable records.

use crate::common::{Dir, copy_tree, run};
use fullbloom_testkit::vectors;
use std::fs;

/// A copy of a table of bigints, of ints or of text, written by Cassandra 6.0; the path of its filter.
fn table(dir: &Dir, name: &str) -> String {
    let root = vectors::root().join("cassandra6");
    let from = ["pa/v6", "ea/v6"].iter().find_map(|below| {
        let mut entries = fs::read_dir(root.join(below)).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name))
    });
    copy_tree(&from.unwrap(), &dir.path(name));
    let names = crate::common::list(&dir.path(name));
    let filter = names.iter().find(|name| name.ends_with("Filter.db")).unwrap();
    dir.arg(&format!("{name}/{filter}"))
}

#[test]
fn the_keys_of_an_sstable_are_found_in_it_without_a_type() {
    let dir = Dir::new();
    for (name, key_type) in [("with_sai", "bigint"), ("stored_chunks", "int"), ("dict_none", "text")] {
        let filter = table(&dir, name);
        let keys = run(&["keys", &filter], b"").exits(0).out;
        let first = String::from_utf8(keys.clone()).unwrap().lines().next().unwrap().to_owned();
        assert_eq!(run(&["check", &filter], &keys).exits(0).out, keys, "{name}");
        run(&["check", &filter, "-q", "-e", &first], b"").exits(0);
        run(&["verify", &filter, "--keys", "-"], &keys).exits(0);
        let found = run(&["which", "-l", "-e", &first, &dir.arg(name)], b"").exits(0);
        assert!(found.text().trim_end().ends_with("Filter.db"), "{found:?}");

        let record = run(&["inspect", "--json", &filter], b"").json()["places"][0].clone();
        assert_eq!(record["key_type"], key_type);
        assert!(run(&["inspect", &filter], b"").text().contains(&format!("key type        {key_type}\n")));
    }
}

#[test]
fn a_wrong_type_is_refused_by_every_lookup() {
    let dir = Dir::new();
    let filter = table(&dir, "with_sai");
    for asked in [&["check", &filter][..], &["verify", &filter, "--keys", "-"]] {
        let typed = [asked, &["--key-type", "int"]].concat();
        run(&typed, b"7\n").fails_with("is bigint, not int").fails_with("hint: ");
        // Text that is not a number is not in a table of numbers, but that is not what the caller meant.
        run(asked, b"seven\n").fails_with("not of type bigint");
    }
}

#[test]
fn keys_that_are_not_text_need_a_type_where_none_is_recorded() {
    let dir = Dir::new();
    let filter = table(&dir, "with_sai");
    let keys = run(&["keys", &filter], b"").exits(0).out;
    let hex = run(&["keys", "--hex", &filter], b"").exits(0).out;
    fs::remove_file(filter.replace("Filter", "Statistics")).unwrap();
    for asked in
        [&["check", &filter][..], &["verify", &filter, "--keys", "-"], &["which", "-e", "7", &filter]]
    {
        run(asked, &keys).fails_with("is not known").fails_with("(--key-type T, --hex)");
    }
    assert_eq!(run(&["check", "-c", "--key-type", "bigint", &filter], &keys).exits(0).text(), "1000\n");
    assert_eq!(run(&["check", "-c", "--hex", &filter], &hex).exits(0).text(), "1000\n");

    let text = table(&dir, "dict_none");
    let keys = run(&["keys", &text], b"").exits(0).out;
    fs::remove_file(text.replace("Filter", "Statistics")).unwrap();
    assert_eq!(run(&["check", &text], &keys).exits(0).out, keys, "text is taken as it is");
}

#[test]
fn a_type_that_no_sstable_has_is_an_error_that_names_those_that_are_there() {
    let dir = Dir::new();
    let numbers = table(&dir, "with_sai");
    table(&dir, "dict_none");
    let all = dir.arg("");
    for more in [&[][..], &["-l"], &["-v"], &["--json"]] {
        let uuid = "5a1c395e-0b1f-11ef-9a3f-0242ac120002";
        let asked = [&["which", "--key-type", "uuid", "-e", uuid, &all], more].concat();
        run(&asked, b"").fails_with("uuid; there are bigint, text").fails_with("--key-type T");
        run(&[&["which", "-e", "seven", &numbers], more].concat(), b"")
            .fails_with("'seven': not of the type");
    }
    // One table of the right type is enough, and the others say why their answer is no.
    let found = run(&["which", "--key-type", "bigint", "-e", "-77", &all], b"");
    assert!(found.code < 2 && found.text().contains("keys are text)"), "{found:?}");
    run(&["which", "-e", "seven", &all], b"").exits(1);
    // Each key is judged by itself.
    run(&["which", "-e", "7", "-e", "seven", &numbers], b"").fails_with("'seven': not of the type");
}

/// Without Statistics.db and the index, nothing says what the keys are. A filter that was copied alone is
/// looked up as text, with a warning; beside other components, the type is needed.
#[test]
fn without_statistics_and_index_the_type_is_needed_or_its_assumption_is_said() {
    let dir = Dir::new();
    let filter = table(&dir, "stored_chunks");
    let keys = run(&["keys", &filter], b"").exits(0).out;
    for name in ["Statistics.db", "Index.db", "Partitions.db", "Rows.db"] {
        let _ = fs::remove_file(filter.replace("Filter.db", name)); // Partitions.db and Rows.db, or Index.db
    }
    let asked = |filter: &str| [["check", filter], ["which", filter]].map(|args| args.map(str::to_owned));
    for [command, filter] in asked(&filter) {
        let one = [command, filter, "-e".into(), "7".into()];
        run(&one, b"").fails_with("neither Statistics.db").fails_with("--key-type T");
    }
    run(&["verify", &filter, "--keys", "-"], &keys).fails_with("neither Statistics.db");
    let count = run(&["check", "-c", "--key-type", "int", &filter], &keys).exits(0);
    assert_eq!(count.text().trim(), keys.iter().filter(|byte| **byte == b'\n').count().to_string());

    fs::create_dir(dir.path("alone")).unwrap();
    let alone = dir.arg(&format!("alone/{}", filter.rsplit('/').next().unwrap()));
    fs::copy(&filter, &alone).unwrap();
    let told = run(&["check", "-c", &alone], &keys);
    assert!(told.err.contains("looked up as text"), "{told:?}");
    assert_eq!(run(&["check", "-c", "--key-type", "int", &alone], &keys).exits(0).err, "");
}

/// A filter that lacks keys of its own index gives no certain "no".
#[test]
fn a_filter_that_denies_its_own_keys_answers_nothing() {
    let dir = Dir::new();
    let (filter, other) = (table(&dir, "dict_none"), table(&dir, "stored_chunks"));
    let keys = run(&["keys", &filter], b"").exits(0).out;
    let first = String::from_utf8(keys.clone()).unwrap().lines().next().unwrap().to_owned();
    fs::copy(&other, &filter).unwrap();
    run(&["check", &filter, "-e", &first], b"").fails_with("--force uses it anyway");
    let unknown = run(&["which", "-e", &first, &filter], b"").exits(2);
    assert!(unknown.text().contains("unknown"), "{unknown:?}");
    run(&["check", "--force", &filter, "-e", &first], b"").exits(1);
}

/// The keys of a table are in its files, and absent keys are in none: by key, in the order of the lines.
#[test]
fn a_file_of_keys_is_looked_up_by_key_in_the_type_of_the_sstables() {
    let dir = Dir::new();
    let filter = table(&dir, "with_sai");
    let keys = String::from_utf8(run(&["keys", &filter], b"").exits(0).out).unwrap();
    let place = dir.arg("with_sai");
    let asked = dir.file("asked.txt", format!("{keys}4000000001\n4000000002\n"));
    let found = run(&["which", "--keys", &asked, &place], b"").exits(0);
    let mut expected: Vec<String> = keys.lines().map(|key| format!("maybe    {filter}  {key}")).collect();
    expected.extend(["no       -  4000000001".to_owned(), "no       -  4000000002".to_owned()]);
    assert!(found.text().lines().eq(&expected), "{} lines", found.text().lines().count());

    // More than one group, from standard input, and what is printed does not depend on the groups.
    let many = keys.repeat(9);
    let listed = run(&["which", "-l", "--keys", "-", &place], many.as_bytes()).exits(0);
    assert_eq!(listed.text(), format!("{filter}\n"));
    let report = run(&["which", "--json", "--keys", "-", &place], many.as_bytes()).exits(0).json();
    assert_eq!(report["summary"], serde_json::json!({"keys": 9000, "maybe": 9000, "no": 0, "unknown": 0}));
    assert_eq!(report["keys"].as_array().unwrap().len(), 9000);
    assert_eq!(report["keys"][8999]["key"], keys.lines().last().unwrap());
    assert_eq!(report["keys"][8999]["maybe"], serde_json::json!([filter]));

    // The status is that of one key.
    run(&["which", "--keys", "-", &place], b"4000000001\n").exits(1);
    run(&["which", "-v", "--keys", "-", &place], b"4000000001\n").exits(1);
    run(&["which", "--keys", "-", &place], b"").exits(1);
    run(&["which", "--keys", "-", &dir.arg("missing")], b"").exits(2);
    let wrong = run(&["which", "--json", "--keys", "-", &place], b"7\nseven\n").exits(2);
    assert_eq!(
        wrong.json()["problems"].as_array().unwrap().iter().filter(|p| p["place"] == "'seven'").count(),
        1
    );
    wrong.fails_with("'seven': not of the type");
    run(&["which", "--keys", "-", "-e", "7", &place], b"").fails_with("cannot be used with");
}

/// Keys are taken from lines as by the other commands, and a filter that was built from a field refuses lines.
#[test]
fn keys_of_which_are_a_part_of_their_lines() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let lines = dir.file("list.csv", "1,\"Example.ORG\"\n2,b.org\n");
    run(&["build", "--csv", "-f", "2", "--ignore-case", "--fpr", "1e-9", &lines, "-o", &filter], b"")
        .exits(0);
    let found = run(
        &["which", "--csv", "-f", "2", "--skip-comments", "--keys", "-", &filter],
        b"# x\n7,EXAMPLE.org\n8,c\n",
    );
    assert_eq!(found.exits(0).text(), format!("maybe    {filter}  7,EXAMPLE.org\nno       -  8,c\n"));
    run(&["which", "--keys", &lines, &filter], b"").fails_with("say which part of these lines is the key");
    let hex = run(&["which", "--hex", "-0", "-f", "0", "--keys", "-", &filter], b"622e6f7267\0").exits(0);
    assert_eq!(hex.text(), format!("maybe    {filter}  622e6f7267\n"));
    run(&["which", "-f", "2", "-e", "b.org", &filter], b"").fails_with("cannot be used with");
}

/// Where the key's column can be no other one, its name is not needed; otherwise its absence is an error.
#[test]
fn a_partition_key_is_given_as_conditions_of_cql() {
    let dir = Dir::new();
    for (name, values) in [("with_sai", ["7", "4000000001"]), ("stored_chunks", ["7", "2000000002"])] {
        let filter = table(&dir, name);
        let place = dir.arg(name);
        let [present, absent] = values.map(|value| format!("ID = {value}"));
        let found = run(&["which", "--cql", &present, &place], b"").exits(0);
        assert_eq!(found.text(), run(&["which", "-e", values[0], &place], b"").exits(0).text());
        assert_eq!(found.text(), format!("maybe    {filter}\n"));
        run(&["which", "--cql", &absent, &place], b"").exits(1);
        let other = run(&["which", "--cql", "id = 'seven'", &place], b"");
        other.fails_with("'seven': not of the type");
        run(&["which", "--cql", "v = 7", &place], b"").fails_with("v is not a column of the partition key");
        let both = "id = 7 AND day = '2026-11-18'";
        run(&["which", "--cql", both, &place], b"")
            .fails_with("do not record the names")
            .fails_with("--partition-key");
        let named = ["which", "--partition-key", "id,day", "--cql"];
        run(&[&named[..], &[both, &place]].concat(), b"")
            .fails_with("has 1 column (")
            .fails_with("--partition-key");
        run(&[&named[..], &["id = 7", &place]].concat(), b"").fails_with("no value for day");
        run(&["which", "--partition-key", "id", "--cql", both, &place], b"").exits(0);
    }
    let text = table(&dir, "dict_none");
    let keys = String::from_utf8(run(&["keys", &text], b"").exits(0).out).unwrap();
    let first = keys.lines().next().unwrap().replace('\'', "''");
    run(&["which", "--cql", &format!("id = '{first}'"), &text], b"").exits(0);

    // With a clustering column, a condition could be about it.
    let wide = table(&dir, "wide_lz4");
    let first = String::from_utf8(run(&["keys", &wide], b"").exits(0).out).unwrap();
    let first = first.lines().next().unwrap();
    let quoted = if first.parse::<i64>().is_ok() { first.to_owned() } else { format!("'{first}'") };
    let asked = format!("id = {quoted}");
    run(&["which", "--cql", &asked, &wide], b"")
        .fails_with("or a clustering column")
        .fails_with("--partition-key");
    run(&["which", "--partition-key", "id", "--cql", &asked, &wide], b"").exits(0);

    let list = dir.file("f", "a\n");
    run(&["build", &list, "-o", &dir.arg("g")], b"").exits(0);
    run(&["which", "--cql", "id = 'a'", &dir.arg("g")], b"").fails_with("only sstables have partition keys");
}

/// Values in any order become the bytes of Cassandra's `CompositeType`.
#[test]
fn conditions_on_several_columns_are_one_key() {
    let dir = Dir::new();
    let filter = dir.arg("nb-1-big-Filter.db");
    let key = b"000465753a31000004800050870000010100\n"; // eu:1, 2026-06-11 and true, as CompositeType has them
    let typed = ["--key-type", "text,date,boolean"];
    let build = ["build", "--dialect", "cassandra", "--fpr", "0.001", "-o", &filter];
    run(&[&build[..], &["--hex"]].concat(), key).exits(0);
    let asked = |cql: &str| {
        let which = ["which", "--partition-key", "region,\"Day\",live", "--cql", cql, &filter];
        run(&[&which[..], &typed].concat(), b"")
    };
    asked("live = TRUE AND \"Day\" = '2026-06-11' AND Region = 'eu:1' AND n = 5").exits(0);
    asked("live = false AND \"Day\" = '2026-06-11' AND Region = 'eu:1'").exits(1);
    asked("live = true AND \"Day\" = '2026-06-12' AND Region = 'eu:1'").exits(1);
    asked("live = true AND Day = '2026-06-11' AND Region = 'eu:1'").fails_with("no value for Day");
    asked("live = true AND \"Day\" = 'June' AND Region = 'eu:1'").fails_with("'June' is not of type date");
}
