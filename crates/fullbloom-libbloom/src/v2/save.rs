//! `bloom_save`.

use super::{Bloom, MAGIC, STRUCT_LEN};
use crate::guard::guard;
use fullbloom::error::FileCause;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// `bloom_save`: 0, or 1 if the file cannot be written.
///
/// The file is replaced whole or not at all, and keeps no bytes of an older one after its end. If it cannot
/// be replaced (a device, a directory without write permission, a mount point) it is written in place, as by
/// the original. The address of the bits, which no reader uses, is not written.
///
/// # Safety
/// `bloom` is null or a struct as for [`add`](super::add), that no other thread adds to; `filename` is null
/// or ends with a NUL.
pub unsafe fn save(bloom: *const Bloom, filename: *const c_char) -> c_int {
    guard(1, || {
        if filename.is_null() {
            return 1;
        }
        // SAFETY: `filename` is not null (checked above), and bloom.h demands text that ends in zero.
        let name = unsafe { CStr::from_ptr(filename) };
        // SAFETY: `bloom` is null or a struct that `init` has filled or that is zeroed, as bloom.h demands;
        // `as_ref` refuses null.
        let Some(bloom) = (unsafe { bloom.as_ref() }) else { return 1 };
        let bits: &[u8] = match bloom.bytes {
            0 => &[], // a struct of zeros is saved too
            // SAFETY: `save` demands a struct of this library that no other thread adds to now.
            _ => match unsafe { bloom.shared() } {
                // SAFETY: `shared` returned these bytes, and `save` demands that no other thread writes to
                // them now.
                Some(bits) => unsafe { std::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) },
                None => return 1, // freed, or never initialized: `bf` points to no bits
            },
        };
        if name.is_empty() {
            return 1;
        }
        let path = Path::new(OsStr::from_bytes(name.to_bytes()));
        c_int::from(write(path, &image(bloom), bits).is_err())
    })
}

/// The struct as it is in memory, padding included, without its pointer.
fn image(bloom: &Bloom) -> [u8; STRUCT_LEN] {
    let mut image = [0; STRUCT_LEN];
    // SAFETY: the struct is that long. Its padding was zeroed by whoever made it, or has arbitrary bytes.
    unsafe { std::ptr::from_ref(bloom).cast::<u8>().copy_to_nonoverlapping(image.as_mut_ptr(), STRUCT_LEN) };
    image[offset_of!(Bloom, bf)..].fill(0);
    image
}

fn write(path: &Path, image: &[u8], bits: &[u8]) -> io::Result<()> {
    let parts = |out: &mut dyn Write| {
        out.write_all(MAGIC)?;
        out.write_all(&(STRUCT_LEN as u16).to_ne_bytes())?;
        out.write_all(image)?;
        out.write_all(bits)
    };
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o644);
    let mut file = options.open(path)?; // fails where the original fails
    if !file.metadata()?.is_file() {
        return parts(&mut file);
    }
    // From here on an old file is safe: it is replaced by the new one, or kept.
    match fullbloom_files::replace(path, parts) {
        Ok(()) => Ok(()),
        Err(error) if must_be_in_place(error.cause()) => in_place(&mut file, parts),
        Err(error) => {
            if is_new && !error.is_in_place() {
                let _ = std::fs::remove_file(path); // created above, to see whether it may be
            }
            Err(io::Error::other(error))
        }
    }
}

/// Whether a file could be written although it cannot be replaced.
fn must_be_in_place(cause: &FileCause) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    let FileCause::Io(e) = cause else { return false };
    matches!(e.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices)
}

fn in_place(file: &mut File, parts: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    use std::io::Seek;
    parts(file)?;
    let end = file.stream_position()?;
    file.set_len(end)
}
