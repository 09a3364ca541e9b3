#![allow(unsafe_code)]
//! Kernels for x86-64.

mod lines_avx2;
mod lines_avx512;

use crate::kernel::lines::{Line, line_at};
use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

/// Asks for the line at this offset, far away or not. An offset outside the array does no harm.
#[inline(always)]
fn prefetch<const FAR: bool>(lines: &[Line], offset: u64) {
    let line = line_at(lines, offset).cast();
    if FAR {
        // SAFETY: prefetch never faults, whatever the address. SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line) }
    } else {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) }
    }
}

/// AVX2.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")).then_some(Avx2(()))
    }
}

/// AVX-512 F, BW, DQ and VL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Avx512> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2"))
        .then_some(Avx512(()))
    }
}
