use super::*;
use crate::native::hashing::{Hasher, Hashing, Secret};

fn hashes<K: Keys<Hasher> + ?Sized>(keys: &K, hasher: &Hasher, start: usize) -> Vec<u64> {
    let mut out = vec![0; keys.count() - start];
    keys.hash_into(hasher, start, &mut out, false);
    out
}

/// Views of these keys: the long ones in two buffers.
fn views(keys: &[&[u8]], buffers: [&[u8]; 2]) -> Vec<[u8; 16]> {
    let view = |key: &&[u8]| {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
        if key.len() <= INLINE_LEN {
            view[4..4 + key.len()].copy_from_slice(key);
        } else {
            let find = |buffer: &[u8]| buffer.windows(key.len()).position(|part| part == *key);
            let (number, at) = match find(buffers[0]) {
                Some(at) => (0u32, at),
                None => (1, find(buffers[1]).unwrap()),
            };
            view[4..8].copy_from_slice(&key[..4]);
            view[8..12].copy_from_slice(&number.to_le_bytes());
            view[12..].copy_from_slice(&(at as u32).to_le_bytes());
        }
        view
    };
    keys.iter().map(view).collect()
}

const INLINE_LEN: usize = 12;

#[test]
fn all_forms_of_the_same_keys_give_the_same_hashes() {
    for hashing in [Hashing::Seed(5), Hashing::Secret(Secret::new([9; 16]))] {
        let hasher = Hasher::new(&hashing);
        let numbers: Vec<u64> = (0..40).map(|i| 0x0123_4567_89ab_cdef << i ^ i).collect();
        let bytes: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_le_bytes()).collect();
        let data = bytes.as_flattened();
        let expected: Vec<u64> = bytes.iter().map(|key| hasher.hash(key)).collect();
        let wide: Vec<i64> = (0..=40).map(|i| i * 8).collect();
        let narrow: Vec<i32> = wide.iter().map(|&offset| offset as i32).collect();
        let slices: Vec<&[u8]> = bytes.iter().map(|key| key.as_slice()).collect();
        let views = views(&slices, [&[], &[]]);
        for start in 0..=numbers.len() {
            let expected = &expected[start..];
            assert_eq!(hashes(bytes.as_slice(), &hasher, start), expected);
            assert_eq!(hashes(&Column(&numbers), &hasher, start), expected);
            assert_eq!(hashes(&Offsets::new(data, &narrow).unwrap(), &hasher, start), expected);
            assert_eq!(hashes(&Offsets::new(data, &wide).unwrap(), &hasher, start), expected);
            assert_eq!(hashes(&Views::new(&views, &[]).unwrap(), &hasher, start), expected);
            assert_eq!(hashes(&Hashes::new(&expected.repeat(2), &hasher), &hasher, expected.len()), expected);
            for len in 0..=expected.len() {
                let mut some = vec![0; len];
                Column(&numbers).hash_into(&hasher, start, &mut some, false);
                assert_eq!(some, expected[..len]);
            }
        }
    }
}

#[test]
fn views_of_short_and_long_keys_are_their_bytes() {
    let keys: Vec<Vec<u8>> =
        (0..40u8).map(|len| (0..len).map(|i| i ^ len.wrapping_mul(37)).collect()).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let (low, high) = slices.split_at(25);
    let (low, high) = (low.concat(), high.concat());
    let buffers = [low.as_slice(), high.as_slice()];
    let views = views(&slices, buffers);
    let read = Views::new(&views, &buffers).unwrap();
    assert!(slices.iter().enumerate().all(|(i, key)| read.get(i) == *key));
    let part = read.part(20..30);
    assert!(slices[20..30].iter().enumerate().all(|(i, key)| part.get(i) == *key));
}

#[test]
fn views_that_leave_their_buffer_are_refused() {
    let view = |len: u32, buffer: u32, offset: u32| {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&len.to_le_bytes());
        view[8..12].copy_from_slice(&buffer.to_le_bytes());
        view[12..].copy_from_slice(&offset.to_le_bytes());
        view
    };
    let buffer = [7u8; 20];
    for good in [view(0, 0, 0), view(12, 9, 9), view(13, 0, 7), view(20, 0, 0)] {
        assert!(Views::new(&[good], &[&buffer]).is_ok());
    }
    for bad in [view(13, 1, 0), view(13, 0, 8), view(21, 0, 0), view(u32::MAX, 0, 0), view(13, 0, u32::MAX)] {
        assert_eq!(Views::new(&[view(1, 0, 0), bad], &[&buffer]).unwrap_err(), ArrowError::View { at: 1 });
    }
}

#[test]
fn offsets_that_decrease_or_leave_the_data_are_refused() {
    let data = [0; 10];
    for (offsets, at) in
        [(&[0i32, 5, 4][..], 2), (&[-1, 5], 0), (&[0, 11], 1), (&[0, 10, i32::MAX], 2), (&[3, 2], 1)]
    {
        let got = offsets[at].into();
        assert_eq!(Offsets::new(&data, offsets).unwrap_err(), ArrowError::Offset { at, got }, "{offsets:?}");
    }
    let count = |keys: Offsets<'_, i64>| Keys::<Hasher>::count(&keys);
    assert_eq!(count(Offsets::new(&data, &[]).unwrap()), 0);
    assert_eq!(count(Offsets::new(&data, &[10i64]).unwrap()), 0);
    assert_eq!(count(Offsets::new(&data, &[0i64, 0, 10]).unwrap()), 2);
}

#[test]
fn a_part_of_offsets_has_the_keys_of_its_numbers() {
    let keys = Offsets::new(b"applepearplum", &[0i32, 5, 9, 13]).unwrap();
    let part = keys.part(1..3);
    assert_eq!((Keys::<Hasher>::count(&part), part.get(0), part.get(1)), (2, &b"pear"[..], &b"plum"[..]));
    assert_eq!(Keys::<Hasher>::count(&keys.part(3..3)), 0);
}
