//! Compression and bounded decompression of blocks.
//!
//! ```text
//!   format_version 0, 1:  snappy | zlib, bzip2: nothing before | zstd: varint32 size | lz4: size in 8 bytes
//!   format_version 2 – 7: snappy | all others: varint32 size before
//!   LevelDB:              snappy | zstd under the number that means zlib in RocksDB, nothing before
//! ```
//!
//! A block can claim any size. Memory is allocated only after the claim has passed three tests: the absolute
//! limit, the best ratio its method can reach at all, and the ratio the caller allows. zlib here is raw
//! deflate without header. Dictionaries serve data blocks only.

use crate::bytes::{cursor, put_varint, u32_at};
use crate::error::{At, Problem};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use std::error::Error;
use std::io::Read;

/// Bounds on the memory that bytes from outside can make us allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes one block may occupy, stored or expanded. 64 MiB unless changed.
    pub block_len: u64,
    /// The most plain bytes for one compressed byte. 32768 unless changed: a mebibyte of zeros in a few dozen
    /// bytes of zstd stays readable.
    pub ratio: u64,
}

impl Limits {
    /// The limits unless changed. The writer keeps to them too.
    pub const DEFAULT: Limits = Limits { block_len: 64 << 20, ratio: 32768 };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// How a block is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Stored as it is.
    None,
    /// Compressed by Snappy, without its framing.
    Snappy,
    /// Compressed by deflate, without zlib's header.
    Zlib,
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by LZ4.
    Lz4,
    /// LZ4, by a more thorough compressor; the bytes are expanded the same way.
    Lz4hc,
    /// Compressed by Zstandard.
    Zstd,
}

impl Compression {
    /// All methods, for listings.
    pub const ALL: [Compression; 7] = [
        Compression::None,
        Compression::Snappy,
        Compression::Zlib,
        Compression::Bzip2,
        Compression::Lz4,
        Compression::Lz4hc,
        Compression::Zstd,
    ];

    /// The method's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Snappy => "snappy",
            Compression::Zlib => "zlib",
            Compression::Bzip2 => "bzip2",
            Compression::Lz4 => "lz4",
            Compression::Lz4hc => "lz4hc",
            Compression::Zstd => "zstd",
        }
    }

    /// The byte behind a block in RocksDB's numbering.
    pub fn byte(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Snappy => 1,
            Compression::Zlib => 2,
            Compression::Bzip2 => 3,
            Compression::Lz4 => 4,
            Compression::Lz4hc => 5,
            Compression::Zstd => 7,
        }
    }

    /// The highest possible expansion of one byte by this method.
    fn best_ratio(self) -> u64 {
        match self {
            Compression::None => 1,
            Compression::Snappy => 22, // a copy of 64 bytes takes 3
            Compression::Zlib => 1032, // 258 bytes for two bits
            Compression::Lz4 | Compression::Lz4hc => 255, // each further length byte
            Compression::Bzip2 | Compression::Zstd => u64::MAX,
        }
    }
}

/// What is needed, beside the bytes, to expand a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expander<'a> {
    pub(crate) format_version: u32,
    /// The file has LevelDB's magic number.
    pub(crate) old_magic: bool,
    pub(crate) dictionary: &'a [u8],
    pub(crate) limits: Limits,
}

