//! The block operations of other systems' layouts and their CPU bodies.
//!
//! ```text
//!   scalar.rs             FastLocalBloom inside one block: the definition
//!   each.rs               dialects without a kernel: batches, key by key
//!   local.rs              FastLocalBloom over many blocks: one key, batches, filling; any kernel
//!   split.rs              Parquet's split block over many blocks: one key, batches, filling; any kernel
//!   blocks.rs             where the blocks are
//!   gather.rs             libbloom's probes, anywhere in the array: one key
//!   x86_64/, aarch64/     these operations, many probes or keys at once
//! ```

pub(crate) mod blocks;
pub(crate) mod each;
#[cfg(target_arch = "x86_64")]
pub mod gather;
pub(crate) mod local;
pub(crate) mod scalar;
pub(crate) mod split;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use fullbloom_core::kernel::Block;

/// For tests: keys that are already hashes.
#[cfg(test)]
pub struct Ready;

#[cfg(test)]
impl fullbloom_core::sealed::Sealed for Ready {}

#[cfg(test)]
impl fullbloom_core::keys::KeyHasher for Ready {
    type Hash = u64;

    fn hash(&self, _: &[u8]) -> u64 {
        unreachable!("keys are given as hashes")
    }
}

#[cfg(test)]
mod tests;
