//! Filters whose dialect is known only at run time: for commands, bindings and tools.
//!
//! ```
//! use fullbloom::{any, dialect::Name, sizing::{Request, Target}};
//!
//! let request = Request { expected_keys: 3, target: Target::BitsPerKey(10.0) };
//! let mut builder = any::builder(Name::LevelDb, &request)?;
//! for key in ["apple", "pear", "plum"] {
//!     builder.insert(key.as_bytes());
//! }
//! let filter = builder.finish()?;
//! assert!(filter.may_contain(b"pear"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod convert;
mod forms;
mod growing;
mod native;
mod rocksdb;

pub use convert::{ConvertError, MadeFor, convert};
pub use growing::{AnyGrowing, decode, growing};

use crate::dialect::rocksdb::Kind;
use crate::dialect::{Name, RocksDb, RocksDbLegacy};
use crate::error::{DecodeError, SizeError};
use crate::filter::{Doubt, Filter, Format, Insert, Size, View, Weakness};
use crate::sizing::{Geometry, Request, Target};
use crate::typed::KeyType;
use std::io;

/// A filter of some dialect.
pub trait AnyFilter: Send + Sync {
    /// The dialect's name.
    fn dialect(&self) -> Name;
    /// The shape of the filter.
    fn geometry(&self) -> Geometry;
    /// Whether the key may be present.
    fn may_contain(&self, key: &[u8]) -> bool;
    /// Answers many keys. Panics if the slices differ in length.
    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]);
    /// The same filter for keys that are numbers, given as their bytes ([`Value::key`](crate::typed::Value::key)); `None`
    /// where those are hashed as all bytes are.
    fn for_numbers(&self) -> Option<Box<dyn AnyFilter + '_>> {
        None
    }
    /// Length of the encoded filter in bytes; of `java-lsm`, which drops zeros at the end, the most it can be.
    fn encoded_len(&self) -> u64;
    /// The bytes of the array, where it is one; empty for filters that have none.
    fn bits(&self) -> &[u8] {
        &[]
    }
    /// Number of set bits. Reads the whole array, as the next three do.
    fn set_bits(&self) -> u64;
    /// Share of bits set.
    fn fill(&self) -> f64;
    /// The rate to expect of the filter as it is now.
    fn expected_fpr(&self) -> f64;
    /// How many distinct keys the set bits speak of; `None` when it cannot be told.
    fn estimated_keys(&self) -> Option<f64>;
    /// What in the decoded numbers cannot be as the system wrote it, though it can be answered from.
    fn doubt(&self) -> Option<Doubt>;
    /// Where the format does not keep what it promises.
    fn weakness(&self) -> Option<Weakness> {
        None
    }
    /// Writes the encoded filter.
    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()>;
}

/// Takes keys, then becomes a filter.
pub trait AnyBuilder: Send {
    /// Adds keys in this order.
    fn insert_batch(&mut self, keys: &[&[u8]]);
    /// Adds a key.
    fn insert(&mut self, key: &[u8]) {
        self.insert_batch(&[key]);
    }
    /// The filter of the keys added.
    fn finish(self: Box<Self>) -> Result<Box<dyn AnyFilter>, SizeError>;
}

/// What a request comes to in one dialect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The dialect.
    pub dialect: Name,
    /// The shape its rule gives.
    pub geometry: Geometry,
    /// Length of the encoded filter in bytes.
    pub encoded_len: u64,
    /// The rate to expect once the expected keys are in, by the dialect's model.
    pub expected_fpr: f64,
    /// Where the format does not keep what it promises.
    pub weakness: Option<Weakness>,
}

/// Calls `$body` with `$D` standing for the dialect's type, or `$full` with the kind of full filter, which
/// needs all keys before it has a size.
macro_rules! with_dialect {
    ($name:expr, $D:ident => $body:expr, $kind:ident => $full:expr, native => $native:expr) => {
        match $name {
            Name::Native => $native,
            Name::Cassandra => {
                type $D = $crate::dialect::Cassandra;
                $body
            }
            Name::Cassandra3 => {
                type $D = $crate::dialect::Cassandra3;
                $body
            }
            Name::Cassandra2 => {
                type $D = $crate::dialect::Cassandra2;
                $body
            }
            Name::Cassandra1 => {
                type $D = $crate::dialect::Cassandra1;
                $body
            }
            Name::Cassandra07 => {
                type $D = $crate::dialect::Cassandra07;
                $body
            }
            Name::Cassandra0 => {
                type $D = $crate::dialect::Cassandra0;
                $body
            }
            Name::Libbloom => {
                type $D = $crate::dialect::Libbloom;
                $body
            }
            Name::Libbloom1 => {
                type $D = $crate::dialect::Libbloom1;
                $body
            }
            Name::LevelDb => {
                type $D = $crate::dialect::LevelDb;
                $body
            }
            Name::RocksDbBlock => {
                type $D = $crate::dialect::RocksDbBlock;
                $body
            }
            Name::RocksDbLegacy => {
                let $kind = Kind::Legacy;
                $full
            }
            Name::RocksDb => {
                let $kind = Kind::FastLocal;
                $full
            }
            Name::RocksDbRibbon => {
                let $kind = Kind::Ribbon;
                $full
            }
            Name::Parquet => {
                type $D = $crate::dialect::Parquet;
                $body
            }
            Name::Guava => {
                type $D = $crate::dialect::Guava;
                $body
            }
            Name::Guava32 => {
                type $D = $crate::dialect::Guava32;
                $body
            }
            Name::Spark => {
                type $D = $crate::dialect::Spark;
                $body
            }
            Name::Spark2 => {
                type $D = $crate::dialect::Spark2;
                $body
            }
            Name::Orc => {
                type $D = $crate::dialect::Orc;
                $body
            }
            Name::Dcso => {
                type $D = $crate::dialect::Dcso;
                $body
            }
            Name::Poppy => {
                type $D = $crate::dialect::Poppy;
                $body
            }
            Name::JavaLsm => {
                type $D = $crate::dialect::JavaLsm;
                $body
            }
        }
    };
}
use with_dialect;

