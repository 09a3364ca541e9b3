//! The walk of the kind `compact`: from a hash to a line of each layer, a priority in it, and one equation.
//!
//! ```text
//!   h, the hash      t = (h ^ h >> 32) · Q      u = (t ^ t >> 29) · R
//!
//!   layer 0: z = h        layer 1: z = (t ^ t >> 32) · P        every further layer: z = (z ^ z >> 32) · Q
//!
//!   x = z · lines >> 32       line = x >> 32       priority = bits 24 to 31 of x, at most 254
//!   fingerprint: bits 16 to 23 of x for the columns of the line, bits 8 and up of u for the further columns
//!   slots: the bytes of t say which six or eight slots the equation adds
//!
//!   a line       byte k, 0 to 62: slot k of the eight columns        byte 63: the limit
//!                the sum of a key: the xor of the bytes that it chooses, one bit for each column
//!   further      word j: the 63 slots of column j                    its sum: the parity of the bits that the key chooses
//! ```
//!
//! Where a column has more than 63 slots, it has `W` parts, 1, 2, 4 or 8: `W` bits of each byte, or `W`
//! consecutive words. A key chooses slots of each part, and its sum is the xor of theirs. Slot 63 of a part
//! is a constant: its bits of the limit, or zero in further columns.
//!
//! Every step from `h` to `t` and `z` is a bijection: no entropy is lost, and a builder can keep the `z`
//! of a key instead of its hash. The fingerprint does not follow from the chosen slots: it is taken from
//! other products.

use fullbloom_core::kernel::lines::Line;

/// The multipliers: the golden ratio, and two of splitmix64.
const P: u64 = 0x9e37_79b9_7f4a_7c15;
const Q: u64 = 0xbf58_476d_1ce4_e5b9;
const R: u64 = 0x94d0_49bb_1331_11eb;

/// Slots of a part of a column.
pub(crate) const SLOTS: usize = 63;

/// The byte of a line that is its limit.
pub(crate) const LIMIT: usize = 63;

/// The highest priority: a line with the limit 255 keeps all its keys.
pub(crate) const MAX_PRIORITY: u8 = 254;

/// The limit of a line that keeps all its keys.
pub(crate) const ALL: u8 = 255;

/// The most lines of a layer: a line is chosen by products of 32-bit halves.
pub(crate) const MAX_LINES: u64 = u32::MAX as u64;

#[inline(always)]
fn mix(x: u64, factor: u64) -> u64 {
    (x ^ x >> 32).wrapping_mul(factor)
}

/// The number before [`mix`] with the factor whose inverse this is.
#[inline(always)]
#[cfg(feature = "std")]
fn unmix(x: u64, inverse: u64) -> u64 {
    let product = x.wrapping_mul(inverse);
    product ^ product >> 32
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
#[cfg(feature = "std")]
const fn inverse(factor: u64) -> u64 {
    let (mut x, mut i) = (factor, 0);
    while i < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(x)));
        i += 1;
    }
    x
}

/// `t`, from the hash, which is `z` of layer 0.
#[inline(always)]
pub(crate) fn t_of_first(hash: u64) -> u64 {
    mix(hash, Q)
}

/// `z` of layer 1.
#[inline(always)]
pub(crate) fn second_z(t: u64) -> u64 {
    mix(t, P)
}

/// `z` of the layer after layer 1 or a later one.
#[inline(always)]
pub(crate) fn next_z(z: u64) -> u64 {
    mix(z, Q)
}

/// `t`, from `z` of any layer.
#[inline(always)]
#[cfg(feature = "std")]
pub(crate) fn t_of(z: u64, layer: usize) -> u64 {
    if layer == 0 {
        return t_of_first(z);
    }
    let z1 = (1..layer).fold(z, |z, _| unmix(z, const { inverse(Q) }));
    unmix(z1, const { inverse(P) })
}

/// `z` of the layer after `layer`.
#[inline(always)]
#[cfg(feature = "std")]
pub(crate) fn z_after(z: u64, layer: usize) -> u64 {
    if layer == 0 { second_z(t_of_first(z)) } else { next_z(z) }
}

