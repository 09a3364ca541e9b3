//! Our readers over the corpus in `conformance/`, by the rules of its README.

use crate::reader;
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::sha256_hex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What a lookup may allocate beside four times the file: answers, hashes, a footer.
const LITTLE: u64 = 1 << 20;

fn corpus() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance"))
}

/// The directories of the systems, with their manifests.
fn systems() -> Vec<(PathBuf, Value)> {
    let directories = fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path());
    let manifest = |directory: PathBuf| {
        let text = fs::read(directory.join("manifest.json")).ok()?;
        Some((directory, serde_json::from_slice(&text).unwrap()))
    };
    directories.filter_map(manifest).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// What the runner sends for a case.
fn request(directory: &Path, manifest: &Value, case: &Value, keys: &Value) -> Value {
    let file = directory.join(case["file"].as_str().unwrap());
    let mut request = json!({ "file": file.to_str(), "system": manifest["system"], "ask": case["ask"] });
    for extra in [&keys["request"], &case["request"]] {
        for (field, value) in extra.as_object().into_iter().flatten() {
            request[field] = value.clone();
        }
    }
    let both = [list(&keys["found"]), list(&keys["absent"])].concat();
    request["keys"] = Value::Array(both);
    request
}

/// What is wrong with our answer, or nothing.
fn judge(directory: &Path, manifest: &Value, case: &Value) -> Result<bool, String> {
    let keys = &manifest["keys"][case["keys"].as_str().unwrap()];
    let request = request(directory, manifest, case, keys);
    let (answer, peak) = peak_of(|| reader::answer(&request).map_err(|error| error.to_string()));
    let len = fs::metadata(request["file"].as_str().unwrap()).unwrap().len();
    if peak > 4 * len + LITTLE {
        return Err(format!("{peak} bytes of memory for a file of {len}"));
    }
    let found = list(&keys["found"]).len();
    match (answer, case["expect"].as_str().unwrap()) {
        (Ok(None), _) => return Ok(false),
        (Ok(Some(answers)), "exact") => {
            let due = keys["answers"].as_str().unwrap().bytes().map(|b| b == b'1');
            let right = answers[..found].iter().all(|yes| *yes) && answers[found..].iter().copied().eq(due);
            right.then_some(true).ok_or_else(|| "other answers".to_owned())?;
        }
        (Err(error), "exact") => return Err(error),
        (Ok(Some(answers)), "safe") if !answers[..found].iter().all(|yes| *yes) => {
            return Err("damage that can be seen became a no".to_owned());
        }
        // Nothing is due; the lookup ended, within its memory.
        _ => {}
    }
    Ok(true)
}

#[test]
fn every_answer_of_our_readers_is_one_that_the_corpus_allows() {
    let mut wrong = Vec::new();
    let mut answered = BTreeMap::new();
    for (directory, manifest) in systems() {
        for case in list(&manifest["cases"]) {
            match judge(&directory, &manifest, case) {
                Ok(asked) => *answered.entry(manifest["system"].to_string()).or_insert(0) += u32::from(asked),
                Err(why) => wrong.push(format!("{} {}: {why}", manifest["system"], case["case"])),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(answered.values().all(|cases| *cases > 20), "few cases: {answered:?}");
}

#[test]
fn every_file_of_the_corpus_is_listed_with_its_sum_and_origin() {
    for (directory, manifest) in systems() {
        let mut present = BTreeSet::new();
        for entry in fs::read_dir(&directory).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != "manifest.json" {
                present.insert(name);
            }
        }
        let listed = manifest["files"].as_object().unwrap();
        assert_eq!(present, listed.keys().cloned().collect(), "{}", directory.display());
        for (name, facts) in listed {
            let sum = sha256_hex(&fs::read(directory.join(name)).unwrap());
            assert_eq!(facts["sha256"], sum, "{}/{name}", directory.display());
            assert!(!facts["origin"].as_str().unwrap().is_empty(), "{name}");
        }
        let named: BTreeSet<&str> = list(&manifest["cases"])
            .iter()
            .flat_map(|case| [case["file"].as_str(), case["twin"].as_str()])
            .flatten()
            .collect();
        assert_eq!(named.len(), listed.len(), "{}: a file without a case", directory.display());
    }
}
