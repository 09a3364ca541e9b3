//! What a stream is, by its first bytes: compressed, text with a byte-order mark, or not a list of keys.

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use fullbloom_any::sniff;
use lzma_rust2::XzReader;
use std::io::{self, BufReader, Cursor, Read};

/// Compressed bytes read at once.
const COMPRESSED_BLOCK: usize = 64 << 10;

/// The memory that a stream of xz may ask for, in KiB: `xz -9` needs 65 MiB.
const XZ_MEMORY: u32 = 512 << 10;

/// Bytes of a magic, and which bits of them count.
type Magic = (&'static [u8], &'static [u8]);

const ALL: [u8; 16] = [0xff; 16];

/// How a stream is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

const PACKED: [(Magic, Packing); 6] = [
    // The method is deflate, and the reserved flags are clear (RFC 1952).
    ((&[0x1f, 0x8b, 8, 0], &[0xff, 0xff, 0xff, 0xe0]), Packing::Gzip),
    ((&[0x28, 0xb5, 0x2f, 0xfd], &ALL), Packing::Zstd),
    // A skippable frame may come first (RFC 8878).
    ((&[0x50, 0x2a, 0x4d, 0x18], &[0xf0, 0xff, 0xff, 0xff]), Packing::Zstd),
    ((b"\xfd7zXZ\0", &ALL), Packing::Xz),
    // The level is a digit; a block follows, or the end of a stream of nothing.
    ((b"BZh0\x31\x41\x59\x26\x53\x59", &BZIP2_MASK), Packing::Bzip2),
    ((b"BZh0\x17\x72\x45\x38\x50\x90", &BZIP2_MASK), Packing::Bzip2),
];

const BZIP2_MASK: [u8; 10] = [0xff, 0xff, 0xff, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// Contents that are never lines of keys: what it is, and what to do.
const REFUSED: [(&[u8], &str, &str); 12] = [
    (b"PK\x03\x04", "a zip archive", "unzip -p FILE prints what is in it"),
    (b"PK\x05\x06", "an empty zip archive", "there are no keys in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z e -so FILE prints what is in it"),
    (b"Rar!\x1a\x07", "a RAR archive", "unrar p -inul FILE prints what is in it"),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "lz4 -dc FILE unpacks it"),
    (b"\x1f\x9d", "compressed by compress", "gzip -dc FILE unpacks it"),
    (b"\xff\xfe", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE makes UTF-8 of it"),
    (b"\xfe\xff", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE makes UTF-8 of it"),
    (
        b"\x89FBLOOM\n",
        "a filter of fullbloom",
        "fullbloom inspect FILE shows it; a filter does not store its keys",
    ),
    (
        b"libbloom2\x40\0",
        "a filter of libbloom",
        "fullbloom inspect FILE shows it; a filter does not store its keys",
    ),
    (b"PAR1\x15", "a Parquet file", "fullbloom keys FILE prints the values of a column"),
    (b"SQLite format 3\0", "an SQLite database", "sqlite3 FILE 'SELECT …' prints a column"),
];

/// Where a tar archive has its magic, and the magic.
const TAR: (usize, &[u8]) = (257, b"ustar");

const TAR_ARCHIVE: NotKeys = NotKeys { what: "a tar archive", hint: "tar -xOf FILE prints what is in it" };

const BINARY: NotKeys = NotKeys { what: "binary data", hint: "keys in UTF-16 become UTF-8 by iconv" };

/// The byte-order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What a stream of records may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Lines of text.
    Text,
    /// Lines in which every byte is checked later. Known contents that are never lines are refused.
    Lines,
    /// Any bytes: nothing is refused.
    Anything,
}

/// A stream that is not a list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotKeys {
    /// What it is.
    pub what: &'static str,
    /// What to do.
    pub hint: &'static str,
}

/// Why a stream cannot be read.
#[derive(Debug)]
pub enum Refused {
    Io(io::Error),
    NotKeys(NotKeys),
    /// Binary data that no magic number identifies.
    Binary(NotKeys),
}

