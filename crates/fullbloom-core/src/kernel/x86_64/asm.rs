//! All inline assembly: one key with AVX2 in code for any x86-64, from the hash to the answer.
//!
//! A function compiled with the feature AVX2 cannot be inlined into code without it, and the call costs a third
//! of a lookup in the cache. The instructions are those of `lines.rs`, after the way from the hash to the line
//! (`probe/lines.rs`).

use super::Avx2;
use crate::kernel::lines::{Line, Lines as _, OneKey, Probes};
use crate::probe::lines::{LINE, Mark, P, block_of};
use core::arch::asm;
use core::sync::atomic::AtomicU64;

/// The assembly has addresses and lengths in whole registers.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("fullbloom has no kernel for x86-64 with pointers of 32 bits");

/// Finds a key's line and fields, and goes on with the given instructions. There, `[{lines} + {line}]` is the
/// line, ymm0 has the fields, ymm1 their shift counts, and `[{row} + rdx]` is the row of the key's lanes.
///
/// All vector registers are declared clobbered, because their upper halves are cleared at the end: code without
/// AVX must not find data in them. `options` says what the compiler may assume; without any, it moves no other
/// access to memory across the assembly.
macro_rules! one_key {
    ($lines:expr, $count:expr, $hash:expr, $probes:expr, $answer:ident, $($option:ident),*; $($line:literal),*) => {
        asm!(
            "mov rdx, {hash}",
            "imul rdx, {p}", // the spread hash
            "ror {hash}, 32",
            "mulx {line}, {line}, {count}",
            "xor {hash}, rdx",
            "shl {line}, 6",
            "vmovq xmm0, {hash}",
            "and edx, 0xe0", // the first lane, times the 32 bytes of a row
            "vpmovsxbd ymm0, xmm0",
            "vpand ymm1, ymm0, ymmword ptr [{row} + 256]", // the shifts, behind the rows
            $($line,)*
            "vzeroupper",
            hash = inout(reg) $hash => _,
            p = in(reg) P,
            out("rdx") _,
            line = out(reg) _,
            count = in(reg) $count,
            lines = in(reg) $lines,
            row = in(reg) core::ptr::from_ref($probes.rows),
            answer = lateout(reg_byte) $answer,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack, $($option),*),
        )
    };
}

/// Sets `answer` if all bits of a key are set.
macro_rules! test_key {
    ($lines:expr, $count:expr, $hash:expr, $probes:expr, $answer:ident, $($option:ident),*) => {
        one_key!($lines, $count, $hash, $probes, $answer, $($option),*;
            "vmovdqu ymm2, ymmword ptr [{lines} + {line}]",
            "vblendvps ymm2, ymm2, ymmword ptr [{lines} + {line} + 32], ymm0",
            "vpsllvd ymm2, ymm2, ymm1",
            "vtestps ymm2, ymmword ptr [{row} + rdx]",
            "setc {answer}"
        )
    };
}

/// What `setc` and its like wrote, as a bool.
#[inline(always)]
fn is_one(answer: u8) -> bool {
    // SAFETY: those instructions write 0 or 1. The compiler cannot know, and would convert.
    unsafe { core::hint::assert_unchecked(answer <= 1) };
    answer == 1
}

impl OneKey for Avx2 {
    #[inline(always)]
    fn test_hash(self, lines: &[Line], hash: u64, probes: Probes) -> bool {
        if cfg!(target_feature = "avx2") {
            let line = lines.get(block_of(hash, lines.len() as u64) as usize);
            return line.is_some_and(|line| self.test(line, Mark::of(hash), probes));
        }
        if lines.is_empty() {
            return false;
        }
        let present: u8;
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2 on this CPU. The line's number is the high
        // half of a product with the number of lines, and so below it. Its 64 bytes and
        // the table of rows are read, nothing is written.
        unsafe { test_key!(lines.as_ptr(), lines.len(), hash, probes, present, pure, readonly) };
        is_one(present)
    }

    #[inline(always)]
    fn set_hash(self, lines: &mut [Line], hash: u64, probes: Probes) -> bool {
        if cfg!(target_feature = "avx2") {
            let line = block_of(hash, lines.len() as u64) as usize;
            return self.set(&mut lines[line], Mark::of(hash), probes);
        }
        assert!(!lines.is_empty(), "an array without lines");
        // SAFETY: these are the lines of a slice, which is borrowed exclusively.
        unsafe { self.set_at(lines.as_mut_ptr(), lines.len(), hash, probes) }
    }

    #[inline(always)]
    fn test_shared(self, words: &[AtomicU64], hash: u64, probes: Probes) -> Option<bool> {
        let lines = words.as_chunks::<{ LINE / 8 }>().0;
        if lines.is_empty() {
            return None;
        }
        let present: u8;
        // SAFETY: as in `test_hash`. Other threads may be changing the line: an instruction reads each word
        // before or after a change.
        unsafe { test_key!(lines.as_ptr(), lines.len(), hash, probes, present,) };
        Some(is_one(present))
    }

    #[inline(always)]
    unsafe fn set_shared(self, words: &[AtomicU64], hash: u64, probes: Probes) -> Option<bool> {
        let lines = words.as_chunks::<{ LINE / 8 }>().0;
        // SAFETY: these are the lines of a slice of words that may be changed; the caller guarantees that only
        // this thread writes to the line.
        let set = || unsafe { self.set_at(lines.as_ptr().cast_mut().cast(), lines.len(), hash, probes) };
        (!lines.is_empty()).then(set)
    }
}

impl Avx2 {
    /// Sets all bits of this hash in its line, which other threads may be reading. Returns true if at least one
    /// was clear.
    ///
    /// # Safety
    /// There are `count` lines at `lines`, at least one, and no other thread writes to this hash's line.
    #[inline(always)]
    unsafe fn set_at(self, lines: *mut Line, count: usize, hash: u64, probes: Probes) -> bool {
        let changed: u8;
        const { assert!(LINE == 64) };
        // SAFETY: as in `test_hash`; the 64 bytes of the line are also written, as the caller permits.
        unsafe {
            one_key!(lines, count, hash, probes, changed,;
                "vmovdqu ymm2, ymmword ptr [{row} + rdx]",
                "vpsrlvd ymm1, ymm2, ymm1", // the bits, in one half or the other
                "vmovdqu ymm2, ymmword ptr [{lines} + {line}]",
                "vmovdqu ymm3, ymmword ptr [{lines} + {line} + 32]",
                "vblendvps ymm4, ymm2, ymm3, ymm0",
                "vpsrad ymm0, ymm0, 31",
                "vpandn ymm5, ymm0, ymm1",
                "vpand ymm0, ymm0, ymm1",
                "vpor ymm2, ymm2, ymm5",
                "vpor ymm3, ymm3, ymm0",
                "vmovdqu ymmword ptr [{lines} + {line}], ymm2",
                "vmovdqu ymmword ptr [{lines} + {line} + 32], ymm3",
                "vptest ymm4, ymm1",
                "setnc {answer}"
            );
        }
        is_one(changed)
    }
}
