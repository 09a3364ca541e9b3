//! The part of the `zstd` crate that fullbloom uses, under the same names, without C code.
//!
//! `zstd` compiles C, which WebAssembly builds have no compiler for. There the crates that depend on it take
//! this one instead, and need no other source. It is slower, and knows no dictionary of plain bytes: one has
//! to begin with tables, as trained dictionaries do.
//!
//! ```
//! let packed = fullbloom_zstd::bulk::compress(b"some some some bytes", 3)?;
//! let mut plain = [0; 20];
//! let len = fullbloom_zstd::bulk::Decompressor::with_dictionary(&[])?.decompress_to_buffer(&packed, &mut plain)?;
//! assert_eq!(&plain[..len], b"some some some bytes");
//! # Ok::<(), std::io::Error>(())
//! ```

/// The level that stands for the default.
pub const DEFAULT_COMPRESSION_LEVEL: i32 = 3;

fn failed(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why)
}

/// Compression and decompression of whole frames.
pub mod bulk {
    use super::failed;
    use ruzstd::decoding::{BlockDecodingStrategy, Dictionary, FrameDecoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::{self, Read};
    use std::marker::PhantomData;

    /// Expands frames, with a dictionary or without.
    pub struct Decompressor<'d> {
        decoder: FrameDecoder,
        /// The dictionary's number.
        dictionary: Option<u32>,
        lifetime: PhantomData<&'d [u8]>,
    }

    impl Decompressor<'_> {
        /// With this dictionary; empty for none.
        pub fn with_dictionary(dictionary: &[u8]) -> io::Result<Self> {
            let mut decoder = FrameDecoder::new();
            let mut number = None;
            if !dictionary.is_empty() {
                let dictionary = Dictionary::decode_dict(dictionary).map_err(failed)?;
                number = Some(dictionary.id);
                decoder.add_dict(dictionary).map_err(failed)?;
            }
            Ok(Decompressor { decoder, dictionary: number, lifetime: PhantomData })
        }

        /// Expands a frame and returns its plain length. Fails if it is longer than `plain`.
        pub fn decompress_to_buffer(&mut self, mut frame: &[u8], plain: &mut [u8]) -> io::Result<usize> {
            let decoder = &mut self.decoder;
            decoder.reset(&mut frame).map_err(failed)?;
            if let Some(number) = self.dictionary {
                decoder.force_dict(number).map_err(failed)?;
            }
            let mut written = 0;
            loop {
                while decoder.can_collect() == 0 && !decoder.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    decoder.decode_blocks(&mut frame, one).map_err(failed)?;
                }
                if decoder.can_collect() == 0 {
                    return Ok(written);
                }
                match decoder.read(&mut plain[written..])? {
                    0 => return Err(failed("the frame is longer than announced")),
                    more => written += more,
                }
            }
        }
    }

    /// Compresses bytes into a frame. The level is ignored.
    pub fn compress(plain: &[u8], _level: i32) -> io::Result<Vec<u8>> {
        Ok(compress_to_vec(plain, CompressionLevel::Fastest))
    }
}

/// Frames as streams.
pub mod stream {
    /// Streams to read from.
    pub mod read {
        use crate::failed;
        use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
        use std::io::{self, Read};

        /// Reads the plain bytes of one frame.
        pub struct Decoder<R: Read>(StreamingDecoder<R, FrameDecoder>);

        impl<R: Read> Decoder<R> {
            /// Reads the header of the frame.
            pub fn new(frame: R) -> io::Result<Decoder<R>> {
                StreamingDecoder::new(frame).map(Decoder).map_err(failed)
            }
        }

        impl<R: Read> Read for Decoder<R> {
            fn read(&mut self, plain: &mut [u8]) -> io::Result<usize> {
                self.0.read(plain)
            }
        }
    }
}

/// Headers of frames.
pub mod zstd_safe {
    use crate::failed;
    use ruzstd::decoding::FrameDecoder;
    use std::io;

    /// The plain length that a frame announces. A frame of no bytes counts as one that announces nothing.
    pub fn get_frame_content_size(mut frame: &[u8]) -> io::Result<Option<u64>> {
        let mut decoder = FrameDecoder::new();
        decoder.init(&mut frame).map_err(failed)?;
        Ok(Some(decoder.content_size()).filter(|len| *len > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn sample() -> Vec<u8> {
        (0..60_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect()
    }

    #[test]
    fn frames_of_the_c_library_are_read_and_ours_are_read_by_it() {
        for plain in [&sample()[..], b"", b"x"] {
            let packed = zstd::bulk::compress(plain, 3).unwrap();
            let mut out = vec![0; plain.len()];
            let mut ours = bulk::Decompressor::with_dictionary(&[]).unwrap();
            for _ in 0..2 {
                assert_eq!(ours.decompress_to_buffer(&packed, &mut out).unwrap(), plain.len());
                assert_eq!(out, plain);
            }
            let announced = zstd_safe::get_frame_content_size(&packed).unwrap();
            assert_eq!(announced, Some(plain.len() as u64).filter(|len| *len > 0));
            let back = bulk::compress(plain, DEFAULT_COMPRESSION_LEVEL).unwrap();
            assert_eq!(zstd::bulk::decompress(&back, plain.len()).unwrap(), plain);
            let mut streamed = Vec::new();
            stream::read::Decoder::new(&packed[..]).unwrap().read_to_end(&mut streamed).unwrap();
            assert_eq!(streamed, plain);
        }
    }

    #[test]
    fn trained_dictionaries_are_used_and_plain_ones_are_refused() {
        let samples: Vec<Vec<u8>> =
            (0..8).map(|i| format!("user:{i:05}:name={}", i % 37).into_bytes()).collect();
        let dictionary = include_bytes!("../../../vectors/zstd/dictionary");
        let packed =
            zstd::bulk::Compressor::with_dictionary(3, dictionary).unwrap().compress(&samples[7]).unwrap();
        let mut out = vec![0; samples[7].len()];
        let mut with = bulk::Decompressor::with_dictionary(dictionary).unwrap();
        assert_eq!(with.decompress_to_buffer(&packed, &mut out).unwrap(), out.len());
        assert_eq!(out, samples[7]);
        assert!(bulk::Decompressor::with_dictionary(b"plain bytes, no tables").is_err());
    }

    #[test]
    fn short_buffers_and_every_cut_are_refused() {
        let packed = zstd::bulk::compress(&sample()[..3000], 3).unwrap();
        let mut ours = bulk::Decompressor::with_dictionary(&[]).unwrap();
        assert!(ours.decompress_to_buffer(&packed, &mut [0; 2999]).is_err());
        for cut in 0..packed.len() {
            assert!(ours.decompress_to_buffer(&packed[..cut], &mut [0; 3000]).is_err(), "{cut}");
        }
    }
}
