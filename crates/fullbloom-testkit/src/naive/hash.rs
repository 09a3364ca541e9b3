//! The key hashes again, byte by byte and in wide integers, directly from their definitions.

const M32: u128 = 1 << 32;
const M64: u128 = 1 << 64;

/// A signed byte, as in C or Java, shifted to its place, modulo 2^64.
fn signed_at(byte: u8, place: usize) -> u64 {
    (i128::from(byte as i8) << (8 * place)).rem_euclid(M64 as i128) as u64
}

fn mul64(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % M64) as u64
}

fn add64(a: u64, b: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % M64) as u64
}

fn mul32(a: u32, b: u32) -> u32 {
    (u128::from(a) * u128::from(b) % M32) as u32
}

fn add32(a: u32, b: u32) -> u32 {
    ((u128::from(a) + u128::from(b)) % M32) as u32
}

/// Bytes as one number, least significant first.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &byte| n * 256 + u64::from(byte))
}

/// Cassandra's Murmur3 x64 128 with seed 0: `(h1, h2)`.
pub fn murmur3_cassandra(key: &[u8]) -> (u64, u64) {
    murmur3(key, signed_at)
}

/// The public Murmur3 x64 128 with seed 0: `(h1, h2)`.
pub fn murmur3_128(key: &[u8]) -> (u64, u64) {
    murmur3(key, |byte, place| u64::from(byte) << (8 * place))
}

fn murmur3(key: &[u8], at_place: fn(u8, usize) -> u64) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k| mul64(mul64(k, C1).rotate_left(31), C2);
    let mix2 = |k| mul64(mul64(k, C2).rotate_left(33), C1);
    let (mut h1, mut h2) = (0u64, 0u64);
    let whole = key.len() / 16 * 16;
    for at in (0..whole).step_by(16) {
        h1 ^= mix1(little_endian(&key[at..at + 8]));
        h1 = add64(mul64(add64(h1.rotate_left(27), h2), 5), 0x52dc_e729);
        h2 ^= mix2(little_endian(&key[at + 8..at + 16]));
        h2 = add64(mul64(add64(h2.rotate_left(31), h1), 5), 0x3849_5ab5);
    }
    let tail = &key[whole..];
    let (mut a, mut b) = (0u64, 0u64);
    for (i, &byte) in tail.iter().enumerate() {
        if i < 8 {
            a ^= at_place(byte, i);
        } else {
            b ^= at_place(byte, i - 8);
        }
    }
    if tail.len() > 8 {
        h2 ^= mix2(b);
    }
    if !tail.is_empty() {
        h1 ^= mix1(a);
    }
    h1 ^= key.len() as u64;
    h2 ^= key.len() as u64;
    h1 = add64(h1, h2);
    h2 = add64(h2, h1);
    let finish = |mut k: u64| {
        k ^= k >> 33;
        k = mul64(k, 0xff51_afd7_ed55_8ccd);
        k ^= k >> 33;
        k = mul64(k, 0xc4ce_b9fe_1a85_ec53);
        k ^ k >> 33
    };
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = add64(h1, h2);
    (h1, add64(h2, h1))
}

/// Cassandra's Murmur2 64; it uses only the low 32 bits of the seed.
pub fn murmur2_64_cassandra(key: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut h = (seed % (1 << 32)) ^ mul64(M, key.len() as u64);
    let whole = key.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        let mut k = mul64(little_endian(&key[at..at + 8]), M);
        k ^= k >> 47;
        h ^= mul64(k, M);
        h = mul64(h, M);
    }
    for (i, &byte) in key[whole..].iter().enumerate() {
        h ^= signed_at(byte, i);
    }
    if whole < key.len() {
        h = mul64(h, M);
    }
    h ^= h >> 47;
    h = mul64(h, M);
    h ^ h >> 47
}

/// Murmur2 32: Cassandra 0.x's variant takes the tail from its end, as signed bytes.
fn murmur2_32(key: &[u8], seed: u32, cassandra: bool) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut h = seed ^ key.len() as u32;
    let whole = key.len() / 4 * 4;
    for at in (0..whole).step_by(4) {
        let mut k = mul32(little_endian(&key[at..at + 4]) as u32, M);
        k ^= k >> 24;
        h = mul32(h, M) ^ mul32(k, M);
    }
    let tail = &key[whole..];
    for (i, &byte) in tail.iter().enumerate() {
        if cassandra {
            h ^= (signed_at(byte, tail.len() - 1 - i) % (1 << 32)) as u32;
        } else {
            h ^= u32::from(byte) << (8 * i);
        }
    }
    if !tail.is_empty() {
        h = mul32(h, M);
    }
    h ^= h >> 13;
    h = mul32(h, M);
    h ^ h >> 15
}

