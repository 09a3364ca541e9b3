//! The lines of a shard: how many there are, which one a fingerprint belongs to, and how they are divided.

use crate::slots::{MAX_SLOTS, Slots};

/// Lines that share an overflow line.
pub(crate) const GROUP: u64 = 16;

/// The fewest bits of a fingerprint: the smallest shard has 16 lines of up to 64 quotients.
pub(crate) const MIN_BITS: u32 = 10;

/// The most bits of a fingerprint and its tag together: the reciprocals below are exact up to here.
pub(crate) const MAX_BITS: u32 = 62;

/// The most keys of a group of 16 lines with this many slots, by slots: with them, two of a thousand keys
/// find no place in the overflow line either. Computed from Poisson-distributed lines, for an overflow line
/// whose slots are four bits wider. A table of integers, because the size of a file follows from it on every
/// machine.
const GROUP_KEYS: [u16; MAX_SLOTS as usize + 1] = [
    0, 1, 5, 16, 28, 42, 56, 71, 86, 101, 117, 132, 145, 161, 177, 193, 207, 223, 240, 256, 270, 286, 303,
    319, 334, 350, 367, 381, 398, 415, 429, 446, 460, 477, 494, 509, 526, 540, 557, 572, 589, 604, 621, 638,
    652, 669, 684, 701, 716, 733, 748, 765, 780, 795, 812, 827, 844, 859, 877, 892, 909, 924, 937,
];

/// The shape of a shard: `2^bits` fingerprints over a number of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bits of a fingerprint inside the shard.
    pub(crate) bits: u32,
    /// Bits of a tag.
    pub(crate) tag: u32,
    pub(crate) main: Grid,
    pub(crate) overflow: Grid,
    /// The number of keys at which it should grow.
    pub(crate) limit: u64,
}

/// An interval of numbers divided evenly among lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) lines: u64,
    pub(crate) place: Place,
    pub(crate) slots: Slots,
    bits: u32,
}

/// The line of a fingerprint, and its number in that line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    lines: u64,
    /// `2^(63 + log2 lines) / lines`, rounded up.
    reciprocal: u64,
    shift: u32,
}

impl Place {
    /// The bits of the fingerprint are at the top of `x`.
    ///
    /// The product of `x` and the number of lines has the line in its upper half. The lower half, divided by
    /// the number of lines, is the number within the line; the reciprocal makes it exact.
    #[inline(always)]
    pub(crate) fn of(self, x: u64) -> (u64, u64) {
        let product = u128::from(x) * u128::from(self.lines);
        let (line, part) = ((product >> 64) as u64, product as u64);
        let scaled = ((u128::from(part) * u128::from(self.reciprocal)) >> 64) as u64;
        (line, scaled >> (self.shift & 63))
    }
}

impl Grid {
    pub(crate) fn new(bits: u32, lines: u64, tag: u32) -> Grid {
        let log = lines.ilog2();
        let interval = (1u128 << bits).div_ceil(lines.into()) as u64;
        let place = Place {
            lines,
            reciprocal: (1u128 << (63 + log)).div_ceil(lines.into()) as u64,
            shift: 63 - bits + log,
        };
        Grid { lines, place, slots: Slots::new(interval, tag), bits }
    }

    /// The first fingerprints of the lines from this one on, and after the last line the number of
    /// fingerprints.
    pub(crate) fn bases(&self, line: u64) -> Bases {
        let (all, lines) = (1u128 << self.bits, u128::from(self.lines));
        let start = u128::from(line) << self.bits;
        Bases {
            next: (start / lines) as u64,
            part: (start % lines) as u64,
            step: (all / lines) as u64,
            step_part: (all % lines) as u64,
            lines: self.lines,
        }
    }

    /// The first fingerprint of a line.
    pub(crate) fn base(&self, line: u64) -> u64 {
        (u128::from(line) << self.bits).div_ceil(self.lines.into()) as u64
    }
}

/// The first fingerprints of lines, one after the other.
#[derive(Debug)]
pub(crate) struct Bases {
    /// The next one is `next + part / lines`, rounded up.
    next: u64,
    part: u64,
    step: u64,
    step_part: u64,
    lines: u64,
}

impl Bases {
    #[inline(always)]
    pub(crate) fn next_base(&mut self) -> u64 {
        let base = self.next + u64::from(self.part > 0);
        self.next += self.step;
        self.part += self.step_part;
        if self.part >= self.lines {
            self.part -= self.lines;
            self.next += 1;
        }
        base
    }
}

impl Shape {
    /// `lines` is a multiple of [`GROUP`], and there are at least as many fingerprints as lines.
    pub(crate) fn new(bits: u32, tag: u32, lines: u64) -> Shape {
        let (main, overflow) = (Grid::new(bits, lines, tag), Grid::new(bits, lines / GROUP, tag));
        let limit = lines / GROUP * u64::from(GROUP_KEYS[main.slots.count() as usize]);
        Shape { bits, tag, main, overflow, limit }
    }

