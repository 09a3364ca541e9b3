//! A filter of each classic family, written to be obvious: one `bool` per bit, positions in 128-bit
//! arithmetic, bytes assembled bit by bit. The oracle of the property tests.

pub mod formats;
pub mod hash;

/// The classic families: one bit array, positions from two hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Versions `na` and later: Murmur3, base h2; bytes in order.
    Cassandra,
    /// `ma` to `me`: the same positions; big-endian words.
    Cassandra3,
    /// `ia` to `lb`: base h1; big-endian words.
    Cassandra2,
    /// `f` to `hf`: Murmur2 64 twice; big-endian words.
    Cassandra1,
    /// `c` to `e`: Murmur2 32 over the key; Java object stream.
    Cassandra07,
    /// `a` and `b`: the same over FE FF and the key's UTF-16.
    Cassandra0,
    /// libbloom 2.0: positions do not wrap at 2^32.
    Libbloom,
    /// libbloom 1.6: positions wrap at 2^32.
    Libbloom1,
    /// LevelDB's policy filter.
    LevelDb,
    /// RocksDB's per-block filter.
    RocksDbBlock,
    /// The filter of java-lsm-tree.
    JavaLsm,
}

impl Family {
    /// All families, for tests that walk over them.
    pub const ALL: [Family; 11] = [
        Family::Cassandra,
        Family::Cassandra3,
        Family::Cassandra2,
        Family::Cassandra1,
        Family::Cassandra07,
        Family::Cassandra0,
        Family::Libbloom,
        Family::Libbloom1,
        Family::LevelDb,
        Family::RocksDbBlock,
        Family::JavaLsm,
    ];

    /// Whether keys are text, so that bytes that are not UTF-8 have no meaning.
    pub fn text_keys(self) -> bool {
        matches!(self, Family::Cassandra0 | Family::JavaLsm)
    }

    /// Whether the file holds 64-bit words most significant byte first.
    fn big_endian_words(self) -> bool {
        use Family::{Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07};
        matches!(self, Cassandra3 | Cassandra2 | Cassandra1 | Cassandra07 | Cassandra0)
    }
}

/// A filter that is slow and obvious, for tests to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naive {
    family: Family,
    probes: u32,
    bits: Vec<bool>,
}

impl Naive {
    /// An empty filter of this shape.
    pub fn new(family: Family, bit_len: usize, probes: u32) -> Naive {
        Naive { family, probes, bits: vec![false; bit_len] }
    }

    /// The filter with this array, in the form of the family's file; missing bytes at the end are zero.
    pub fn from_array(family: Family, bit_len: usize, probes: u32, array: &[u8]) -> Naive {
        let mut filter = Naive::new(family, bit_len, probes);
        for (i, bit) in filter.bits.iter_mut().enumerate() {
            let byte = if family.big_endian_words() { i / 64 * 8 + 7 - i % 64 / 8 } else { i / 8 };
            *bit = array.get(byte).is_some_and(|byte| byte >> (i % 8) & 1 == 1);
        }
        filter
    }

    /// The positions of the key's probes, in order.
    ///
    /// # Panics
    /// If the key is not UTF-8 where the family's keys are text.
    pub fn positions(&self, key: &[u8]) -> Vec<usize> {
        let at = walk(self.family, key);
        let bit_len = self.bits.len() as i128;
        // The remainder keeps the sign of the dividend, and the absolute value is taken after it.
        (0..i128::from(self.probes)).map(|i| (at(i) % bit_len).unsigned_abs() as usize).collect()
    }

    /// Sets the key's bits. Returns true if at least one was clear.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        let mut changed = false;
        for position in self.positions(key) {
            changed |= !self.bits[position];
            self.bits[position] = true;
        }
        changed
    }

    /// Whether all of the key's bits are set.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.positions(key).into_iter().all(|position| self.bits[position])
    }

    /// Number of set bits.
    pub fn set_bits(&self) -> usize {
        self.bits.iter().filter(|&&bit| bit).count()
    }

    /// Sets every bit that the other has set.
    pub fn merge(&mut self, other: &Naive) {
        for (ours, theirs) in self.bits.iter_mut().zip(&other.bits) {
            *ours |= *theirs;
        }
    }

    /// The bit array as the family's file holds it.
    pub fn array(&self) -> Vec<u8> {
        let mut bytes = vec![0u8; self.bits.len().div_ceil(8)];
        for (i, _) in self.bits.iter().enumerate().filter(|(_, bit)| **bit) {
            bytes[i / 8] += 1 << (i % 8);
        }
        if self.family.big_endian_words() {
            for word in bytes.chunks_mut(8) {
                word.reverse();
            }
        }
        bytes
    }

    /// The whole file. libbloom's header holds more than a geometry, so for libbloom it is the array alone.
    pub fn encode(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let words = (self.bits.len() / 64) as u32;
        match self.family {
            Family::Cassandra | Family::Cassandra3 | Family::Cassandra2 | Family::Cassandra1 => {
                file.extend_from_slice(&self.probes.to_be_bytes());
                file.extend_from_slice(&words.to_be_bytes());
                file.extend_from_slice(&self.array());
            }
            Family::Cassandra07 | Family::Cassandra0 => {
                file.extend_from_slice(&self.probes.to_be_bytes());
                file.extend_from_slice(b"\xac\xed\x00\x05\x73\x72\x00\x10java.util.BitSet");
                file.extend_from_slice(b"\x6e\xfd\x88\x7e\x39\x34\xab\x21\x03\x00\x01\x5b\x00\x04bits");
                file.extend_from_slice(b"\x74\x00\x02[J\x78\x70\x75\x72\x00\x02[J");
                file.extend_from_slice(b"\x78\x20\x04\xb5\x12\xb1\x75\x93\x02\x00\x00\x78\x70");
                file.extend_from_slice(&words.to_be_bytes());
                file.extend_from_slice(&self.array());
                file.push(0x78);
            }
            Family::Libbloom | Family::Libbloom1 => file = self.array(),
            Family::LevelDb | Family::RocksDbBlock => {
                file = self.array();
                file.push(self.probes as u8);
            }
            Family::JavaLsm => {
                file = self.array();
                while file.last() == Some(&0) {
                    file.pop();
                }
            }
        }
        file
    }
}

