//! The dialects that set bits over one whole array, beside libbloom 1.6.

use crate::Common;
use crate::harness::{self, Contestant, Row, Setting};
use crate::keys::mix;
use crate::libbloom::Original;
use fullbloom_dialects::Filter;
use fullbloom_dialects::{Cassandra, Libbloom, Libbloom1};
use std::cell::RefCell;
use std::error::Error;
use std::hint::black_box;

const RATE: f64 = 0.01;
/// Who the ratios are to.
const ORIGINAL: &str = "libbloom 1.6";
/// Bits per key of libbloom at this rate.
const BITS_PER_KEY: f64 = 9.585;

/// libbloom and cassandra, one after the other size.
pub fn run(options: &Common) -> Result<(), Box<dyn Error>> {
    println!("{}; 8-byte keys, rate {RATE}; libbloom.so.1 beside our dialects", harness::cpu_name());
    let default: &[u64] =
        if options.quick { &[256 << 10, 8 << 20] } else { &[256 << 10, 8 << 20, 256 << 20] };
    let mut rows = Vec::new();
    for &bytes in options.sizes.as_deref().unwrap_or(default) {
        let usual: usize = match bytes {
            0..=0xf_ffff => 31,
            0x10_0000..=0x3ff_ffff => 11,
            _ => 3,
        };
        let rounds = options.rounds.unwrap_or(if options.quick { usual.div_ceil(3) } else { usual });
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
    let original = Original::new(entries, RATE)
        .map_err(|e| format!("libbloom 1.6 is not here ({e}); on Debian: apt-get install libbloom1"))?;
    let key = |i: u64| mix(i).to_le_bytes();
    let asked = entries.min(1_000_000);
    let keys: Vec<[u8; 8]> = (0..entries).map(key).collect();
    let hits: Vec<[u8; 8]> = (0..asked).map(|i| key(mix(i) % entries)).collect();
    let misses: Vec<[u8; 8]> = (0..asked).map(|i| key(i + (1 << 40))).collect();

    let one = RefCell::new(Filter::<Libbloom1>::with_fpr(entries, RATE)?);
    let two = RefCell::new(Filter::<Libbloom>::with_fpr(entries, RATE)?);
    let cassandra = RefCell::new(Filter::<Cassandra>::with_fpr(entries, RATE)?);
    let mut rows = Vec::new();
    let mut held = |what: &str, mode, ops: usize, contestants| {
        println!("\n{what}:");
        let setting = Setting { keys: "u64", bytes, bits_per_key: BITS_PER_KEY, mode };
        let race = harness::race(&setting, ops as u64, rounds, None, contestants);
        harness::print(&race, ORIGINAL);
        rows.extend(race);
    };

    macro_rules! inserting {
        ($name:expr, $filter:ident) => {
            Contestant::new($name, |_| {
                let mut filter = $filter.borrow_mut();
                filter.clear().unwrap();
                black_box(keys.iter().map(|k| u64::from(filter.insert(k))).sum::<u64>());
            })
        };
    }
    macro_rules! asking {
        ($name:expr, $filter:ident, $asked:expr) => {
            Contestant::new($name, |_| {
                let filter = $filter.borrow();
                black_box($asked.iter().map(|k| u64::from(filter.may_contain(k))).sum::<u64>());
            })
        };
    }
    macro_rules! batching {
        ($name:expr, $filter:ident, $asked:expr) => {
            Contestant::new($name, |_| {
                black_box($filter.borrow().may_contain_batch($asked).expect("the keys fit"));
            })
        };
    }

    let theirs = Contestant::new(ORIGINAL, |_| {
        original.reset();
        black_box(keys.iter().map(|k| original.add(k)).sum::<u64>());
    });
    let contestants = vec![
        theirs,
        inserting!("fullbloom libbloom-1", one),
        inserting!("fullbloom libbloom", two),
        inserting!("fullbloom cassandra", cassandra),
    ];
    held("single inserts into an empty filter", "build", keys.len(), contestants);

    for (what, asked) in [("keys that are present", &hits), ("keys that are absent", &misses)] {
        let theirs = Contestant::new(ORIGINAL, |_| {
            black_box(asked.iter().map(|k| original.check(k)).sum::<u64>());
        });
        let contestants = vec![
            theirs,
            asking!("fullbloom libbloom-1", one, asked),
            asking!("fullbloom libbloom", two, asked),
            asking!("fullbloom cassandra", cassandra, asked),
            batching!("fullbloom libbloom-1, batch", one, asked),
            batching!("fullbloom libbloom, batch", two, asked),
            batching!("fullbloom cassandra, batch", cassandra, asked),
        ];
        held(what, "single", asked.len(), contestants);
    }
    Ok(rows)
}
