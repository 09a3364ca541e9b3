//! Lookups of single keys.

use super::shape::{LINE, Layer, Shape};
use crate::kernel::{Systems, further_agree};
use crate::probe::{LIMIT, Place, next_z, picks, second_z, sums, t_of_first};
use fullbloom_core::bits::prefetch;
use fullbloom_core::kernel::lines::Line;

/// A filter's numbers and its array.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) bytes: &'a [u8],
}

/// A key at a line.
enum Answer {
    No,
    /// All columns of the line agree; the further columns have not been read.
    Yes,
    /// It belongs to a later layer.
    MovedOn,
}

impl<'a> Data<'a> {
    #[inline(always)]
    pub(crate) fn lines(self) -> &'a [Line] {
        self.bytes.as_chunks().0
    }

    #[inline(always)]
    pub(crate) fn has_further(self) -> bool {
        self.shape.further > 0 || self.shape.layers.first().is_some_and(|layer| !layer.is_even())
    }

    /// Whether a key with this hash may be present.
    #[inline(always)]
    pub(crate) fn test(self, hash: u64) -> bool {
        if self.shape.words != 1 {
            return self.test_wide(hash);
        }
        self.test_from_first::<1>(hash)
    }

    /// For columns of several parts.
    #[inline(never)]
    fn test_wide(self, hash: u64) -> bool {
        match self.shape.words {
            2 => self.test_from_first::<2>(hash),
            4 => self.test_from_first::<4>(hash),
            _ => self.test_from_first::<8>(hash),
        }
    }

    #[inline(always)]
    fn test_from_first<const W: usize>(self, hash: u64) -> bool {
        let t = t_of_first(hash);
        let Some(layer) = self.shape.layers.first() else { return self.is_listed(hash) };
        // The first layer begins with the array.
        let layer = &Layer { first: 0, ..*layer };
        match self.at::<W>(layer, hash, t) {
            (Answer::No, _) => false,
            (Answer::Yes, place) => self.agrees::<W>(layer, place, t),
            (Answer::MovedOn, _) => self.test_later::<W>(hash, t),
        }
    }

    /// The layers after the first, and the list.
    #[inline(always)]
    fn test_later<const W: usize>(self, hash: u64, t: u64) -> bool {
        test_later::<W>(self.shape, self.bytes, hash, t)
    }

    /// The layers after the second, and the list.
    #[inline(never)]
    pub(crate) fn test_after_second<const W: usize>(self, hash: u64, t: u64) -> bool {
        self.test_from::<W>(2, next_z(second_z(t)), hash, t)
    }

    /// The layers from number `from` on, in which the key has this `z`, and the list.
    #[inline(always)]
    fn test_from<const W: usize>(self, from: usize, mut z: u64, hash: u64, t: u64) -> bool {
        for layer in self.shape.layers.iter().skip(from) {
            match self.at::<W>(layer, z, t) {
                (Answer::No, _) => return false,
                (Answer::Yes, place) => return self.agrees::<W>(layer, place, t),
                (Answer::MovedOn, _) => z = next_z(z),
            }
        }
        self.is_listed(hash)
    }

    #[inline(always)]
    fn at<const W: usize>(self, layer: &Layer, z: u64, t: u64) -> (Answer, Place) {
        let place = Place::of_one(z, layer.lines);
        let Some(line) = self.lines().get((layer.first + place.line()) as usize) else {
            return (Answer::Yes, place); // never: the array has all lines
        };
        let agrees = sums::<W>(line, picks::<W>(t)) == place.fingerprint::<W>();
        let answer = match agrees {
            _ if place.priority() >= line[LIMIT] => Answer::MovedOn,
            true => Answer::Yes,
            false => Answer::No,
        };
        (answer, place)
    }

    /// Whether the further columns of a line agree with a key.
    #[inline(always)]
    pub(crate) fn agrees<const W: usize>(self, layer: &Layer, place: Place, t: u64) -> bool {
        let columns = self.shape.further_for(layer, place) as usize;
        columns == 0 || further_agree_of_one::<W>(self.further(layer, place), t, columns)
    }

    /// The same for batches, in which many keys may be present.
    #[inline(always)]
    pub(crate) fn agrees_now<const W: usize>(
        self,
        kernel: impl Systems,
        layer: &Layer,
        place: Place,
        t: u64,
    ) -> bool {
        let columns = self.shape.further_for(layer, place) as usize;
        kernel.further_agree::<W>(self.further(layer, place), t, columns)
    }

    /// The further columns of a line, and what follows them.
    #[inline(always)]
    fn further(self, layer: &Layer, place: Place) -> &'a [u8] {
        let at = self.shape.further_at(layer, place.line()) as usize;
        &self.bytes[at.min(self.bytes.len())..]
    }

    /// Whether the list has this hash.
    #[inline(never)]
    pub(crate) fn is_listed(self, hash: u64) -> bool {
        let start = (self.shape.list_first() * LINE) as usize;
        let (list, _) = self.bytes[start.min(self.bytes.len())..].as_chunks::<8>();
        let list = &list[..list.len().min(self.shape.listed as usize)];
        list.binary_search_by_key(&hash, |bytes| u64::from_le_bytes(*bytes)).is_ok()
    }

    /// Prefetches what a lookup of this hash reads first.
    pub(crate) fn prefetch(self, hash: u64) {
        if let Some(layer) = self.shape.layers.first() {
            prefetch::read(self.lines(), Place::new(hash, layer.lines).line() as usize);
        }
    }
}

/// The layers after the first, and the list. Few arguments: what is passed in memory would be stored for
/// every key.
#[inline(never)]
fn test_later<const W: usize>(shape: &Shape, bytes: &[u8], hash: u64, t: u64) -> bool {
    Data { shape, bytes }.test_from::<W>(1, second_z(t), hash, t)
}

/// [`further_agree`] for single keys: most of them do not come here.
#[inline(never)]
fn further_agree_of_one<const W: usize>(bytes: &[u8], t: u64, columns: usize) -> bool {
    further_agree::<W>(bytes, t, columns)
}
