//! One key and 64 filters: all asked together, and one after the other.

use super::contender::Size;
use crate::harness::{self, Contestant, Row, Setting};
use crate::keys;
use fullbloom::keys::Column;
use fullbloom::{Filter, FilterRef, FilterSet};
use fullbloom_core::bits::Owned;
use std::error::Error;
use std::hint::black_box;

/// Filters, as tables of an engine.
const FILTERS: usize = 64;

/// Keys in a round.
const KEYS: usize = 2_000;

/// Absent keys, in filters of this size; millions of answers a second.
pub fn race(setting: &Setting, size: Size, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut filter = Filter::with_bits_per_key(size.members, size.bits_per_key)?;
    let members: Vec<u64> = (0..size.members).map(keys::member).collect();
    filter.insert_batch(&Column(&members))?;
    let file = filter.encode();
    let mut set = FilterSet::new();
    for _ in 0..FILTERS {
        set.push(FilterRef::read(Owned::copied(&file)?));
    }
    let strangers: Vec<u64> = (0..((rounds + 1) * 2 * KEYS) as u64).map(keys::stranger).collect();
    let asked = |turn: usize| &strangers[turn * KEYS..][..KEYS];
    let contestants = vec![
        Contestant::new("fullbloom, one after the other", |turn| {
            for key in asked(turn) {
                let hash = filter.hash(*key);
                let maybe = |filter: &&FilterRef<Owned>| {
                    filter.filter().is_none_or(|filter| filter.may_contain_hash(hash))
                };
                black_box(set.filters().iter().filter(maybe).count());
            }
        }),
        Contestant::new("fullbloom", |turn| {
            asked(turn).iter().for_each(|key| _ = black_box(set.candidates(*key).count()));
        }),
    ];
    Ok(harness::race(setting, (KEYS * FILTERS) as u64, rounds, None, contestants))
}
