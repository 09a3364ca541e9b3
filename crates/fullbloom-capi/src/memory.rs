//! Memory of the caller: bytes that a filter answers from, and a buffer that one is written to.

use std::io;

/// Encoded bytes that the caller keeps for as long as the filter lives.
#[derive(Debug)]
pub struct Borrowed {
    start: *const u8,
    len: usize,
}

// SAFETY: a pointer to bytes that nobody writes to while the value lives, as `new` was promised: any thread
// may read them.
unsafe impl Send for Borrowed {}
// SAFETY: `new` demands bytes that nobody writes to while the value lives, so threads may share references to
// them.
unsafe impl Sync for Borrowed {}

impl Borrowed {
    /// Bytes of the caller.
    ///
    /// # Safety
    /// The bytes stay where they are and do not change until the value is dropped, however short the lifetime
    /// of the slice.
    pub unsafe fn new(bytes: &[u8]) -> Borrowed {
        Borrowed { start: bytes.as_ptr(), len: bytes.len() }
    }
}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `new` got pointer and length from a slice and was promised that its bytes stay while `self`
        // lives.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// Writes into a buffer as far as there is room, and counts the bytes that do not fit as well.
#[derive(Debug)]
pub struct Bounded<'a> {
    buffer: &'a mut [u8],
    written: u64,
}

impl<'a> Bounded<'a> {
    /// Writes from the start of the buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Bounded { buffer, written: 0 }
    }

    /// All bytes there were to write.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let start = usize::try_from(self.written).unwrap_or(usize::MAX).min(self.buffer.len());
        let room = &mut self.buffer[start..];
        let fits = room.len().min(bytes.len());
        room[..fits].copy_from_slice(&bytes[..fits]);
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