/// Cassandra 0.x's Murmur2.
pub fn murmur2_32_cassandra(key: &[u8], seed: u32) -> u32 {
    murmur2_32(key, seed, true)
}

/// libbloom's Murmur2, the public algorithm.
pub fn murmur2_libbloom(key: &[u8], seed: u32) -> u32 {
    murmur2_32(key, seed, false)
}

/// The 32-bit Bloom hash; RocksDB's takes the tail as signed bytes.
pub fn bloom32(key: &[u8], signed_tail: bool) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = 0xbc9f_1d34 ^ mul32(key.len() as u32, M);
    let whole = key.len() / 4 * 4;
    for at in (0..whole).step_by(4) {
        h = mul32(add32(h, little_endian(&key[at..at + 4]) as u32), M);
        h ^= h >> 16;
    }
    let tail = &key[whole..];
    for (i, &byte) in tail.iter().enumerate() {
        let term = if signed_tail { signed_at(byte, i) } else { u64::from(byte) << (8 * i) };
        h = add32(h, (term % (1 << 32)) as u32);
    }
    if !tail.is_empty() {
        h = mul32(h, M);
        h ^= h >> 24;
    }
    h
}

/// Spark's 32-bit Murmur3.
pub fn murmur3_32_spark(key: &[u8], seed: u32) -> u32 {
    let whole = key.len() / 4 * 4;
    let words = (0..whole).step_by(4).map(|at| little_endian(&key[at..at + 4]) as u32);
    let bytes = key[whole..].iter().map(|&byte| (signed_at(byte, 0) % (1 << 32)) as u32);
    let mut h = seed;
    for word in words.chain(bytes) {
        h ^= mul32(mul32(word, 0xcc9e_2d51).rotate_left(15), 0x1b87_3593);
        h = add32(mul32(h.rotate_left(13), 5), 0xe654_6b64);
    }
    h ^= key.len() as u32;
    h = mul32(h ^ h >> 16, 0x85eb_ca6b);
    h = mul32(h ^ h >> 13, 0xc2b2_ae35);
    h ^ h >> 16
}

/// ORC's hash of bytes.
pub fn murmur3_64_orc(key: &[u8]) -> u64 {
    let mix = |k| mul64(mul64(k, 0x87c3_7b91_1142_53d5).rotate_left(31), 0x4cf5_ad43_2745_937f);
    let whole = key.len() / 8 * 8;
    let mut h = 104_729;
    for at in (0..whole).step_by(8) {
        h ^= mix(little_endian(&key[at..at + 8]));
        h = add64(mul64(h.rotate_left(27), 5), 0x52dc_e729);
    }
    if whole < key.len() {
        h ^= mix(little_endian(&key[whole..]));
    }
    h ^= key.len() as u64;
    h = mul64(h ^ h >> 33, 0xff51_afd7_ed55_8ccd);
    h = mul64(h ^ h >> 33, 0xc4ce_b9fe_1a85_ec53);
    h ^ h >> 33
}

/// ORC's hash of numbers, with arithmetic right shifts.
pub fn wang64_orc(number: i64) -> u64 {
    let wrap = |n: i128| n.rem_euclid(M64 as i128) as u64 as i64;
    let mut k = i128::from(number);
    let mut next = |f: fn(i128) -> i128| k = i128::from(wrap(f(k)));
    next(|k| (-k - 1) + k * (1 << 21));
    next(|k| k ^ k >> 24);
    next(|k| k + k * (1 << 3) + k * (1 << 8));
    next(|k| k ^ k >> 14);
    next(|k| k + k * (1 << 2) + k * (1 << 4));
    next(|k| k ^ k >> 28);
    next(|k| k + k * (1 << 31));
    wrap(k) as u64
}

/// FNV-1 of 64 bits.
pub fn fnv1_64(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |h, &byte| mul64(h, 0x100_0000_01b3) ^ u64::from(byte))
}

/// Java's `String.hashCode`.
pub fn java_string(units: &[u16]) -> i32 {
    units.iter().fold(0i128, |h, &unit| (h * 31 + i128::from(unit)) % M32 as i128) as u32 as i32
}
