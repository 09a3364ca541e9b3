//! The keys that filters are built from and asked for.

use std::hash::Hash;

/// The output step of splitmix64: a bijection, so that different numbers are different keys.
#[inline(always)]
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A key of fixed width, whose bytes lie one after the other in a slice of keys.
pub trait Key: Copy + Send + Sync + Hash + 'static {
    /// Its name in tables.
    const NAME: &'static str;

    /// A key for each number.
    fn new(number: u64) -> Self;

    /// Does something with the key's bytes.
    fn bytes<R>(&self, then: impl FnOnce(&[u8]) -> R) -> R;
}

impl Key for u64 {
    const NAME: &'static str = "u64";

    #[inline(always)]
    fn new(number: u64) -> u64 {
        mix(number)
    }

    #[inline(always)]
    fn bytes<R>(&self, then: impl FnOnce(&[u8]) -> R) -> R {
        then(&self.to_le_bytes())
    }
}

impl<const N: usize> Key for [u8; N] {
    const NAME: &'static str = match N {
        8 => "u64",
        16 => "16B",
        32 => "32B",
        _ => panic!("8, 16 or 32 bytes"),
    };

    #[inline(always)]
    fn new(number: u64) -> Self {
        let mut key = [0; N];
        for (i, word) in key.as_chunks_mut().0.iter_mut().enumerate() {
            *word = mix(number ^ (i as u64) << 56).to_le_bytes();
        }
        key
    }

    #[inline(always)]
    fn bytes<R>(&self, then: impl FnOnce(&[u8]) -> R) -> R {
        then(self)
    }
}

/// Member number `i`, below 2^56.
#[inline(always)]
pub fn member<K: Key>(i: u64) -> K {
    K::new(i)
}

/// A key that is never a member, for each number.
#[inline(always)]
pub fn stranger<K: Key>(i: u64) -> K {
    K::new(i | 1 << 63)
}

/// What is asked: half of the keys are members, in no order, or none is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    Half,
    Absent,
    Present,
}

/// Questions. They come in windows; a contestant takes the next one each time, so that it does not find the
/// blocks that the one before has brought into the cache.
pub struct Questions<K> {
    pub keys: Vec<K>,
    window: usize,
}

impl<K: Key> Questions<K> {
    /// For a filter of this size and number of members. A filter that fits the second-level cache gets one
    /// window of 2^15 keys, so few that it stays there; a larger one enough keys to reach all of it; one
    /// beyond the caches 16 windows of 2^20, whose blocks together are a gibibyte.
    pub fn new(bytes: u64, members: u64, mixed: Mix) -> Questions<K> {
        let (window, windows) = match bytes {
            0..=0x10_0000 => (1 << 15, 1),
            0x10_0001..=0x100_0000 => (1 << 18, 1),
            _ => (1 << 20, 16),
        };
        let question = |i: u64| {
            let random = mix(i ^ 0x5eed_0000_0000);
            let of_member = match mixed {
                Mix::Half => random & 1 == 0,
                Mix::Absent => false,
                Mix::Present => true,
            };
            if of_member { member(mix(random) % members) } else { stranger(mix(random)) }
        };
        Questions { keys: (0..(window * windows) as u64).map(question).collect(), window }
    }

    /// Keys in a window.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Where the window of this turn is.
    pub fn at(&self, turn: usize) -> std::ops::Range<usize> {
        let start = turn * self.window % self.keys.len();
        start..start + self.window
    }
}