/// From a probe number to the number that is then reduced modulo the length.
fn walk(family: Family, key: &[u8]) -> impl Fn(i128) -> i128 {
    let units = || -> Vec<u16> { std::str::from_utf8(key).expect("a text key").encode_utf16().collect() };
    let (base, step) = match family {
        Family::Cassandra | Family::Cassandra3 => {
            let (h1, h2) = hash::murmur3_cassandra(key);
            (i128::from(h2), i128::from(h1))
        }
        Family::Cassandra2 => {
            let (h1, h2) = hash::murmur3_cassandra(key);
            (i128::from(h1), i128::from(h2))
        }
        Family::Cassandra1 => {
            let first = hash::murmur2_64_cassandra(key, 0);
            (i128::from(first), i128::from(hash::murmur2_64_cassandra(key, first)))
        }
        Family::Cassandra07 => twice(key, 0, hash::murmur2_32_cassandra),
        Family::Cassandra0 => {
            let mut bytes = Vec::new();
            for unit in units() {
                bytes.extend_from_slice(&unit.to_be_bytes());
            }
            if !bytes.is_empty() {
                bytes.splice(0..0, [0xfe, 0xff]);
            }
            twice(&bytes, 0, hash::murmur2_32_cassandra)
        }
        Family::Libbloom | Family::Libbloom1 => twice(key, 0x9747_b28c, hash::murmur2_libbloom),
        Family::LevelDb | Family::RocksDbBlock => {
            let h = hash::bloom32(key, family == Family::RocksDbBlock);
            (i128::from(h), i128::from(h.rotate_right(17)))
        }
        Family::JavaLsm => {
            let h = hash::java_string(&units()) as u32;
            (i128::from(h), i128::from(h >> 16))
        }
    };
    move |i| {
        let sum = base + i * step;
        match family {
            Family::Cassandra | Family::Cassandra3 | Family::Cassandra2 | Family::Cassandra1 => {
                signed(sum, 64)
            }
            Family::Cassandra07 | Family::Cassandra0 | Family::JavaLsm => signed(sum, 32),
            Family::Libbloom => sum,
            Family::Libbloom1 | Family::LevelDb | Family::RocksDbBlock => sum % (1 << 32),
        }
    }
}

/// Hashes with this seed, then with the first result as seed.
fn twice(key: &[u8], seed: u32, hash: fn(&[u8], u32) -> u32) -> (i128, i128) {
    let first = hash(key, seed);
    (i128::from(first), i128::from(hash(key, first)))
}

/// The value of a sum in a signed integer of this many bits.
fn signed(sum: i128, bits: u32) -> i128 {
    let low = sum.rem_euclid(1 << bits);
    if low < 1 << (bits - 1) { low } else { low - (1 << bits) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_hex;

    /// The worked example of the format: "a", "b", "c" at 5 probes in 64 bits.
    #[test]
    fn the_four_layouts_of_one_small_cassandra_filter() {
        for (family, file) in [
            (Family::Cassandra, "0000000500000001840091804c003808"),
            (Family::Cassandra3, "00000005000000010838004c80910084"),
            (Family::Cassandra2, "000000050000000120a2428800842003"),
            (Family::Cassandra1, "00000005000000018880920080226a20"),
        ] {
            let mut naive = Naive::new(family, 64, 5);
            for key in [b"a", b"b", b"c"] {
                assert!(naive.insert(key));
                assert!(!naive.insert(key));
                assert!(naive.may_contain(key));
            }
            assert_eq!(naive.encode(), from_hex(file), "{family:?}");
        }
    }

    #[test]
    fn an_array_read_back_is_the_same_filter() {
        for family in Family::ALL {
            let mut naive = Naive::new(family, 192, 4);
            for key in ["", "a", "bc", "long enough for every hash"] {
                naive.insert(key.as_bytes());
            }
            assert_eq!(Naive::from_array(family, 192, 4, &naive.array()), naive, "{family:?}");
        }
    }

    #[test]
    fn a_sum_wraps_into_the_signed_range() {
        assert_eq!(signed(1 << 31, 32), -(1 << 31));
        assert_eq!(signed((1 << 32) + 5, 32), 5);
        assert_eq!(signed((1 << 64) - 1, 64), -1);
    }
}
