use super::*;
use crate::{DynamicFilter, DynamicOptions, Expiry, Keep, Mode};
use core::time::Duration;
use fullbloom_core::native::hashing::{Hashing, Secret};
use fullbloom_files::file_lock::{FileLock, journal_of};
use fullbloom_testkit::steps::Steps;
use std::fs;
use std::path::{Path, PathBuf};

/// Hashes that differ in every bit.
fn hashes(numbers: core::ops::Range<u64>) -> Vec<u64> {
    numbers.map(|number| fullbloom_core::hash::xxh64(&number.to_le_bytes())).collect()
}

fn insert(writer: &mut JournalWriter, filter: &mut DynamicFilter, hashes: &[u64]) {
    let mut new = vec![false; hashes.len()];
    let own = filter.hashing().hashes(hashes);
    filter.insert_batch_new(&own, &mut new[..]).unwrap();
    writer.record(filter, hashes, &new);
}

fn load(path: &Path) -> DynamicFilter {
    DynamicFilter::load(path).unwrap()
}

/// A file with 50,000 keys, and a journal with 300 in three frames.
fn with_journal(dir: &Path, options: DynamicOptions) -> (PathBuf, DynamicFilter, JournalWriter) {
    let path = dir.join("seen.bloom");
    let mut filter = DynamicFilter::new(options).unwrap();
    let mut writer = JournalWriter::new(FileLock::new(&path).unwrap());
    insert(&mut writer, &mut filter, &hashes(0..50_000));
    writer.save(&filter).unwrap();
    for save in 0..3 {
        let begin = 50_000 + 100 * save;
        insert(&mut writer, &mut filter, &hashes(begin..begin + 100));
        writer.save(&filter).unwrap();
    }
    (path, filter, writer)
}

fn options() -> DynamicOptions {
    DynamicOptions::new(1_000, 1e-6).up_to(1 << 30)
}

#[test]
fn a_few_keys_do_not_rewrite_the_file_and_every_reader_sees_them() {
    let dir = tempfile::tempdir().unwrap();
    let (path, filter, writer) = with_journal(dir.path(), options());
    let journal = journal_of(&path).unwrap();
    assert_eq!(journal.file_name().unwrap(), "seen.bloom.journal");
    assert_eq!(fs::metadata(&journal).unwrap().len(), 80 + 3 * (16 + 16 + 800));
    let file = fs::read(&path).unwrap();
    assert_eq!(DynamicFilter::decode(&file).unwrap().keys(), 50_000);

    let all = hashes(0..50_300);
    let read = load(&path);
    assert_eq!((read.keys(), read.encode()), (50_300, filter.encode()));
    let mapped = DynamicFilter::open(&path).unwrap();
    assert_eq!(mapped.count_batch(&Hashing::default().hashes(&all)), Ok(50_300));
    // A link leads to the same journal.
    #[cfg(unix)]
    {
        let (other, link) = (tempfile::tempdir().unwrap(), "link.bloom");
        std::os::unix::fs::symlink(&path, other.path().join(link)).unwrap();
        assert_eq!(load(&other.path().join(link)).keys(), 50_300);
    }
    assert_eq!(fs::read(&path).unwrap(), file);
    writer.finish(&filter).unwrap();
    assert!(!journal.exists());
    assert_eq!(fs::read(&path).unwrap(), filter.encode());
}

#[test]
fn a_further_writer_continues_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _, writer) = with_journal(dir.path(), options());
    drop(writer);
    let (mut filter, mut writer) =
        JournalWriter::load(FileLock::new(&path).unwrap(), DynamicFilter::decode_with).unwrap();
    assert_eq!((filter.keys(), writer.torn_bytes()), (50_300, 0));
    insert(&mut writer, &mut filter, &hashes(60_000..60_010));
    insert(&mut writer, &mut filter, &hashes(60_005..60_020));
    writer.save(&filter).unwrap();
    writer.save(&filter).unwrap(); // nothing new
    assert_eq!(
        fs::metadata(journal_of(&path).unwrap()).unwrap().len(),
        80 + 3 * 832 + 16 + 16 + 80 + 16 + 80
    );
    assert_eq!(load(&path).encode(), filter.encode());
}

#[test]
fn a_journal_that_grows_past_its_share_is_folded_into_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut filter, mut writer) = with_journal(dir.path(), options());
    let (len, journal) = (fs::metadata(&path).unwrap().len(), journal_of(&path).unwrap());
    let mut folds = 0;
    for save in 0..100 {
        insert(&mut writer, &mut filter, &hashes(100_000 + save * 500..100_500 + save * 500));
        writer.save(&filter).unwrap();
        folds += u32::from(!journal.exists());
        assert_eq!(load(&path).keys(), filter.keys());
    }
    assert!((1..20).contains(&folds), "{folds}");
    assert!(fs::metadata(&path).unwrap().len() > len);
    // Too many keys for the journal are not kept in memory.
    insert(&mut writer, &mut filter, &hashes(1_000_000..1_100_000));
    writer.save(&filter).unwrap();
    assert!(!journal.exists());
    assert_eq!(load(&path).encode(), filter.encode());
}

