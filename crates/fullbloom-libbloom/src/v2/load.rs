//! `bloom_load`.

use super::{Bloom, MAGIC, MAJOR, STRUCT_LEN};
use crate::guard::guard;
use crate::memory::{self, UNREAL};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// How much memory is allocated for the bits before any are read from a file of unknown length.
const FIRST_STEP: usize = 1 << 16;

/// `bloom_load`: 0, or the reason of the failure.
///
/// | code | |
/// |---|---|
/// | 1 | no file name |
/// | 2 | no struct |
/// | 3 | the file cannot be opened |
/// | 4, 5 | it does not begin with `libbloom2`: too short, other bytes |
/// | 6, 7 | the size of the struct is truncated, is another one |
/// | 8 | the struct is truncated |
/// | 9 | not of major version 2 |
/// | 10 | not enough memory for the bits |
/// | 11 | the bits are truncated, or fewer than the struct says, which the original does not notice |
///
/// # Safety
/// `bloom` is null or memory for a struct; `filename` is null or ends with a NUL.
pub unsafe fn load(bloom: *mut Bloom, filename: *const c_char) -> c_int {
    // A panic gives the code for bits that cannot be read.
    guard(11, || {
        if filename.is_null() {
            return 1;
        }
        // SAFETY: `filename` is not null (checked above), and bloom.h demands text that ends in zero.
        let name = unsafe { CStr::from_ptr(filename) };
        if name.is_empty() {
            return 1;
        }
        if bloom.is_null() {
            return 2;
        }
        // SAFETY: memory for a struct, and a struct of zeros is valid.
        let bloom = unsafe {
            bloom.write_bytes(0, 1);
            &mut *bloom
        };
        let Ok(mut file) = File::open(Path::new(OsStr::from_bytes(name.to_bytes()))) else { return 3 };
        match read(&mut file, bloom) {
            Ok(()) => 0,
            Err(code) => {
                bloom.ready = 0;
                bloom.bf = ptr::null_mut();
                code
            }
        }
    })
}

fn read(file: &mut File, bloom: &mut Bloom) -> Result<(), c_int> {
    let mut magic = [0; MAGIC.len()];
    fill(file, &mut magic).map_err(|()| 4)?;
    if magic != *MAGIC {
        return Err(5);
    }
    let mut len = [0; 2];
    fill(file, &mut len).map_err(|()| 6)?;
    if usize::from(u16::from_ne_bytes(len)) != STRUCT_LEN {
        return Err(7);
    }
    let mut image = [0; STRUCT_LEN];
    let whole = fill(file, &mut image);
    // SAFETY: the struct is that long, and any bytes are a valid one: its fields are numbers and a raw
    // pointer.
    unsafe { ptr::from_mut(bloom).cast::<u8>().copy_from_nonoverlapping(image.as_ptr(), STRUCT_LEN) };
    bloom.bf = ptr::null_mut(); // an address in the process that saved it
    whole.map_err(|()| 8)?;
    if bloom.major != MAJOR {
        return Err(9);
    }
    let bytes = bloom.bytes;
    let (bits, hashes) = (bloom.bits, bloom.hashes);
    if bits.div_ceil(8) > bytes || (bits == 0 && hashes != 0) {
        return Err(11); // positions would be outside the bits
    }
    if bytes >= UNREAL {
        return Err(10);
    }
    let bits = read_bits(file, bytes as usize)?;
    if bloom.ready == 0 {
        // Not usable, as in the original; but there the memory is leaked.
        // SAFETY: `read_bits` allocated it, and nobody else has it.
        unsafe { memory::release(bits) };
        return Ok(());
    }
    bloom.bf = bits;
    Ok(())
}

/// Reads the bits into memory of their own. Allocates at most twice as much as the file has.
fn read_bits(file: &mut File, len: usize) -> Result<*mut u8, c_int> {
    let known = file.metadata().ok().filter(|meta| meta.is_file()).map(|meta| meta.len());
    if known.is_some_and(|file_len| file_len < len as u64) {
        return Err(11);
    }
    let mut room = if known.is_some() { len } else { len.min(FIRST_STEP) };
    let mut bits = Bits(memory::zeroed(room as u64));
    let mut have = 0;
    loop {
        if bits.0.is_null() {
            return Err(10);
        }
        // SAFETY: `have..room` is inside the memory, is zeroed, and nobody else has it.
        fill(file, unsafe { std::slice::from_raw_parts_mut(bits.0.add(have), room - have) })
            .map_err(|()| 11)?;
        if room == len {
            return Ok(std::mem::replace(&mut bits.0, ptr::null_mut()));
        }
        (have, room) = (room, len.min(room * 2));
        bits.grow(have, room);
    }
}

/// Memory that is freed unless it is taken out.
struct Bits(*mut u8);

impl Bits {
    /// Grows from `from` to `to` bytes, the new ones zero; becomes null if there is not enough memory.
    fn grow(&mut self, from: usize, to: usize) {
        // SAFETY: from the allocator, `from` bytes long.
        let grown = unsafe { libc::realloc(self.0.cast(), to).cast::<u8>() };
        if grown.is_null() {
            *self = Bits(grown); // frees the old memory
            return;
        }
        self.0 = grown;
        // SAFETY: `from..to` is inside the new memory.
        unsafe { grown.add(from).write_bytes(0, to - from) };
    }
}

impl Drop for Bits {
    fn drop(&mut self) {
        // SAFETY: null, or from the allocator and used nowhere else.
        unsafe { memory::release(self.0) };
    }
}

/// Fills the buffer; an error if the file ends before it is full.
fn fill(file: &mut File, mut buffer: &mut [u8]) -> Result<(), ()> {
    while !buffer.is_empty() {
        match file.read(buffer) {
            Ok(0) => return Err(()),
            Ok(read) => buffer = &mut buffer[read..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(()),
        }
    }
    Ok(())
}
