//! What a filter stores, and what is made of bytes from elsewhere.

use crate::engine::FirstBytes;
use crate::policies::{built, compact, encoded, entry, fast, ours, point, prefix};
use fullbloom_slatedb::FullbloomPolicy;
use slatedb::{FilterPolicy, FilterQuery, PrefixExtractor, PrefixTarget};
use std::ops::Bound;
use std::sync::Arc;

fn keys(count: u32) -> Vec<[u8; 4]> {
    (0..count).map(u32::to_be_bytes).collect()
}

#[test]
fn keys_are_found_in_the_built_the_decoded_and_the_cached_filter() {
    for (name, policy) in ours() {
        for count in [0, 1, 2, 1_000, 50_000] {
            let keys = keys(count);
            let filter = built(&policy, &keys);
            let decoded = policy.decode(&encoded(&*filter));
            for filter in [&filter, &decoded, &filter.clamp_allocated_size(), &decoded.clamp_allocated_size()]
            {
                assert!(keys.iter().all(|key| point(&**filter, key)), "{name}: {count} keys");
                let absent =
                    (count..count + 1_000).filter(|key| point(&**filter, &key.to_be_bytes())).count();
                assert!(absent < 50, "{name}: {count} keys: {absent} false positives");
            }
            assert_eq!(encoded(&*decoded), encoded(&*filter), "{name}: {count} keys");
        }
    }
}

/// Every policy reads what every other wrote.
#[test]
fn all_kinds_have_the_same_name_and_read_each_other() {
    let keys = keys(1_000);
    for (writer_name, writer) in ours() {
        let bytes = encoded(&*built(&writer, &keys));
        for (reader_name, reader) in ours() {
            assert_eq!(writer.name(), reader.name());
            let filter = reader.decode(&bytes);
            assert!(keys.iter().all(|key| point(&*filter, key)), "{writer_name} read by {reader_name}");
            assert!(!point(&*filter, b"no such key"), "{writer_name} read by {reader_name}");
        }
    }
}

/// The bytes are those of a `.bloom` file, so that tools can read them.
#[test]
fn the_bytes_are_a_native_filter() {
    for (name, policy) in ours() {
        let bytes = encoded(&*built(&policy, &keys(1_000)));
        let filter = fullbloom_any::AnyFilter::decode(&bytes, &Default::default());
        assert!(filter.is_ok(), "{name}: {:?}", filter.err());
    }
}

#[test]
fn unknown_and_damaged_bytes_answer_maybe_and_are_kept() {
    for (name, policy) in ours() {
        let bytes = encoded(&*built(&policy, &keys(100)));
        let mut later = bytes.clone();
        later[8] ^= 0x40;
        let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
        for damaged in [b"".to_vec(), b"from a later version".to_vec(), later].into_iter().chain(cut) {
            let filter = policy.decode(&damaged);
            assert!(
                point(&*filter, b"absent") && point(&*filter, &[0, 0, 0, 1]),
                "{name}: {} bytes",
                damaged.len()
            );
            assert_eq!(encoded(&*filter), damaged, "{name}");
            assert_eq!(filter.size(), damaged.len(), "{name}");
        }
    }
}

#[test]
fn no_flipped_bit_of_the_front_panics() {
    for (_, policy) in ours() {
        let bytes = encoded(&*built(&policy, &keys(100)));
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            let filter = policy.decode(&damaged);
            point(&*filter, b"absent");
            encoded(&*filter);
        }
    }
}

#[test]
fn versions_of_a_key_are_stored_once() {
    for (name, policy) in ours() {
        let mut builder = policy.builder();
        for seq in 0..10_000 {
            builder.add_entry(&entry(b"one key", seq));
        }
        assert_eq!(builder.build().size(), built(&policy, &["one key"]).size(), "{name}");
    }
}

