//! The bytes of a component: a mapped file, or bytes in memory.

use fullbloom::Mapped;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The bytes of one component. A clone is the same bytes.
#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    /// A file.
    Mapped(Mapped),
    /// Given by the caller.
    Held(Arc<Vec<u8>>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map.as_ref(),
            Bytes::Held(bytes) => bytes,
        }
    }
}

/// Components that the caller gave, by their names without the prefix.
pub(crate) type Held = BTreeMap<String, Arc<Vec<u8>>>;
