//! Many keys into a filter with tags, or out of it.

use super::batch::{Ahead, Bits, group};
use super::filter::DynamicFilter;
use super::shards::{Aim, Shards};
use crate::error::SizeError;
use crate::kernel::slots::GROUP;
use crate::kernel::{Body, Task};

/// The places of a group, whose lines are prefetched.
#[inline(always)]
fn aims(shards: &Shards, hashes: &[u64; GROUP], aims: &mut [Aim; GROUP]) {
    match shards.even() {
        Some(even) => {
            for (aim, hash) in aims.iter_mut().zip(hashes) {
                *aim = even.aim(*hash);
            }
        }
        None => {
            for (aim, hash) in aims.iter_mut().zip(hashes) {
                *aim = shards.aim(*hash);
            }
        }
    }
}

/// Inserts a chunk of keys into a filter with tags, or removes them.
pub(super) struct Change<'a> {
    pub(super) filter: &'a mut DynamicFilter,
    pub(super) hashes: &'a Ahead,
    pub(super) len: usize,
    pub(super) bits: &'a mut Bits,
    /// Otherwise they are removed.
    pub(super) insert: bool,
}

impl Task for Change<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run<K: Body>(self, kernel: K) -> Self::Output {
        let Change { filter, hashes, len, bits, insert } = self;
        if insert {
            filter.sweep_some(len)?;
        }
        let mut two = [[Aim::default(); GROUP]; 2];
        aims(filter.shards(), group(hashes, 0), &mut two[0]);
        for at in 0..len.div_ceil(GROUP) {
            let (now, next) = (at % 2, (at + 1) % 2);
            aims(filter.shards(), group(hashes, at + 1), &mut two[next]);
            let hashes_now = group(hashes, at);
            for i in 0..GROUP.min(len - at * GROUP) {
                let (yes, has_grown) = match insert {
                    true => filter.insert_at(kernel, hashes_now[i], two[now][i])?,
                    false => (filter.remove_at(kernel, hashes_now[i], two[now][i]), false),
                };
                bits[at * GROUP / 64] |= u64::from(yes) << (at * GROUP % 64 + i);
                if has_grown {
                    // The places of all keys may have changed.
                    aims(filter.shards(), hashes_now, &mut two[now]);
                    aims(filter.shards(), group(hashes, at + 1), &mut two[next]);
                }
            }
        }
        Ok(())
    }
}