#[test]
fn a_journal_is_never_applied_to_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let (path, filter, writer) = with_journal(dir.path(), options());
    drop(writer);
    let journal = journal_of(&path).unwrap();
    let kept = fs::read(&journal).unwrap();
    let base = fs::read(&path).unwrap();
    // Another file, copied by another program.
    let mut other = DynamicFilter::new(options()).unwrap();
    other.insert_batch(&Hashing::default().hashes(&hashes(7..50_007))).unwrap();
    fs::write(&path, other.encode()).unwrap();
    assert_eq!(load(&path).encode(), other.encode());
    // The next one that saves removes it.
    other.save(&path).unwrap();
    assert!(!journal.exists());
    // Folded, and stopped before the journal was removed.
    fs::write(&path, filter.encode()).unwrap();
    fs::write(&journal, &kept).unwrap();
    assert_eq!(load(&path).encode(), filter.encode());
    // Even equal bytes take the journal away: they are a new filter.
    fs::write(&path, &base).unwrap();
    fs::write(&journal, &kept).unwrap();
    assert_eq!(load(&path).keys(), 50_300);
    fullbloom_files::replace(&path, |out| out.write_all(&base)).unwrap();
    assert_eq!((load(&path).keys(), journal.exists()), (50_000, false));
    // A file with its name that is no journal stays, and is not ignored.
    fs::write(&journal, b"mine").unwrap();
    assert!(DynamicFilter::load(&path).is_err());
    fullbloom_files::replace(&path, |out| out.write_all(&base)).unwrap();
    assert_eq!(fs::read(&journal).unwrap(), b"mine");
}

/// The length of a frame of a hundred keys, and of the header.
const FRAME: usize = 832;
const HEADER: usize = 80;

/// The bytes of a journal with three frames, and the base that it extends.
fn three_frames(path: &Path) -> (PathBuf, Vec<u8>, Base) {
    let journal = journal_of(path).unwrap();
    let whole = fs::read(&journal).unwrap();
    assert_eq!(whole.len(), HEADER + 3 * FRAME);
    (journal, whole, Base::of(&fs::read(path).unwrap(), fs::metadata(path).unwrap().len()).unwrap())
}

#[test]
fn every_prefix_of_acknowledged_frames_and_every_flipped_bit_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (path, filter, writer) = with_journal(dir.path(), options());
    drop(writer);
    let (journal, whole, base) = three_frames(&path);
    for len in (0..whole.len()).filter(|len| len % 13 == 0 || (len - len.min(&HEADER)) % FRAME == 0) {
        fs::write(&journal, &whole[..len]).unwrap();
        assert!(Journal::find(&path, base).is_err(), "{len}");
    }
    let steps = Steps::every(8);
    for (at, bit) in (0..whole.len()).flat_map(|byte| [(byte, 1), (byte, 128)]) {
        // The header and the head of every frame, and a part of the rest.
        let in_frame = at.checked_sub(HEADER).map_or(0, |at| at % FRAME);
        if in_frame >= 64 && !steps.takes(at as u64) {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[at] ^= bit;
        fs::write(&journal, &bytes).unwrap();
        match Journal::find(&path, base) {
            Err(_) => assert!(!(32..HEADER).contains(&at), "{at}"),
            // Without one of the two seals, every frame is still there.
            Ok(Some(read)) => {
                assert!((32..HEADER).contains(&at), "{at}");
                assert_eq!((read.frames(), read.torn_bytes(), read.needs_seal()), (3, 0, true), "{at}");
            }
            Ok(None) => panic!("ignored: {at}"),
        }
        // With a damaged seal, bytes after the other seal's end are not dropped.
        if (56..HEADER).contains(&at) {
            bytes[HEADER + 2 * FRAME + 100] ^= 1;
            fs::write(&journal, &bytes).unwrap();
            assert!(Journal::find(&path, base).is_err(), "{at}");
        }
    }
    // Nothing is overwritten: the next writer refuses the damaged journal too.
    let mut bytes = whole.clone();
    bytes[HEADER + 2 * FRAME + 40] ^= 4;
    fs::write(&journal, &bytes).unwrap();
    assert!(JournalWriter::load(FileLock::new(&path).unwrap(), DynamicFilter::decode_with).is_err());
    assert!(DynamicFilter::load(&path).is_err());
    assert_eq!(fs::read(&journal).unwrap(), bytes);
    // A damaged seal is mended by the next save.
    let mut bytes = whole.clone();
    bytes[60] ^= 1;
    fs::write(&journal, &bytes).unwrap();
    let (read, writer) =
        JournalWriter::load(FileLock::new(&path).unwrap(), DynamicFilter::decode_with).unwrap();
    assert_eq!(read.encode(), filter.encode());
    writer.finish(&read).unwrap();
    assert!(!journal.exists());
    assert_eq!(load(&path).encode(), filter.encode());
}

