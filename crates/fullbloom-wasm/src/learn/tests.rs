use super::*;
use serde_json::Value;

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_probes_of_an_inserted_key_are_the_set_bits_of_the_array() {
    let picture = Picture::new("libbloom-1", 64, 3, "alice").unwrap();
    let touched = parsed(&picture.lookup("alice"));
    assert_eq!(touched["may_contain"], true);
    let mut probes: Vec<u64> =
        touched["probes"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect();
    assert_eq!(touched["set"], serde_json::json!([true, true, true]));
    let bits = picture.bits();
    let mut set: Vec<u64> =
        (0..64).filter(|at| bits[at / 8] >> (at % 8) & 1 == 1).map(|at| at as u64).collect();
    probes.sort_unstable();
    probes.dedup();
    set.sort_unstable();
    assert_eq!(probes, set);
    let absent = parsed(&Picture::new("libbloom-1", 64, 3, "").unwrap().lookup("alice"));
    assert_eq!(
        (absent["may_contain"].as_bool(), &absent["set"]),
        (Some(false), &serde_json::json!([false, false, false]))
    );
}

#[test]
fn erasing_a_key_clears_its_bits_and_those_of_keys_that_share_them() {
    let mut picture = Picture::new("libbloom-1", 64, 3, "alice\nbob").unwrap();
    let before = picture.expected_fpr();
    picture.erase("alice").unwrap();
    assert_eq!(parsed(&picture.lookup("alice"))["may_contain"], false);
    assert!(picture.expected_fpr() < before);
    picture.erase("bob").unwrap();
    assert_eq!(picture.bits(), [0; 8]);
}

#[test]
fn pictures_of_every_dialect_are_made_or_refused_and_never_panic() {
    let mut made = 0;
    for name in Name::ALL {
        for (bits, probes) in [(0, 0), (0, 3), (1, 1), (64, 0), (64, 3), (256, 8), (512, 6), (512, u32::MAX)]
        {
            let Ok(picture) = Picture::new(name.as_str(), bits, probes, "alice\nbob\n") else { continue };
            made += 1;
            for key in ["alice", "bob", "", "nobody"] {
                let touched = parsed(&picture.lookup(key));
                let lists = [&touched["probes"], &touched["set"]].map(|list| list.as_array().unwrap().len());
                assert_eq!(lists[0], lists[1], "{name}");
            }
            assert_eq!(parsed(&picture.lookup("alice"))["may_contain"], true, "{name}, {bits} bits");
            assert!((0.0..=1.0).contains(&picture.expected_fpr()), "{name}");
        }
    }
    assert!(made > 20, "{made} pictures");
    assert!(Picture::new("nonsense", 64, 3, "").is_err());
}

#[test]
fn filters_of_ten_bits_per_key_save_nearly_all_reads_of_absent_keys() {
    let said = parsed(&reads(8, 500, 10.0, 200, 5).unwrap());
    assert_eq!(said["without"], 1600);
    let with_filters = said["with_filters"].as_u64().unwrap();
    assert!(with_filters < 40, "{with_filters} of 1600 reads");
    let shown = said["shown"].as_array().unwrap();
    assert!(shown.len() == 5 && shown.iter().all(|tables| tables.as_array().unwrap().len() == 8));
    assert!(said["filter_bytes"].as_u64().unwrap() >= 8 * 500 * 10 / 8);
    let nothing = parsed(&reads(0, 0, 10.0, 0, 5).unwrap());
    assert_eq!(nothing["filter_bytes"], 0);
    for bits in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let _ = reads(1, 10, bits, 1, 1);
    }
}

#[test]
fn samples_are_files_that_contain_their_keys() {
    for name in ["cassandra", "rocksdb", "guava", "native"] {
        let options = ReadOptions::from(name.parse::<Name>().unwrap());
        let filter = AnyFilter::decode(&sample(name).unwrap(), &options).unwrap();
        assert!((0..3000).all(|i| filter.may_contain(format!("user:{i}").as_bytes())), "{name}");
        assert!(
            (0..1000).filter(|i| filter.may_contain(format!("absent:{i}").as_bytes())).count() < 40,
            "{name}"
        );
    }
    let compact = sample("native-compact").unwrap();
    assert!(compact.len() < sample("native").unwrap().len());
    let holed = AnyFilter::decode(&sample("holed").unwrap(), &ReadOptions::from(Name::Cassandra)).unwrap();
    let lost = (0..3000).filter(|i| !holed.may_contain(format!("user:{i}").as_bytes())).count();
    assert!((600..2400).contains(&lost), "{lost} keys of 3000 lost");
    assert!(sample("nonsense").is_err());
}
