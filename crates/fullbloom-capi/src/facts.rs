//! `fullbloom_facts`: the facts of a filter, or of a plan for one.

use crate::dialect::{named, number};
use crate::handle::Filter;
use crate::key_type;
use crate::sizing::{self, Sizing};
use crate::status::{Error, Status, call};
use fullbloom_any as any;
use fullbloom_any::BuildOptions;
use std::ffi::c_int;

/// The facts of a filter; the header describes each.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Size of the struct that the caller was compiled with.
    pub struct_size: usize,
    /// The dialect's number.
    pub dialect: c_int,
    /// Probes per key.
    pub probes: u32,
    /// Length of the array in bits.
    pub bits: u64,
    /// Length in bits of the block that one key's probes stay in.
    pub block_bits: u64,
    /// Length of the encoded filter in bytes.
    pub encoded_len: u64,
    /// Number of bits that are set.
    pub set_bits: u64,
    /// Share of bits set.
    pub fill: f64,
    /// The expected rate.
    pub expected_fpr: f64,
    /// Number of distinct keys, estimated from the bits; negative if it cannot be estimated.
    pub estimated_keys: f64,
    /// 1 if keys can be inserted, else 0.
    pub takes_keys: u8,
    /// 1 if the filter is keyed and its secret is not known, else 0.
    pub locked: u8,
    /// The number of the recorded type of its keys; 0 if it is not recorded.
    pub key_type: u8,
    /// Bytes that are zero, kept for later versions.
    pub reserved: [u8; 5],
}

/// Writes the facts into the caller's struct.
///
/// # Safety
/// `facts` is null or a struct as long as its first field says.
unsafe fn put(facts: *mut Facts, make: impl FnOnce() -> Result<Facts, Error>) -> Result<(), Error> {
    if facts.is_null() {
        return Err(Error::null("facts"));
    }
    // SAFETY: The pointer is not null (checked above). Every version of the struct begins with its size, so
    // this field is there even if the program was compiled with another version.
    let size = unsafe { (&raw const (*facts).struct_size).read() };
    if size != size_of::<Facts>() {
        let why = format_args!("facts.struct_size is {size}; this library expects {}", size_of::<Facts>());
        return Err(Error::new(Status::Argument, why));
    }
    let made = make()?;
    // SAFETY: the struct has all its fields.
    unsafe { facts.write(made) };
    Ok(())
}

/// The facts of the filter that a request would make.
///
/// # Safety
/// `sizing` and `facts` are null or structs as long as their first fields say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_plan(dialect: c_int, sizing: *const Sizing, facts: *mut Facts) -> Status {
    call(|| {
        let dialect = named(dialect)?;
        // SAFETY: `sizing::read` demands null or a struct as long as its first field says, as fullbloom.h
        // does of its caller.
        let (request, _) = unsafe { sizing::read(sizing) }?;
        let planned = || {
            let plan = any::plan(dialect, &request)?;
            Ok(Facts {
                struct_size: size_of::<Facts>(),
                dialect: number(dialect),
                probes: plan.geometry.probes,
                bits: plan.geometry.bit_len,
                block_bits: plan.geometry.block_len,
                encoded_len: plan.encoded_len,
                set_bits: 0,
                fill: 0.0,
                expected_fpr: plan.expected_fpr,
                estimated_keys: 0.0,
                takes_keys: (!BuildOptions::new(dialect).is_built_at_once()).into(),
                locked: 0,
                key_type: 0,
                reserved: [0; 5],
            })
        };
        // SAFETY: `put` demands null or a struct as long as its first field says, as fullbloom.h does of its
        // caller.
        unsafe { put(facts, planned) }
    })
}

/// The facts of a filter. Reads the whole array.
///
/// # Safety
/// `filter` is null or a live handle, `facts` null or a struct as long as its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_facts(filter: *const Filter, facts: *mut Facts) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call; `get`
        // refuses null and a wrong tag.
        let filter = unsafe { Filter::get(filter) }?.finished()?;
        let known = || {
            let (geometry, occupancy) = (filter.geometry(), filter.occupancy());
            Ok(Facts {
                struct_size: size_of::<Facts>(),
                dialect: number(filter.dialect()),
                probes: geometry.probes,
                bits: geometry.bit_len,
                block_bits: geometry.block_len,
                encoded_len: filter.encoded_len(),
                set_bits: occupancy.set_bits,
                fill: occupancy.fill,
                expected_fpr: occupancy.expected_fpr,
                estimated_keys: occupancy.estimated_keys.unwrap_or(-1.0),
                takes_keys: filter.require_takes_keys().is_ok().into(),
                locked: filter.is_locked().into(),
                key_type: key_type::number(filter.recorded_key_type()),
                reserved: [0; 5],
            })
        };
        // SAFETY: `put` demands null or a struct as long as its first field says, as fullbloom.h does of its
        // caller.
        unsafe { put(facts, known) }
    })
}
