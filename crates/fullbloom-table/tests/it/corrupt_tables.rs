//! Damaged and hostile tables: an error that says where, or the right answer; never a panic, and bounded
//! memory.

use fullbloom_dialects::Name;
use fullbloom_table::block::IndexFormat;
use fullbloom_table::block_builder::{BlockBuilder, IndexBlockBuilder};
use fullbloom_table::checksum::Checksum;
use fullbloom_table::compression::Compression;
use fullbloom_table::filter::build::{FilterOptions, Layout, Partitioning};
use fullbloom_table::filter::{Holds, Policy, Question};
use fullbloom_table::footer::Footer;
use fullbloom_table::handle::Handle;
use fullbloom_table::writer::{Format, IndexLayout, TableWriter, WriterOptions};
use fullbloom_table::{EnginePrefix, Limits, Problem, Table, TableError, TableOptions};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{byte_changes, prefixes};

const QUESTIONS: [Question; 3] = [Question::Get, Question::Seek, Question::SeekBack];

fn key(i: u32) -> Vec<u8> {
    format!("user{:04}:{}", i / 3 * 7, i % 3).into_bytes()
}

fn small(options: WriterOptions, keys: u32) -> Vec<u8> {
    let leveldb = options.format == Format::LevelDb;
    let mut writer = TableWriter::new(Vec::new(), options).unwrap();
    for i in 0..keys {
        writer.put(&key(i), &[b'v'; 9]).unwrap();
    }
    if !leveldb {
        writer.delete_range(b"user0001", b"user0002", 7).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// One small table of each kind.
fn small_tables() -> Vec<(String, Vec<u8>)> {
    let filter = |dialect, layout, prefix: EnginePrefix| {
        let policy = Policy::new(dialect, 10.0).unwrap();
        Some(FilterOptions {
            layout,
            holds: Holds::with_prefixes(true, prefix),
            ..FilterOptions::new(policy)
        })
    };
    let partitions = |with_index| Layout::Partitioned(Partitioning { target: 80, deviation: 10, with_index });
    let small_blocks = WriterOptions { block_size: 200, restart_interval: 3, ..WriterOptions::default() };
    let two_level = WriterOptions { index: IndexLayout::TwoLevel { target: 60 }, ..small_blocks.clone() };
    let fixed = EnginePrefix::Fixed(8);
    let mut tables = Vec::new();
    for version in [2, 5, 6] {
        for checksum in [Checksum::Crc32c, Checksum::Xxh3] {
            let format = Format::RocksDb { version };
            let full = WriterOptions { format, checksum, ..small_blocks.clone() };
            tables.push((format!("full v{version} {}", checksum.as_str()), small(full, 24)));
        }
        let partitioned = WriterOptions {
            format: Format::RocksDb { version },
            filter: filter(Name::RocksDb, partitions(version == 5), fixed),
            ..two_level.clone()
        };
        tables.push((format!("partitioned v{version}"), small(partitioned, 40)));
    }
    for compression in Compression::ALL {
        let packed = WriterOptions { compression, block_size: 600, ..WriterOptions::default() };
        tables.push((compression.as_str().to_owned(), small(packed, 40)));
    }
    let per_block =
        WriterOptions { filter: filter(Name::RocksDbBlock, Layout::PerBlock, fixed), ..small_blocks.clone() };
    tables.push(("per block".to_owned(), small(per_block, 24)));
    let leveldb =
        WriterOptions { block_size: 200, compression: Compression::None, ..WriterOptions::leveldb() };
    tables.push(("leveldb".to_owned(), small(leveldb, 24)));
    let first_key = WriterOptions { index: IndexLayout::FirstKey, ..small_blocks };
    tables.push(("first key".to_owned(), small(first_key, 24)));
    tables
}

/// Everything a table can be asked, or the first error.
fn all_answers(bytes: &[u8], options: TableOptions) -> Result<(Vec<Vec<u8>>, Vec<bool>), TableError> {
    let table = Table::new(bytes, options)?;
    let mut keys = Vec::new();
    let mut entries = table.entries()?;
    let mut spelled_out = 0;
    while entries.advance()? {
        // A file can spell out keys far longer than itself, one after the other; here they would add up.
        spelled_out += entries.key().len();
        if spelled_out <= 2 * bytes.len() {
            keys.push([entries.key(), entries.value()].concat());
        }
    }
    for range in table.range_deletions()? {
        keys.push(range.end);
    }
    let filter = table.filter()?;
    let mut answers = Vec::new();
    for i in (0..90).step_by(3) {
        for question in QUESTIONS {
            answers.push(filter.may_match(question, &key(i))?);
        }
    }
    Ok((keys, answers))
}

/// Answers nothing can be said about, only that they come.
fn ask_everything(bytes: &[u8], options: &TableOptions) {
    let _ = all_answers(bytes, options.clone());
    if let Ok(table) = Table::new(bytes, options.clone())
        && let Ok(filter) = table.filter()
    {
        let _ = filter.for_each_partition(|_, _, _| Ok(()));
        for i in 0..5 {
            let _ = filter.may_contain(&key(i * 20));
        }
    }
}

#[test]
fn every_changed_byte_of_a_small_table_is_an_error_or_changes_nothing() {
    // A bzip2 decoder takes 4 MB, cleared for every block of every try: it is left to the tests below.
    for (name, bytes) in small_tables().into_iter().filter(|(name, _)| name != "bzip2") {
        let right = all_answers(&bytes, TableOptions::default()).unwrap();
        // All values of the bytes that no checksum covers, in a table of each footer.
        let all_values = matches!(&name[..], "leveldb" | "full v5 xxh3" | "full v6 xxh3");
        let footer = if all_values { bytes.len() - 53..bytes.len() } else { 0..0 };
        let mut noticed = 0;
        for (at, changed) in byte_changes(&bytes, footer) {
            match all_answers(&changed, TableOptions::default()) {
                Err(_) => noticed += 1,
                Ok(answers) => assert!(answers == right, "{name}: byte {at} changes an answer unnoticed"),
            }
        }
        // What is not noticed lies in the footer's padding.
        assert!(noticed >= (bytes.len() - 53) * 8, "{name}: {noticed} of {}", bytes.len());
    }
}

#[test]
fn every_cut_of_a_small_table_is_an_error() {
    for (name, bytes) in small_tables() {
        for prefix in prefixes(&bytes) {
            assert!(Table::new(prefix, TableOptions::default()).is_err(), "{name}: {} bytes", prefix.len());
        }
    }
}

/// As if whoever changed the byte had also made the checksum fit.
#[test]
fn changed_bytes_behind_valid_checksums_neither_panic_nor_take_much_memory() {
    let options = TableOptions {
        skip_checksums: true,
        limits: Limits { block_len: 1 << 20, ratio: 1000 },
        ..TableOptions::default()
    };
    for (name, bytes) in small_tables().into_iter().filter(|(name, _)| name != "bzip2") {
        let (_, usual) = peak_of(|| ask_everything(&bytes, &options));
        for at in 0..bytes.len() {
            for mask in [0x01, 0xfe] {
                let mut changed = bytes.clone();
                changed[at] ^= mask;
                let (_, peak) = peak_of(|| ask_everything(&changed, &options));
                // Blocks of at most a mebibyte, a few at a time, and what the decoders need.
                assert!(peak < usual + (8 << 20), "{name}: byte {at} makes it take {peak} bytes");
            }
        }
    }
}

/// Looking at a filter asks it for a great many hashes, so fewer files are tried.
#[test]
fn inspecting_and_verifying_damaged_tables_neither_panics_nor_hangs() {
    let options = TableOptions { skip_checksums: true, ..TableOptions::default() };
    for (_, bytes) in small_tables() {
        for at in (0..bytes.len()).step_by(bytes.len() / 60) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x55;
            if let Ok(table) = Table::new(&changed[..], options.clone()) {
                let _ = table.inspect();
                let _ = table.verify(100);
            }
        }
    }
}

#[test]
fn noise_in_place_of_blocks_neither_panics_nor_hangs() {
    let options = TableOptions { skip_checksums: true, ..TableOptions::default() };
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (_, bytes) in small_tables() {
        for _ in 0..1000 {
            let mut changed = bytes.clone();
            for _ in 0..1 + random() % 8 {
                let at = (random() % changed.len() as u64) as usize;
                let len = (1 + random() % 4).min((changed.len() - at) as u64) as usize;
                let noise = random().to_le_bytes();
                let interesting = [[0; 4], [0xff; 4], [0x80; 4], [0x7f; 4]];
                match random() % 3 {
                    0 => changed[at..at + len].copy_from_slice(&interesting[(random() % 4) as usize][..len]),
                    _ => changed[at..at + len].copy_from_slice(&noise[..len]),
                }
            }
            ask_everything(&changed, &options);
        }
    }
}

/// A file of hand-made blocks, each without compression and with a wrong checksum.
#[derive(Default)]
struct HandMade {
    bytes: Vec<u8>,
}

impl HandMade {
    fn block(&mut self, contents: &[u8], kind: u8) -> Handle {
        let handle = Handle { offset: self.bytes.len() as u64, size: contents.len() as u64 };
        self.bytes.extend_from_slice(contents);
        self.bytes.extend_from_slice(&[kind, 0, 0, 0, 0]);
        handle
    }

    fn finish(mut self, index: Handle, metaindex: &[(&str, Handle)]) -> Result<Table<Vec<u8>>, TableError> {
        let mut block = BlockBuilder::new(1);
        for (name, handle) in metaindex {
            let mut value = Vec::new();
            handle.encode(&mut value);
            block.add(name.as_bytes(), &value);
        }
        let metaindex = self.block(&block.finish(), 0);
        let footer = Footer {
            format_version: 5,
            checksum: Checksum::Crc32c,
            metaindex,
            index: Some(index),
            base_context_checksum: 0,
            offset: self.bytes.len() as u64,
        };
        footer.encode(&mut self.bytes);
        Table::new(self.bytes, TableOptions { skip_checksums: true, ..TableOptions::default() })
    }
}

fn index_of(handles: &[Handle]) -> Vec<u8> {
    let mut index = IndexBlockBuilder::new(1, IndexFormat::default());
    for (i, handle) in handles.iter().enumerate() {
        index.add(&[b'a' + i as u8, 0, 0, 0, 0, 0, 0, 0, 0], *handle, &[]);
    }
    index.finish()
}

fn data_block() -> Vec<u8> {
    let mut block = BlockBuilder::new(16);
    block.add(b"a\x01\0\0\0\0\0\0\0", b"value");
    block.finish()
}

fn first_error<S: fullbloom_table::Source>(table: &Table<S>) -> Problem {
    let mut entries = table.entries().unwrap();
    loop {
        match entries.advance() {
            Ok(true) => {}
            Ok(false) => panic!("no error"),
            Err(error) => return take(error),
        }
    }
}

fn take(error: TableError) -> Problem {
    error.into_problem()
}

#[test]
fn an_index_that_leads_in_a_circle_or_back_is_refused() {
    let mut file = HandMade::default();
    let (one, two) = (file.block(&data_block(), 0), file.block(&data_block(), 0));
    for order in [[one, one], [two, one]] {
        let mut file = HandMade { bytes: file.bytes.clone() };
        let index = file.block(&index_of(&order), 0);
        let table = file.finish(index, &[]).unwrap();
        assert!(matches!(first_error(&table), Problem::Order { .. }));
    }
}

#[test]
fn handles_outside_the_file_name_themselves_and_the_limit() {
    let mut file = HandMade::default();
    let data = file.block(&data_block(), 0);
    for (offset, size) in [
        (data.offset, u64::MAX),
        (u64::MAX, 1),
        (u64::MAX - 2, 2),
        (1 << 40, 10),
        (data.offset, file.bytes.len() as u64 + 1000),
    ] {
        let mut file = HandMade { bytes: file.bytes.clone() };
        let index = file.block(&index_of(&[Handle { offset, size }]), 0);
        let mut known = file;
        let table = {
            let handle = known.block(&[], 0);
            let _ = handle;
            known.finish(index, &[]).map_err(take)
        };
        match table {
            Ok(table) => match first_error(&table) {
                Problem::Handle { offset: o, size: s, .. } => assert_eq!((o, s), (offset, size)),
                other => panic!("{other}"),
            },
            Err(Problem::Handle { offset: o, size: s, .. }) => assert_eq!((o, s), (offset, size)),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn the_metaindex_may_point_anywhere_without_harm() {
    for offset in 0..200 {
        for size in [0, 1, 4, 8, 50, 1 << 50] {
            let mut file = HandMade::default();
            let data = file.block(&data_block(), 0);
            let index = file.block(&index_of(&[data]), 0);
            let anywhere = Handle { offset, size };
            for name in [
                "fullfilter.rocksdb.BuiltinBloomFilter",
                "partitionedfilter.rocksdb.BuiltinBloomFilter",
                "filter.rocksdb.BuiltinBloomFilter",
                "rocksdb.properties",
                "rocksdb.compression_dict",
                "rocksdb.range_del",
                "rocksdb.index",
            ] {
                let file = HandMade { bytes: file.bytes.clone() };
                if let Ok(table) = file.finish(index, &[(name, anywhere)]) {
                    let _ = table.inspect();
                    let _ = table.range_deletions();
                    let _ = table.filter().map(|filter| filter.may_contain(b"a"));
                }
            }
        }
    }
}

#[test]
fn a_block_that_would_expand_to_a_gibibyte_is_refused_for_what_it_declares() {
    // Sound streams, of less than they declare: the declaration is what is refused.
    let packed = zstd_frame(&vec![0u8; 16 << 20]);
    assert!(packed.len() < 64 << 10, "{}", packed.len());
    for kind in [7, 2, 3, 4, 5] {
        let mut file = HandMade::default();
        let mut block = vec![0x80, 0x80, 0x80, 0x80, 0x04]; // 2^30 as a varint
        block.extend_from_slice(&packed);
        let data = file.block(&block, kind);
        let index = file.block(&index_of(&[data]), 0);
        let table = file.finish(index, &[]);
        let (error, peak) = peak_of(|| match table {
            Ok(table) => first_error(&table),
            Err(error) => take(error),
        });
        assert!(matches!(error, Problem::TooLarge { size: 0x4000_0000, .. }), "{kind}: {error}");
        assert!(peak < 1 << 20, "{kind}: {peak} bytes");
    }
}

fn zstd_frame(plain: &[u8]) -> Vec<u8> {
    // The library's own compressor, through a table: the frame is cut out of the file.
    let options = WriterOptions { compression: Compression::Zstd, filter: None, ..WriterOptions::default() };
    let mut writer = TableWriter::new(Vec::new(), options).unwrap();
    writer.put(b"a", plain).unwrap();
    let file = writer.finish().unwrap().into_inner();
    let start = file.windows(4).position(|bytes| bytes == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    file[start..].to_vec()
}

#[test]
fn keys_out_of_order_are_an_error_that_says_where() {
    let mut block = BlockBuilder::new(16);
    block.add(b"b\x01\0\0\0\0\0\0\0", b"");
    block.add(b"a\x01\0\0\0\0\0\0\0", b"");
    let mut file = HandMade::default();
    let data = file.block(&block.finish(), 0);
    let index = file.block(&index_of(&[data]), 0);
    let properties = {
        let mut properties = BlockBuilder::new(16);
        properties.add(b"rocksdb.comparator", b"leveldb.BytewiseComparator");
        properties.finish()
    };
    let properties = file.block(&properties, 0);
    let table = file.finish(index, &[("rocksdb.properties", properties)]).unwrap();
    let error = first_error(&table);
    assert_eq!(
        error.to_string(),
        "key at byte 12 of the block at byte 0: not greater than the key before it"
    );
}

#[test]
fn an_error_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("000123.sst");
    let (_, mut bytes) = small_tables().swap_remove(1);
    bytes[10] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let table = Table::open(&path).unwrap();
    let mut entries = table.entries().unwrap();
    let error = entries.advance().unwrap_err();
    assert!(error.to_string().contains("000123.sst: data block at byte 0: checksum"), "{error}");
    let missing = Table::open(dir.path().join("none.sst")).unwrap_err();
    assert!(missing.to_string().contains("none.sst: cannot open"), "{missing}");
    assert!(Table::open(dir.path()).unwrap_err().to_string().contains("not a regular file"));
}
