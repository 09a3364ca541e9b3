//! The block test: all probes of a key inside one 512-bit block.

pub(crate) mod scalar;
