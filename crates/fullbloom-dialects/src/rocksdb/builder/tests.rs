//! Bit flips injected where failing memory would cause them.

use super::*;

const KINDS: [FilterType; 3] = [FilterType::Legacy, FilterType::FastLocal, FilterType::Ribbon];

fn filled_builder(kind: FilterType, keys: u32) -> Builder {
    let mut builder = Builder::new(Policy::new(kind, 10.0).unwrap()).with_corruption_detection();
    (0..keys).for_each(|i| builder.add(&i.to_be_bytes()));
    builder
}

fn flip(collected: &mut Collected, index: usize, bit: u32) {
    match &mut collected.hashes {
        Hashes::Narrow(entries) => entries.corrupt(index, |hash| *hash ^= 1 << (bit % 32)),
        Hashes::Wide(entries) => entries.corrupt(index, |hash| *hash ^= 1 << bit),
    }
}

#[test]
fn a_flipped_bit_in_any_kept_hash_is_found_before_the_filter_is_given_out() {
    for kind in KINDS {
        for keys in [1, 2, 1200] {
            for bit in 0..64 {
                let mut builder = filled_builder(kind, keys);
                flip(&mut builder.open, bit as usize % keys as usize, bit);
                assert_eq!(builder.build().err(), Some(BuildError::HashesChanged), "{kind:?} {keys} {bit}");
                // The builder is ready for the next filter.
                builder.add(b"next");
                let content = builder.build().unwrap().encode();
                assert_eq!(builder.verify(&content), Ok(()));
            }
        }
    }
}

#[test]
fn a_flip_goes_undetected_without_corruption_detection() {
    let mut builder = Builder::new(Policy::new(FilterType::FastLocal, 10.0).unwrap());
    (0..100u32).for_each(|i| builder.add(&i.to_be_bytes()));
    flip(&mut builder.open, 17, 40);
    let filter = builder.build().unwrap();
    assert!(!filter.may_contain(&17u32.to_be_bytes()), "the key whose hash was flipped is lost");
}

/// A hash that is not in the filter is reported missing, unless it is a false positive. A low bit hardly
/// changes the block of FastLocalBloom, and the legacy filter is at its worst with numbers like these.
#[test]
fn a_hash_flipped_after_the_build_is_found_by_the_requery() {
    for kind in KINDS {
        let found = (0..64).filter(|&bit| {
            let mut builder = filled_builder(kind, 1200);
            let content = builder.build().unwrap().encode();
            flip(builder.unverified.as_mut().unwrap(), 700, bit);
            let verdict = builder.verify(&content);
            assert_eq!(builder.verify(&content), Ok(()), "verified once, then forgotten");
            verdict == Err(BuildError::KeysLost { missing: 1, of: 1200 })
        });
        assert!(found.count() >= 32, "{kind:?}");
    }
}

#[test]
fn versions_of_a_key_and_neighbours_that_share_a_prefix_are_stored_once() {
    for kind in KINDS {
        let mut builder = Builder::new(Policy::new(kind, 10.0).unwrap());
        for user in 0..100u32 {
            let prefix = user.to_be_bytes();
            builder.add(&[&b"between "[..], &prefix].concat()); // a key outside the domain of the extractor
            for thing in 0..30u32 {
                let key = [prefix, thing.to_be_bytes()].concat();
                (0..3).for_each(|_version| builder.add_with_prefix(&key, Some(&prefix)));
            }
        }
        assert_eq!(builder.entries(), 100 * (1 + 1 + 30), "{kind:?}");
    }
}

#[test]
fn hashes_and_keys_give_the_same_bytes() {
    for kind in KINDS {
        let builder = || Builder::new(Policy::new(kind, 10.0).unwrap()).with_corruption_detection();
        let (mut keys, mut hashes, mut built) = (builder(), builder(), builder());
        for i in 0..1200u32 {
            let key = i.to_be_bytes();
            keys.add(&key);
            hashes.add_hash(hashes.hash(&key)).unwrap();
            built.add(&key);
        }
        let bytes = keys.finish().unwrap();
        assert_eq!(keys.entries(), 0);
        assert_eq!(bytes, hashes.finish().unwrap(), "{kind:?}");
        assert_eq!(bytes, built.build().unwrap().encode(), "{kind:?}");
        let other = KINDS.map(|kind| Builder::new(Policy::new(kind, 10.0).unwrap()).hash(b"key"));
        let taken = other.map(|hash| hashes.add_hash(hash).is_ok());
        assert_eq!(taken, KINDS.map(|other| (other == FilterType::Legacy) == (kind == FilterType::Legacy)));
    }
}
