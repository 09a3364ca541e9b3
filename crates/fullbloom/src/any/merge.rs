//! Merging filters whose dialect is known only at run time.

use super::{AnyFilter, typed_view, with_dialect};
use crate::dialect::rocksdb::Kind;
use crate::dialect::{
    Cassandra, Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07, JavaLsm, LevelDb, Libbloom,
    Libbloom1, Name, RocksDb, RocksDbBlock, RocksDbLegacy,
};
use crate::error::{DecodeError, MergeError, SizeError};
use crate::filter::{Filter, Format, Insert};

/// Takes filters of one dialect and geometry, then becomes the filter of all their keys.
pub trait AnyMerger {
    /// Adds the keys of an encoded filter of the same dialect, read strictly.
    fn merge(&mut self, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<(), MergeError>;
    /// The filter of all keys.
    fn finish(self: Box<Self>) -> Box<dyn AnyFilter>;
}

/// Begins with this encoded filter, read strictly and copied; `geometry` is as in [`view`](super::view).
///
/// Native filters carry more than their bits, so theirs is [`union`](crate::native::NativeFilter::union).
///
/// ```
/// use fullbloom::{Filter, LevelDb, any, dialect::Name};
///
/// let of = |key: &str| {
///     let mut filter = Filter::<LevelDb>::with_bits_per_key(100, 10.0).unwrap();
///     filter.insert(key.as_bytes());
///     filter.encode()
/// };
/// let mut merger = any::merger(Name::LevelDb, &of("apple"), None)?;
/// merger.merge(&of("pear"), None)?;
/// let both = merger.finish();
/// assert!(both.may_contain(b"apple") && both.may_contain(b"pear"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merger(
    dialect: Name,
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
) -> Result<Box<dyn AnyMerger>, MergeError> {
    with_dialect!(
        dialect,
        D => first::<D>(bytes, geometry),
        kind => match kind {
            Kind::Legacy => first::<RocksDbLegacy>(bytes, geometry),
            Kind::FastLocal => first::<RocksDb>(bytes, geometry),
            Kind::Ribbon => Err(MergeError::Unsupported {
                dialect: Name::RocksDbRibbon.as_str(),
                why: "a Ribbon filter is solved for its keys at once; build it anew from all keys",
            }),
        },
        native => Err(MergeError::Unsupported {
            dialect: Name::Native.as_str(),
            why: "not through here; NativeFilter has union",
        })
    )
}

fn first<D: Format + Insert + 'static>(
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
) -> Result<Box<dyn AnyMerger>, MergeError> {
    let filter = typed_view::<D>(bytes, geometry)?.to_owned();
    filter.map(|filter| Box::new(filter) as _).map_err(|e| match e {
        SizeError::Memory { bytes } => DecodeError::Memory { bytes }.into(),
        other => DecodeError::Geometry(other).into(),
    })
}

impl<D: Format + Insert + 'static> AnyMerger for Filter<D> {
    fn merge(&mut self, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<(), MergeError> {
        let other = typed_view::<D>(bytes, geometry)?;
        Filter::merge(self, &other)
    }

    fn finish(self: Box<Self>) -> Box<dyn AnyFilter> {
        self
    }
}
