//! Exceptions: known-good keys that are false positives of the filter, and the structure that makes the
//! filter answer "no" to them.
//!
//! Only the necessary information is stored: about the false positives among the known-good keys, and nothing
//! about the others. Exceptions must never reject a member, so building them reads the members once more.
//!
//! A key that the bits report present is looked up in a chain of levels. Levels are small filters that hold
//! keys of the two sides in turn. A level holds every key of its side that has passed all earlier levels. A
//! key that is not in a level is certainly not of that side, so the other side wins:
//!
//! ```text
//!   filter: maybe ─► level 0, holds the known-good ──no──► present
//!                      │ yes
//!                      ▼
//!                    level 1, holds the members that passed level 0 ──no──► absent
//!                      │ yes
//!                      ▼
//!                    level 2, holds the known-good that passed level 1 ──no──► present        … and so on
//!                      │ yes
//!                      ▼
//!                    the last level is a list of hashes: exact, no false positives
//! ```
//!
//! **Why it is exact.** Take a member `m`. At a level of the known-good it may pass or not; if not, it is
//! reported present. If it does, it is by construction one of the keys that the next level holds, and that
//! level has no false negatives: `m` passes it too. So it can leave the chain only at a level of the
//! known-good by "no", or at the end, where the list holds exactly the keys of one side that have passed all
//! levels: present either way. The same argument with the sides exchanged shows that a known-good key among
//! the false positives is always reported absent.
//!
//! All of this works on the filter's own 64-bit hash of a key, so one hash per lookup is enough. A known-good
//! key with the same hash as a member cannot be told apart from it and stays a member; building reports such
//! keys.
//!
//! **Why it is small.** Each level passes about half of the keys of the other side and costs a bit and a half
//! for each of its own keys. A list costs 64 bits per key. The choice is made by computing both costs. With
//! few keys the list wins, and then it is the only level.

use super::shape::Shape;
use super::sizing::smallest_one_line;
use crate::error::SizeError;
use crate::kernel::lines::Line;
#[cfg(not(feature = "std"))]
use crate::sizing::math::Float as _;
use alloc::vec::Vec;
use core::ops::Range;

/// The levels and the list, in the form that lookups use.
#[derive(Debug, Default)]
pub struct Exceptions {
    levels: Vec<Level>,
    /// The lines of all levels, one level after the other.
    lines: Vec<Line>,
    /// The last level: sorted.
    list: Vec<u64>,
}

impl PartialEq for Exceptions {
    fn eq(&self, other: &Self) -> bool {
        let parameters = |level: &Level| (level.shape.layout, level.shape.blocks, level.lines.clone());
        self.levels.iter().map(parameters).eq(other.levels.iter().map(parameters))
            && self.lines == other.lines
            && self.list == other.list
    }
}

/// One small filter of the chain.
#[derive(Debug, Clone)]
pub struct Level {
    pub shape: Shape,
    lines: Range<usize>,
}

/// More levels than any realistic size needs; a chain that reaches this limit ends in a list.
pub const MAX_LEVELS: usize = 64;

/// Bits per key in a list.
const LIST_BITS: f64 = 64.0;

