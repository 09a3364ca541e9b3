//! An inserted key is found: in every dialect, for keys of every shape, in filters that fit in the caches and
//! in larger ones, looked up singly and in batches, in the built filter and in its encoded bytes.

use crate::common::{raw_geometry, view};
use fullbloom::sizing::{Request, Target};
use fullbloom_any::{AnyFilter, Builder};
use fullbloom_dialects::Name;
use fullbloom_testkit::keys::Shape;

fn built(name: Name, keys: &[&[u8]]) -> AnyFilter {
    // LevelDB's bits for a rate are found by filling filters, which is slow.
    let target = match name {
        Name::LevelDb | Name::RocksDbBlock => Target::BitsPerKey(10.0),
        _ => Target::Fpr(0.01),
    };
    // libbloom accepts no fewer than 1,000 keys.
    let request = Request { expected_keys: keys.len().max(1000) as u64, target };
    let mut builder = Builder::new(name, &request).unwrap();
    keys.chunks(10_007).for_each(|some| builder.add_batch(some));
    builder.build().unwrap()
}

/// How many of these keys the filter reports absent, with single lookups and in batches.
fn lost(filter: &AnyFilter, keys: &[&[u8]]) -> usize {
    let mut answers = vec![false; keys.len()];
    filter.may_contain_batch_into(keys, &mut answers).unwrap();
    answers.iter().filter(|&&found| !found).count()
        + keys.iter().filter(|key| !filter.may_contain(key)).count()
}

/// Makes four lookups for each key of each filter. Returns the number of lookups.
fn look_up_all(sizes: &[u64]) -> u64 {
    let mut lookups = 0;
    for shape in Shape::ALL {
        for &size in sizes {
            let owned: Vec<Vec<u8>> = (0..size).map(|i| shape.key(i)).collect();
            let keys: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
            // Looked up in another order than they were inserted.
            let queried: Vec<&[u8]> = keys.iter().rev().copied().collect();
            for &name in Name::ALL {
                let filter = built(name, &keys);
                assert_eq!(lost(&filter, &queried), 0, "{name}, {size} keys, {shape:?}");
                let read = view(name, &filter.encode(), raw_geometry(&filter)).unwrap();
                assert_eq!(lost(&read, &queried), 0, "{name}, {size} keys, {shape:?}, written and read");
                lookups += 4 * size;
            }
        }
    }
    lookups
}

#[test]
fn every_inserted_key_is_found() {
    assert_eq!(look_up_all(&[1, 7, 100, 3_000]), 4 * 3_108 * (Name::ALL.len() * Shape::ALL.len()) as u64);
}

/// Half a billion lookups; `FULLBLOOM_KERNEL` selects the kernel.
#[test]
#[ignore = "a minute: cargo test --release -p fullbloom-any --test it found:: -- --ignored --nocapture"]
fn half_a_billion_lookups_of_inserted_keys_find_them_all() {
    let lookups = look_up_all(&[1_000, 100_000, 2_000_000]);
    println!("{lookups} lookups, kernel {}, no key lost", fullbloom::kernel::Kernel::in_use());
    assert!(lookups >= 500_000_000);
}
