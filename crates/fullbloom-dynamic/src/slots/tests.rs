use super::find::metadata;
use super::*;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use fullbloom_core::kernel::{Cpu, Kernel, Task};

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Runs a function of a kernel on every kernel that this CPU has, compiled for it.
fn on_each(work: impl Fn(&dyn Fn(u64, u32) -> u64, Cpu)) {
    struct Pair(u64, u32);
    impl<B: Select> Task<B> for Pair {
        type Output = u64;
        #[inline(always)]
        fn run(self, kernel: B) -> u64 {
            kernel.pair(self.0, self.1)
        }
    }
    for kernel in Kernel::available() {
        let cpu = Cpu::detect(kernel).unwrap();
        work(&|word, rank| cpu.run_narrow(Pair(word, rank)), cpu);
    }
}

/// The format is defined by a search among all remainders and all numbers of slots.
#[test]
fn a_line_has_the_slots_of_the_whole_search() {
    let mut state = 7;
    let edges = (0..57).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits >> 1]);
    let intervals: Vec<u64> = edges.chain((0..300).map(|i| random(&mut state) >> (8 + i % 56))).collect();
    for tag in [0, 1, 2, 5, 12, 20] {
        for &interval in &intervals {
            let mut best = None;
            for remainder in 1..WINDOW - tag {
                let quotients = ((interval.max(1) - 1) >> remainder) + 1;
                let width = remainder + tag;
                let fits = |slots: &u32| {
                    u64::from(slots * width) + quotients <= u64::from((LINE_BITS - slots) / 8 * 8)
                        && (slots - 1) * width <= FARTHEST
                };
                let slots = (1..=MAX_SLOTS).rev().find(fits).unwrap_or(0);
                if quotients <= 64 && best.is_none_or(|(most, _)| slots > most) {
                    best = Some((slots, width));
                }
            }
            let (slots, width) = best.unwrap_or((1, WINDOW - 1));
            let found = Slots::new(interval, tag);
            assert_eq!((found.slots, found.width), (slots, width), "{interval} {tag}");
        }
    }
}

#[test]
fn every_kernel_selects_two_bits_as_a_loop_does() {
    let slow = |word: u64, rank: u32| {
        let bits = (0..64).filter(|bit| word >> bit & 1 == 1).skip(rank as usize).take(2);
        bits.fold(0u64, |pair, bit| pair | 1 << bit)
    };
    on_each(|pair, cpu| {
        let mut state = 1;
        let mut words = vec![0, 1, 1 << 63, u64::MAX, 3 << 62];
        words.extend((0..300).map(|_| random(&mut state) & random(&mut state)));
        words.extend((0..300).map(|_| random(&mut state)));
        for word in words {
            for rank in 0..64 {
                assert_eq!(pair(word, rank), slow(word, rank), "{cpu:?} {word:#x} {rank}");
            }
        }
    });
}

#[test]
fn every_kernel_moves_bits_as_the_definition_does() {
    struct Move(Line, u32, u32, Option<u64>, [u64; 8], [u64; 2]);
    impl<B: Select> Task<B> for Move {
        type Output = Line;
        #[inline(always)]
        fn run(mut self, kernel: B) -> Line {
            match self.3 {
                Some(value) => kernel.open(&mut self.0, self.1, self.2, value, &self.4, self.5),
                None => kernel.close(&mut self.0, self.1, self.2, &self.4, self.5),
            }
            self.0
        }
    }
    let bit = |line: &Line, at: u32| at < 512 && line[at as usize / 8] >> (at % 8) & 1 == 1;
    let mut state = 7;
    for round in 0..4_000 {
        let mut line = [0u8; 64];
        line.iter_mut().for_each(|byte| *byte = random(&mut state) as u8);
        let width = 1 + (random(&mut state) % 56) as u32;
        let at = match round % 5 {
            0 => FARTHEST,
            _ => (random(&mut state) % u64::from(FARTHEST + 1)) as u32,
        };
        let value = random(&mut state) & low(width);
        // The slots end above the value, and before the metadata.
        let end = (at + width).max(512 - (random(&mut state) % 300) as u32);
        let used = core::array::from_fn(|i| low(end.saturating_sub(64 * i as u32)));
        let metadata = [random(&mut state), random(&mut state)];
        let in_metadata = |i: u32| i >= 384 && metadata[(i as usize - 384) / 64] >> (i % 64) & 1 == 1;
        let mut opened = [0u8; 64];
        let mut closed = [0u8; 64];
        for i in 0..512u32 {
            let old = match i {
                i if i < at => bit(&line, i),
                i if i < at + width => value >> (i - at) & 1 == 1,
                i => bit(&line, i - width),
            };
            opened[i as usize / 8] |= u8::from(old && i < end || in_metadata(i)) << (i % 8);
            let from = if i < at { i } else { i + width };
            closed[i as usize / 8] |= u8::from(from < end && bit(&line, from) || in_metadata(i)) << (i % 8);
        }
        on_each(|_, cpu| {
            let open = Move(line, at, width, Some(value), used, metadata);
            assert!(cpu.run_narrow(open) == opened, "{cpu:?} {at} {width} {end}");
            let close = Move(line, at, width, None, used, metadata);
            assert!(cpu.run_narrow(close) == closed, "{cpu:?} {at} {width} {end}");
        });
    }
}

