//! The opponents, as far as they could be compiled.

use super::{Key, Members};
use crate::fast_local::{self, Entries, FastLocal};
use crate::harness::Contestant;
use crate::keys::Questions;
#[cfg(librocksdb)]
use crate::librocksdb;
use crate::memory::Region;
use fullbloom_dialects::RocksDb;
use fullbloom_dialects::filter::Dialect;
use std::error::Error;
use std::hint::black_box;

fn avx2(content: &[u8], dialect: RocksDb) -> FastLocal<'_> {
    FastLocal::new(&content[..content.len() - super::TRAILER], dialect.geometry().probes)
}

#[cfg(librocksdb)]
fn library(content: &[u8]) -> Result<librocksdb::Reader<'_>, Box<dyn Error>> {
    librocksdb::Reader::open(content).ok_or_else(|| "RocksDB has no such filter policy".into())
}

/// Each opponent must answer as we do.
pub fn check_answers(
    content: &[u8],
    dialect: RocksDb,
    keys: &[Key],
    ours: &[bool],
) -> Result<(), Box<dyn Error>> {
    let mut theirs = vec![false; keys.len()];
    avx2(content, dialect).answer(keys, &mut theirs);
    if theirs != ours {
        return Err(format!("{} answers otherwise", fast_local::NAME).into());
    }
    #[cfg(librocksdb)]
    {
        library(content)?.answer(keys, &mut theirs);
        if theirs != ours {
            return Err("RocksDB answers otherwise".into());
        }
    }
    Ok(())
}

/// Key by key.
pub fn single<'a>(
    content: &'a [u8],
    dialect: RocksDb,
    questions: &'a Questions<Key>,
) -> Result<Vec<Contestant<'a>>, Box<dyn Error>> {
    let avx2 = avx2(content, dialect);
    let mut all = vec![Contestant::new(fast_local::NAME, move |turn| {
        black_box(avx2.count(&questions.keys[questions.at(turn)]));
    })];
    #[cfg(librocksdb)]
    {
        let reader = library(content)?;
        all.push(Contestant::new(librocksdb::NAME, move |turn| {
            black_box(reader.count(&questions.keys[questions.at(turn)]));
        }));
    }
    all.reverse();
    Ok(all)
}

/// In batches; RocksDB's own take at most 32 keys.
pub fn batch<'a>(
    content: &'a [u8],
    dialect: RocksDb,
    questions: &'a Questions<Key>,
    hashes: &'a [u64],
) -> Result<Vec<Contestant<'a>>, Box<dyn Error>> {
    let avx2 = avx2(content, dialect);
    let out = || vec![false; questions.window()];
    let (mut first, mut second) = (out(), out());
    let mut all = vec![
        Contestant::new("RocksDB AVX2, hashes", move |turn| {
            avx2.answer_hashes(&hashes[questions.at(turn)], &mut first);
            black_box(&first);
        }),
        Contestant::new(fast_local::NAME, move |turn| {
            avx2.answer(&questions.keys[questions.at(turn)], &mut second);
            black_box(&second);
        }),
    ];
    #[cfg(librocksdb)]
    {
        let (reader, mut third) = (library(content)?, out());
        all.push(Contestant::new(librocksdb::NAME, move |turn| {
            reader.answer(&questions.keys[questions.at(turn)], &mut third);
            black_box(&third);
        }));
    }
    all.reverse();
    Ok(all)
}

/// RocksDB's filter of these keys.
#[cfg(librocksdb)]
fn built(members: Members<'_>, bits_per_key: f64) -> Option<librocksdb::Built> {
    let mut builder = librocksdb::Builder::new(bits_per_key)?;
    members.parts().for_each(|keys| builder.add(keys));
    builder.finish()
}

/// RocksDB's algorithm into memory of its own.
fn built_by_avx2(members: Members<'_>, len: usize, probes: u32) -> Result<Region, std::io::Error> {
    let mut entries = Entries::new();
    members.parts().for_each(|keys| entries.collect(keys));
    let mut data = Region::zeroed(len, false)?;
    entries.build(&mut data, probes);
    Ok(data)
}

/// RocksDB must build the same bytes.
pub fn check_build(
    members: Members<'_>,
    bits_per_key: f64,
    probes: u32,
    ours: &[u8],
) -> Result<(), Box<dyn Error>> {
    let blocks = &ours[..ours.len() - super::TRAILER];
    if built_by_avx2(members, blocks.len(), probes)?[..] != *blocks {
        return Err(format!("{} builds other bytes", fast_local::NAME).into());
    }
    #[cfg(librocksdb)]
    if built(members, bits_per_key).ok_or("RocksDB has no such filter policy")?.bytes() != ours {
        return Err("RocksDB builds other bytes".into());
    }
    let _ = bits_per_key;
    Ok(())
}

/// From keys to a filter.
pub fn build<'a>(members: Members<'a>, bits_per_key: f64, len: usize, probes: u32) -> Vec<Contestant<'a>> {
    let _ = bits_per_key;
    vec![
        #[cfg(librocksdb)]
        Contestant::new(librocksdb::NAME, move |_| {
            black_box(built(members, bits_per_key));
        }),
        Contestant::new(fast_local::NAME, move |_| {
            black_box(built_by_avx2(members, len, probes).expect("it was built before"));
        }),
    ]
}
