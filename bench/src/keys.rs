//! The keys that filters are built from and asked for.

/// The output step of splitmix64: a bijection, so that different numbers are different keys.
#[inline(always)]
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A key of eight bytes.
pub type Key = [u8; 8];

/// Member number `i`, below 2^63.
#[inline(always)]
pub fn member(i: u64) -> Key {
    mix(i).to_le_bytes()
}

/// Key number `i` of those that are never members.
#[inline(always)]
pub fn stranger(i: u64) -> Key {
    mix(i | 1 << 63).to_le_bytes()
}

/// Questions: half of them about members, in no order. They come in windows; a contestant takes the next one
/// each time, so that it does not find the blocks that the one before has brought into the cache.
pub struct Questions {
    pub keys: Vec<Key>,
    window: usize,
}

impl Questions {
    /// For a filter of this size and number of members. A filter that fits the second-level cache gets one window
    /// of 2^15 keys, so few that it stays there; a larger one enough keys to reach all of it; one beyond the caches
    /// 16 windows of 2^20, whose blocks together are a gibibyte.
    pub fn new(bytes: u64, members: u64) -> Questions {
        let (window, windows) = match bytes {
            0..=0x10_0000 => (1 << 15, 1),
            0x10_0001..=0x100_0000 => (1 << 18, 1),
            _ => (1 << 20, 16),
        };
        let question = |i: u64| {
            let random = mix(i ^ 0x5eed_0000_0000);
            if random & 1 == 0 { member(mix(random) % members) } else { stranger(mix(random)) }
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
