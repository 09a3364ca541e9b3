//! A stream cut into blocks of whole records.

use std::io::{self, Read};

/// Bytes read at once. Two blocks and their results stay in a 1 MiB second-level cache.
const BLOCK: usize = 256 << 10;

/// A record longer than this is taken for a mistake: a file that is not a list of keys, or `/dev/zero`.
pub const LONGEST: usize = 256 << 20;

/// Some whole records with their ends, in memory that is used again.
#[derive(Debug, Default)]
pub struct Block {
    buffer: Vec<u8>,
    len: usize,
}

impl Block {
    /// The records; only the very last one of a stream may lack its end.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// At least half a block is free after the bytes kept; the buffer doubles while one record fills it.
    fn make_room(&mut self, kept: usize) -> io::Result<()> {
        if self.buffer.len().saturating_sub(kept) >= BLOCK / 2 {
            return Ok(());
        }
        if kept > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a key is longer than 256 MiB"));
        }
        let len = (kept * 2).max(BLOCK);
        self.buffer.try_reserve_exact(len - self.buffer.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.buffer.resize(len, 0);
        Ok(())
    }
}

/// Hands out whole records as they arrive; it buffers part of a block, or of the longest record.
pub struct Blocks<'a> {
    source: Box<dyn Read + Send + 'a>,
    end: u8,
    /// Read and not yet handed out: the beginning of a record.
    rest: Vec<u8>,
    at_end: bool,
}

impl<'a> Blocks<'a> {
    /// The records of `source`, each ended by the byte `end`.
    pub fn new(source: Box<dyn Read + Send + 'a>, end: u8) -> Blocks<'a> {
        Blocks { source, end, rest: Vec::new(), at_end: false }
    }

    /// The next records; false after the last.
    pub fn next(&mut self, block: &mut Block) -> io::Result<bool> {
        let mut filled = self.rest.len();
        block.make_room(filled)?;
        block.buffer[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        while !self.at_end {
            block.make_room(filled)?;
            let fresh = filled;
            let read = match self.source.read(&mut block.buffer[fresh..]) {
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            filled += read;
            self.at_end = read == 0;
            if let Some(last) = memchr::memrchr(self.end, &block.buffer[fresh..filled]) {
                block.len = fresh + last + 1;
                let rest = &block.buffer[block.len..filled];
                self.rest.try_reserve(rest.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
                self.rest.extend_from_slice(rest);
                return Ok(true);
            }
        }
        block.len = filled;
        Ok(filled > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most `step` bytes at a time, as a slow pipe does, and is interrupted now and then.
    struct Slow<'a> {
        bytes: &'a [u8],
        step: usize,
        turn: usize,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.turn += 1;
            if self.turn.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let step = self.step.min(out.len());
            self.bytes.read(&mut out[..step])
        }
    }

    fn blocks_of(bytes: &[u8], step: usize) -> Vec<Vec<u8>> {
        let mut blocks = Blocks::new(Box::new(Slow { bytes, step, turn: 0 }), b'\n');
        let (mut all, mut block) = (Vec::new(), Block::default());
        while blocks.next(&mut block).unwrap() {
            all.push(block.bytes().to_vec());
        }
        assert!(!blocks.next(&mut block).unwrap(), "the end is the end");
        all
    }

    #[test]
    fn blocks_are_whole_records_whatever_the_reads_are() {
        let text = b"\none\n\ntwo three\nlast without end";
        for step in 1..=text.len() {
            let blocks = blocks_of(text, step);
            assert_eq!(blocks.concat(), text);
            let (last, rest) = blocks.split_last().unwrap();
            assert!(rest.iter().all(|block| block.ends_with(b"\n")), "step {step}");
            assert_eq!(last, b"last without end");
        }
        assert!(blocks_of(b"", 8).is_empty());
        assert_eq!(blocks_of(b"\n", 8), [b"\n"]);
    }

    #[test]
    fn a_record_longer_than_the_buffer_is_one_record() {
        let mut text = vec![b'x'; 5 * BLOCK + 7];
        text.extend_from_slice(b"\nshort\n");
        let blocks = blocks_of(&text, 10_000);
        assert_eq!(blocks.concat(), text);
        assert_eq!(blocks[0].iter().position(|b| *b == b'\n'), Some(5 * BLOCK + 7));
    }
}
