//! The filters that are compared, each built from all keys at once.

use dsi_progress_logger::no_logging;
use fullbloom::bulk::Builder;
use fullbloom::keys::Column;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_dialects::{Name, rocksdb};
use std::error::Error;
use sux::dict::VFilter;
use sux::func::VBuilder;
use sux::utils::FromSlice;
use xorf::Filter as _;

/// A finished filter.
pub trait Filter {
    /// Its rate, if `requested` was asked for.
    fn rate(&self, requested: f64) -> f64;

    /// Bytes of its array, if it is not in memory that is counted: large arrays of ours are mapped.
    fn array(&self) -> Option<usize> {
        None
    }

    /// How many of the keys may be present, asked one by one.
    fn count(&self, keys: &[u64]) -> usize;

    /// An answer to each key, by the filter's own batch if it has one.
    fn answer(&self, keys: &[u64], out: &mut [bool]);
}

type Build = fn(&[u64], f64) -> Result<Box<dyn Filter>, Box<dyn Error>>;

/// A contestant.
pub struct Entrant {
    pub name: &'static str,
    pub threads: usize,
    /// Bytes that it needs to build, roughly.
    pub needs: u64,
    pub build: Build,
}

pub const COMPACT: &str = "compact";
pub const COMPACT_2: &str = "compact, 2 threads";
pub const BOUNDED: &str = "compact, 256 MiB of memory";
pub const FAST: &str = "fast";
pub const FAST_2: &str = "fast, 2 threads";
pub const BINARY_FUSE: &str = "xorf BinaryFuse";
const SUX: &str = "sux VFilter";
const RIBBON: &str = "rocksdb-ribbon (ours)";

/// All, for so many keys.
pub fn all(keys: u64, fpr: f64) -> Vec<Entrant> {
    let mut all = vec![
        Entrant { name: FAST, threads: 1, needs: keys * 4, build: |keys, fpr| fast(keys, fpr, 1) },
        Entrant { name: FAST_2, threads: 2, needs: keys * 4, build: |keys, fpr| fast(keys, fpr, 2) },
        Entrant {
            name: COMPACT,
            threads: 1,
            needs: keys * 12,
            build: |keys, fpr| compact(keys, fpr, 1, u64::MAX),
        },
        Entrant {
            name: COMPACT_2,
            threads: 2,
            needs: keys * 12,
            build: |keys, fpr| compact(keys, fpr, 2, u64::MAX),
        },
    ];
    if keys > 30_000_000 {
        all.push(Entrant {
            name: BOUNDED,
            threads: 1,
            needs: keys * 4,
            build: |keys, fpr| compact(keys, fpr, 1, 256 << 20),
        });
    }
    let build: [Build; 2] = match fpr {
        _ if fpr >= 1.0 / 256.0 => [fuse::<xorf::BinaryFuse8>, vfilter8],
        _ if fpr >= 1.0 / 65536.0 => [fuse::<xorf::BinaryFuse16>, vfilter16],
        _ => [fuse::<xorf::BinaryFuse32>, vfilter32],
    };
    all.push(Entrant { name: BINARY_FUSE, threads: 1, needs: keys * 28, build: build[0] });
    all.push(Entrant { name: SUX, threads: 1, needs: keys * 40, build: build[1] });
    // At 5 million keys a second.
    if keys < 30_000_000 {
        all.push(Entrant { name: RIBBON, threads: 1, needs: keys * 32, build: ribbon });
    }
    all
}

fn fast(keys: &[u64], fpr: f64, threads: usize) -> Result<Box<dyn Filter>, Box<dyn Error>> {
    let mut builder = Builder::new(fullbloom::Filter::with_fpr(keys.len() as u64, fpr)?, threads);
    builder.add_batch(&Column(keys))?;
    Ok(Box::new(builder.build()))
}

fn compact(keys: &[u64], fpr: f64, threads: usize, memory: u64) -> Result<Box<dyn Filter>, Box<dyn Error>> {
    let mut builder =
        CompactBuilder::new(fpr)?.threads(threads).memory(memory).expected_keys(keys.len() as u64);
    builder.add_batch(&Column(keys))?;
    Ok(Box::new(builder.build()?))
}

