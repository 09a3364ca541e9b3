//! The fingerprints of a file, in place.

use super::filter::run;
use super::lines::{self, Even, Lines, Rest, Target};
use super::shape::{GROUP, Grid, Shape};
use crate::slots::Select;
use fullbloom_core::kernel::Task;
use fullbloom_core::kernel::lines::Line;

/// The data of a file: lines, overflow lines, list, counts.
#[derive(Debug, Clone)]
pub(crate) struct Flat<S> {
    pub(crate) shape: Shape,
    /// The file's shards are those of all prefixes of this many bits.
    pub(crate) depth: u32,
    pub(crate) listed: usize,
    pub(crate) counted: usize,
    /// Whether the bytes were compared with what a writer writes. Otherwise they may be anything.
    pub(crate) is_checked: bool,
    pub(crate) bytes: S,
}

impl<S: AsRef<[u8]>> Flat<S> {
    #[inline(always)]
    fn line(&self, line: u64) -> &Line {
        self.even().line(line)
    }

    /// The lines as one grid. Its bytes are asked for once.
    #[inline(always)]
    pub(crate) fn even(&self) -> Even<'_, &Self> {
        let Shape { main: grid, tag, .. } = &self.shape;
        Even { grid, mask: self.mask(), tag: *tag, lines: self.bytes.as_ref().as_chunks().0, rest: self }
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        !(u64::MAX >> self.shape.bits)
    }

    fn number(&self, at: u64) -> u64 {
        let bytes = self.bytes.as_ref().get(at as usize..).and_then(<[u8]>::first_chunk);
        bytes.copied().map_or(0, u64::from_le_bytes)
    }

    fn list_at(&self) -> u64 {
        (self.shape.main.lines + self.shape.main.lines / GROUP) * 64
    }

    /// A fingerprint of the table of counts, and its count.
    pub(crate) fn count(&self, i: usize) -> (u64, u64) {
        let at = self.list_at() + 8 * self.listed as u64 + 16 * i as u64;
        (self.number(at), self.number(at + 8))
    }

    /// The tag of the key of this hash, if it is there.
    #[inline(never)]
    pub(crate) fn find(&self, hash: u64) -> Option<u64> {
        struct Look<'a, S>(&'a Flat<S>, u64);
        impl<S: AsRef<[u8]>, B: Select> Task<B> for Look<'_, S> {
            type Output = Option<u64>;

            #[inline(always)]
            fn run(self, kernel: B) -> Option<u64> {
                let Flat { shape, .. } = self.0;
                let x = self.1 & self.0.mask();
                let (line, number) = shape.main.place.of(x);
                let line = self.0.line(line);
                let location = lines::locate(kernel, self.0, shape, x, line, number);
                location.map(|location| lines::tag(self.0, shape, line, location))
            }
        }
        run(Look(self, hash))
    }
}

impl<S> Flat<S> {
    /// The same over other bytes.
    pub(crate) fn clone_with<T>(&self, bytes: T) -> Flat<T> {
        let Flat { shape, depth, listed, counted, is_checked, .. } = self;
        Flat {
            shape: shape.clone(),
            depth: *depth,
            listed: *listed,
            counted: *counted,
            is_checked: *is_checked,
            bytes,
        }
    }

    pub(crate) fn map<T>(self, bytes: impl FnOnce(S) -> T) -> Flat<T> {
        let Flat { shape, depth, listed, counted, is_checked, bytes: from } = self;
        Flat { shape, depth, listed, counted, is_checked, bytes: bytes(from) }
    }
}

impl<S: AsRef<[u8]>> Rest for &Flat<S> {
    fn overflow_target(&self, hash: u64) -> Target<'_> {
        let Grid { place, slots, .. } = &self.shape.overflow;
        let (line, number) = place.of(hash & self.mask());
        Target { line: self.overflow(line), slots, entry: number << self.shape.tag }
    }

    fn find(&self, hash: u64) -> Option<u64> {
        Flat::find(self, hash)
    }
}

impl<S: AsRef<[u8]>> Lines for Flat<S> {
    #[inline(always)]
    fn main(&self, line: u64) -> &Line {
        self.line(line)
    }

    #[inline(always)]
    fn overflow(&self, line: u64) -> &Line {
        self.line(self.shape.main.lines + line)
    }

    fn list_len(&self) -> usize {
        self.listed
    }

    fn listed(&self, i: usize) -> u64 {
        self.number(self.list_at() + 8 * i as u64)
    }
}