/// The hash of a key, from its `t`.
#[cfg(feature = "std")]
pub(crate) fn hash_of(t: u64) -> u64 {
    unmix(t, const { inverse(Q) })
}

/// The number that the fingerprint of the further columns is taken from.
#[inline(always)]
pub(crate) fn u_of(t: u64) -> u64 {
    (t ^ t >> 29).wrapping_mul(R)
}

/// The slots that a key chooses, up to 63, in the order of the parts: the lowest [`count_of`] bytes. A slot
/// that is chosen twice counts as not chosen. One word: of bytes in memory, LLVM makes vectors, and takes
/// them apart.
pub(crate) type Picks = u64;

/// The number of slots that a key chooses.
#[inline(always)]
pub(crate) const fn count_of(parts: usize) -> usize {
    if parts <= 2 { 6 } else { 8 }
}

/// The slots that a key with this `t` chooses in columns of `W` parts: as many in each part.
///
/// In the only part of a column, the first four are in a quarter of the line each: so the equations of a line
/// seldom leave a slot out, and more of them can be solved.
#[inline(always)]
pub(crate) fn picks<const W: usize>(t: u64) -> Picks {
    let (mask, first) = match W {
        1 => (0x3f3f_0f0f_0f0f, 0x3020_1000),
        2 => (0x3f3f_3f3f_3f3f, 0),
        _ => (0x3f3f_3f3f_3f3f_3f3f, 0),
    };
    (t & mask) + first
}

/// The part and the slot of each pick.
#[inline(always)]
pub(crate) fn chosen<const W: usize>(picks: Picks) -> impl Iterator<Item = (usize, usize)> {
    (0..count_of(W)).map(move |i| (i * W / count_of(W), (picks >> (8 * i)) as usize % 64))
}

/// The chosen slots as words of bits, one for each part of a column.
#[inline(always)]
pub(crate) fn coefficients<const W: usize>(picks: Picks) -> [u64; W] {
    let mut words = [0; W];
    chosen::<W>(picks).for_each(|(part, slot)| words[part] ^= 1 << slot);
    words
}

/// The bits of a byte, and of the fingerprint, that belong to the first part of a column: one in `parts`.
#[inline(always)]
pub(crate) const fn column_bits(parts: usize) -> u8 {
    match parts {
        1 => 0xff,
        2 => 0x55,
        4 => 0x11,
        _ => 0x01,
    }
}

/// The sums of a key in the columns of a line: bit `j * W` for column `j`.
#[inline(always)]
pub(crate) fn sums<const W: usize>(line: &Line, picks: Picks) -> u8 {
    let mut parts = [0; W];
    chosen::<W>(picks).for_each(|(part, slot)| parts[part] ^= line[slot % line.len()]);
    let sum = parts.iter().enumerate().fold(0, |sum, (v, part)| sum ^ part >> v);
    sum & column_bits(W)
}

/// A key's place in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    x: u64,
}

impl Place {
    /// Of no key.
    pub(crate) const NOWHERE: Place = Place { x: 0 };

    /// In a layer of `lines` lines, fewer than 2^32.
    #[inline(always)]
    pub(crate) fn new(z: u64, lines: u64) -> Place {
        // The halves: vectors have products of 32 bits.
        let (upper, lower) = (z >> 32, z & 0xffff_ffff);
        Place { x: upper.wrapping_mul(lines).wrapping_add(lower.wrapping_mul(lines) >> 32) }
    }

    /// The same by one product of 64 bits: faster where there are no vectors.
    #[inline(always)]
    pub(crate) fn of_one(z: u64, lines: u64) -> Place {
        let product = u128::from(z) * u128::from(lines);
        Place { x: ((product >> 64) as u64) << 32 | product as u64 >> 32 }
    }

