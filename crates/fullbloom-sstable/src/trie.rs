//! The trie of `Partitions.db`: every payload in key order, without knowing the keys.
//!
//! A node begins with four bits of type and four of payload. Its children are before it in the file, and its
//! pointers are distances, so a walk always goes towards the start and cannot loop.
//!
//! | type | node | pointers |
//! |---|---|---|
//! | 0 | no children | |
//! | 1, 3 | one child, no payload: the payload bits are the pointer's upper ones | 4, 12 bits |
//! | 2, 4 | one child | 8, 16 bits |
//! | 5 – 9 | `n` children: `n`, `n` bytes they are chosen by, `n` pointers | 8, 12, 16, 24, 40 bits |
//! | 10 – 15 | a range of bytes: the first, `n - 1`, `n` pointers, 0 for none | 12, 16, 24, 32, 40, 64 bits |
//!
//! A payload of a node follows it. Payload bits of 8 and more: one byte of the key's hash, then a position of
//! `bits - 7` bytes; below 8: a position of `bits` bytes. Positions are signed.

use fullbloom::DecodeError;

/// One partition in the trie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Payload {
    /// The position of the node.
    pub(crate) at: u64,
    /// The low byte of the second half of the key's hash.
    pub(crate) hash: Option<u8>,
    /// In the row index where it is not negative, else `!position` in the data.
    pub(crate) position: i64,
}

/// The deepest a trie can be: a key of 65,535 bytes takes at most two bytes of path each, and the token
/// before it and the ends of both take less than a hundred.
const MAX_DEPTH: usize = 2 * 65_535 + 100;

/// The encoding of a node's pointers.
#[derive(Debug, Clone, Copy)]
enum Pointers {
    /// In the lower bits of the node's first byte, or first two bytes.
    Low4,
    Low12,
    /// Twelve bits each, two in three bytes.
    Packed12,
    /// This many bytes each.
    Bytes(usize),
}

impl Pointers {
    /// Bytes that this many take, from the node's start in the first two cases.
    fn len(self, children: usize) -> usize {
        match self {
            Pointers::Low4 => 2,
            Pointers::Low12 => 3,
            Pointers::Packed12 => (children * 3).div_ceil(2),
            Pointers::Bytes(len) => children * len,
        }
    }
}

/// A node in the file. All of it, including pointers and payload, has been checked to be inside the file.
#[derive(Debug, Clone, Copy)]
struct Node<'a> {
    at: u64,
    pointers: Pointers,
    bytes: &'a [u8],
    children: usize,
    /// Zero pointers are absent children.
    holes: bool,
    payload: Option<Payload>,
}

