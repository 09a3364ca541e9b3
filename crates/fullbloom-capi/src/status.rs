//! The status that every function returns, and the message that goes with it.

use fullbloom::error::BuildError;
use fullbloom::error::FileCause;
use fullbloom::error::MergeError;
use fullbloom::{DecodeError, FileError, SizeError};
use fullbloom_any::{ChangeError, HashError};
use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `fullbloom_status`. Numbers once given keep their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A required pointer is null.
    Null = 1,
    /// An argument has a value that is not allowed.
    Argument = 2,
    /// The requested size is not possible in this dialect.
    Size = 3,
    /// The bytes are not a complete, undamaged filter.
    Decode = 4,
    /// A file could not be read or written.
    File = 5,
    /// The two filters cannot be merged.
    Merge = 6,
    /// There is not enough memory.
    Memory = 7,
    /// The filter takes no keys.
    ReadOnly = 8,
    /// The filter has not been finished.
    NotFinished = 9,
    /// The pointer does not point to a live handle of this kind.
    Handle = 10,
    /// The buffer is too small.
    Buffer = 11,
    /// The filter is keyed and its secret has not been given.
    Locked = 12,
    /// A bug in this library.
    Internal = 13,
    /// The filter was built from keys of another type.
    KeyType = 14,
    /// The hash is one of another dialect, seed or secret.
    Hash = 15,
}

impl Status {
    /// Every status, in the order of their numbers.
    pub const ALL: [Status; 16] = [
        Status::Ok,
        Status::Null,
        Status::Argument,
        Status::Size,
        Status::Decode,
        Status::File,
        Status::Merge,
        Status::Memory,
        Status::ReadOnly,
        Status::NotFinished,
        Status::Handle,
        Status::Buffer,
        Status::Locked,
        Status::Internal,
        Status::KeyType,
        Status::Hash,
    ];

    fn words(self) -> &'static [u8] {
        match self {
            Status::Ok => b"ok\0",
            Status::Null => b"null pointer\0",
            Status::Argument => b"argument not allowed\0",
            Status::Size => b"size not possible\0",
            Status::Decode => b"invalid or damaged filter\0",
            Status::File => b"file error\0",
            Status::Merge => b"filters cannot be merged\0",
            Status::Memory => b"out of memory\0",
            Status::ReadOnly => b"filter takes no keys\0",
            Status::NotFinished => b"filter not finished\0",
            Status::Handle => b"not a handle\0",
            Status::Buffer => b"buffer too small\0",
            Status::Locked => b"filter needs its secret\0",
            Status::Internal => b"internal error\0",
            Status::KeyType => b"keys of another type\0",
            Status::Hash => b"hash for other filters\0",
        }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub struct Error {
    status: Status,
    message: String,
}

impl Error {
    /// This status, with this message.
    pub fn new(status: Status, message: impl Display) -> Error {
        Error { status, message: message.to_string() }
    }

