//! All probes of eight or four keys at once: a byte lane for each probe.
//!
//! A probe has nine bits: six select a byte of the block and three select a bit of that byte. The lanes of a
//! key are one 64-bit word (up to eight probes) or two (up to sixteen).
//!
//! ```text
//!   multiply     each 32-bit lane: hash * multiplier, `PRODUCTS` times with different multipliers
//!   pack         vpshldd: the top nine bits of up to three products side by side in each 32-bit lane
//!   spread       vpmultishiftqb: six bits to each byte of `index`; three to each byte of `bits`, and vpshufb makes
//!                that bit of them
//!   look up      vpermb: each key's block, under a mask of the key's lanes, so that one register collects the
//!                bytes of all its keys
//!   test         a key's 64-bit words have no bit of `bits` that the bytes lack
//! ```
//!
//! Testing with BITALG's vpshufbitqmb, which needs no vpshufb, was 5 % slower: it produces one bit per lane,
//! and eight more instructions reduce that to one bit per key.

use super::super::blocks::{Filter, Offsets};
use super::super::scalar::multipliers;
use core::arch::x86_64::{__m512i, __mmask64};
use fullbloom_core::kernel::Body as _;
use fullbloom_core::kernel::pipeline::{CHUNK, Pipe, RING};
use fullbloom_core::kernel::x86_64::Avx512;

/// The pipe for `WORDS` 64-bit words of lanes per key, with `PRODUCTS` probes from each 32-bit half of them.
/// With `PRODUCTS` below four, some lanes stay unused and their work is saved.
pub(crate) struct Bytes<'a, const WORDS: usize, const PRODUCTS: usize> {
    kernel: Avx512,
    filter: Filter<'a>,
    /// The lanes that are probes, of all keys of a register.
    busy: __mmask64,
    /// The lanes of each key of a register.
    lanes_of: [__mmask64; 8],
}

#[derive(Clone, Copy)]
pub(crate) struct Slot {
    hashes: [u64; CHUNK],
    offsets: Offsets,
    /// For each register of keys: the byte of the block for each lane.
    index: [__m512i; 4],
    /// The bit of that byte; zero for lanes that are not probes.
    bits: [__m512i; 4],
}

impl<'a, const WORDS: usize, const PRODUCTS: usize> Bytes<'a, WORDS, PRODUCTS> {
    /// Keys in one register.
    const KEYS: usize = 8 / WORDS;

    /// Lanes of one key, which is also its number of mask bits.
    const LANES: usize = 8 * WORDS;

    /// The probe assigned to each lane of a key. Any assignment would do; in this one the `PRODUCTS` products
    /// of a 32-bit lane land in neighbouring lanes.
    const fn probe(product: usize, word: usize, half: usize) -> usize {
        (product * WORDS + word) * 2 + half
    }

    /// The factor for the hash in each 32-bit lane.
    const MULTIPLIERS: [[u32; 16]; PRODUCTS] = {
        let all = multipliers::<16>();
        let mut table = [[0; 16]; PRODUCTS];
        let mut i = 0;
        while i < 16 * PRODUCTS {
            let (product, lane) = (i / 16, i % 16);
            table[product][lane] = all[Self::probe(product, lane / 2 % WORDS, lane % 2)];
            i += 1;
        }
        table
    };

    /// The 32-bit half of eight hashes that each 32-bit lane takes: the upper half of its key's hash.
    const UPPER_OF: [[u32; 16]; WORDS] = {
        let mut table = [[0; 16]; WORDS];
        let mut i = 0;
        while i < 16 * WORDS {
            let (register, lane) = (i / 16, i % 16);
            table[register][lane] = ((register * Self::KEYS + lane / 2 / WORDS) * 2 + 1) as u32;
            i += 1;
        }
        table
    };

    #[inline(always)]
    pub(crate) fn new(kernel: Avx512, filter: Filter<'a>) -> Self {
        const { assert!(WORDS == 1 || WORDS == 2) };
        const { assert!(PRODUCTS >= 1 && PRODUCTS <= 4) };
        let mut busy = 0;
        for lane in 0..64 {
            let (word, product, half) = (lane / 8 % WORDS, lane % 8 / 2, lane % 2);
            if product < PRODUCTS && Self::probe(product, word, half) < filter.probes as usize {
                busy |= 1 << lane;
            }
        }
        // Hidden from the optimiser: with constants, LLVM splits each masked lookup into a lookup and a
        // separate blend.
        let all = core::hint::black_box(!0u64 >> (64 - Self::LANES));
        let lanes_of = core::array::from_fn(|key| all << (key % Self::KEYS * Self::LANES));
        Bytes { kernel, filter, busy, lanes_of }
    }

