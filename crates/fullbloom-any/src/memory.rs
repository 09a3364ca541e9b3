//! The memory of a run-time filter.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;
use fullbloom_core::bits::Owned;
use fullbloom_dialects::filter::Part;

/// The bits of a run-time filter: owned, or part of a larger owner that is kept alive with it.
pub(super) enum Memory {
    /// Owned memory, which can be changed.
    Owned(Owned),
    /// A part of a mapping, of shared bytes, or of memory that the caller keeps: read only.
    Kept(Part<Keeper>),
}

/// Keeps the bytes of a filter alive that is read in place.
#[derive(Clone)]
pub(super) struct Keeper(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Keeper {
    pub(super) fn new(storage: impl AsRef<[u8]> + Send + Sync + 'static) -> Keeper {
        Keeper(Arc::new(storage))
    }
}

impl AsRef<[u8]> for Keeper {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Memory {
    pub(super) fn kept(keeper: Keeper, range: Range<usize>) -> Memory {
        Memory::Kept(Part::new(keeper, range))
    }

    /// The bits, if they are mutable.
    pub(super) fn as_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Memory::Owned(bits) => Some(bits.as_mut()),
            Memory::Kept(_) => None,
        }
    }

    /// Whether the bits are mutable.
    pub(super) fn is_owned(&self) -> bool {
        matches!(self, Memory::Owned(_))
    }
}

impl AsRef<[u8]> for Memory {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Memory::Owned(bits) => bits.as_ref(),
            Memory::Kept(part) => part.as_ref(),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.is_owned() { "Owned" } else { "Kept" };
        write!(f, "{name}({} bytes)", self.as_ref().len())
    }
}