    /// All of it in one number: `x` above.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.x
    }

    /// Number of the line in the layer: below `lines`, unless that is 0.
    #[inline(always)]
    pub(crate) fn line(self) -> u64 {
        self.x >> 32
    }

    /// The line, and where the key is in it, in 256ths.
    #[inline(always)]
    pub(crate) fn position(self) -> u64 {
        self.x >> 24
    }

    #[inline(always)]
    pub(crate) fn priority(self) -> u8 {
        self.whole_priority().min(MAX_PRIORITY)
    }

    /// The priority before it is limited to [`MAX_PRIORITY`].
    #[inline(always)]
    pub(crate) fn whole_priority(self) -> u8 {
        (self.x >> 24) as u8
    }

    /// Of the columns of a line: bit `j * W` for column `j`.
    #[inline(always)]
    pub(crate) fn fingerprint<const W: usize>(self) -> u8 {
        (self.x >> 16) as u8 & column_bits(W)
    }
}

/// The smallest `z` whose line is `line` of `lines`; `None` when no `z` is large enough.
#[cfg(feature = "std")]
pub(crate) fn least_z(line: u64, lines: u64) -> Option<u64> {
    let z = (u128::from(line) << 64).div_ceil(u128::from(lines.max(1)));
    u64::try_from(z).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> impl Iterator<Item = u64> {
        (0..2000u64).map(|i| i.wrapping_mul(0x1234_5678_9abc_def1) ^ i << 60).chain([0, 1, u64::MAX])
    }

    #[test]
    fn every_step_can_be_undone() {
        for hash in numbers() {
            let mut z = hash;
            let t = t_of_first(z);
            for layer in 0..25 {
                assert_eq!(t_of(z, layer), t, "layer {layer}");
                z = z_after(z, layer);
            }
            assert_eq!(hash_of(t), hash);
        }
    }

    #[test]
    fn a_place_is_the_top_of_the_whole_product() {
        for lines in [1, 2, 3, 1000, 1 << 20, MAX_LINES] {
            for z in numbers() {
                let product = u128::from(z) * u128::from(lines);
                let place = Place::new(z, lines);
                assert_eq!(place, Place::of_one(z, lines));
                assert_eq!(place.line(), (product >> 64) as u64);
                assert_eq!(place.position(), (product >> 56) as u64);
                assert_eq!(place.priority(), ((product >> 56) as u8).min(254));
                assert_eq!(place.fingerprint::<1>(), (product >> 48) as u8);
                assert_eq!(place.fingerprint::<4>(), (product >> 48) as u8 & 0x11);
                let least = least_z(place.line(), lines).unwrap();
                assert!(least <= z && Place::new(least, lines).line() == place.line());
                assert!(least == 0 || Place::new(least - 1, lines).line() + 1 == place.line());
            }
            assert_eq!(least_z(lines, lines), None);
        }
    }

    /// Bit by bit: what the documents say.
    fn by_definition<const W: usize>(line: &Line, t: u64) {
        let byte = |i: usize| (t >> (8 * i)) as usize & 63;
        let chosen: Vec<(usize, usize)> = match W {
            1 => (0..6).map(|i| (0, if i < 4 { byte(i) % 16 + 16 * i } else { byte(i) })).collect(),
            2 => (0..6).map(|i| (i / 3, byte(i))).collect(),
            4 => (0..8).map(|i| (i / 2, byte(i))).collect(),
            _ => (0..8).map(|i| (i, byte(i))).collect(),
        };
        let (mut expected, mut words) = (0, [0; W]);
        for (v, k) in chosen {
            for j in 0..8 / W {
                expected ^= (line[k] >> (j * W + v) & 1) << (j * W);
            }
            words[v] ^= 1u64 << k;
        }
        let picks = picks::<W>(t);
        assert_eq!((sums::<W>(line, picks), coefficients::<W>(picks)), (expected, words));
    }

    #[test]
    fn the_sums_are_those_of_the_documents() {
        for t in numbers() {
            let line: Line = core::array::from_fn(|i| (t.wrapping_mul(2 * i as u64 + 1) >> 37) as u8);
            by_definition::<1>(&line, t);
            by_definition::<2>(&line, t);
            by_definition::<4>(&line, t);
            by_definition::<8>(&line, t);
        }
    }
}
