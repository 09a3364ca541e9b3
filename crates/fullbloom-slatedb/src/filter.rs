//! The filter of one table: any kind of native filter, or invalid bytes.

use crate::targets::{Probe, Targets};
use bytes::{BufMut, Bytes};

use fullbloom_compact::CompactFilter;
use fullbloom_core::hash::Fold64;
use slatedb::{Filter, FilterQuery, FilterTarget};
use std::sync::Arc;

/// Prefixes are stored under other hashes than keys, so that a stored prefix does not make a key of the same
/// bytes look present.
const PREFIX_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed of the native hash, as in filters built without one.
pub(crate) const SEED: u64 = 0;

/// Keys up to this many bytes are hashed without a call.
const SHORT: usize = 32;

/// The stored hash of a prefix, from the filter's hash of its bytes.
#[inline]
pub(crate) fn prefix_hash(hash: u64) -> u64 {
    hash ^ PREFIX_SALT
}

/// A filter of one of the kinds that a policy reads. Each kind is a type, so that the lookups of one are
/// compiled without the others: SlateDB calls them through a trait object anyway.
pub(crate) trait Kind: Send + Sync + 'static {
    /// For keys of at most [`SHORT`] bytes.
    fn may_contain_short(&self, key: &[u8]) -> bool {
        self.may_contain_key(key)
    }

    fn may_contain_key(&self, key: &[u8]) -> bool;
    fn may_contain_prefix(&self, prefix: &[u8]) -> bool;
    fn put(&self, writer: &mut dyn BufMut);
    fn size(&self) -> usize;
}

/// Kind `fast`, with the hash that the policies use: it is known when this is compiled, except for its
/// numbers.
struct Fast {
    filter: fullbloom::Filter,
    hasher: Fold64,
}

impl Kind for Fast {
    #[inline(always)]
    fn may_contain_short(&self, key: &[u8]) -> bool {
        self.filter.may_contain_hash(self.hasher.hash(key))
    }

    fn may_contain_key(&self, key: &[u8]) -> bool {
        self.filter.may_contain(key)
    }

    fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        self.filter.may_contain_prefix(prefix)
    }

    fn put(&self, writer: &mut dyn BufMut) {
        self.filter.put(writer);
    }

    fn size(&self) -> usize {
        Kind::size(&self.filter)
    }
}

macro_rules! native_kind {
    ($Filter:ty) => {
        impl Kind for $Filter {
            fn may_contain_key(&self, key: &[u8]) -> bool {
                self.may_contain(key)
            }

            fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
                self.may_contain_hash(prefix_hash(self.hash(prefix)))
            }

            fn put(&self, writer: &mut dyn BufMut) {
                writer.put_slice(&self.encode());
            }

            fn size(&self) -> usize {
                self.bits().len()
            }
        }
    };
}

native_kind!(fullbloom::Filter);
native_kind!(CompactFilter);

/// Bytes that cannot be decoded. They answer "maybe", and are passed on as they are.
struct Unknown(Bytes);

impl Kind for Unknown {
    fn may_contain_key(&self, _: &[u8]) -> bool {
        true
    }

    fn may_contain_prefix(&self, _: &[u8]) -> bool {
        true
    }

    fn put(&self, writer: &mut dyn BufMut) {
        writer.put_slice(&self.0);
    }

    fn size(&self) -> usize {
        self.0.len()
    }
}

/// The filter of one table. Copies share the bits.
struct TableFilter<K> {
    kind: Arc<K>,
    targets: Targets,
}

fn table<K: Kind>(kind: K, targets: Targets) -> Arc<dyn Filter> {
    Arc::new(TableFilter { kind: Arc::new(kind), targets })
}

/// The filter of a table, of kind `fast`.
pub(crate) fn fast(filter: fullbloom::Filter, targets: Targets) -> Arc<dyn Filter> {
    let hasher = Fold64::new(SEED);
    // The hash of no bytes is odd. A filter with another hash, or with only the leading bits of this one,
    // differs here.
    match filter.hash(b"") == hasher.hash(b"") {
        true => table(Fast { filter, hasher }, targets),
        false => table(filter, targets),
    }
}

/// The filter of a table, of kind `compact`.
pub(crate) fn compact(filter: CompactFilter, targets: Targets) -> Arc<dyn Filter> {
    table(filter, targets)
}

/// The filter of a table whose bytes are unknown; empty for a table without one.
pub(crate) fn unknown(bytes: Bytes, targets: Targets) -> Arc<dyn Filter> {
    table(Unknown(bytes), targets)
}

/// Reads an encoded filter. The bits are copied into aligned memory and not compared with their checksums.
pub(crate) fn decode(bytes: &[u8], targets: Targets) -> Arc<dyn Filter> {
    if let Some(filter) = fullbloom::Filter::view(bytes).ok().and_then(|view| view.try_clone().ok()) {
        return fast(filter, targets);
    }
    if let Some(filter) = CompactFilter::view(bytes).ok().and_then(|view| view.try_clone().ok()) {
        return compact(filter, targets);
    }
    unknown(Bytes::copy_from_slice(bytes), targets)
}

impl<K: Kind> TableFilter<K> {
    /// Everything but short keys.
    #[inline(never)]
    fn might_match_other(&self, query: &FilterQuery) -> bool {
        match self.targets.probe(&query.target) {
            Probe::Key(key) => self.kind.may_contain_key(key),
            Probe::Prefix(prefix) => self.kind.may_contain_prefix(prefix),
            Probe::Nothing => true,
        }
    }
}

impl<K: Kind> Filter for TableFilter<K> {
    fn might_match(&self, query: &FilterQuery) -> bool {
        match &query.target {
            FilterTarget::Point(key) if self.targets.whole_key && key.len() <= SHORT => {
                self.kind.may_contain_short(key)
            }
            _ => self.might_match_other(query),
        }
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        self.kind.put(writer);
    }

    fn size(&self) -> usize {
        self.kind.size()
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(TableFilter { kind: Arc::clone(&self.kind), targets: self.targets.clone() })
    }
}