macro_rules! native {
    ($($kind:ty)*) => {
        $(impl Filter for $kind {
            fn rate(&self, _: f64) -> f64 {
                self.expected_fpr()
            }

            fn array(&self) -> Option<usize> {
                Some(self.bits().len())
            }

            fn count(&self, keys: &[u64]) -> usize {
                keys.iter().filter(|key| self.may_contain(&key.to_le_bytes())).count()
            }

            fn answer(&self, keys: &[u64], out: &mut [bool]) {
                self.may_contain_batch_into(&Column(keys), out).expect("the keys fit");
            }
        })*
    };
}

native!(fullbloom::Filter CompactFilter);

/// The filters of xorf: keys are words, taken as they are.
fn fuse<F>(keys: &[u64], _: f64) -> Result<Box<dyn Filter>, Box<dyn Error>>
where
    F: for<'a> TryFrom<&'a [u64], Error = &'static str> + Filter + 'static,
{
    Ok(Box::new(F::try_from(keys)?))
}

macro_rules! fuse {
    ($($kind:ident $fingerprint:ty),*) => {
        $(impl Filter for xorf::$kind {
            fn rate(&self, _: f64) -> f64 {
                0.5f64.powi(<$fingerprint>::BITS as i32)
            }

            fn count(&self, keys: &[u64]) -> usize {
                keys.iter().filter(|key| self.contains(key)).count()
            }

            fn answer(&self, keys: &[u64], out: &mut [bool]) {
                out.iter_mut().zip(keys).for_each(|(out, key)| *out = self.contains(key));
            }
        })*
    };
}

fuse!(BinaryFuse8 u8, BinaryFuse16 u16, BinaryFuse32 u32);

/// The filters of sux, on one thread.
macro_rules! vfilter {
    ($($name:ident $word:ty),*) => {
        $(
            fn $name(keys: &[u64], _: f64) -> Result<Box<dyn Filter>, Box<dyn Error>> {
                let builder = VBuilder::<Box<[$word]>>::default().max_num_threads(1).expected_num_keys(keys.len());
                let filter = VFilter::<u64, Box<[$word]>>::try_new_with_builder(
                    FromSlice::new(keys),
                    builder,
                    no_logging![],
                )?;
                Ok(Box::new(filter))
            }

            impl Filter for VFilter<u64, Box<[$word]>> {
                fn rate(&self, _: f64) -> f64 {
                    0.5f64.powi(<$word>::BITS as i32)
                }

                fn count(&self, keys: &[u64]) -> usize {
                    keys.iter().filter(|key| self.contains(**key)).count()
                }

                fn answer(&self, keys: &[u64], out: &mut [bool]) {
                    out.iter_mut().zip(keys).for_each(|(out, key)| *out = self.contains(*key));
                }
            }
        )*
    };
}

vfilter!(vfilter8 u8, vfilter16 u16, vfilter32 u32);

/// RocksDB's Ribbon filter, as fullbloom writes and reads it.
fn ribbon(keys: &[u64], fpr: f64) -> Result<Box<dyn Filter>, Box<dyn Error>> {
    // The bits per key at which RocksDB's Bloom filter would have this rate.
    let request = Request { expected_keys: keys.len() as u64, target: Target::Fpr(fpr) };
    let bits = any::plan(Name::RocksDb, &request)?.geometry.bit_len as f64 / keys.len() as f64;
    let mut builder = rocksdb::Builder::new(rocksdb::Policy::new(rocksdb::FilterType::Ribbon, bits)?);
    keys.iter().for_each(|key| builder.add(&key.to_le_bytes()));
    Ok(Box::new(builder.build()?))
}

impl Filter for rocksdb::FullFilter {
    fn rate(&self, requested: f64) -> f64 {
        requested
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.may_contain(&key.to_le_bytes())).count()
    }

    fn answer(&self, keys: &[u64], out: &mut [bool]) {
        self.may_contain_batch_into(&Column(keys), out).expect("the keys fit");
    }
}
