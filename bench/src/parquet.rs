//! The `parquet` dialect beside the parquet crate's Sbbf and sbbf-rs: the same layout, the same hash, the
//! same bits.

use crate::Common;
use crate::harness::{self, Contestant, Row, Setting};
use crate::keys::mix;
use ::parquet::bloom_filter::Sbbf;
use fullbloom::keys::Hashes;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::Filter;
use fullbloom_dialects::Parquet;
use fullbloom_dialects::filter::Dialect;
use fullbloom_dialects::hash::xxh64;
use std::cell::RefCell;
use std::error::Error;
use std::hint::black_box;
use xxhash_rust::xxh64::xxh64 as their_xxh64;

const BITS_PER_KEY: f64 = 10.0;
const SBBF: &str = "parquet Sbbf";
const SBBF_RS: &str = "sbbf-rs-safe + xxh64";
/// Who the ratios are to: the faster peer in every race.
const PEER: &str = SBBF_RS;
const SBBF_RS_HASHES: &str = "sbbf-rs-safe, hashes";

/// One size after the other.
pub fn run(options: &Common) -> Result<(), Box<dyn Error>> {
    println!("{}; kernel {}; 8-byte keys", harness::cpu_name(), fullbloom::kernel::Kernel::in_use());
    let default: &[u64] =
        if options.quick { &[256 << 10, 8 << 20] } else { &[256 << 10, 8 << 20, 128 << 20] };
    let mut rows = Vec::new();
    for &bytes in options.sizes.as_deref().unwrap_or(default) {
        let usual = if bytes > 64 << 20 { 11 } else { 31 };
        let rounds = options.rounds.unwrap_or(if options.quick { 7 } else { usual });
        rows.extend(at_size(bytes, rounds)?);
    }
    match &options.json {
        Some(path) => harness::save(&rows, path),
        None => Ok(()),
    }
}

/// All races of one size.
fn at_size(bytes: u64, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let entries = (bytes as f64 * 8.0 / BITS_PER_KEY) as u64;
    let key = |i: u64| mix(i).to_le_bytes();
    let members: Vec<[u8; 8]> = (0..entries).map(key).collect();
    // Half of those asked for are there.
    let count = entries.clamp(200_000, 2_000_000);
    let asked: Vec<[u8; 8]> = (0..count)
        .map(|i| if mix(!i) & 1 == 0 { key(mix(i) % entries) } else { key(i + (1 << 40)) })
        .collect();
    let hashes: Vec<u64> = asked.iter().map(|key| xxh64(key)).collect();

    let target = Target::Exact { bit_len: 8 * bytes, probes: 8 };
    let ours = RefCell::new(Filter::<Parquet>::new(&Request { expected_keys: entries, target })?);
    let sbbf = RefCell::new(Sbbf::new(&vec![0; bytes as usize]));
    let sbbf_rs = RefCell::new(sbbf_rs_safe::Filter::new(8, bytes as usize));
    ours.borrow_mut().insert_batch(&members)?;
    for member in &members {
        sbbf.borrow_mut().insert(&member[..]);
        sbbf_rs.borrow_mut().insert_hash(their_xxh64(member, 0));
    }
    // Before anything is timed: the same answers.
    let answers = ours.borrow().may_contain_batch(&asked)?;
    for ((key, &hash), &answer) in asked.iter().zip(&hashes).zip(&answers) {
        assert_eq!(sbbf.borrow().check(&key[..]), answer);
        assert_eq!(ours.borrow().may_contain(key), answer);
        assert_eq!(sbbf_rs.borrow().contains_hash(hash), answer);
    }

    let mut rows = Vec::new();
    let mut held = |what: &str, mode, ops: usize, contestants, to| {
        println!("\n{what}:");
        let setting = Setting { keys: "u64", bytes, bits_per_key: BITS_PER_KEY, mode };
        let race = harness::race(&setting, ops as u64, rounds, None, contestants);
        harness::print(&race, to);
        rows.extend(race);
    };
    let answers = RefCell::new(answers);
    let their_single = |name| {
        Contestant::new(name, |_| {
            let filter = sbbf.borrow();
            for (key, answer) in asked.iter().zip(answers.borrow_mut().iter_mut()) {
                *answer = filter.check(&key[..]);
            }
        })
    };
    let rs_single = |name| {
        Contestant::new(name, |_| {
            let filter = sbbf_rs.borrow();
            for (key, answer) in asked.iter().zip(answers.borrow_mut().iter_mut()) {
                *answer = filter.contains_hash(their_xxh64(key, 0));
            }
        })
    };
    let contestants = vec![
        their_single(SBBF),
        rs_single(SBBF_RS),
        Contestant::new("fullbloom, one by one", |_| {
            let filter = ours.borrow();
            for (key, answer) in asked.iter().zip(answers.borrow_mut().iter_mut()) {
                *answer = filter.may_contain(key);
            }
        }),
        Contestant::new("fullbloom", |_| {
            ours.borrow().may_contain_batch_into(&asked, &mut **answers.borrow_mut()).expect("the keys fit");
        }),
    ];
    held("keys, half of them present", "batch", asked.len(), contestants, PEER);

    let contestants = vec![
        Contestant::new(SBBF_RS_HASHES, |_| {
            let filter = sbbf_rs.borrow();
            for (hash, answer) in hashes.iter().zip(answers.borrow_mut().iter_mut()) {
                *answer = filter.contains_hash(*hash);
            }
        }),
        Contestant::new("fullbloom, hashes", |_| {
            let filter = ours.borrow();
            let batch = Hashes::new(&hashes, filter.dialect().hasher());
            filter.may_contain_batch_into(&batch, &mut **answers.borrow_mut()).expect("its own hashes");
        }),
    ];
    held("hashes made before", "batch", asked.len(), contestants, SBBF_RS_HASHES);

    let contestants = vec![
        Contestant::new(SBBF, |_| {
            let mut filter = sbbf.borrow_mut();
            members.iter().for_each(|key| filter.insert(&key[..]));
        }),
        Contestant::new(SBBF_RS, |_| {
            let mut filter = sbbf_rs.borrow_mut();
            members.iter().for_each(|key| {
                black_box(filter.insert_hash(their_xxh64(key, 0)));
            });
        }),
        Contestant::new("fullbloom", |_| ours.borrow_mut().insert_batch(&members).expect("the keys fit")),
    ];
    held("inserting", "build", members.len(), contestants, PEER);
    Ok(rows)
}