/// The hash of a key for one level: levels must make independent errors.
#[inline(always)]
fn level_hash(hash: u64, level: usize) -> u64 {
    let mut x = hash.wrapping_add((level as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ x >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 32
}

impl Exceptions {
    /// From stored parts: the shape of each level, all their lines, and the list.
    pub fn from_parts(shapes: Vec<Shape>, lines: Vec<Line>, list: Vec<u64>) -> Exceptions {
        let mut start = 0;
        let levels = shapes
            .into_iter()
            .map(|shape| {
                let lines = start..start + shape.blocks as usize;
                start = lines.end;
                Level { shape, lines }
            })
            .collect();
        Exceptions { levels, lines, list }
    }

    /// Whether a key that the filter reports present is one of the exceptions. Even levels hold known-good
    /// keys. A key that is not in a level belongs to the other side.
    pub fn excepts(&self, hash: u64) -> bool {
        let left_at = self.levels.iter().enumerate().position(|(i, level)| !self.passes(level, i, hash));
        match left_at {
            Some(level) => level % 2 == 1,
            None => self.levels.len().is_multiple_of(2) == self.list.binary_search(&hash).is_ok(),
        }
    }

    /// The share of a filter's false positives that are not excepted: those of keys that are neither members
    /// nor known-good. A level lets such a key pass at its rate, and the list lets none pass.
    pub fn kept_share(&self) -> f64 {
        let (mut reached, mut kept) = (1.0, 0.0);
        for (number, level) in self.levels.iter().enumerate() {
            let passing = reached * level.shape.fpr_now(&self.lines[level.lines.clone()]);
            if number % 2 == 0 {
                kept += reached - passing;
            }
            reached = passing;
        }
        if self.levels.len().is_multiple_of(2) { kept + reached } else { kept }
    }

    fn passes(&self, level: &Level, number: usize, hash: u64) -> bool {
        level.shape.test(&self.lines[level.lines.clone()], level_hash(hash, number))
    }

    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub fn list(&self) -> &[u64] {
        &self.list
    }

    /// Bytes of the levels and the list.
    pub fn byte_len(&self) -> u64 {
        (size_of_val(self.lines.as_slice()) + size_of_val(self.list.as_slice())) as u64
    }

    /// Adds a level that holds these keys and passes other keys at about this rate.
    pub fn push_level(&mut self, hashes: &[u64], fpr: f64) -> Result<(), SizeError> {
        let (layout, blocks) = smallest_one_line(hashes.len() as u64, fpr);
        let shape = Shape::new(layout, blocks);
        let start = self.lines.len();
        self.lines
            .try_reserve_exact(blocks as usize)
            .map_err(|_| SizeError::Memory { bytes: blocks * 64 })?;
        self.lines.resize(start + blocks as usize, [0; 64]);
        let number = self.levels.len();
        for &hash in hashes {
            shape.set(&mut self.lines[start..], level_hash(hash, number));
        }
        self.levels.push(Level { shape, lines: start..self.lines.len() });
        Ok(())
    }

    /// Ends the chain with a list of these keys.
    pub fn set_list(&mut self, mut hashes: Vec<u64>) {
        hashes.sort_unstable();
        hashes.dedup();
        self.list = hashes;
    }

    /// Whether a key passes the last level that was pushed.
    pub fn passes_last(&self, hash: u64) -> bool {
        self.levels.last().is_none_or(|level| self.passes(level, self.levels.len() - 1, hash))
    }

    /// Ends a chain. `own` are the keys of the next level's side that all levels so far let pass; `other` are
    /// those of the other side.
    pub fn finish(&mut self, mut own: Vec<u64>, mut other: Vec<u64>) -> Result<(), SizeError> {
        own.sort_unstable();
        own.dedup();
        while self.levels.len() < MAX_LEVELS {
            let Some(fpr) = next_level(own.len() as f64, other.len() as f64) else { break };
            self.push_level(&own, fpr)?;
            other.retain(|&hash| self.passes_last(hash));
            core::mem::swap(&mut own, &mut other);
        }
        self.set_list(own);
        Ok(())
    }
}

/// The rate of the next level, or `None` when a list costs no more than any chain.
pub fn next_level(own: f64, other: f64) -> Option<f64> {
    (own > 0.0 && chain_bits(own, other, 0) < own * LIST_BITS).then(|| level_fpr(own, other))
}

/// Chosen so that the number of keys of the other side that pass is this level's number of keys, times the
/// root of one half: the sizes of the levels then fall evenly. At most one half, which applies when the other
/// side has few keys.
fn level_fpr(own: f64, other: f64) -> f64 {
    (own / other.max(1.0) * 0.5f64.sqrt()).clamp(1e-9, 0.5)
}

/// The cost in bits of a chain for `own` keys against `other` keys that begins with a filter.
fn chain_bits(own: f64, other: f64, depth: usize) -> f64 {
    let fpr = level_fpr(own, other);
    let (_, blocks) = smallest_one_line(own.ceil() as u64, fpr);
    let level = blocks as f64 * 512.0;
    let passing = other * fpr;
    if passing < 1.0 || depth >= MAX_LEVELS {
        return level;
    }
    level + chain_bits(passing, own, depth + 1).min(passing * LIST_BITS)
}
