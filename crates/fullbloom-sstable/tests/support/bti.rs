//! The components of a BTI sstable: a trie writer that chooses node types as Cassandra does, rows and data.

use super::{Table, crc, filter, statistics, vint};
use fullbloom_dialects::Name;
use fullbloom_dialects::hash::murmur3_cassandra;
use std::fs;

/// Path of a key in the trie: any bytes that keep the order, and of which none begins with another, will do
/// here.
fn path(key: &[u8]) -> Vec<u8> {
    let mut path: Vec<u8> = key.iter().flat_map(|byte| [1, *byte]).collect();
    path.push(0);
    path
}

/// How many bytes two paths share.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Writes nodes for these (path, payload), children first; the place of the root.
fn write(out: &mut Vec<u8>, entries: &[(Vec<u8>, Vec<u8>)], depth: usize) -> u64 {
    let mut payload: &[u8] = &[];
    let mut children: Vec<(u8, u64)> = Vec::new();
    let mut rest = entries;
    if let Some((first, bytes)) = entries.first()
        && first.len() == depth
    {
        payload = bytes;
        rest = &entries[1..];
    }
    while let Some((first, _)) = rest.first() {
        let byte = first[depth];
        let len = rest.iter().take_while(|(path, _)| path[depth] == byte).count();
        let place = write(out, &rest[..len], depth + 1);
        children.push((byte, place));
        rest = &rest[len..];
    }
    let at = out.len() as u64;
    out.extend(node(at, &children, payload));
    at
}

/// One node, in the smallest type that can hold it.
fn node(at: u64, children: &[(u8, u64)], payload: &[u8]) -> Vec<u8> {
    // A payload is one byte of hash and a position.
    let bits = if payload.is_empty() { 0 } else { 8 + payload.len() as u8 - 2 };
    let distances: Vec<u64> = children.iter().map(|(_, place)| at - place).collect();
    let furthest = distances.iter().copied().max().unwrap_or(0);
    let mut out = match children {
        [] => vec![bits],
        [(byte, _)] if bits == 0 && furthest < 1 << 4 => vec![0x10 | furthest as u8, *byte],
        [(byte, _)] if furthest < 1 << 8 => vec![0x20 | bits, *byte, furthest as u8],
        [(byte, _)] if bits == 0 && furthest < 1 << 12 => {
            vec![0x30 | (furthest >> 8) as u8, furthest as u8, *byte]
        }
        [(byte, _)] if furthest < 1 << 16 => vec![0x40 | bits, *byte, (furthest >> 8) as u8, furthest as u8],
        _ => {
            let widths = [8, 12, 16, 24, 32, 40, 64];
            let width = *widths.iter().find(|w| **w == 64 || furthest >> **w == 0).unwrap();
            let (first, last) = (children[0].0, children[children.len() - 1].0);
            let span = usize::from(last - first) + 1;
            let (list_width, range_width) = (
                [8, 12, 16, 24, 40, 40, 64][widths.iter().position(|w| *w == width).unwrap()],
                width.max(12),
            );
            let list_len = 2 + children.len() + (children.len() * list_width).div_ceil(8);
            let range_len = 3 + (span * range_width).div_ceil(8);
            let digits = |width: usize, values: &[u64]| {
                let mut text: String =
                    values.iter().map(|v| format!("{v:0digits$x}", digits = width / 4)).collect();
                if text.len() % 2 == 1 {
                    text.push('0');
                }
                (0..text.len() / 2)
                    .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
                    .collect::<Vec<u8>>()
            };
            if width < 64 && list_len < range_len {
                let kind = [8, 12, 16, 24, 40].iter().position(|w| *w == list_width).unwrap() as u8 + 5;
                let mut out = vec![kind << 4 | bits, children.len() as u8];
                out.extend(children.iter().map(|(byte, _)| byte));
                out.extend(digits(list_width, &distances));
                out
            } else {
                let kind =
                    [12, 16, 24, 32, 40, 64].iter().position(|w| *w == range_width).unwrap() as u8 + 10;
                let mut out = vec![kind << 4 | bits, first, last - first];
                let mut values = vec![0; span];
                for ((byte, _), distance) in children.iter().zip(&distances) {
                    values[usize::from(byte - first)] = *distance;
                }
                out.extend(digits(range_width, &values));
                out
            }
        }
    };
    out.extend_from_slice(payload);
    out
}

