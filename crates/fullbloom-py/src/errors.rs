//! The core's errors as Python exceptions, with the core's messages.

use fullbloom::error::FileCause;
use fullbloom::error::{KeysError, MergeError};
use fullbloom::exceptions::ExceptError;
use fullbloom::typed::TypeError;
use fullbloom::{DecodeError, FileError, SizeError};
use fullbloom_any::ChangeError;
use fullbloom_core::error::{BuildError, BuildOption};
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;

create_exception!(
    fullbloom,
    FormatError,
    PyValueError,
    "The bytes are not a sound filter: damaged, truncated, or of another dialect."
);

/// A `ValueError` with this message.
pub fn value(message: impl Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// A `TypeError` with this message.
pub fn wrong_type(message: impl Display) -> PyErr {
    PyTypeError::new_err(message.to_string())
}

/// The requested size is invalid.
pub fn size(e: SizeError) -> PyErr {
    match e {
        SizeError::Memory { .. } => PyMemoryError::new_err(e.to_string()),
        _ => value(e),
    }
}

/// A filter cannot be built with these arguments.
pub fn build(e: impl Into<BuildError>) -> PyErr {
    let e = e.into();
    match e {
        BuildError::Size(e) => size(e),
        BuildError::Keys(e) => keys(e),
        BuildError::Option { option, why } => option_refused(option, &why),
        BuildError::Spool { ref cause, ref path } if cause.raw_os_error().is_some() => {
            PyOSError::new_err((cause.raw_os_error(), e.to_string(), path.as_os_str().to_owned()))
        }
        _ => PyOSError::new_err(e.to_string()),
    }
}

/// A filter that is built from all its keys at once cannot start empty.
pub fn built_at_once(e: BuildError) -> PyErr {
    value(format_args!("{e}: use Filter.build"))
}

/// A `ValueError` for an argument, by the names that arguments have in Python.
fn option_refused(option: BuildOption, why: &str) -> PyErr {
    let argument = match option {
        BuildOption::Except => "except_keys",
        BuildOption::Mode => "deletable, expire",
        other => other.as_str(),
    };
    value(format_args!("{argument}: {why}"))
}

/// The bytes are not a filter.
pub fn decode(e: DecodeError) -> PyErr {
    match e {
        DecodeError::Memory { .. } => PyMemoryError::new_err(e.to_string()),
        DecodeError::KeyType(e) => key_type(e),
        _ => FormatError::new_err(e.to_string()),
    }
}

/// Two filters cannot be combined.
pub fn merge(e: MergeError) -> PyErr {
    match e {
        MergeError::Decode(cause) => decode(cause),
        _ => value(e),
    }
}

/// The filter cannot be changed, or cannot answer without its secret. A filter that does not own its bits is
/// a mapped one here.
pub fn change(e: ChangeError) -> PyErr {
    match e {
        ChangeError::Size(e) => size(e),
        ChangeError::Keys(e) => keys(e),
        ChangeError::Locked => value("the filter is keyed: give its secret when you load it"),
        ChangeError::ReadOnly => {
            value("the filter is mapped from a file and cannot be changed: use Filter.load")
        }
        _ => value(e),
    }
}

/// The dialect has no such keys.
pub fn key_type(e: TypeError) -> PyErr {
    wrong_type(e)
}

/// A batch does not fit the filter.
pub fn keys(e: KeysError) -> PyErr {
    match e {
        KeysError::Type(e) => key_type(e),
        _ => value(e),
    }
}

/// Exceptions cannot be built.
pub fn except(e: ExceptError) -> PyErr {
    match e {
        ExceptError::Size(e) => size(e),
        _ => value(e),
    }
}

/// A file cannot be read or written, or does not hold a filter.
pub fn file(e: FileError) -> PyErr {
    match e.cause() {
        FileCause::Decode(DecodeError::Memory { .. }) => PyMemoryError::new_err(e.to_string()),
        FileCause::Decode(DecodeError::KeyType(_)) => wrong_type(&e),
        FileCause::Decode(_) => FormatError::new_err(e.to_string()),
        FileCause::Io(cause) => match cause.raw_os_error() {
            // Python picks the class by the number: FileNotFoundError, PermissionError.
            Some(number) => {
                let message = cause.to_string();
                let message = message.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, message, e.path().as_os_str().to_owned()))
            }
            None if cause.kind() == std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(e.to_string()),
            None => PyOSError::new_err(e.to_string()),
        },
        _ => PyOSError::new_err(e.to_string()),
    }
}
