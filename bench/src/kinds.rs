//! The native kind `dynamic` beside `fast`, and beside filters of others that grow or support deletion.

use crate::Common;
use crate::harness::{self, Row, Setting};
use crate::keys::mix;
use fullbloom::keys::Column;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};
use std::error::Error;
use std::hint::black_box;
use xxhash_rust::xxh3::xxh3_64;

const FAST: &str = "fast";
const SIZED: &str = "dynamic, sized";
const GROWN: &str = "dynamic, from 1,000 up to 10^9";
const COUNTING: &str = "dynamic, counting, sized";
const COUNTING_GROWN: &str = "dynamic, counting, from 1,000 up to 10^9";
const QFILTER: &str = "qfilter, sized";
const QFILTER_GROWN: &str = "qfilter, growing up to 10^9";
const FASTBLOOM: &str = "fastbloom";
/// Its fingerprints have eight bits: a rate of 3 %.
const CUCKOO: &str = "cuckoofilter (3 %)";

/// One size after the other; a size is that of the fast filter's bits.
pub fn run(options: &Common) -> Result<(), Box<dyn Error>> {
    println!("{}; kernel {}; 8-byte keys", harness::cpu_name(), fullbloom::kernel::Kernel::in_use());
    let default: &[u64] =
        if options.quick { &[128 << 10, 5 << 20] } else { &[128 << 10, 5 << 20, 123 << 20] };
    let mut rows = Vec::new();
    for fpr in [0.01, 1e-6] {
        for &bytes in options.sizes.as_deref().unwrap_or(default) {
            let usual = if bytes > 64 << 20 { 3 } else { 11 };
            let rounds = options.rounds.unwrap_or(if options.quick { 5 } else { usual });
            rows.extend(at_size(bytes, fpr, rounds)?);
        }
    }
    match &options.json {
        Some(path) => harness::save(&rows, path),
        None => Ok(()),
    }
}

/// Speeds of the contestants of one race, as they come.
struct Race {
    what: &'static str,
    mode: &'static str,
    names: Vec<&'static str>,
    speeds: Vec<Vec<f64>>,
}

impl Race {
    fn new(what: &'static str, mode: &'static str) -> Race {
        Race { what, mode, names: Vec::new(), speeds: Vec::new() }
    }

    fn time<T>(&mut self, name: &'static str, keys: usize, work: impl FnOnce() -> T) {
        let seconds = harness::time(1, || {
            black_box(work());
        });
        let at = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.speeds.push(Vec::new());
            self.names.len() - 1
        });
        self.speeds[at].push(keys as f64 / seconds / 1e6);
    }
}

/// The races of one size.
struct Races {
    insert: Race,
    absent: Race,
    present: Race,
    remove: Race,
}

/// All races of one size and rate. Every round begins with empty filters.
fn at_size(bytes: u64, fpr: f64, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut keys = (bytes as f64 * 8.0 / if fpr > 1e-3 { 9.8 } else { 29.0 }) as u64;
    while fullbloom::Filter::with_fpr(keys, fpr)?.bits().len() as u64 > bytes {
        keys -= keys / 200;
    }
    let members: Vec<u64> = (0..keys).map(mix).collect();
    let absent: Vec<u64> = (0..keys.clamp(200_000, 2_000_000)).map(|i| mix(i + (1 << 40))).collect();
    let mut races = Races {
        insert: Race::new("inserting, in a batch", "build"),
        absent: Race::new("absent keys, in a batch", "absent"),
        present: Race::new("present keys, in a batch", "present"),
        remove: Race::new("removing, in a batch", "remove"),
    };
    let mut sizes = Vec::new();
    for round in 0..=rounds {
        if round == 1 {
            // The first round has warmed everything up.
            for race in [&mut races.insert, &mut races.absent, &mut races.present, &mut races.remove] {
                race.speeds.iter_mut().for_each(Vec::clear);
            }
            sizes.clear();
        }
        fast(&mut races, &mut sizes, fpr, &members, &absent)?;
        let sized = DynamicOptions::new(keys, fpr);
        dynamic(&mut races, &mut sizes, SIZED, sized.clone(), &members, &absent)?;
        let grown = DynamicOptions::new(1_000, fpr).up_to(1_000_000_000);
        dynamic(&mut races, &mut sizes, GROWN, grown.clone(), &members, &absent)?;
        dynamic(&mut races, &mut sizes, COUNTING, sized.mode(Mode::Counting), &members, &absent)?;
        dynamic(&mut races, &mut sizes, COUNTING_GROWN, grown.mode(Mode::Counting), &members, &absent)?;
        let sized = qfilter::Filter::new(keys, fpr)?;
        quotient(&mut races, &mut sizes, QFILTER, sized, &members, &absent);
        let grown = qfilter::Filter::new_resizeable(1_000, 1_000_000_000, fpr)?;
        quotient(&mut races, &mut sizes, QFILTER_GROWN, grown, &members, &absent);
        others(&mut races, &mut sizes, fpr, &members, &absent);
        if fpr == 0.01 {
            cuckoo(&mut races, &mut sizes, &members, &absent);
        }
    }
    let mut rows = Vec::new();
    println!("\n{keys} keys at {fpr}, bits per key:");
    for (name, bytes) in sizes.iter().take(races.insert.names.len()) {
        println!("  {name}: {:.1}", 8.0 * *bytes as f64 / keys as f64);
    }
    for race in [races.insert, races.absent, races.present, races.remove] {
        println!("\n{}, {keys} keys at {fpr}:", race.what);
        let setting =
            Setting { keys: "u64", bytes, bits_per_key: 8.0 * bytes as f64 / keys as f64, mode: race.mode };
        let result: Vec<Row> = race
            .names
            .iter()
            .zip(race.speeds)
            .map(|(name, speeds)| Row::new((*name).to_owned(), &setting, speeds))
            .collect();
        harness::print(&result, race.names[0]);
        rows.extend(result);
    }
    Ok(rows)
}