/// What this request comes to, without allocating the filter.
pub fn plan(dialect: Name, request: &Request) -> Result<Plan, SizeError> {
    with_dialect!(
        dialect,
        D => planned::<D>(request),
        kind => rocksdb::plan(dialect, kind, request),
        native => native::plan(request)
    )
}

fn planned<D: Size + Format>(request: &Request) -> Result<Plan, SizeError> {
    let sized = D::size(request)?;
    Ok(Plan {
        dialect: D::NAME,
        geometry: sized.geometry(),
        encoded_len: sized.encoded_len(),
        expected_fpr: sized.expected_fpr(request.expected_keys as f64),
        weakness: sized.weakness(),
    })
}

/// More bits per key than this buy nothing that could be measured, whatever memory there is.
const MOST_BITS_PER_KEY: u32 = 100;

/// The largest filter for `expected_keys` keys whose encoded form fits `bytes`, up to 100 bits per key; a smaller one where that
/// has the lower rate.
///
/// Bits per key are tried whole, then in thousandths, where the dialect takes those.
///
/// ```
/// use fullbloom::{any, dialect::Name};
///
/// let plan = any::plan_within(Name::LevelDb, 1_000_000, 1_300_000)?;
/// assert_eq!((plan.geometry.bit_len, plan.encoded_len), (10_000_000, 1_250_001));
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
pub fn plan_within(dialect: Name, expected_keys: u64, bytes: u64) -> Result<Plan, SizeError> {
    if dialect == Name::Native {
        return native::plan_within(expected_keys, bytes);
    }
    let request = |thousandths: u32| {
        let target = Target::BitsPerKey(f64::from(thousandths) / 1000.0);
        Request { expected_keys, target }
    };
    let fits = |thousandths: u32| match encoded_len(dialect, &request(thousandths)) {
        Ok(len) if len > bytes => Err(SizeError::OverBudget { bytes }),
        other => other.map(|_| thousandths),
    };
    let mut refusal = SizeError::OverBudget { bytes };
    let mut whole = MOST_BITS_PER_KEY * 1000;
    while whole > 0 {
        match fits(whole) {
            Ok(_) => break,
            Err(e) => refusal = e,
        }
        whole -= 1000;
    }
    let finer_parts = if whole < MOST_BITS_PER_KEY * 1000 { 1..1000 } else { 0..0 };
    let finer = finer_parts.rev().find_map(|part| fits(whole + part).ok());
    match finer.or((whole > 0).then_some(whole)) {
        Some(most) if more_can_be_worse(dialect) => best_up_to(dialect, most, request),
        Some(thousandths) => plan(dialect, &request(thousandths)),
        None => Err(refusal),
    }
}

/// RocksDB's filters stop growing at a size, but their probes go by the bits per key that were asked for; the positions of Guava's
/// old strategy and of Spark's first version stop at 2^31, so that further bits only bring further probes.
fn more_can_be_worse(dialect: Name) -> bool {
    use Name::{Guava32, RocksDb, RocksDbLegacy, RocksDbRibbon, Spark};
    matches!(dialect, RocksDb | RocksDbLegacy | RocksDbRibbon | Guava32 | Spark)
}

/// The plan of lowest rate among those with so many thousandths of a bit for each key and fewer.
fn best_up_to(dialect: Name, most: u32, request: impl Fn(u32) -> Request) -> Result<Plan, SizeError> {
    let mut best = plan(dialect, &request(most))?;
    // The fewest bits per key that come to the same length: what the filter has, where it could not grow further.
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low.midpoint(high);
        match encoded_len(dialect, &request(middle)) {
            Ok(len) if len >= best.encoded_len => high = middle,
            _ => low = middle + 1,
        }
    }
    for thousandths in (1..=most / 1000).map(|bits| bits * 1000).chain([low]) {
        match plan(dialect, &request(thousandths)) {
            Ok(plan) if plan.expected_fpr < best.expected_fpr => best = plan,
            _ => {}
        }
    }
    Ok(best)
}

