use super::*;
use serde_json::Value;

fn plan_of(expected_keys: f64, wish: &str, value: f64) -> Value {
    serde_json::from_str(&plan(expected_keys, wish, value).unwrap()).unwrap()
}

fn place<'a>(report: &'a Value, dialect: &str) -> &'a Value {
    let places = report["places"].as_array().unwrap();
    places.iter().find(|place| place["dialect"] == dialect).unwrap()
}

fn points(json: &str) -> Vec<(f64, f64)> {
    let points: Vec<Value> = serde_json::from_str(json).unwrap();
    let number = |point: &Value, field: &str| point[field].as_f64().unwrap();
    points.iter().map(|point| (number(point, "bits_per_key"), number(point, "fpr"))).collect()
}

#[test]
fn a_million_keys_at_one_percent_take_what_the_engines_take() {
    let report = plan_of(1e6, "fpr", 0.01);
    assert_eq!(report["places"].as_array().unwrap().len(), Name::ALL.len());
    // Cassandra rounds up to whole bits per key, parquet-java to a power of two, libbloom to the bit.
    assert_eq!(place(&report, "cassandra")["probes"], 5);
    assert_eq!(place(&report, "parquet")["bits"], 8 * 2_097_152);
    assert_eq!(place(&report, "libbloom")["bits"], 9_585_058);
    assert_eq!(place(&report, "libbloom")["probes"], 7);
    let native = place(&report, "native");
    assert!(native["expected_fpr"].as_f64().unwrap() <= 0.01);
    let compact = &native["compact"];
    assert!(compact["bytes"].as_u64().unwrap() < native["bytes"].as_u64().unwrap());
    assert_eq!(report["summary"]["expected_keys"], 1_000_000);
}

#[test]
fn bits_per_key_and_memory_are_kept() {
    let report = plan_of(50_000.0, "bits_per_key", 12.0);
    assert!(place(&report, "rocksdb")["bits_per_key"].as_f64().unwrap() <= 12.1);
    let report = plan_of(1e6, "memory", 1_250_000.0);
    assert_eq!(report["summary"]["memory"], 1_250_000);
    assert!(place(&report, "native")["bytes"].as_u64().unwrap() <= 1_250_000);
}

#[test]
fn impossible_wishes_are_problems_and_never_panics() {
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1.0, 1e-300, 1e15, 1e300];
    for keys in numbers {
        for wish in ["fpr", "bits_per_key", "memory", "nonsense"] {
            for value in numbers {
                let json = match plan(keys, wish, value) {
                    Ok(report) => report,
                    Err(problem) => problem,
                };
                let json: Value = serde_json::from_str(&json).unwrap();
                assert!(json["message"].is_string() || json["places"].is_array(), "{keys}, {wish} {value}");
            }
        }
    }
    let problem: Value = serde_json::from_str(&plan(1e6, "fpr", 0.0).unwrap_err()).unwrap();
    assert!(!problem["message"].as_str().unwrap().is_empty());
}

#[test]
fn a_curve_falls_as_bits_are_added_and_ends_at_the_asked_width() {
    let names = Name::ALL.iter().map(|name| name.as_str()).chain(["native-compact"]);
    for name in names {
        let points = points(&curve(name, 1e6, 24.0).unwrap());
        assert!(points.len() >= 3, "{name}: {} points", points.len());
        for pair in points.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{name}: {pair:?}");
        }
        let (first, last) = (points[0], points[points.len() - 1]);
        assert!(last.1 < first.1 && last.0 <= 24.0 * 1.02, "{name}: {first:?} to {last:?}");
        assert!(points.iter().all(|point| point.1 > 0.0 && point.1 <= 1.0), "{name}");
    }
    assert!(curve("nonsense", 1e6, 24.0).unwrap_err().contains("nonsense"));
}

#[test]
fn curves_of_no_keys_or_no_width_are_empty_or_short_and_never_panic() {
    for name in ["native", "native-compact", "cassandra", "rocksdb-ribbon", "parquet"] {
        for keys in [0.0, 1.0, f64::NAN, -5.0, 1e15, 1e300] {
            for most in [0.0, 1.0, f64::NAN, -1.0, 24.0] {
                points(&curve(name, keys, most).unwrap());
            }
        }
    }
    assert_eq!(textbook(0.0), "[]");
}

#[test]
fn the_textbook_has_its_known_rates() {
    let points = points(&textbook(24.0));
    let at = |bits: f64| points.iter().find(|point| point.0 == bits).unwrap().1;
    // 0.6185 to the power of the bits per key, and a little more, because probes are whole.
    assert!((at(10.0) - 0.00819).abs() < 1e-5, "{}", at(10.0));
    assert!((at(8.0) - 0.02158).abs() < 1e-5, "{}", at(8.0));
    assert_eq!(points.len(), 47);
    assert!(points.windows(2).all(|pair| pair[1].1 < pair[0].1));
}
