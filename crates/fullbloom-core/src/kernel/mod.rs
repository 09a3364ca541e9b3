//! The block operations and their CPU bodies.
//!
//! ```text
//!   scalar.rs             the kernel that every CPU can run
//!   pipeline.rs           the pipeline that every batch passes through
//!   lines.rs              the native layout over many lines: one key, groups of 64; any kernel
//!   x86_64/, aarch64/     what a CPU can do, and the native layout with it
//! ```
//!
//! Other layouts stand with their filters, in other crates.
//!
//! Which body runs is decided once, by what the CPU can do: the fastest of [`Kernel::available`]. All give
//! the same answers. With the cargo feature `kernel-variable`, which is off by default, the environment
//! variable `FULLBLOOM_KERNEL` (one of the names that [`Kernel::name`] gives) forces one, for tests and
//! measurements. An unknown name, or one that this CPU cannot run, is reported by `Kernel::forced`; the
//! fastest kernel is used then. Without the feature `std` the CPU cannot be asked: the kernel follows from
//! the target features of the build.
//!
//! A kernel is a value that only its `detect` can make: holding it is the proof that the CPU can run it.
//! [`Cpu`] is an enum of those values, and a [`Task`] runs on any of them. A layout is a trait that is
//! implemented for each of these values, and its tasks are tasks of every kernel with that trait.

pub mod lines;
pub mod pipeline;
pub mod scalar;

#[cfg(target_arch = "aarch64")]
pub mod aarch64;
#[cfg(target_arch = "x86_64")]
pub mod x86_64;

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// Whether this CPU has a feature; without `std`, whether the build requires it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[doc(hidden)]
#[macro_export]
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
use cpu_has;

/// 512 bits that hold all probes of one key; one cache line.
pub type Block = [u8; 64];

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
    /// x86-64 with AVX-512, VBMI and BITALG among it (Ice Lake, Zen 4 and later): the probes of eight keys at
    /// once.
    Avx512,
    /// AArch64: sixteen probes at once.
    Neon,
}

impl Kernel {
    /// Every kernel, slowest first, including those of other architectures.
    pub const ALL: [Kernel; 4] = [Kernel::Scalar, Kernel::Neon, Kernel::Avx2, Kernel::Avx512];

    /// The name used in `FULLBLOOM_KERNEL`.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Scalar => "scalar",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
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

/// A kernel.
pub trait Body: Copy {
    /// Whether it multiplies eight 64-bit words at once.
    const WIDE: bool = false;

    /// The bits as bools.
    #[inline(always)]
    fn bools(self, bits: u64) -> [bool; 64] {
        let mut bools = [false; 64];
        for (eight, byte) in bools.as_chunks_mut().0.iter_mut().zip(bits.to_le_bytes()) {
            *eight = pipeline::eight_bools(byte);
        }
        bools
    }
}

/// A piece of work that runs on the kernel `K`.
///
/// `run` must be `#[inline(always)]`, and so must everything it calls with the kernel. It is inlined into a
/// function that is compiled for the kernel's CPU features, and so is compiled for them too. This includes
/// key hashes: LLVM vectorises the hash of keys of one fixed length there.
pub trait Task<K> {
    /// The result.
    type Output;

    /// Runs it.
    fn run(self, kernel: K) -> Self::Output;
}

/// A task of every kernel of this architecture.
macro_rules! every_kernel {
    ($($Kernel:ty)*) => {
        pub trait TaskOfAll<O>: $(Task<$Kernel, Output = O> +)* {}

        impl<O, T: $(Task<$Kernel, Output = O> +)*> TaskOfAll<O> for T {}
    };
}

#[cfg(target_arch = "x86_64")]
every_kernel! { scalar::Scalar x86_64::Avx2 x86_64::Avx512 }
#[cfg(target_arch = "aarch64")]
every_kernel! { scalar::Scalar aarch64::Neon }
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
every_kernel! { scalar::Scalar }

/// A kernel that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub enum Cpu {
    Scalar(scalar::Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(aarch64::Neon),
}

impl Cpu {
    /// The kernel chosen for this process.
    #[inline(always)]
    pub fn in_use() -> Cpu {
        #[cfg(feature = "std")]
        {
            static CHOICE: std::sync::OnceLock<Cpu> = std::sync::OnceLock::new();
            *CHOICE.get_or_init(Cpu::choose)
        }
        #[cfg(not(feature = "std"))]
        Cpu::choose()
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
    pub fn detect(kernel: Kernel) -> Option<Cpu> {
        match kernel {
            Kernel::Scalar => Some(Cpu::Scalar(scalar::Scalar)),
            _ if cfg!(miri) => None, // it checks the scalar paths
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86_64::Avx2::detect().map(Cpu::Avx2),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86_64::Avx512::detect().map(Cpu::Avx512),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => aarch64::Neon::detect().map(Cpu::Neon),
            _ => None,
        }
    }

    /// Runs the task on this kernel, compiled for its CPU.
    #[inline(always)]
    pub fn run<O, T: TaskOfAll<O>>(self, task: T) -> O {
        match self {
            Cpu::Scalar(kernel) => task.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(kernel) => kernel.run(task),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => kernel.run(task),
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(kernel) => task.run(kernel), // in the baseline of the target
        }
    }

    /// As [`run`](Self::run), without AVX-512: for work that is faster with AVX2 (what LLVM vectorises with gathers and
    /// scatters, and lines of fingerprints), and that need not be compiled once more.
    #[inline(always)]
    pub fn run_narrow<O, T>(self, task: T) -> O
    where
        T: Task<scalar::Scalar, Output = O> + Task<lines::Inlined, Output = O>,
    {
        match self.inlined() {
            #[cfg(target_arch = "x86_64")]
            Some(kernel) => kernel.run(task),
            #[cfg(not(target_arch = "x86_64"))]
            Some(kernel) => task.run(kernel),
            None => task.run(scalar::Scalar),
        }
    }

    fn kernel(self) -> Kernel {
        match self {
            Cpu::Scalar(_) => Kernel::Scalar,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(_) => Kernel::Avx2,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(_) => Kernel::Avx512,
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(_) => Kernel::Neon,
        }
    }
}
