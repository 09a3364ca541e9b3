//! Batches of keys: a chunk of 64 is hashed, and its lines are prefetched, while the chunk before it is
//! tested or inserted.

use crate::native::Native;
use fullbloom_core::kernel::Cpu;
use fullbloom_core::kernel::lines::{CHUNK, Line};
use fullbloom_core::kernel::pipeline::{self, Answers, Bools, Pipe, Source, ones};
use fullbloom_core::keys::Keys;
use fullbloom_core::native::hashing::Hasher;
use fullbloom_core::native::head::{lines, lines_mut};
use fullbloom_core::native::shape::Shape;

/// Chunks in the pipeline.
const SLOTS: usize = 2;

/// The parts that all pipes share: a slot is the hashes of its keys, and the loop over one chunk prefetches the
/// lines of the next.
macro_rules! hash_pipe {
    () => {
        type Hash = u64;
        type Slot = [u64; CHUNK];
        const PREPARE: usize = 0;
        const PREFETCH: usize = 0;
        const FINISH: usize = 1;
        const PREFETCH_KEYS: bool = true;

        #[inline(always)]
        fn empty(&self) -> [u64; CHUNK] {
            [0; CHUNK]
        }

        #[inline(always)]
        fn hashes(slot: &mut [u64; CHUNK]) -> &mut [u64; CHUNK] {
            slot
        }

        #[inline(always)]
        fn prepare(&self, _: &mut [u64; CHUNK]) {}

        #[inline(always)]
        fn prefetch(&mut self, _: &[u64; CHUNK], _: &[u64; CHUNK]) {}

        #[inline(always)]
        fn bools(&self, bits: u64) -> [bool; 64] {
            Cpu::in_use().run(Bools(bits))
        }
    };
}

struct Test<'a> {
    native: &'a Native,
    lines: &'a [Line],
}

impl Pipe<CHUNK, SLOTS> for Test<'_> {
    hash_pipe!();

    #[inline(always)]
    fn finish(&mut self, now: &[u64; CHUNK], next: &[u64; CHUNK], _: usize) -> u64 {
        let answers = self.native.shape.test_chunk(self.lines, now, next);
        let Some(exceptions) = &self.native.head.exceptions else { return answers };
        ones(answers).filter(|i| exceptions.excepts(now[*i])).fold(answers, |answers, i| answers & !(1 << i))
    }
}

/// Tests all keys of a filter that is not locked.
pub(crate) fn test<K: Keys<Hasher> + ?Sized>(native: &Native, bits: &[u8], keys: &K, answers: Answers<'_>) {
    let pipe = Test { native, lines: lines(bits) };
    pipeline::collect(pipe, Source::new(keys, &native.hasher), answers);
}

struct Set<'a> {
    shape: &'a Shape,
    lines: &'a mut [Line],
}

impl Pipe<CHUNK, SLOTS> for Set<'_> {
    hash_pipe!();

    #[inline(always)]
    fn finish(&mut self, now: &[u64; CHUNK], next: &[u64; CHUNK], count: usize) -> u64 {
        self.shape.set_part(self.lines, 0, &now[..count], next);
        0
    }
}

/// Inserts all keys.
pub(crate) fn set<K: Keys<Hasher> + ?Sized>(native: &Native, bits: &mut [u8], keys: &K) {
    let mut pipe = Set { shape: &native.shape, lines: lines_mut(bits) };
    pipeline::run(&mut pipe, Source::new(keys, &native.hasher), |_, _, _, _| ());
}

/// As [`Set`]; the answers are which keys changed a bit.
struct SetNew<'a>(Set<'a>);

impl Pipe<CHUNK, SLOTS> for SetNew<'_> {
    hash_pipe!();

    #[inline(always)]
    fn finish(&mut self, now: &[u64; CHUNK], next: &[u64; CHUNK], count: usize) -> u64 {
        self.0.shape.set_chunk(self.0.lines, &now[..count], next)
    }
}

/// Inserts all keys in order; `new` receives which of them changed a bit.
pub(crate) fn set_new<K: Keys<Hasher> + ?Sized>(
    native: &Native,
    bits: &mut [u8],
    keys: &K,
    new: Answers<'_>,
) {
    let pipe = SetNew(Set { shape: &native.shape, lines: lines_mut(bits) });
    pipeline::collect(pipe, Source::new(keys, &native.hasher), new);
}
