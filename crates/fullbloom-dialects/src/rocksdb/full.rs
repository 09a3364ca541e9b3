//! A full filter of the type given by its trailer: reads any bytes as RocksDB's reader does.

use super::fast_local::Xxph3;
use super::legacy::Bloom32;
use super::{RocksDb, RocksDbLegacy, RocksDbRibbon, TRAILER, fast_local, ribbon, split};
use crate::Name;
use crate::filter::{Check, Dialect, Filter, Format, Part, View};
use alloc::vec::Vec;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::KeysError;
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::Keys;

/// The bytes that RocksDB stores when it detects that a filter was built from damaged hashes: they match
/// every key.
pub const MATCHES_EVERYTHING: [u8; TRAILER + 1] = [0; TRAILER + 1];

/// A full filter, built or read.
#[derive(Debug, Clone)]
pub enum FullFilter<S = Owned> {
    /// No key was added: no key matches. Five bytes or fewer are read this way.
    Nothing,
    /// Unknown or undecidable bytes: every key matches.
    Everything,
    /// The legacy Bloom filter.
    Legacy(Filter<RocksDbLegacy, S>),
    /// A Bloom filter in cache lines.
    FastLocal(Filter<RocksDb, S>),
    /// A Ribbon filter.
    Ribbon(Filter<RocksDbRibbon, S>),
}

/// Calls `$body` with the filter, or `$none` with a flag that says whether every key matches.
macro_rules! dispatch {
    ($full:expr, $none:expr, $filter:ident => $body:expr) => {
        match $full {
            FullFilter::Nothing => $none(false),
            FullFilter::Everything => $none(true),
            FullFilter::Legacy($filter) => $body,
            FullFilter::FastLocal($filter) => $body,
            FullFilter::Ribbon($filter) => $body,
        }
    };
}

impl<'a> FullFilter<&'a [u8]> {
    /// Reads any bytes as RocksDB does; never fails, and never reads outside them.
    ///
    /// Two trailers make RocksDB itself read out of bounds: FastLocalBloom with less than a block of data,
    /// and a legacy number of lines whose product with 64 wraps to the length. Here they match every key.
    pub fn read(bytes: &'a [u8]) -> Self {
        if bytes.len() <= TRAILER {
            return FullFilter::Nothing;
        }
        Self::recognise(bytes).unwrap_or(FullFilter::Everything)
    }

    fn recognise(bytes: &'a [u8]) -> Option<Self> {
        let (data, trailer) = split(bytes).ok()?;
        Some(match trailer[0] {
            fast_local::MARKER => FullFilter::FastLocal(over(RocksDb::read(data, trailer).ok()?, data)?),
            ribbon::MARKER => FullFilter::Ribbon(over(RocksDbRibbon::read(data, trailer).ok()?, data)?),
            _ => FullFilter::Legacy(over(RocksDbLegacy::read(data, trailer).ok()?, data)?),
        })
    }
}

impl<S: AsRef<[u8]>> FullFilter<Part<S>> {
    /// As [`read`](FullFilter::read), over any owner of the bytes: `Bytes`, an `Arc<[u8]>`, a `Vec<u8>`.
    ///
    /// ```
    /// use fullbloom_dialects::rocksdb::FullFilter;
    /// use std::sync::Arc;
    ///
    /// let block: Arc<[u8]> = Arc::from([0u8; 6]); // as held in a block cache
    /// assert!(FullFilter::over(block).may_contain(b"key"), "unknown bytes match every key");
    /// ```
    pub fn over(storage: S) -> Self {
        // The bits are at the beginning of the block.
        match FullFilter::read(storage.as_ref()) {
            FullFilter::Nothing => FullFilter::Nothing,
            FullFilter::Everything => FullFilter::Everything,
            FullFilter::Legacy(view) => {
                let (dialect, bits) = (view.dialect, 0..view.bits.len());
                FullFilter::Legacy(Filter { dialect, bits: Part::new(storage, bits) })
            }
            FullFilter::FastLocal(view) => {
                let (dialect, bits) = (view.dialect, 0..view.bits.len());
                FullFilter::FastLocal(Filter { dialect, bits: Part::new(storage, bits) })
            }
            FullFilter::Ribbon(view) => {
                let (dialect, bits) = (view.dialect, 0..view.bits.len());
                FullFilter::Ribbon(Filter { dialect, bits: Part::new(storage, bits) })
            }
        }
    }
}

/// The filter over the part of the data that its dialect uses.
fn over<D: Dialect>(dialect: D, data: &[u8]) -> Option<View<'_, D>> {
    let used = usize::try_from(dialect.byte_len()).ok()?;
    Filter::from_parts(dialect, data.get(..used)?).ok()
}

