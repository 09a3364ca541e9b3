//! Bit flips injected where failing memory would cause them.

use super::*;

const KINDS: [FilterType; 3] = [FilterType::Legacy, FilterType::FastLocal, FilterType::Ribbon];

fn filled_builder(kind: FilterType, keys: u32) -> Builder {
    let mut builder = Builder::new(Policy::new(kind, 10.0).unwrap()).with_corruption_detection();
    (0..keys).for_each(|i| builder.insert(&i.to_be_bytes()));
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
                assert_eq!(builder.finish().err(), Some(BuildError::HashesChanged), "{kind:?} {keys} {bit}");
                // The builder is ready for the next filter.
                builder.insert(b"next");
                let content = builder.finish().unwrap().encode();
                assert_eq!(builder.verify(&content), Ok(()));
            }
        }
    }
}

#[test]
fn a_flip_goes_undetected_without_corruption_detection() {
    let mut builder = Builder::new(Policy::new(FilterType::FastLocal, 10.0).unwrap());
    (0..100u32).for_each(|i| builder.insert(&i.to_be_bytes()));
    flip(&mut builder.open, 17, 40);
    let filter = builder.finish().unwrap();
    assert!(!filter.may_contain(&17u32.to_be_bytes()), "the key whose hash was flipped is lost");
}

/// A hash that is not in the filter is reported missing, unless it is a false positive. A low bit hardly
/// changes the block of FastLocalBloom, and the legacy filter is at its worst with numbers like these.
#[test]
fn a_hash_flipped_after_the_build_is_found_by_the_requery() {
    for kind in KINDS {
        let found = (0..64).filter(|&bit| {
            let mut builder = filled_builder(kind, 1200);
            let content = builder.finish().unwrap().encode();
            flip(builder.unverified.as_mut().unwrap(), 700, bit);
            let verdict = builder.verify(&content);
            assert_eq!(builder.verify(&content), Ok(()), "verified once, then forgotten");
            verdict == Err(BuildError::KeysLost { missing: 1, of: 1200 })
        });
        assert!(found.count() >= 32, "{kind:?}");
    }
}
