//! What a dynamic filter is asked to be.

use super::shape::{MAX_BITS, MIN_BITS};
use core::time::Duration;
use fullbloom_core::error::{Quantity, SizeError};
use fullbloom_core::native::hashing::Hashing;

/// The most generations of an [`Expiry`]: their tags have at most eight bits.
const MAX_GENERATIONS: u32 = 200;

/// Bits of a count in the slot: 1, 2, 3, or more, which the table of counts has.
pub(crate) const COUNT_BITS: u32 = 2;

/// What a dynamic filter remembers of a key besides its fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing: a set.
    #[default]
    Set,
    /// How often it was inserted, so that it can be removed as often. Two bits more for each key.
    Counting,
    /// When it was inserted, so that it expires. Some bits more for each key: 4 for 7 generations.
    Expiring(Expiry),
}

/// How long keys are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// At least this time, rounded up to whole milliseconds.
    Time(Duration),
    /// While fewer than this many new keys have been inserted since. With [`refresh`](Expiry::refresh), known
    /// keys that are inserted again count too, once for each generation.
    Keys(u64),
}

/// When keys expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// The minimum time or number of keys for which keys are remembered.
    pub keep: Keep,
    /// The number of steps in which they expire, 1 to 200. A key is remembered for at most one step more than
    /// [`keep`](Expiry::keep) says.
    pub generations: u32,
    /// Whether inserting a known key again restarts its time. Otherwise its time counts from when it was new.
    pub refresh: bool,
}

impl Expiry {
    /// Keys are remembered this long after they were new, in seven generations.
    pub fn of(keep: Keep) -> Expiry {
        Expiry { keep, generations: 7, refresh: false }
    }

    /// Milliseconds or keys.
    pub(crate) fn amount(&self) -> u64 {
        match self.keep {
            Keep::Time(time) => u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
            Keep::Keys(keys) => keys,
        }
    }

    /// The number of the generation after this many milliseconds or keys. A generation is the exact share of
    /// the amount: rounded to whole keys, ten keys in seven generations would be kept for 14 to 16.
    pub(crate) fn generation_at(&self, elapsed: u64) -> u64 {
        let number = u128::from(elapsed) * u128::from(self.generations) / u128::from(self.amount().max(1));
        // Ages are differences of generations, and are added to: half of the range keeps that from wrapping.
        number.min(u128::from(u64::MAX / 2)) as u64
    }

    /// The first millisecond or key of the generation with this number.
    pub(crate) fn began(&self, generation: u64) -> u64 {
        let exact = u128::from(generation) * u128::from(self.amount().max(1));
        u64::try_from(exact.div_ceil(self.generations.max(1).into())).unwrap_or(u64::MAX)
    }

    pub(crate) fn is_by_keys(&self) -> bool {
        matches!(self.keep, Keep::Keys(_))
    }

    /// Bits of a tag: the generations that are alive, and some that wait to be dropped.
    pub(crate) fn tag_bits(&self) -> u32 {
        (self.generations + 2 + self.generations / 4).next_power_of_two().ilog2()
    }

    /// Refuses invalid values.
    pub fn check(&self) -> Result<(), SizeError> {
        if !(1..=MAX_GENERATIONS).contains(&self.generations) {
            let got = self.generations.into();
            return Err(SizeError::Count { what: Quantity::Generations, got, allowed: "1 to 200" });
        }
        if self.amount() == 0 {
            let what = if self.is_by_keys() { Quantity::KeysToRemember } else { Quantity::TimeToRemember };
            return Err(SizeError::Count { what, got: 0, allowed: "1 or more" });
        }
        Ok(())
    }
}

impl Mode {
    /// `set`, `counting` or `expiring`.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::Set => "set",
            Mode::Counting => "counting",
            Mode::Expiring(_) => "expiring",
        }
    }

    /// Bits of a tag.
    pub(crate) fn tag_bits(&self) -> u32 {
        match self {
            Mode::Set => 0,
            Mode::Counting => COUNT_BITS,
            Mode::Expiring(expiry) => expiry.tag_bits(),
        }
    }
}