impl<S: AsRef<[u8]>> FullFilter<S> {
    /// What RocksDB's reader answers for these bytes.
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        dispatch!(self, |all| all, filter => filter.may_contain(key))
    }

    /// Looks up many keys; see [`Filter::may_contain_batch`].
    ///
    /// # Errors
    /// If the number of places in `answers` is not the number of keys.
    pub fn may_contain_batch_into<'a, K>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError>
    where
        K: Keys<Xxph3> + Keys<Bloom32> + ?Sized,
    {
        let mut answers = answers.into();
        let count = Keys::<Xxph3>::count(keys);
        let mut all_alike = |all| {
            answers.require_places(count)?;
            answers.fill(count, all);
            Ok(())
        };
        match self {
            FullFilter::Nothing => all_alike(false),
            FullFilter::Everything => all_alike(true),
            FullFilter::Legacy(filter) => filter.may_contain_batch_into(keys, answers),
            FullFilter::FastLocal(filter) => filter.may_contain_batch_into(keys, answers),
            FullFilter::Ribbon(filter) => filter.may_contain_batch_into(keys, answers),
        }
    }

    /// The dialect; `None` where the bytes belong to none.
    pub fn dialect(&self) -> Option<Name> {
        match self {
            FullFilter::Nothing | FullFilter::Everything => None,
            FullFilter::Legacy(_) => Some(Name::RocksDbLegacy),
            FullFilter::FastLocal(_) => Some(Name::RocksDb),
            FullFilter::Ribbon(_) => Some(Name::RocksDbRibbon),
        }
    }

    /// The filter as RocksDB stores it, with its trailer. Zero keys give zero bytes, as since 9.6; before, a
    /// Bloom builder that was asked for a filter without keys returned a bare trailer (its tables never hold
    /// one).
    pub fn encode(&self) -> Vec<u8> {
        let stub = |all| if all { MATCHES_EVERYTHING.to_vec() } else { Vec::new() };
        dispatch!(self, stub, filter => filter.encode())
    }

    /// Writes what [`encode`](FullFilter::encode) returns.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        dispatch!(self, |all| if all { out.write_all(&MATCHES_EVERYTHING) } else { Ok(()) }, filter => filter.write_to(out))
    }

    /// Length of what [`encode`](FullFilter::encode) returns.
    pub fn encoded_len(&self) -> u64 {
        let stub = |all| if all { MATCHES_EVERYTHING.len() as u64 } else { 0 };
        dispatch!(self, stub, filter => filter.encoded_len())
    }
}

/// Whether these bytes are what RocksDB writes for a filter without keys: nothing, as since 9.6, or a bare
/// trailer of this dialect. No key matches. Other short bytes, which RocksDB reads in the same way, are
/// damage.
pub fn is_without_keys(dialect: Name, bytes: &[u8]) -> bool {
    matches!(
        (dialect, bytes),
        (Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon, [])
            | (Name::RocksDb | Name::RocksDbRibbon, [fast_local::MARKER, 0, 1..=30, 0, 0])
            | (Name::RocksDbLegacy, [1..=30, 0, 0, 0, 0])
    )
}

/// The full filter that these bytes can be, by their trailer.
///
/// FastLocalBloom and Ribbon have a marker, and everything beside it must fit too. The legacy filter has no
/// marker: its probes and lines must be numbers that RocksDB writes. A per-block filter (`leveldb`,
/// `rocksdb-block`) ends in its number of probes, where a legacy or FastLocalBloom filter ends in zero unless
/// it is of 1 GiB or more, so these can be distinguished. A Ribbon filter of more than eight million keys is
/// also a valid per-block filter, and a per-block filter may end like a Ribbon trailer by chance.
pub fn sniff(bytes: &[u8]) -> Option<Name> {
    let bare = |name: &Name| !bytes.is_empty() && is_without_keys(*name, bytes);
    if let Some(name) = [Name::RocksDb, Name::RocksDbLegacy].into_iter().find(bare) {
        return Some(name);
    }
    let (_, trailer) = split(bytes).ok()?;
    match trailer[0] {
        fast_local::MARKER => RocksDb::decode(bytes, Check::Header).ok().map(|_| Name::RocksDb),
        ribbon::MARKER => RocksDbRibbon::decode(bytes, Check::Header).ok().map(|_| Name::RocksDbRibbon),
        _ => {
            let (found, _) = RocksDbLegacy::decode(bytes, Check::Header).ok()?;
            found.doubt().is_none().then_some(Name::RocksDbLegacy)
        }
    }
}
