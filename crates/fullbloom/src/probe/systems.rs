//! The walk of the kind `compact`: from a hash to a line of each layer, a priority in it, and one equation.
//!
//! ```text
//!   h, the hash      s = (h ^ h >> 32) · P      t = (s ^ s >> 32) · Q      u = (t ^ t >> 29) · R
//!
//!   layer 0: z = s        layer 1: z = (t ^ t >> 32) · P        every further layer: z = (z ^ z >> 32) · Q
//!
//!   x = z · lines >> 32       line = x >> 32       priority = bits 24 to 31 of x, at most 254
//!   fingerprint: bits 16 to 23 of x for the columns of the line, bits 8 and up of u for the further columns
//!   coefficients: t >> 1; more words, where a column has more than 63 slots, by u' = (u ^ u >> 29) · R, u' >> 1
//! ```
//!
//! Every step from `h` to `s`, `t` and `z` is a bijection: no entropy is lost, and a builder can keep the `z` of a
//! key instead of its hash. The fingerprint is not a linear function of the coefficients: it is taken from other
//! products.

/// The multipliers: the golden ratio, and two of splitmix64.
const P: u64 = 0x9e37_79b9_7f4a_7c15;
const Q: u64 = 0xbf58_476d_1ce4_e5b9;
const R: u64 = 0x94d0_49bb_1331_11eb;

/// Slots that one word of coefficients covers: the top bit of a line's word is a bit of the line's limit.
pub(crate) const SLOTS: usize = 63;

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

/// `z` of layer 0.
#[inline(always)]
pub(crate) fn first_z(hash: u64) -> u64 {
    mix(hash, P)
}

/// `t`, from `z` of layer 0.
#[inline(always)]
pub(crate) fn t_of_first(z: u64) -> u64 {
    mix(z, Q)
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
    unmix(unmix(t, const { inverse(Q) }), const { inverse(P) })
}

/// The number that the fingerprint of the further columns is taken from.
#[inline(always)]
pub(crate) fn u_of(t: u64) -> u64 {
    (t ^ t >> 29).wrapping_mul(R)
}

/// The coefficients of a key's equation: 63 in each word.
#[inline(always)]
pub(crate) fn coefficients<const W: usize>(t: u64) -> [u64; W] {
    let mut words = Coefficients::new(t);
    core::array::from_fn(|_| words.next_word())
}

/// The words of coefficients, one after the other.
pub(crate) struct Coefficients {
    next: u64,
    /// The number after `next`, if `next` is the first one.
    u: Option<u64>,
}

impl Coefficients {
    #[inline(always)]
    pub(crate) fn new(t: u64) -> Coefficients {
        Coefficients { next: t, u: Some(u_of(t)) }
    }

    #[inline(always)]
    pub(crate) fn next_word(&mut self) -> u64 {
        let word = self.next >> 1;
        self.next = u_of(self.u.take().unwrap_or(self.next));
        word
    }
}

/// A key's place in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    x: u64,
}

impl Place {
    /// In a layer of `lines` lines, fewer than 2^32.
    #[inline(always)]
    pub(crate) fn new(z: u64, lines: u64) -> Place {
        let (upper, lower) = (z >> 32, z & 0xffff_ffff);
        Place { x: upper.wrapping_mul(lines).wrapping_add(lower.wrapping_mul(lines) >> 32) }
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
        ((self.x >> 24) as u8).min(MAX_PRIORITY)
    }

    /// Of the columns of the line; all eight bits, of which fewer columns use some.
    #[inline(always)]
    pub(crate) fn fingerprint(self) -> u8 {
        (self.x >> 16) as u8
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
            let mut z = first_z(hash);
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
                assert_eq!(place.line(), (product >> 64) as u64);
                assert_eq!(place.position(), (product >> 56) as u64);
                assert_eq!(place.priority(), ((product >> 56) as u8).min(254));
                assert_eq!(place.fingerprint(), (product >> 48) as u8);
                let least = least_z(place.line(), lines).unwrap();
                assert!(least <= z && Place::new(least, lines).line() == place.line());
                assert!(least == 0 || Place::new(least - 1, lines).line() + 1 == place.line());
            }
            assert_eq!(least_z(lines, lines), None);
        }
    }
}
