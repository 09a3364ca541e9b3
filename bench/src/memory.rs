//! Memory for filters, given to all contestants alike.

use std::ops::{Deref, DerefMut};

/// Zeroed bytes that begin at a 2 MiB boundary.
pub struct Region {
    base: *mut libc::c_void,
    mapped: usize,
    start: usize,
    len: usize,
}

const HUGE_PAGE: usize = 2 << 20;

impl Region {
    /// `len` bytes; in 2 MiB pages if asked for and the system has them.
    pub fn zeroed(len: usize, huge_pages: bool) -> Result<Region, std::io::Error> {
        let mapped = len.next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new private mapping, anywhere.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), mapped, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let advice = if huge_pages { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the mapping just made. Where the advice is not known nothing happens.
        unsafe { libc::madvise(base, mapped, advice) };
        let start = (base as usize).next_multiple_of(HUGE_PAGE) - base as usize;
        Ok(Region { base, mapped, start, len })
    }
}

impl Deref for Region {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start + len` is at most `mapped`, and all of it is readable and initialised by the system.
        unsafe { std::slice::from_raw_parts(self.base.cast::<u8>().add(self.start), self.len) }
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.cast::<u8>().add(self.start), self.len) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped in `zeroed`, unmapped once.
        unsafe { libc::munmap(self.base, self.mapped) };
    }
}
