//! Filters of some dialect that take keys at any time: made empty, or copied from bytes.

use super::{AnyFilter, typed_view, with_dialect};
use crate::dialect::rocksdb::Kind;
use crate::dialect::{Name, RocksDb, RocksDbLegacy};
use crate::error::{DecodeError, MergeError, SizeError};
use crate::filter::{Filter, Format, Insert};
use crate::native::{GuardedFilter, NativeFilter};
use crate::sizing::Request;
use std::any::Any;

/// A filter that owns its bits and takes keys one by one, in any order.
pub trait AnyGrowing: AnyFilter + Any {
    /// Adds a key; true if at least one bit changed, so the key was surely not there before.
    fn insert(&mut self, key: &[u8]) -> bool;
    /// Adds many keys.
    fn insert_batch(&mut self, keys: &[&[u8]]);
    /// Adds many keys that are numbers, given as their bytes ([`Value::key`](crate::typed::Value::key)).
    fn insert_numbers(&mut self, keys: &[&[u8]]) {
        self.insert_batch(keys);
    }
    /// Forgets all keys.
    fn clear(&mut self);
    /// Adds all keys of another filter of the same dialect and shape.
    fn merge(&mut self, other: &dyn AnyGrowing) -> Result<(), MergeError>;
    /// Keeps only what another filter of the same dialect and shape may contain too.
    fn intersect(&mut self, other: &dyn AnyGrowing) -> Result<(), MergeError>;
    /// As [`merge`](AnyGrowing::merge), from encoded bytes, read strictly and not copied.
    fn merge_encoded(&mut self, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<(), MergeError>;
}

impl<D: Format + Insert + 'static> AnyGrowing for Filter<D> {
    fn insert(&mut self, key: &[u8]) -> bool {
        Filter::insert(self, key)
    }

    fn insert_batch(&mut self, keys: &[&[u8]]) {
        Filter::insert_batch(self, keys);
    }

    fn insert_numbers(&mut self, keys: &[&[u8]]) {
        Filter::insert_numbers(self, keys);
    }

    fn clear(&mut self) {
        Filter::clear(self);
    }

    fn merge(&mut self, other: &dyn AnyGrowing) -> Result<(), MergeError> {
        Filter::merge(self, of_one_dialect(self, other)?)
    }

    fn intersect(&mut self, other: &dyn AnyGrowing) -> Result<(), MergeError> {
        Filter::intersect(self, of_one_dialect(self, other)?)
    }

    fn merge_encoded(&mut self, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<(), MergeError> {
        Filter::merge(self, &typed_view::<D>(bytes, geometry)?)
    }
}

impl AnyGrowing for NativeFilter {
    fn insert(&mut self, key: &[u8]) -> bool {
        NativeFilter::insert(self, key)
    }

    fn insert_batch(&mut self, keys: &[&[u8]]) {
        NativeFilter::insert_batch(self, keys);
    }

    fn clear(&mut self) {
        NativeFilter::clear(self);
    }

    fn merge(&mut self, other: &dyn AnyGrowing) -> Result<(), MergeError> {
        self.union(of_one_dialect(self, other)?)
    }

    fn intersect(&mut self, other: &dyn AnyGrowing) -> Result<(), MergeError> {
        NativeFilter::intersect(self, of_one_dialect(self, other)?)
    }

    fn merge_encoded(&mut self, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<(), MergeError> {
        super::native::view(bytes, geometry)?;
        let other = GuardedFilter::view(bytes)?.into_filter().map_err(|_| MergeError::Unsupported {
            dialect: Name::Native.as_str(),
            why: "one has exceptions, or its secret is not known",
        })?;
        self.union(&other)
    }
}

/// `other` as the type of `ours`.
fn of_one_dialect<'a, F: AnyGrowing>(ours: &F, other: &'a dyn AnyGrowing) -> Result<&'a F, MergeError> {
    let any: &dyn Any = other;
    any.downcast_ref().ok_or_else(|| MergeError::Differs {
        what: "dialect",
        ours: ours.dialect().to_string(),
        theirs: other.dialect().to_string(),
    })
}