/// A payload: the byte of the hash, and the position in as few bytes as keep its sign.
fn payload(key: &[u8], position: i64) -> Vec<u8> {
    let mut len = 1;
    while len < 8 && (position << (64 - 8 * len)) >> (64 - 8 * len) != position {
        len += 1;
    }
    let mut out = vec![murmur3_cassandra(key)[1] as u8];
    out.extend_from_slice(&position.to_be_bytes()[8 - len..]);
    out
}

/// `Partitions.db` of sorted keys with their index positions.
pub fn partitions(keys: &[(Vec<u8>, i64)]) -> Vec<u8> {
    let paths: Vec<Vec<u8>> = keys.iter().map(|(key, _)| path(key)).collect();
    let mut entries = Vec::new();
    for (i, (key, position)) in keys.iter().enumerate() {
        let before = i.checked_sub(1).map_or(0, |b| shared(&paths[b], &paths[i]) + 1);
        let after = paths.get(i + 1).map_or(0, |next| shared(next, &paths[i]) + 1);
        entries.push((paths[i][..before.max(after)].to_vec(), payload(key, *position)));
    }
    let mut out = Vec::new();
    let root = write(&mut out, &entries, 0);
    let first = out.len() as u64;
    for key in [keys.first(), keys.last()] {
        let key = key.map_or(&[][..], |(key, _)| key);
        out.extend_from_slice(&(key.len() as u16).to_be_bytes());
        out.extend_from_slice(key);
    }
    for number in [first, keys.len() as u64, root] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out
}

/// The components that hold the keys.
pub struct Components {
    pub partitions: Vec<u8>,
    pub rows: Vec<u8>,
    pub data: Vec<u8>,
    pub compression_info: Option<Vec<u8>>,
}

const CHUNK: usize = 256;

/// Partitions of these keys, which are put in order; every third has a row index.
pub fn components(keys: &[Vec<u8>], compressed: bool) -> Components {
    let mut keys = keys.to_vec();
    keys.sort();
    let (mut rows, mut data, mut indexed) = (Vec::new(), Vec::new(), Vec::new());
    for (i, key) in keys.iter().enumerate() {
        let mut head = (key.len() as u16).to_be_bytes().to_vec();
        head.extend_from_slice(key);
        let position = data.len() as u64;
        if i % 3 == 2 {
            rows.extend_from_slice(b"nodes of the row index");
            indexed.push((key.clone(), rows.len() as i64));
            rows.extend_from_slice(&head);
            rows.extend(vint(position));
            rows.extend_from_slice(&[0x2b, 2, 0x80]);
        } else {
            indexed.push((key.clone(), !(position as i64)));
        }
        data.extend_from_slice(&head);
        data.extend(std::iter::repeat_n(i as u8, 20 + i % 50));
    }
    let mut compression_info = None;
    if compressed {
        let mut info = b"\0\x0dLZ4Compressor\0\0\0\0".to_vec();
        info.extend_from_slice(&(CHUNK as u32).to_be_bytes());
        info.extend_from_slice(&i32::MAX.to_be_bytes());
        info.extend_from_slice(&(data.len() as u64).to_be_bytes());
        info.extend_from_slice(&(data.len().div_ceil(CHUNK) as u32).to_be_bytes());
        let mut file = Vec::new();
        for chunk in data.chunks(CHUNK) {
            info.extend_from_slice(&(file.len() as u64).to_be_bytes());
            let mut bytes = (chunk.len() as u32).to_le_bytes().to_vec();
            bytes.extend(lz4_flex::block::compress(chunk));
            file.extend_from_slice(&bytes);
            file.extend_from_slice(&crc(&[&bytes]));
        }
        data = file;
        compression_info = Some(info);
    }
    Components { partitions: partitions(&indexed), rows, data, compression_info }
}

impl Table {
    /// A sound sstable of the BTI format.
    pub fn add_bti(&self, generation: u32, keys: &[Vec<u8>], fpr: f64, compressed: bool) {
        let made = components(keys, compressed);
        let mut toc = "Data.db\nFilter.db\nPartitions.db\nRows.db\nStatistics.db\nTOC.txt\n".to_owned();
        if let Some(info) = &made.compression_info {
            self.put("da", generation, "CompressionInfo.db", info);
            toc.push_str("CompressionInfo.db\n");
        }
        self.put("da", generation, "Partitions.db", &made.partitions);
        self.put("da", generation, "Rows.db", &made.rows);
        self.put("da", generation, "Data.db", &made.data);
        self.put("da", generation, "Filter.db", &filter(Name::Cassandra, keys.len() as u64, fpr, keys));
        self.put("da", generation, "Statistics.db", &statistics("da", fpr, keys.len()));
        fs::write(self.path("da", generation, "TOC.txt"), toc).unwrap();
    }
}
