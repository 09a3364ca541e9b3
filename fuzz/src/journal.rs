//! The journal beside a dynamic filter's file.

use fullbloom_any::StoredFilter;
use fullbloom_dialects::hash::xxh64;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Expiry, Keep, Mode};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The file of a small filter in each mode.
fn files() -> &'static [(PathBuf, Vec<u8>); 4] {
    static FILES: OnceLock<[(PathBuf, Vec<u8>); 4]> = OnceLock::new();
    FILES.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let directory = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let by_time = Expiry::of(Keep::Time(Duration::from_secs(7)));
        let by_keys = Expiry { refresh: true, ..Expiry::of(Keep::Keys(50)) };
        let modes = [Mode::Set, Mode::Counting, Mode::Expiring(by_time), Mode::Expiring(by_keys)];
        modes.map(|mode| {
            let mut filter = DynamicFilter::new(DynamicOptions::new(100, 0.001).mode(mode)).expect("memory");
            for key in 0..40u8 {
                filter.insert([key]).expect("memory");
            }
            let name =
                format!("fullbloom-fuzz-{}-{}-{}", std::process::id(), mode.name(), filter.encoded_len());
            let path = directory.join(name);
            let bytes = filter.encode();
            fs::write(&path, &bytes).expect("the directory can be written");
            (path, bytes)
        })
    })
}

/// The bytes as a journal of this file: the header and all checksums are right, unless the first byte says
/// otherwise.
fn sealed(file: &[u8], data: &[u8], wrong: bool) -> Vec<u8> {
    let header = u32::from_le_bytes(file[16..20].try_into().expect("four bytes")) as usize;
    let base = [xxh64(&file[..header]), file.len() as u64];
    let mut journal = b"\x89FBJRNL\n\x01\0\0\0\0\0\0\0".to_vec();
    journal.extend(base.iter().flat_map(|number| number.to_le_bytes()));
    let sum = crc32c::crc32c_append(crc32c::crc32c(&journal[..12]), &journal[16..32]);
    journal[12..16].copy_from_slice(&sum.to_le_bytes());
    // Each frame: a byte for its length in words, and the body.
    let mut rest = data;
    while let Some((&words, after)) = rest.split_first() {
        let (body, after) = after.split_at(after.len().min(8 * usize::from(words)));
        let at = journal.len() as u64;
        let mut head = (body.len() as u64).to_le_bytes().to_vec();
        head.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
        let sum = [base[0], base[1], at]
            .iter()
            .fold(crc32c::crc32c(&head), |sum, number| crc32c::crc32c_append(sum, &number.to_le_bytes()));
        head.extend_from_slice(&sum.to_le_bytes());
        journal.extend_from_slice(&head);
        journal.extend_from_slice(body);
        rest = after;
    }
    if wrong {
        let at = data.len().wrapping_mul(31) % journal.len();
        journal[at] ^= 1 << (data.len() % 8);
    }
    journal
}

/// What is accepted is a filter that has the keys of its file (unless they expire), can be written, and takes
/// keys.
pub fn native_journal(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let (path, file) = &files()[usize::from(choice % 4)];
    let mut journal = path.clone().into_os_string();
    journal.push(".journal");
    fs::write(&journal, sealed(file, data, choice & 64 != 0)).expect("the directory can be written");
    let Ok(StoredFilter::Dynamic(mut filter)) = StoredFilter::load(path) else { return };
    let encoded = filter.encode();
    let again = DynamicFilter::decode(&encoded).expect("what was written is read");
    assert!(again.encode() == encoded, "one filter has one encoding");
    if !matches!(filter.mode(), Mode::Expiring(_)) {
        assert!((0..40u8).all(|key| filter.may_contain([key])), "a key of the file is lost");
    }
    let known = filter.may_contain(b"new");
    assert_eq!(filter.insert(b"new"), Ok(!known));
    assert!(filter.may_contain(b"new"));
}
