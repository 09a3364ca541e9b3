//! What 64 keys of the kind `compact` find in their lines: see [`systems`](crate::probe::systems).

use super::lines::Line;
use crate::bits::prefetch;
use crate::probe::systems::{LIMIT, Place, picks, sums};

/// Keys of a group.
pub(crate) const GROUP: usize = 64;

/// The keys of a group: their lines, and the numbers that choose their slots.
pub(crate) struct Keys<'a> {
    pub(crate) places: &'a [Place; GROUP],
    pub(crate) t: &'a [u64; GROUP],
    /// The places of the group that is tested next: their lines are prefetched.
    pub(crate) next: &'a [Place; GROUP],
}

/// What they find, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The sums are the fingerprint.
    pub(crate) agree: u64,
    /// The priority is not below the limit.
    pub(crate) moved: u64,
}

/// A line that the filter does not have: it keeps no keys.
pub(crate) const NOWHERE: &Line = &[0; size_of::<Line>()];

/// The line with this number, or [`NOWHERE`].
#[inline(always)]
pub(crate) fn line_at(lines: &[Line], number: u64) -> &Line {
    lines.get(number as usize).unwrap_or(NOWHERE)
}

/// Prefetches the line with this number, whether it exists or not.
#[inline(always)]
pub(crate) fn prefetch_line(lines: &[Line], number: u64) {
    prefetch::address(lines.as_ptr().wrapping_add(number as usize).cast());
}

/// What differs between CPUs.
pub(crate) trait Systems: Copy {
    /// Looks the keys up in lines whose columns have one part.
    #[inline(always)]
    fn find(self, lines: &[Line], keys: &Keys<'_>) -> Found {
        find::<1>(lines, keys)
    }
}

/// The definition of [`Systems::find`], for columns of any number of parts.
#[inline(always)]
pub(crate) fn find<const W: usize>(lines: &[Line], keys: &Keys<'_>) -> Found {
    let mut found = Found { agree: 0, moved: 0 };
    // One bit after the other: of shifts by different counts, LLVM makes vectors, and fills them byte by byte.
    for i in (0..GROUP).rev() {
        prefetch_line(lines, keys.next[i].line());
        let place = keys.places[i];
        let line = line_at(lines, place.line());
        let agrees = sums::<W>(line, picks::<W>(keys.t[i])) == place.fingerprint::<W>();
        found.agree = found.agree << 1 | u64::from(agrees);
        found.moved = found.moved << 1 | u64::from(place.priority() >= line[LIMIT]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Body, Cpu, Kernel, Task};
    use fullbloom_testkit::keys::SplitMix;

    struct Find<'a>(&'a [Line], Keys<'a>);

    impl Task for Find<'_> {
        type Output = Found;

        #[inline(always)]
        fn run<B: Body>(self, kernel: B) -> Found {
            kernel.find(self.0, &self.1)
        }
    }

    #[test]
    fn every_kernel_finds_what_the_definition_says() {
        let mut random = SplitMix::new(21);
        for count in [0, 1, 2, 100, 1000] {
            // Few different bytes: sums and fingerprints often agree. Limits of all kinds.
            let byte = |random: &mut SplitMix| 0x11 * (random.next_u64() % 3) as u8;
            let mut lines: Vec<Line> =
                (0..count).map(|_| core::array::from_fn(|_| byte(&mut random))).collect();
            lines
                .iter_mut()
                .for_each(|line| line[LIMIT] = [0, 1, 128, 254, 255, 200][random.below(6) as usize]);
            for _ in 0..500 {
                // Some lines are beyond the last.
                let places: [Place; GROUP] =
                    core::array::from_fn(|_| Place::new(random.next_u64(), count + count / 16 + 1));
                let t: [u64; GROUP] = core::array::from_fn(|_| random.next_u64());
                let keys = || Keys { places: &places, t: &t, next: &places };
                let expected = find::<1>(&lines, &keys());
                for kernel in Kernel::available() {
                    let found = Cpu::detect(kernel).unwrap().run(Find(&lines, keys()));
                    assert_eq!(found, expected, "{kernel}, {count} lines");
                }
            }
        }
    }
}