#[test]
fn every_division_fits_into_a_line() {
    for tag in 0..9 {
        for bits in 0..60 {
            for interval in [1 << bits, (1 << bits) + 1, 3 << bits >> 1, (2 << bits) - 1] {
                let slots = Slots::new(interval, tag);
                let (remainder, quotients) = (slots.width - tag, 64 - slots.occupied_shift);
                let end = (512 - slots.slots) / 8 * 8;
                assert!(slots.slots * slots.width + quotients <= end && slots.slots <= MAX_SLOTS);
                assert!((slots.slots - 1) * slots.width <= FARTHEST);
                // Quotients and remainders together are enough, unless entries have more bits than a slot can
                // have.
                assert!(interval - 1 < u64::from(quotients) << remainder || remainder == 56 - tag);
            }
        }
    }
}

/// A line of every kernel and a sorted map of the same entries, under random operations.
#[test]
fn a_line_is_a_sorted_map_of_its_least_entries() {
    struct Step<'a>(&'a mut Line, &'a Slots, u64, u64);
    #[derive(Debug, PartialEq)]
    enum Done {
        Insert(Insert),
        Remove(Remove),
        Find(Find, (bool, bool)),
        Least(Option<u64>),
    }
    impl<B: Select> Task<B> for Step<'_> {
        type Output = Done;
        #[inline(always)]
        fn run(self, kernel: B) -> Done {
            let Step(line, slots, entry, what) = self;
            match what % 4 {
                0 | 1 => Done::Insert(insert(kernel, line, slots, entry)),
                2 if entry & 1 == 0 => Done::Remove(remove::<false>(kernel, line, slots, entry)),
                2 => Done::Remove(remove::<true>(kernel, line, slots, entry)),
                _ if what & 4 == 0 => {
                    Done::Find(find(kernel, line, slots, entry), test(kernel, line, slots, entry))
                }
                _ => Done::Least(at_least(kernel, line, slots, entry)),
            }
        }
    }
    let cpus: Vec<Cpu> = Kernel::available().map(|kernel| Cpu::detect(kernel).unwrap()).collect();
    for (interval, tag) in
        [(50, 0), (64, 2), (8_200, 0), (8_200, 4), (10_000, 0), (1 << 20, 0), (1 << 33, 8), (1 << 52, 2)]
    {
        let slots = Slots::new(interval, tag);
        assert!(slots.slots >= 7);
        for start in 0..6u64 {
            let mut state = start + interval;
            let mut line = [0; 64];
            let mut map: BTreeMap<u64, u64> = BTreeMap::new();
            for _ in 0..600 {
                // Crowded in some rounds, so that runs are long.
                let number = if start % 2 == 0 {
                    random(&mut state) % interval
                } else {
                    random(&mut state) % interval.min(90)
                };
                let entry = number << tag | random(&mut state) & low(tag);
                let what = random(&mut state) % 8;
                let mut results: Vec<(Done, Line)> = Vec::new();
                for cpu in &cpus {
                    let mut copy = line;
                    let done = cpu.run_narrow(Step(&mut copy, &slots, entry, what));
                    results.push((done, copy));
                }
                assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "kernels differ");
                let (done, after) = results.pop().unwrap();
                let full = map.len() == slots.count() as usize;
                let greatest = map.last_key_value().map(|(number, tag)| (*number, *tag));
                let beyond = full && greatest.is_some_and(|(greatest, _)| greatest < number);
                match done {
                    Done::Insert(Insert::Known(slot)) => {
                        assert_eq!(super::tag(&line, &slots, slot), map[&number]);
                        assert_eq!(map.range(..number).count(), slot as usize);
                    }
                    Done::Insert(Insert::Done) => {
                        assert!(!full && map.insert(number, entry & low(tag)).is_none());
                    }
                    Done::Insert(Insert::Overflow) => assert!(beyond),
                    Done::Insert(Insert::Evicted(out)) => {
                        assert!(full && !beyond && map.insert(number, entry & low(tag)).is_none());
                        assert_eq!(map.pop_last(), Some((out >> tag, out & low(tag))));
                    }
                    Done::Find(Find::Absent, (found, unsure)) => {
                        assert!(!map.contains_key(&number) && !beyond && !found);
                        assert!(!unsure || full);
                    }
                    Done::Find(Find::Overflow, (found, unsure)) => assert!(beyond && unsure && !found),
                    Done::Remove(Remove::Absent) => assert!(!map.contains_key(&number) && !beyond),
                    Done::Remove(Remove::Overflow) => assert!(beyond),
                    Done::Remove(Remove::Tagged(slot)) => {
                        assert!(entry & 1 == 1 && map[&number] != 0 && after == line);
                        assert_eq!(map.range(..number).count(), slot as usize);
                    }
                    Done::Remove(_) if entry & 1 == 1 && map[&number] != 0 => panic!("it has a tag"),
                    Done::Remove(Remove::Done) => assert!(!full && map.remove(&number).is_some()),
                    Done::Remove(Remove::DoneFull) => assert!(full && map.remove(&number).is_some()),
                    Done::Find(Find::At(slot), (found, _)) => {
                        assert_eq!(super::tag(&line, &slots, slot), map[&number]);
                        assert!(found);
                    }
                    Done::Least(least) => {
                        assert_eq!(least, map.range(number..).next().map(|(number, t)| number << tag | t));
                    }
                }
                line = after;
                let mut listed = Vec::new();
                let mut decoded = [0; DECODED];
                let count = decode(&line, &slots, 0, &mut decoded);
                listed.extend_from_slice(&decoded[..count]);
                let expected: Vec<u64> = map.iter().map(|(number, t)| number << tag | t).collect();
                assert_eq!(listed, expected);
                assert!(encode(&slots, 0, &expected) == line, "a line is a function of its entries");
                if let Some((slot, (number, _))) = map.iter().enumerate().next() {
                    let (number, t) = (*number, random(&mut state) & low(tag));
                    set_tag(&mut line, &slots, slot as u32, t);
                    map.insert(number, t);
                }
            }
        }
    }
}