/// How long the encoded filter of a request is. Cheaper than the whole plan: some dialects find their rate by
/// filling filters.
fn encoded_len(dialect: Name, request: &Request) -> Result<u64, SizeError> {
    with_dialect!(
        dialect,
        D => Ok(D::size(request)?.encoded_len()),
        kind => rocksdb::encoded_len(kind, request),
        native => native::plan(request).map(|plan| plan.encoded_len)
    )
}

/// An empty filter for this request, ready for keys.
///
/// RocksDB's full filters are sized by the keys that come, not by those expected, as there.
pub fn builder(dialect: Name, request: &Request) -> Result<Box<dyn AnyBuilder>, SizeError> {
    with_dialect!(
        dialect,
        D => Ok(Box::new(Filter::<D>::new(request)?)),
        kind => rocksdb::builder(dialect, kind, request),
        native => native::builder(request)
    )
}

/// Whether [`builder`] has no use for the number of expected keys: the geometry is given, or the filter is
/// sized by the keys that come.
pub fn ignores_expected_keys(dialect: Name, target: Target) -> bool {
    matches!(target, Target::Exact { .. })
        || matches!(dialect, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon)
}

/// Reads encoded bytes strictly and answers from where they are.
///
/// `geometry` (bits and probes) is needed by the dialects whose bytes hold nothing but bits; for others it
/// must agree with what the bytes say.
pub fn view<'a>(
    dialect: Name,
    bytes: &'a [u8],
    geometry: Option<(u64, u32)>,
) -> Result<Box<dyn AnyFilter + 'a>, DecodeError> {
    with_dialect!(
        dialect,
        D => Ok(Box::new(typed_view::<D>(bytes, geometry)?)),
        kind => match kind {
            Kind::Legacy => Ok(Box::new(typed_view::<RocksDbLegacy>(bytes, geometry)?)),
            Kind::FastLocal => Ok(Box::new(typed_view::<RocksDb>(bytes, geometry)?)),
            Kind::Ribbon => rocksdb::ribbon_view(bytes, geometry),
        },
        native => native::view(bytes, geometry)
    )
}

/// As [`view`], for keys of this type, given as their bytes ([`Value::key`](crate::typed::Value::key)).
pub fn view_for<'a>(
    keys: KeyType,
    dialect: Name,
    bytes: &'a [u8],
    geometry: Option<(u64, u32)>,
) -> Result<Box<dyn AnyFilter + 'a>, DecodeError> {
    if !keys.is_number() {
        return view(dialect, bytes, geometry);
    }
    with_dialect!(
        dialect,
        D => Ok(Box::new(typed_view::<D>(bytes, geometry)?.for_numbers())),
        _kind => view(dialect, bytes, geometry),
        native => view(dialect, bytes, geometry)
    )
}

/// As [`builder`], for keys of this type, given as their bytes ([`Value::key`](crate::typed::Value::key)).
pub fn builder_for(
    keys: KeyType,
    dialect: Name,
    request: &Request,
) -> Result<Box<dyn AnyBuilder>, SizeError> {
    if !keys.is_number() {
        return builder(dialect, request);
    }
    with_dialect!(
        dialect,
        D => Ok(Box::new(Filter::<D>::new(request)?.for_numbers())),
        _kind => builder(dialect, request),
        native => builder(dialect, request)
    )
}

fn typed_view<D: Format>(bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<View<'_, D>, DecodeError> {
    match geometry {
        Some((bit_len, probes)) => D::view_exact(bytes, bit_len, probes),
        None => View::view(bytes),
    }
}

impl<D: Format, S: AsRef<[u8]> + Send + Sync> AnyFilter for Filter<D, S> {
    fn dialect(&self) -> Name {
        D::NAME
    }

    fn geometry(&self) -> Geometry {
        Filter::geometry(self)
    }

    fn may_contain(&self, key: &[u8]) -> bool {
        Filter::may_contain(self, key)
    }

    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        Filter::may_contain_batch(self, keys, answers);
    }

    fn for_numbers(&self) -> Option<Box<dyn AnyFilter + '_>> {
        Some(Box::new(Filter::for_numbers(self.as_view())))
    }

    fn encoded_len(&self) -> u64 {
        Filter::dialect(self).encoded_len()
    }

    fn bits(&self) -> &[u8] {
        Filter::bits(self)
    }

    fn set_bits(&self) -> u64 {
        Filter::set_bits(self)
    }

    fn fill(&self) -> f64 {
        Filter::fill(self)
    }

    fn expected_fpr(&self) -> f64 {
        Filter::expected_fpr(self)
    }

    fn estimated_keys(&self) -> Option<f64> {
        Filter::estimated_keys(self)
    }

    fn doubt(&self) -> Option<Doubt> {
        Filter::dialect(self).doubt()
    }

    fn weakness(&self) -> Option<Weakness> {
        Filter::dialect(self).weakness()
    }

    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        Filter::write_to(self, out)
    }
}

impl<D: Format + Insert + 'static> AnyBuilder for Filter<D> {
    fn insert_batch(&mut self, keys: &[&[u8]]) {
        Filter::insert_batch(self, keys);
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn AnyFilter>, SizeError> {
        Ok(self)
    }
}