/// A save writes its frame and then the seal: what it had written when it was stopped is never taken for
/// damage.
#[test]
fn a_save_that_was_interrupted_loses_no_acknowledged_key() {
    let dir = tempfile::tempdir().unwrap();
    let (path, filter, writer) = with_journal(dir.path(), options());
    drop(writer);
    let (journal, whole, base) = three_frames(&path);
    // The seals before the third save: of two frames, and of one.
    let mut before = whole.clone();
    let first = frames::Seal { end: (HEADER + FRAME) as u64, frames: 1 };
    before[first.at()..][..24].copy_from_slice(&first.bytes(base));
    let two = HEADER + 2 * FRAME;
    for len in two..=whole.len() {
        fs::write(&journal, &before[..len]).unwrap();
        let read = Journal::find(&path, base).unwrap().unwrap();
        let expected = if len < whole.len() { (2, (len - two) as u64, false) } else { (3, 0, true) };
        assert_eq!((read.frames(), read.torn_bytes(), read.needs_seal()), expected, "{len}");
    }
    // A part of the seal is written.
    for part in 0..24 {
        let at = first.at();
        let bytes = [&before[..at], &whole[at..at + part], &before[at + part..]].concat();
        fs::write(&journal, &bytes).unwrap();
        assert_eq!(Journal::find(&path, base).unwrap().unwrap().frames(), 3, "{part}");
    }
    // A torn end is overwritten.
    fs::write(&journal, &before[..whole.len() - 5]).unwrap();
    let (mut read, mut writer) =
        JournalWriter::load(FileLock::new(&path).unwrap(), DynamicFilter::decode_with).unwrap();
    assert_eq!((read.keys(), writer.torn_bytes()), (50_200, 827));
    insert(&mut writer, &mut read, &hashes(50_200..50_300));
    writer.save(&read).unwrap();
    assert_eq!(fs::read(&journal).unwrap(), whole);
    assert_eq!(load(&path).encode(), filter.encode());
}

/// A journal is a regular file of a length that a writer could have made.
#[cfg(unix)]
#[test]
fn pipes_links_and_endless_journals_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _, writer) = with_journal(dir.path(), options());
    drop(writer);
    let (journal, whole, _) = three_frames(&path);
    let refused = |what: &str| {
        assert!(DynamicFilter::load(&path).is_err(), "{what}");
        assert!(DynamicFilter::open(&path).is_err(), "{what}");
        assert!(
            JournalWriter::load(FileLock::new(&path).unwrap(), DynamicFilter::decode_with).is_err(),
            "{what}"
        );
    };
    fs::File::options().write(true).open(&journal).unwrap().set_len(6 << 30).unwrap();
    refused("sparse");
    fs::remove_file(&journal).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &journal).unwrap();
    refused("a link to a device");
    fs::remove_file(&journal).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, &whole).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &journal).unwrap();
    refused("a link");
    fs::remove_file(&journal).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&journal).status().unwrap().success());
    refused("a pipe");
    // Nor does a new file wait for the pipe.
    DynamicFilter::new(options()).unwrap().save(&path).unwrap();
}

#[test]
fn all_modes_and_keyed_filters_read_as_they_were() {
    let secret = || Secret::new([7; 16]);
    let by_keys = Expiry { refresh: true, ..Expiry::of(Keep::Keys(40_000)) };
    for mode in [
        Mode::Counting,
        Mode::Expiring(by_keys),
        Mode::Expiring(Expiry::of(Keep::Time(Duration::from_secs(70)))),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let made = options().mode(mode).hashing(Hashing::Secret(secret()));
        let (path, mut filter, mut writer) = with_journal(dir.path(), made);
        for step in 0..5 {
            filter.advance_millis(step * 9_000).unwrap();
            insert(&mut writer, &mut filter, &hashes(49_950 + step * 90..50_050 + step * 90));
        }
        writer.save(&filter).unwrap();
        assert!(journal_of(&path).unwrap().exists());
        let mut read = DynamicFilter::load(&path).unwrap();
        read.unlock(&secret()).unwrap();
        assert_eq!((read.keys(), read.encode()), (filter.keys(), filter.encode()), "{mode:?}");
        // Without the secret, too.
        let locked = DynamicFilter::load(&path).unwrap();
        assert!(locked.is_locked());
        assert_eq!(locked.keys(), filter.keys());
    }
}