/// The properties of a new [`DynamicFilter`](super::DynamicFilter).
///
/// ```
/// use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};
///
/// // room for 1,000 keys now; 0.1 % also with a million
/// let options = DynamicOptions::new(1_000, 0.001).up_to(1_000_000).mode(Mode::Counting);
/// let mut filter = DynamicFilter::new(options)?;
/// filter.insert(b"alice")?;
/// assert!(filter.fpr_with(1_000_000) <= 0.001);
/// # Ok::<(), fullbloom_dynamic::error::InsertError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct DynamicOptions {
    pub(crate) expected_keys: u64,
    pub(crate) fpr: f64,
    pub(crate) up_to: u64,
    pub(crate) mode: Mode,
    pub(crate) hashing: Hashing,
}

impl DynamicOptions {
    /// A set that has memory for `expected_keys` keys from the beginning, grows beyond, and has at most the
    /// rate `fpr` with the expected keys.
    pub fn new(expected_keys: u64, fpr: f64) -> DynamicOptions {
        DynamicOptions {
            expected_keys,
            fpr,
            up_to: expected_keys,
            mode: Mode::Set,
            hashing: Hashing::default(),
        }
    }

    /// Promises the rate up to this number of keys. Each doubling costs one bit for each key, and no memory
    /// until the keys come.
    pub fn up_to(mut self, keys: u64) -> DynamicOptions {
        self.up_to = keys.max(self.expected_keys);
        self
    }

    /// Set, counting or expiring.
    pub fn mode(mut self, mode: Mode) -> DynamicOptions {
        self.mode = mode;
        self
    }

    /// The seed or secret of the hash.
    pub fn hashing(mut self, hashing: Hashing) -> DynamicOptions {
        self.hashing = hashing;
        self
    }

    /// The bits of a fingerprint that keep the promise.
    pub(crate) fn bits(&self) -> Result<u32, SizeError> {
        let fpr = self.fpr;
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
        }
        if let Mode::Expiring(expiry) = &self.mode {
            expiry.check()?;
        }
        let most = MAX_BITS - self.mode.tag_bits();
        let fingerprints = self.up_to.max(1) as f64 / fpr;
        // 2^bits is exact, so no logarithm decides.
        let bits = (MIN_BITS..=most).find(|bits| (1u64 << bits) as f64 >= fingerprints);
        bits.ok_or(SizeError::Unreachable { fpr, max_bits_per_key: most.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_up_to_the_promised_number() {
        for (keys, fpr, bits) in
            [(1_000, 0.01, 17), (1, 0.9, 10), (0, 0.5, 10), (1 << 20, 0.5, 21), (10, 1e-17, 60)]
        {
            assert_eq!(DynamicOptions::new(keys, fpr).bits(), Ok(bits), "{keys} {fpr}");
        }
        assert_eq!(DynamicOptions::new(1_000, 0.01).up_to(1 << 30).bits(), Ok(37));
        assert_eq!(DynamicOptions::new(1_000, 0.01).up_to(5), DynamicOptions::new(1_000, 0.01));
        for fpr in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(DynamicOptions::new(5, fpr).bits(), Err(SizeError::Value { .. })));
        }
        assert!(matches!(DynamicOptions::new(1 << 40, 1e-9).bits(), Err(SizeError::Unreachable { .. })));
    }

    #[test]
    fn tags_have_room_for_generations_that_wait_to_be_dropped() {
        for generations in 1..=MAX_GENERATIONS {
            let expiry = Expiry { generations, ..Expiry::of(Keep::Keys(1)) };
            assert!(1 << expiry.tag_bits() >= generations + 2 && expiry.tag_bits() <= 8);
        }
        assert_eq!(Expiry::of(Keep::Keys(1)).tag_bits(), 4);
        assert!(Expiry { generations: 201, ..Expiry::of(Keep::Keys(1)) }.check().is_err());
        assert!(Expiry { generations: 0, ..Expiry::of(Keep::Keys(1)) }.check().is_err());
        assert!(Expiry::of(Keep::Keys(0)).check().is_err());
    }

    #[test]
    fn keys_are_never_kept_for_more_than_a_step_longer() {
        for generations in [1, 2, 7, 13, 200] {
            for amount in 1..300 {
                let expiry = Expiry { generations, ..Expiry::of(Keep::Keys(amount)) };
                let step = amount.div_ceil(generations.into());
                for time in 0..3 * amount {
                    let generation = expiry.generation_at(time);
                    assert!((expiry.began(generation)..=time).contains(&time));
                    let gone = expiry.began(generation + u64::from(generations) + 1);
                    assert!((amount..=amount + step).contains(&(gone - time)), "{amount} in {generations}");
                }
            }
        }
    }
}