    /// The probes of one register of keys: byte and bit for each lane. Each 32-bit lane of `hash` holds its
    /// key's hash.
    #[inline(always)]
    fn spread(&self, hash: __m512i) -> [__m512i; 2] {
        let v = self.kernel;
        let product = |i: usize| v.product_16(hash, v.load_16(&(const { &Self::MULTIPLIERS })[i]));
        // Bit numbers in a 64-bit lane where the fields of its byte lanes begin. In each 32-bit half the
        // first product's bits are lowest; byte lanes 2 p and 2 p + 1 take product p of the lower and the
        // upper half.
        let begin = if PRODUCTS <= 3 { 0x0000_3212_2909_2000 } else { 0x2909_2000_2909_2000 };
        let begin_bits = v.all_8(begin);
        let begin_index = v.all_8(begin + 0x0303_0303_0303_0303);
        let [index, bits] = if PRODUCTS <= 3 {
            let mut packed = v.top_9(product(PRODUCTS - 1));
            for i in (0..PRODUCTS - 1).rev() {
                packed = v.push_9(packed, product(i));
            }
            [v.fields(begin_index, packed), v.fields(begin_bits, packed)]
        } else {
            // Four times nine bits do not fit in 32 bits: two and two.
            let low = v.push_9(v.top_9(product(1)), product(0));
            let high = v.push_9(v.top_9(product(3)), product(2));
            let join = |begin| v.join(v.fields(begin, low), 0xaaaa, v.fields(begin, high));
            [join(begin_index), join(begin_bits)]
        };
        let one_bit = v.all_8(0x8040_2010_0804_0201_u64 as i64);
        [index, v.look_up_16(self.busy, one_bit, v.and(bits, v.all_8(0x0707_0707_0707_0707)))]
    }
}

impl<const WORDS: usize, const PRODUCTS: usize> Pipe<CHUNK, RING> for Bytes<'_, WORDS, PRODUCTS> {
    type Hash = u64;
    type Slot = Slot;
    const PREPARE: usize = 1;
    const PREFETCH: usize = 2;
    const FINISH: usize = 4;

    #[inline(always)]
    fn empty(&self) -> Slot {
        let zero = self.kernel.zero();
        Slot { hashes: [0; CHUNK], offsets: Offsets::EMPTY, index: [zero; 4], bits: [zero; 4] }
    }

    #[inline(always)]
    fn hashes(slot: &mut Slot) -> &mut [u64; CHUNK] {
        &mut slot.hashes
    }

    #[inline(always)]
    fn prepare(&self, slot: &mut Slot) {
        let v = self.kernel;
        slot.offsets.find(self.filter.places, &slot.hashes);
        for (half, eight) in slot.hashes.as_chunks::<8>().0.iter().enumerate() {
            let eight = v.load_8(eight);
            for register in 0..WORDS {
                let hash = if WORDS == 1 {
                    v.upper_twice(eight)
                } else {
                    v.select_16(v.load_16(&(const { &Self::UPPER_OF })[register]), eight)
                };
                let at = half * WORDS + register;
                [slot.index[at], slot.bits[at]] = self.spread(hash);
            }
        }
    }

    #[inline(always)]
    fn prefetch(&mut self, slot: &Slot, _: &Slot) {
        self.filter.places.prefetch(&slot.offsets);
    }

    #[inline(always)]
    fn finish(&mut self, slot: &Slot, _: &Slot, _: usize) -> u64 {
        let v = self.kernel;
        // Two chains of four lookups for each half of the chunk; one chain of eight was 15 % slower.
        let mut found = [[v.zero(); 2]; 2];
        for i in 0..8 {
            for (half, chains) in found.iter_mut().enumerate() {
                // SAFETY: `prepare` found the offsets with the filter's own places.
                let block = v.load(unsafe { self.filter.block(&slot.offsets, half * 8 + i) });
                let index = slot.index[half * WORDS + i / Self::KEYS];
                let bytes = &mut chains[i / 4];
                *bytes = if i % 4 == 0 {
                    v.look_up(index, block)
                } else {
                    v.look_up_in(*bytes, self.lanes_of[i % Self::KEYS], index, block)
                };
            }
        }
        let mut words = 0;
        for (half, [low, high]) in found.into_iter().enumerate() {
            // One bit per 64-bit word: no probe bit is missing.
            let whole = |bytes, register: usize| {
                let lacking = v.and_not(bytes, slot.bits[half * WORDS + register]);
                u32::from(v.zero_8(lacking, lacking))
            };
            if WORDS == 1 {
                // The first chain holds the lanes of the lower four keys, the second those of the upper four.
                words |= whole(v.blend_8(low, 0xf0, high), 0) << (half * 8);
            } else {
                words |= (whole(low, 0) | whole(high, 1) << 8) << (half * 16);
            }
        }
        let answers = if WORDS == 1 { words } else { v.extract(words & words >> 1, 0x5555_5555) };
        u64::from(answers as u16)
    }

    #[inline(always)]
    fn bools(&self, bits: u64) -> [bool; 64] {
        self.kernel.bools(bits)
    }
}
