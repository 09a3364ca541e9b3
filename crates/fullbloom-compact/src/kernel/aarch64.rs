#![allow(unsafe_code)]
//! The kind `compact` with NEON: one table lookup takes all slots of a key, and the limit, from its line.

use crate::kernel::{Found, Keys, Systems, line_at};
use crate::probe::{LIMIT, column_bits, picks};
use core::arch::aarch64::*;
use fullbloom_core::kernel::aarch64::Neon;
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::kernel::scalar::Scalar;

impl Systems for Neon {
    #[inline(always)]
    fn find_first<const W: usize>(self, lines: &[Line], keys: Keys<'_>, count: usize) -> Found {
        if W > 2 {
            return Scalar.find_first::<W>(lines, keys, count);
        }
        let mut found = Found { agree: 0, bumped: 0 };
        for (place, t) in keys.places.iter().zip(keys.t).take(count).rev() {
            let numbers = picks::<W>(*t) | (LIMIT as u64) << 48;
            // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
            let slots = unsafe { look_up(line_at(lines, place.line()), numbers) };
            // Bytes 0 and 3: the sums of three slots each.
            let threes = slots ^ slots >> 8 ^ slots >> 16;
            let sum = (threes ^ threes >> if W == 1 { 24 } else { 25 }) as u8 & column_bits(W);
            found.agree = found.agree << 1 | u64::from(sum == place.fingerprint::<W>());
            found.bumped = found.bumped << 1 | u64::from(place.priority() >= (slots >> 48) as u8);
        }
        found
    }
}

/// The bytes of a line with these numbers, below 64.
#[inline]
#[target_feature(enable = "neon")]
fn look_up(line: &Line, numbers: u64) -> u64 {
    let (quarters, _) = line.as_chunks::<16>();
    // SAFETY: each reads the 16 bytes of a quarter.
    let quarter = |i: usize| unsafe { vld1q_u8(quarters[i].as_ptr()) };
    let table = uint8x16x4_t(quarter(0), quarter(1), quarter(2), quarter(3));
    vget_lane_u64::<0>(vreinterpret_u64_u8(vqtbl4_u8(table, vcreate_u8(numbers))))
}