/// The first bytes of zstd frames. No deflate stream begins like this: it would be a stored block with a
/// wrong length check.
const ZSTD_FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl Expander<'_> {
    /// The plain contents of the block at byte `at`, whose type byte is `kind`, not 0.
    pub(crate) fn expand(&self, kind: u8, bytes: &[u8], at: u64) -> Result<Vec<u8>, Problem> {
        let Some(method) = Compression::ALL.into_iter().find(|method| method.byte() == kind) else {
            let what = if kind == 6 { "compression with xpress" } else { "this compression type" };
            return Err(Problem::Unsupported { what, at: At::from(at + bytes.len() as u64) });
        };
        let of_leveldb = self.old_magic && method == Compression::Zlib && bytes.starts_with(&ZSTD_FRAME);
        let method = if of_leveldb { Compression::Zstd } else { method };
        let (declared, body) = match method {
            Compression::None => return Ok(bytes.to_vec()),
            Compression::Snappy => {
                let len = snap::raw::decompress_len(bytes).map_err(|e| failed(method, at, &e))?;
                (Some(len as u64), bytes)
            }
            Compression::Zstd if of_leveldb => {
                (zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten(), bytes)
            }
            Compression::Zlib | Compression::Bzip2 if self.format_version < 2 => (None, bytes),
            Compression::Lz4 | Compression::Lz4hc if self.format_version < 2 => {
                if bytes.len() < 8 {
                    let have = bytes.len() as u64;
                    return Err(Problem::Truncated { field: "plain size", at: At::from(at), need: 8, have });
                }
                // Eight bytes, of which the writer's machine used the first four; it was little-endian.
                (Some(u32_at(bytes, 0).into()), &bytes[8..])
            }
            _ => {
                let mut cursor = cursor(bytes, at);
                let declared = cursor.varint32("plain size")?;
                (Some(declared.into()), &bytes[cursor.offset()..])
            }
        };
        let most = self.most(method, bytes.len() as u64);
        if let Some(size) = declared.filter(|&size| size > most) {
            return Err(Problem::TooLarge { what: "expanded block", at, size, limit: most });
        }
        self.expand_as(method, body, declared, most, at)
    }

    /// The most plain bytes that `len` compressed ones may become.
    fn most(&self, method: Compression, len: u64) -> u64 {
        let ratio = self.limits.ratio.min(method.best_ratio());
        // 64 more: a short stream has a fixed part that the ratio does not cover.
        len.saturating_mul(ratio).saturating_add(64).min(self.limits.block_len)
    }

    fn expand_as(
        &self,
        method: Compression,
        body: &[u8],
        declared: Option<u64>,
        most: u64,
        at: u64,
    ) -> Result<Vec<u8>, Problem> {
        let fail = |why: &dyn ToString| failed(method, at, why);
        let plain = match (method, declared) {
            (Compression::Zlib, size) => self.inflate(body, size.unwrap_or(most), at)?,
            (Compression::Bzip2, size) => {
                read_bounded(bzip2::read::BzDecoder::new(body), size.unwrap_or(most), at, method)?
            }
            (_, None) => {
                let decoder = zstd::stream::read::Decoder::new(body).map_err(|e| fail(&e))?;
                read_bounded(decoder, most, at, method)?
            }
            (_, Some(size)) => {
                let mut plain = zeroed(size)?;
                let written = self.expand_into(method, body, &mut plain).map_err(|e| fail(&e))?;
                plain.truncate(written);
                plain
            }
        };
        match declared {
            Some(size) if size != plain.len() as u64 => {
                Err(fail(&format!("{} bytes came out, {size} were declared", plain.len())))
            }
            _ => Ok(plain),
        }
    }

    /// The methods that fill a buffer of known length.
    fn expand_into(
        &self,
        method: Compression,
        body: &[u8],
        plain: &mut [u8],
    ) -> Result<usize, Box<dyn Error>> {
        match method {
            Compression::Snappy => Ok(snap::raw::Decoder::new().decompress(body, plain)?),
            Compression::Lz4 | Compression::Lz4hc => {
                Ok(lz4_flex::block::decompress_into_with_dict(body, plain, self.dictionary)?)
            }
            _ => Ok(zstd::bulk::Decompressor::with_dictionary(self.dictionary)?
                .decompress_to_buffer(body, plain)?),
        }
    }

    /// Raw deflate. A dictionary has the same effect as a stored block of its bytes before the stream, so it
    /// is fed to the decoder as such a block, and its bytes are dropped from the result.
    fn inflate(&self, body: &[u8], most: u64, at: u64) -> Result<Vec<u8>, Problem> {
        const WINDOW: usize = 1 << 15;
        let fail = |why: &dyn ToString| failed(Compression::Zlib, at, why);
        let dictionary = &self.dictionary[self.dictionary.len().saturating_sub(WINDOW)..];
        let mut decoder = Decompress::new(false);
        let mut plain = Vec::new();
        if !dictionary.is_empty() {
            let len = dictionary.len() as u16; // not more than 2^15
            let mut stored = vec![0u8];
            stored.extend_from_slice(&len.to_le_bytes());
            stored.extend_from_slice(&(!len).to_le_bytes());
            stored.extend_from_slice(dictionary);
            plain.reserve_exact(dictionary.len());
            decoder.decompress_vec(&stored, &mut plain, FlushDecompress::None).map_err(|e| fail(&e))?;
        }
        let before = plain.len() as u64;
        loop {
            let made = plain.len() as u64 - before;
            if made > most {
                return Err(Problem::TooLarge { what: "expanded block", at, size: made, limit: most });
            }
            let step = (most - made + 1).min(64 << 10) as usize;
            plain.try_reserve(step).map_err(|_| Problem::Memory { bytes: before + made + step as u64 })?;
            let used = (decoder.total_in() - stored_len(dictionary)) as usize;
            let (inputs, outputs) = (decoder.total_in(), decoder.total_out());
            match decoder
                .decompress_vec(&body[used..], &mut plain, FlushDecompress::None)
                .map_err(|e| fail(&e))?
            {
                Status::StreamEnd => break,
                _ if (inputs, outputs) == (decoder.total_in(), decoder.total_out()) => {
                    return Err(fail(&"the stream has no end"));
                }
                _ => {}
            }
        }
        if plain.len() as u64 - before > most {
            return Err(Problem::TooLarge {
                what: "expanded block",
                at,
                size: plain.len() as u64,
                limit: most,
            });
        }
        plain.drain(..before as usize);
        Ok(plain)
    }
}