/// An empty filter for this request that takes keys at any time; `None` for RocksDB's full filters, which are made when all keys
/// are known and have a [`builder`](super::builder).
///
/// ```
/// use fullbloom::{any, dialect::Name, sizing::{Request, Target}};
///
/// let request = Request { expected_keys: 1000, target: Target::Fpr(0.01) };
/// let mut one = any::growing(Name::Cassandra, &request)?.unwrap();
/// let mut two = any::growing(Name::Cassandra, &request)?.unwrap();
/// assert!(one.insert(b"apple") && two.insert(b"pear"));
/// one.merge(&*two)?;
/// assert!(one.may_contain(b"pear"));
/// assert!(any::growing(Name::RocksDb, &request)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn growing(dialect: Name, request: &Request) -> Result<Option<Box<dyn AnyGrowing>>, SizeError> {
    with_dialect!(
        dialect,
        D => Ok(Some(Box::new(Filter::<D>::new(request)?))),
        _kind => Ok(None),
        native => Ok(Some(Box::new(NativeFilter::new(request)?)))
    )
}

/// Reads encoded bytes strictly and copies them into a filter that takes keys; see [`view`](super::view) for `geometry`.
///
/// `None` where no key can be added without all the others: Ribbon filters, and native ones with exceptions or without their
/// secret.
pub fn decode(
    dialect: Name,
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
) -> Result<Option<Box<dyn AnyGrowing>>, DecodeError> {
    with_dialect!(
        dialect,
        D => owned::<D>(bytes, geometry),
        kind => match kind {
            Kind::Legacy => owned::<RocksDbLegacy>(bytes, geometry),
            Kind::FastLocal => owned::<RocksDb>(bytes, geometry),
            Kind::Ribbon => super::rocksdb::ribbon_view(bytes, geometry).map(|_| None),
        },
        native => {
            super::native::view(bytes, geometry)?;
            let filter = GuardedFilter::decode(bytes)?.into_filter();
            Ok(filter.ok().map(|filter| Box::new(filter) as Box<dyn AnyGrowing>))
        }
    )
}