    /// The argument of this name is null.
    pub fn null(argument: &str) -> Error {
        Error::new(Status::Null, format_args!("{argument} is NULL"))
    }
}

impl From<SizeError> for Error {
    fn from(e: SizeError) -> Error {
        let status = if matches!(e, SizeError::Memory { .. }) { Status::Memory } else { Status::Size };
        Error::new(status, e)
    }
}

impl From<BuildError> for Error {
    fn from(e: BuildError) -> Error {
        match e {
            BuildError::Size(e) => e.into(),
            BuildError::Option { .. } => Error::new(Status::Argument, e),
            _ => Error::new(Status::File, e),
        }
    }
}

impl From<DecodeError> for Error {
    fn from(e: DecodeError) -> Error {
        Error::new(decode_status(&e), e)
    }
}

fn decode_status(e: &DecodeError) -> Status {
    match e {
        DecodeError::Memory { .. } => Status::Memory,
        DecodeError::Geometry(_) => Status::Size,
        DecodeError::KeyType(_) => Status::KeyType,
        _ => Status::Decode,
    }
}

impl From<MergeError> for Error {
    fn from(e: MergeError) -> Error {
        match e {
            MergeError::Size(e) => e.into(),
            e => Error::new(Status::Merge, e),
        }
    }
}

impl From<ChangeError> for Error {
    fn from(e: ChangeError) -> Error {
        match e {
            ChangeError::Size(e) => e.into(),
            ChangeError::Locked => Error::new(
                Status::Locked,
                "the filter is keyed: give it its secret with fullbloom_filter_unlock",
            ),
            ChangeError::Hash(e) => e.into(),
            other => Error::new(Status::ReadOnly, other),
        }
    }
}

impl From<HashError> for Error {
    fn from(e: HashError) -> Error {
        match e {
            HashError::Locked => ChangeError::Locked.into(),
            other => Error::new(Status::Hash, other),
        }
    }
}

impl From<FileError> for Error {
    fn from(e: FileError) -> Error {
        let status = match e.cause() {
            FileCause::Decode(cause) => decode_status(cause),
            FileCause::Io(cause) if cause.kind() == std::io::ErrorKind::OutOfMemory => Status::Memory,
            _ => Status::File,
        };
        Error::new(status, e)
    }
}

/// Bytes of a message with its terminating NUL; the header states the number. A small one, because a thread's
/// stack is made smaller by the thread-local memory of the libraries that a program is linked to.
const MESSAGE_LEN: usize = 1024;

thread_local! {
    /// The message of the last failed call of this thread. The memory stays where it is until the thread
    /// ends, so that a pointer to an older message shows a newer one, and never freed memory: C evaluates the
    /// arguments of `printf("%d %s", call(), fullbloom_message())` in any order. It needs no destructor, so
    /// it can be used even by code that runs while the thread ends. Its last byte is always zero.
    static MESSAGE: [Cell<u8>; MESSAGE_LEN] = const { [const { Cell::new(0) }; MESSAGE_LEN] };
}

/// Keeps a message, as far as there is room, without half a character at its end.
fn remember(message: &str) {
    let message = message.replace('\0', "\\0");
    let end = (0..=message.len().min(MESSAGE_LEN - 1)).rev().find(|&end| message.is_char_boundary(end));
    let kept = &message[..end.unwrap_or(0)];
    MESSAGE.with(|slots| {
        for (slot, byte) in slots.iter().zip(kept.bytes().chain([0])) {
            slot.set(byte);
        }
    });
}

/// Runs the body of an exported function. An error or a panic in it becomes a status and a message.
pub fn call(body: impl FnOnce() -> Result<(), Error>) -> Status {
    // Unwind safety: a handle that a panic left half changed still has an array of the right length.
    match catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "planted-panic")]
        assert!(std::env::var_os("FULLBLOOM_PLANTED_PANIC").is_none(), "planted");
        body()
    })) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(Error { status, message })) => {
            remember(&message);
            status
        }
        Err(payload) => {
            remember(&format!("internal error, please report it: {}", panic_text(&*payload)));
            std::mem::forget(payload); // its drop could panic again
            Status::Internal
        }
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic")
}

/// A few words that describe a status.
#[unsafe(no_mangle)]
pub extern "C" fn fullbloom_status_words(status: c_int) -> *const c_char {
    let found = usize::try_from(status).ok().and_then(|i| Status::ALL.get(i));
    found.map_or(&b"unknown status\0"[..], |status| status.words()).as_ptr().cast()
}

/// The message of the last failed call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn fullbloom_message() -> *const c_char {
    MESSAGE.with(|slots| slots.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn numbers_are_places_in_the_list() {
        assert!(Status::ALL.iter().enumerate().all(|(i, &status)| status as usize == i));
    }

    fn message() -> &'static CStr {
        // SAFETY: this thread's buffer, which is still there and whose last byte is zero.
        unsafe { CStr::from_ptr(fullbloom_message()) }
    }

    #[test]
    fn long_messages_are_cut_between_characters_and_short_ones_replace_them() {
        let start = fullbloom_message();
        for room in 0..8 {
            let text = format!("{}{}", "x".repeat(MESSAGE_LEN - 1 - room), "\u{20ac}".repeat(9));
            remember(&text);
            let kept = message().to_str().expect("whole characters");
            assert!(text.starts_with(kept) && kept.len() > MESSAGE_LEN - 1 - 3, "{room}");
            assert_eq!(fullbloom_message(), start, "an older pointer stays valid");
        }
        remember("a zero \0 inside");
        assert_eq!(message(), c"a zero \\0 inside");
        remember("");
        assert_eq!(message(), c"");
    }
}
