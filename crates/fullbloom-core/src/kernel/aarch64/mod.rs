#![allow(unsafe_code)]
//! The AArch64 kernel.

mod lines;

use super::{Body, cpu_has};

/// Proof of NEON, which is in the baseline of all common AArch64 targets, and of little-endian words.
#[derive(Debug, Clone, Copy)]
pub struct Neon(());

impl Neon {
    pub fn detect() -> Option<Neon> {
        let little_endian = cfg!(target_endian = "little");
        (little_endian && cpu_has!(is_aarch64_feature_detected, "neon")).then_some(Neon(()))
    }
}

impl Body for Neon {}
