//! A stream cut into blocks of whole records.

use std::io::{self, Read};

/// Read at once. Two blocks and what is made of them stay in a 1 MiB second-level cache.
const BLOCK: usize = 256 << 10;

/// A record longer than this is taken for a mistake: a file that is no list of keys, or `/dev/zero`.
const LONGEST: usize = 256 << 20;

/// Gives out whole records as they arrive; memory is one block, or the longest record.
pub struct Blocks<'a> {
    source: Box<dyn Read + 'a>,
    end: u8,
    buffer: Vec<u8>,
    /// `buffer[given..filled]` is read and not yet given out; it holds no `end`.
    given: usize,
    filled: usize,
    at_end: bool,
}

impl<'a> Blocks<'a> {
    /// The records of `source`, each ended by the byte `end`.
    pub fn new(source: Box<dyn Read + 'a>, end: u8) -> Blocks<'a> {
        Blocks { source, end, buffer: Vec::new(), given: 0, filled: 0, at_end: false }
    }

    /// The next records with their ends; only the very last record may lack its own. `None` after it.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
        while !self.at_end {
            self.make_room()?;
            let fresh = self.filled;
            let read = match self.source.read(&mut self.buffer[fresh..]) {
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.filled += read;
            self.at_end = read == 0;
            if let Some(last) = memchr::memrchr(self.end, &self.buffer[fresh..self.filled]) {
                self.given = fresh + last + 1;
                return Ok(Some(&self.buffer[..self.given]));
            }
        }
        self.given = self.filled;
        Ok(if self.filled == 0 { None } else { Some(&self.buffer[..self.filled]) })
    }

    /// At least half a block is free; the buffer doubles while one record fills it.
    fn make_room(&mut self) -> io::Result<()> {
        if self.buffer.len() - self.filled >= BLOCK / 2 {
            return Ok(());
        }
        if self.filled > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a key is longer than 256 MiB"));
        }
        let len = (self.buffer.len() * 2).max(BLOCK);
        self.buffer.try_reserve_exact(len - self.buffer.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.buffer.resize(len, 0);
        Ok(())
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
        let mut all = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            all.push(block.to_vec());
        }
        assert!(blocks.next().unwrap().is_none(), "the end is the end");
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
