//! `Data.db` at any position, compressed or not.
//!
//! A compressed file is a sequence of chunks, each followed by the CRC of its bytes; `CompressionInfo.db`
//! lists their offsets. A chunk that compression did not make shorter than "longest compressed chunk" is
//! stored uncompressed, and padded with zeros if it is the last and short. Empty chunks may follow the last.

use crate::compression::{CompressionInfo, Decompressor};
use flate2::Crc;
use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// Bytes of the checksum behind each chunk.
const CRC_LEN: u64 = 4;

#[derive(Debug)]
struct Compressed<'a> {
    info: CompressionInfo<'a>,
    decompressor: Decompressor,
}

/// `Data.db`, to be read forward.
#[derive(Debug)]
pub(crate) struct Data<'a> {
    file: &'a [u8],
    compressed: Option<Compressed<'a>>,
    /// The chunk now in `chunk`.
    loaded: Option<u64>,
    chunk: Vec<u8>,
    /// A key that spans chunks.
    spill: Vec<u8>,
}

impl<'a> Data<'a> {
    pub(crate) fn new(file: &'a [u8], info: Option<CompressionInfo<'a>>) -> Self {
        let compressed = info.map(|info| Compressed { decompressor: Decompressor::new(&info), info });
        Data { file, compressed, loaded: None, chunk: Vec::new(), spill: Vec::new() }
    }

    /// The key at the start of a partition: u16 length and bytes, at a position of the uncompressed data.
    pub(crate) fn key_at(&mut self, position: u64) -> Result<&[u8], DecodeError> {
        const KEY: &str = "key of a partition";
        if self.compressed.is_none() {
            return Cursor::pointed(self.file, KEY, position)?.slice_u16_be(KEY);
        }
        let start = self.load(position)?;
        if let Some(len) = self.chunk[start..].first_chunk::<2>() {
            let end = start + 2 + usize::from(u16::from_be_bytes(*len));
            if end <= self.chunk.len() {
                return Ok(&self.chunk[start + 2..end]);
            }
        }
        self.copy(position, 2)?;
        let len = u16::from_be_bytes([self.spill[0], self.spill[1]]);
        self.copy(position + 2, len.into())?;
        Ok(&self.spill)
    }

    /// Copies bytes that span chunks into `spill`.
    fn copy(&mut self, position: u64, len: usize) -> Result<(), DecodeError> {
        self.spill.clear();
        while self.spill.len() < len {
            let start = self.load(position + self.spill.len() as u64)?;
            let wanted = (len - self.spill.len()).min(self.chunk.len() - start);
            self.spill.extend_from_slice(&self.chunk[start..start + wanted]);
        }
        Ok(())
    }

    /// Loads the chunk of this position; returns the offset in it.
    fn load(&mut self, position: u64) -> Result<usize, DecodeError> {
        let Data { file, compressed: Some(Compressed { info, decompressor }), loaded, chunk: out, .. } = self
        else {
            return Ok(0); // uncompressed data are read where they are
        };
        if position >= info.data_len {
            let (field, have) = ("partition in the data", 0);
            return Err(DecodeError::Truncated { field, at: position, need: 1, have });
        }
        let chunk_len = u64::from(info.chunk_len);
        let (chunk, start) = (position / chunk_len, position % chunk_len);
        if *loaded != Some(chunk) {
            *loaded = None;
            let len = chunk_len.min(info.data_len - chunk * chunk_len) as usize;
            decompress(file, info, decompressor, chunk, len, out)?;
            *loaded = Some(chunk);
        }
        Ok(start as usize)
    }
}

