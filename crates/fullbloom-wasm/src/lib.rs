//! What the page in `web/` calls. Records go out as the JSON that `fullbloom plan --json` and `inspect
//! --json` print.
//!
//! | module | what is there |
//! |---|---|
//! | `plan` | a filter in each dialect; the rate over bits per key |
//! | `look` | a file that the browser reads piece by piece: inspection, and lookups of keys |
//! | `learn` | small filters for the pictures |
//!
//! A panic ends the module: the page starts it again.

mod learn;
mod look;
mod plan;

use fullbloom_dialects::Name;
use fullbloom_ops::Problem;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// A record as JSON.
fn json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}"))
}

/// A problem as JSON, with what to do about it.
fn problem(problem: &Problem) -> String {
    json(problem)
}

#[derive(Serialize)]
struct About {
    version: &'static str,
    dialects: Vec<Dialect>,
}

#[derive(Serialize)]
struct Dialect {
    name: &'static str,
    about: &'static str,
}

/// The version, and all dialects in the order of listings.
#[wasm_bindgen]
pub fn about() -> String {
    let dialects = Name::ALL.iter().map(|name| Dialect { name: name.as_str(), about: name.about() });
    json(&About { version: env!("CARGO_PKG_VERSION"), dialects: dialects.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_names_every_dialect_once_with_a_description() {
        let said: serde_json::Value = serde_json::from_str(&about()).unwrap();
        assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
        let dialects = said["dialects"].as_array().unwrap();
        assert_eq!(dialects.len(), Name::ALL.len());
        for (dialect, name) in dialects.iter().zip(Name::ALL) {
            assert_eq!(dialect["name"], name.as_str());
            assert!(!dialect["about"].as_str().unwrap().is_empty());
        }
    }
}
