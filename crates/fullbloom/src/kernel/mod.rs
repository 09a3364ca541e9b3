//! The block operations and their CPU bodies.
//!
//! ```text
//!   scalar.rs             one probe after the other: the definition
//!   pipeline.rs           the pipeline that every batch passes through
//!   each.rs               dialects without a kernel: batches, key by key
//!   lines.rs              the native layout over many lines: one key, groups of 64; any kernel
//!   local.rs              FastLocalBloom over many blocks: one key, batches, filling; any kernel
//!   split.rs              Parquet's split block over many blocks: one key, batches, filling; any kernel
//!   slots.rs              a line of sorted fingerprints
//!   systems.rs            lines of linear systems: groups of 64 keys
//!   blocks.rs             where the blocks are
//!   gather.rs             libbloom's probes, anywhere in the array: one key
//!   x86_64/, aarch64/     these operations, many probes or keys at once
//! ```
//!
//! Which body runs is decided once, by what the CPU can do: the fastest of [`Kernel::available`]. All give
//! the same answers. With the cargo feature `kernel-variable`, which is off by default, the environment
//! variable `FULLBLOOM_KERNEL` (one of the names that [`Kernel::name`] gives) forces one, for tests and
//! measurements. An unknown name, or one that this CPU cannot run, is reported by `Kernel::forced`; the
//! fastest kernel is used then. Without the feature `std` the CPU cannot be asked: the kernel follows from
//! the target features of the build.
//!
//! A kernel is a value that only its `detect` can make: holding it is the proof that the CPU can run it.
//! `Cpu` is an enum of those values, and a `Task` runs on any of them. A layout other than FastLocalBloom
//! adds a trait beside `local::Local`, implements it for the same values, and names it in `Body`.

pub(crate) mod blocks;
pub(crate) mod each;
#[cfg(target_arch = "x86_64")]
pub(crate) mod gather;
pub(crate) mod lines;
pub(crate) mod local;
pub(crate) mod pipeline;
pub(crate) mod scalar;
pub(crate) mod slots;
pub(crate) mod split;
pub(crate) mod systems;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// Whether this CPU has a feature; without `std`, whether the build requires it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! cpu_has {
    ($macro:ident, $feature:tt) => {{
        #[cfg(feature = "std")]
        let has = std::arch::$macro!($feature);
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = $feature);
        has
    }};
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use cpu_has;

/// 512 bits that hold all probes of one key; one cache line.
pub(crate) type Block = [u8; 64];

/// The environment variable that forces a kernel, with the cargo feature `kernel-variable`.
#[cfg(feature = "kernel-variable")]
pub const VARIABLE: &str = "FULLBLOOM_KERNEL";

/// One CPU-specific body of the block operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// One probe after the other. Runs everywhere and defines the answers.
    Scalar,
    /// x86-64 with AVX2: eight probes at once.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL: sixteen probes at once.
    Avx512,
    /// AVX-512 with VBMI and BITALG as well: the probes of eight keys at once.
    Avx512Bitalg,
    /// AArch64: sixteen probes at once.
    Neon,
}

impl Kernel {
    /// Every kernel, slowest first, including those of other architectures.
    pub const ALL: [Kernel; 5] =
        [Kernel::Scalar, Kernel::Neon, Kernel::Avx2, Kernel::Avx512, Kernel::Avx512Bitalg];

    /// The name used in `FULLBLOOM_KERNEL`.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Scalar => "scalar",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
            Kernel::Avx512Bitalg => "avx512-bitalg",
            Kernel::Neon => "neon",
        }
    }

    /// The kernels this CPU can run, slowest first.
    pub fn available() -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(|kernel| Cpu::detect(*kernel).is_some())
    }

    /// The kernel in use, chosen at the first call and fixed from then on.
    pub fn in_use() -> Kernel {
        Cpu::in_use().kernel()
    }

    /// The kernel that `FULLBLOOM_KERNEL` requests; `None` when the variable is unset or empty. Needs the
    /// cargo feature `kernel-variable`.
    #[cfg(feature = "kernel-variable")]
    pub fn forced() -> Result<Option<Kernel>, KernelError> {
        match std::env::var_os(VARIABLE) {
            Some(name) if !name.is_empty() => Kernel::by_name(&name.to_string_lossy()).map(Some),
            _ => Ok(None),
        }
    }

    /// The kernel of this name, if this CPU can run it.
    pub fn by_name(name: &str) -> Result<Kernel, KernelError> {
        match Kernel::ALL.into_iter().find(|kernel| kernel.name() == name) {
            None => Err(KernelError::Unknown { name: name.to_owned() }),
            Some(kernel) if Cpu::detect(kernel).is_none() => Err(KernelError::Unavailable { kernel }),
            Some(kernel) => Ok(kernel),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A kernel requested by name is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelError {
    /// No kernel has this name.
    Unknown {
        /// The requested name.
        name: String,
    },
    /// This CPU cannot run it.
    Unavailable {
        /// The requested kernel.
        kernel: Kernel,
    },
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelError::Unknown { name } => write!(f, "there is no kernel named {name:?}")?,
            KernelError::Unavailable { kernel } => write!(f, "this CPU cannot run the kernel {kernel}")?,
        }
        f.write_str(" (it can run:")?;
        for kernel in Kernel::available() {
            write!(f, " {kernel}")?;
        }
        f.write_str(")")
    }
}