    /// A number of lines for `keys` keys in fingerprints of `bits` bits, with some room: `2^depth` shards of
    /// this many lines each. The fewest lines, with a depth as low as [`MAX_LINES`] allows.
    pub(crate) fn for_keys(bits: u32, tag: u32, keys: u64) -> (u32, u64) {
        // A thirty-second more: what four standard deviations of a shard's number of keys need, and some keys
        // to come.
        let keys = keys.saturating_add(keys / 32);
        let limit = |depth: u32, lines| {
            // The same shape at any depth: fingerprints for each line are the same.
            Shape::new(bits - depth, tag, lines).limit.saturating_mul(1 << depth)
        };
        // There are never more keys than fingerprints.
        let deepest = bits.saturating_sub(MIN_BITS + 4);
        let depth = (0..deepest).find(|depth| limit(*depth, MAX_LINES) >= keys).unwrap_or(deepest);
        let (mut low, mut high) = (0, MAX_LINES / GROUP);
        if depth > 0 {
            low = MIN_LINES / GROUP - 1;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if limit(depth, middle * GROUP) >= keys { high = middle } else { low = middle }
        }
        (depth, high * GROUP)
    }
}

/// Lines of a page; several shards consist of pages.
pub(crate) const PAGE: u64 = 256;

/// The lines of a shard that has just been split, and before it is split.
pub(crate) const MIN_LINES: u64 = 8 * PAGE;
pub(crate) const MAX_LINES: u64 = 15 * PAGE;

/// The next larger number of lines of a shard; `None` if it is to be split instead.
///
/// By about a quarter each time: by calculation, a key is rewritten four times in its life, and just after a
/// step a fifth of the room is free. Steps of an eighth would rewrite it eight times. Small shards grow by
/// half.
pub(crate) fn grown(lines: u64) -> Option<u64> {
    if lines < MIN_LINES {
        let more = (lines + (lines / 2).max(GROUP)).next_multiple_of(GROUP);
        return Some(if more > MIN_LINES * 9 / 10 { MIN_LINES } else { more });
    }
    // 8, 10 and 13 pages; then twice 8.
    Some((lines + lines / 4).next_multiple_of(PAGE)).filter(|more| *more <= MAX_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fingerprint_has_its_number_in_its_line() {
        for bits in [10, 11, 17, 24] {
            for lines in [16, 48, 112, 1008, 2048, 3840].into_iter().filter(|lines| *lines <= 1 << bits) {
                let grid = Grid::new(bits, lines, 0);
                let mut bases = grid.bases(lines / 2);
                assert!((lines / 2..=lines).all(|line| bases.next_base() == grid.base(line)));
                let (mut line, mut base) = (0, 0);
                for v in 0..1u64 << bits {
                    let (found, number) = grid.place.of(v << (64 - bits));
                    if found != line {
                        (line, base) = (line + 1, v);
                        assert_eq!((found, base), (line, grid.base(line)), "{bits} {lines}");
                    }
                    assert_eq!(number, v - base, "{bits} {lines} {v}");
                }
                assert_eq!(line, lines - 1);
            }
        }
    }

    #[test]
    fn large_grids_agree_with_exact_division() {
        let mut x = 0x1234_5678_9abc_def1u64;
        for bits in [40, 55, 62] {
            for lines in [16, 3840, 960 << 10, (1 << 31) - 16] {
                let grid = Grid::new(bits, lines, 0);
                for _ in 0..10_000 {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let v = x >> (64 - bits);
                    let line = ((u128::from(v) * u128::from(lines)) >> bits) as u64;
                    assert_eq!(grid.place.of(v << (64 - bits)), (line, v - grid.base(line)));
                }
            }
        }
    }

    #[test]
    fn the_planned_lines_have_room_for_the_keys_and_not_for_many_more() {
        for tag in [0, 2, 5] {
            for bits in [20, 27, 34, 47, 56] {
                for keys in [0, 1, 50, 1_000, 30_000, 200_000, 1_000_000, 100_000_000] {
                    if keys >= 1 << (bits - 3) {
                        continue;
                    }
                    let (depth, lines) = Shape::for_keys(bits, tag, keys);
                    let shape = Shape::new(bits - depth, tag, lines);
                    assert!(
                        lines.is_multiple_of(GROUP)
                            && lines <= MAX_LINES
                            && (depth == 0 || lines >= MIN_LINES)
                    );
                    let limit = shape.limit << depth;
                    assert!(limit >= keys + keys / 32, "{bits} {keys}");
                    // A 32nd for later keys, at most 2048 lines where half of 3840 would do, and up to one
                    // slot of a line, which is a tenth of the longest fingerprints' slots.
                    assert!(limit <= keys * 6 / 5 + 2_000, "{bits} {keys}: {limit}");
                }
            }
        }
    }

    #[test]
    fn shards_grow_by_steps_until_they_are_split() {
        let mut steps = vec![GROUP];
        while let Some(next) = grown(steps[steps.len() - 1]) {
            steps.push(next);
        }
        for step in steps.windows(2) {
            assert!(step[1] > step[0] && step[1].is_multiple_of(GROUP), "{steps:?}");
            // A half or a quarter, rounded up to a whole group or page; the step to whole pages may be
            // another.
            let (unit, part) = if step[0] < MIN_LINES { (GROUP, 2) } else { (PAGE, 4) };
            let more = (step[0] + (step[0] / part).max(GROUP)).next_multiple_of(unit);
            assert!(step[1] == more || step[1] == MIN_LINES && more > MIN_LINES * 9 / 10, "{steps:?}");
        }
        assert!(steps.ends_with(&[2048, 2560, 3328]) && steps.len() < 30, "{steps:?}");
    }
}
