//! RocksDB's reader of full filters, written to be obvious: the decision table, then one bit after the other.
//!
//! It takes hashes rather than keys, so that it shares nothing with the code it checks; the hashes have their
//! own vectors. Where RocksDB itself would read out of bounds it answers "maybe".

/// The bit at this position, least significant first.
fn bit(bytes: &[u8], position: u64) -> bool {
    let byte = bytes[usize::try_from(position / 8).expect("inside the bytes")];
    byte & (1 << (position % 8)) != 0
}

/// The bits of FastLocalBloom with this many blocks that a hash probes, in order.
pub fn fast_local_positions(hash64: u64, blocks: u64, probes: u32) -> Vec<u64> {
    let (low, mut high) = (hash64 & 0xffff_ffff, (hash64 >> 32) as u32);
    let block = ((u128::from(low) * u128::from(blocks)) >> 32) as u64;
    (0..probes)
        .map(|_| {
            let in_block = high / (1 << 23);
            high = high.wrapping_mul(0x9e37_79b9);
            block * 512 + u64::from(in_block)
        })
        .collect()
}

/// The bits of the legacy filter that a hash probes, in order.
pub fn legacy_positions(hash32: u32, lines: u64, line_len: u64, probes: u32) -> Vec<u64> {
    let line = u64::from(hash32) % lines;
    let step = hash32.rotate_right(17);
    (0..probes)
        .map(|i| {
            let at = hash32.wrapping_add(i.wrapping_mul(step));
            line * line_len * 8 + u64::from(at) % (line_len * 8)
        })
        .collect()
}

/// Whether RocksDB's reader answers "maybe" for a key with these two hashes.
pub fn may_match(content: &[u8], hash32: u32, hash64: u64) -> bool {
    let Some((data, trailer)) = content.split_last_chunk::<5>() else { return false };
    if data.is_empty() {
        return false;
    }
    let len = data.len() as u64;
    match trailer[0] as i8 {
        0 | -128..=-3 => true,
        -1 => {
            let (probes, reserved) = (trailer[2], [trailer[1], trailer[3], trailer[4]]);
            if !(1..=30).contains(&probes) || reserved != [0; 3] || len < 64 {
                return true; // the upper bits of `probes` are the block size and make it larger than 30
            }
            fast_local_positions(hash64, len / 64, probes.into()).into_iter().all(|at| bit(data, at))
        }
        -2 => {
            let blocks = u32::from_le_bytes([trailer[2], trailer[3], trailer[4], 0]);
            blocks < 2 || ribbon_matches(data, trailer[1], blocks.into(), hash64)
        }
        probes @ 1.. => {
            let lines = u64::from(u32::from_le_bytes([trailer[1], trailer[2], trailer[3], trailer[4]]));
            let Some(log2) = (0..29).find(|&log2| lines << log2 == len) else { return true };
            let positions = legacy_positions(hash32, lines, 1 << log2, probes as u32);
            positions.into_iter().all(|at| bit(data, at))
        }
    }
}

/// One column after the other, one slot after the other.
fn ribbon_matches(data: &[u8], ordinal: u8, blocks: u64, hash64: u64) -> bool {
    let mixed = u64::from(ordinal).wrapping_mul(0xc782_19a2_3eea_dd03);
    let seed = (mixed ^ (mixed & 0xf0f0_f0f0_f0f0_f0f0) >> 4) & 0xffff_ffff;
    let h = (hash64 ^ seed).wrapping_mul(0x6193_d459_236a_3a0d);
    let start = ((u128::from(h) * u128::from(blocks * 128 - 127)) >> 64) as u64;
    let a = h.wrapping_mul(0xc28f_8282_2b65_0bed);
    let counts = |i: u64| match i {
        0 => true,
        1..64 => (a ^ 0xc367_844a_6e52_731d) >> i & 1 == 1,
        _ => a >> (i - 64) & 1 == 1,
    };
    let result = a.swap_bytes() as u32;
    let segments = data.len() as u64 / 16;
    let upper = segments.div_ceil(blocks).min(32);
    let short_blocks = (upper * blocks).saturating_sub(segments);
    let first_segment = |block: u64| block * upper - block.min(short_blocks);
    let columns = if start / 128 < short_blocks { upper - 1 } else { upper };
    (0..columns).all(|column| {
        let value = (start..start + 128).enumerate().filter(|&(i, slot)| {
            counts(i as u64) && bit(data, (first_segment(slot / 128) + column) * 128 + slot % 128)
        });
        value.count() % 2 == (result >> column & 1) as usize
    })
}