fn owned<D: Format + Insert + 'static>(
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
) -> Result<Option<Box<dyn AnyGrowing>>, DecodeError> {
    let filter = typed_view::<D>(bytes, geometry)?.to_owned();
    let filter = filter.map_err(|_| DecodeError::Memory { bytes: bytes.len() as u64 })?;
    Ok(Some(Box::new(filter)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::any;
    use crate::sizing::Target;
    use crate::typed::{KeyType, Value};

    const REQUEST: Request = Request { expected_keys: 1000, target: Target::BitsPerKey(10.0) };

    fn keys(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|i| format!("key-{i}")).collect()
    }

    fn encoded(filter: &dyn AnyFilter) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_filter_of_keys_is_what_the_builder_makes_of_them_and_what_two_merged_halves_are() {
        for &dialect in Name::ALL {
            let Some(mut whole) = growing(dialect, &REQUEST).unwrap() else { continue };
            let mut half = growing(dialect, &REQUEST).unwrap().unwrap();
            let all = keys(0..500);
            let slices: Vec<&[u8]> = all.iter().map(|key| key.as_bytes()).collect();
            whole.insert_batch(&slices[..250]);
            half.insert_batch(&slices[250..]);
            let geometry = whole.geometry();
            let geometry = Some((geometry.bit_len, geometry.probes));
            whole.merge(&*half).unwrap();
            let mut again = decode(dialect, &encoded(&*half), geometry).unwrap().unwrap();
            again.clear();
            again.merge_encoded(&encoded(&*whole), geometry).unwrap();
            assert_eq!(again.set_bits(), whole.set_bits(), "{dialect}");
            let mut builder = any::builder(dialect, &REQUEST).unwrap();
            builder.insert_batch(&slices);
            let built = builder.finish().unwrap();
            assert!(slices.iter().all(|key| whole.may_contain(key)), "{dialect}");
            if !matches!(dialect, Name::Native | Name::Poppy) {
                // These count their keys, and after a merge have an estimate.
                assert_eq!(encoded(&*whole), encoded(&*built), "{dialect}");
            }
            let mut copy = decode(dialect, &encoded(&*whole), geometry).unwrap().unwrap();
            assert!(slices.iter().all(|key| copy.may_contain(key) && !copy.insert(key)), "{dialect}");
            copy.clear();
            assert_eq!(copy.set_bits(), 0, "{dialect}");
        }
    }

    #[test]
    fn keys_of_both_filters_are_in_their_intersection_and_others_at_no_higher_rate() {
        for &dialect in Name::ALL {
            let Some(mut ours) = growing(dialect, &REQUEST).unwrap() else { continue };
            let mut theirs = growing(dialect, &REQUEST).unwrap().unwrap();
            let all = keys(0..900);
            let slices: Vec<&[u8]> = all.iter().map(|key| key.as_bytes()).collect();
            ours.insert_batch(&slices[..600]);
            theirs.insert_batch(&slices[300..]);
            let found = |filter: &dyn AnyFilter, keys: &[&[u8]]| {
                keys.iter().filter(|key| filter.may_contain(key)).count()
            };
            let before = found(&*ours, &slices[..300]);
            ours.intersect(&*theirs).unwrap();
            assert_eq!(found(&*ours, &slices[300..600]), 300, "{dialect}");
            assert!(found(&*ours, &slices[..300]) < before / 4, "{dialect}");
            let other = growing(dialect, &Request { expected_keys: 5000, ..REQUEST }).unwrap().unwrap();
            assert!(ours.intersect(&*other).is_err(), "{dialect}");
        }
    }

    #[test]
    fn numbers_are_hashed_as_a_filter_made_for_them_hashes_them() {
        for &dialect in Name::ALL {
            let Some(mut filter) = growing(dialect, &REQUEST).unwrap() else { continue };
            let numbers: Vec<_> = (-50..50).filter_map(|n| Value::Long(n).key(dialect).ok()).collect();
            let slices: Vec<&[u8]> = numbers.iter().map(AsRef::as_ref).collect();
            filter.insert_numbers(&slices);
            let mut builder = any::builder_for(KeyType::Long, dialect, &REQUEST).unwrap();
            builder.insert_batch(&slices);
            assert_eq!(encoded(&*filter), encoded(&*builder.finish().unwrap()), "{dialect}");
            let mut answers = vec![false; slices.len()];
            match filter.for_numbers() {
                Some(numbers) => numbers.may_contain_batch(&slices, &mut answers),
                None => filter.may_contain_batch(&slices, &mut answers),
            }
            assert!(answers.iter().all(|yes| *yes), "{dialect}");
        }
    }

    #[test]
    fn filters_of_two_dialects_or_two_shapes_are_not_merged() {
        let mut ours = growing(Name::LevelDb, &REQUEST).unwrap().unwrap();
        let other = growing(Name::RocksDbBlock, &REQUEST).unwrap().unwrap();
        let told = ours.merge(&*other).unwrap_err().to_string();
        assert!(told.contains("dialect is leveldb in one and rocksdb-block"), "{told}");
        let other = Request { expected_keys: 2000, ..REQUEST };
        assert!(ours.merge(&*growing(Name::LevelDb, &other).unwrap().unwrap()).is_err());
    }

    #[test]
    fn rocksdb_filters_can_be_copied_and_merged_but_ribbon_ones_cannot() {
        for (dialect, takes_keys) in
            [(Name::RocksDb, true), (Name::RocksDbLegacy, true), (Name::RocksDbRibbon, false)]
        {
            let mut builder = any::builder(dialect, &REQUEST).unwrap();
            let all = keys(0..2000);
            builder.insert_batch(&all.iter().map(|key| key.as_bytes()).collect::<Vec<_>>());
            let bytes = encoded(&*builder.finish().unwrap());
            let copy = decode(dialect, &bytes, None).unwrap();
            assert_eq!(copy.is_some(), takes_keys, "{dialect}");
            assert!(decode(dialect, &bytes[..bytes.len() - 1], None).is_err());
        }
    }
}
