//! What went wrong, as the exception that fits, with the core's message.

use fullbloom::error::FileCause;
use fullbloom::native::GuardError;
use fullbloom::typed::TypeError;
use fullbloom::{DecodeError, FileError, MergeError, SizeError};
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;
use std::path::Path;

create_exception!(
    fullbloom,
    FormatError,
    PyValueError,
    "The bytes are not a whole, sound filter: damaged, cut short, or of another dialect."
);

/// A `ValueError` with this message.
pub fn value(message: impl Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// A `TypeError` with this message.
pub fn wrong_type(message: impl Display) -> PyErr {
    PyTypeError::new_err(message.to_string())
}

/// The numbers asked for cannot become a filter.
pub fn size(e: SizeError) -> PyErr {
    match e {
        SizeError::Memory { .. } => PyMemoryError::new_err(e.to_string()),
        _ => value(e),
    }
}

/// The bytes are not a filter.
pub fn decode(e: DecodeError) -> PyErr {
    match e {
        DecodeError::Memory { .. } => PyMemoryError::new_err(e.to_string()),
        _ => FormatError::new_err(e.to_string()),
    }
}

/// Two filters do not fit together.
pub fn merge(e: MergeError) -> PyErr {
    match e {
        MergeError::Decode(cause) => decode(cause),
        _ => value(e),
    }
}

/// The dialect has no such keys.
pub fn key_type(e: TypeError) -> PyErr {
    wrong_type(e)
}

/// Exceptions cannot be made.
pub fn guard(e: GuardError) -> PyErr {
    match e {
        GuardError::Size(e) => size(e),
        _ => value(e),
    }
}

/// A file cannot be read or written, or is no filter.
pub fn file(e: FileError) -> PyErr {
    match e.cause() {
        FileCause::Decode(DecodeError::Memory { .. }) => PyMemoryError::new_err(e.to_string()),
        FileCause::Decode(_) => FormatError::new_err(e.to_string()),
        FileCause::Io(cause) => match cause.raw_os_error() {
            // Python picks the class by the number: FileNotFoundError, PermissionError.
            Some(number) => {
                let told = cause.to_string();
                let told = told.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, told, e.path().as_os_str().to_owned()))
            }
            None if cause.kind() == std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(e.to_string()),
            None => PyOSError::new_err(e.to_string()),
        },
        _ => PyOSError::new_err(e.to_string()),
    }
}

/// The bytes of this file are not a filter.
pub fn decode_file(path: &Path) -> impl FnOnce(DecodeError) -> PyErr {
    move |e| file(FileError::decode(path, e))
}