/// Bytes of the stored block that carries a dictionary.
fn stored_len(dictionary: &[u8]) -> u64 {
    if dictionary.is_empty() { 0 } else { dictionary.len() as u64 + 5 }
}

fn failed(method: Compression, at: u64, why: &(impl ToString + ?Sized)) -> Problem {
    Problem::Compressed { method: method.as_str(), at, why: why.to_string() }
}

fn zeroed(len: u64) -> Result<Vec<u8>, Problem> {
    let refused = Problem::Memory { bytes: len };
    let Ok(len) = usize::try_from(len) else { return Err(refused) };
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(len).is_err() {
        return Err(refused);
    }
    bytes.resize(len, 0);
    Ok(bytes)
}

/// Reads a stream of unknown length, but not beyond `most`.
fn read_bounded(stream: impl Read, most: u64, at: u64, method: Compression) -> Result<Vec<u8>, Problem> {
    let mut plain = Vec::new();
    stream.take(most.saturating_add(1)).read_to_end(&mut plain).map_err(|e| failed(method, at, &e))?;
    if plain.len() as u64 > most {
        return Err(Problem::TooLarge { what: "expanded block", at, size: plain.len() as u64, limit: most });
    }
    Ok(plain)
}

/// Compresses a block for a table of this version; `None` if there is no method or it saves too little.
///
/// The engines keep a block plain unless it shrinks by an eighth.
pub(crate) fn compress(method: Compression, plain: &[u8], format_version: u32) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let prefixed = format_version >= 2 && !matches!(method, Compression::Snappy | Compression::None);
    if prefixed || method == Compression::Zstd {
        put_varint(&mut out, plain.len() as u64);
    }
    match method {
        Compression::None => return None,
        Compression::Snappy => out = snap::raw::Encoder::new().compress_vec(plain).ok()?,
        Compression::Zlib => deflate(plain, &mut out)?,
        Compression::Bzip2 => {
            bzip2::read::BzEncoder::new(plain, bzip2::Compression::default()).read_to_end(&mut out).ok()?;
        }
        Compression::Lz4 | Compression::Lz4hc => {
            if format_version < 2 {
                out.extend_from_slice(&(plain.len() as u64).to_le_bytes());
            }
            out.extend_from_slice(&lz4_flex::block::compress(plain));
        }
        Compression::Zstd => {
            out.extend_from_slice(&zstd::bulk::compress(plain, zstd::DEFAULT_COMPRESSION_LEVEL).ok()?);
        }
    }
    (out.len() < plain.len() - plain.len() / 8).then_some(out)
}

