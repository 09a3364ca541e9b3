//! Memory used while building, charged to a budget: in RocksDB, the block cache.

use alloc::sync::Arc;
use core::fmt;

/// Memory is reserved in units of this many bytes.
pub const BUCKET: u64 = 256 << 10;

/// A budget that building is charged to, such as a block cache that makes room by evicting blocks.
///
/// A [`Builder`](super::Builder) reserves 256 KiB at a time and releases everything, at the latest
/// when it is dropped.
pub trait Reservation: Send + Sync {
    /// Reserves `bytes`, always 256 KiB. Returns false if there is no room; nothing is reserved then.
    fn reserve(&self, bytes: u64) -> bool;

    /// Releases `bytes`, a multiple of 256 KiB.
    fn release(&self, bytes: u64);
}

/// The reservations of one builder.
pub(crate) struct Account {
    budget: Arc<dyn Reservation>,
    /// Bytes in use.
    used: u64,
    /// Bytes reserved for them: `used` rounded up to whole buckets, or less where the budget refused.
    reserved: u64,
}

impl Account {
    pub(crate) fn new(budget: Arc<dyn Reservation>) -> Account {
        Account { budget, used: 0, reserved: 0 }
    }

    /// Counts `bytes` as used. Returns false if the budget has no room for them. They are counted all the
    /// same, and must be released.
    pub(crate) fn charge(&mut self, bytes: u64) -> bool {
        self.used = self.used.saturating_add(bytes);
        while self.reserved < self.used {
            if !self.budget.reserve(BUCKET) {
                return false;
            }
            self.reserved += BUCKET;
        }
        true
    }

    /// Counts `bytes`, charged before, as free again.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        let needed = self.used.div_ceil(BUCKET).saturating_mul(BUCKET);
        if self.reserved > needed {
            self.budget.release(self.reserved - needed);
            self.reserved = needed;
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.release(self.used);
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({} of {} bytes used)", self.used, self.reserved)
    }
}
