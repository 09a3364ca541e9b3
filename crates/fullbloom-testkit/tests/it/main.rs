//! Tests of the test helpers, of the golden files' list, and of what the whole repository must keep to.

mod oracle;
mod provenance;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file of the repository: its path from the root, and its text.
fn sources() -> Vec<(String, String)> {
    fn add(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name) {
                add(root, &path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let from_root = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push((from_root, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    ["bench", "crates", "fuzz"].iter().for_each(|folder| add(&root(), &root().join(folder), &mut found));
    found
}
