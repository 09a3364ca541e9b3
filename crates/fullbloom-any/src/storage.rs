//! The bytes under a run-time filter: owned, or shared with whoever else reads them.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::DecodeError;
use fullbloom_core::part::Part;

/// Bytes that filters read in place: a mapped file, a buffer of the caller. A clone is the same bytes, which
/// live as long as one of the clones.
///
/// ```
/// use fullbloom_any::{AnyFilter, ReadOptions, SharedBytes};
/// use fullbloom_core::part::{Check, Part};
///
/// let mut filter = fullbloom::Filter::with_fpr(100, 0.01)?;
/// filter.insert("apple");
/// let bytes = SharedBytes::new(filter.encode());
/// let whole = Part::new(bytes.clone(), 0..bytes.as_ref().len());
/// let read = AnyFilter::over_part(whole, &ReadOptions::new(), Check::All)?;
/// assert!(read.may_contain(b"apple") && bytes.as_ref().len() as u64 == read.encoded_len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedBytes(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl SharedBytes {
    /// The bytes of any owner, such as a mapping or a `Vec<u8>`.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> SharedBytes {
        SharedBytes(Arc::new(owner))
    }
}

impl AsRef<[u8]> for SharedBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.as_ref().len())
    }
}

/// The storage of a run-time filter's bits.
#[derive(Debug)]
pub enum Storage {
    /// Memory of the filter's own: mutable.
    Owned(Owned),
    /// A part of bytes that others read, too: read-only.
    Shared(Part<SharedBytes>),
}

impl Storage {
    /// Memory of its own with these bytes.
    pub(crate) fn copy(bytes: &[u8]) -> Result<Storage, DecodeError> {
        let len = bytes.len() as u64;
        let mut copy = Owned::zeroed(len).map_err(|_| DecodeError::Memory { bytes: len })?;
        copy.as_mut().copy_from_slice(bytes);
        Ok(Storage::Owned(copy))
    }

    /// This range of the bytes.
    pub(crate) fn part(self, range: Range<usize>) -> Storage {
        match self {
            Storage::Owned(bytes) => Storage::Owned(bytes.part(range)),
            Storage::Shared(bytes) => Storage::Shared(bytes.part(range)),
        }
    }

    /// The bits, if they are mutable.
    pub(crate) fn as_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Storage::Owned(bits) => Some(bits.as_mut()),
            Storage::Shared(_) => None,
        }
    }

    /// Whether the bits are mutable.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self, Storage::Owned(_))
    }
}

impl AsRef<[u8]> for Storage {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Storage::Owned(bits) => bits.as_ref(),
            Storage::Shared(part) => part.as_ref(),
        }
    }
}
