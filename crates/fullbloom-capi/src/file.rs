//! Paths as a C caller gives them.

use crate::status::Error;
use std::ffi::{CStr, c_char};
use std::path::Path;

/// # Safety
/// `path` is null or ends with a NUL, for as long as the path is used.
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path, Error> {
    if path.is_null() {
        return Err(Error::null("path"));
    }
    // SAFETY: `path` is not null (checked above), and fullbloom.h demands text that ends in zero and stays
    // during the call.
    let bytes = unsafe { CStr::from_ptr(path) };
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(Path::new(std::ffi::OsStr::from_bytes(bytes.to_bytes())))
    }
    #[cfg(not(unix))]
    {
        let text = bytes
            .to_str()
            .map_err(|_| Error::new(crate::status::Status::Argument, "the path is not UTF-8"))?;
        Ok(Path::new(text))
    }
}
