//! Keys that follow a pattern: every native kind has the rate that it states, whatever the pattern and the
//! seed.
//!
//! Present keys are the first numbers of a pattern, absent keys the ones after them: a hash that maps a
//! progression to a progression gives such keys too many equal fingerprints, or none.

use crate::common::cases;

use fullbloom::Hashing;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom_compact::CompactBuilder;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions};
use fullbloom_testkit::keys::mix;
use fullbloom_testkit::stats::poisson_tail;

/// The key with number `i` of a pattern.
type Pattern = fn(u64) -> Vec<u8>;

/// Progressions with these steps.
const STEPS: [u64; 12] = [1, 2, 3, 10, 1_000, 1_024, 4_096, 12_345, 65_536, 1 << 20, 3 << 30, (1 << 24) + 1];

/// `i << k` for these `k`.
const SHIFTS: [u32; 14] = [1, 4, 8, 12, 16, 24, 32, 36, 40, 42, 44, 48, 52, 56];

const OTHERS: [Pattern; 15] = [
    |i| i.to_be_bytes().into(),                               // a byte-swapped counter
    |i| (1_700_000_000_000 + i * 1_000).to_le_bytes().into(), // milliseconds, one a second
    |i| (1_700_000_000_000_000_000 + i * 1_000_000).to_le_bytes().into(), // nanoseconds, one a millisecond
    |i| (1_700_000_000_000 + i * 1_000).to_be_bytes().into(),
    |i| (i as u32).to_le_bytes().into(),
    |i| (i as u32).to_be_bytes().into(),
    |i| i.to_string().into(),
    |i| format!("{i:016x}").into(),
    |i| format!("{i:08}").into(),
    |i| format!("user:{i:08}").into(),
    |i| format!("https://example.com/items/{i}").into(),
    |i| format!("a prefix that is longer than any block of the hash, and then {i}").into(),
    |i| [i.to_le_bytes(), i.to_le_bytes()].concat(),
    |i| [[0; 8], i.to_le_bytes()].concat(),
    |i| [i.to_le_bytes(), [0; 8]].concat(),
];

const PATTERNS: usize = STEPS.len() + SHIFTS.len() + OTHERS.len();

fn key(pattern: usize, i: u64) -> Vec<u8> {
    if let Some(step) = STEPS.get(pattern) {
        return (i.wrapping_mul(*step)).to_le_bytes().into();
    }
    match SHIFTS.get(pattern - STEPS.len()) {
        Some(shift) => (i << shift).to_le_bytes().into(),
        None => OTHERS[pattern - STEPS.len() - SHIFTS.len()](i),
    }
}

/// How many keys a pattern has before it repeats.
fn keys_of(pattern: usize) -> u64 {
    match SHIFTS.get(pattern.wrapping_sub(STEPS.len())) {
        Some(shift) => 1 << (64 - shift),
        None => 1 << 32,
    }
}

/// The answers of one filter: absent keys reported present, how many the stated rate predicts, and what it
/// was.
struct Run {
    found: u64,
    predicted: f64,
    what: String,
}

/// Filters of all kinds with `keys` keys of a pattern.
fn runs(pattern: usize, seed: u64, keys: u64, fpr: f64) -> [Run; 3] {
    let keys = keys.min(keys_of(pattern) / 2);
    let absent = ((100.0 / fpr) as u64).clamp(2_000, 100_000).min(keys_of(pattern) - keys);
    let hashing = Hashing::Seed(seed);
    let all: Vec<Vec<u8>> = (0..keys + absent).map(|i| key(pattern, i)).collect();
    let hashes = hashing.hash_batch(&all).unwrap();
    let (present, absent) = hashes.split_at(keys as usize);
    let run = |kind: &str, stated: f64, answers: &[bool]| {
        let found = answers.iter().filter(|found| **found).count() as u64;
        let what = format!("{kind}, pattern {pattern}, seed {seed}, {keys} keys at {fpr}");
        Run { found, predicted: stated * answers.len() as f64, what }
    };
    let mut answers = vec![false; absent.len()];

    let request = Request { expected_keys: keys, target: Target::Fpr(fpr) };
    let mut fast = fullbloom::Filter::with_sizing(&Sizing::new(&request).unwrap(), hashing.clone()).unwrap();
    fast.insert_batch(&hashing.hashes(present)).unwrap();
    fast.may_contain_batch_into(&hashing.hashes(absent), &mut *answers).unwrap();
    let fast = run("fast", fast.expected_fpr(), &answers);

    let mut builder = CompactBuilder::new(fpr).unwrap().hashing(hashing.clone()).expected_keys(keys);
    builder.add_batch(&hashing.hashes(present)).unwrap();
    let compact = builder.build().unwrap();
    compact.may_contain_batch_into(&hashing.hashes(absent), &mut *answers).unwrap();
    let compact = run("compact", compact.expected_fpr(), &answers);

    let mut dynamic = DynamicFilter::new(DynamicOptions::new(keys, fpr).hashing(hashing.clone())).unwrap();
    dynamic.insert_batch(&hashing.hashes(present)).unwrap();
    dynamic.may_contain_batch_into(&hashing.hashes(absent), &mut *answers).unwrap();
    [fast, compact, run("dynamic", dynamic.expected_fpr(), &answers)]
}

/// One size and rate for each pattern and seed.
fn judge(sizes: &[u64], seeds: u64) {
    const RATES: [f64; 6] = [0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];
    // One-sided probabilities of two, four and six standard deviations.
    let [two, four, six] = [0.022_75, 3.167e-5, 9.87e-10];
    let (mut all, mut beyond_two, mut beyond_four) = (0u64, 0u64, Vec::new());
    for pattern in 0..PATTERNS {
        for seed in 0..seeds {
            let choice = mix(pattern as u64 * 1_000 + seed);
            let keys = sizes[(choice % sizes.len() as u64) as usize];
            let fpr = RATES[(choice >> 32) as usize % RATES.len()];
            for run in runs(pattern, seed, keys, fpr) {
                let tail = poisson_tail(run.predicted, run.found);
                let Run { found, predicted, what } = run;
                assert!(tail > six, "{what}: {found} keys found instead of {predicted:.2}");
                all += 1;
                beyond_two += u64::from(tail < two);
                if tail < four {
                    beyond_four.push(format!("{what}: {found} instead of {predicted:.2}"));
                }
            }
        }
    }
    // Expected: 4.55 % and less, as small numbers are discrete; and 0.0063 %.
    println!(
        "{all} runs: {beyond_two} beyond two sigma, {} beyond four: {beyond_four:#?}",
        beyond_four.len()
    );
    assert!(beyond_two as f64 <= 0.05 * all as f64, "{beyond_two} of {all} runs are beyond two sigma");
    assert!(beyond_four.len() as f64 <= 2.0 + 1.3e-4 * all as f64, "{all} runs: {beyond_four:#?}");
}

#[test]
fn every_kind_keeps_its_rate_for_patterned_keys() {
    judge(&[10, 30, 100, 300, 1_000, 3_000], cases(100, 10));
}

#[test]
#[ignore = "takes minutes: cargo test --release -p fullbloom-any --test it patterned_keys:: -- --ignored"]
fn every_kind_keeps_its_rate_for_many_patterned_keys() {
    judge(&[10, 100, 1_000, 10_000, 100_000, 1_000_000], 100);
}
