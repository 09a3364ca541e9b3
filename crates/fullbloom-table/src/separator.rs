//! Short keys for the index: between the last key of a block and the first of the next.
//!
//! Both engines do it, by rules that differ in details, which affect the bytes of the index.

use crate::internal_key::{FOOTER_LEN, MAX_SEQUENCE};
use std::cmp::Ordering;

/// The rule for shortening keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortening {
    /// `seek_kind` follows a shortened key: the greatest type of entry the release knows.
    RocksDb {
        seek_kind: u8,
    },
    LevelDb,
    /// LevelDB's table builder used without a database: keys are shortened as they are.
    LevelDbPlain,
}

impl Shortening {
    /// Appended to a shortened user key: the greatest sequence number, so that it sorts before all versions
    /// of that key.
    fn footer(self) -> [u8; FOOTER_LEN] {
        let kind = match self {
            Shortening::RocksDb { seek_kind } => seek_kind,
            Shortening::LevelDb | Shortening::LevelDbPlain => 0x01,
        };
        (MAX_SEQUENCE << 8 | u64::from(kind)).to_le_bytes()
    }

    /// An internal key not less than `last` and less than `next`, as short as the rule makes it.
    pub(crate) fn between(self, last: &[u8], next: &[u8]) -> Vec<u8> {
        let (user_last, user_next) = (user_key(last), user_key(next));
        let short = match self {
            Shortening::RocksDb { .. } => rocksdb_separator(user_last, user_next),
            Shortening::LevelDb | Shortening::LevelDbPlain => leveldb_separator(user_last, user_next),
        };
        self.internal(short, last)
    }

    /// The index key of the last block: RocksDB keeps the key itself, LevelDB takes a short one above it.
    pub(crate) fn after(self, last: &[u8]) -> Vec<u8> {
        match self {
            Shortening::RocksDb { .. } => last.to_vec(),
            Shortening::LevelDb | Shortening::LevelDbPlain => {
                self.internal(leveldb_successor(user_key(last)), last)
            }
        }
    }

    /// The shortened user key becomes an internal one if it has become greater and, by the rule, shorter.
    fn internal(self, short: Option<Vec<u8>>, last: &[u8]) -> Vec<u8> {
        let user_last = user_key(last);
        let fits = |short: &Vec<u8>| {
            let shorter = match self {
                Shortening::RocksDb { .. } => short.len() <= user_last.len(),
                Shortening::LevelDb => short.len() < user_last.len(),
                Shortening::LevelDbPlain => true,
            };
            shorter && user_last.cmp(short) == Ordering::Less
        };
        match short.filter(fits) {
            Some(mut short) => {
                short.extend_from_slice(&self.footer());
                short
            }
            None => last.to_vec(),
        }
    }
}

fn user_key(internal: &[u8]) -> &[u8] {
    &internal[..internal.len().saturating_sub(FOOTER_LEN)]
}

fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The key truncated after byte `at`, which is incremented.
fn stepped(key: &[u8], at: usize) -> Vec<u8> {
    let mut short = key[..=at].to_vec();
    short[at] += 1;
    short
}

fn rocksdb_separator(last: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let at = common_len(last, next);
    let (&a, &b) = (last.get(at)?, next.get(at)?); // a key that is a prefix of the other stays as it is
    if a >= b {
        return None;
    }
    if at < next.len() - 1 || a + 1 < b {
        return Some(stepped(last, at));
    }
    // Incrementing this byte would give the next key itself, so a later byte is incremented.
    let later = last[at + 1..].iter().position(|&byte| byte < 0xff)?;
    Some(stepped(last, at + 1 + later))
}

fn leveldb_separator(last: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let at = common_len(last, next);
    let (&a, &b) = (last.get(at)?, next.get(at)?);
    (a < 0xff && a + 1 < b).then(|| stepped(last, at))
}

fn leveldb_successor(last: &[u8]) -> Option<Vec<u8>> {
    let at = last.iter().position(|&byte| byte < 0xff)?;
    Some(stepped(last, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internal_key::{InternalKey, KeyOrder, ValueType};

    const ROCKS: Shortening = Shortening::RocksDb { seek_kind: 0x18 };

    fn internal(user_key: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        InternalKey { user_key, sequence: 5, value_type: ValueType::PUT }.encode(&mut bytes);
        bytes
    }

    fn short(rule: Shortening, last: &[u8], next: &[u8]) -> Vec<u8> {
        let separator = rule.between(&internal(last), &internal(next));
        separator[..separator.len() - 8].to_vec()
    }

    #[test]
    fn the_engines_differ_where_the_first_different_byte_is_one_apart() {
        let (rocks, level) = (ROCKS, Shortening::LevelDb);
        assert_eq!(short(rocks, b"abcdef", b"abzzz"), b"abd");
        assert_eq!(short(level, b"abcdef", b"abzzz"), b"abd");
        assert_eq!(short(rocks, b"abcdef", b"abdz"), b"abd");
        assert_eq!(short(level, b"abcdef", b"abdz"), b"abcdef");
        assert_eq!(short(rocks, b"abcdef", b"abd"), b"abce");
        assert_eq!(short(rocks, b"abc\xff\xffz", b"abd"), b"abc\xff\xff{");
        assert_eq!(short(rocks, b"abc\xff\xff", b"abd"), b"abc\xff\xff");
        assert_eq!(short(rocks, b"ab", b"abc"), b"ab");
    }

    #[test]
    fn the_last_key_is_kept_by_rocksdb_and_shortened_by_leveldb() {
        let last = internal(b"\xffabc");
        assert_eq!(ROCKS.after(&last), last);
        assert_eq!(Shortening::LevelDb.after(&last)[..2], *b"\xffb");
        assert_eq!(Shortening::LevelDb.after(&internal(b"\xff\xff")), internal(b"\xff\xff"));
    }

    #[test]
    fn a_separator_is_never_below_the_last_key_nor_at_the_next() {
        let mut state = 7u64;
        let mut key = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let len = (state >> 60) % 5;
            (0..len).map(|i| [0, 1, 2, 0xfe, 0xff][(state >> (20 + 5 * i)) as usize % 5]).collect::<Vec<u8>>()
        };
        for _ in 0..100_000 {
            let (a, b) = (key(), key());
            if a >= b {
                continue;
            }
            let (last, next) = (internal(&a), internal(&b));
            for rule in [ROCKS, Shortening::LevelDb, Shortening::LevelDbPlain] {
                let separator = rule.between(&last, &next);
                assert_ne!(KeyOrder::BYTEWISE.internal(&separator, &last), Ordering::Less, "{a:?} {b:?}");
                assert_eq!(KeyOrder::BYTEWISE.internal(&separator, &next), Ordering::Less, "{a:?} {b:?}");
                assert_ne!(KeyOrder::BYTEWISE.internal(&rule.after(&last), &last), Ordering::Less);
            }
        }
    }
}