type Sizes = Vec<(&'static str, u64)>;

fn fast(
    races: &mut Races,
    sizes: &mut Sizes,
    fpr: f64,
    members: &[u64],
    absent: &[u64],
) -> Result<(), Box<dyn Error>> {
    let mut filter = fullbloom::Filter::with_fpr(members.len() as u64, fpr)?;
    let mut answers = vec![false; absent.len()];
    races.insert.time(FAST, members.len(), || filter.insert_batch(&Column(members)).expect("the keys fit"));
    races.absent.time(FAST, absent.len(), || {
        filter.may_contain_batch_into(&Column(absent), &mut answers).expect("the keys fit")
    });
    let some = &members[..absent.len().min(members.len())];
    races.present.time(FAST, some.len(), || {
        filter.may_contain_batch_into(&Column(some), &mut answers[..some.len()]).expect("the keys fit")
    });
    sizes.push((FAST, filter.bits().len() as u64));
    Ok(())
}

fn dynamic(
    races: &mut Races,
    sizes: &mut Sizes,
    name: &'static str,
    options: DynamicOptions,
    members: &[u64],
    absent: &[u64],
) -> Result<(), Box<dyn Error>> {
    let mut filter = DynamicFilter::new(options)?;
    let mut answers = vec![false; absent.len().max(members.len())];
    races.insert.time(name, members.len(), || filter.insert_batch(&Column(members)).expect("memory to grow"));
    let len = absent.len();
    races.absent.time(name, len, || {
        filter.may_contain_batch_into(&Column(absent), &mut answers[..len]).expect("the keys fit")
    });
    let some = &members[..absent.len().min(members.len())];
    races.present.time(name, some.len(), || {
        filter.may_contain_batch_into(&Column(some), &mut answers[..some.len()]).expect("the keys fit")
    });
    assert!(answers[..some.len()].iter().all(|yes| *yes), "no key is lost");
    sizes.push((name, filter.memory()));
    if filter.mode() == Mode::Counting {
        let len = members.len();
        races.remove.time(name, len, || {
            filter.remove_batch(&Column(members), &mut answers[..len]).expect("a filter that deletes");
        });
        assert_eq!(filter.keys(), 0);
    }
    Ok(())
}

fn quotient(
    races: &mut Races,
    sizes: &mut Sizes,
    name: &'static str,
    mut filter: qfilter::Filter,
    members: &[u64],
    absent: &[u64],
) {
    let hash = |key: &u64| xxh3_64(&key.to_le_bytes());
    races.insert.time(name, members.len(), || {
        members.iter().for_each(|key| {
            filter.insert_fingerprint(false, hash(key)).expect("room for the expected keys");
        });
    });
    let count = |keys: &[u64]| keys.iter().filter(|key| filter.contains_fingerprint(hash(key))).count();
    races.absent.time(name, absent.len(), || count(absent));
    let some = &members[..absent.len().min(members.len())];
    races.present.time(name, some.len(), || count(some));
    sizes.push((name, filter.memory_usage() as u64));
    races.remove.time(name, members.len(), || {
        members.iter().filter(|key| filter.remove_fingerprint(hash(key))).count()
    });
}

fn others(races: &mut Races, sizes: &mut Sizes, fpr: f64, members: &[u64], absent: &[u64]) {
    let mut filter = fastbloom::BloomFilter::with_false_pos(fpr).expected_items(members.len());
    races.insert.time(FASTBLOOM, members.len(), || {
        members.iter().for_each(|key| {
            filter.insert_hash(xxh3_64(&key.to_le_bytes()));
        });
    });
    let count =
        |keys: &[u64]| keys.iter().filter(|key| filter.contains_hash(xxh3_64(&key.to_le_bytes()))).count();
    races.absent.time(FASTBLOOM, absent.len(), || count(absent));
    let some = &members[..absent.len().min(members.len())];
    races.present.time(FASTBLOOM, some.len(), || count(some));
    sizes.push((FASTBLOOM, filter.num_bits() as u64 / 8));
}

fn cuckoo(races: &mut Races, sizes: &mut Sizes, members: &[u64], absent: &[u64]) {
    use std::hash::DefaultHasher;
    let mut filter = cuckoofilter::CuckooFilter::<DefaultHasher>::with_capacity(members.len() * 20 / 19);
    let mut full = 0;
    races.insert.time(CUCKOO, members.len(), || {
        full = members.iter().filter(|key| filter.add(*key).is_err()).count();
    });
    if full > 0 {
        println!("{CUCKOO}: {full} keys found no place");
    }
    races.absent.time(CUCKOO, absent.len(), || absent.iter().filter(|key| filter.contains(*key)).count());
    let some = &members[..absent.len().min(members.len())];
    races.present.time(CUCKOO, some.len(), || some.iter().filter(|key| filter.contains(*key)).count());
    sizes.push((CUCKOO, filter.memory_usage() as u64));
    races.remove.time(CUCKOO, members.len(), || members.iter().filter(|key| filter.delete(*key)).count());
}