impl From<io::Error> for Refused {
    fn from(e: io::Error) -> Refused {
        Refused::Io(e)
    }
}

/// A stream that has been examined.
pub struct Content<'a> {
    /// Its bytes, decompressed and without a byte-order mark.
    pub bytes: Box<dyn Read + Send + 'a>,
    /// It began with a byte-order mark.
    pub had_mark: bool,
}

/// The contents of a stream, if they may be what is expected.
pub fn contents<'a>(raw: impl Read + Send + 'a, expected: Expected) -> Result<Content<'a>, Refused> {
    let bytes = decompressed(raw)?;
    if expected == Expected::Anything {
        return Ok(Content { bytes, had_mark: false });
    }
    let (mut front, bytes) = begin(bytes, COMPRESSED_BLOCK, |front| {
        front.len() < MARK.len() && MARK.starts_with(front)
            || REFUSED.iter().any(|(magic, ..)| front.len() < magic.len() && magic.starts_with(front))
    })?;
    if let Some((_, what, hint)) = REFUSED.into_iter().find(|(magic, ..)| front.starts_with(magic)) {
        return Err(Refused::NotKeys(NotKeys { what, hint }));
    }
    let (at, magic) = TAR;
    if front.get(at..).is_some_and(|rest| rest.starts_with(magic)) {
        return Err(Refused::NotKeys(TAR_ARCHIVE));
    }
    if expected == Expected::Text && is_binary(&front) {
        return Err(Refused::Binary(BINARY));
    }
    let had_mark = front.starts_with(MARK);
    if had_mark {
        front.drain(..MARK.len());
    }
    Ok(Content { bytes: Box::new(Cursor::new(front).chain(bytes)), had_mark })
}

/// Whether a stream that begins with these bytes is not text.
///
/// A zero byte decides. Other control characters separate fields in some files of UTF-8, and texts in
/// Latin-1, Shift-JIS or GBK are not UTF-8: one of the two alone is a list of keys, both together are not.
/// Bytes that are recognised as a filter are binary, too.
fn is_binary(front: &[u8]) -> bool {
    let is_control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t'..=b'\r');
    if !front.iter().any(is_control) {
        return false;
    }
    // The last character may be cut off.
    let is_utf8 = std::str::from_utf8(front).map_or_else(|e| e.error_len().is_none(), |_| true);
    front.contains(&0) || !is_utf8 || sniff::dialect(None, front).is_ok()
}