#[test]
fn no_bytes_make_a_line_panic() {
    struct All<'a>(&'a mut Line, &'a Slots, u64);
    impl<B: Select> Task<B> for All<'_> {
        type Output = ();
        #[inline(always)]
        fn run(self, kernel: B) {
            let All(line, slots, entry) = self;
            find(kernel, line, slots, entry);
            at_least(kernel, line, slots, entry);
            decode(line, slots, 5, &mut [0; DECODED]);
            remove::<true>(kernel, line, slots, entry);
            remove::<false>(kernel, line, slots, entry);
            insert(kernel, line, slots, entry);
        }
    }
    let mut state = 3;
    for round in 0..20_000u64 {
        let tag = (random(&mut state) % 9) as u32;
        let slots = Slots::new(1 << (random(&mut state) % 50) | 1, tag);
        let mut line = [0u8; 64];
        let mask = if round % 3 == 0 { 0xff } else { random(&mut state) as u8 };
        line.iter_mut().for_each(|byte| *byte = random(&mut state) as u8 & mask);
        let entry = random(&mut state) >> (random(&mut state) % 64);
        for kernel in Kernel::available() {
            Cpu::detect(kernel).unwrap().run_narrow(All(&mut line.clone(), &slots, entry));
        }
    }
}

#[test]
fn every_kernel_looks_up_a_group_as_scalar_looks_up_each_key() {
    struct Group<'a>([&'a Line; GROUP], &'a Slots, [u64; GROUP]);
    impl<B: Select> Task<B> for Group<'_> {
        type Output = ((u32, u32), (u32, u32), u64);
        #[inline(always)]
        fn run(self, kernel: B) -> Self::Output {
            let Group(lines, slots, entries) = self;
            let (mut found, mut unsure, mut low) = (0, 0, 0u64);
            for (i, (line, entry)) in lines.iter().zip(entries).enumerate() {
                let (yes, is_unsure) = test(kernel, line, slots, entry);
                found |= u32::from(yes) << i;
                unsure |= u32::from(is_unsure) << i;
                low = low.rotate_left(1) ^ kernel.lowest(entry, (line[0] & 63).into());
            }
            (test_all(kernel, &lines, slots, &entries, |_| ()), (found, unsure), low)
        }
    }
    let mut state = 11;
    for round in 0..3_000u64 {
        let tag = (random(&mut state) % 4) as u32;
        let interval = (1 << (4 + random(&mut state) % 44)) | (random(&mut state) % 16);
        let slots = Slots::new(interval, tag);
        // Lines of keys in some rounds, of anything in others.
        let mut lines = [[0u8; 64]; GROUP];
        for line in &mut lines {
            if round % 3 == 0 {
                line.iter_mut().for_each(|byte| *byte = random(&mut state) as u8);
                continue;
            }
            let crowd = if round % 3 == 1 { interval } else { interval.min(100) };
            for _ in 0..random(&mut state) % 70 {
                let number = random(&mut state) % crowd;
                insert(fullbloom_core::kernel::scalar::Scalar, line, &slots, number << tag);
            }
        }
        let entries: [u64; GROUP] = core::array::from_fn(|i| {
            let (starts, _) = metadata(&lines[i], &slots);
            let mut decoded = [0; DECODED];
            let count = decode(&lines[i], &slots, 0, &mut decoded).max(1);
            match i % 3 {
                0 if starts > 1 => decoded[random(&mut state) as usize % count],
                1 => random(&mut state) >> (random(&mut state) % 64),
                _ => (random(&mut state) % interval) << tag,
            }
        });
        let all = || Group(lines.each_ref(), &slots, entries);
        let expected = Cpu::detect(Kernel::Scalar).unwrap().run_narrow(all());
        assert_eq!(expected.0, expected.1, "{round}");
        for kernel in Kernel::available() {
            assert_eq!(Cpu::detect(kernel).unwrap().run_narrow(all()), expected, "{kernel} {round}");
        }
    }
}
