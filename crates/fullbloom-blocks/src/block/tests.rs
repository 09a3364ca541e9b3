use super::*;
use crate::bytes::put_varint;

/// A block with a restart at every `interval`-th entry.
fn block_of(entries: &[(&[u8], &[u8])], interval: usize) -> Vec<u8> {
    let (mut bytes, mut restarts, mut before) = (Vec::new(), Vec::new(), &b""[..]);
    for (i, (key, value)) in entries.iter().enumerate() {
        let mut shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
        if i % interval == 0 {
            restarts.push(bytes.len() as u32);
            shared = 0;
        }
        for n in [shared, key.len() - shared, value.len()] {
            put_varint(&mut bytes, n as u64);
        }
        bytes.extend_from_slice(&key[shared..]);
        bytes.extend_from_slice(value);
        before = key;
    }
    for restart in &restarts {
        bytes.extend_from_slice(&restart.to_le_bytes());
    }
    bytes.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
    bytes
}

const ENTRIES: [(&[u8], &[u8]); 5] =
    [(b"apple", b"1"), (b"apricot", b"22"), (b"banana", b""), (b"band", b"4"), (b"cherry", b"55")];

#[test]
fn entries_come_back_and_every_target_is_found() {
    for interval in 1..6 {
        let bytes = block_of(&ENTRIES, interval);
        let block = Block::new(&bytes, 0).unwrap();
        let mut walk = block.entries();
        for (key, value) in ENTRIES {
            assert!(walk.advance().unwrap());
            assert_eq!((walk.key(), walk.value()), (key, value));
        }
        assert!(!walk.advance().unwrap());
        for target in [&b""[..], b"apple", b"apq", b"apricot", b"banana\0", b"cherry", b"d"] {
            let expected = ENTRIES.iter().find(|(key, _)| *key >= target);
            let found = block.seek(|key| key.cmp(target)).unwrap();
            assert_eq!(
                found.as_ref().map(Entries::key),
                expected.map(|(key, _)| *key),
                "{target:?} {interval}"
            );
        }
    }
}

#[test]
fn a_hash_index_is_passed_over() {
    let mut bytes = block_of(&ENTRIES, 2);
    let count = u32_at(&bytes, bytes.len() - 4);
    bytes.truncate(bytes.len() - 4);
    bytes.extend_from_slice(&[0, 1, 2, 255, 254]); // five buckets
    bytes.extend_from_slice(&5u16.to_le_bytes());
    bytes.extend_from_slice(&(count | HASH_INDEX).to_le_bytes());
    let block = Block::new(&bytes, 0).unwrap();
    assert_eq!(block.hash_buckets(), 5);
    let mut walk = block.entries();
    let mut n = 0;
    while walk.advance().unwrap() {
        n += 1;
    }
    assert_eq!(n, 5);
}

#[test]
fn damaged_lengths_are_errors_that_say_where() {
    let good = block_of(&ENTRIES, 2);
    for i in 0..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[i] = value;
            let Ok(block) = Block::new(&bytes, 0) else { continue };
            let mut walk = block.entries();
            while let Ok(true) = walk.advance() {}
            let _ = block.seek(|key| key.cmp(b"band"));
        }
    }
    let mut bytes = good.clone();
    bytes[0] = 9;
    let error = Block::new(&bytes, 4096).unwrap().entries().advance().unwrap_err().to_string();
    assert!(error.starts_with("shared key length at byte 0 of the block at byte 4096: 9"), "{error}");
    assert!(Block::new(&[0, 0, 0][..], 0).is_err());
    assert!(Block::new(&[1, 0, 0, 0][..], 0).is_err());
    assert!(Block::new(&[0, 0, 0, 0x40][..], 0).is_err());
}

#[test]
fn delta_coded_handles_follow_each_other() {
    // Two restarts of two entries: full handle, then the change of size.
    let mut bytes = Vec::new();
    let mut restarts = Vec::new();
    for (shared, suffix, numbers) in
        [(0, "aa", &[1000, 500][..]), (1, "b", &[3]), (0, "ba", &[2000, 10]), (1, "b", &[4])]
    {
        if shared == 0 {
            restarts.push(bytes.len() as u32);
        }
        put_varint(&mut bytes, shared);
        put_varint(&mut bytes, suffix.len() as u64);
        bytes.extend_from_slice(suffix.as_bytes());
        for &n in numbers {
            put_varint(&mut bytes, n);
        }
    }
    for restart in &restarts {
        bytes.extend_from_slice(&restart.to_le_bytes());
    }
    bytes.extend_from_slice(&2u32.to_le_bytes());
    let block = Block::new(&bytes, 0).unwrap();
    let format = IndexFormat { delta_values: true, first_keys: false };
    let expected = [("aa", 1000, 500), ("ab", 1505, 498), ("ba", 2000, 10), ("bb", 2015, 12)];
    let mut walk = block.index_entries(format);
    for (key, offset, size) in expected {
        assert!(walk.advance().unwrap());
        assert_eq!((walk.key(), walk.handle()), (key.as_bytes(), Handle { offset, size }));
    }
    assert!(!walk.advance().unwrap());
    for (target, offset) in [("", 1000), ("aab", 1505), ("ab", 1505), ("b", 2000), ("bb", 2015)] {
        let found = block.seek_index(format, |key| key.cmp(target.as_bytes())).unwrap();
        assert_eq!(found.unwrap().handle().offset, offset, "{target}");
    }
    assert!(block.seek_index(format, |key| key.cmp(b"c")).unwrap().is_none());
    assert_eq!(block.last_index_entry(format).unwrap(), Some(Handle { offset: 2015, size: 12 }));
}
