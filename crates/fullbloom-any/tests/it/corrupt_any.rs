//! Arbitrary bytes decoded as every dialect, by name: an error or a filter that answers, within memory
//! proportional to the bytes.

use crate::common::{cases, options, seed_file};
use fullbloom_any::AnyFilter;
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::keys::SplitMix;
use std::sync::Arc;

const KEYS: [&[u8]; 5] = [b"", b"a", b"key-7", b"\xff\xfe\xfd", "grün 😀".as_bytes()];

/// One to four edits: a byte set to a random or extreme value, a piece removed, a piece duplicated, the end
/// removed.
fn damaged(file: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        // Half of the edits near the front, where headers are.
        let reach = if random.below(2) == 0 { bytes.len().min(80) } else { bytes.len() };
        let at = random.below(reach as u64) as usize;
        match random.below(5) {
            0 => bytes[at] = random.next_u64() as u8,
            1 => bytes[at] = [0x00, 0x7f, 0x80, 0xff][random.below(4) as usize],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + 8).min(reach))),
            _ => {
                let piece = bytes[at..(at + 8).min(reach)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn judge(name: Name, bytes: &[u8], geometry: Option<(u64, u32)>) -> bool {
    let (shared, options) = (Arc::<[u8]>::from(bytes), options(name, geometry));
    let (accepted, peak) = peak_of(|| match AnyFilter::over(shared, &options, Check::All) {
        Ok(filter) => {
            let mut answers = [false; KEYS.len()];
            filter.may_contain_batch_into(&KEYS, &mut answers).unwrap();
            for (key, answer) in KEYS.iter().zip(answers) {
                assert_eq!(filter.may_contain(key), answer, "{name}");
            }
            assert!((0.0..=1.0).contains(&filter.fill()), "{name}: fill {}", filter.fill());
            assert!((0.0..=1.0).contains(&filter.expected_fpr()), "{name}");
            assert!(filter.estimated_keys().is_none_or(|keys| keys >= 0.0), "{name}");
            let _ = filter.doubt();
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    });
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{name}: {peak} bytes for {}", bytes.len());
    accepted
}

#[test]
fn thousands_of_damaged_files_of_each_dialect_are_refused_or_answered() {
    for &name in Name::ALL {
        let (file, geometry) = seed_file(name, &KEYS);
        assert!(judge(name, &file, geometry), "{name}: the undamaged file is refused");
        let mut random = SplitMix::new(0xc0ffee);
        let mut accepted = 0;
        let files = cases(20_000, 4_000);
        for _ in 0..files {
            let bytes = damaged(&file, &mut random);
            accepted += u64::from(judge(name, &bytes, geometry));
            let bits = random.next_u64() >> random.below(64);
            judge(name, &bytes, Some((bits, random.below(40) as u32)));
        }
        assert!(accepted < files, "{name}: nothing was refused");
    }
}

#[test]
fn noise_of_every_short_length_is_refused_or_answered_by_every_dialect() {
    let mut random = SplitMix::new(7);
    for len in 0..600 {
        let bytes = random.bytes(len);
        for &name in Name::ALL {
            judge(name, &bytes, None);
            judge(name, &bytes, Some((len as u64 * 8, 6)));
        }
    }
}
