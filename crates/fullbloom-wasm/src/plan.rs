//! Plans, and the curves of the chart.

use crate::{json, problem};
use fullbloom::sizing::{Request, Target, classic_fpr};
use fullbloom_any as any;
use fullbloom_compact::CompactFilter;
use fullbloom_dialects::Name;
use fullbloom_ops::Wish;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// What `fullbloom plan --json` prints for all dialects. `wish` is `fpr`, `bits_per_key` or `memory` (in
/// bytes).
#[wasm_bindgen]
pub fn plan(expected_keys: f64, wish: &str, value: f64) -> Result<String, String> {
    let wish = match wish {
        "fpr" => Wish::Target(Target::Fpr(value)),
        "bits_per_key" => Wish::Target(Target::BitsPerKey(value)),
        _ => Wish::Memory(value as u64),
    };
    let report = fullbloom_ops::plan(Name::ALL, expected_keys as u64, wish, None);
    report.map(|report| json(&report)).map_err(|e| problem(&e))
}

/// A point of a curve.
#[derive(Serialize)]
struct Point {
    bits_per_key: f64,
    fpr: f64,
    probes: u32,
}

/// The steps of the curves: quarters of a bit per key would be drawn over each other.
fn steps(most: f64) -> impl Iterator<Item = f64> {
    (2..=(2.0 * most) as u32).map(|half| f64::from(half) / 2.0)
}

/// The rate to expect of one dialect over its real bits per key, up to `most`, as a list of points.
/// `native-compact` is the kind `compact` of the native dialect.
#[wasm_bindgen]
pub fn curve(dialect: &str, expected_keys: f64, most: f64) -> Result<String, String> {
    if dialect == "native-compact" {
        return Ok(json(&compact_curve(expected_keys as u64, most)));
    }
    let dialect: Name = dialect.parse().map_err(|e: fullbloom_dialects::error::UnknownName| e.to_string())?;
    let expected_keys = expected_keys as u64;
    let mut points: Vec<Point> = Vec::new();
    for bits in steps(most) {
        let targets = [Target::BitsPerKey(bits), Target::Fpr(textbook_fpr(bits).0)];
        let plan = targets
            .into_iter()
            .find_map(|target| any::plan(dialect, &Request { expected_keys, target }).ok());
        let Some(plan) = plan else { continue };
        let bits_per_key = plan.geometry.bit_len as f64 / expected_keys.max(1) as f64;
        let is_new = points.last().is_none_or(|last| bits_per_key > last.bits_per_key + 1e-9);
        if is_new && bits_per_key <= most * 1.02 {
            points.push(Point { bits_per_key, fpr: plan.expected_fpr, probes: plan.geometry.probes });
        }
    }
    Ok(json(&points))
}

/// Compact filters are sized by their rate. No probe count: a lookup compares columns.
fn compact_curve(expected_keys: u64, most: f64) -> Vec<Point> {
    let point = |half: u32| {
        let plan = CompactFilter::plan(expected_keys, (-f64::from(half) / 2.0).exp2()).ok()?;
        let bits_per_key = plan.bit_len as f64 / expected_keys.max(1) as f64;
        (bits_per_key <= most * 1.02).then_some(Point { bits_per_key, fpr: plan.expected_fpr, probes: 0 })
    };
    (2..=128).map_while(point).collect()
}

/// The rate of the textbook's filter, with its best number of probes.
fn textbook_fpr(bits_per_key: f64) -> (f64, u32) {
    // Enough keys that rounding does not show, and few enough that their bits are exact.
    let keys = 1e9;
    let rate = |probes: u32| (classic_fpr(keys, (bits_per_key * keys) as u64, probes), probes);
    let most = (bits_per_key as u32 + 1).max(1);
    (1..=most).map(rate).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((1.0, 1))
}

/// The curve that textbooks draw.
#[wasm_bindgen]
pub fn textbook(most: f64) -> String {
    let point = |bits_per_key| {
        let (fpr, probes) = textbook_fpr(bits_per_key);
        Point { bits_per_key, fpr, probes }
    };
    json(&steps(most).map(point).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
