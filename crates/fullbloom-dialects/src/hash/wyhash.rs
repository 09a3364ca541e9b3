//! The early wyhash of six constants (crate wyhash 0.5), as poppy uses it.

const P0: u64 = 0xa076_1d64_78bd_642f;
const P1: u64 = 0xe703_7ed1_a0b4_28db;
const P2: u64 = 0x8ebc_6af0_9c88_c6e3;
const P3: u64 = 0x5899_65cc_7537_4cc3;
const P4: u64 = 0x1d8e_4e27_c47d_124f;
const P5: u64 = 0xeb44_acca_b455_d165;

/// wyhash of a key with this seed.
///
/// ```
/// use fullbloom_dialects::hash::wyhash_poppy;
/// assert_eq!(wyhash_poppy(b"", 0x706f_7070_7953_3d42), 0x200e_4f26_9c3b_30d7);
/// assert_eq!(wyhash_poppy(b"123456789", 0x706f_7070_7953_3d42), 0xbc4a_7ce5_4f10_338a);
/// ```
#[inline]
pub fn wyhash_poppy(key: &[u8], seed: u64) -> u64 {
    let (blocks, tail) = key.as_chunks::<32>();
    let mut s = seed;
    for block in blocks {
        let words = block.as_chunks::<8>().0;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i]));
        s = mum(s ^ P0, mum(a ^ P1, b ^ P2) ^ mum(c ^ P3, d ^ P4));
    }
    s ^= P0;
    s = match tail.len() {
        0 => s,
        1..=8 => mum(s, last(tail) ^ P1),
        9..=16 => mum(swapped(tail, 0) ^ s, last(&tail[8..]) ^ P2),
        17..=24 => mum(swapped(tail, 0) ^ s, swapped(tail, 8) ^ P2) ^ mum(s, last(&tail[16..]) ^ P3),
        _ => {
            mum(swapped(tail, 0) ^ s, swapped(tail, 8) ^ P2)
                ^ mum(swapped(tail, 16) ^ s, last(&tail[24..]) ^ P4)
        }
    };
    mum(s, key.len() as u64 ^ P5)
}

/// Low half xor high half of the product.
#[inline(always)]
fn mum(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Little-endian bytes as a number.
#[inline(always)]
fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Eight bytes at `at`: two little-endian halves, the first one more significant.
#[inline(always)]
fn swapped(bytes: &[u8], at: usize) -> u64 {
    little(&bytes[at..at + 4]) << 32 | little(&bytes[at + 4..at + 8])
}

/// One to eight bytes: groups of four, two and one, depending on the length, each little-endian; earlier
/// groups are more significant.
#[inline(always)]
fn last(mut bytes: &[u8]) -> u64 {
    let mut number = 0;
    for group in [4, 4, 2, 1] {
        if bytes.len() >= group {
            let (first, rest) = bytes.split_at(group);
            number = number << (8 * group) | little(first);
            bytes = rest;
        }
    }
    number
}
