//! Damaged and hostile `.bloom` files: every flipped bit is detected, nothing panics, and no memory is
//! allocated that the bytes do not justify.

use fullbloom::DecodeError;

use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_any::{AnyFilter, ReadOptions};
use fullbloom_any::{StoredFilter, verify};
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use fullbloom_dynamic::Mode;
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{byte_changes, patched, prefixes};
use fullbloom_testkit::keys::SplitMix;
use fullbloom_testkit::steps::Steps;
use fullbloom_testkit::vectors;

const GOLDEN: [&str; 19] = [
    "native/field-keys.bloom",
    "native/one-line.bloom",
    "native/two-lines.bloom",
    "native/four-lines.bloom",
    "native/keyed.bloom",
    "native/long-keys.bloom",
    "native/keyed-with-secret.bloom",
    "native/exceptions-list.bloom",
    "native/exceptions-chain.bloom",
    "native/dynamic-set.bloom",
    "native/dynamic-promised.bloom",
    "native/dynamic-counting.bloom",
    "native/dynamic-expiring.bloom",
    "native/dynamic-keyed.bloom",
    "native/dynamic-renewed.bloom",
    "native/compact-keyed.bloom",
    "native/compact-third.bloom",
    "native/compact-list.bloom",
    "native/compact-empty.bloom",
];

/// Reads the bytes in every way. Returns the strict verdict.
fn read(bytes: &[u8]) -> Result<(), DecodeError> {
    let (decoded, peak) = peak_of(|| StoredFilter::decode(bytes));
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{peak} bytes for {}", bytes.len());
    let options = ReadOptions::from(Name::Native).key_form_applied();
    if let Ok(view) = AnyFilter::over(bytes.to_vec(), &options, Check::Header) {
        let mut again = Vec::new();
        view.write_to(&mut again).unwrap();
        assert!(again.len() <= 2 * bytes.len() + 4096);
        if let Some(StoredFilter::FixedFast(fast)) = view.as_native() {
            let _ = fast.without_exceptions().planned_fpr();
        }
        assert_eq!(view.encoded_len(), again.len() as u64);
        // Unchecked bits give arbitrary answers; the point is that they give one.
        for key in [&b""[..], b"key-1", b"good-1", &[0xff; 100]] {
            let one = view.may_contain(key);
            let mut many = [!one];
            view.may_contain_batch_into(&[key], &mut many).unwrap();
            assert_eq!(many, [one]);
        }
        let _ = (view.expected_fpr(), view.estimated_keys(), view.geometry(), view.fill());
    }
    assert_eq!(verify(bytes).is_ok(), decoded.is_ok());
    takes_keys(decoded?);
    Ok(())
}

/// An accepted filter that supports insertion at any time accepts keys, and then contains them.
fn takes_keys(stored: StoredFilter) {
    let StoredFilter::Dynamic(mut filter) = stored else { return };
    if filter.is_locked() {
        return;
    }
    for now in [0, 1_000_000, u64::MAX / 2, u64::MAX] {
        filter.advance_millis(now).unwrap();
        let known = filter.may_contain(b"new");
        assert_eq!(filter.insert(b"new"), Ok(!known));
        assert!(filter.may_contain(b"new"));
        if filter.mode() == Mode::Counting {
            assert_eq!(filter.remove(b"new"), Ok(true));
            assert_eq!(filter.may_contain(b"new"), known);
        }
    }
}