#[test]
fn prefixes_are_found_and_others_are_not() {
    for (name, policy) in ours() {
        let policy = policy.with_prefix_extractor(Arc::new(FirstBytes(2)));
        assert!(policy.supports_prefix_queries() && !policy.supports_range_queries());
        let keys = ["aa1", "aa2", "ab1", "b"];
        let filter = policy.decode(&encoded(&*built(&policy, &keys)));
        assert!(keys.iter().all(|key| point(&*filter, key.as_bytes())), "{name}");
        assert!(
            ["aa", "aa1", "aazzz", "ab"].iter().all(|found| prefix(&*filter, found.as_bytes())),
            "{name}"
        );
        let other = ["zz", "ac", "bb", "b1", "cc", "dd"];
        assert!(other.iter().filter(|other| prefix(&*filter, other.as_bytes())).count() < 2, "{name}");
        assert!(prefix(&*filter, b"a"), "{name}: too short to be looked up");
        assert!(!point(&*filter, b"aa"), "{name}: a prefix is not a key");
        let range = FilterQuery::range(Bound::Unbounded, Bound::Unbounded);
        assert!(filter.might_match(&range), "{name}");
    }
}

#[test]
fn without_whole_keys_a_key_is_looked_up_by_its_prefix() {
    for (name, policy) in ours() {
        let keys: Vec<String> = (0..1_000).map(|i| format!("aa{i}")).collect();
        let whole = policy.clone().with_prefix_extractor(Arc::new(FirstBytes(2)));
        let only = whole.clone().with_whole_key_filtering(false);
        let filter = only.decode(&encoded(&*built(&only, &keys)));
        assert!(filter.size() < built(&whole, &keys).size(), "{name}");
        assert!(point(&*filter, b"aa1") && point(&*filter, b"aa-not-there"), "{name}");
        assert!(!point(&*filter, b"zz1"), "{name}");
        assert_ne!(only.name(), whole.name());
    }
}

#[test]
fn a_policy_that_stores_nothing_answers_maybe() {
    for (name, policy) in ours() {
        let policy = policy.with_whole_key_filtering(false);
        let filter = built(&policy, &["a"]);
        assert!(point(&*filter, b"a") && point(&*filter, b"b") && prefix(&*filter, b"b"), "{name}");
        assert!(!policy.supports_prefix_queries());
    }
}

/// An extractor whose prefixes are longer than the keys would lose prefixes.
#[test]
fn the_filter_of_a_broken_extractor_answers_maybe() {
    struct TooLong;
    impl PrefixExtractor for TooLong {
        fn name(&self) -> &str {
            "too-long"
        }
        fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
            let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
            Some(bytes.len() + usize::from(bytes.len() < 3))
        }
    }
    for (name, policy) in ours() {
        let policy = policy.with_prefix_extractor(Arc::new(TooLong));
        let filter = policy.decode(&encoded(&*built(&policy, &["long enough", "no"])));
        assert!(
            point(&*filter, b"no") && point(&*filter, b"absent") && prefix(&*filter, b"absent"),
            "{name}"
        );
    }
}

/// 1 % in 7.1 instead of 10 bits per key.
#[test]
fn compact_filters_are_smaller() {
    let keys = keys(100_000);
    let [fast, compact] = [fast(), compact()].map(|policy| built(&policy, &keys).size());
    assert!(compact * 100 < fast * 73, "{compact} and {fast} bytes");
}

#[test]
fn impossible_sizes_are_refused() {
    for bits_per_key in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        assert!(FullbloomPolicy::fast(bits_per_key).is_err(), "{bits_per_key}");
    }
    assert!(FullbloomPolicy::fast(1).is_ok() && FullbloomPolicy::fast(100).is_ok());
    for fpr in [0.0, -0.01, 0.6, 1.0, f64::NAN, 1e-30] {
        assert!(FullbloomPolicy::compact(fpr).is_err(), "{fpr}");
    }
    assert!(FullbloomPolicy::compact(0.5).is_ok() && FullbloomPolicy::compact(1e-9).is_ok());
}

#[test]
fn the_estimated_size_is_close_and_not_too_small() {
    for (name, policy) in ours() {
        for count in [0, 1_000, 100_000] {
            let (estimated, real) =
                (policy.estimate_size(count), encoded(&*built(&policy, &keys(count as u32))).len());
            assert!(
                estimated >= real && estimated <= real + real / 20 + 1_024,
                "{name}: {estimated} for {real}"
            );
        }
    }
}

#[test]
fn a_builder_can_be_used_again() {
    for (name, policy) in ours() {
        let mut builder = policy.builder();
        builder.add_entry(&entry(b"first", 1));
        let first = builder.build();
        builder.add_entry(&entry(b"first", 1));
        assert_eq!(encoded(&*builder.build()), encoded(&*first), "{name}");
    }
}
