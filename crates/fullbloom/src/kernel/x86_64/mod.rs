#![allow(unsafe_code)]
mod avx2;
mod avx512;
mod avx512_bitalg;
use super::local::{Blocks, Group, Local, Task};
use super::Block;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(());
impl Avx2 { pub(crate) fn detect() -> Option<Avx2> { is_x86_feature_detected!("avx2").then_some(Avx2(())) }
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output { task.run(self) }
}
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(());
impl Avx512 { pub(crate) fn detect() -> Option<Avx512> { is_x86_feature_detected!("avx512bw").then_some(Avx512(())) }
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output { task.run(self) }
}
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512Bitalg(());
impl Avx512Bitalg { pub(crate) fn detect() -> Option<Avx512Bitalg> { is_x86_feature_detected!("avx512bitalg").then_some(Avx512Bitalg(())) }
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output { task.run(self) }
}
impl Local for Avx512Bitalg { const FUSED: bool = true;
    #[inline(always)] fn batch<K, F: Fn(&K) -> u64>(self, job: super::local::Batch<'_, K, F>) { unsafe { avx512_bitalg::batch(self, job) } }
    #[inline(always)] fn spread(self, bits: u64, answers: &mut [bool; 64]) { unsafe { avx512::spread(bits, answers) } }
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool { unsafe { avx512::test(block, hash, probes) } }
    #[inline(always)]
    fn prepare(self, blocks: Blocks<'_>, probes: u32, next: &mut Group) { unsafe { avx512_bitalg::prepare(blocks, probes, next) } }
    #[inline(always)]
    fn step(self, blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 { unsafe { avx512_bitalg::step(blocks, probes, now, next) } }
}
impl Local for Avx512 {
    #[inline(always)] fn spread(self, bits: u64, answers: &mut [bool; 64]) { unsafe { avx512::spread(bits, answers) } }
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool { unsafe { avx512::test(block, hash, probes) } }
    #[inline(always)]
    fn prepare(self, blocks: Blocks<'_>, probes: u32, next: &mut Group) { unsafe { avx512::prepare(blocks, probes, next) } }
    #[inline(always)]
    fn step(self, blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 { unsafe { avx512::step(blocks, probes, now, next) } }
}
impl Local for Avx2 {
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool { unsafe { avx2::test(block, hash, probes) } }
    #[inline(always)]
    fn prepare(self, blocks: Blocks<'_>, probes: u32, next: &mut Group) { unsafe { avx2::prepare(blocks, probes, next) } }
    #[inline(always)]
    fn step(self, blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 { unsafe { avx2::step(blocks, probes, now, next) } }
}
