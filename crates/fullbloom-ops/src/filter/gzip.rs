//! Filters in gzip, as DCSO's `bloom --gzip` writes them.

use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

const MAGIC: &[u8] = &[0x1f, 0x8b, 8];

/// A filter larger than this many times its file is refused: deflate reaches 1032.
const RATIO: u64 = 1100;

/// The contents of a compressed file; `None` if it is not one. Several members in a row are one stream; bytes
/// after the last are an error. Memory grows with what is really unpacked.
pub fn unpack(bytes: &[u8]) -> Option<io::Result<Vec<u8>>> {
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    let limit = (bytes.len() as u64).saturating_mul(RATIO);
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut unpacked);
    Some(read.map(|_| unpacked))
}
