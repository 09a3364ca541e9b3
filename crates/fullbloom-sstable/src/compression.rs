//! `CompressionInfo.db`: how `Data.db` is compressed, and where its chunks are.
//!
//! ```text
//!   | compressor: u16 + text | options: i32 | options * (u16 + bytes, u16 + bytes) | chunk length: i32 |
//!   | longest compressed chunk: i32 | data length: i64 | chunks: i32 | chunks * offset: i64 |
//!   Cassandra 6.0 may add a dictionary:
//!   | kind: u8 = 0 | id: i64 | length: i32 | dictionary | CRC32C of kind, id (little-endian) and dictionary |
//! ```
//!
//! ScyllaDB has no "longest compressed chunk", and keeps the dictionary in options called
//! `.dictionary.00000000`, `.dictionary.00000001` and so on: pieces to be joined in the order of the numbers.

use flate2::{Decompress, FlushDecompress, Status};
use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;
use std::fmt;
use std::sync::Arc;

/// The most bytes one chunk may decompress to. Cassandra's default is 16 KiB, its documentation goes to 256
/// KiB.
const MAX_CHUNK_LEN: u32 = 64 << 20;

/// Cassandra and ScyllaDB take a compressor's name with or without its package.
const PACKAGE: &[u8] = b"org.apache.cassandra.io.compress.";

/// How the classes begin that DataStax Enterprise encrypts chunks with: `Encryptor`,
/// `EncryptingLZ4Compressor` and others, with or without a package.
const ENCRYPTING: &[u8] = b"Encrypt";

/// The start of the options that hold pieces of ScyllaDB's dictionary; eight decimal digits follow.
const DICTIONARY_OPTION: &[u8] = b".dictionary.";

/// The only kind of dictionary that Cassandra writes: zstd's.
const ZSTD_DICTIONARY: u8 = 0;

/// How the file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Cassandra and DataStax: with "longest compressed chunk". Chunks of that length and more are stored
    /// uncompressed.
    Limited,
    /// ScyllaDB: every chunk is compressed.
    Unlimited,
}

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compressor {
    Lz4,
    Snappy,
    Deflate,
    Zstd,
    Noop,
}

impl Compressor {
    fn named(name: &[u8]) -> Option<Compressor> {
        match name.strip_prefix(PACKAGE).unwrap_or(name) {
            b"LZ4Compressor" | b"LZ4WithDictsCompressor" => Some(Compressor::Lz4),
            b"SnappyCompressor" => Some(Compressor::Snappy),
            b"DeflateCompressor" => Some(Compressor::Deflate),
            b"ZstdCompressor" | b"ZstdDictionaryCompressor" | b"ZstdWithDictsCompressor" => {
                Some(Compressor::Zstd)
            }
            b"NoopCompressor" => Some(Compressor::Noop),
            _ => None,
        }
    }
}

/// The contents of `CompressionInfo.db`.
#[derive(Debug, Clone)]
pub(crate) struct CompressionInfo<'a> {
    compressor: Compressor,
    dictionary: Option<Arc<[u8]>>,
    pub(crate) chunk_len: u32,
    /// Chunks of this length and more are stored uncompressed.
    pub(crate) stored_from: Option<u32>,
    pub(crate) data_len: u64,
    /// Eight bytes for each chunk.
    offsets: &'a [u8],
}

/// Why `CompressionInfo.db` cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InfoError {
    Decode(DecodeError),
    Compressor(String),
    Encrypted,
}

impl From<DecodeError> for InfoError {
    fn from(e: DecodeError) -> Self {
        InfoError::Decode(e)
    }
}

/// Whether a whole `CompressionInfo.db` says that the data are encrypted by DataStax Enterprise.
pub(crate) fn is_encrypted(bytes: &[u8]) -> bool {
    Cursor::new(bytes).slice_u16_be("compressor").is_ok_and(encrypts)
}

fn encrypts(compressor: &[u8]) -> bool {
    compressor.rsplit(|byte| *byte == b'.').next().is_some_and(|class| class.starts_with(ENCRYPTING))
}

