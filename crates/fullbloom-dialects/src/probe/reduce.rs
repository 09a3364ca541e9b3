//! Exact remainders by multiplication, for a divisor that is known long before the dividends.

/// `n % divisor` for 32-bit numbers: the fraction of the quotient is kept in 64 bits and multiplied by the
/// divisor (Lemire, Kaser, Kurz 2019). This is exact for every pair of 32-bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mod32 {
    divisor: u32,
    /// `ceil(2^64 / divisor)`; wraps to 0 for divisor 1, where every remainder is 0 anyway.
    inverse: u64,
}

impl Mod32 {
    /// A reducer for this divisor; `None` for zero.
    pub fn new(divisor: u32) -> Option<Mod32> {
        (divisor != 0).then(|| Mod32 { divisor, inverse: (u64::MAX / u64::from(divisor)).wrapping_add(1) })
    }

    /// The number that remainders are taken by.
    pub fn divisor(self) -> u32 {
        self.divisor
    }

    /// The remainder, `n % divisor`, by multiplications.
    #[inline(always)]
    pub fn reduce(self, n: u32) -> u32 {
        let fraction = self.inverse.wrapping_mul(u64::from(n));
        ((u128::from(fraction) * u128::from(self.divisor)) >> 64) as u32
    }
}

/// `n % divisor` for dividends up to and including 2^63 (the absolute values of `i64`), by Granlund
/// and Montgomery's method: with one bit to spare the multiplier fits one word and needs no correction.
///
/// With `L = ceil(log2 divisor)` the multiplier is `ceil(2^(63+L) / divisor)`, too large by less than one;
/// the error this adds to the quotient is below `n / 2^63 / divisor`, hence below `1 / divisor`, for these
/// dividends: never enough to reach the next integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mod63 {
    divisor: u64,
    multiplier: u64,
    /// `L - 1`: the product is shifted right by 64 + this.
    shift: u32,
}

impl Mod63 {
    /// A reducer for this divisor; `None` unless `2 <= divisor < 2^63`.
    pub fn new(divisor: u64) -> Option<Mod63> {
        if !(2..1 << 63).contains(&divisor) {
            return None;
        }
        let log = 64 - (divisor - 1).leading_zeros();
        let multiplier = (1u128 << (63 + log)).div_ceil(u128::from(divisor)) as u64; // below 2^64: divisor > 2^(L-1)
        Some(Mod63 { divisor, multiplier, shift: log - 1 })
    }

    /// The number that remainders are taken by.
    pub fn divisor(self) -> u64 {
        self.divisor
    }

    /// `n % divisor`, for `n` up to 2^63.
    #[inline(always)]
    pub fn reduce(self, n: u64) -> u64 {
        debug_assert!(n <= 1 << 63);
        let quotient = ((u128::from(self.multiplier) * u128::from(n)) >> 64) as u64 >> self.shift;
        n.wrapping_sub(quotient.wrapping_mul(self.divisor))
    }
}

/// `n % divisor` for all 64-bit dividends, by Granlund and Montgomery's method with a multiplier of 65 bits,
/// whose top bit is implied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mod64 {
    divisor: u64,
    /// The multiplier without its bit 64.
    multiplier: u64,
    shifts: [u32; 2],
}

impl Mod64 {
    /// A reducer for this divisor; `None` for zero.
    pub fn new(divisor: u64) -> Option<Mod64> {
        let log = 64 - divisor.checked_sub(1)?.leading_zeros();
        let above = (1u128 << log) - u128::from(divisor); // below the divisor
        let multiplier = ((above << 64) / u128::from(divisor) + 1) as u64;
        Some(Mod64 { divisor, multiplier, shifts: [log.min(1), log.saturating_sub(1)] })
    }

    /// The number that remainders are taken by.
    pub fn divisor(self) -> u64 {
        self.divisor
    }

    /// The remainder, `n % divisor`, by multiplications.
    #[inline(always)]
    pub fn reduce(self, n: u64) -> u64 {
        let high = ((u128::from(self.multiplier) * u128::from(n)) >> 64) as u64;
        let quotient = (high + ((n - high) >> self.shifts[0])) >> self.shifts[1];
        n - quotient * self.divisor
    }
}

/// Remainders by one array's length, for walks in 32 bits and in 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitLen {
    /// For 64-bit walks.
    pub wide: Mod63,
    /// For 32-bit walks. `None` when the length exceeds 32 bits, so that no reduction is needed.
    pub narrow: Option<Mod32>,
}

impl BitLen {
    /// The reducer for this length; `None` unless `2 <= bit_len < 2^63`.
    pub fn new(bit_len: u64) -> Option<BitLen> {
        let narrow = u32::try_from(bit_len).ok().and_then(Mod32::new);
        Mod63::new(bit_len).map(|wide| BitLen { wide, narrow })
    }

    /// The length of the array in bits.
    pub fn bits(self) -> u64 {
        self.wide.divisor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers around every power of two, where reciprocal methods fail first.
    fn edges() -> impl Iterator<Item = u64> + Clone {
        (0..64).flat_map(|bit| {
            let p = 1u64 << bit;
            [p.wrapping_sub(3), p.wrapping_sub(1), p, p.wrapping_add(1), p.wrapping_mul(3).wrapping_add(1)]
        })
    }

    #[test]
    fn remainders_equal_division_around_every_power_of_two() {
        for divisor in edges() {
            if let Some(by) = u32::try_from(divisor).ok().and_then(Mod32::new) {
                for n in edges() {
                    assert_eq!(by.reduce(n as u32), n as u32 % divisor as u32, "{n} % {divisor}");
                }
            }
            if let Some(by) = Mod63::new(divisor) {
                for n in edges().filter(|&n| n <= 1 << 63) {
                    assert_eq!(by.reduce(n), n % divisor, "{n} % {divisor}");
                    let near = n / divisor * divisor; // a multiple, and its neighbours
                    assert_eq!(by.reduce(near), 0, "{near} % {divisor}");
                    assert_eq!(by.reduce(near.saturating_sub(1)), near.saturating_sub(1) % divisor);
                }
            }
            if let Some(by) = Mod64::new(divisor) {
                for n in edges().chain([u64::MAX, u64::MAX - 1]) {
                    assert_eq!(by.reduce(n), n % divisor, "{n} % {divisor}");
                    let near = n / divisor * divisor;
                    assert_eq!(by.reduce(near), 0, "{near} % {divisor}");
                    assert_eq!(by.reduce(near.wrapping_sub(1)), near.wrapping_sub(1) % divisor);
                }
            }
        }
    }

    #[test]
    fn divisors_without_a_reducer_are_refused() {
        assert_eq!(Mod32::new(0), None);
        assert_eq!(Mod64::new(0), None);
        for divisor in [0, 1, 1 << 63, u64::MAX] {
            assert_eq!(Mod63::new(divisor), None);
        }
    }
}
