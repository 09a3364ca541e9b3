//! Keys from fixed seeds, so that every run of a test uses the same keys.

use crate::vectors::{Record, Value};

/// The output step of splitmix64: a bijection that scatters neighbouring numbers.
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A stream of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        let out = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        out
    }

    /// The next number below `bound`, which must not be zero. Slightly uneven; good enough to choose test
    /// cases.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let words = (0..len.div_ceil(8)).flat_map(|_| self.next_u64().to_le_bytes());
        words.take(len).collect()
    }
}

/// Typical forms of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// 16 random bytes, like a UUID.
    Random,
    /// Eight bytes, a big-endian counter, like the row ids of many tables.
    Sequential,
    /// A long text that all keys share, then a decimal counter, like the paths of a web site.
    CommonPrefix,
}

impl Shape {
    /// All shapes, in the order of tables.
    pub const ALL: [Shape; 3] = [Shape::Random, Shape::Sequential, Shape::CommonPrefix];

    /// Key number `i`; different numbers give different keys.
    pub fn key(self, i: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.key_into(i, &mut key);
        key
    }

    /// As [`key`](Shape::key), into an existing buffer.
    pub fn key_into(self, i: u64, key: &mut Vec<u8>) {
        use std::io::Write;
        key.clear();
        match self {
            // `mix` is a bijection: the first half alone makes keys distinct.
            Shape::Random => {
                key.extend_from_slice(&mix(i ^ 0x5eed).to_le_bytes());
                key.extend_from_slice(&mix(!i).to_le_bytes());
            }
            Shape::Sequential => key.extend_from_slice(&i.to_be_bytes()),
            Shape::CommonPrefix => write!(key, "https://www.example.com/catalogue/item-{i}").expect("memory"),
        }
    }
}

/// The keys of a rule of the RocksDB and LevelDB vectors.
///
/// `dec` is a prefix and a number in decimal, zero-padded to `width`; `be64` eight big-endian bytes; `sm`
/// pseudo-random lengths and bytes. Numbers are `start + j * step` for `j` below `n`.
///
/// # Panics
/// If the rule is unknown.
pub fn of_rule(rule: &Value) -> Vec<Vec<u8>> {
    let or = |name: &str, default: u64| rule.get(name).map_or(default, |_| rule.count(name));
    let (start, step) = (or("start", 0), or("step", 1));
    let numbers = (0..rule.count("n")).map(|j| start.wrapping_add(j.wrapping_mul(step)));
    match rule.text("type") {
        "dec" => {
            let (prefix, width) = (rule.text("prefix"), or("width", 0) as usize);
            numbers.map(|i| format!("{prefix}{i:0width$}").into_bytes()).collect()
        }
        "be64" => numbers.map(|i| i.to_be_bytes().to_vec()).collect(),
        "sm" => {
            let (seed, min, max) = (rule.count("seed"), rule.count("min"), rule.count("max"));
            numbers.map(|i| scattered(seed, i, min, max)).collect()
        }
        other => panic!("there is no key rule {other:?}"),
    }
}

fn scattered(seed: u64, i: u64, min: u64, max: u64) -> Vec<u8> {
    let first = mix(seed.wrapping_add(i.wrapping_mul(0x100_0003)));
    let len = min + first % (max - min + 1);
    let words = (1..).flat_map(|j| mix(first.wrapping_add(j)).to_le_bytes());
    words.take(len as usize).collect()
}

/// SHA-256 over keys in order, each as a little-endian 32-bit length and its bytes, as documented with the
/// vectors.
pub fn sha256_of(keys: &[Vec<u8>]) -> String {
    let mut all = Vec::new();
    for key in keys {
        all.extend_from_slice(&(key.len() as u32).to_le_bytes());
        all.extend_from_slice(key);
    }
    crate::sha256_hex(&all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn splitmix_gives_the_published_first_numbers() {
        let mut stream = SplitMix::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert!((0..3).map(|_| stream.next_u64()).eq(expected));
    }

    #[test]
    fn no_shape_repeats_a_key() {
        for shape in Shape::ALL {
            let keys: HashSet<_> = (0..10_000).map(|i| shape.key(i)).collect();
            assert_eq!(keys.len(), 10_000, "{shape:?}");
        }
    }

    #[test]
    fn rules_make_the_keys_they_describe() {
        let rule = |text: &str| of_rule(&serde_json::from_str(text).unwrap());
        assert_eq!(
            rule(r#"{"type":"dec","prefix":"key","width":4,"start":8,"step":3,"n":2}"#),
            [b"key0008", b"key0011"]
        );
        assert_eq!(rule(r#"{"type":"be64","n":2}"#), [[0; 8], [0, 0, 0, 0, 0, 0, 0, 1]]);
        let scattered = rule(r#"{"type":"sm","seed":7,"min":3,"max":20,"n":500}"#);
        assert!(scattered.iter().all(|key| (3..=20).contains(&key.len())));
        assert!((3..=20).all(|len| scattered.iter().any(|key| key.len() == len)));
    }
}
