//! A file assembled from slices equals the file of the filter built in one place.

use fullbloom::keys::Column;
use fullbloom::sizing::{Prefer, Sizing};
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_any::slices::{Scatter, SliceError, SliceFacts, Slicing};
use fullbloom_testkit::keys::SplitMix;

fn plan(expected_keys: u64, fpr: f64) -> Sizing {
    Sizing::new(&Request { expected_keys, target: Target::Fpr(fpr) }).unwrap()
}

/// Keys of which about every third is a repeat, of a recent or an old key.
fn keys(count: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix::new(seed);
    let mut keys: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count {
        let key = match random.next_u64() % 6 {
            0 if i > 0 => keys[random.next_u64() as usize % i],
            1 if i > 0 => keys[i - 1 - random.next_u64() as usize % i.min(100)],
            _ => random.next_u64(),
        };
        keys.push(key);
    }
    keys
}

/// The file from slices: the keys come in parts, each from a separate machine, which sends its waiting hashes
/// after every batch.
fn sliced(slicing: &Slicing, parts: &[&[u64]]) -> Vec<u8> {
    let mut slices: Vec<_> = (0..slicing.count()).map(|number| slicing.slice(number).unwrap()).collect();
    for part in parts {
        let mut scatter = Scatter::new(slicing);
        for batch in part.chunks(10_007) {
            scatter.insert_batch(&Column(batch)).unwrap();
            for (slice, run) in slices.iter_mut().zip(scatter.take()) {
                slice.insert_hashes(&run).unwrap();
            }
        }
    }
    let facts: Vec<_> = slices.iter().map(|slice| slice.facts()).collect();
    let mut file = slicing.header(&facts).unwrap();
    slices.iter().for_each(|slice| file.extend_from_slice(slice.bits()));
    file
}

#[test]
fn slices_of_any_size_give_the_file_of_the_whole_filter() {
    let secret = Hashing::Secret(Secret::new([7; 16]));
    for (fpr, lines) in [(0.01, 1), (2e-4, 2), (1e-7, 4)] {
        for hashing in [Hashing::Seed(0), Hashing::Seed(99), secret.clone()] {
            let keys = keys(200_000, 5);
            let plan = plan(100_000, fpr).prefer(Prefer::Space);
            assert_eq!(plan.layout.lines(), lines);
            let mut whole = fullbloom::Filter::with_sizing(&plan, hashing.clone()).unwrap();
            whole.insert_batch(&Column(&keys)).unwrap();
            let (a, b) = keys.split_at(70_001);
            for (bytes, slice_bytes) in
                [(1, 64 << 10), (64 << 10, 64 << 10), (100_000, 128 << 10), (u64::MAX, usize::MAX)]
            {
                let slicing = Slicing::new(&plan, hashing.clone(), bytes).unwrap();
                assert_eq!(slicing.count(), whole.bits().len().div_ceil(slice_bytes) as u64);
                assert!(sliced(&slicing, &[a, b, &[]]) == whole.encode(), "{fpr} {bytes}");
            }
        }
    }
}

#[test]
fn few_keys_and_none_give_the_file_of_the_whole_filter() {
    for count in [0, 1, 2, 1000] {
        let keys = keys(count, 9);
        let plan = plan(count as u64, 0.01);
        let mut whole = fullbloom::Filter::with_sizing(&plan, Hashing::default()).unwrap();
        whole.insert_batch(&Column(&keys)).unwrap();
        let slicing = Slicing::new(&plan, Hashing::default(), 1 << 20).unwrap();
        assert!(sliced(&slicing, &[&keys]) == whole.encode());
    }
}

#[test]
fn the_order_of_the_keys_does_not_matter() {
    // An overfull filter: whether a key is new depends on the earlier keys.
    let keys = keys(60_000, 3);
    let plan = plan(10_000, 0.01);
    let slicing = Slicing::new(&plan, Hashing::default(), 1).unwrap();
    let back: Vec<u64> = keys.iter().rev().copied().collect();
    assert!(sliced(&slicing, &[&keys]) == sliced(&slicing, &[&back]));
}

#[test]
fn a_hash_of_another_slice_is_refused_and_nothing_is_added() {
    let slicing = Slicing::new(&plan(300_000, 0.01), Hashing::default(), 1).unwrap();
    assert_eq!(slicing.count(), 6);
    let (mut own, mut stray) = (Vec::new(), None);
    for hash in keys(1000, 1) {
        if slicing.slice_of(hash) == 2 { own.push(hash) } else { stray = Some(hash) }
    }
    let mut slice = slicing.slice(2).unwrap();
    let stray = stray.unwrap();
    let mixed = [own.as_slice(), &[stray]].concat();
    let at = own.len();
    assert_eq!(slice.insert_hashes(&mixed), Err(SliceError::Stray { at, hash: stray }));
    assert!(slice.bits().iter().all(|byte| *byte == 0));
    slice.insert_hashes(&own).unwrap();
    assert!(slice.bits().iter().any(|byte| *byte != 0));
    assert!(slicing.slice(6).is_err());
}

#[test]
fn facts_that_are_not_of_all_slices_are_refused() {
    let slicing = Slicing::new(&plan(300_000, 0.01), Hashing::default(), 1).unwrap();
    let mut facts: Vec<SliceFacts> = (0..6).map(|number| slicing.slice(number).unwrap().facts()).collect();
    assert!(slicing.header(&facts).is_ok());
    facts[3].sums.pop();
    assert_eq!(slicing.header(&facts), Err(SliceError::Sums { slice: 3, got: 3, expected: 4 }));
    facts.pop();
    assert_eq!(slicing.header(&facts), Err(SliceError::Count { got: 5, expected: 6 }));
}

#[test]
fn impossible_numbers_of_blocks_are_refused() {
    let sound = plan(1000, 0.01);
    for blocks in [0, 1 << 40, u64::MAX] {
        let mut plan = sound.clone();
        plan.blocks = blocks;
        assert!(Slicing::new(&plan, Hashing::default(), 1).is_err(), "{blocks}");
    }
}

#[test]
fn a_key_that_repeats_soon_is_not_sent_again() {
    let slicing = Slicing::new(&plan(1000, 0.01), Hashing::default(), 1).unwrap();
    let mut scatter = Scatter::new(&slicing);
    scatter.insert_batch(&Hashing::default().hashes(&[5; 10_000])).unwrap();
    assert_eq!(scatter.waiting(), 1);
    // Hashes that equal the initial values of the table are sent like any other.
    scatter.insert_batch(&Hashing::default().hashes(&[!0, !1, 0, u64::MAX])).unwrap();
    assert_eq!(scatter.waiting(), 4);
    assert_eq!(scatter.take().concat(), [5, !0, !1, 0]);
    assert_eq!(scatter.waiting(), 0);
}
