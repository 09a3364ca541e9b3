//! The filter of one table: any kind of native filter, or invalid bytes.

use crate::targets::{Probe, Targets};
use bytes::{BufMut, Bytes};
use fullbloom::keys::{Hasher, Key, KeyHasher as _};
use fullbloom::storage::Part;
use fullbloom_compact::CompactFilter;
use slatedb::{Filter, FilterQuery, FilterTarget};
use std::sync::Arc;

/// Prefixes are stored under other hashes than keys, so that a stored prefix does not make a key of the same
/// bytes look present.
const PREFIX_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A prefix as a key of a filter.
pub(crate) struct Prefix<'a>(pub(crate) &'a [u8]);

impl Key<Hasher> for Prefix<'_> {
    #[inline]
    fn hash_with(&self, hasher: &Hasher) -> u64 {
        hasher.hash(self.0) ^ PREFIX_SALT
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.0);
    }
}

/// Keys up to this many bytes are looked up without a further call.
const SHORT: usize = 32;

/// A filter of one of the kinds that a policy reads. Each kind is a type, so that the lookups of one are
/// compiled without the others: SlateDB calls them through a trait object anyway.
pub(crate) trait Kind: Send + Sync + 'static {
    fn may_contain_key(&self, key: &[u8]) -> bool;
    fn may_contain_prefix(&self, prefix: &[u8]) -> bool;
    fn put(&self, writer: &mut dyn BufMut);
    fn size(&self) -> usize;
}

macro_rules! native_kind {
    ($Filter:ty) => {
        impl Kind for $Filter {
            #[inline]
            fn may_contain_key(&self, key: &[u8]) -> bool {
                self.may_contain(key)
            }

            fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
                self.may_contain(Prefix(prefix))
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
native_kind!(fullbloom::Filter<Part<Bytes>>);
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

/// The filter of a table.
pub(crate) fn table<K: Kind>(kind: K, targets: Targets) -> Arc<dyn Filter> {
    Arc::new(TableFilter { kind: Arc::new(kind), targets })
}

/// The filter of a table whose bytes are unknown; empty for a table without one.
pub(crate) fn unknown(bytes: Bytes, targets: Targets) -> Arc<dyn Filter> {
    table(Unknown(bytes), targets)
}

/// Reads an encoded filter. The bits are copied into aligned memory and not compared with their checksums.
pub(crate) fn decode(bytes: &[u8], targets: Targets) -> Arc<dyn Filter> {
    if let Ok(filter) = fullbloom::Filter::view(bytes) {
        // A filter that takes no keys stays with its bytes.
        return match filter.to_mutable() {
            Ok(filter) => table(filter, targets),
            Err(_) => in_place(Bytes::copy_from_slice(bytes), targets),
        };
    }
    if let Some(filter) = CompactFilter::view(bytes).ok().and_then(|view| view.try_clone().ok()) {
        return table(filter, targets);
    }
    unknown(Bytes::copy_from_slice(bytes), targets)
}

fn in_place(bytes: Bytes, targets: Targets) -> Arc<dyn Filter> {
    match fullbloom::Filter::over(bytes.clone()) {
        Ok(filter) => table(filter, targets),
        Err(_) => unknown(bytes, targets),
    }
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
                self.kind.may_contain_key(key)
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
