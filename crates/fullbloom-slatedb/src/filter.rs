//! The filter of one table: any kind of native filter, or bytes that are none.

use crate::targets::{Probe, Targets};
use bytes::{BufMut, Bytes};
use fullbloom::NativeFilter;
use fullbloom::native::CompactFilter;
use slatedb::{Filter, FilterQuery};
use std::sync::Arc;

/// Prefixes are stored under other hashes than keys, so that a stored prefix does not make a key of the same bytes look
/// present.
const PREFIX_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The stored hash of a prefix, from the filter's hash of its bytes.
#[inline]
pub(crate) fn prefix_hash(hash: u64) -> u64 {
    hash ^ PREFIX_SALT
}

/// A filter of one of the kinds that a policy reads.
pub(crate) enum Kind {
    Fast(NativeFilter),
    Compact(CompactFilter),
    /// Bytes that cannot be decoded. They answer "maybe", and are passed on as they are.
    Unknown(Bytes),
}

impl Kind {
    /// Reads an encoded filter. The bits are copied into aligned memory and not compared with their checksums.
    pub(crate) fn decode(bytes: &[u8]) -> Kind {
        let fast = || NativeFilter::view(bytes).ok()?.try_clone().ok().map(Kind::Fast);
        let compact = || CompactFilter::view(bytes).ok()?.try_clone().ok().map(Kind::Compact);
        fast().or_else(compact).unwrap_or_else(|| Kind::Unknown(Bytes::copy_from_slice(bytes)))
    }

    #[inline]
    fn may_contain_key(&self, key: &[u8]) -> bool {
        match self {
            Kind::Fast(filter) => filter.may_contain(key),
            Kind::Compact(filter) => filter.may_contain(key),
            Kind::Unknown(_) => true,
        }
    }

    fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        match self {
            Kind::Fast(filter) => filter.may_contain_hash(prefix_hash(filter.hash(prefix))),
            Kind::Compact(filter) => filter.may_contain_hash(prefix_hash(filter.hash(prefix))),
            Kind::Unknown(_) => true,
        }
    }
}

/// The filter of one table. Copies share the bits.
pub(crate) struct TableFilter {
    kind: Arc<Kind>,
    targets: Targets,
}

impl TableFilter {
    pub(crate) fn new(kind: Kind, targets: Targets) -> Self {
        TableFilter { kind: Arc::new(kind), targets }
    }
}

impl Filter for TableFilter {
    #[inline]
    fn might_match(&self, query: &FilterQuery) -> bool {
        match self.targets.probe(&query.target) {
            Probe::Key(key) => self.kind.may_contain_key(key),
            Probe::Prefix(prefix) => self.kind.may_contain_prefix(prefix),
            Probe::Nothing => true,
        }
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        match &*self.kind {
            Kind::Fast(filter) => writer.put_slice(&filter.encode()),
            Kind::Compact(filter) => writer.put_slice(&filter.encode()),
            Kind::Unknown(bytes) => writer.put_slice(bytes),
        }
    }

    fn size(&self) -> usize {
        match &*self.kind {
            Kind::Fast(filter) => filter.bits().len(),
            Kind::Compact(filter) => filter.bits().len(),
            Kind::Unknown(bytes) => bytes.len(),
        }
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(TableFilter { kind: Arc::clone(&self.kind), targets: self.targets.clone() })
    }
}
