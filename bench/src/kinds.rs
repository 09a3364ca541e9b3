//! The kinds of the native filter beside the fast one: what counters and chains cost.

use crate::Common;
use crate::harness::{self, Row, Setting};
use crate::keys::mix;
use fullbloom::NativeFilter;
use fullbloom::keys::Column;
use fullbloom::native::{GrowingFilter, RemovingFilter};
use std::error::Error;
use std::hint::black_box;

const FPR: f64 = 0.01;
const FAST: &str = "fast";
const REMOVING: &str = "removing";
const GROWING: &str = "growing from 1,000";

/// One size after the other; a size is that of the fast filter's bits.
pub fn run(options: &Common) -> Result<(), Box<dyn Error>> {
    println!("{}; kernel {}; 8-byte keys", harness::cpu_name(), fullbloom::kernel::Kernel::in_use());
    let default: &[u64] =
        if options.quick { &[64 << 10, 8 << 20] } else { &[64 << 10, 128 << 10, 8 << 20, 128 << 20] };
    let mut rows = Vec::new();
    for &bytes in options.sizes.as_deref().unwrap_or(default) {
        let usual = if bytes > 64 << 20 { 7 } else { 31 };
        let rounds = options.rounds.unwrap_or(if options.quick { 7 } else { usual });
        rows.extend(at_size(bytes, rounds)?);
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
    fn new(what: &'static str, mode: &'static str, names: &[&'static str]) -> Race {
        Race { what, mode, names: names.to_vec(), speeds: vec![Vec::new(); names.len()] }
    }

    fn time(&mut self, name: &str, keys: usize, work: impl FnOnce()) {
        let seconds = harness::time(1, work);
        let at = self.names.iter().position(|known| *known == name).expect("a contestant");
        self.speeds[at].push(keys as f64 / seconds / 1e6);
    }
}

/// All races of one size. Every round begins with empty filters: counters must not fill up.
fn at_size(bytes: u64, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut keys = (bytes as f64 * 8.0 / 9.8) as u64;
    while NativeFilter::with_fpr(keys, FPR)?.bits().len() as u64 > bytes {
        keys -= keys / 200;
    }
    let members: Vec<u64> = (0..keys).map(mix).collect();
    let absent: Vec<u64> = (0..keys.clamp(200_000, 2_000_000)).map(|i| mix(i + (1 << 40))).collect();
    let mut answers = vec![false; absent.len()];
    let mut fast = NativeFilter::with_fpr(keys, FPR)?;
    let mut removing = RemovingFilter::with_fpr(keys, FPR)?;

    let mut insert = Race::new("inserting, in a batch", "build", &[FAST, REMOVING, GROWING]);
    let mut single = Race::new("inserting, one by one", "single", &[FAST, REMOVING]);
    let mut remove = Race::new("removing, in a batch", "remove", &[REMOVING]);
    let mut ask = Race::new("absent keys, in a batch", "batch", &[FAST, REMOVING, GROWING]);
    for round in 0..=rounds {
        if round == 1 {
            // The first round has warmed everything up.
            for race in [&mut insert, &mut single, &mut remove, &mut ask] {
                race.speeds.iter_mut().for_each(Vec::clear);
            }
        }
        fast.clear();
        insert.time(FAST, members.len(), || {
            black_box(fast.insert_batch(&Column(&members)));
        });
        insert.time(REMOVING, members.len(), || {
            black_box(removing.insert_batch(&Column(&members)));
        });
        assert!(fast.bits() == removing.filter().bits());
        let mut growing = GrowingFilter::with_fpr(1_000, FPR)?;
        insert.time(GROWING, members.len(), || {
            black_box(growing.insert_batch(&Column(&members)).expect("memory for the links"));
        });
        ask.time(FAST, absent.len(), || fast.may_contain_batch(&Column(&absent), &mut answers));
        ask.time(REMOVING, absent.len(), || removing.may_contain_batch(&Column(&absent), &mut answers));
        ask.time(GROWING, absent.len(), || growing.may_contain_batch(&Column(&absent), &mut answers));
        remove.time(REMOVING, members.len(), || {
            assert_eq!(removing.remove_batch(&Column(&members)), keys, "an inserted key was refused");
        });
        assert_eq!(removing.filter().count_ones(), 0);
        fast.clear();
        single.time(FAST, members.len(), || {
            members.iter().for_each(|key| {
                black_box(fast.insert(&key.to_le_bytes()));
            });
        });
        single.time(REMOVING, members.len(), || {
            members.iter().for_each(|key| {
                black_box(removing.insert(&key.to_le_bytes()));
            });
        });
        removing.clear();
    }
    let mut rows = Vec::new();
    for race in [insert, single, remove, ask] {
        println!("\n{}, {keys} keys at {FPR}:", race.what);
        let bits_per_key = 8.0 * bytes as f64 / keys as f64;
        let setting = Setting { keys: "u64", bytes, bits_per_key, mode: race.mode };
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
