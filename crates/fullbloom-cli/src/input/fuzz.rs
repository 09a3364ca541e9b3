//! Everything between the bytes of a key file and keys, without the file: for `fuzz/`.

use super::batches::Splitter;
use super::blocks::{Block, Blocks};
use super::content::{Expected, contents};
use super::{KeyFormat, count_records};
use fullbloom::typed::KeyType;
use fullbloom_dialects::Name;
use fullbloom_ops::KeySpec;
use std::io::{self, Read};
use std::ops::ControlFlow;

/// A pipe that gives a fixed number of bytes at a time.
struct Pipe<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Pipe<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let step = self.step.min(out.len());
        self.bytes.read(&mut out[..step])
    }
}

/// Reads a key file whose format the first three bytes choose. Plain records must equal those of a simple
/// split, at any read size.
pub fn read_keys(data: &[u8]) {
    let [form, step, typed, bytes @ ..] = data else { return };
    let types = KeyType::ALL.iter().flat_map(|kind| Name::ALL.iter().map(move |name| (*kind, *name)));
    let end = if form & 1 == 0 { b'\n' } else { 0 };
    let format = match form >> 1 & 3 {
        0 | 1 => KeyFormat { end, ..KeyFormat::LINES },
        2 => KeyFormat { end, hex: true, ..KeyFormat::LINES },
        _ => {
            let typed = types.clone().nth(usize::from(*typed) % types.count());
            let typed = typed.map(|(kind, name)| (KeySpec::Value(kind), name));
            KeyFormat { end, typed, ..KeyFormat::LINES }
        }
    };
    let expected = if end == b'\n' { Expected::Text } else { Expected::Anything };
    let pipe = Pipe { bytes, step: usize::from(*step) + 1 };
    let Ok(content) = contents(pipe, expected) else { return };
    let (mut blocks, mut block) = (Blocks::new(content.bytes, end), Block::default());
    let mut splitter = Splitter::new(format);
    let (mut keys, mut counted, mut plain) = (0, 0, Vec::new());
    while let Ok(true) = blocks.next(&mut block) {
        counted += count_records(block.bytes(), end);
        plain.extend_from_slice(&block.bytes()[..block.bytes().len().min(bytes.len())]);
        let mut at = 0;
        let split = splitter.split(block.bytes(), &mut |batch| {
            assert_eq!(batch.keys.len(), batch.records.len());
            for record in batch.records {
                assert!(!record.contains(&end) && block.bytes()[at..].starts_with(record));
                at += record.len() + 1;
            }
            keys += batch.keys.len() as u64;
            Ok(ControlFlow::Continue(()))
        });
        if split.is_err() {
            return;
        }
        if plain.len() > bytes.len() {
            return; // compressed: the contents are longer
        }
    }
    assert_eq!(keys, counted);
    if plain == bytes && !content.had_mark {
        assert_eq!(keys, count_records(bytes, end), "blocks have other records than the whole");
    }
}