impl core::error::Error for KernelError {}

/// The capabilities of a kernel that no layout depends on, and every layout's operations.
pub(crate) trait Body: local::Local + split::Split + slots::Select + systems::Systems {
    /// Whether it multiplies eight 64-bit words at once.
    const WIDE: bool = false;
}

/// A piece of work that runs on whichever kernel is in use.
///
/// `run` must be `#[inline(always)]`, and so must everything it calls with the kernel. It is inlined into a
/// function that is compiled for the kernel's CPU features, and so is compiled for them too. This includes
/// key hashes: LLVM vectorises the hash of keys of one fixed length there.
pub(crate) trait Task {
    /// The result.
    type Output;

    /// Runs it.
    fn run<K: Body>(self, kernel: K) -> Self::Output;
}

/// A kernel that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cpu {
    Scalar(scalar::Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx512Bitalg(x86_64::Avx512Bitalg),
    #[cfg(target_arch = "aarch64")]
    Neon(aarch64::Neon),
}

impl Cpu {
    /// The kernel chosen for this process.
    #[inline(always)]
    pub(crate) fn in_use() -> Cpu {
        #[cfg(feature = "std")]
        {
            static CHOICE: std::sync::OnceLock<Cpu> = std::sync::OnceLock::new();
            *CHOICE.get_or_init(Cpu::choose)
        }
        #[cfg(not(feature = "std"))]
        Cpu::choose()
    }

    /// The kernel for work that is faster with AVX2 than with AVX-512: what LLVM vectorises with gathers and
    /// scatters, and lines of fingerprints.
    #[inline(always)]
    pub(crate) fn narrow(self) -> Cpu {
        match self {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => Cpu::Avx2(kernel.into()),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => Cpu::Avx2(kernel.into()),
            other => other,
        }
    }

    #[cfg_attr(feature = "std", cold)]
    fn choose() -> Cpu {
        #[cfg(feature = "kernel-variable")]
        let forced = Kernel::forced().ok().flatten();
        #[cfg(not(feature = "kernel-variable"))]
        let forced = None;
        let fastest = Kernel::ALL.into_iter().rev();
        forced.into_iter().chain(fastest).find_map(Cpu::detect).unwrap_or(Cpu::Scalar(scalar::Scalar))
    }

    /// The kernel, if this CPU can run it.
    pub(crate) fn detect(kernel: Kernel) -> Option<Cpu> {
        match kernel {
            Kernel::Scalar => Some(Cpu::Scalar(scalar::Scalar)),
            _ if cfg!(miri) => None, // it checks the scalar paths
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86_64::Avx2::detect().map(Cpu::Avx2),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86_64::Avx512::detect().map(Cpu::Avx512),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Bitalg => x86_64::Avx512Bitalg::detect().map(Cpu::Avx512Bitalg),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => aarch64::Neon::detect().map(Cpu::Neon),
            _ => None,
        }
    }

    /// Runs the task on this kernel, compiled for its CPU.
    #[inline(always)]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self {
            Cpu::Scalar(kernel) => task.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(kernel) => kernel.run(task),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => kernel.run(task),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => kernel.run(task),
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(kernel) => task.run(kernel), // in the baseline of the target
        }
    }

    fn kernel(self) -> Kernel {
        match self {
            Cpu::Scalar(_) => Kernel::Scalar,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(_) => Kernel::Avx2,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(_) => Kernel::Avx512,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(_) => Kernel::Avx512Bitalg,
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(_) => Kernel::Neon,
        }
    }
}

/// For tests: keys that are already hashes.
#[cfg(test)]
pub(crate) struct Ready;

#[cfg(test)]
impl crate::sealed::Sealed for Ready {}

#[cfg(test)]
impl crate::keys::KeyHasher for Ready {
    type Hash = u64;

    fn hash(&self, _: &[u8]) -> u64 {
        unreachable!("keys are given as hashes")
    }
}

#[cfg(test)]
mod tests;
