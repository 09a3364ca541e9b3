//! What is said about a table whose filter was asked for every key.

use super::Found;
use crate::error::Failure;
use crate::text;
use fullbloom_table::filter::build::Rules;
use fullbloom_table::{Rebuilt, Verification};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// For people and for machines.
pub fn found(path: &Path, found: &Verification) -> Found {
    Found { json: as_json(path, found), text: as_text(path, found), is_well: found.is_sound() }
}

/// A table or filter among others that could not be read.
pub fn unreadable(path: &Path, failure: &Failure) -> Found {
    let path = path.display().to_string();
    let json = json!({
        "path": path,
        "keys": null,
        "missing": null,
        "measured_fpr": null,
        "rebuilt_identical": null,
        "problems": [failure.to_string()],
    });
    let text = format!(
        "{}\n  {:<15} {}\n",
        text::printable(&path),
        "problem",
        text::printable(&failure.to_string())
    );
    Found { json, text, is_well: false }
}

fn as_json(path: &Path, found: &Verification) -> Value {
    let (bits_per_key, rules) = match found.rebuilt {
        Rebuilt::Identical { bits_per_key, rules } => (json!(bits_per_key), json!(rules.map(rules_name))),
        Rebuilt::IdenticalInLength { rules } => (Value::Null, json!(rules.map(rules_name))),
        Rebuilt::Nothing | Rebuilt::Differs => (Value::Null, Value::Null),
    };
    json!({
        "path": path.display().to_string(),
        "keys": found.keys,
        "missing": found.missing,
        "missing_in_seek": found.missing_in_seek,
        "missing_in_seek_back": found.missing_in_seek_back,
        "absent_asked": found.absent_asked,
        "absent_passed": found.absent_passed,
        "measured_fpr": found.measured_fpr(),
        "rebuilt_identical": found.rebuilt.is_identical(),
        "rebuilt_bits_per_key": bits_per_key,
        "rebuilt_rules": rules,
    })
}

fn rules_name(rules: Rules) -> &'static str {
    match rules {
        Rules::Since9_6 => "RocksDB 9.6 and later",
        Rules::Of9_5 => "RocksDB 9.5",
        Rules::UpTo9_4 => "RocksDB up to 9.4",
    }
}

fn as_text(path: &Path, found: &Verification) -> String {
    let mut text = format!("{}\n", text::printable(&path.display().to_string()));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<15} {value}"); // a String takes everything
    };
    line("keys", found.keys.to_string());
    line("missing", found.missing.to_string());
    if found.missing_in_seek + found.missing_in_seek_back > 0 {
        line(
            "missing in seek",
            format!("{} forward, {} backward", found.missing_in_seek, found.missing_in_seek_back),
        );
    }
    if let Some(key) = &found.first_missing {
        line("first missing", format!("{} (hex)", text::hex(key)));
    }
    match found.measured_fpr() {
        Some(fpr) => {
            line("measured rate", format!("{} of {} absent keys", text::rate(fpr), found.absent_asked));
        }
        None => line("measured rate", "no absent keys to ask for".to_owned()),
    }
    let rebuilt = match found.rebuilt {
        Rebuilt::Nothing => "nothing to build".to_owned(),
        Rebuilt::Identical { bits_per_key, .. } => {
            format!("identical, with {} bits per key", text::decimal(bits_per_key, 2))
        }
        Rebuilt::IdenticalInLength { .. } => "identical, in the length the allocator chose".to_owned(),
        Rebuilt::Differs => "DIFFERS: damaged, or not made from these keys".to_owned(),
    };
    line("rebuilt", rebuilt);
    text
}