/// Puts correct checksums on changed bytes: for the header, and for every chunk in the header's section table.
fn resealed(mut file: Vec<u8>) -> Vec<u8> {
    let word = |file: &[u8], at: usize| -> usize {
        file.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap()) as usize)
    };
    let header = file.get(16..20).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap()) as usize);
    if header < 64 || header > file.len() {
        return file;
    }
    for entry in (64..header.saturating_sub(31)).step_by(32).take(8) {
        let (kind, at, len) = (word(&file, entry) as u32, word(&file, entry + 8), word(&file, entry + 16));
        if kind == 4 && len == 4 && at.checked_add(4).is_some_and(|end| end <= header) {
            let sum = fullbloom_core::checksum::crc32c(&file[header..]);
            file[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
    let sum = fullbloom_core::checksum::crc32c(&file[12..header]);
    file[8..12].copy_from_slice(&sum.to_le_bytes());
    file
}

#[test]
fn golden_files_are_sound_and_resealing_changes_nothing() {
    for name in GOLDEN {
        let file = vectors::bytes(name);
        read(&file).unwrap();
        assert_eq!(resealed(file.clone()), file, "{name}");
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    let (steps, mut flips) = (Steps::every(5), 0);
    for name in GOLDEN {
        let file = vectors::bytes(name);
        for (at, changed) in byte_changes(&file, 0..0) {
            if steps.takes(flips) {
                assert!(read(&changed).is_err(), "{name}: byte {at}");
            }
            flips += 1;
        }
    }
    assert_eq!(flips, 8 * GOLDEN.iter().map(|name| vectors::bytes(name).len() as u64).sum::<u64>());
}

#[test]
fn every_flipped_bit_of_several_chunks_is_detected() {
    // A file of three chunks; bits near the chunk borders, and some others.
    let mut filter = fullbloom::Filter::with_bits_per_key(10_000, 120.0).unwrap();
    filter.insert_batch((0..1000).map(|i| format!("key-{i}")).collect::<Vec<_>>().as_slice()).unwrap();
    let mut file = filter.encode();
    assert!(file.len() > 2 * 65_536 + 1000);
    verify(&file).unwrap();
    let header = u32::from_le_bytes(file[16..20].try_into().unwrap()) as usize;
    let borders =
        [header, header + 65_535, header + 65_536, header + 131_071, header + 131_072, file.len() - 1];
    for at in borders.into_iter().chain((0..file.len()).step_by(997)) {
        for bit in 0..8 {
            file[at] ^= 1 << bit;
            assert!(verify(&file).is_err(), "byte {at}");
            file[at] ^= 1 << bit;
        }
    }
    verify(&file).unwrap();
}

#[test]
fn every_cut_is_refused() {
    for name in GOLDEN {
        let file = vectors::bytes(name);
        for prefix in prefixes(&file) {
            assert!(read(prefix).is_err(), "{name}: {} bytes", prefix.len());
        }
        for extra in [1, 64, 5000] {
            let mut longer = file.clone();
            longer.resize(file.len() + extra, 0);
            assert_eq!(
                read(&longer),
                Err(DecodeError::Trailing { at: file.len() as u64, extra: extra as u64 })
            );
        }
    }
}

#[test]
fn changed_fields_behind_right_checksums_never_panic() {
    for name in GOLDEN {
        let file = vectors::bytes(name);
        let header = u32::from_le_bytes(file[16..20].try_into().unwrap()) as usize;
        for at in 8..header {
            for byte in [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 255] {
                let _ = read(&resealed(patched(&file, at, &[byte])));
            }
        }
        let edges = [
            0,
            1,
            63,
            64,
            65,
            file.len() as u64,
            file.len() as u64 - 1,
            1 << 32,
            1 << 56,
            1 << 58,
            u64::MAX,
            u64::MAX - 63,
        ];
        for at in (16..header - 8).step_by(4) {
            for edge in edges {
                let _ = read(&resealed(patched(&file, at, &edge.to_le_bytes())));
            }
        }
    }
}

#[test]
fn noise_behind_a_right_magic_and_checksum_never_panics() {
    let mut random = SplitMix::new(9);
    for round in 0..30_000 {
        let file = vectors::bytes(GOLDEN[5 + round % 8]);
        let mut changed = file.clone();
        for _ in 0..1 + random.below(6) {
            let at = 12 + random.below(file.len() as u64 - 12) as usize;
            changed[at] = random.next_u64() as u8;
        }
        let _ = read(&resealed(changed));
    }
}

/// The field that an error names.
fn refused_field(changed: Vec<u8>) -> &'static str {
    match read(&resealed(changed)).unwrap_err() {
        DecodeError::Newer { field, .. }
        | DecodeError::Value { field, .. }
        | DecodeError::Mismatch { field, .. } => field,
        DecodeError::Truncated { field, .. } => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_reader_does_not_know_is_named() {
    let file = vectors::bytes("native/one-line.bloom");
    let section = u64::from_le_bytes(file[72..80].try_into().unwrap()) as usize;
    assert_eq!(refused_field(patched(&file, 12, &[2])), "version");
    assert_eq!(refused_field(patched(&file, 32, &[0, 0, 0, 1])), "required features");
    assert_eq!(refused_field(patched(&file, section, &[1])), "layout");
    assert_eq!(refused_field(patched(&file, section, &[3])), "layout");
    assert_eq!(refused_field(patched(&file, section + 1, &[3])), "hash");
    assert_eq!(refused_field(patched(&file, section + 2, &[3])), "layout's numbers");
    assert_eq!(refused_field(patched(&file, section + 4, &[9])), "layout's numbers");
    assert_eq!(refused_field(patched(&file, section + 5, &[8])), "flags");
    assert_eq!(refused_field(patched(&file, section + 8, &[0])), "blocks");
    assert_eq!(refused_field(patched(&file, section + 8, &[3])), "bits' length");
    // An unknown kind: refused when required, skipped when not. The entry of the checksums is used for this.
    let unknown = patched(&file, 64 + 32, &[200]);
    assert_eq!(refused_field(unknown.clone()), "section kind");
    assert_eq!(refused_field(patched(&unknown, 64 + 36, &[0])), "checksums");
}

/// The offset of the table entry of this kind's section, and of the section.
fn section(file: &[u8], kind: u8) -> (usize, usize) {
    let entry = (64..).step_by(32).find(|&at| file[at] == kind).unwrap();
    (entry, u64::from_le_bytes(file[entry + 8..entry + 16].try_into().unwrap()) as usize)
}

/// A reader that does not know the section of a kind, which is marked as required.
#[test]
fn a_reader_that_does_not_know_a_kind_names_its_section() {
    for (name, kind) in [("compact-third", 13), ("dynamic-set", 14)] {
        let file = vectors::bytes(&format!("native/{name}.bloom"));
        let (entry, _) = section(&file, kind);
        assert_eq!(file[entry + 4], 1, "marked as required");
        for unknown in [60, 200] {
            let refused = read(&resealed(patched(&file, entry, &[unknown]))).unwrap_err();
            let expected =
                DecodeError::Newer { field: "section kind", at: entry as u64, got: unknown.into() };
            assert_eq!(refused, expected);
            let message = refused.to_string();
            assert!(message.contains("is unknown to this version: the file needs a newer one"), "{message}");
        }
        // A reader of fast filters reports which kind it found.
        let message = fullbloom::Filter::view(&file).unwrap_err().to_string();
        assert!(message.contains(name.split('-').next().unwrap()) && message.contains("fast"), "{message}");
        assert!(matches!(fullbloom::Filter::decode(&file), Err(DecodeError::Kind { wanted: "fast", .. })));
    }
}

/// Numbers that sections had in development versions.
#[test]
fn sections_that_are_no_longer_used_are_refused() {
    let mut filter = fullbloom::Filter::with_fpr(10, 0.01).unwrap();
    filter.set_label("here");
    let file = filter.encode();
    let (entry, _) = section(&file, 3);
    for kind in 6..=10 {
        let required = resealed(patched(&file, entry, &[kind, 0, 0, 0, 1]));
        let message = read(&required).unwrap_err().to_string();
        let expected = format!("section kind at byte {entry}: {kind} is not allowed");
        assert!(message.contains(&expected) && message.contains("development version"), "{message}");
        assert!(read(&resealed(patched(&file, entry, &[kind]))).is_ok(), "not required, so passed over");
    }
    assert_eq!(refused_field(patched(&file, entry, &[0, 0, 0, 0, 1])), "section kind");
}

#[test]
fn what_is_wrong_with_a_dynamic_filter_is_named() {
    let file = vectors::bytes("native/dynamic-expiring.bloom");
    let ((filters, first), (entry, at)) = (section(&file, 1), section(&file, 14));
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    assert_eq!(refused_field(patched(&file, filters + 16, &[63])), "fingerprints", "63 bytes");
    assert_eq!(refused_field(patched(&file, first, &[5])), "layout");
    assert_eq!(refused_field(patched(&file, first + 1, &[3])), "hash");
    for bits in [0, 9, 60, 63, 255] {
        assert_eq!(refused_field(patched(&file, first + 2, &[bits])), "fingerprint bits");
    }
    assert_eq!(refused_field(patched(&file, first + 3, &[0])), "dynamic section's length");
    assert_eq!(refused_field(patched(&file, first + 3, &[4])), "mode");
    assert_eq!(refused_field(patched(&file, first + 4, &[1])), "flags");
    assert_eq!(refused_field(patched(&file, first + 6, &[5])), "key type");
    assert_eq!(refused_field(patched(&file, first + 8, &[0])), "lines");
    assert_eq!(refused_field(patched(&file, first + 32, &[1])), "keys");
    for fpr in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused_field(patched(&file, first + 40, &fpr.to_le_bytes())), "fpr");
    }
    for wrong in [number(first + 56) + 1, 1 << 17, 1 << 40, u64::MAX] {
        assert!(read(&resealed(patched(&file, first + 56, &wrong.to_le_bytes()))).is_err());
    }
    for wrong in [1, 1 << 32, 1 << 61, u64::MAX] {
        let changed = patched(&file, at, &(number(at) ^ wrong).to_le_bytes());
        assert_eq!(refused_field(changed), "bits' length", "listed");
        let changed = patched(&file, at + 8, &wrong.to_le_bytes());
        assert_eq!(refused_field(changed), "bits' length", "counted");
    }
    assert_eq!(refused_field(patched(&file, at + 28, &[2])), "expiry flags");
    for generations in [0u32, 201, u32::MAX] {
        let changed = patched(&file, at + 24, &generations.to_le_bytes());
        assert!(matches!(read(&resealed(changed)), Err(DecodeError::Geometry(_))));
    }
    assert!(matches!(read(&resealed(patched(&file, at + 16, &[0; 8]))), Err(DecodeError::Geometry(_))));
    assert_eq!(refused_field(patched(&file, at + 48, &[0xff; 8])), "keys of a generation");
    assert_eq!(refused_field(patched(&file, at + 48, &[0; 8])), "keys");
    // As many keys, but in another generation.
    let (newest, next) = (number(at + 48), number(at + 56));
    let moved = [(newest - 1).to_le_bytes(), (next + 1).to_le_bytes()].concat();
    assert_eq!(refused_field(patched(&file, at + 48, &moved)), "generations");
    assert_eq!(refused_field(patched(&file, entry, &[13])), "section kind", "of a compact filter");
    assert_eq!(refused_field(patched(&file, entry, &[11])), "section kind", "exceptions");
    let counting = vectors::bytes("native/dynamic-counting.bloom");
    let last = counting.len() - 8;
    for copies in [0u64, 3, u64::MAX] {
        let changed = patched(&counting, last, &copies.to_le_bytes());
        assert_eq!(refused_field(changed), if copies > 3 { "keys" } else { "counts" });
    }
    assert_eq!(refused_field(patched(&counting, last - 8, &[0xff; 8])), "counts");
    // Sections of other kinds in a fast filter.
    let mut fast = fullbloom::Filter::with_fpr(10, 0.01).unwrap();
    fast.set_label("here");
    let fast = fast.encode();
    let (label, _) = section(&fast, 3);
    for kind in [13, 14] {
        assert_eq!(refused_field(patched(&fast, label, &[kind])), "section kind");
    }
}

#[test]
fn an_unknown_section_that_is_not_required_is_passed_over() {
    let mut filter = fullbloom::Filter::with_fpr(10, 0.01).unwrap();
    filter.insert(b"key");
    filter.set_label("here");
    let file = filter.encode();
    let label = (64..).step_by(32).find(|&at| file[at] == 3).unwrap();
    let read = fullbloom::Filter::decode(&resealed(patched(&file, label, &[99]))).unwrap();
    assert_eq!((read.label(), read.may_contain(b"key")), ("", true));
    // Reserved and optional words are ignored.
    for at in [40, 48, label + 24] {
        assert!(fullbloom::Filter::decode(&resealed(patched(&file, at, &[7]))).is_ok(), "{at}");
    }
}

#[test]
fn a_small_file_that_claims_much_is_refused_before_anything_is_allocated() {
    let file = vectors::bytes("native/one-line.bloom");
    let section = u64::from_le_bytes(file[72..80].try_into().unwrap()) as usize;
    for blocks in [1u64 << 26, 1 << 40, 1 << 57, 1 << 58, u64::MAX] {
        let (result, peak) = peak_of(|| {
            fullbloom::Filter::decode(&resealed(patched(&file, section + 8, &blocks.to_le_bytes())))
        });
        assert!(result.is_err());
        assert!(peak < 4096, "{peak}");
    }
}

#[test]
fn a_stored_secret_must_be_the_right_one() {
    let plan = Sizing::new(&Request { expected_keys: 10, target: Target::Fpr(0.01) }).unwrap();
    let mut filter = fullbloom::Filter::with_sizing(&plan, Hashing::Secret(Secret::new([5; 16]))).unwrap();
    filter.store_secret(true);
    let file = filter.encode();
    let entry = (64..).step_by(32).find(|&at| file[at] == 5).unwrap();
    let at = u64::from_le_bytes(file[entry + 8..entry + 16].try_into().unwrap()) as usize;
    assert_eq!(refused_field(patched(&file, at, &[6])), "secret's check value");
    assert_eq!(refused_field(patched(&file, entry + 16, &[15])), "secret's length");
}