impl<'a> Node<'a> {
    fn read(trie: &'a [u8], at: u64) -> Result<Node<'a>, DecodeError> {
        use Pointers::{Bytes, Low4, Low12, Packed12};
        const NODE: &str = "trie node";
        let node = usize::try_from(at).ok().and_then(|at| trie.get(at..)).unwrap_or_default();
        let part = |start: usize, len: usize| {
            let (need, have) = ((start + len) as u64, node.len() as u64);
            let short = DecodeError::Truncated { field: NODE, at, need, have };
            node.get(start..start + len).ok_or(short)
        };
        let byte = |i: usize| part(i, 1).map(|bytes| bytes[0]);
        let (kind, bits) = (byte(0)? >> 4, byte(0)? & 0xf);
        let (start, children) = match kind {
            0 => (1, 0),
            1 | 3 => (0, 1),
            2 | 4 => (2, 1),
            5..=9 => (2 + usize::from(byte(1)?), usize::from(byte(1)?)),
            _ => (3, usize::from(byte(2)?) + 1),
        };
        if kind > 0 && children == 0 {
            let (got, allowed) = (0, "at least one child");
            return Err(DecodeError::Value { field: NODE, at, got, allowed });
        }
        const KINDS: [Pointers; 16] = [
            Bytes(0),
            Low4,
            Bytes(1),
            Low12,
            Bytes(2), // none, one child
            Bytes(1),
            Packed12,
            Bytes(2),
            Bytes(3),
            Bytes(5), // chosen by a list
            Packed12,
            Bytes(2),
            Bytes(3),
            Bytes(4),
            Bytes(5),
            Bytes(8), // chosen by a range
        ];
        let pointers = KINDS[usize::from(kind)];
        let bytes = part(start, pointers.len(children))?;
        let end = start + bytes.len();
        let payload = match (kind, bits) {
            (1 | 3, _) | (_, 0) => None,
            (_, 1..=7) => Some((None, part(end, bits.into())?)),
            _ => Some((Some(byte(end)?), part(end + 1, usize::from(bits) - 7)?)),
        };
        let payload = payload.map(|(hash, position)| Payload { at, hash, position: signed(position) });
        Ok(Node { at, pointers, bytes, children, holes: kind >= 10, payload })
    }

    /// The distance to a child before this node; 0 for none.
    fn distance(&self, child: usize) -> u64 {
        let word = |i: usize| u16::from_be_bytes([self.bytes[i], self.bytes[i + 1]]);
        match self.pointers {
            Pointers::Low4 => u64::from(self.bytes[0] & 0xf),
            Pointers::Low12 => u64::from(word(0) & 0xfff),
            Pointers::Packed12 if child.is_multiple_of(2) => u64::from(word(child / 2 * 3) >> 4),
            Pointers::Packed12 => u64::from(word(child / 2 * 3 + 1) & 0xfff),
            Pointers::Bytes(len) => {
                let bytes = &self.bytes[child * len..][..len];
                bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
            }
        }
    }

    /// The first existing child from `next` on: its number and its position.
    fn child(&self, next: usize) -> Result<Option<(usize, u64)>, DecodeError> {
        for child in next..self.children {
            let distance = self.distance(child);
            if distance == 0 && self.holes {
                continue;
            }
            if distance == 0 || distance > self.at {
                let allowed = "a child before its parent";
                let (field, at) = ("trie pointer", self.at);
                return Err(DecodeError::Value { field, at, got: distance.into(), allowed });
            }
            return Ok(Some((child, self.at - distance)));
        }
        Ok(None)
    }
}

/// A big-endian integer with sign.
fn signed(bytes: &[u8]) -> i64 {
    let start = if bytes.first().is_some_and(|&first| first >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(start, |value, &byte| value << 8 | i64::from(byte))
}

/// The payloads of a trie in order. After an error there are no more.
#[derive(Debug)]
pub(crate) struct Payloads<'a> {
    trie: &'a [u8],
    /// Nodes above the current one that have more children: place, number of the next child.
    above: Vec<(u64, u16)>,
    /// The node to go to next.
    next: Option<u64>,
    /// The number of nodes that were visited.
    met: u64,
}

impl<'a> Payloads<'a> {
    /// `trie` is the part of the file that holds nodes, `root` the place of its root.
    pub(crate) fn new(trie: &'a [u8], root: u64) -> Self {
        Payloads { trie, above: Vec::new(), next: Some(root), met: 0 }
    }

