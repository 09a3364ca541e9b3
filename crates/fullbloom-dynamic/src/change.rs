//! Many keys into a filter with tags, or out of it.

use super::batch::{Ahead, Bits, group};
use super::filter::DynamicFilter;
use super::shards::{Aim, Shards};
use crate::slots::GROUP;
use crate::slots::Select;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::Task;

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
pub(crate) struct Change<'a> {
    pub(crate) filter: &'a mut DynamicFilter,
    pub(crate) hashes: &'a Ahead,
    pub(crate) len: usize,
    pub(crate) bits: &'a mut Bits,
    /// Otherwise they are removed.
    pub(crate) insert: bool,
}

impl<B: Select> Task<B> for Change<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run(self, kernel: B) -> Self::Output {
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
