//! Many threads on one filter: no bit is lost, and no key is new twice. Building in parts gives the same
//! filter.

use crate::common::cases;

use fullbloom::bulk::Builder;
use fullbloom::keys::Column;
use fullbloom::{Filter, Hashing, SharedFilter};
use fullbloom_testkit::keys::mix;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

const THREADS: u64 = 8;

#[test]
fn eight_threads_lose_no_bit_of_different_keys() {
    for (keys, fpr) in [(400_000u64, 0.01), (200_000, 1e-4), (100_000, 1e-8)] {
        let shared = SharedFilter::with_fpr(keys, fpr).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                // A key found once is found from then on.
                let mut found = 0;
                while !done.load(Ordering::Relaxed) {
                    for i in 0..1000 {
                        if shared.may_contain(mix(i).to_le_bytes()) {
                            assert!(shared.may_contain(mix(i).to_le_bytes()), "a bit was lost");
                            found += 1;
                        }
                    }
                }
                found
            });
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let shared = &shared;
                    scope.spawn(move || {
                        for i in (thread..keys).step_by(THREADS as usize) {
                            shared.insert(mix(i).to_le_bytes());
                            assert!(shared.may_contain(mix(i).to_le_bytes()));
                        }
                    })
                })
                .collect();
            let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            done.store(true, Ordering::Relaxed); // before any assertion: otherwise the reader would never end
            ended.into_iter().for_each(|ended| ended.unwrap());
            reader.join().unwrap();
        });
        let mut alone = Filter::with_fpr(keys, fpr).unwrap();
        alone.insert_batch(&Column(&(0..keys).map(mix).collect::<Vec<_>>())).unwrap();
        let filter = shared.into_filter();
        assert!(filter.encode() == alone.encode(), "the file differs from that of one thread");
    }
}

/// Few words, and threads that begin each filter together: if a word were read and written in two steps, a
/// bit would soon be lost. Larger filters hide that, because threads seldom access the same word.
#[test]
fn threads_that_meet_in_few_words_lose_no_bit() {
    const FIGHTERS: usize = 3;
    const EACH: u64 = 64;
    let keys = |fighter: usize| (0..EACH).map(move |i| mix(fighter as u64 * EACH + i).to_le_bytes());
    let filters: Vec<(SharedFilter, AtomicU8)> = (0..cases(2_000, 400))
        .map(|_| (SharedFilter::with_bits_per_key(FIGHTERS as u64 * EACH, 10.0).unwrap(), AtomicU8::new(0)))
        .collect();
    std::thread::scope(|scope| {
        for fighter in 0..FIGHTERS {
            let filters = &filters;
            scope.spawn(move || {
                for (filter, arrived) in filters {
                    arrived.fetch_add(1, Ordering::AcqRel);
                    let mut patience = 0;
                    while usize::from(arrived.load(Ordering::Acquire)) < FIGHTERS {
                        patience += 1;
                        if patience % 1000 == 0 {
                            std::thread::yield_now(); // fewer cores than threads
                        }
                    }
                    keys(fighter).for_each(|key| {
                        filter.insert(key);
                    });
                }
            });
        }
    });
    let mut alone = Filter::with_bits_per_key(FIGHTERS as u64 * EACH, 10.0).unwrap();
    for key in (0..FIGHTERS).flat_map(keys) {
        alone.insert(key);
    }
    let made = filters.into_iter().map(|(shared, _)| shared.into_filter());
    let lost = made.filter(|filter| filter.bits() != alone.bits()).count();
    assert_eq!(lost, 0);
}

