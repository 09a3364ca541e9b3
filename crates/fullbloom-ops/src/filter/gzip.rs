//! Filters in gzip, as DCSO's `bloom --gzip` writes them.

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use fullbloom::DecodeError;
use fullbloom_any::AnyFilter;
use fullbloom_core::part::Check;
use fullbloom_dialects::filter::Format;
use fullbloom_dialects::{Dcso, Name};
use std::io::{self, Read, Write};
use std::path::Path;

const MAGIC: &[u8] = &[0x1f, 0x8b, 8];

/// A filter may be this many times as large as its file: a filter of which one bit in 200 is set is 20 times.
const RATIO: u64 = 32;

/// Small filters may be this large, whatever the size of the file.
const SMALL: u64 = 64 << 20;

/// Unpacked at first, to look at the header.
const FRONT: u64 = 4 << 10;

/// Unpacked at once after that.
const STEP: u64 = 4 << 20;

/// The contents of a compressed file; `None` if it is not one. Several members in a row are one stream; bytes
/// after the last are an error. Memory grows with what is really unpacked, up to a limit.
pub fn unpack(bytes: &[u8]) -> Option<io::Result<Vec<u8>>> {
    is_packed(bytes).then(|| unpack_bounded(bytes))
}

/// Writes a filter as its program writes a file of this name: DCSO's program compresses files named `.gz`.
pub fn write_to(filter: &AnyFilter, path: &Path, out: &mut dyn Write) -> io::Result<()> {
    if filter.dialect() != Name::Dcso || path.extension().is_none_or(|ext| ext != "gz") {
        return filter.write_to(out);
    }
    let mut gzip = GzEncoder::new(out, Compression::default());
    filter.write_to(&mut gzip)?;
    gzip.finish().map(drop)
}

/// Whether these bytes begin as a gzip file does.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

fn unpack_bounded(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let limit = (bytes.len() as u64).saturating_mul(RATIO).max(SMALL);
    let mut unpacked = Vec::new();
    let mut gzip = MultiGzDecoder::new(bytes);
    gzip.by_ref().take(FRONT).read_to_end(&mut unpacked)?;
    if announced(&unpacked).is_some_and(|len| len > limit) {
        return Err(too_large(limit));
    }
    loop {
        unpacked.try_reserve(STEP as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if gzip.by_ref().take(STEP).read_to_end(&mut unpacked)? == 0 {
            return Ok(unpacked);
        }
        if unpacked.len() as u64 > limit {
            return Err(too_large(limit));
        }
    }
}

/// The length that the header of a DCSO filter announces, if these bytes begin with one and end before it.
fn announced(front: &[u8]) -> Option<u64> {
    match Dcso::decode(front, Check::Header) {
        Err(DecodeError::Truncated { at, need, .. }) => Some(at.saturating_add(need)),
        _ => None,
    }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::other(format!("more than {limit} bytes, far more than its file: unpack it with gunzip first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_refused_before_they_take_memory_and_filters_are_unpacked() {
        let pack = |front: &[u8], zeros: u64| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
            gzip.write_all(front).unwrap();
            io::copy(&mut io::repeat(0).take(zeros), &mut gzip).unwrap();
            gzip.finish().unwrap()
        };
        assert_eq!(unpack(b"plain").map(|_| ()), None);
        assert_eq!(unpack(&pack(b"filter", 1000)).unwrap().unwrap().len(), 1006);
        let bomb = pack(b"x", SMALL + 1);
        let refused = unpack(&bomb).unwrap().unwrap_err().to_string();
        assert!(refused.contains("gunzip"), "{refused}");
    }
}