/// Reads the beginning of a stream, and on while `goes_on` says that it may be of interest. One read, if its
/// bytes are enough: a line from a slow pipe is not held back until the next one arrives.
fn begin<R: Read>(
    mut stream: R,
    at_once: usize,
    goes_on: impl Fn(&[u8]) -> bool,
) -> io::Result<(Vec<u8>, R)> {
    let mut front = vec![0; at_once];
    let mut filled = 0;
    while goes_on(&front[..filled]) {
        match stream.read(&mut front[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    front.truncate(filled);
    Ok((front, stream))
}

/// Whether these bytes are those of the magic, as far as both go.
fn agrees(front: &[u8], (magic, mask): Magic) -> bool {
    front.iter().zip(magic).zip(mask).all(|((byte, magic), mask)| byte & mask == *magic)
}

impl Packing {
    /// Whether more bytes may make it a compressed stream.
    fn may_begin(front: &[u8]) -> bool {
        PACKED.iter().any(|(magic, _)| front.len() < magic.0.len() && agrees(front, *magic))
    }

    fn of(front: &[u8]) -> Option<Packing> {
        let is = |(magic, _): &&(Magic, Packing)| front.len() >= magic.0.len() && agrees(front, *magic);
        PACKED.iter().find(is).map(|(_, packing)| *packing)
    }
}

/// Whether a file with this beginning is compressed.
pub fn is_packed(front: &[u8]) -> bool {
    Packing::of(front).is_some()
}

/// Bytes that decide whether a file is compressed.
pub const DECISIVE: usize = 10;

/// The stream itself, or its decompressed contents.
pub fn decompressed<'a>(raw: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let (front, raw) = begin(raw, COMPRESSED_BLOCK, Packing::may_begin)?;
    let packing = Packing::of(&front);
    let whole = Cursor::new(front).chain(raw);
    let buffered = |whole| BufReader::with_capacity(COMPRESSED_BLOCK, whole);
    Ok(match packing {
        None => Box::new(whole),
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(buffered(whole))),
        Some(Packing::Bzip2) => Box::new(MultiBzDecoder::new(buffered(whole))),
        Some(Packing::Xz) => Box::new(XzReader::new_mem_limit(buffered(whole), true, XZ_MEMORY)),
        Some(Packing::Zstd) => Box::new(zstd::stream::read::Decoder::with_buffer(buffered(whole))?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_detected_by_whole_magic_bytes_only() {
        assert_eq!(Packing::of(&[0x1f, 0x8b, 8, 0]), Some(Packing::Gzip));
        assert_eq!(Packing::of(&[0x1f, 0x8b, 8, 0x20]), None);
        assert_eq!(Packing::of(&[0x1f, 0x8b, 7, 0]), None);
        assert_eq!(Packing::of(&[0x1f, 0x8b, 8]), None);
        assert_eq!(Packing::of(&[0x28, 0xb5, 0x2f, 0xfd]), Some(Packing::Zstd));
        assert_eq!(Packing::of(&[0x5f, 0x2a, 0x4d, 0x18]), Some(Packing::Zstd));
        assert_eq!(Packing::of(b"\xfd7zXZ\0\0"), Some(Packing::Xz));
        assert_eq!(Packing::of(b"BZh91AY&SY"), Some(Packing::Bzip2));
        assert_eq!(Packing::of(b"BZh9 is a key\n"), None);
        assert_eq!(Packing::of(b""), None);
        assert_eq!(Packing::of(b"key\n"), None);
    }

    /// A reader that is asked once more than it must be would wait for a slow pipe.
    struct Once(Option<&'static [u8]>);

    impl Read for Once {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.take().expect("one read is enough");
            out[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn a_short_line_of_a_slow_pipe_is_not_held_back() {
        for line in [&b"B\n"[..], b"P\n", b"PAR1\n", b"libbloom2\n", b"\xef\n", b"7\n", b"\n"] {
            let mut content = contents(Once(Some(line)), Expected::Text).ok().unwrap();
            let mut read = vec![0; line.len()];
            content.bytes.read_exact(&mut read).unwrap();
            assert_eq!((read.as_slice(), content.had_mark), (line, false));
        }
    }

    #[test]
    fn what_is_not_lines_is_refused_and_other_records_may_begin_with_anything() {
        for (magic, what, _) in REFUSED {
            let bytes = [magic, b"anything\n"].concat();
            for expected in [Expected::Text, Expected::Lines] {
                match contents(bytes.as_slice(), expected).err().unwrap() {
                    Refused::NotKeys(NotKeys { what: found, .. }) => assert_eq!(found, what),
                    other => panic!("{other:?}"),
                }
            }
            let mut read = Vec::new();
            contents(bytes.as_slice(), Expected::Anything)
                .ok()
                .unwrap()
                .bytes
                .read_to_end(&mut read)
                .unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn text_in_any_encoding_is_text_and_bytes_of_programs_are_not() {
        let long = "é".repeat(40_000);
        for text in [
            &b"plain\tlines\r\n\x0c"[..],
            "Grüße\u{85}\n".as_bytes(),
            &long.as_bytes()[..65_535], // a character is cut off
            b"caf\xe9\n",
            b"\x82\xa0\x82\xa2\n", // Shift-JIS
            b"a\x01b\x1fc\n",
            b"\x1b[1mbold\x1b[0m\n",
            b"",
        ] {
            assert!(!is_binary(text), "{text:?}");
        }
        for bytes in [&b"a\0b\n"[..], b"\x7fELF\x02\x01\x01\0", b"a\x01\xff\n", b"k\0e\0y\0\n\0"] {
            assert!(is_binary(bytes), "{bytes:?}");
        }
    }
}
