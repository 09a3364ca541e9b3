#![allow(unsafe_code)]
//! The block operations and their CPU bodies.

pub(crate) mod lines;
pub(crate) mod scalar;

#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::OnceLock;

/// A kernel that this CPU can run; the proof where it needs one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cpu {
    Scalar(scalar::Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
}

impl Cpu {
    /// The choice of this process.
    #[inline(always)]
    pub(crate) fn in_use() -> Cpu {
        static CHOICE: OnceLock<Cpu> = OnceLock::new();
        *CHOICE.get_or_init(Cpu::choose)
    }

    #[cold]
    fn choose() -> Cpu {
        let forced = std::env::var("FULLBLOOM_KERNEL").unwrap_or_default();
        let all = Cpu::available();
        all.iter()
            .find(|(name, _)| *name == forced)
            .or(all.last())
            .map_or(Cpu::Scalar(scalar::Scalar), |x| x.1)
    }

    /// The kernels this CPU can run, slowest first.
    pub(crate) fn available() -> Vec<(&'static str, Cpu)> {
        let mut all = vec![("scalar", Cpu::Scalar(scalar::Scalar))];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(x86_64::Avx2::detect().map(|k| ("avx2", Cpu::Avx2(k))));
            all.extend(x86_64::Avx512::detect().map(|k| ("avx512", Cpu::Avx512(k))));
        }
        all
    }
}