#[test]
fn every_key_that_eight_threads_insert_at_once_is_new_exactly_once() {
    const KEYS: u64 = 200_000;
    // Large enough that no key is a false positive: about one in 10^9 would be.
    let shared = SharedFilter::with_bits_per_key(KEYS, 64.0).unwrap();
    let new: Vec<AtomicU8> = (0..KEYS).map(|_| AtomicU8::new(0)).collect();
    let start = std::sync::Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                for i in 0..KEYS {
                    if shared.insert(mix(i).to_le_bytes()) {
                        new[i as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(new.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    assert!(shared.estimated_keys().unwrap().round() as u64 == shared.into_filter().keys());
}

/// For ThreadSanitizer, which checks every memory access.
#[test]
#[ignore = "minutes, and meant for ThreadSanitizer: proofs/tsan/run"]
fn eight_threads_of_ten_million_operations_each_lose_no_key() {
    const EACH: u64 = 10_000_000;
    // 2.5 MiB: threads access the same lines all the time. Half of a thread's operations are insertions.
    const KEYS: u64 = 2_000_000;
    let shared = SharedFilter::with_fpr(KEYS, 0.01).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let shared = &shared;
            scope.spawn(move || {
                for i in 0..EACH / 2 {
                    let key = mix((i * THREADS + thread) % KEYS).to_le_bytes();
                    shared.insert(key);
                    assert!(shared.may_contain(key));
                }
            });
        }
    });
    let filter = shared.into_filter();
    let lost = (0..KEYS).filter(|&i| !filter.may_contain(mix(i).to_le_bytes())).count();
    assert_eq!(lost, 0);
}

#[test]
fn in_a_crowded_filter_no_key_is_new_twice() {
    const KEYS: u64 = 20_000;
    for bits_per_key in [2.0, 5.0, 20.0] {
        let shared = SharedFilter::with_bits_per_key(KEYS, bits_per_key).unwrap();
        let new: Vec<AtomicU8> = (0..KEYS).map(|_| AtomicU8::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (shared, new) = (&shared, &new);
                scope.spawn(move || {
                    // Half of the threads run in the opposite order.
                    for i in 0..KEYS {
                        let i = if thread % 2 == 0 { i } else { KEYS - 1 - i };
                        if shared.insert(mix(i).to_le_bytes()) {
                            new[i as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(new.iter().all(|count| count.load(Ordering::Relaxed) <= 1), "{bits_per_key} bits per key");
    }
}

#[test]
fn building_in_parts_gives_the_same_filter() {
    // 8 MiB and more are built in parts by several threads; 1e-3 has two lines per key.
    let builds = [(8_000_000u64, 0.01, 2), (5_000_000, 1e-3, 3), (8_000_000, 0.01, 1)];
    for (keys, fpr, threads) in builds.into_iter().take(cases(3, 2) as usize) {
        let numbers: Vec<u64> = (0..keys).map(mix).collect();
        let mut direct = Filter::with_fpr(keys, fpr).unwrap();
        assert!(direct.geometry().bit_len >= 8 * (8 << 20), "large enough to be built in parts");
        direct.insert_batch(&Column(&numbers)).unwrap();

        let mut parallel = Filter::with_fpr(keys, fpr).unwrap();
        parallel.insert_parallel(&Column(&numbers), threads).unwrap();
        assert!(parallel.encode() == direct.encode());

        let mut builder = Builder::new(Filter::with_fpr(keys, fpr).unwrap(), threads);
        for (i, some) in numbers.chunks(300_001).enumerate() {
            if i % 2 == 0 {
                builder.add_batch(&Column(some)).unwrap();
            } else {
                let hashes: Vec<u64> =
                    some.iter().map(|key| direct.hash(key.to_le_bytes()).to_raw()).collect();
                builder.add_batch(&Hashing::default().hashes(&hashes)).unwrap();
            }
        }
        let built = builder.build();
        assert!(built.bits() == direct.bits());
        // All keys again, and one key very often: buckets overflow, and no key is lost.
        let mut builder = Builder::new(built, threads);
        builder.add_batch(&Column(&numbers)).unwrap();
        builder.add_batch(&Column(&vec![mix(5); 3_000_000])).unwrap();
        let built = builder.build();
        assert!(built.encode() == direct.encode());
    }
}

#[test]
fn a_filter_from_a_file_forgets_its_number_of_keys_when_it_is_shared() {
    let mut alone = Filter::with_fpr(100_000, 0.01).unwrap();
    alone.insert_batch(&Column(&(0..10u64).collect::<Vec<_>>())).unwrap();
    let shared = SharedFilter::from(Filter::decode(&alone.encode()).unwrap());
    for key in 10..50_000u64 {
        shared.insert(key);
    }
    alone.insert_batch(&Column(&(10..50_000u64).collect::<Vec<_>>())).unwrap();
    assert_eq!(shared.snapshot().unwrap().keys(), alone.keys());
    assert!(shared.encode().unwrap() == alone.encode());
    let mut emptied = shared;
    emptied.clear().unwrap();
    assert_eq!(emptied.into_filter().keys(), 0);
}