impl<'a> CompressionInfo<'a> {
    pub(crate) fn decode(bytes: &'a [u8], layout: Layout) -> Result<Self, InfoError> {
        let mut cursor = Cursor::new(bytes);
        let name = cursor.slice_u16_be("compressor")?;
        let mut pieces = Vec::new();
        for _ in 0..cursor.count_be("compressor options")? {
            let at = cursor.at();
            let option = cursor.slice_u16_be("compressor option")?;
            let value = cursor.slice_u16_be("compressor option")?;
            if let Some(number) = option.strip_prefix(DICTIONARY_OPTION) {
                pieces.push((number, value, at));
            }
        }
        let at = cursor.at();
        let chunk_len = cursor.count_be("chunk length")?;
        if !chunk_len.is_power_of_two() || chunk_len > MAX_CHUNK_LEN {
            let allowed = "a power of two, at most 64 MiB";
            return Err(
                DecodeError::Value { field: "chunk length", at, got: chunk_len.into(), allowed }.into()
            );
        }
        let stored_from = match layout {
            Layout::Limited => Some(cursor.count_be("longest compressed chunk")?),
            Layout::Unlimited => None,
        };
        let data_len = cursor.long_count_be("data length")?;
        let at = cursor.at();
        let (chunks, expected) = (u64::from(cursor.count_be("chunks")?), data_len.div_ceil(chunk_len.into()));
        // Cassandra's writer, when flushed without new data, leaves empty chunks after the last.
        if chunks < expected {
            return Err(DecodeError::Mismatch { field: "chunks", at, got: chunks, expected }.into());
        }
        let offsets = cursor.slice("chunk offsets", chunks * 8)?;
        let behind = match (layout, cursor.remaining()) {
            (_, 0) => None,
            (Layout::Limited, _) => Some(dictionary_behind(&mut cursor)?),
            (Layout::Unlimited, _) => {
                let (field, at) = ("length of CompressionInfo.db", cursor.at());
                let got = bytes.len() as u64;
                return Err(DecodeError::Mismatch { field, at, got, expected: at }.into());
            }
        };
        if encrypts(name) {
            return Err(InfoError::Encrypted);
        }
        // Checked last, so that damage is reported as damage and not as an unknown compressor.
        let Some(named) = Compressor::named(name) else {
            return Err(InfoError::Compressor(String::from_utf8_lossy(name).into_owned()));
        };
        let (compressor, dictionary) = match behind {
            // Cassandra: a dictionary decides, whatever the name says.
            Some(dictionary) => (Compressor::Zstd, Some(dictionary.into())),
            None => (named, dictionary_of_options(pieces)?),
        };
        Ok(CompressionInfo { compressor, dictionary, chunk_len, stored_from, data_len, offsets })
    }

    pub(crate) fn offset(&self, chunk: u64) -> Option<u64> {
        let start = usize::try_from(chunk).ok()?.checked_mul(8)?;
        let word = self.offsets.get(start..)?.first_chunk::<8>()?;
        Some(u64::from_be_bytes(*word))
    }
}

/// The dictionary that Cassandra 6.0 writes behind the offsets. It does not look at bytes behind it.
fn dictionary_behind<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    let at = cursor.at();
    let kind = cursor.u8("kind of dictionary")?;
    if kind != ZSTD_DICTIONARY {
        let (field, allowed) = ("kind of dictionary", "0, for zstd");
        return Err(DecodeError::Value { field, at, got: kind.into(), allowed });
    }
    let id = cursor.i64_be("dictionary id")?;
    let len = cursor.count_be("dictionary length")?;
    let dictionary = cursor.slice("dictionary", len.into())?;
    let at = cursor.at();
    let got = cursor.u32_be("checksum of the dictionary")?;
    let sum = crc32c::crc32c_append(crc32c::crc32c(&[kind]), &id.to_le_bytes());
    let expected = crc32c::crc32c_append(sum, dictionary);
    if got != expected {
        let (field, got, expected) = ("checksum of the dictionary", got.into(), expected.into());
        return Err(DecodeError::Mismatch { field, at, got, expected });
    }
    Ok(dictionary)
}

/// ScyllaDB's dictionary: `(number, piece, position of the option)`, in the order of the file.
fn dictionary_of_options(mut pieces: Vec<(&[u8], &[u8], u64)>) -> Result<Option<Arc<[u8]>>, DecodeError> {
    pieces.sort_unstable_by_key(|(number, ..)| *number);
    let mut whole = Vec::new();
    for (expected, (number, piece, at)) in pieces.iter().enumerate() {
        if *number != format!("{expected:08}").as_bytes() {
            let field = "number of a piece of the dictionary, one after the other from 00000000";
            return Err(DecodeError::Magic { field, at: *at });
        }
        whole.extend_from_slice(piece);
    }
    Ok(if pieces.is_empty() { None } else { Some(whole.into()) })
}