    fn step(&mut self) -> Result<Option<Payload>, DecodeError> {
        loop {
            if let Some(at) = self.next.take() {
                // Nodes that share a child could make a small file take exponential time. In a trie each node
                // is visited once, and has at least one byte.
                self.met += 1;
                if self.met > self.trie.len() as u64 || self.above.len() >= MAX_DEPTH {
                    let allowed = "each node met once, and no deeper than a key";
                    return Err(DecodeError::Value { field: "trie", at, got: self.met.into(), allowed });
                }
                let node = Node::read(self.trie, at)?;
                if node.children > 0 {
                    self.above.push((at, 0));
                }
                if node.payload.is_some() {
                    return Ok(node.payload);
                }
                continue;
            }
            let Some((at, next)) = self.above.pop() else { return Ok(None) };
            let node = Node::read(self.trie, at)?;
            if let Some((child, place)) = node.child(next.into())? {
                // After the last child there is no need to return to its parent.
                if child + 1 < node.children {
                    self.above.push((at, child as u16 + 1));
                }
                self.next = Some(place);
            }
        }
    }
}

impl Iterator for Payloads<'_> {
    type Item = Result<Payload, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.above.clear();
            self.next = None;
        }
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node of this kind with these children (choosing byte, place), at `at`; payload bits 0.
    fn node(kind: u8, at: u64, children: &[(u8, u64)]) -> Vec<u8> {
        let distance = |place: u64| at - place;
        let mut out = vec![kind << 4];
        let mut pointers: Vec<u64> = children.iter().map(|&(_, place)| distance(place)).collect();
        match kind {
            0 => return out,
            1 => return vec![kind << 4 | pointers[0] as u8, children[0].0],
            3 => return vec![kind << 4 | (pointers[0] >> 8) as u8, pointers[0] as u8, children[0].0],
            2 | 4 => out.push(children[0].0),
            5..=9 => {
                out.push(children.len() as u8);
                out.extend(children.iter().map(|&(byte, _)| byte));
            }
            _ => {
                let (first, last) = (children[0].0, children[children.len() - 1].0);
                out.extend_from_slice(&[first, last - first]);
                let place = |byte| children.iter().find(|&&(b, _)| b == byte).map(|&(_, place)| place);
                pointers = (first..=last).map(|byte| place(byte).map_or(0, distance)).collect();
            }
        }
        let bits = [0, 4, 8, 12, 16, 8, 12, 16, 24, 40, 12, 16, 24, 32, 40, 64][usize::from(kind)];
        let digits: String = pointers.iter().map(|p| format!("{p:0width$x}", width = bits / 4)).collect();
        let digits = if digits.len() % 2 == 1 { digits + "0" } else { digits };
        out.extend((0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()));
        out
    }

    fn positions(trie: &[u8], root: u64) -> Result<Vec<i64>, DecodeError> {
        Payloads::new(trie, root).map(|payload| payload.map(|p| p.position)).collect()
    }

    #[test]
    fn every_kind_of_node_leads_to_its_children() {
        for kind in 1..=15u8 {
            for gap in [0, 5] {
                // Leaves with positions 1, 2, 3; then the node.
                let mut trie = vec![0x08, 0, 1, 0x01, 2, 0x09, 0, 0, 3];
                let leaves = [(10, 0), (11, 3), (14, 5)];
                trie.resize(trie.len() + gap, 0xee);
                let root = trie.len() as u64;
                let children = if kind <= 4 { &leaves[..1] } else { &leaves[..] };
                trie.extend(node(kind, root, children));
                let expected = if kind <= 4 { &[1][..] } else { &[1, 2, 3] };
                assert_eq!(positions(&trie, root).as_deref(), Ok(expected), "kind {kind}");
                for cut in root as usize..trie.len() {
                    assert!(positions(&trie[..cut], root).is_err(), "kind {kind} cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn one_child_in_a_list_of_twelve_bits_is_the_upper_part_of_two_bytes() {
        let mut trie = vec![0x08, 0, 7];
        trie.extend(node(6, 3, &[(1, 0)]));
        assert_eq!(trie[3..], [0x60, 1, 1, 0x00, 0x30]);
        assert_eq!(positions(&trie, 3), Ok(vec![7]));
    }

    #[test]
    fn a_node_may_have_a_payload_and_children() {
        // Position -2 on the way, position 5 below it.
        let trie = [0x08, 0, 5, 0x2a, b'x', 3, 0xaa, 0xff, 0xff, 0xfe];
        assert_eq!(positions(&trie, 3), Ok(vec![-2, 5]));
        let payloads: Vec<_> = Payloads::new(&trie, 3).map(|p| p.unwrap().hash).collect();
        assert_eq!(payloads, [Some(0xaa), Some(0)]);
    }

    #[test]
    fn positions_have_their_sign_at_every_length() {
        for len in 1..=8u8 {
            for value in [-1i64, -128, 0, 127] {
                let mut trie = vec![7 + len, 0];
                trie.extend_from_slice(&value.to_be_bytes()[8 - usize::from(len)..]);
                assert_eq!(positions(&trie, 0), Ok(vec![value]));
            }
        }
    }

    #[test]
    fn shared_children_do_not_make_a_walk_without_end() {
        // Sixty nodes, each with the one before as both its children: 2^60 paths.
        let mut trie = vec![0x08, 0, 1];
        let mut last = 0;
        for _ in 0..60 {
            let at = trie.len() as u64;
            trie.extend(node(5, at, &[(0, last), (1, last)]));
            last = at;
        }
        assert!(positions(&trie, last).is_err());
    }

    #[test]
    fn a_long_chain_takes_no_memory_and_ends_at_its_leaf() {
        let mut trie = vec![0x08, 0, 1];
        let mut last = 0;
        for _ in 0..1_000_000 {
            let at = trie.len() as u64;
            trie.extend(node(1, at, &[(7, last)]));
            last = at;
        }
        let mut payloads = Payloads::new(&trie, last);
        assert_eq!(payloads.next().unwrap().unwrap().position, 1);
        assert!(payloads.above.capacity() < 64);
        assert!(payloads.next().is_none());
    }

    #[test]
    fn pointers_to_nowhere_are_refused() {
        assert!(positions(&[0x08, 0, 1, 0x10, b'a'], 3).is_err(), "a child that is its parent");
        assert!(positions(&[0x08, 0, 1, 0x1f, b'a'], 3).is_err(), "a child before the file");
        assert!(positions(&[0x50, 0], 0).is_err(), "a list of no children");
        assert!(positions(&[0x08, 0, 1], 9).is_err(), "a root past the end");
        assert_eq!(positions(&[0x00], 0), Ok(vec![]), "the trie of no keys");
    }
}