/// Raw deflate. Matches may reach back 32 KiB where RocksDB's own stay within 16: its reader expands a block
/// into one buffer, where any distance works.
fn deflate(plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut encoder = Compress::new(flate2::Compression::default(), false);
    out.reserve(plain.len() + plain.len() / 1000 + 64);
    match encoder.compress_vec(plain, out, FlushCompress::Finish) {
        Ok(Status::StreamEnd) => Some(()),
        _ => None, // not smaller than the plain block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expander(format_version: u32) -> Expander<'static> {
        Expander {
            format_version,
            old_magic: format_version == 0,
            dictionary: &[],
            limits: Limits::default(),
        }
    }

    fn sample() -> Vec<u8> {
        (0..4000u32).flat_map(|i| (i / 7).to_le_bytes()).collect()
    }

    #[test]
    fn every_method_comes_back_in_every_version() {
        for version in 0..=7 {
            for method in Compression::ALL.into_iter().skip(1) {
                let packed = compress(method, &sample(), version).unwrap();
                let plain = expander(version).expand(method.byte(), &packed, 0).unwrap();
                assert_eq!(plain, sample(), "{method:?} in version {version}");
            }
        }
    }

    #[test]
    fn leveldb_keeps_zstd_under_the_number_of_zlib() {
        let packed = zstd::bulk::compress(&sample(), 1).unwrap();
        assert_eq!(expander(0).expand(2, &packed, 0).unwrap(), sample());
        let mut unsized_frame = Vec::new();
        zstd::stream::copy_encode(&sample()[..], &mut unsized_frame, 1).unwrap();
        assert_eq!(expander(0).expand(2, &unsized_frame, 0).unwrap(), sample());
    }

    #[test]
    fn what_does_not_shrink_by_an_eighth_is_left_plain() {
        let noise: Vec<u8> = (0..1000u32).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        for method in Compression::ALL {
            assert_eq!(compress(method, &noise, 5), None, "{method:?}");
        }
    }

    #[test]
    fn a_block_that_declares_a_gibibyte_is_refused_before_memory_is_taken() {
        let mut claim = Vec::new();
        put_varint(&mut claim, 1 << 30);
        claim.resize(900, 0);
        for method in Compression::ALL.into_iter().skip(1) {
            let error = expander(5).expand(method.byte(), &claim, 77).unwrap_err();
            let text = error.to_string();
            assert!(
                matches!(error, Problem::TooLarge { at: 77, size: 0x4000_0000, .. }),
                "{method:?}: {text}"
            );
        }
    }

    #[test]
    fn streams_without_a_size_stop_at_the_limit() {
        let zeros = vec![0u8; 1 << 20];
        let limits = Limits { block_len: 1 << 18, ..Limits::default() };
        for method in [Compression::Zlib, Compression::Bzip2] {
            let packed = compress(method, &zeros, 1).unwrap();
            assert_eq!(expander(1).expand(method.byte(), &packed, 0).unwrap(), zeros);
            let error = Expander { limits, ..expander(1) }.expand(method.byte(), &packed, 0).unwrap_err();
            assert!(matches!(error, Problem::TooLarge { limit: 0x4_0000, .. }), "{method:?}: {error}");
        }
        let mut frame = Vec::new();
        zstd::stream::copy_encode(&zeros[..], &mut frame, 1).unwrap();
        let error = Expander { limits, ..expander(0) }.expand(2, &frame, 0).unwrap_err();
        assert!(matches!(error, Problem::TooLarge { limit: 0x4_0000, .. }), "{error}");
    }

    #[test]
    fn a_wrong_declared_size_is_an_error_in_both_directions() {
        for method in Compression::ALL.into_iter().skip(2) {
            let packed = compress(method, &sample(), 5).unwrap();
            for declared in [sample().len() as u64 - 1, sample().len() as u64 + 1] {
                let mut lying = Vec::new();
                put_varint(&mut lying, declared);
                lying.extend_from_slice(&packed[3..]); // 16000 takes three bytes
                assert!(expander(5).expand(method.byte(), &lying, 0).is_err(), "{method:?} {declared}");
            }
        }
    }

    #[test]
    fn dictionaries_are_used() {
        let dictionary: Vec<u8> =
            (0..2000u32).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        let plain = dictionary[1000..3000].to_vec();
        let with = Expander { dictionary: &dictionary, ..expander(5) };
        let prefix = {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, plain.len() as u64);
            bytes
        };
        let zstd = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap().compress(&plain).unwrap();
        let packed = [&prefix[..], &zstd].concat();
        assert!(packed.len() < 100);
        assert_eq!(with.expand(7, &packed, 0).unwrap(), plain);
        assert!(expander(5).expand(7, &packed, 0).is_err());
        let packed = [&prefix[..], &lz4_flex::block::compress_with_dict(&plain, &dictionary)].concat();
        assert!(packed.len() < 100);
        assert_eq!(with.expand(4, &packed, 0).unwrap(), plain);

        // A deflate stream by hand: one block of fixed codes with a single match, length 258, distance 8000.
        let mut bits = BitWriter::default();
        bits.put(0b1, 1);
        bits.put(0b01, 2);
        bits.put_code(0b1100_0101, 8); // length symbol 285: 258 bytes
        bits.put_code(25, 5); // distance symbol 25: 6145 + 11 bits
        bits.put(8000 - 6145, 11);
        bits.put_code(0, 7); // end of block
        let mut packed = Vec::new();
        put_varint(&mut packed, 258);
        packed.extend_from_slice(&bits.finish());
        assert_eq!(with.expand(2, &packed, 0).unwrap(), dictionary[..258]);
    }

    #[derive(Default)]
    struct BitWriter {
        bits: Vec<bool>,
    }

    impl BitWriter {
        fn put(&mut self, value: u32, count: u32) {
            self.bits.extend((0..count).map(|i| value >> i & 1 == 1));
        }

        /// Huffman codes go in with their highest bit first.
        fn put_code(&mut self, value: u32, count: u32) {
            self.bits.extend((0..count).rev().map(|i| value >> i & 1 == 1));
        }

        fn finish(self) -> Vec<u8> {
            let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
            self.bits.chunks(8).map(byte).collect()
        }
    }
}