/// Decompresses chunks, with the dictionary where there is one.
pub(crate) struct Decompressor {
    compressor: Compressor,
    dictionary: Option<Arc<[u8]>>,
    /// Prepared once, because a dictionary takes longer to load than a chunk to decompress.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").field("compressor", &self.compressor).finish_non_exhaustive()
    }
}

impl Decompressor {
    /// For the chunks of this file.
    pub(crate) fn new(info: &CompressionInfo<'_>) -> Decompressor {
        let dictionary = info.dictionary.clone();
        // Without it chunks cannot be decompressed, and that is reported where it happens.
        let zstd = match info.compressor {
            Compressor::Zstd => {
                zstd::bulk::Decompressor::with_dictionary(dictionary.as_deref().unwrap_or(&[])).ok()
            }
            _ => None,
        };
        Decompressor { compressor: info.compressor, dictionary, zstd }
    }

    /// Copies a chunk that is stored as it is. Fills `out` exactly, or returns false.
    pub(crate) fn copy(bytes: &[u8], out: &mut [u8]) -> bool {
        let Some(bytes) = bytes.get(..out.len()) else { return false };
        out.copy_from_slice(bytes);
        true
    }

    /// Fills `out` exactly, or returns false.
    pub(crate) fn decompress(&mut self, bytes: &[u8], out: &mut [u8]) -> bool {
        let written = match self.compressor {
            Compressor::Lz4 => {
                // Four bytes of the decompressed length, little-endian, then the block.
                let Some((len, block)) = bytes.split_first_chunk::<4>() else { return false };
                if u32::from_le_bytes(*len) as usize != out.len() {
                    return false;
                }
                match &self.dictionary {
                    Some(dictionary) => {
                        lz4_flex::block::decompress_into_with_dict(block, out, dictionary).ok()
                    }
                    None => lz4_flex::block::decompress_into(block, out).ok(),
                }
            }
            Compressor::Snappy => snap::raw::Decoder::new().decompress(bytes, out).ok(),
            Compressor::Deflate => {
                let mut stream = Decompress::new(true);
                let end = stream.decompress(bytes, out, FlushDecompress::Finish);
                matches!(end, Ok(Status::StreamEnd)).then_some(stream.total_out() as usize)
            }
            Compressor::Zstd => {
                let zstd = self.zstd.as_mut();
                zstd.and_then(|zstd| zstd.decompress_to_buffer(bytes, out).ok())
            }
            Compressor::Noop => return Decompressor::copy(bytes, out),
        };
        written == Some(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &[u8]) -> Vec<u8> {
        [&(text.len() as u16).to_be_bytes()[..], text].concat()
    }

    /// A file of one chunk.
    fn file(name: &str, options: &[(&[u8], &[u8])], layout: Layout, behind: &[u8]) -> Vec<u8> {
        let mut out = text(name.as_bytes());
        out.extend_from_slice(&(options.len() as u32).to_be_bytes());
        for (option, value) in options {
            out.extend(text(option));
            out.extend(text(value));
        }
        out.extend_from_slice(&4096u32.to_be_bytes());
        if layout == Layout::Limited {
            out.extend_from_slice(&0x7fff_ffff_u32.to_be_bytes());
        }
        out.extend_from_slice(&100u64.to_be_bytes());
        out.extend_from_slice(&1u32.to_be_bytes());
        out.extend_from_slice(&0u64.to_be_bytes());
        out.extend_from_slice(behind);
        out
    }

    /// The dictionary as Cassandra 6.0 writes it.
    fn behind(dictionary: &[u8]) -> Vec<u8> {
        let id = 0x0123_4567_89ab_cdef_u64;
        let sum = crc32c::crc32c(&[&[0][..], &id.to_le_bytes(), dictionary].concat());
        let len = (dictionary.len() as u32).to_be_bytes();
        [&[0][..], &id.to_be_bytes(), &len, dictionary, &sum.to_be_bytes()].concat()
    }

    #[test]
    fn cassandras_dictionary_decides_whatever_the_name_says_and_bytes_behind_it_are_ignored() {
        for name in ["ZstdDictionaryCompressor", "LZ4Compressor"] {
            let bytes = file(name, &[], Layout::Limited, &[&behind(b"words")[..], b"more"].concat());
            let info = CompressionInfo::decode(&bytes, Layout::Limited).unwrap();
            assert_eq!(
                (info.compressor, info.dictionary.as_deref()),
                (Compressor::Zstd, Some(&b"words"[..]))
            );
        }
        let bytes = file("ZstdDictionaryCompressor", &[], Layout::Limited, &[]);
        let info = CompressionInfo::decode(&bytes, Layout::Limited).unwrap();
        assert_eq!((info.compressor, info.dictionary), (Compressor::Zstd, None));
    }

    #[test]
    fn every_cut_and_every_changed_byte_of_a_dictionary_is_refused() {
        let whole = behind(b"some words");
        for cut in 1..whole.len() {
            let bytes = file("ZstdCompressor", &[], Layout::Limited, &whole[..cut]);
            assert!(CompressionInfo::decode(&bytes, Layout::Limited).is_err(), "{cut}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            let bytes = file("ZstdCompressor", &[], Layout::Limited, &changed);
            assert!(CompressionInfo::decode(&bytes, Layout::Limited).is_err(), "{at}");
        }
    }

    #[test]
    fn scyllas_pieces_are_joined_by_their_numbers_and_a_gap_is_refused() {
        let decode = |options: &[(&[u8], &[u8])]| {
            let bytes = file("LZ4WithDictsCompressor", options, Layout::Unlimited, &[]);
            CompressionInfo::decode(&bytes, Layout::Unlimited).map(|info| info.dictionary)
        };
        let joined = decode(&[
            (b".dictionary.00000001", b"second"),
            (b"chunk_length_in_kb", b"4"),
            (b".dictionary.00000000", b"first "),
        ]);
        assert_eq!(joined.unwrap().as_deref(), Some(&b"first second"[..]));
        assert_eq!(decode(&[]).unwrap(), None);
        for wrong in [&b".dictionary.00000001"[..], b".dictionary.0", b".dictionary."] {
            assert!(decode(&[(wrong, b"piece")]).is_err(), "{wrong:?}");
        }
        let twice: [(&[u8], &[u8]); 2] = [(b".dictionary.00000000", b"a"), (b".dictionary.00000000", b"b")];
        assert!(decode(&twice).is_err());
    }

    #[test]
    fn names_are_taken_with_their_package_and_encryption_is_named() {
        let bytes = file("org.apache.cassandra.io.compress.LZ4Compressor", &[], Layout::Unlimited, &[]);
        assert_eq!(CompressionInfo::decode(&bytes, Layout::Unlimited).unwrap().compressor, Compressor::Lz4);
        for name in
            ["EncryptingLZ4Compressor", "com.datastax.bdp.cassandra.crypto.EncryptingSnappyCompressor"]
        {
            let bytes = file(name, &[], Layout::Limited, &[]);
            assert_eq!(CompressionInfo::decode(&bytes, Layout::Limited).unwrap_err(), InfoError::Encrypted);
        }
        let bytes = file("Encryptor", &[], Layout::Limited, &[]);
        assert_eq!(CompressionInfo::decode(&bytes, Layout::Limited).unwrap_err(), InfoError::Encrypted);
        assert!(is_encrypted(&bytes));
        let bytes = file("com.example.Brotli", &[], Layout::Limited, &[]);
        let error = CompressionInfo::decode(&bytes, Layout::Limited).unwrap_err();
        assert_eq!(error, InfoError::Compressor("com.example.Brotli".to_owned()));
    }

    #[test]
    fn a_file_of_one_layout_is_not_read_as_the_other() {
        let bytes = file("LZ4Compressor", &[], Layout::Unlimited, &[]);
        assert!(CompressionInfo::decode(&bytes, Layout::Limited).is_err());
        let bytes = file("LZ4Compressor", &[], Layout::Limited, &[]);
        assert!(CompressionInfo::decode(&bytes, Layout::Unlimited).is_err());
    }

    #[test]
    fn a_chunk_that_claims_more_than_the_limit_is_refused_before_memory_is_asked_for() {
        let mut bytes = file("ZstdCompressor", &[], Layout::Limited, &[]);
        let at = 2 + 14 + 4;
        bytes[at..at + 4].copy_from_slice(&(1u32 << 30).to_be_bytes());
        assert!(matches!(
            CompressionInfo::decode(&bytes, Layout::Limited),
            Err(InfoError::Decode(DecodeError::Value { field: "chunk length", .. }))
        ));
    }
}