/// Checks and decompresses one chunk of `len` bytes into `out`.
fn decompress(
    file: &[u8],
    info: &CompressionInfo<'_>,
    decompressor: &mut Decompressor,
    chunk: u64,
    len: usize,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    const FIELD: &str = "chunk of the data";
    let file_len = file.len() as u64;
    let missing = DecodeError::Truncated { field: FIELD, at: file_len, need: 1, have: 0 };
    let start = info.offset(chunk).ok_or(missing)?;
    let end = info.offset(chunk + 1).unwrap_or(file_len);
    if start > file_len || end > file_len || end < start || end - start < CRC_LEN {
        let have = file_len.saturating_sub(start);
        let need = end.saturating_sub(start).max(CRC_LEN + 1);
        return Err(DecodeError::Truncated { field: FIELD, at: start, need, have });
    }
    let (bytes, stored) = file[start as usize..end as usize]
        .split_last_chunk::<4>()
        .expect("the chunk was found to hold a checksum");
    let (got, mut crc) = (u32::from_be_bytes(*stored).into(), Crc::new());
    crc.update(bytes);
    if got != u64::from(crc.sum()) {
        let (field, at, expected) = ("checksum of a chunk of the data", end - CRC_LEN, crc.sum().into());
        return Err(DecodeError::Mismatch { field, at, got, expected });
    }
    out.clear();
    out.try_reserve_exact(len).map_err(|_| DecodeError::Memory { bytes: len as u64 })?;
    out.resize(len, 0);
    let is_stored = info.stored_from.is_some_and(|from| bytes.len() as u64 >= from.into());
    let done = match is_stored {
        true => Decompressor::copy(bytes, out),
        false => decompressor.decompress(bytes, out),
    };
    match done {
        true => Ok(()),
        false => Err(DecodeError::Magic { field: "compressed chunk of the data", at: start }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::{InfoError, Layout};

    const CHUNK: usize = 16;

    fn compress(name: &str, bytes: &[u8]) -> Vec<u8> {
        match name {
            "LZ4Compressor" => {
                let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
                out.extend(lz4_flex::block::compress(bytes));
                out
            }
            "SnappyCompressor" => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
            "DeflateCompressor" => {
                let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                std::io::Write::write_all(&mut out, bytes).unwrap();
                out.finish().unwrap()
            }
            "ZstdCompressor" => zstd::bulk::compress(bytes, 3).unwrap(),
            _ => bytes.to_vec(),
        }
    }

    /// `CompressionInfo.db` and `Data.db` of these data in chunks of 16 bytes.
    fn files(name: &str, stored_from: u32, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut info = (name.len() as u16).to_be_bytes().to_vec();
        info.extend_from_slice(name.as_bytes());
        info.extend_from_slice(&1u32.to_be_bytes());
        info.extend_from_slice(b"\0\x01o\0\x02v1");
        info.extend_from_slice(&(CHUNK as u32).to_be_bytes());
        info.extend_from_slice(&stored_from.to_be_bytes());
        info.extend_from_slice(&(data.len() as u64).to_be_bytes());
        info.extend_from_slice(&(data.len().div_ceil(CHUNK) as u32).to_be_bytes());
        let mut file = Vec::new();
        for chunk in data.chunks(CHUNK) {
            info.extend_from_slice(&(file.len() as u64).to_be_bytes());
            let mut bytes = compress(name, chunk);
            if bytes.len() as u32 >= stored_from {
                bytes = chunk.to_vec();
                bytes.resize(bytes.len().max(stored_from as usize), 0);
            }
            let mut crc = Crc::new();
            crc.update(&bytes);
            file.extend_from_slice(&bytes);
            file.extend_from_slice(&crc.sum().to_be_bytes());
        }
        (info, file)
    }

    const NAMES: [&str; 5] =
        ["LZ4Compressor", "SnappyCompressor", "DeflateCompressor", "ZstdCompressor", "NoopCompressor"];

    fn decode(info: &[u8]) -> Result<CompressionInfo<'_>, InfoError> {
        CompressionInfo::decode(info, Layout::Limited)
    }

    /// Three partitions: inside a chunk, with its length across two chunks, and over three chunks.
    fn partitions() -> Vec<u8> {
        let mut data = b"\0\x03one".to_vec();
        data.resize(15, b'.');
        data.extend_from_slice(b"\0\x03two");
        data.extend_from_slice(b"\0\x28");
        data.extend_from_slice(&[b'x'; 40]);
        data
    }

    #[test]
    fn keys_are_found_wherever_chunks_begin_under_every_compressor() {
        let data = partitions();
        let expected = [(0, &b"one"[..]), (15, b"two"), (20, &[b'x'; 40])];
        let mut plain = Data::new(&data, None);
        for (at, key) in expected {
            assert_eq!(plain.key_at(at), Ok(key));
        }
        for name in NAMES {
            for stored_from in [i32::MAX as u32, 1, 14] {
                let (info, file) = files(name, stored_from, &data);
                let mut chunked = Data::new(&file, Some(decode(&info).unwrap()));
                for (at, key) in expected {
                    assert_eq!(chunked.key_at(at), Ok(key), "{name} {stored_from}");
                }
                assert!(chunked.key_at(data.len() as u64).is_err());
                assert!(chunked.key_at(u64::MAX).is_err());
            }
        }
    }

    #[test]
    fn every_changed_byte_of_the_data_is_noticed() {
        let data = partitions();
        for name in NAMES {
            let (info, file) = files(name, i32::MAX as u32, &data);
            for at in 0..file.len() {
                let mut bytes = file.clone();
                bytes[at] ^= 0x40;
                let mut chunked = Data::new(&bytes, Some(decode(&info).unwrap()));
                let failed = [0, 15, 20].into_iter().any(|at| chunked.key_at(at).is_err());
                assert!(failed, "{name}, byte {at}");
            }
        }
    }

    #[test]
    fn cut_and_changed_infos_are_refused_or_lead_nowhere() {
        let data = partitions();
        let (info, file) = files("LZ4Compressor", i32::MAX as u32, &data);
        for cut in 0..info.len() {
            assert!(decode(&info[..cut]).is_err(), "{cut}");
        }
        for at in 0..info.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = info.clone();
                bytes[at] ^= flip;
                if let Ok(info) = decode(&bytes) {
                    let mut chunked = Data::new(&file, Some(info));
                    for position in [0, 15, 20, 1 << 40] {
                        let _ = chunked.key_at(position);
                    }
                }
            }
        }
    }

    #[test]
    fn empty_chunks_behind_the_last_are_passed_over_and_missing_ones_are_not() {
        let data = partitions();
        let (info, mut file) = files("LZ4Compressor", i32::MAX as u32, &data);
        let (count_at, chunks) =
            (info.len() - 8 * data.len().div_ceil(CHUNK) - 4, data.len().div_ceil(CHUNK));
        let with_count = |count: usize| {
            let mut info = info.clone();
            info[count_at..count_at + 4].copy_from_slice(&(count as u32).to_be_bytes());
            info
        };
        let mut more = with_count(chunks + 1);
        more.extend_from_slice(&(file.len() as u64).to_be_bytes());
        let empty = [0, 0, 0, 0, 0];
        let mut crc = Crc::new();
        crc.update(&empty);
        file.extend_from_slice(&empty);
        file.extend_from_slice(&crc.sum().to_be_bytes());
        let mut chunked = Data::new(&file, Some(decode(&more).unwrap()));
        assert_eq!(chunked.key_at(20), Ok(&[b'x'; 40][..]));
        assert!(chunked.key_at(data.len() as u64).is_err());

        let fewer = &with_count(chunks - 1)[..info.len() - 8];
        let Err(InfoError::Decode(DecodeError::Mismatch { field: "chunks", .. })) = decode(fewer) else {
            panic!("a chunk is missing")
        };
    }
}
